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
//! | `readable` | everything else | disclose, compare, search, read, authenticate |
//! | `not writable` | everything else | nothing: add, delete, rename, write, manage |
//!
//! [`Secrets`] has the secret attributes. `userPassword` is one of them.

pub mod analysis;
pub mod compile;
mod condition;
pub mod decide;
pub mod error;
pub mod explain;
pub mod facts;
pub(crate) mod fuzz;
pub mod hours;
pub mod import;
#[cfg(test)]
mod model;
pub mod objects;
pub mod parse;
mod pattern;
pub mod print;
pub mod region;
pub mod right;
pub mod rules;
pub mod sets;
#[cfg(test)]
mod testing;
mod walk;
pub mod words;

use schema::{Filter, Name, Schema, TypeId};

use crate::secrets::Secrets;
use crate::subject::Subject;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the right is granted.
    pub allowed: bool,
    /// Name of the deciding rule, for explanations and logs.
    pub rule: &'static str,
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
        Access {
            passwords,
            secrets: Secrets::of(schema, named),
            configuration,
            proxies: Vec::new(),
        }
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
            false => Sight::AllBut(self.secrets.types()),
        }
    }

    /// Removes from a filter the assertions that `subject` may not search, before any index is
    /// read: the narrowed filter reveals no more than `sight` shows.
    #[inline]
    pub fn narrow(&self, subject: &Subject, schema: &Schema, filter: &mut Filter) {
        if !subject.is_administrator() {
            self.secrets.conceal(schema, filter);
        }
    }
}

fn decision(allowed: bool, rule: &'static str) -> Decision {
    Decision { allowed, rule }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Authentication;

    struct World {
        schema: Schema,
        access: Access,
    }

    impl World {
        fn new() -> World {
            let schema = Schema::standard();
            let access = Access::builtin(&schema, &[]);
            World { schema, access }
        }

        fn subject(&self, dn: &str) -> Subject {
            let nobody = Subject::anonymous(None, true);
            match dn {
                "" => nobody,
                "cn=admin,dc=example" => {
                    nobody.administrator(self.name(dn), dn.to_owned(), Authentication::Simple)
                }
                _ => nobody.authenticated(self.name(dn), dn.to_owned(), Authentication::Simple),
            }
        }

        fn name(&self, dn: &str) -> Name {
            self.schema.resolve_name(dn).unwrap()
        }

        /// Checks the rights of `subject`, a word of their first letters in the order above.
        #[track_caller]
        fn check(&self, subject: &str, target: &str, attribute: &str, rights: &str, rule: &str) {
            let all = [
                (Right::Authenticate, 'A'),
                (Right::Disclose, 'D'),
                (Right::Compare, 'C'),
                (Right::Search, 'S'),
                (Right::Read, 'R'),
                (Right::Write, 'W'),
                (Right::Add, 'a'),
                (Right::Delete, 'd'),
                (Right::Rename, 'r'),
                (Right::Manage, 'm'),
            ];
            let (subject, name) = (self.subject(subject), self.name(target));
            let target = Target {
                name: &name,
                attribute: self.schema.attribute_type(attribute),
            };
            let decide = |right| self.access.decide(&subject, right, &target);
            let allowed: String = all
                .iter()
                .filter(|(right, _)| decide(*right).allowed)
                .map(|(_, letter)| letter)
                .collect();
            assert_eq!((allowed.as_str(), decide(Right::Read).rule), (rights, rule));
        }
    }

    #[test]
    fn everybody_reads_and_nobody_writes() {
        let world = World::new();
        world.check("", "uid=ada,dc=example", "", "ADCSR", "readable");
        world.check("", "uid=ada,dc=example", "cn", "ADCSR", "readable");
        world.check("", "", "", "ADCSR", "readable");
        world.check(
            "uid=ada,dc=example",
            "uid=ada,dc=example",
            "cn",
            "ADCSR",
            "readable",
        );
    }

    #[test]
    fn passwords_are_for_authentication_and_their_owner() {
        let world = World::new();
        world.check("", "uid=ada,dc=example", "userPassword", "A", "passwords");
        world.check(
            "uid=bob,dc=example",
            "uid=ada,dc=example",
            "2.5.4.35",
            "A",
            "passwords",
        );
        let own = ("uid=ADA,dc=example", "uid=ada,dc=example");
        world.check(own.0, own.1, "userPassword", "ACW", "own password");
        for secret in ["pwdHistory", "sambaNTPassword", "krbPrincipalKey"] {
            world.check("", own.1, secret, "", "secrets");
            world.check(own.0, own.1, secret, "", "secrets");
        }
    }

    #[test]
    fn configuration_is_the_administrators() {
        let world = World::new();
        world.check("uid=ada,dc=example", "cn=config", "", "", "configuration");
        world.check(
            "",
            "cn=schema,cn=config",
            "userPassword",
            "",
            "configuration",
        );
        let admin = "cn=admin,dc=example";
        world.check(
            admin,
            "cn=schema,cn=config",
            "cn",
            "ADCSRWadrm",
            "administrator",
        );
        world.check(
            admin,
            "uid=ada,dc=example",
            "userPassword",
            "ADCSRWadrm",
            "administrator",
        );
    }

    #[test]
    fn only_proxies_act_as_others() {
        let world = World::new();
        let proxies = vec![world.name("cn=App,dc=example")];
        let access = world.access.clone().with_proxies(proxies);
        let (admin, app) = ("cn=admin,dc=example", "cn=app,dc=example");
        let (ada, nobody) = ("uid=ada,dc=example", "");
        let may = |subject, other| {
            let (subject, other) = (world.subject(subject), world.subject(other));
            access.decide_proxy(&subject, &other).allowed
        };
        for other in [admin, app, ada, nobody] {
            assert!(may(admin, other), "{other}");
            assert_eq!(may(app, other), other != admin, "{other}");
            assert_eq!(may(ada, other), other == ada, "{other}");
            assert!(!may(nobody, other), "{other}");
        }
    }

    #[test]
    fn sight_and_decisions_agree() {
        let world = World::new();
        let (config, ada) = (world.name("cn=config"), world.name("uid=ada,dc=example"));
        for subject in ["", "uid=ada,dc=example", "cn=admin,dc=example"] {
            let subject = world.subject(subject);
            let hidden = match world.access.sight(&subject) {
                Sight::Everything => &[][..],
                Sight::AllBut(types) => types,
            };
            for (type_id, it) in world.schema.attribute_types() {
                let target = Target {
                    name: &ada,
                    attribute: Some(type_id),
                };
                for right in [Right::Read, Right::Search] {
                    let decided = world.access.decide(&subject, right, &target).allowed;
                    assert_eq!(decided, !hidden.contains(&type_id), "{}", it.name());
                }
            }
            let target = Target {
                name: &config,
                attribute: None,
            };
            let decided = world.access.decide(&subject, Right::Read, &target).allowed;
            assert_eq!(decided, subject.is_administrator());
        }
    }

    #[test]
    fn authorization_identities_are_spelled_as_given() {
        let world = World::new();
        assert_eq!(world.subject("").authzid(), "");
        assert_eq!(
            world.subject("UID=Ada,DC=example").authzid(),
            "dn:UID=Ada,DC=example"
        );
    }
}
