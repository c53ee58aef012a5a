//! Tree delete of more than is deleted at once: gone for everybody from one moment to the next,
//! reclaimed afterwards, whatever happens in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;
mod node;

use directory::InitOptions;
use kit::{Client, PASSWORD, success};
use policy::password::Scheme;
use protocol::control::{
    ChangeType, MatchingEntryCountRequest, MatchingEntryCountResponse, PersistentSearch,
    ReadEntryRequest, ReadEntryResponse,
};
use protocol::{
    ChangeOperation, CompareRequest, DerefAliases, OwnedControl, Request, ResultCode, Scope, oid,
    parse_filter,
};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use transfer::Meter;
use transfer::export::{ExportOptions, export};
use transfer::import::{Files, Format, ImportOptions, import};

const BASE: &str = "dc=example,dc=com";
const TOP: &str = "ou=top,dc=example,dc=com";
/// More than is deleted at once, in several slices.
const PEOPLE: usize = 1_500;
/// With the units above, the referral and the alias.
const SUBTREE: usize = PEOPLE + 4;

fn tree() -> OwnedControl {
    OwnedControl::new(oid::TREE_DELETE, true)
}

/// The top of the subtree with a referral and an alias below it, and others who name it.
const AROUND: &str = "version: 1

dn: ou=top,dc=example,dc=com
objectClass: organizationalUnit
ou: top

dn: ou=away,ou=top,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ou: away
ref: ldap://other.example/ou=away

dn: ou=inside,ou=top,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
ou: inside
aliasedObjectName: dc=example,dc=com

dn: cn=group,dc=example,dc=com
objectClass: groupOfNames
cn: group
member: uid=user.1,ou=people,ou=top,dc=example,dc=com

dn: ou=alias,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
ou: alias
aliasedObjectName: ou=top,dc=example,dc=com
";

/// `AROUND` with `people` persons in the subtree.
fn ldif(people: usize) -> String {
    let base = "ou=people,dc=example,dc=com\n";
    let people = node::people(people).replace(base, "ou=people,ou=top,dc=example,dc=com\n");
    people.replacen("version: 1\n", AROUND, 1)
}

/// A directory whose subtree has `PEOPLE` persons, and the administrator's session.
fn world() -> Client {
    world_of(PEOPLE)
}

/// A directory whose subtree has `people` persons, and the administrator's session.
fn world_of(people: usize) -> Client {
    let folder = Arc::new(TempDir::new().unwrap());
    let password = policy::password::hash(Scheme::Ssha, PASSWORD.as_bytes()).unwrap();
    let init = InitOptions::new(BASE, password);
    replica::create(folder.path(), &init).unwrap();
    let beside = TempDir::new().unwrap();
    let file = beside.path().join("input.ldif");
    fs::write(&file, ldif(people)).unwrap();
    let options = ImportOptions {
        threads: 2,
        ..ImportOptions::new(beside.path().join("rejects"))
    };
    let files = Box::new(Files::new(vec![file], Format::Ldif));
    let imported = import(folder.path(), files, &options, &Meter::default()).unwrap();
    assert_eq!(imported.rejected, 0);
    let mut client = Client::open(folder);
    assert_eq!(client.bind(kit::ADMIN, PASSWORD).code, ResultCode::SUCCESS);
    client
}

fn count(client: &mut Client, base: &str, filter: &str) -> usize {
    let manage = OwnedControl::new(oid::MANAGE_DSA_IT, true);
    client
        .search_with(
            base,
            Scope::WholeSubtree,
            filter,
            &["1.1"],
            |_| (),
            &[manage],
        )
        .entries
        .len()
}

fn unit(client: &mut Client, dn: &str, controls: &[OwnedControl]) {
    let attributes: [(&str, &[&str]); 1] = [("objectClass", &["organizationalUnit"])];
    let added = client.add_with(dn, &attributes, controls).result;
    assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
}

fn await_reclaim(client: &Client) {
    while client.directory.status().unwrap().deleted_subtrees > 0 {
        std::thread::yield_now();
    }
}

/// Waits until one more part of the deleted subtree is reclaimed, or the whole.
fn await_some_reclaim(client: &Client) {
    let before = client.directory.status().unwrap();
    let mut now = client.directory.status().unwrap();
    while now.deleted_subtrees > 0 && now.position == before.position {
        std::thread::yield_now();
        now = client.directory.status().unwrap();
    }
}

fn check(folder: &Path) {
    let report = replica::check::check(folder).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

/// Asserts that no operation finds an entry of the subtree, and that `others` entries are left.
fn assert_gone(client: &mut Client, others: usize) {
    let top = client.search(TOP, Scope::BaseObject, "(objectClass=*)", &[]);
    assert_eq!(top.result.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(top.result.matched, BASE);
    for filter in [
        "(uid=user.7)",
        "(uid=user.*)",
        "(sn=Number)",
        "(description=*)",
    ] {
        for base in ["", BASE] {
            assert_eq!(count(client, base, filter), 0, "{base} {filter}");
        }
    }
    assert_eq!(count(client, BASE, "(objectClass=*)"), others);
    assert_eq!(count(client, BASE, "(!(cn=nobody))"), others);
    let base = client.search(BASE, Scope::BaseObject, "(dc=*)", &["numSubordinates"]);
    assert_eq!(base.values("numSubordinates"), [(others - 1).to_string()]);
    let user = format!("uid=user.1,ou=people,{TOP}");
    let compared = client.call(
        &Request::Compare(CompareRequest {
            entry: &user,
            attribute: "uid",
            value: b"user.1",
        }),
        &[],
    );
    assert_eq!(compared.result.code, ResultCode::NO_SUCH_OBJECT);
    let groups = format!("(memberOf=cn=group,{BASE})");
    assert_eq!(count(client, "", &groups), 0);
    let alias = format!("ou=alias,{BASE}");
    let followed = client.search_with(
        &alias,
        Scope::WholeSubtree,
        "(objectClass=*)",
        &["1.1"],
        |it| it.deref_aliases = DerefAliases::Always,
        &[],
    );
    assert_eq!(followed.result.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(counted(client, "(uid=user.1)"), 0);
    assert_eq!(counted(client, "(objectClass=*)"), others as u32);
    let mut another = client.another();
    let bound = another.bind(&user, "secret1");
    assert_eq!(bound.code, ResultCode::INVALID_CREDENTIALS);
}

/// The count of the matching entry count control.
fn counted(client: &mut Client, filter: &str) -> u32 {
    let asked = MatchingEntryCountRequest {
        examined_max: 1_000_000,
        process_unindexed: true,
        ..MatchingEntryCountRequest::default()
    };
    let oid = oid::MATCHING_ENTRY_COUNT_REQUEST;
    let control = OwnedControl::with_value(oid, true, |out| asked.encode(out));
    let manage = OwnedControl::new(oid::MANAGE_DSA_IT, true);
    let controls = [control, manage];
    let scope = Scope::WholeSubtree;
    let answer = client.search_with(BASE, scope, filter, &[], |_| (), &controls);
    let (_, value) = &answer.controls[0];
    let value = MatchingEntryCountResponse::decode(value.as_deref().unwrap()).unwrap();
    match value.count {
        protocol::control::EntryCount::Examined(count) => count,
        other => panic!("{other:?}"),
    }
}

/// Adds somebody with the `uid` of an entry of the subtree, which a rule keeps unique.
fn add_double(client: &mut Client) -> ResultCode {
    let double: [(&str, &[&str]); 3] = [
        ("objectClass", &["inetOrgPerson"]),
        ("cn", &["Double"]),
        ("sn", &["Double"]),
    ];
    client.add(&format!("uid=user.7,{BASE}"), &double).code
}

#[test]
fn a_large_subtree_is_gone_at_once() {
    let mut client = world();
    let rule: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["uid"]),
    ];
    let added = client.add("cn=uid,cn=rules,cn=config", &rule);
    assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
    assert_eq!(add_double(&mut client), ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(count(&mut client, TOP, "(objectClass=*)"), SUBTREE);
    let tried = [tree(), OwnedControl::new(oid::NO_OPERATION, true)];
    let answer = client.delete_with(TOP, &tried).result;
    assert_eq!(answer.code, ResultCode::NO_OPERATION);
    let condition = parse_filter("(ou=other)").unwrap();
    let condition = OwnedControl::with_value(oid::ASSERTION, true, |out| out.extend(condition));
    let answer = client.delete_with(TOP, &[tree(), condition]).result;
    assert_eq!(answer.code, ResultCode::ASSERTION_FAILED);
    assert_eq!(
        client.delete_with(TOP, &[]).result.code,
        ResultCode::NOT_ALLOWED_ON_NON_LEAF
    );
    assert_eq!(count(&mut client, TOP, "(objectClass=*)"), SUBTREE);

    let attributes = vec!["ou", "numSubordinates"];
    let pre_read = OwnedControl::with_value(oid::PRE_READ, true, |out| {
        ReadEntryRequest { attributes }.encode(out);
    });
    let answer = client.delete_with(TOP, &[tree(), pre_read]);
    assert_eq!(answer.result.code, ResultCode::SUCCESS);
    let read = ReadEntryResponse::decode(answer.controls[0].1.as_deref().unwrap()).unwrap();
    assert_eq!((read.name, read.attributes.len()), (TOP, 2));
    assert_gone(&mut client, 3);

    // Names and unique values are free, and an index that is built meanwhile is right.
    assert_eq!(add_double(&mut client), ResultCode::SUCCESS);
    let double = format!("uid=user.7,{BASE}");
    let deleted = client.delete_with(&double, &[]).result;
    assert_eq!(deleted.code, ResultCode::SUCCESS);
    unit(&mut client, TOP, &[]);
    unit(&mut client, &format!("ou=people,{TOP}"), &[]);
    let index: [(&str, &[&str]); 3] = [
        ("objectClass", &["pandoIndex"]),
        ("pandoIndexAttribute", &["sn"]),
        ("pandoIndexKind", &["equality", "substring"]),
    ];
    let added = client.add("cn=sn,cn=indexes,cn=config", &index);
    assert_eq!(added.code, ResultCode::SUCCESS);
    assert_eq!(count(&mut client, TOP, "(objectClass=*)"), 2);
    let deleted = client.delete_with(TOP, &[tree()]).result;
    assert_eq!(deleted.code, ResultCode::SUCCESS);
    assert_gone(&mut client, 3);
    await_reclaim(&client);
    assert_gone(&mut client, 3);
    let entries = client.directory.status().unwrap().entries;
    assert_eq!(entries as usize, count(&mut client, "", "(objectClass=*)"));
    client.directory.shutdown();
    let folder = Arc::clone(&client.folder);
    drop(client);
    check(folder.path());
}

#[test]
fn a_transaction_takes_it_back_or_uses_the_name() {
    let mut client = world();
    for commits in [false, true] {
        let inside = client.begin_transaction();
        let deleted = client.delete_with(TOP, &[tree(), inside.clone()]);
        assert_eq!(deleted.result.code, ResultCode::SUCCESS);
        unit(&mut client, TOP, std::slice::from_ref(&inside));
        // Below the new entry there is nothing.
        let last = if commits {
            TOP.to_owned()
        } else {
            format!("ou=people,{TOP}")
        };
        client.delete_with(&last, std::slice::from_ref(&inside));
        let ended = client.commit(&inside).result;
        if commits {
            assert_eq!(ended.code, ResultCode::SUCCESS);
            assert_gone(&mut client, 3);
        } else {
            assert_eq!(ended.code, ResultCode::NO_SUCH_OBJECT);
            assert_eq!(count(&mut client, TOP, "(objectClass=*)"), SUBTREE);
            assert_eq!(count(&mut client, "", "(uid=user.7)"), 1);
        }
    }
    await_reclaim(&client);
    assert_gone(&mut client, 3);
}

#[test]
fn the_entry_of_a_naming_context_goes_with_everything() {
    let mut client = world();
    let deleted = client.delete_with(BASE, &[tree()]).result;
    assert_eq!(deleted.code, ResultCode::SUCCESS, "{}", deleted.diagnostic);
    let base = client.search(BASE, Scope::BaseObject, "(objectClass=*)", &[]);
    assert_eq!(base.result.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(count(&mut client, "", "(uid=*)"), 0);
    let attributes: [(&str, &[&str]); 1] = [("objectClass", &["domain"])];
    assert_eq!(client.add(BASE, &attributes).code, ResultCode::SUCCESS);
    unit(&mut client, TOP, &[]);
    assert_eq!(count(&mut client, BASE, "(objectClass=*)"), 2);
    await_reclaim(&client);
    assert_eq!(count(&mut client, BASE, "(objectClass=*)"), 2);
    client.directory.shutdown();
    let folder = Arc::clone(&client.folder);
    drop(client);
    check(folder.path());
}

#[test]
fn what_is_not_reclaimed_is_not_exported() {
    let mut client = world();
    client.delete_with(TOP, &[tree()]);
    // Stops with most of it still there.
    client.directory.shutdown();
    let folder = Arc::clone(&client.folder);
    drop(client);
    check(folder.path());
    let mut out = Vec::new();
    export(
        folder.path(),
        &ExportOptions::default(),
        &mut out,
        &Meter::default(),
    )
    .unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(node::dns(&text).len(), 3);
    let mut client = Client::open(folder);
    assert_eq!(client.bind(kit::ADMIN, PASSWORD).code, ResultCode::SUCCESS);
    assert_gone(&mut client, 3);
    await_reclaim(&client);
    assert_gone(&mut client, 3);
}

#[test]
fn a_power_cut_leaves_all_or_nothing() {
    const PAGE: usize = 4096;
    let mut client = world();
    let folder = client.folder.path().to_path_buf();
    let log = || fs::read(folder.join("log/00000001.log")).unwrap();
    let used = |log: &[u8]| log.iter().rposition(|it| *it != 0).unwrap() / PAGE;
    unit(&mut client, &format!("ou=beside,{BASE}"), &[]);
    // A commit follows the sync of its record: with the end of the log, newer states of the
    // database are gone, which its first two pages name.
    let before = fs::read(folder.join("pando.mdb")).unwrap();
    let first = used(&log()) + 1;
    client.delete_with(TOP, &[tree()]);
    await_reclaim(&client);
    let log = log();
    let (mut whole, mut gone) = (0, 0);
    // Every record has a page of its own: the log may end behind any of them.
    for records in first..=used(&log) {
        let crashed = TempDir::new().unwrap();
        fs::create_dir(crashed.path().join("log")).unwrap();
        fs::copy(folder.join("checkpoint"), crashed.path().join("checkpoint")).unwrap();
        let mut database = fs::read(folder.join("pando.mdb")).unwrap();
        database[..2 * PAGE].copy_from_slice(&before[..2 * PAGE]);
        fs::write(crashed.path().join("pando.mdb"), database).unwrap();
        let mut cut = log.clone();
        cut[PAGE * records..].fill(0);
        fs::write(crashed.path().join("log/00000001.log"), cut).unwrap();
        check(crashed.path());
        let mut client = Client::open(Arc::new(crashed));
        assert_eq!(client.bind(kit::ADMIN, PASSWORD).code, ResultCode::SUCCESS);
        match count(&mut client, "", "(uid=*)") {
            0 => gone += 1,
            PEOPLE => whole += 1,
            part => panic!("{part} of {PEOPLE} are left"),
        }
        await_reclaim(&client);
        client.directory.shutdown();
        let folder = Arc::clone(&client.folder);
        drop(client);
        check(folder.path());
    }
    assert!(whole == 1 && gone >= PEOPLE / 512, "{whole} {gone}");
}

#[test]
fn kept_names_are_shown_from_the_deletion_on() {
    let mut client = world();
    let group = format!("cn=group,{BASE}");
    let mut people: Vec<String> = client
        .search(TOP, Scope::WholeSubtree, "(uid=*)", &["1.1"])
        .names()
        .into_iter()
        .map(str::to_owned)
        .collect();
    people.sort_unstable();
    assert_eq!(people.len(), PEOPLE);
    let values: Vec<&str> = people.iter().map(String::as_str).collect();
    for (name, attribute, values) in [
        ("cn=config", "pandoDeletedMember", &["keep"][..]),
        (group.as_str(), "member", values.as_slice()),
    ] {
        let changed = client.modify(name, &[(ChangeOperation::Replace, attribute, values)]);
        assert_eq!(changed.code, ResultCode::SUCCESS, "{}", changed.diagnostic);
    }
    let gone = client.delete_with(TOP, &[tree()]).result;
    assert_eq!(gone.code, ResultCode::SUCCESS, "{}", gone.diagnostic);
    // One of them comes again, while the others are cleared away.
    let again = format!("ou=people,{TOP}");
    let unit = [("objectClass", &["organizationalUnit"][..])];
    let account = [("objectClass", &["account"][..])];
    for (name, class) in [
        (TOP, unit),
        (again.as_str(), unit),
        (people[7].as_str(), account),
    ] {
        let added = client.add(name, &class);
        assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
    }
    loop {
        let left = client.directory.status().unwrap().deleted_subtrees;
        let answer = client.search(&group, Scope::BaseObject, "(cn=*)", &["member"]);
        let mut shown = answer.values("member");
        shown.sort_unstable();
        assert!(shown == values, "{} of {}", shown.len(), values.len());
        if left == 0 {
            break;
        }
    }
    let answer = client.search(&people[7], Scope::BaseObject, "(uid=*)", &["memberOf"]);
    assert_eq!(answer.values("memberOf"), [&group]);
    client.check();
}

/// A subtree is deleted while a persistent search learns which entries there are, and its entries
/// are reclaimed while the search tells of them: an entry told as still stored is reclaimed before
/// the next slice reads the history.
#[test]
fn entries_reclaimed_between_slices_are_told_once() {
    const MANY: usize = 6_000;
    let mut follower = world_of(MANY);
    let mut other = follower.another();
    success(&other.bind(kit::ADMIN, PASSWORD));
    let mut deleted = false;
    follower.between = Some(Box::new(move || {
        if deleted {
            await_some_reclaim(&other);
        } else {
            success(&other.delete_with(TOP, &[tree()]).result);
            deleted = true;
        }
    }));
    let asked = PersistentSearch {
        change_types: ChangeType::Delete as u8,
        changes_only: true,
        return_entry_changes: false,
    };
    let control = OwnedControl::with_value(oid::PERSISTENT_SEARCH, true, |out| asked.encode(out));
    let scope = Scope::WholeSubtree;
    let told = follower.search_with(BASE, scope, "(uid=*)", &["1.1"], |_| (), &[control]);
    let names: BTreeSet<&str> = told.names().into_iter().collect();
    assert_eq!(told.entries.len(), names.len(), "an entry is told twice");
    let persons = names.iter().filter(|it| it.starts_with("uid=")).count();
    assert_eq!(persons, MANY);
}

#[test]
fn kept_names_outlast_an_import() {
    let mut client = world();
    let group = format!("cn=group,{BASE}");
    let found = client.search(TOP, Scope::WholeSubtree, "(uid=*)", &["1.1"]);
    let people = found.names();
    for (name, attribute, values) in [
        ("cn=config", "pandoDeletedMember", &["keep"][..]),
        (group.as_str(), "member", people.as_slice()),
    ] {
        let changed = client.modify(name, &[(ChangeOperation::Replace, attribute, values)]);
        assert_eq!(changed.code, ResultCode::SUCCESS, "{}", changed.diagnostic);
    }
    let gone = client.delete_with(TOP, &[tree()]).result;
    assert_eq!(gone.code, ResultCode::SUCCESS, "{}", gone.diagnostic);
    // Some of them are still to be cleared away.
    let folder = Arc::clone(&client.folder);
    client.close();
    let beside = TempDir::new().unwrap();
    let file = beside.path().join("input.ldif");
    fs::write(
        &file,
        format!("dn: cn=new,{BASE}\nobjectClass: person\nsn: new\n"),
    )
    .unwrap();
    let options = ImportOptions::new(beside.path().join("rejects"));
    let files = Box::new(Files::new(vec![file], Format::Ldif));
    let imported = import(folder.path(), files, &options, &Meter::default()).unwrap();
    assert_eq!(imported.rejected, 0);
    check(folder.path());
    let mut client = Client::open(folder);
    assert_eq!(client.bind(kit::ADMIN, PASSWORD).code, ResultCode::SUCCESS);
    let answer = client.search(&group, Scope::BaseObject, "(cn=*)", &["member"]);
    let (mut shown, mut expected) = (answer.values("member"), people);
    shown.sort_unstable();
    expected.sort_unstable();
    assert!(shown == expected, "{} of {}", shown.len(), expected.len());
    let asked = format!("(member={})", expected[7]);
    let held = client.search(&group, Scope::BaseObject, &asked, &["1.1"]);
    assert_eq!(held.entries.len(), 1);
    client.check();
}
