//! SASL EXTERNAL: binds as the entry that identity rules find for a user of a Unix socket or for
//! the holder of a certificate.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::{ClientCertificate, Peer};
use kit::{Client, success};
use policy::mapping::{Kind, Outside};
use protocol::{Authentication, BindRequest, LdapResult, Request, ResultCode, Scope};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const BASE: &str = "dc=example,dc=com";

fn external(client: &mut Client) -> LdapResult {
    let request = Request::Bind(BindRequest {
        version: 3,
        name: "",
        authentication: Authentication::Sasl {
            mechanism: "EXTERNAL",
            credentials: None,
        },
    });
    client.call(&request, &[]).result
}

fn add_rule(admin: &mut Client, name: &str, order: &str, text: &str) {
    let attributes: &[(&str, &[&str])] = &[
        ("objectClass", &["pandoIdentityRule"]),
        ("pandoIdentityOrder", &[order]),
        ("pandoIdentityText", &[text]),
    ];
    let name = format!("cn={name},cn=identities,cn=config");
    success(&admin.add(&name, attributes));
}

fn world() -> Client {
    let mut admin = Client::admin();
    admin.add_person("ada");
    let container: &[(&str, &[&str])] = &[("objectClass", &["pandoConfig"])];
    success(&admin.add("cn=identities,cn=config", container));
    admin
}

fn unix(uid: u32) -> Peer {
    Peer {
        secure: true,
        unix_uid: Some(uid),
        local: true,
        ..Peer::default()
    }
}

/// A client whose certificate names a mailbox; `valid` says whether it is still accepted.
fn certified(mail: &str, valid: &Arc<AtomicBool>) -> Peer {
    let valid = Arc::clone(valid);
    let check = move || match valid.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err("it was revoked".to_owned()),
    };
    Peer {
        secure: true,
        address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        certificate: Some(Arc::new(ClientCertificate {
            identity: Outside::of(Kind::Certificate).with("mail", mail.to_owned()),
            check: Box::new(check),
        })),
        ..Peer::default()
    }
}

#[test]
fn users_of_the_machine_are_who_the_rules_say() {
    let mut admin = world();
    let nobody = external(&mut admin.at(unix(4_711)));
    assert_eq!(nobody.code, ResultCode::INVALID_CREDENTIALS);
    let rule = format!("unix uid \"4711\" is \"cn=ada,{BASE}\"");
    add_rule(&mut admin, "ada", "1", &rule);
    // Root stays the administrator, whatever the rules say.
    let all = format!("unix uid \"*\" is \"cn=ada,{BASE}\"");
    add_rule(&mut admin, "all", "2", &all);
    for (uid, is_administrator) in [(4_711, false), (4_712, false), (0, true)] {
        let mut client = admin.at(unix(uid));
        success(&external(&mut client));
        let found = client.search("cn=config", Scope::BaseObject, "(cn=*)", &["cn"]);
        assert_eq!(found.entries.len() == 1, is_administrator, "{uid}");
    }
    // Whose name is not known is not announced to have the mechanism.
    let unknown = external(&mut admin.at(Peer::default()));
    assert_eq!(unknown.code, ResultCode::AUTH_METHOD_NOT_SUPPORTED);
}

#[test]
fn a_certificate_is_verified_at_each_bind() {
    let mut admin = world();
    let rule = format!("certificate mail \"*@example.com\" in one \"{BASE}\" where (cn=$1)");
    add_rule(&mut admin, "people", "1", &rule);
    let valid = Arc::new(AtomicBool::new(true));
    let mut client = admin.at(certified("ada@example.com", &valid));
    success(&external(&mut client));
    valid.store(false, Ordering::Relaxed);
    let refused = external(&mut client);
    assert_eq!(refused.code, ResultCode::INVALID_CREDENTIALS);
    assert!(refused.diagnostic.contains("it was revoked"), "{refused:?}");
    valid.store(true, Ordering::Relaxed);
    let mut other = admin.at(certified("eve@example.com", &valid));
    let refused = external(&mut other);
    assert_eq!(refused.code, ResultCode::INVALID_CREDENTIALS);
    // A name in a certificate without a rule of its own is nobody's.
    let mut stranger = admin.at(certified("ada@example.org", &valid));
    assert_eq!(
        external(&mut stranger).code,
        ResultCode::INVALID_CREDENTIALS
    );
}

#[test]
fn access_rules_tell_certificates_from_other_ways() {
    let mut admin = world();
    let rule = format!("certificate mail \"*@example.com\" is \"cn=$1,{BASE}\"");
    add_rule(&mut admin, "people", "1", &rule);
    let rule = format!("unix uid \"4711\" is \"cn=ada,{BASE}\"");
    add_rule(&mut admin, "users", "2", &rule);
    let container: &[(&str, &[&str])] = &[("objectClass", &["pandoConfig"])];
    success(&admin.add("cn=access,cn=config", container));
    let text = "rule some\non everything\nfor entry, all, userPassword\n\
                let users via certificate read\nlet anyone authenticate\n";
    let attributes: &[(&str, &[&str])] = &[
        ("objectClass", &["pandoAccessRule"]),
        ("pandoAccessOrder", &["1"]),
        ("pandoAccessText", &[text]),
    ];
    success(&admin.add("cn=some,cn=access,cn=config", attributes));
    let valid = Arc::new(AtomicBool::new(true));
    for (peer, sees) in [
        (certified("ada@example.com", &valid), true),
        (unix(4_711), false),
    ] {
        let mut client = admin.at(peer);
        success(&external(&mut client));
        let own = format!("cn=ada,{BASE}");
        let found = client.search(&own, Scope::BaseObject, "(objectClass=*)", &["cn"]);
        assert_eq!(found.entries.len() == 1, sees, "{:?}", found.result);
    }
}

#[test]
fn only_a_rule_without_stars_makes_an_administrator() {
    let mut admin = world();
    let name = kit::ADMIN;
    let stars = "certificate mail \"*@admins.example.com\" is \"cn=$1,dc=example,dc=com\"";
    add_rule(&mut admin, "stars", "1", stars);
    let literal = format!("certificate mail \"root@example.com\" is \"{name}\"");
    add_rule(&mut admin, "literal", "2", &literal);
    let valid = Arc::new(AtomicBool::new(true));
    let rdn = name.split_once('=').unwrap().1.split(',').next().unwrap();
    let mut starred = admin.at(certified(&format!("{rdn}@admins.example.com"), &valid));
    assert_eq!(external(&mut starred).code, ResultCode::INVALID_CREDENTIALS);
    let mut client = admin.at(certified("root@example.com", &valid));
    success(&external(&mut client));
    let found = client.search("cn=config", Scope::BaseObject, "(cn=*)", &["cn"]);
    assert_eq!(found.entries.len(), 1);
    // Where the administrator may not bind, a certificate does not help.
    let barred = Peer {
        bars_administrator: true,
        ..certified("root@example.com", &valid)
    };
    let refused = external(&mut admin.at(barred));
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
}
