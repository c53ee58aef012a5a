//! Results of binds, and the controls of their requests.

use policy::Subject;
use protocol::{LdapResult, OwnedControl, ResultCode};

/// Controls that the client sent with the bind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BindControls {
    /// Authorization identity (RFC 3829).
    pub identity: bool,
    /// Password policy (draft-behera-ldap-password-policy-11).
    pub policy: bool,
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
