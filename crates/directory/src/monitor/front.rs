//! What stands before the directory and listens for clients.

use policy::{LimitSettings, LimitSubject, Limits};
use state::stop::Failure;

/// Sets the limits of searches and transactions: those of kinds of subjects, and those of subjects
/// of their own. An error names the subject whose name cannot be resolved.
pub type SetLimits<'s> =
    &'s dyn Fn(&LimitSettings, &[(LimitSubject<String>, Limits)]) -> Result<(), Failure>;

/// Asked for its connections when somebody looks.
pub trait Front: Send + Sync {
    /// The connections at this moment.
    fn connections(&self) -> Connections;

    /// Reads the settings again and returns the names of what has changed, as one line.
    ///
    /// # Errors
    /// What is wrong with the settings; nothing has changed then.
    fn reload(&self, set_limits: SetLimits<'_>) -> Result<String, String>;
}

/// The connections of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connections {
    /// Now.
    pub current: u64,
    /// Admitted since the start.
    pub accepted: u64,
    /// Turned away since the start, because a limit was reached.
    pub refused: u64,
    /// As many as there may be; 0 for no limit.
    pub max: u64,
    /// Where clients come in.
    pub listeners: Vec<ListenerState>,
}

/// One listener.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenerState {
    /// Its URL.
    pub url: String,
    /// Connections now.
    pub current: u64,
    /// Connections admitted since the start.
    pub accepted: u64,
}
