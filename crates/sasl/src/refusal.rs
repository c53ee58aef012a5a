//! The refusal of a client's message.

use std::borrow::Cow;

use protocol::{DecodeError, ResultCode};

/// The refusal of a client's message, as the bind is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Result code of the bind.
    pub code: ResultCode,
    /// Diagnostic message; empty where a reason would tell who is known here.
    pub text: Cow<'static, str>,
}

impl Refusal {
    /// Returns the one answer to wrong credentials and to unknown identities.
    pub(crate) fn wrong() -> Refusal {
        Refusal::credentials("")
    }

    /// Returns the refusal of credentials for a reason that says nothing about an account.
    pub(crate) fn credentials(text: &'static str) -> Refusal {
        Refusal {
            code: ResultCode::INVALID_CREDENTIALS,
            text: Cow::Borrowed(text),
        }
    }

    /// Returns the refusal of a message for what its mechanism does not allow.
    pub(crate) fn protocol(text: &'static str) -> Refusal {
        Refusal {
            code: ResultCode::PROTOCOL_ERROR,
            text: Cow::Borrowed(text),
        }
    }

    /// Returns the refusal of a message that is not of the form of its mechanism.
    pub(crate) fn malformed(form: &str, error: DecodeError) -> Refusal {
        Refusal {
            code: ResultCode::PROTOCOL_ERROR,
            text: Cow::Owned(format!("{form}: {error}")),
        }
    }
}
