//! What the built-in rules decide, for each kind of subject.

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
        assert_eq!((&*allowed, &*decide(Right::Read).rule), (rights, rule));
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
