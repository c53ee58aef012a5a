//! The form of the log.

use serde::{Deserialize, Serialize};

/// The form of a logged event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object for programs.
    Json,
}
