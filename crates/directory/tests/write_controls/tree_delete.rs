//! Tree delete (draft-armijo-ldap-treedelete).

use crate::kit::Client;
use crate::{ADA, BASE, with_ada};
use protocol::{OwnedControl, ResultCode, Scope, oid};

fn tree() -> [OwnedControl; 1] {
    [OwnedControl::new(oid::TREE_DELETE, true)]
}

fn unit(client: &mut Client, dn: &str) {
    let attributes: [(&str, &[&str]); 1] = [("objectClass", &["organizationalUnit"])];
    assert_eq!(
        client.add(dn, &attributes).code,
        ResultCode::SUCCESS,
        "{dn}"
    );
}

fn count(client: &mut Client, base: &str) -> usize {
    client
        .search(base, Scope::WholeSubtree, "(objectClass=*)", &["1.1"])
        .entries
        .len()
}

#[test]
fn a_subtree_goes_as_one() {
    let mut client = with_ada();
    let top = format!("ou=Top,{BASE}");
    let before = client.directory.status().unwrap();
    unit(&mut client, &top);
    for outer in 0..5 {
        let dn = format!("ou=u{outer},{top}");
        unit(&mut client, &dn);
        for inner in 0..5 {
            unit(&mut client, &format!("ou=v{inner},{dn}"));
        }
        unit(&mut client, &format!("ou=deep,ou=v0,{dn}"));
    }
    assert_eq!(count(&mut client, &top), 36);
    let refused = client.delete_with(&top, &[]).result.code;
    assert_eq!(refused, ResultCode::NOT_ALLOWED_ON_NON_LEAF);
    let done = client.delete_with(&top, &tree()).result;
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let gone = client.search(&top, Scope::BaseObject, "(ou=*)", &[]);
    assert_eq!(gone.result.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(gone.result.matched, BASE);
    let found = client.search(BASE, Scope::WholeSubtree, "(ou=*)", &["1.1"]);
    assert_eq!(found.entries.len(), 0);
    let after = client.directory.status().unwrap();
    assert_eq!(
        (after.entries, after.digest),
        (before.entries, before.digest)
    );
    let base = client.search(BASE, Scope::BaseObject, "(dc=*)", &["numSubordinates"]);
    assert_eq!(base.values("numSubordinates"), ["1"]);
    // A leaf is the smallest tree, and the name is free again.
    unit(&mut client, &top);
    assert_eq!(
        client.delete_with(&top, &tree()).result.code,
        ResultCode::SUCCESS
    );
    let folder = std::sync::Arc::clone(&client.folder);
    client.directory.shutdown();
    drop(client);
    let report = replica::check::check(folder.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

#[test]
fn trees_are_deleted_by_those_who_may() {
    let mut client = with_ada();
    let mut own = client.another();
    assert_eq!(own.bind(ADA, "ada").code, ResultCode::SUCCESS);
    let refused = own.delete_with(BASE, &tree()).result.code;
    assert_eq!(refused, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let refused = client.delete_with("cn=config", &tree()).result.code;
    assert_eq!(refused, ResultCode::UNWILLING_TO_PERFORM);
    let [mut valued] = tree();
    valued.value = Some(vec![1]);
    let refused = client.delete_with(ADA, &[valued]).result.code;
    assert_eq!(refused, ResultCode::PROTOCOL_ERROR);
    let missing = client
        .delete_with("cn=none,dc=example,dc=com", &tree())
        .result
        .code;
    assert_eq!(missing, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(count(&mut client, BASE), 2);
}
