//! The listener for clients, as the directory sees it.

use super::shown::ShownEntry;
use policy::{LimitSettings, LimitSubject, Limits};
use state::stop::Failure;

/// Callback that sets the limits of kinds of subjects, and of single subjects and groups. The error
/// names the subject whose name cannot be resolved.
pub type SetLimits<'s> =
    &'s dyn Fn(&LimitSettings, &[(LimitSubject<String>, Limits)]) -> Result<(), Failure>;

/// The listener, which reports its connections and reads its settings again.
pub trait Front: Send + Sync {
    /// The present connections.
    fn connections(&self) -> Connections;

    /// Further entries of `cn=monitor`, superiors first; none by default.
    fn shown(&self) -> Vec<ShownEntry> {
        Vec::new()
    }

    /// Reads the settings again. Returns the names of the changed ones, as one line.
    ///
    /// # Errors
    /// A text that names the mistake in the settings, which are then unchanged.
    fn reload(&self, set_limits: SetLimits<'_>) -> Result<String, String>;
}

/// Numbers of a server's connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connections {
    /// Open connections.
    pub current: u64,
    /// Connections admitted since the start.
    pub accepted: u64,
    /// Connections refused since the start because of a limit.
    pub refused: u64,
    /// Maximum number of connections; 0 for no limit.
    pub max: u64,
    /// The listeners.
    pub listeners: Vec<ListenerState>,
}

/// One listener.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenerState {
    /// URL of the listener.
    pub url: String,
    /// Open connections.
    pub current: u64,
    /// Connections admitted since the start.
    pub accepted: u64,
}
