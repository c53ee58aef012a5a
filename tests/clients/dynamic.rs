//! Dynamic entries (RFC 2589) over the wire: they expire unless they are refreshed.

use kit::client::{Entry, Modification, Outcome};
use kit::process::until;
use kit::{Client, Folder, Pando, SUFFIX};
use protocol::extended::{RefreshRequest, RefreshResponse};
use protocol::{ResultCode, Scope, oid};

const MEETING: &str = "cn=meeting,dc=example,dc=com";

fn meeting(ttl_s: Option<&str>) -> Entry {
    let mut entry = Entry::of(
        MEETING,
        &[
            ("objectClass", &["device", "dynamicObject"]),
            ("cn", &["meeting"]),
        ],
    );
    if let Some(ttl_s) = ttl_s {
        entry.push("entryTtl", ttl_s.into());
    }
    entry
}

fn refresh(client: &mut Client, entry: &str, ttl_s: u32) -> (Outcome, u32) {
    let mut value = Vec::new();
    RefreshRequest { entry, ttl_s }.encode(&mut value);
    let outcome = client.extended(oid::REFRESH, Some(&value));
    assert_eq!(outcome.name.as_deref(), Some(oid::REFRESH), "{outcome:?}");
    let value = outcome.value.clone().expect("a time to live");
    let response = RefreshResponse::decode(&value).expect("it decodes");
    (outcome, response.ttl_s)
}

fn ttl_s(client: &mut Client, name: &str) -> u64 {
    let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &["entryTtl"]);
    found.only().text("entryTtl").parse().expect("a number")
}

fn until_gone(client: &mut Client, name: &str) {
    until("the entry is gone", || {
        client.read(name).is_none().then_some(())
    });
}

#[test]
fn an_entry_ends_when_nobody_refreshes_it() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    let root = admin.read("").expect("the root DSE");
    assert_eq!(root.texts("dynamicSubtrees"), [SUFFIX]);
    admin.add(&meeting(Some("2"))).expect_success();
    assert!(ttl_s(&mut admin, MEETING) <= 3);
    let found = admin.search(SUFFIX, Scope::WholeSubtree, "(entryTtl<=3)", &["1.1"]);
    assert_eq!(found.names(), [MEETING]);
    until_gone(&mut admin, MEETING);
}

#[test]
fn a_refresh_keeps_it() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    admin.add(&meeting(None)).expect_success();
    let day = ttl_s(&mut admin, MEETING);
    assert!((86_000..=86_401).contains(&day), "{day}");
    let (outcome, granted) = refresh(&mut admin, MEETING, 600);
    outcome.expect_success();
    assert_eq!(granted, 600);
    let left = ttl_s(&mut admin, MEETING);
    assert!((500..=601).contains(&left), "{left}");
    // The entry was refreshed before its first end.
    let (outcome, _) = refresh(&mut admin, MEETING, 1);
    outcome.expect_success();
    let (outcome, _) = refresh(&mut admin, MEETING, 3_600);
    outcome.expect_success();
    admin
        .add(&Entry::of(
            "cn=static,dc=example,dc=com",
            &[("objectClass", &["device"]), ("cn", &["static"])],
        ))
        .expect_success();
    for (name, code) in [
        ("cn=nobody,dc=example,dc=com", ResultCode::NO_SUCH_OBJECT),
        (
            "cn=static,dc=example,dc=com",
            ResultCode::OBJECT_CLASS_VIOLATION,
        ),
        ("nothing", ResultCode::INVALID_DN_SYNTAX),
    ] {
        let (outcome, granted) = refresh(&mut admin, name, 60);
        outcome.expect(code);
        assert_eq!(granted, 0);
    }
    let (outcome, _) = refresh(&mut admin, MEETING, 40_000_000);
    outcome.expect(ResultCode::SIZE_LIMIT_EXCEEDED);
    let (outcome, _) = refresh(&mut pando.client(), MEETING, 60);
    outcome.expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    admin
        .extended(oid::REFRESH, Some(b"junk"))
        .expect(ResultCode::PROTOCOL_ERROR);
    assert!(admin.read(MEETING).is_some());
}

#[test]
fn ldapexop_refreshes() {
    let pando = Pando::start();
    pando.admin().add(&meeting(None)).expect_success();
    pando
        .tools()
        .run("ldapexop", &["refresh", MEETING, "600"], "")
        .expect(0)
        .says("newttl=600");
}

#[test]
fn dynamic_and_static_stay_what_they_are() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    admin.add(&meeting(Some("600"))).expect_success();
    let below = Entry::of(
        "cn=agenda,cn=meeting,dc=example,dc=com",
        &[("objectClass", &["device"]), ("cn", &["agenda"])],
    );
    admin.add(&below).expect(ResultCode::OBJECT_CLASS_VIOLATION);
    let become_static = [Modification::delete("objectClass", &["dynamicObject"])];
    admin
        .modify(MEETING, &become_static)
        .expect(ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
    let become_dynamic = [Modification::add("objectClass", &["dynamicObject"])];
    admin
        .modify(SUFFIX, &become_dynamic)
        .expect(ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
    let longer = [Modification::replace("entryTtl", &["700"])];
    admin
        .modify(MEETING, &longer)
        .expect(ResultCode::CONSTRAINT_VIOLATION);
    let mut wrong = below.clone();
    wrong.name = "cn=agenda,dc=example,dc=com".to_owned();
    wrong.push("entryTtl", b"60".to_vec());
    admin.add(&wrong).expect(ResultCode::OBJECT_CLASS_VIOLATION);
    let mut wrong = meeting(Some("soon"));
    wrong.name = "cn=other,dc=example,dc=com".to_owned();
    let code = admin.add(&wrong).code;
    assert!(
        [
            ResultCode::CONSTRAINT_VIOLATION,
            ResultCode::INVALID_ATTRIBUTE_SYNTAX
        ]
        .contains(&code),
        "{code:?}"
    );
}

#[test]
fn ends_survive_a_restart_and_go_upwards() {
    let folder = Folder::new();
    let mut pando = Pando::init_in(folder, &["--suffix", SUFFIX]);
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n[dynamic_entries]\nttl_default_s = 2\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("the node's folder");
    pando.serve_as_configured();
    let mut admin = pando.admin();
    // Both expire in the same second; the lower one must be removed first.
    admin.add(&meeting(None)).expect_success();
    let below = "cn=agenda,cn=meeting,dc=example,dc=com";
    admin
        .add(&Entry::of(
            below,
            &[
                ("objectClass", &["device", "dynamicObject"]),
                ("cn", &["agenda"]),
            ],
        ))
        .expect_success();
    pando.kill();
    pando.serve_as_configured();
    let mut admin = pando.admin();
    until_gone(&mut admin, below);
    until_gone(&mut admin, MEETING);
    pando.stop();
    pando.assert_clean();
}

#[test]
fn an_import_without_ends_gets_them() {
    let folder = Folder::new();
    let mut pando = Pando::init_in(folder, &["--suffix", SUFFIX]);
    let ldif = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
                dn: cn=meeting,dc=example,dc=com\nobjectClass: device\n\
                objectClass: dynamicObject\ncn: meeting\n";
    let file = pando.folder.write("data.ldif", ldif);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando.serve();
    let mut admin = pando.admin();
    until("the entry has an end", || {
        let found = admin.search(MEETING, Scope::BaseObject, "(entryTtl>=1)", &["1.1"]);
        (found.entries.len() == 1).then_some(())
    });
}
