//! Reasons why a client gets no answer, or a result other than success.

use directory::Failure;
use protocol::{DecodeError, LdapResult};
use std::fmt::{Display, Formatter};

/// Reason why a call of a local client returned no answer.
#[derive(Debug)]
pub enum LocalError {
    /// The directory has no worker for the client.
    Failed(Failure),
    /// The request is not a message that the directory decodes, or is beyond its limits.
    Request(DecodeError),
    /// The directory wrote a response that cannot be decoded.
    Response(DecodeError),
    /// The request was answered with a result other than success.
    Refused(LdapResult),
    /// A transaction was not committed.
    NotCommitted {
        /// Result of the transaction's end.
        result: LdapResult,
        /// Number of the refused update, from 0 in the order of the updates; `None` if none was
        /// refused.
        update: Option<usize>,
    },
    /// The request has no response: it was an abandon or an unbind.
    NoResponse,
    /// No completion arrived within the client's patience. The operation may still be executed.
    NotInTime,
    /// The client is closed: its session was ended, or an operation was not completed in time.
    Closed,
}

impl Display for LocalError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            LocalError::Failed(failure) => write!(f, "{failure}"),
            LocalError::Request(error) => write!(f, "the request: {error}"),
            LocalError::Response(error) => write!(f, "the response: {error}"),
            LocalError::Refused(result) | LocalError::NotCommitted { result, .. } => {
                match result.diagnostic.as_str() {
                    "" => f.write_str(result.code.name()),
                    text => write!(f, "{text} ({})", result.code.name()),
                }
            }
            LocalError::NoResponse => f.write_str("the request has no response"),
            LocalError::NotInTime => f.write_str("the operation was not completed in time"),
            LocalError::Closed => f.write_str("the session has ended"),
        }
    }
}

impl std::error::Error for LocalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LocalError::Failed(failure) => Some(failure),
            LocalError::Request(error) | LocalError::Response(error) => Some(error),
            _ => None,
        }
    }
}
