//! Results of binds, and what their requests ask for.

use policy::Subject;
use protocol::{LdapResult, OwnedControl, ResultCode};

/// Requests of the client beside its authentication: controls, and an identity to act as.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Whether it sent the control for the authorization identity (RFC 3829).
    pub identity: bool,
    /// Whether it sent the password policy control (draft-behera-ldap-password-policy-11).
    pub policy: bool,
    /// The authorization identity that it wants to act as (RFC 4513 §5.2.1.8); empty for its own.
    pub acts_as: String,
}

/// Result of a bind.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// The subject of the session from now on; `None` if the bind failed.
    pub subject: Option<Box<Subject>>,
    pub result: LdapResult,
    pub controls: Vec<OwnedControl>,
    /// Whether the session may do nothing but change its password.
    pub must_change: bool,
    /// The last message of a SASL mechanism.
    pub server_credentials: Option<Vec<u8>>,
}

impl Verdict {
    /// The result for an account without a policy.
    pub fn plain(subject: Option<Box<Subject>>) -> Verdict {
        let code = match &subject {
            Some(_) => ResultCode::SUCCESS,
            // A missing entry and a wrong password have one result, so that neither is revealed.
            None => ResultCode::INVALID_CREDENTIALS,
        };
        Verdict {
            subject,
            result: LdapResult::new(code, ""),
            controls: Vec::new(),
            must_change: false,
            server_credentials: None,
        }
    }
}
