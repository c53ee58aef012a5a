//! The rejects file: LDIF that can be corrected and imported again, with the reasons as comments.

use super::checkpoint::{self, FileState};
use protocol::ldif::{LdifAttribute, LdifWriter};
use state::stop::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use store::private;

/// Writer of rejected entries; the file is created with the first one.
#[derive(Debug)]
pub(super) struct Rejects {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Rejects {
    /// A writer for this path; an existing file is replaced when the first entry is rejected.
    pub fn new(path: &Path) -> Rejects {
        Rejects {
            path: path.to_owned(),
            file: None,
            count: 0,
        }
    }

    /// Adds an entry as LDIF, with its place in the input (`people.ldif, line 7`) and the reason.
    pub fn put(&mut self, place: &str, reason: &str, ldif: &[u8]) -> Result<(), Failure> {
        self.count += 1;
        let mut text = Vec::with_capacity(ldif.len() + 100);
        let about = format!("{place}: {reason}");
        LdifWriter::new(0).put_comment(&mut text, &about);
        text.extend_from_slice(ldif.trim_ascii());
        text.extend_from_slice(b"\n\n");
        let done = match &mut self.file {
            Some(file) => file.write_all(&text),
            None => private::create(&self.path)
                .and_then(|file| self.file.insert(BufWriter::new(file)).write_all(&text)),
        };
        done.map_err(|error| self.failed(error))
    }

    /// Syncs the file, so that it outlives the process.
    pub fn sync(&mut self) -> Result<FileState, Failure> {
        let Some(file) = &mut self.file else {
            return Ok(FileState::default());
        };
        let bytes = checkpoint::sync(file).map_err(|error| self.failed(error))?;
        Ok(FileState {
            entries: self.count,
            bytes,
        })
    }

    /// Continues the file of a checkpoint.
    pub fn resume(path: &Path, state: FileState) -> Result<Rejects, Failure> {
        let mut rejects = Rejects::new(path);
        if state.entries == 0 {
            return Ok(rejects);
        }
        rejects.count = state.entries;
        let opened = File::options().write(true).open(path);
        let file = opened.and_then(|file| checkpoint::continue_at(file, state.bytes));
        let file = file.map_err(|error| rejects.failed(error))?;
        rejects.file = Some(BufWriter::new(file));
        Ok(rejects)
    }

    /// Number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Flushes the file.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let done = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        done.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: std::io::Error) -> Failure {
        Failure::file(
            format!("writing rejected entries to {}", self.path.display()),
            error,
        )
    }
}

/// LDIF of an entry that was not given as LDIF.
pub(super) fn ldif(dn: &str, values: &[LdifAttribute<'_>]) -> Vec<u8> {
    let writer = LdifWriter::default();
    let mut text = Vec::new();
    writer.put_dn(&mut text, dn);
    for (description, value) in values {
        writer.put_value(&mut text, description, value);
    }
    text
}

/// LDIF of an entry of which only the row is known.
pub(super) fn stored(dn: &str, view: &store::EntryView<'_>) -> Vec<u8> {
    let attributes = view
        .attributes()
        .filter_map(|it| protocol::PartialAttribute::from_checked(it.encoded));
    let values = attributes.flat_map(|it| {
        it.values
            .iter()
            .map(move |value| (it.description, std::borrow::Cow::Borrowed(value)))
    });
    ldif(dn, &values.collect::<Vec<_>>())
}
