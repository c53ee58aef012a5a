//! Leave to change one entry: every write carries one, and so no write is made without a decision.
//!
//! Invariant: for a client there is one way to a grant, [`Grant::decide`], which asks the access
//! rules, and a grant is about one entry. The other two ways are for writes that no client asks
//! for, and for writes that were decided when they came into the log.

use crate::stop::Stop;
use crate::view::View;
use policy::Right;
use schema::{Name, TypeId};

/// Leave to change an entry, given to somebody.
#[derive(Debug, Clone)]
pub struct Grant {
    by: String,
    name: Name,
}

impl Grant {
    /// Asks the access rules whether the subject may change these attributes of an entry in this
    /// way. A change of no attribute needs the right to the entry as a whole. Refused with
    /// `insufficientAccessRights`, whether or not there is such an entry.
    pub fn decide(
        context: &View<'_>,
        right: Right,
        name: Name,
        attributes: impl IntoIterator<Item = TypeId>,
    ) -> Result<Grant, Stop> {
        let mut attributes = attributes.into_iter().peekable();
        if attributes.peek().is_none() {
            context.require(right, &name, None)?;
        }
        for attribute in attributes {
            context.require(right, &name, Some(attribute))?;
        }
        let by = context.subject.dn.clone();
        Ok(Grant { by, name })
    }

    /// For a write that the server makes of itself, in the name `by`.
    pub fn of_server(by: String, name: Name) -> Grant {
        Grant { by, name }
    }

    /// For a write that is read from the log, and was decided before it came there.
    pub fn recorded(by: String, name: Name) -> Grant {
        Grant { by, name }
    }

    /// Who asked, as spelled; empty when nobody had authenticated.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The entry that may be changed.
    pub fn name(&self) -> &Name {
        &self.name
    }
}
