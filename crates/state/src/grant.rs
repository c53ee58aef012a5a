//! Permission to change one entry: every write carries one, so no write is made without a decision.
//!
//! Invariant: [`Grant::decide`] and [`Grant::of_claims`], which ask the access rules, are a
//! client's only ways to a grant, but for entries of access rules: `delegation` decides about
//! these. A grant applies to one entry. The other constructors are for the server's own writes, and
//! for writes read from the log, which were decided before.

use crate::stop::Stop;
use crate::view::{Claim, View};
use audit::Author;
use policy::Right;
use policy::access::objects::Object;
use policy::access::right::Right as RuleRight;
use policy::access::rules::Rule;
use schema::{Name, TypeId};

/// Permission to change an entry.
#[derive(Debug, Clone)]
pub struct Grant {
    by: String,
    name: Name,
    /// Where the change comes from, if changes are audited; `None` for one of the server itself.
    author: Option<Box<Author>>,
}

impl Grant {
    /// Asks the access rules whether the subject may change these attributes of an entry. A change
    /// without attributes needs the right to the entry as a whole. Refuses with
    /// `insufficientAccessRights`, whether or not the entry exists.
    pub fn decide(
        view: &View<'_>,
        right: Right,
        name: Name,
        attributes: impl IntoIterator<Item = TypeId>,
    ) -> Result<Grant, Stop> {
        let mut attributes = attributes.into_iter().peekable();
        if attributes.peek().is_none() {
            view.require(right, &name, None)?;
        }
        let mut last = None;
        for attribute in attributes {
            view.require(right, &name, Some(attribute))?;
            last = Some(attribute);
        }
        let rule = || view.decide(right, &name, last).rule;
        let author = view.author(rule);
        Ok(Grant::of(view, name, author))
    }

    /// Like [`Grant::decide`], where each value counts: under rules of the directory the subject
    /// must have every claim. The built-in rules ask for `right` to the attributes.
    pub fn of_claims(
        view: &View<'_>,
        right: Right,
        name: Name,
        claims: &[Claim<'_>],
    ) -> Result<Grant, Stop> {
        if !view.is_ruled() {
            let attributes = claims.iter().filter_map(|it| match it.object {
                Object::Attribute(type_id) => Some(type_id),
                _ => None,
            });
            return Grant::decide(view, right, name, attributes);
        }
        // An empty change tells whether the entry exists.
        let none = [Claim::entry(RuleRight::Disclose)];
        let claims = if claims.is_empty() { &none } else { claims };
        view.require_claims(&name, claims)?;
        let rule = || view.decide_claims(&name, claims).rule;
        let author = view.author(rule);
        Ok(Grant::of(view, name, author))
    }

    /// Returns the permission to write an access rule, which `delegation` has decided.
    pub(crate) fn of_handed_over(view: &View<'_>, name: Name, rule: &Rule) -> Grant {
        let author = view.author(|| view.handed_over_by(rule));
        Grant::of(view, name, author)
    }

    /// Returns the permission for a write of the server itself, in the name `by`.
    pub fn of_server(by: String, name: Name) -> Grant {
        Grant {
            by,
            name,
            author: None,
        }
    }

    /// Returns the permission for a write read from the log, decided before it was logged.
    pub fn recorded(by: String, name: Name) -> Grant {
        Grant::of_server(by, name)
    }

    fn of(view: &View<'_>, name: Name, author: Option<Box<Author>>) -> Grant {
        Grant {
            by: view.subject.dn.clone(),
            name,
            author,
        }
    }

    /// Adds where the change comes from, as read from the log.
    pub(crate) fn with_author(self, author: Option<Box<Author>>) -> Grant {
        Grant { author, ..self }
    }

    /// The subject's DN as spelled; empty for an anonymous subject.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Where the change comes from; `None` for one of the server itself, and while changes are not
    /// audited.
    pub fn author(&self) -> Option<&Author> {
        self.author.as_deref()
    }

    /// Name of the entry that may be changed.
    pub fn name(&self) -> &Name {
        &self.name
    }
}
