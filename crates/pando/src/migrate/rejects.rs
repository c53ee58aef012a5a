//! File of entries that the node rejects while it follows: LDIF with the reasons as comments.

use super::entry::Entry;
use protocol::ldif::LdifWriter;
use std::io::Write;
use std::path::PathBuf;
use store::private;

/// The file; contents from an earlier command stay.
#[derive(Debug)]
pub struct Rejects {
    /// Path of the file.
    pub path: PathBuf,
    /// Number of entries added.
    pub count: u64,
}

impl Rejects {
    /// Appends to this file.
    pub fn new(path: PathBuf) -> Rejects {
        Rejects { path, count: 0 }
    }

    /// Adds an entry; without attributes if it was to be deleted or renamed.
    pub fn put(&mut self, entry: &Entry, reason: &str) -> std::io::Result<()> {
        self.count += 1;
        let writer = LdifWriter::new(0);
        let mut text = Vec::new();
        writer.put_comment(&mut text, reason);
        writer.put_dn(&mut text, &entry.dn);
        for (description, values) in &entry.attributes {
            for value in values {
                writer.put_value(&mut text, description, value);
            }
        }
        writer.end_record(&mut text);
        // The file is private, because entries may contain passwords.
        let mut file = private::options().append(true).open(&self.path)?;
        file.write_all(&text)
    }
}
