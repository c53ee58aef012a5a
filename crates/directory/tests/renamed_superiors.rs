//! Followers are told of an entry behind its superiors: they are told its present state, and a name
//! in it may be newer than the change.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::groups::BASE;
use kit::{Client, success};
use protocol::control::{SyncMode, SyncRequest};
use protocol::{ChangeOperation, OwnedControl, Scope, oid};

fn unit(client: &mut Client, name: &str) {
    let class = [("objectClass", &["organizationalUnit"][..])];
    success(&client.add(&format!("{name},{BASE}"), &class));
}

fn person(client: &mut Client, name: &str) {
    let class = [("objectClass", &["person"][..]), ("sn", &["x"])];
    success(&client.add(&format!("{name},{BASE}"), &class));
}

fn rename(client: &mut Client, name: &str, rdn: &str, superior: Option<&str>) {
    let superior = superior.map(|it| format!("{it},{BASE}"));
    let name = format!("{name},{BASE}");
    success(
        &client
            .rename_with(&name, rdn, superior.as_deref(), &[])
            .result,
    );
}

fn follow(client: &mut Client, filter: &str) {
    let asked = SyncRequest {
        mode: SyncMode::RefreshAndPersist,
        cookie: None,
        reload_hint: false,
    };
    let control = OwnedControl::with_value(oid::SYNC_REQUEST, true, |out| asked.encode(out));
    let scope = Scope::WholeSubtree;
    client.search_with(BASE, scope, filter, &["1.1"], |_| (), &[control]);
}

/// The names that are told next, in their order, each where it stands first.
fn told(follower: &mut Client) -> Vec<String> {
    let (answer, _) = follower.news();
    let mut names: Vec<String> = Vec::new();
    for (name, _) in answer.entries {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn below_base(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| format!("{it},{BASE}")).collect()
}

#[test]
fn an_entry_is_told_behind_its_superiors() {
    let mut client = Client::admin();
    for name in ["ou=a", "ou=place"] {
        unit(&mut client, name);
    }
    person(&mut client, "cn=old,ou=a");
    let mut follower = client.another();
    success(&follower.bind(kit::ADMIN, kit::PASSWORD));
    follow(&mut follower, "(objectClass=*)");
    // Everything is there before the follower looks.
    let old = format!("cn=old,ou=a,{BASE}");
    let change = (ChangeOperation::Replace, "sn", &["y"][..]);
    success(&client.modify(&old, &[change]));
    person(&mut client, "cn=new,ou=a");
    rename(&mut client, "ou=a", "ou=b", None);
    rename(&mut client, "ou=place", "ou=spot", None);
    rename(&mut client, "ou=b", "ou=b", Some("ou=spot"));
    let expected = [
        "ou=spot",
        "ou=b,ou=spot",
        "cn=old,ou=b,ou=spot",
        "cn=new,ou=b,ou=spot",
    ];
    assert_eq!(told(&mut follower), below_base(&expected));
    // An entry whose superiors were told is told alone.
    person(&mut client, "cn=last,ou=b,ou=spot");
    let last = told(&mut follower);
    assert_eq!(last, below_base(&["cn=last,ou=b,ou=spot"]));
}

#[test]
fn superiors_outside_the_content_are_not_told() {
    let mut client = Client::admin();
    unit(&mut client, "ou=a");
    let mut follower = client.another();
    success(&follower.bind(kit::ADMIN, kit::PASSWORD));
    follow(&mut follower, "(objectClass=person)");
    person(&mut client, "cn=new,ou=a");
    rename(&mut client, "ou=a", "ou=b", None);
    assert_eq!(told(&mut follower), below_base(&["cn=new,ou=b"]));
}
