//! What the rule sets of the program decide.

use super::*;
use crate::access::compile::RuleSet;
use crate::access::decide::{Question, SubjectRules};
use crate::access::facts::{Asker, EntryFacts, Group, Identity, Origin, SubjectFacts};
use crate::access::objects::Object;
use crate::access::print::print;
use crate::access::right::Right;
use crate::access::words::{Use, Ways};
use crate::access::{Access, Right as Known, Target};
use crate::secrets::Secrets;
use crate::subject::{Authentication, Subject};
use schema::{Filter, Name, Schema, Truth, TypeId};

/// A world in which every entry is a person, and `cn=app` alone a proxy.
struct Persons;

impl SubjectFacts for Persons {
    fn matches(&self, _: &Name, _: &Filter) -> Truth {
        Truth::True
    }

    fn is_member(&self, subject: &Name, group: &Group) -> Truth {
        let is_proxy = group.name.to_string() == "cn=config" && group.by.is_some();
        (is_proxy && subject.to_string() == "cn=app,dc=example").into()
    }
}

struct Person(Name);

impl EntryFacts for Person {
    fn name(&self) -> &Name {
        &self.0
    }

    fn matches(&self, _: &Filter) -> Truth {
        Truth::True
    }

    fn names(&self, _: TypeId, _: &Name) -> Truth {
        Truth::False
    }

    fn superior_names(&self, _: TypeId, _: &Name) -> Truth {
        Truth::False
    }
}

fn subject(rules: &[Rule], schema: &Schema, identity: Identity) -> SubjectRules {
    let secrets = Secrets::of(schema, &[]);
    let set = RuleSet::compile(schema, &secrets, rules).unwrap_or_else(|error| panic!("{error}"));
    let asker = Asker {
        acting: identity.clone(),
        real: identity,
        origin: Origin::Socket,
        ways: Ways::of(&[]),
        minute: None,
    };
    set.of_subject(asker, &Persons)
}

#[test]
fn sets_print_to_what_they_are() {
    for rules in [builtin(), default()] {
        assert_eq!(parse(&print(&rules)).unwrap().rules, rules);
    }
}

#[test]
fn the_builtin_set_means_what_is_built_in() {
    let schema = Schema::standard();
    let access = Access::builtin(&schema, &[]).guarding_accounts(&schema);
    let name = |dn: &str| schema.resolve_name(dn).unwrap();
    let nobody = Subject::anonymous(None, true);
    let ada = name("uid=ada,dc=example");
    let subjects = [
        (nobody.clone(), Identity::Anonymous),
        (
            nobody.authenticated(ada.clone(), String::new(), Authentication::Simple),
            Identity::Entry(ada.clone()),
        ),
        (
            nobody.administrator(ada.clone(), String::new(), Authentication::Simple),
            Identity::Administrator(ada),
        ),
    ];
    let rights = [
        (Known::Authenticate, Right::Authenticate),
        (Known::Disclose, Right::Disclose),
        (Known::Compare, Right::Compare),
        (Known::Search, Right::Search),
        (Known::Read, Right::Read),
        (Known::Write, Right::AddValue),
        (Known::Write, Right::DeleteValue),
        (Known::Add, Right::Add),
        (Known::Delete, Right::Delete),
        (Known::Rename, Right::Rename),
        (Known::Manage, Right::Manage),
    ];
    let types = schema.attribute_types().map(|(id, _)| Some(id));
    let attributes: Vec<Option<TypeId>> = types.chain([None]).collect();
    for (known, identity) in subjects {
        let rules = subject(&builtin(), &schema, identity);
        for dn in [
            "",
            "uid=ada,dc=example",
            "dc=example",
            "cn=config",
            "cn=a,cn=config",
        ] {
            let person = Person(name(dn));
            for attribute in &attributes {
                let object = attribute.map_or(Object::Entry, Object::Attribute);
                let found = rules.rights(&person, Question::about(object));
                for (right, new) in rights {
                    let (name, attribute) = (&person.0, *attribute);
                    let decision = access.decide(&known, right, &Target { name, attribute });
                    assert_eq!(
                        found.contains(new),
                        decision.allowed,
                        "{right:?} {object:?} {dn}"
                    );
                }
            }
        }
    }
}

/// What the server decides without rules about operations, controls, `cn=monitor` and proxies.
#[test]
fn the_builtin_set_means_what_the_server_decides_about_uses_and_proxies() {
    let schema = Schema::standard();
    let name = |dn: &str| schema.resolve_name(dn).unwrap();
    let everybody = [
        Use::Sync,
        Use::Persist,
        Use::Unindexed,
        Use::Sort,
        Use::View,
        Use::Count,
        Use::NoCopy,
        Use::Proxied,
        Use::TreeDelete,
    ];
    let (app, ada) = (name("cn=app,dc=example"), name("uid=ada,dc=example"));
    let held_in = name("cn=administrator,cn=config");
    // Whom each subject may act as: the administrator, ada, nobody.
    let subjects = [
        (Identity::Anonymous, [false, false, false]),
        (Identity::Entry(ada.clone()), [false, true, false]),
        (Identity::Entry(app), [false, true, true]),
        (Identity::Administrator(name("cn=admin")), [true; 3]),
    ];
    for (identity, acts) in subjects {
        let administrator = matches!(identity, Identity::Administrator(_));
        let rules = subject(&builtin(), &schema, identity.clone());
        for one in Use::ALL {
            let question = Question::about(Object::Use(one));
            let person = Person(name("dc=example"));
            let allowed = rules.decide(&person, question, Right::Use).allowed;
            let expected = administrator || everybody.contains(&one);
            assert_eq!(allowed, expected, "{identity:?} {one:?}");
            assert!(rules.set().decides(one), "{one:?}");
        }
        let others = [held_in.clone(), ada.clone(), Name::root()];
        for (other, acts) in others.into_iter().zip(acts) {
            let question = Question::about(Object::Entry);
            let allowed = rules.decide(&Person(other.clone()), question, Right::Proxy);
            assert_eq!(allowed.allowed, acts, "{identity:?} as {other}");
        }
        for dn in ["cn=monitor", "cn=Threads,cn=monitor", "cn=config"] {
            let question = Question::about(Object::Entry);
            let allowed = rules.decide(&Person(name(dn)), question, Right::Read);
            assert_eq!(allowed.allowed, administrator, "{identity:?} {dn}");
        }
    }
    let none = RuleSet::compile(&schema, &Secrets::of(&schema, &[]), &[]).unwrap();
    assert!(!none.decides_uses() && none.generation() == 0);
}

/// Checks the rights that the default set gives, by words with spaces between them.
#[track_caller]
fn check(who: &str, dn: &str, attribute: &str, rights: &str) {
    let schema = Schema::standard();
    let name = |dn: &str| schema.resolve_name(dn).unwrap();
    let identity = match who {
        "" => Identity::Anonymous,
        "administrator" => Identity::Administrator(name("cn=admin")),
        dn => Identity::Entry(name(dn)),
    };
    let object = match schema.attribute_type(attribute) {
        Some(id) => Object::Attribute(id),
        None => Object::Entry,
    };
    let rules = subject(&default(), &schema, identity);
    let found = rules.rights(&Person(name(dn)), Question::about(object));
    let words: Vec<&str> = found.iter().map(Right::word).collect();
    assert_eq!(words.join(" "), rights, "{who} {dn} {attribute}");
}

#[test]
fn the_default_set_lets_users_read_and_owners_change() {
    let (ada, bob) = ("uid=ada,dc=a", "uid=bob,dc=a");
    let read = "disclose compare search read";
    let write = "disclose compare search read add-value delete-value self-value";
    check(ada, bob, "cn", read);
    check(ada, bob, "", read);
    check(ada, bob, "mobile", read);
    check(ada, ada, "mobile", write);
    check(ada, ada, "cn", read);
    check(
        ada,
        ada,
        "userPassword",
        "authenticate compare add-value delete-value self-value",
    );
    check(ada, bob, "userPassword", "authenticate");
    check("", bob, "userPassword", "authenticate");
    check("", bob, "cn", "");
    check("", bob, "", "");
    check("", "", "supportedSASLMechanisms", read);
    for hidden in ["sambaNTPassword", "pwdFailureTime", "pwdAccountLockedTime"] {
        check(ada, ada, hidden, "");
    }
    check(ada, "cn=config", "cn", "");
    let everything: Vec<&str> = Right::ALL.iter().map(|it| it.word()).collect();
    check(
        "administrator",
        "cn=config",
        "userPassword",
        &everything.join(" "),
    );
}
