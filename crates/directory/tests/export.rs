//! Export: an import of it makes the same directory again.

mod kit;
mod node;

use directory::{Directory, Failure, Options};
use node::{Node, dns, people};
use std::io::Write;
use std::sync::Arc;
use transfer::Meter;
use transfer::export::{Compression, ExportFormat, ExportOptions, export};
use transfer::import::Format;

#[test]
fn an_export_imported_exports_the_same() {
    let one = Node::new("dc=example,dc=com", true);
    let imported = one.import(&people(700));
    assert_eq!(
        (imported.entries, imported.rejected, imported.created),
        (701, 0, 0)
    );
    one.check();
    let exported = one.export();
    assert_eq!(dns(&exported).len(), 702);
    for operational in [
        "entryUUID: ",
        "entryCSN: ",
        "creatorsName: cn=admin",
        "createTimestamp: ",
    ] {
        assert_eq!(
            exported
                .lines()
                .filter(|it| it.starts_with(operational))
                .count(),
            702
        );
    }
    let other = Node::new("dc=example,dc=com", true);
    let again = other.import(&exported);
    assert_eq!(
        (again.entries, again.rejected),
        (702, 0),
        "{}",
        other.rejects()
    );
    other.check();
    assert_eq!(other.export(), exported);
    let opened = Directory::open(&other.data(), &Options::default()).expect("opens");
    assert_eq!(opened.status().expect("status").digest, again.digest);
}

#[test]
fn an_export_as_add_requests_is_the_same_directory() {
    for format in [ExportFormat::Ber, ExportFormat::BareBer] {
        let one = Node::new("dc=example,dc=com", true);
        one.import(&people(700));
        let (stream, done) = one.export_with(&ExportOptions {
            format,
            ..ExportOptions::default()
        });
        assert_eq!(done.entries, 702);
        let other = Node::new("dc=example,dc=com", true);
        let file = other.file("stream", &stream);
        let imported = other.import_files(vec![file], Format::Detect);
        assert_eq!(
            imported.expect("imported").entries,
            702,
            "{}",
            other.rejects()
        );
        assert_eq!(other.export(), one.export());
    }
}

#[test]
fn compressed_files_are_recognised_and_made() {
    let ldif = people(700);
    let node = Node::new("dc=example,dc=com", true);
    node.import(&ldif);
    let plain = node.export();
    for compression in [Compression::Gzip, Compression::Zstd] {
        let options = ExportOptions {
            compression,
            threads: 2,
            ..ExportOptions::default()
        };
        let (packed, exported) = node.export_with(&options);
        assert!(packed.len() < plain.len() / 2 && exported.bytes == packed.len() as u64);
        let other = Node::new("dc=example,dc=com", true);
        let file = other.file("packed", &packed);
        let imported = other
            .import_files(vec![file], Format::Ldif)
            .expect("imported");
        assert_eq!(
            (imported.entries, imported.rejected),
            (702, 0),
            "{}",
            other.rejects()
        );
        assert_eq!(other.export(), plain);
    }
}

#[test]
fn exports_can_be_narrowed() {
    let node = Node::new("dc=example,dc=com", true);
    node.import(&people(20));
    let options = ExportOptions {
        base: Some("ou=People,dc=example,dc=com".to_owned()),
        filter: Some("(|(uid=user.7)(entryDN=uid=user.9,ou=people,dc=example,dc=com))".to_owned()),
        attributes: vec!["uid".to_owned(), "entryUUID".to_owned()],
        fold_columns: 0,
        ..ExportOptions::default()
    };
    let (out, exported) = node.export_with(&options);
    let out = String::from_utf8(out).expect("text");
    assert_eq!(exported.entries, 2);
    assert_eq!(
        dns(&out),
        [
            "uid=user.7,ou=people,dc=example,dc=com",
            "uid=user.9,ou=people,dc=example,dc=com"
        ]
    );
    assert!(!out.contains("cn:") && out.contains("uid: user.7\n") && out.contains("entryUUID: "));
    for (base, filter) in [(Some("ou=nobody,dc=com"), None), (None, Some("(uid="))] {
        let options = ExportOptions {
            base: base.map(str::to_owned),
            filter: filter.map(str::to_owned),
            ..ExportOptions::default()
        };
        let done = export(&node.data(), &options, &mut Vec::new(), &Meter::default());
        assert!(matches!(done, Err(Failure::Input(_))), "{done:?}");
    }
}

#[test]
fn superiors_come_first_wherever_entries_were_moved() {
    let mut client = kit::Client::admin();
    let mut add = |name: &str, class: &str| {
        let dn = format!("{name},dc=example,dc=com");
        let result = client.add(&dn, &[("objectClass", &[class])]);
        assert_eq!(
            result.code,
            protocol::ResultCode::SUCCESS,
            "{}",
            result.diagnostic
        );
    };
    add("ou=old", "organizationalUnit");
    for device in 0..300 {
        add(&format!("cn={device},ou=old"), "device");
    }
    add("ou=new", "organizationalUnit");
    add("ou=newer", "organizationalUnit");
    for device in 0..300 {
        add(&format!("cn={device},ou=new"), "device");
    }
    for (entry, superior) in [("ou=new", "ou=newer"), ("ou=old", "cn=299,ou=new,ou=newer")] {
        let request = protocol::Request::ModifyDn(protocol::ModifyDnRequest {
            entry: &format!("{entry},dc=example,dc=com"),
            new_rdn: entry,
            delete_old_rdn: false,
            new_superior: Some(&format!("{superior},dc=example,dc=com")),
        });
        let result = client.call(&request, &[]).result;
        assert_eq!(
            result.code,
            protocol::ResultCode::SUCCESS,
            "{}",
            result.diagnostic
        );
    }
    let folder = Arc::clone(&client.folder);
    client.directory.shutdown();
    drop(client);
    let data = folder.path();
    for compression in [Compression::Plain, Compression::Zstd] {
        let mut out = Vec::new();
        let options = ExportOptions {
            compression,
            ..ExportOptions::default()
        };
        let exported = export(data, &options, &mut out, &Meter::default()).expect("exported");
        assert_eq!(exported.entries, 604);
        if compression == Compression::Zstd {
            out = zstd::decode_all(out.as_slice()).expect("zstd");
        }
        let text = String::from_utf8(out).expect("text").replace("\n ", "");
        let names = dns(&text);
        assert_eq!(names.len(), 604);
        for (at, name) in names.iter().enumerate().skip(1) {
            let above = name.split_once(',').expect("two RDNs").1;
            assert!(
                names[..at].contains(&above),
                "{name} comes before its superior"
            );
        }
    }
}

/// Remembers how much was written at once.
#[derive(Default)]
struct Portions {
    all: Vec<u8>,
    most: usize,
}

impl Write for Portions {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.most = self.most.max(bytes.len());
        self.all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A directory with groups of 5 MB of names each, one of which is older than its superior.
fn large_groups() -> kit::Client {
    let mut client = kit::Client::admin();
    let members: Vec<String> = (0..5000)
        .map(|at| format!("cn={at:01000},dc=example,dc=com"))
        .collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let mut add = |name: &str, attributes: &[(&str, &[&str])]| {
        let result = client.add(&format!("{name},dc=example,dc=com"), attributes);
        assert_eq!(result.code, protocol::ResultCode::SUCCESS);
    };
    for name in ["cn=first", "cn=moved", "cn=last"] {
        let group = [
            ("objectClass", &["groupOfEntries"][..]),
            ("member", &members),
        ];
        add(name, &group);
    }
    add("ou=new", &[("objectClass", &["organizationalUnit"])]);
    let request = protocol::Request::ModifyDn(protocol::ModifyDnRequest {
        entry: "cn=moved,dc=example,dc=com",
        new_rdn: "cn=moved",
        delete_old_rdn: false,
        new_superior: Some("ou=new,dc=example,dc=com"),
    });
    let result = client.call(&request, &[]).result;
    assert_eq!(result.code, protocol::ResultCode::SUCCESS);
    client
}

#[test]
fn large_groups_are_written_in_portions() {
    let client = large_groups();
    let folder = Arc::clone(&client.folder);
    client.directory.shutdown();
    drop(client);
    let run = |base: Option<&str>| {
        let options = ExportOptions {
            base: base.map(str::to_owned),
            fold_columns: 0,
            ..ExportOptions::default()
        };
        let mut out = Portions::default();
        let exported = export(folder.path(), &options, &mut out, &Meter::default());
        let exported = exported.expect("exported");
        // A part is 4 MiB, and a value more at most.
        assert!(out.most < (4 << 20) + 4096, "{} bytes at once", out.most);
        (exported, String::from_utf8(out.all).expect("text"))
    };
    let (exported, text) = run(None);
    assert_eq!(exported.entries, 5);
    let names = ["cn=first", "cn=last", "ou=new", "cn=moved,ou=new"];
    let expected = names.map(|it| format!("{it},dc=example,dc=com"));
    assert_eq!(dns(&text)[1..], expected);
    assert_eq!(text.matches("\nmember: ").count(), 3 * 5000);
    // Each stands whole in its place, as if it were alone.
    for name in &expected {
        let (_, alone) = run(Some(name));
        let records = alone.split("\n\n").filter(|it| it.starts_with("dn: "));
        records.for_each(|it| assert!(text.contains(it), "{name}"));
    }
}
