//! What stands before the directory and listens for clients.

/// Asked for its connections when somebody looks.
pub trait Front: Send + Sync {
    /// The connections at this moment.
    fn connections(&self) -> Connections;
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
