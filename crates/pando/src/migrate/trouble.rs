//! Reasons why a migration cannot continue at present, and explanations of the old server's
//! refusals.

use crate::report::Problem;
use protocol::{LdapResult, ResultCode};

/// Reason why a migration cannot continue at present.
#[derive(Debug)]
pub enum Trouble {
    /// The old server is unreachable, perhaps temporarily.
    Lost(String),
    /// The node is unreachable, perhaps temporarily.
    Here(String),
    /// The node lacks a definition, which the old server may have got meanwhile.
    Schema,
    /// A problem that waiting does not solve.
    Refused(Problem),
    /// The operator interrupted the migration.
    Stopped,
}

impl Trouble {
    /// A problem that waiting does not solve.
    pub fn refused(text: impl std::fmt::Display) -> Trouble {
        Trouble::Refused(Problem::failed(text))
    }

    /// The trouble for a channel's problem.
    pub fn here(problem: Problem) -> Trouble {
        Trouble::Here(problem.text().to_owned())
    }

    /// The problem with which the command ends.
    pub fn into_problem(self) -> Problem {
        match self {
            Trouble::Lost(text) | Trouble::Here(text) => Problem::Failed(text),
            Trouble::Refused(problem) => problem,
            Trouble::Schema => Problem::failed("the old server has new definitions"),
            Trouble::Stopped => Problem::failed("stopped before it was done"),
        }
    }
}

/// Advice for enabling the overlay in slapd.
pub const NO_SYNC: &str = "the old server offers no content synchronisation; enable it with \
    `moduleload syncprov` and, behind the database, `overlay syncprov` in slapd.conf, or an entry \
    olcOverlay=syncprov with objectClass olcSyncProvConfig below the database in cn=config; or \
    copy without following: --plain";

/// Explains the result of a search on the old server to the operator. `who` is the bind name on the
/// old server.
pub fn explain(result: &LdapResult, base: &str, who: &str) -> Trouble {
    let name = result.code.name();
    let said = match result.diagnostic.as_str() {
        "" => String::new(),
        text => format!(" ({text})"),
    };
    let who = if who.is_empty() { "anonymous" } else { who };
    let text = match result.code {
        ResultCode::SIZE_LIMIT_EXCEEDED
        | ResultCode::TIME_LIMIT_EXCEEDED
        | ResultCode::ADMIN_LIMIT_EXCEEDED => format!(
            "{base}: {name}{said}: the old server does not return all entries to {who}; allow \
             it with `limits dn.exact=\"{who}\" size=unlimited time=unlimited` (olcLimits) \
             there, or bind as its rootdn"
        ),
        ResultCode::UNAVAILABLE_CRITICAL_EXTENSION => format!("{base}: {NO_SYNC}"),
        ResultCode::NO_SUCH_OBJECT => format!(
            "{base}: {name}{said}: the old server has no such entry, or does not show it to {who}"
        ),
        // slapd's answer to a cookie from its future: it has been restored from a backup.
        ResultCode::UNWILLING_TO_PERFORM if result.diagnostic.contains("newer") => format!(
            "{base}: {name}{said}: the old server's state is older than the copy; begin again \
             with a new node"
        ),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS | ResultCode::INVALID_CREDENTIALS => {
            format!("{base}: {name}{said}: bind with -D as a name that may read everything")
        }
        ResultCode::BUSY | ResultCode::UNAVAILABLE => {
            return Trouble::Lost(format!("{base}: {name}{said}"));
        }
        _ => format!("{base}: {name}{said}"),
    };
    Trouble::refused(text)
}
