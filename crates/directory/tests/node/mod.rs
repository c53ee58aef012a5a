//! A node's data folder to import into and export from.

#![allow(dead_code, reason = "each test file uses its part of the kit")]

use directory::{Failure, InitOptions};
use std::path::PathBuf;
use transfer::Meter;
use transfer::export::{ExportOptions, Exported, export};
use transfer::import::{Files, Format, ImportOptions, Imported, import};

/// A node's data folder with a place for files beside it.
pub struct Node {
    pub folder: tempfile::TempDir,
}

impl Node {
    pub fn new(suffix: &str, base_entries: bool) -> Node {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut options = InitOptions::new(suffix, "{SSHA}x".to_owned());
        options.base_entries = base_entries;
        replica::create(&folder.path().join("data"), &options).expect("created");
        Node { folder }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    pub fn options(&self) -> ImportOptions {
        ImportOptions {
            threads: 2,
            create_contexts: true,
            ..ImportOptions::new(self.folder.path().join("rejects"))
        }
    }

    pub fn rejects(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("rejects")).unwrap_or_default()
    }

    pub fn import_files(&self, files: Vec<PathBuf>, format: Format) -> Result<Imported, Failure> {
        let source = Box::new(Files::new(files, format));
        import(&self.data(), source, &self.options(), &Meter::default())
    }

    pub fn import(&self, ldif: &str) -> Imported {
        let file = self.file("input.ldif", ldif.as_bytes());
        self.import_files(vec![file], Format::Ldif)
            .expect("imported")
    }

    pub fn export_with(&self, options: &ExportOptions) -> (Vec<u8>, Exported) {
        let mut out = Vec::new();
        let done = export(&self.data(), options, &mut out, &Meter::default());
        (out, done.expect("exported"))
    }

    pub fn export(&self) -> String {
        let (out, _) = self.export_with(&ExportOptions {
            threads: 2,
            ..ExportOptions::default()
        });
        String::from_utf8(out).expect("LDIF is text")
    }

    pub fn check(&self) {
        let report = replica::check::check(&self.data()).expect("checked");
        assert_eq!(report.problems, Vec::<String>::new());
    }
}

pub fn people(count: usize) -> String {
    let mut ldif = "version: 1\n\ndn: ou=people,dc=example,dc=com\nobjectClass: \
                    organizationalUnit\nou: people\n"
        .to_owned();
    for person in 0..count {
        ldif.push_str(&format!(
            "\ndn: uid=user.{person},ou=people,dc=example,dc=com\nobjectClass: top\nobjectClass: \
             person\nobjectClass: inetOrgPerson\nuid: user.{person}\ncn: User {person}\nsn: \
             Number\ndescription:: {}\nuserPassword: secret{person}\n",
            "w4TDlsOcCg=="
        ));
    }
    ldif
}

pub fn dns(export: &str) -> Vec<&str> {
    export
        .lines()
        .filter_map(|line| line.strip_prefix("dn: "))
        .collect()
}
