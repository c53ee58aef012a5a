//! Writing parts in order, superiors before what lies below them.

use super::Exported;
use super::render::{Part, Renderer, Row, Rules};
use crate::stop::Failure;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use store::{EntryId, Reader};

/// The end of the line.
pub(super) struct Writer<'w> {
    rules: &'w Rules,
    renderer: Renderer<'w>,
    /// For entries that have to be looked up again.
    reader: Reader,
    output: &'w mut dyn Write,
    /// Entries that are older than a superior of theirs, and not written yet.
    deferred: HashSet<EntryId>,
    /// By the superior they wait for.
    waiting: HashMap<EntryId, Vec<EntryId>>,
    exported: Exported,
}

impl<'w> Writer<'w> {
    pub fn new(rules: &'w Rules, reader: Reader, output: &'w mut dyn Write) -> Writer<'w> {
        Writer {
            rules,
            renderer: Renderer::new(rules),
            reader,
            output,
            deferred: HashSet::new(),
            waiting: HashMap::new(),
            exported: Exported::default(),
        }
    }

    /// What has been written.
    pub fn exported(&self) -> Exported {
        self.exported
    }

    /// Writes what stands before the first entry.
    pub fn begin(&mut self) -> Result<(), Failure> {
        self.write_text(&self.rules.head())
    }

    /// Writes the next part.
    pub fn put(&mut self, part: Part) -> Result<(), Failure> {
        if part.has_older || !self.deferred.is_empty() {
            return self.put_one_by_one(&part);
        }
        self.exported.entries += part.entries;
        match &part.compressed {
            Some(compressed) => self.write(compressed),
            None => self.write(&part.text),
        }
    }

    /// All parts are written.
    pub fn end(&mut self) -> Result<(), Failure> {
        if !self.deferred.is_empty() {
            let detail = format!("{} entries are their own superiors", self.deferred.len());
            return Err(store::Error::Corrupt {
                table: "entry",
                detail,
            }
            .into());
        }
        self.output.flush().map_err(failed)
    }

    /// Writes a part around which entries have to wait for others.
    fn put_one_by_one(&mut self, part: &Part) -> Result<(), Failure> {
        let mut text = Vec::with_capacity(part.text.len());
        let mut start = 0;
        for Row { id, parent, end } in part.rows.iter().copied() {
            let own = &part.text[start..end];
            start = end;
            if parent > id || self.deferred.contains(&parent) {
                self.deferred.insert(id);
                self.waiting.entry(parent).or_default().push(id);
                continue;
            }
            text.extend_from_slice(own);
            self.exported.entries += u64::from(!own.is_empty());
            self.release(id, &mut text)?;
        }
        self.write_text(&text)
    }

    /// Appends the entries that waited for this one, and those that waited for them.
    fn release(&mut self, id: EntryId, text: &mut Vec<u8>) -> Result<(), Failure> {
        let mut free = self.waiting.remove(&id).unwrap_or_default();
        free.reverse();
        while let Some(id) = free.pop() {
            self.deferred.remove(&id);
            let snapshot = self.reader.snapshot()?;
            if let Some(view) = snapshot.entry(id)? {
                let written = self.renderer.entry(&snapshot, id, &view, text)?;
                self.exported.entries += u64::from(written);
            }
            let freed = self.waiting.remove(&id).unwrap_or_default();
            free.extend(freed.into_iter().rev());
        }
        Ok(())
    }

    fn write_text(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self.rules.compress(text)? {
            Some(compressed) => self.write(&compressed),
            None => self.write(text),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.exported.bytes += bytes.len() as u64;
        self.output.write_all(bytes).map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::file("writing the export", error)
}
