//! The statements of the standards as clauses that run against any LDAP server.
//!
//! A clause has a name from its RFC and section, a sentence in our own words, the features that the
//! server must offer for it to apply, and a function that speaks LDAP and tests it. `pando
//! conformance` runs the clauses against any server, the test `tests/conformance.rs` against the
//! kit's.
//!
//! Invariants:
//! - a clause reaches the server only over the network, and works below an entry of its own;
//! - every wait has a deadline, and no behaviour of a server makes a clause panic.

mod case;
mod clause;
mod draft_behera;
mod drafts;
mod entry;
mod extended;
mod extensible;
mod junk;
mod read_controls;
mod report;
mod rfc3296;
mod rfc4373;
mod rfc4511_bind;
mod rfc4511_envelope;
mod rfc4511_filter;
mod rfc4511_limits;
mod rfc4511_modify;
mod rfc4511_modify_dn;
mod rfc4511_search;
mod rfc4511_updates;
mod rfc4512;
mod rfc4514;
mod rfc4515;
mod rfc4517;
mod rfc4517_rules;
mod rfc4518;
mod rfc4522;
mod rfc4524;
mod rfc4530;
mod run;
mod schema;
mod session;
mod site;
mod streams;
mod values;
mod vendors;
mod write_controls;

pub use case::Case;
pub use clause::{Book, Clause, Need, Section};
pub use entry::{Controls, Entry, Event, Found, Modification, Outcome};
pub use report::Report;
pub use run::{Choice, Verdict, clean_up, run, run_one};
pub use session::{Session, Transport, is_timeout};
pub use site::{Offers, Site};

use std::fmt::Display;

/// The reason why a clause did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The server behaves otherwise.
    Wrong {
        /// Behaviour that the standard demands.
        expected: String,
        /// Behaviour of the server.
        came: String,
    },
    /// The clause does not apply to this server: the missing feature.
    NotOffered(String),
}

impl Finding {
    /// Returns the finding that the server behaves otherwise.
    pub fn wrong<T>(expected: impl Display, came: impl Display) -> Result<T, Finding> {
        Err(Finding::Wrong {
            expected: expected.to_string(),
            came: came.to_string(),
        })
    }
}

impl Display for Finding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Finding::Wrong { expected, came } => write!(out, "expected {expected}; came {came}"),
            Finding::NotOffered(what) => write!(out, "not offered: {what}"),
        }
    }
}

impl From<std::io::Error> for Finding {
    fn from(error: std::io::Error) -> Finding {
        let came = match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            _ if is_timeout(&error) => "nothing in time".to_owned(),
            _ => error.to_string(),
        };
        Finding::Wrong {
            expected: "an answer".to_owned(),
            came,
        }
    }
}

/// Returns all clauses, in the order of the standards.
pub fn clauses() -> Vec<Clause> {
    let mut book = Book::default();
    rfc4511_envelope::clauses(&mut book);
    rfc4511_bind::clauses(&mut book);
    rfc4511_search::clauses(&mut book);
    rfc4511_limits::clauses(&mut book);
    rfc4511_modify::clauses(&mut book);
    rfc4511_updates::clauses(&mut book);
    rfc4511_modify_dn::clauses(&mut book);
    rfc4512::clauses(&mut book);
    rfc4530::clauses(&mut book);
    rfc4514::clauses(&mut book);
    rfc4515::clauses(&mut book);
    rfc4511_filter::clauses(&mut book);
    rfc4517::clauses(&mut book);
    rfc4517_rules::clauses(&mut book);
    rfc4518::clauses(&mut book);
    schema::clauses(&mut book);
    rfc4522::clauses(&mut book);
    rfc4524::clauses(&mut book);
    rfc3296::clauses(&mut book);
    write_controls::clauses(&mut book);
    read_controls::clauses(&mut book);
    extended::clauses(&mut book);
    rfc4373::clauses(&mut book);
    draft_behera::clauses(&mut book);
    drafts::clauses(&mut book);
    streams::clauses(&mut book);
    vendors::clauses(&mut book);
    junk::clauses(&mut book);
    extensible::clauses(&mut book);
    book.into_clauses()
}

/// Names imported by every file of clauses.
mod prelude {
    pub use crate::Finding;
    pub use crate::case::{
        Case, EVERYTHING, ensure, equal, equal_name, person, rdn_value, rdn_values,
    };
    pub use crate::clause::{Book, Need};
    pub use crate::entry::{Entry, Event, Found, Modification, Outcome};
    pub use crate::session::Session;
    pub use crate::values::*;
    pub use protocol::{DerefAliases, OwnedControl, Request, ResultCode, Scope, oid};

    /// The outcome of a clause.
    pub type Examined = Result<(), Finding>;
}
