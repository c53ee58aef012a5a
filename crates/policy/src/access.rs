//! The built-in access rules: the rights of each subject on entries and attributes.
//!
//! The rules are few and fixed, and equal to what Debian's slapd is installed with. The first
//! rule whose target matches decides:
//!
//! | rule | target | allows |
//! |---|---|---|
//! | `administrator` | everything | everything, to the administrator |
//! | `configuration` | `cn=config` and below | nothing, to anybody else |
//! | `own password` | `userPassword` of the subject's own entry | authenticate, compare, write |
//! | `passwords` | `userPassword` of other entries | authenticate, to everybody |
//! | `secrets` | every other secret attribute | nothing |
//! | `own account` | some of the account's state, of the subject's own entry | read |
//! | `account state` | the state of accounts | nothing |
//! | `readable` | everything else | disclose, compare, search, read, authenticate |
//! | `not writable` | everything else | nothing: add, delete, rename, write, manage |
//!
//! [`Secrets`] has the secret attributes. `userPassword` is one of them.
//!
//! The modules below are the language of the directory's own access rules:
//!
//! - [`rules`] (with [`right`], [`words`], [`hours`]): rules as data; [`mod@parse`] and
//!   [`mod@print`]: their text; [`error`]: errors in it; [`sets`]: the texts that come with the
//!   program;
//! - [`compile`]: rules under a schema; [`objects`]: what rights are rights to; [`facts`]: what
//!   decisions need to know;
//! - [`decide`]: single decisions; [`region`]: those of a whole search; [`outlook`]: those of the
//!   entries of a region, found again by what the rules asked about each; [`explain`]: why;
//! - [`analysis`]: what is suspicious in a set; [`mod@cost`]: what it needs to know of each entry;
//!   [`candidate`]: a set beside the one in force;
//!   [`delegation`]: who may write which rules; [`import`]: rules of other servers.

mod accounts;
pub mod analysis;
pub mod candidate;
pub mod compile;
mod condition;
pub mod cost;
pub mod decide;
pub mod delegation;
pub mod error;
pub mod explain;
pub mod facts;
pub(crate) mod fuzz;
pub mod hours;
pub mod import;
#[cfg(test)]
mod model;
pub mod objects;
pub mod outlook;
pub mod parse;
pub(crate) mod pattern;
pub mod print;
pub mod region;
pub mod right;
pub mod rules;
pub mod sets;
mod sight;
pub mod steps;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod walk;
pub mod words;

use std::borrow::Cow;

use schema::{Filter, Name, Schema, TypeId};

use crate::secrets::Secrets;
use crate::subject::Subject;
use accounts::Accounts;

/// A right to an operation on an entry or one of its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// Verify a bind against the attribute.
    Authenticate,
    /// Learn that the entry exists, even without reading it (RFC 4511 §4.1.9, matchedDN).
    Disclose,
    /// Compare the attribute with an asserted value.
    Compare,
    /// Find the entry by the attribute.
    Search,
    /// Read the values.
    Read,
    /// Change the values.
    Write,
    /// Add the entry, or a subordinate of it.
    Add,
    /// Delete the entry.
    Delete,
    /// Give the entry another name or superior.
    Rename,
    /// Override the usual rules, e.g. with ManageDsaIT on protected attributes.
    Manage,
}

/// The object of a [`Right`]: an entry or an attribute.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Resolved name of the entry.
    pub name: &'a Name,
    /// The attribute; `None` for the entry as a whole.
    pub attribute: Option<TypeId>,
}

/// A decision, with the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the right is granted.
    pub allowed: bool,
    /// Name of the deciding rule, for explanations and logs.
    pub rule: Cow<'static, str>,
    /// Number of the deciding clause in the rule, from 1; `None` if no clause decided.
    pub clause: Option<usize>,
}

impl Decision {
    /// Returns the place of a refusal in the rules, as text for the client and the log.
    pub fn place(&self) -> String {
        let clause = self.clause.map(|it| format!(" clause {it}"));
        format!("(rule \"{}\"{})", self.rule, clause.unwrap_or_default())
    }

    /// Returns the place in the rules that an encoded result names as the reason of a refusal, as
    /// [`Decision::place`] does, without parentheses; `None` if it names none.
    pub fn place_in_response(response: &[u8]) -> Option<String> {
        let message = protocol::ResponseMessage::decode(response).ok()?;
        let inside = message.response.result()?.diagnostic.strip_suffix(')')?;
        let place = inside.rfind("(rule ").map(|at| &inside[at + 1..])?;
        Some(place.to_owned())
    }

    /// Returns the decision of a rule that gives no right.
    pub fn denied(rule: Cow<'static, str>) -> Decision {
        Decision {
            allowed: false,
            rule,
            clause: None,
        }
    }
}

/// The attributes that a subject sees, computed once for a search instead of for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight<'a> {
    /// Every attribute of every entry.
    Everything,
    /// Every attribute except these (ascending), and no entry of the configuration.
    AllBut(&'a [TypeId]),
}

/// The access rules of one schema.
#[derive(Debug, Clone)]
pub struct Access {
    /// `userPassword` with its subtypes, which owners may change.
    passwords: Vec<TypeId>,
    secrets: Secrets,
    accounts: Accounts,
    /// Secrets, and the state of accounts: what others than the administrator never search by.
    guarded: Secrets,
    configuration: Name,
    /// Names of the entries that may act as other subjects.
    proxies: Vec<Name>,
}

impl Access {
    /// Returns the built-in rules. `named` are secret attribute types in addition to those of
    /// [`Secrets`].
    pub fn builtin(schema: &Schema, named: &[TypeId]) -> Access {
        let mut passwords = Vec::new();
        if let Some(password) = schema.attribute_type("userPassword") {
            let all = schema.attribute_types().map(|(id, _)| id);
            passwords.extend(all.filter(|id| schema.is_subtype(*id, password)));
        }
        let configuration = schema
            .resolve_name("cn=config")
            .expect("every schema knows cn, so cn=config resolves");
        let secrets = Secrets::of(schema, named);
        Access {
            passwords,
            guarded: secrets.clone(),
            secrets,
            accounts: Accounts::default(),
            configuration,
            proxies: Vec::new(),
        }
    }

    /// Returns rules that keep the state of accounts to the administrator and, in part, to the
    /// owner.
    pub fn guarding_accounts(mut self, schema: &Schema) -> Access {
        self.accounts = Accounts::of(schema);
        self.guarded = self.secrets.with(schema, self.accounts.types());
        self
    }

    /// The attribute types with the state of accounts; empty where the rules do not guard it.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The attribute types that no filter of a dynamic group sees: the secrets, and the state of
    /// accounts.
    pub fn guarded(&self) -> &Secrets {
        &self.guarded
    }

    /// The attribute types that only the administrator may use in any way.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Adds the names of entries that may act as other subjects (RFC 4370).
    pub fn with_proxies(mut self, proxies: Vec<Name>) -> Access {
        self.proxies = proxies;
        self
    }

    /// Decides whether an operation of `subject` may be done as `other`, and by which rule. The
    /// administrator may act as anybody, proxies as anybody but the administrator, every subject as
    /// itself.
    pub fn decide_proxy(&self, subject: &Subject, other: &Subject) -> Decision {
        if subject.is_administrator() {
            return decision(true, "administrator");
        }
        let Some(name) = &subject.name else {
            return decision(false, "anonymous is nobody's proxy");
        };
        if subject.kind == other.kind && subject.name == other.name {
            return decision(true, "oneself");
        }
        let proxy = self.proxies.contains(name) && !other.is_administrator();
        decision(proxy, if proxy { "proxy" } else { "no proxy" })
    }

    /// Decides whether `subject` may exercise `right` on `target`, and by which rule.
    pub fn decide(&self, subject: &Subject, right: Right, target: &Target<'_>) -> Decision {
        if subject.is_administrator() {
            return decision(true, "administrator");
        }
        if target.name.is_within(&self.configuration) {
            return decision(false, "configuration");
        }
        if let Some(secret) = target.attribute.filter(|it| self.secrets.contains(*it)) {
            return self.decide_secret(subject, right, target.name, secret);
        }
        if let Some(state) = target.attribute.filter(|it| self.accounts.contains(*it)) {
            let own = subject.is_self(target.name) && self.accounts.shows_to_owner(state);
            return match own {
                true => decision(right == Right::Read, "own account"),
                false => decision(false, "account state"),
            };
        }
        match right {
            Right::Authenticate
            | Right::Disclose
            | Right::Compare
            | Right::Search
            | Right::Read => decision(true, "readable"),
            Right::Write | Right::Add | Right::Delete | Right::Rename | Right::Manage => {
                decision(false, "not writable")
            }
        }
    }

    fn decide_secret(
        &self,
        subject: &Subject,
        right: Right,
        name: &Name,
        secret: TypeId,
    ) -> Decision {
        if !self.passwords.contains(&secret) {
            return decision(false, "secrets");
        }
        let authenticates = right == Right::Authenticate;
        if subject.is_self(name) {
            let changes = matches!(right, Right::Compare | Right::Write);
            return decision(authenticates || changes, "own password");
        }
        decision(authenticates, "passwords")
    }

    /// Returns the attributes that `subject` sees. Compute it once for a search.
    pub fn sight(&self, subject: &Subject) -> Sight<'_> {
        match subject.is_administrator() {
            true => Sight::Everything,
            false => Sight::AllBut(self.guarded.types()),
        }
    }

    /// Removes from a filter the assertions that `subject` may not search, before any index is
    /// read: the narrowed filter reveals no more than `sight` shows.
    #[inline]
    pub fn narrow(&self, subject: &Subject, schema: &Schema, filter: &mut Filter) {
        if !subject.is_administrator() {
            self.guarded.conceal(schema, filter);
        }
    }
}

fn decision(allowed: bool, rule: &'static str) -> Decision {
    Decision {
        allowed,
        rule: Cow::Borrowed(rule),
        clause: None,
    }
}
