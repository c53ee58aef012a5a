//! Why a migration cannot go on at this moment, and what the old server's refusals mean to an
//! operator.

use crate::report::Problem;
use protocol::{LdapResult, ResultCode};

/// Why it cannot go on.
#[derive(Debug)]
pub enum Trouble {
    /// The old server is out of reach: it may come back.
    Lost(String),
    /// The node here is out of reach: it may come back.
    Here(String),
    /// The node does not know a definition: the old server may have a new one.
    Schema,
    /// Nothing that waiting mends.
    Refused(Problem),
    /// Whoever asked for it wants it no more.
    Stopped,
}

impl Trouble {
    /// Nothing that waiting mends.
    pub fn refused(text: impl std::fmt::Display) -> Trouble {
        Trouble::Refused(Problem::failed(text))
    }

    /// A channel's problem.
    pub fn here(problem: Problem) -> Trouble {
        Trouble::Here(problem.text().to_owned())
    }

    /// As a command's end.
    pub fn into_problem(self) -> Problem {
        match self {
            Trouble::Lost(text) | Trouble::Here(text) => Problem::Failed(text),
            Trouble::Refused(problem) => problem,
            Trouble::Schema => Problem::failed("the old server has new definitions"),
            Trouble::Stopped => Problem::failed("stopped before it was done"),
        }
    }
}

/// How to give a slapd the overlay.
pub const NO_SYNC: &str = "the old server offers no content synchronisation; enable it with \
    `moduleload syncprov` and, behind the database, `overlay syncprov` in slapd.conf, or an entry \
    olcOverlay=syncprov with objectClass olcSyncProvConfig below the database in cn=config; or \
    copy without following: --plain";

/// What a search of the old server ended with, as a person must hear it. `who` is the name this
/// program binds with there.
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
            "{base}: {name}{said}: the old server does not give everything to {who}; allow it \
             there with `limits dn.exact=\"{who}\" size=unlimited time=unlimited` (olcLimits), or \
             bind as its rootdn"
        ),
        ResultCode::UNAVAILABLE_CRITICAL_EXTENSION => format!("{base}: {NO_SYNC}"),
        ResultCode::NO_SUCH_OBJECT => format!(
            "{base}: {name}{said}: the old server has no such entry, or does not show it to {who}"
        ),
        // What slapd says to a cookie from its own future: it has been restored from a backup.
        ResultCode::UNWILLING_TO_PERFORM if result.diagnostic.contains("newer") => format!(
            "{base}: {name}{said}: the old server is older than what was copied from it; begin \
             again with a new node"
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
