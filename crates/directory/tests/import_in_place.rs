//! Imports that add to the database there is: what is there afterwards is the same as when a new
//! one is made, and until then nothing has changed.

mod node;

use directory::{Directory, Failure, Options};
use node::{Node, people};
use proptest::prelude::*;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use transfer::Meter;
use transfer::export::ExportOptions;
use transfer::import::{Files, Format, ImportOptions, Imported, Source, WrittenTo, import};

const BASE: &str = "dc=example,dc=com";

fn options(node: &Node, place: WrittenTo) -> ImportOptions {
    ImportOptions {
        place,
        ..node.options()
    }
}

fn import_at(node: &Node, ldif: &str, place: WrittenTo) -> Result<Imported, Failure> {
    let file = node.file("input.ldif", ldif.as_bytes());
    let source = Box::new(Files::new(vec![file], Format::Ldif));
    import(
        &node.data(),
        source,
        &options(node, place),
        &Meter::default(),
    )
}

/// Another node with the same database.
fn copy_of(node: &Node) -> Node {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = Node { folder };
    std::fs::create_dir(copy.data()).expect("made");
    for file in std::fs::read_dir(node.data()).expect("listed") {
        let file = file.expect("listed");
        let to = copy.data().join(file.file_name());
        std::fs::copy(file.path(), to).expect("copied");
    }
    copy
}

/// Result of an import, without parts that are new each time: entries, rejects with their reasons,
/// and its report.
fn left(node: &Node, mut imported: Imported) -> (Vec<String>, String, Imported) {
    node.check();
    let (out, _) = node.export_with(&ExportOptions {
        operational: false,
        ..ExportOptions::default()
    });
    (imported.digest, imported.bytes) = (String::new(), 0);
    let folder = node.folder.path().display().to_string();
    let rejects = node.rejects().replace(&folder, "");
    // Values of an attribute have no order; members come in that of their ids.
    let text = String::from_utf8(out).expect("text");
    let entries = text.split("\n\n").map(|entry| {
        let mut lines: Vec<&str> = entry.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    });
    (entries.collect(), rejects, imported)
}

fn inode(node: &Node) -> u64 {
    let database = node.data().join(store::DATABASE_FILE);
    std::fs::metadata(database).expect("there").ino()
}

/// Imports into two copies in the two ways, and compares.
fn assert_same(before: &Node, ldif: &str) {
    let (new, old) = (copy_of(before), copy_of(before));
    let (new_inode, old_inode) = (inode(&new), inode(&old));
    let in_new = import_at(&new, ldif, WrittenTo::New).expect("imported");
    let in_old = import_at(&old, ldif, WrittenTo::Old).expect("imported");
    assert_ne!(inode(&new), new_inode);
    assert_eq!(inode(&old), old_inode, "a new database was made");
    assert!(!old.data().join("import").exists());
    let (new, old) = (left(&new, in_new), left(&old, in_old));
    let differs = (new.0.iter().zip(&old.0)).find(|(new, old)| new != old);
    assert_eq!(differs, None);
    assert_eq!(new.0.len(), old.0.len());
    assert_eq!((new.1, new.2), (old.1, old.2));
}

/// A directory of people and groups; some members are texts that name nobody.
fn company() -> Node {
    let node = Node::new(BASE, true);
    let mut ldif = people(40);
    ldif.push_str(
        "\ndn: cn=staff,dc=example,dc=com\nobjectClass: groupOfNames\nmember: uid=user.3,ou=people,\
         dc=example,dc=com\nmember: UID=Late.1, OU=People,dc=example,dc=com\nmember: \
         UID=Late.2, OU=People,dc=example,dc=com\nmember: cn=Nobody,dc=example,dc=com\n",
    );
    ldif.push_str("\ndn: cn=unix,dc=example,dc=com\nobjectClass: posixGroup\ngidNumber: 1\n");
    (0..1200).for_each(|it| ldif.push_str(&format!("memberUid: m{it}\n")));
    let imported = node.import(&ldif);
    assert_eq!((imported.entries, imported.rejected), (43, 0));
    node
}

fn person(uid: &str, parent: &str, more: &str) -> String {
    format!(
        "dn: uid={uid},{parent}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: s\n{more}\n"
    )
}

/// A record of the input.
fn record() -> impl Strategy<Value = String> {
    let parents = prop_oneof![
        Just("ou=people,dc=example,dc=com"),
        Just("OU=People, dc=example,dc=com"),
        Just("ou=later,dc=example,dc=com"),
        Just("ou=missing,dc=example,dc=com"),
        Just("ou=deep,ou=other,dc=org"),
        Just("ou=x,cn=config"),
    ];
    let more = prop_oneof![
        Just(""),
        Just("description;lang-fr: deux\n"),
        Just("entryUUID: 11111111-2222-3333-4444-555555555555\n"),
        Just("mail: not\nmail: NOT\n"),
        Just("unknownAttribute: x\n"),
        Just("seeAlso: cn=staff,dc=example,dc=com\n"),
    ];
    let uids = prop_oneof![
        (0..60_u32).prop_map(|it| format!("user.{it}")),
        (0..4_u32).prop_map(|it| format!("late.{it}")),
    ];
    let member = prop_oneof![
        (0..60_u32).prop_map(|it| format!("uid=USER.{it},ou=people,dc=example,dc=com")),
        (0..4_u32).prop_map(|it| format!("uid=late.{it},ou=people,dc=example,dc=com")),
        Just("cn=nobody,dc=example,dc=com".to_owned()),
        Just("cn=nowhere,dc=net".to_owned()),
        Just("dc=example,dc=com".to_owned()),
        Just("no name".to_owned()),
    ];
    let group = (0..6_u32, prop::collection::vec(member, 1..8)).prop_map(|(number, members)| {
        let members: Vec<_> = members.iter().map(|it| format!("member: {it}\n")).collect();
        let members = members.concat();
        format!("dn: cn=g{number},{BASE}\nobjectClass: groupOfNames\n{members}\n")
    });
    let names = (0..3_u32, 990..1300_u32).prop_map(|(number, many)| {
        let members: Vec<_> = (1000..1000 + many)
            .map(|it| format!("memberUid: m{it}\n"))
            .collect();
        let class = "objectClass: posixGroup\ngidNumber: 7\n";
        format!("dn: cn=u{number},{BASE}\n{class}{}\n", members.concat())
    });
    let unit = |dn: &'static str| Just(format!("dn: {dn}\nobjectClass: organizationalUnit\n\n"));
    prop_oneof![
        8 => (uids, parents, more).prop_map(|(uid, parent, more)| person(&uid, parent, more)),
        4 => group,
        1 => names,
        1 => unit("ou=later,dc=example,dc=com"),
        1 => unit("ou=deep,ou=other,dc=org"),
        1 => Just(format!("dn: {BASE}\nobjectClass: domain\ndescription: the base\n\n")),
        1 => Just("dn: cn=staff,dc=example,dc=com\nobjectClass: device\n\n".to_owned()),
        1 => Just("dn: nonsense\nobjectClass: device\n\n".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(24)
    })]

    #[test]
    fn the_entries_are_those_of_a_new_database(records in prop::collection::vec(record(), 1..60)) {
        let ldif = records.concat();
        assert_same(&company(), &ldif);
        // With a base that nobody wrote, which an imported one replaces, and nothing else.
        assert_same(&Node::new(BASE, true), &ldif);
    }
}

#[test]
fn members_that_named_nobody_name_who_comes() {
    let node = company();
    let late = person("late.1", "ou=people,dc=example,dc=com", "");
    assert_same(&node, &late);
    import_at(&node, &late, WrittenTo::Old).expect("imported");
    // The member has the entry's spelling of its name, not the group's.
    let exported = node.export();
    assert!(exported.contains("member: uid=late.1,ou=people,dc=example,dc=com\n"));
    assert!(exported.contains("member: UID=Late.2, OU=People,dc=example,dc=com\n"));
}

#[test]
fn equal_inputs_make_equal_states() {
    let node = Node::new(BASE, true);
    node.import(&people(20));
    let stamps = "entryUUID: 11111111-2222-3333-4444-555555555555\ncreateTimestamp: \
                  20260101000000Z\nmodifyTimestamp: 20260101000000Z\nentryCSN: \
                  20260101000000.000000Z#000000#000#000000\ncreatorsName: \nmodifiersName: \n";
    let group = format!(
        "dn: cn=all,{BASE}\nobjectClass: groupOfNames\n{stamps}\
         member: uid=user.1,ou=people,{BASE}\n\
         member: uid=user.7,ou=people,{BASE}\n\
         member: cn=nobody,{BASE}\n"
    );
    let (new, old) = (copy_of(&node), copy_of(&node));
    let in_new = import_at(&new, &group, WrittenTo::New).expect("imported");
    let in_old = import_at(&old, &group, WrittenTo::Old).expect("imported");
    assert_eq!((in_new.digest, in_new.total), (in_old.digest, in_old.total));
}

#[test]
fn a_small_input_is_added_and_a_large_one_makes_a_new_database() {
    let node = company();
    let import_of = |uid: &str, bytes| {
        let before = inode(&node);
        let file = node.file("input.ldif", person(uid, BASE, "").as_bytes());
        let options = ImportOptions {
            input_bytes: bytes,
            ..node.options()
        };
        let source = Box::new(Files::new(vec![file], Format::Ldif));
        import(&node.data(), source, &options, &Meter::default()).expect("imported");
        node.check();
        inode(&node) == before
    };
    assert!(import_of("small", Some(100)));
    assert!(!import_of("large", Some(1 << 30)));
    assert!(!import_of("unknown", None));
}

/// Gives pieces of a file, and then an error.
struct Breaks(Files);

impl Source for Breaks {
    fn next(&mut self, meter: &Meter) -> Result<Option<transfer::import::Piece>, Failure> {
        match self.0.next(meter)? {
            Some(piece) => Ok(Some(piece)),
            None => Err(Failure::Input("the input broke off".to_owned())),
        }
    }
}

#[test]
fn a_failure_or_an_interrupt_changes_nothing() {
    let node = company();
    let (before, inode_before) = (node.export(), inode(&node));
    let mut more = String::new();
    (100..3000).for_each(|it| more.push_str(&person(&format!("user.{it}"), BASE, "")));
    let file = node.file("input.ldif", more.as_bytes());
    let files = || Files::new(vec![file.clone()], Format::Ldif);
    let options = options(&node, WrittenTo::Old);
    let broken = import(
        &node.data(),
        Box::new(Breaks(files())),
        &options,
        &Meter::default(),
    );
    assert!(
        broken
            .expect_err("broken")
            .to_string()
            .contains("broke off")
    );
    let meter = Meter::default();
    meter.cancel();
    let cancelled = import(&node.data(), Box::new(files()), &options, &meter);
    assert!(
        matches!(cancelled, Err(Failure::Cancelled)),
        "{cancelled:?}"
    );
    assert!(!node.data().join("import").exists());
    node.check();
    assert_eq!((node.export(), inode(&node)), (before, inode_before));
    import(&node.data(), Box::new(files()), &options, &Meter::default()).expect("imported");
    node.check();
}

#[test]
fn a_directory_goes_on_after_entries_were_added() {
    let node = company();
    let open = |data: &Path| Directory::open(data, &Options::default()).expect("opens");
    for uid in ["one", "two"] {
        let opened = open(&node.data());
        opened.shutdown();
        drop(opened);
        import_at(&node, &person(uid, BASE, ""), WrittenTo::Old).expect("imported");
        node.check();
    }
    open(&node.data()).shutdown();
    node.check();
}
