//! Import: what goes in is there, what cannot go in is explained, and nothing that happens in
//! between leaves a database that is neither the old one nor the new one.

mod node;

use directory::{Directory, Failure, Options};
use node::{Node, dns, people};
use std::path::PathBuf;
use std::sync::Arc;
use transfer::Meter;
use transfer::export::ExportOptions;
use transfer::import::{Content, EntrySink, Files, Format, ImportOptions, Piece, Source, import};

#[test]
fn the_number_of_threads_changes_nothing() {
    let ldif = people(1200);
    let digest = |threads| {
        let node = Node::new("dc=example,dc=com", true);
        let file = node.file("input.ldif", ldif.as_bytes());
        // Identifiers and times are new each time, so only what the input says is compared.
        let options = ImportOptions {
            threads,
            ..node.options()
        };
        let source = Box::new(Files::new(vec![file], Format::Ldif));
        import(&node.data(), source, &options, &Meter::default()).expect("imported");
        let (out, _) = node.export_with(&ExportOptions {
            operational: false,
            ..ExportOptions::default()
        });
        out
    };
    assert_eq!(digest(1), digest(5));
}

#[test]
fn missing_superiors_and_naming_contexts_are_created() {
    let node = Node::new("dc=example,dc=com", true);
    let imported = node.import(
        "dn: ou=oracle,dc=com\nobjectClass: organizationalUnit\nou: oracle\n\n\
         dn: cn=a,ou=oracle,dc=com\nobjectClass: device\n",
    );
    assert_eq!(
        (imported.entries, imported.created),
        (2, 1),
        "{}",
        node.rejects()
    );
    assert_eq!(imported.contexts, ["dc=com"]);
    node.check();
    let exported = node.export();
    assert_eq!(
        dns(&exported),
        [
            "dc=example,dc=com",
            "dc=com",
            "ou=oracle,dc=com",
            "cn=a,ou=oracle,dc=com"
        ]
    );
    assert!(exported.contains("dn: cn=a,ou=oracle,dc=com\nobjectClass: device\ncn: a\n"));
    // The next import finds the new context in the configuration.
    let again = node.import("dn: cn=b,ou=oracle,dc=com\nobjectClass: device\n");
    assert_eq!(
        (again.entries, again.created, again.contexts.len()),
        (1, 0, 0)
    );
    node.check();
}

#[test]
fn without_creation_names_outside_are_rejected() {
    let node = Node::new("dc=example,dc=com", true);
    let file = node.file(
        "in",
        b"dn: ou=oracle,dc=com\nobjectClass: organizationalUnit\n",
    );
    let source = Box::new(Files::new(vec![file], Format::Ldif));
    let options = ImportOptions {
        create_contexts: false,
        ..node.options()
    };
    let imported = import(&node.data(), source, &options, &Meter::default()).expect("imported");
    assert_eq!((imported.entries, imported.rejected), (0, 1));
    assert_eq!(imported.contexts, [""; 0]);
    assert_eq!(imported.missing_contexts[0].wanted, "dc=com");
    let rejects = node.rejects();
    for said in [
        "line 1: there is no naming context dc=com;",
        "the nearest is dc=example,dc=com; --create-suffix makes it",
    ] {
        assert!(rejects.contains(said), "{said}: {rejects}");
    }
}

#[test]
fn an_imported_base_entry_replaces_the_one_init_made() {
    let node = Node::new("dc=example,dc=com", true);
    let base = "dn: dc=example,dc=com\nobjectClass: domain\ndescription: by hand\n";
    assert_eq!(node.import(base).entries, 1);
    node.check();
    assert!(node.export().contains("description: by hand\n"));
    // Now somebody has touched it.
    let again = node.import("dn: dc=example,dc=com\nobjectClass: domain\n");
    assert_eq!((again.entries, again.rejected), (0, 1));
    assert!(
        node.rejects().contains("line 1: an entry with this name"),
        "{}",
        node.rejects()
    );
    assert!(node.export().contains("description: by hand\n"));
}

#[test]
fn superiors_may_come_last() {
    let node = Node::new("dc=example,dc=com", false);
    let records: Vec<String> = people(300).split("\n\n").map(str::to_owned).collect();
    let mut reversed: Vec<String> = records[1..].to_vec();
    reversed.push("dn: dc=example,dc=com\nobjectClass: domain\no: last".to_owned());
    reversed.insert(
        0,
        "dn: cn=deep,cn=mid,dc=example,dc=com\nobjectClass: device".to_owned(),
    );
    reversed.push("dn: cn=mid,dc=example,dc=com\nobjectClass: device\nl: own".to_owned());
    reversed[1..].reverse();
    reversed.push("dn: cn=x,cn=y,cn=z,dc=example,dc=com\nobjectClass: device".to_owned());
    reversed.push("dn: cn=y,cn=z,dc=example,dc=com\nobjectClass: device".to_owned());
    reversed.push("dn: cn=z,dc=example,dc=com\nobjectClass: device".to_owned());
    let imported = node.import(&reversed.join("\n\n"));
    assert_eq!(
        (imported.entries, imported.rejected),
        (307, 0),
        "{}",
        node.rejects()
    );
    node.check();
    let exported = node.export();
    assert!(exported.contains("l: own\n") && !exported.contains("organization: last"));
    let names = dns(&exported);
    for (at, name) in names.iter().enumerate() {
        let above = name.split_once(',').expect("two RDNs").1;
        let known = names[..at].contains(&above) || *name == "dc=example,dc=com";
        assert!(known, "{name} comes before its superior");
    }
}

#[test]
fn little_memory_makes_the_same_directory() {
    // Upside down, so that superiors come last too.
    let text = people(3000);
    let mut records: Vec<&str> = text.split("\n\n").skip(1).map(str::trim).collect();
    records.reverse();
    let turned = records.join("\n\n");
    let exported = [1 << 30, 1 << 20, 0].map(|memory| {
        let node = Node::new("dc=example,dc=com", true);
        let file = node.file("input.ldif", turned.as_bytes());
        let temporary = (memory == 0).then(|| node.folder.path().join("temporary"));
        let options = ImportOptions {
            memory,
            temporary: temporary.clone(),
            ..node.options()
        };
        let source = Box::new(Files::new(vec![file], Format::Ldif));
        let done = import(&node.data(), source, &options, &Meter::default());
        assert_eq!(done.expect("imported").entries, 3001, "{}", node.rejects());
        if let Some(temporary) = temporary {
            let left = std::fs::read_dir(temporary).expect("it was made").count();
            assert_eq!(left, 0);
        }
        node.check();
        let (out, _) = node.export_with(&ExportOptions {
            operational: false,
            ..ExportOptions::default()
        });
        out
    });
    assert!(exported[0] == exported[1] && exported[1] == exported[2]);
}

#[test]
fn repeated_values_are_found_among_many() {
    let node = Node::new("dc=example,dc=com", true);
    let entry = |name: &str, last: &str| {
        let values: String = (0..40).map(|at| format!("l: Value {at}\n")).collect();
        format!("dn: cn={name},dc=example,dc=com\nobjectClass: device\n{values}l: {last}\n\n")
    };
    let imported = node.import(&[entry("many", "other"), entry("twice", "vALUE  7")].concat());
    assert_eq!((imported.entries, imported.rejected), (1, 1));
    let reason = "l: the same value is given more than once";
    assert!(node.rejects().contains(reason), "{}", node.rejects());
    node.check();
}

#[test]
fn bad_entries_are_rejected_with_line_and_reason() {
    let node = Node::new("dc=example,dc=com", true);
    let imported = node.import(concat!(
        "version: 1\n\n",
        "dn: cn=good,dc=example,dc=com\nobjectClass: device\nserialNumber: 1\n\n",
        "dn: cn=missing,dc=example,dc=com\nobjectClass: person\ncn: missing\n\n",
        "dn: cn=unknown,dc=example,dc=com\nobjectClass: device\nunheardOf: 1\n\n",
        "dn: cn=syntax,dc=example,dc=com\nobjectClass: device\nseeAlso: not a name\n\n",
        "dn: cn=good,dc=example,dc=com\nobjectClass: device\nserialNumber: 2\n\n",
        "dn: cn=child,cn=nobody,dc=example,dc=com\nobjectClass: device\n\n",
        "dn: cn=twice,dc=example,dc=com\nobjectClass: device\nl: One\nl: one\n\n",
        "dn: cn=x,cn=config\nobjectClass: device\n\n",
        "dn: cn=change,dc=example,dc=com\nchangetype: delete\n\n",
        "this is no LDIF\n",
    ));
    assert_eq!(
        (imported.entries, imported.rejected),
        (1, 9),
        "{}",
        node.rejects()
    );
    node.check();
    let rejects = node.rejects();
    for (line, reason) in [
        (7, "object class person requires attribute sn"),
        (11, "unknown attribute type \"unheardOf\""),
        (15, "seeAlso: value is not of syntax"),
        (19, "an entry with this name already exists"),
        (23, "the entry above it is missing"),
        (26, "l: the same value is given more than once"),
        (31, "the configuration is kept"),
        (34, "expected an entry, got a change"),
        (37, "expected an attribute description"),
    ] {
        let expected = format!("line {line}: {reason}");
        assert!(rejects.contains(&expected), "{expected}\n{rejects}");
    }
    assert!(rejects.contains("dn: cn=syntax,dc=example,dc=com\nobjectClass: device\nseeAlso: not"));
    // A better import leaves them where they are.
    node.import("dn: cn=better,dc=example,dc=com\nobjectClass: device\n");
    assert_eq!(node.rejects(), rejects);
}

#[test]
fn checks_can_be_switched_off() {
    let node = Node::new("dc=example,dc=com", true);
    let file = node.file(
        "in",
        b"dn: cn=a,dc=example,dc=com\nobjectClass: person\nmail: \xc3\xa4\n",
    );
    let options = ImportOptions {
        check_schema: false,
        ..node.options()
    };
    let source = Box::new(Files::new(vec![file], Format::Ldif));
    let imported = import(&node.data(), source, &options, &Meter::default()).expect("imported");
    assert_eq!(
        (imported.entries, imported.rejected),
        (1, 0),
        "{}",
        node.rejects()
    );
    assert!(node.export().contains("structuralObjectClass: person\n"));
    node.check();
}

#[test]
fn what_is_computed_is_dropped_and_what_is_given_kept() {
    let node = Node::new("dc=example,dc=com", true);
    node.import(
        "dn: cn=a,dc=example,dc=com\nobjectClass: device\ncn: b\nhasSubordinates: TRUE\nentryDN: \
         cn=other\nentryUUID: 11111111-2222-4333-8444-555555555555\nmodifyTimestamp: \
         20010203040506Z\ncn: c\n",
    );
    let exported = node.export();
    let entry = exported
        .split("\n\n")
        .find(|it| it.starts_with("dn: cn=a,"))
        .expect("there");
    let lines: Vec<&str> = entry.lines().collect();
    assert_eq!(
        lines[..5],
        [
            "dn: cn=a,dc=example,dc=com",
            "objectClass: device",
            "cn: b",
            "cn: c",
            "cn: a"
        ]
    );
    assert!(lines.contains(&"entryUUID: 11111111-2222-4333-8444-555555555555"));
    assert!(lines.contains(&"modifyTimestamp: 20010203040506Z"));
    assert!(!entry.contains("hasSubordinates") && !entry.contains("entryDN"));
    node.check();
}

#[test]
fn passwords_are_hashed_when_asked() {
    let node = Node::new("dc=example,dc=com", true);
    let ldif = "dn: cn=a,dc=example,dc=com\nobjectClass: person\nsn: a\nuserPassword: clear\n\
                userPassword: {SSHA}kept\n";
    let file = node.file("in", ldif.as_bytes());
    let scheme = "{SSHA}".parse().expect("a scheme");
    let options = ImportOptions {
        hash_passwords: Some(scheme),
        ..node.options()
    };
    let source = Box::new(Files::new(vec![file], Format::Ldif));
    import(&node.data(), source, &options, &Meter::default()).expect("imported");
    let exported = node.export();
    assert!(!exported.contains("clear"), "{exported}");
    assert_eq!(
        exported.matches("userPassword: {SSHA}").count(),
        2,
        "{exported}"
    );
}

struct Counted(u64);

impl Source for Counted {
    fn next(&mut self, _: &Meter) -> Result<Option<Piece>, Failure> {
        if self.0 == 0 {
            return Ok(None);
        }
        self.0 -= 1;
        let number = self.0;
        let make = Box::new(move |sink: &mut dyn EntrySink| {
            for entry in 0..10 {
                sink.begin(&format!("cn={number}-{entry},dc=example,dc=com"));
                sink.value("objectClass", b"device");
                sink.value("l", b"made");
                sink.end()?;
            }
            if number == 99 {
                Err("no more of this kind".to_owned())
            } else {
                Ok(())
            }
        });
        let content = Content::Made { make, first: 1 };
        Ok(Some(Piece {
            origin: Arc::from("made"),
            content,
        }))
    }
}

#[test]
fn made_entries_are_imported() {
    let node = Node::new("dc=example,dc=com", true);
    let meter = Meter::default();
    let imported = import(&node.data(), Box::new(Counted(50)), &node.options(), &meter);
    assert_eq!(imported.expect("imported").entries, 500);
    assert_eq!((meter.entries(), meter.finishing()), (500, true));
    node.check();
    let before = node.export();
    let error = import(
        &node.data(),
        Box::new(Counted(120)),
        &node.options(),
        &meter,
    );
    assert!(
        error
            .expect_err("it cannot be made")
            .to_string()
            .contains("no more of this kind")
    );
    assert_eq!(node.export(), before);
}

#[test]
fn a_full_node_keeps_what_it_has() {
    let node = Node::new("dc=example,dc=com", true);
    node.import(&people(600));
    let before = node.export();
    let more = node.import("dn: cn=more,dc=example,dc=com\nobjectClass: device\n");
    assert_eq!((more.entries, more.rejected), (1, 0));
    node.check();
    let after = node.export();
    assert!(after.starts_with(before.trim_end()));
    assert_eq!(dns(&after).len(), dns(&before).len() + 1);
    let (config, _) = node.export_with(&ExportOptions {
        base: Some("cn=config".to_owned()),
        ..ExportOptions::default()
    });
    let config = String::from_utf8(config).expect("text");
    assert!(
        config.contains("pandoNamingContext: dc=example,dc=com\n"),
        "{config}"
    );
}

#[test]
fn what_an_interrupted_import_left_is_removed() {
    let node = Node::new("dc=example,dc=com", true);
    node.import("dn: cn=a,dc=example,dc=com\nobjectClass: device\n");
    let before = node.export();
    let left = node.data().join("import");
    let leave = || {
        std::fs::create_dir(&left).expect("made");
        std::fs::write(left.join("pando.mdb"), b"half a database").expect("written");
    };
    leave();
    let opened = Directory::open(&node.data(), &Options::default()).expect("opens");
    assert!(!left.exists());
    // While it is open, nobody else may work on the folder.
    let file = node.file("in", b"dn: cn=b,dc=example,dc=com\nobjectClass: device\n");
    let refused = node.import_files(vec![file.clone()], Format::Ldif);
    assert!(
        matches!(refused, Err(Failure::Store(store::Error::Locked { .. }))),
        "{refused:?}"
    );
    opened.shutdown();
    drop(opened);
    leave();
    let error = node.import_files(vec![file, PathBuf::from("/nonexistent")], Format::Ldif);
    assert!(
        error
            .expect_err("no such file")
            .to_string()
            .contains("/nonexistent")
    );
    assert!(!left.exists());
    assert_eq!(node.export(), before);
}

/// A source that fails once and then has no more, as a list of files does.
struct FailsOnce(u32);

impl Source for FailsOnce {
    fn next(&mut self, _: &Meter) -> Result<Option<Piece>, Failure> {
        self.0 += 1;
        match self.0 {
            1 => Err(Failure::Input("the source is broken".to_owned())),
            _ => Ok(None),
        }
    }
}

#[test]
fn a_source_that_fails_never_looks_complete() {
    let node = Node::new("dc=example,dc=com", true);
    for _ in 0..50 {
        let options = ImportOptions::new(node.data().join("rejects"));
        let source = Box::new(FailsOnce(0));
        let imported = transfer::import::import(&node.data(), source, &options, &Meter::default());
        assert!(matches!(imported, Err(Failure::Input(_))), "{imported:?}");
    }
}

#[test]
fn a_cancelled_import_changes_nothing() {
    let node = Node::new("dc=example,dc=com", true);
    let before = node.export();
    let meter = Meter::default();
    meter.cancel();
    let done = import(&node.data(), Box::new(Counted(5)), &node.options(), &meter);
    assert!(matches!(done, Err(Failure::Cancelled)), "{done:?}");
    assert_eq!(node.export(), before);
}

#[test]
fn a_database_of_large_groups_is_taken_over_bit_by_bit() {
    let node = Node::new("dc=example,dc=com", true);
    let members: String = (0..2500)
        .map(|at| format!("member: cn={at:01000},dc=example,dc=com\n"))
        .collect();
    let group = |name: u32| {
        format!("dn: cn={name},dc=example,dc=com\nobjectClass: groupOfEntries\n{members}\n")
    };
    let groups: String = (0..5).map(group).collect();
    assert_eq!(node.import(&groups).entries, 5);
    let before = node.export();
    node.import("dn: cn=x,dc=example,dc=com\nobjectClass: device\n");
    node.check();
    let after = node.export();
    let new = after
        .strip_prefix(&before)
        .expect("what was there comes first");
    assert!(new.starts_with("dn: cn=x,"), "{new}");
}
