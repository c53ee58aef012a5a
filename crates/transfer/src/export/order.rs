//! Writes rendered parts in order, superiors before the entries below them.

use super::options::Exported;
use super::render::{PART_BYTES, Part, Renderer, Row};
use super::rules::{Rules, StoredEntry};
use protocol::counted;
use state::stop::Failure;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use store::{EntryId, Reader};

/// The last stage of an export.
pub(super) struct Writer<'w> {
    renderer: Renderer<'w>,
    /// Reader for entries that have to be looked up again.
    reader: Reader,
    output: Output<'w>,
    /// Entries that are not written yet, because a superior has a greater id.
    deferred: HashSet<EntryId>,
    /// Deferred entries by the superior they wait for.
    waiting: HashMap<EntryId, Vec<EntryId>>,
    entries: u64,
}

/// The output, with the number of its bytes.
struct Output<'w> {
    rules: &'w Rules,
    to: &'w mut dyn Write,
    bytes: u64,
}

impl<'w> Writer<'w> {
    pub fn new(rules: &'w Rules, reader: Reader, output: &'w mut dyn Write) -> Writer<'w> {
        Writer {
            renderer: Renderer::new(rules),
            reader,
            output: Output {
                rules,
                to: output,
                bytes: 0,
            },
            deferred: HashSet::new(),
            waiting: HashMap::new(),
            entries: 0,
        }
    }

    /// Totals of the export so far.
    pub fn exported(&self) -> Exported {
        Exported {
            entries: self.entries,
            bytes: self.output.bytes,
            lost: Vec::new(),
        }
    }

    /// Writes the header, so that an empty export is a valid compressed file. LDIF has no `version:
    /// 1`, which RFC 2849 leaves optional and slapadd does not read.
    pub fn begin(&mut self) -> Result<(), Failure> {
        self.output.write_text(&[])
    }

    /// Writes the next part.
    pub fn put(&mut self, part: Part) -> Result<(), Failure> {
        if part.has_older || !self.deferred.is_empty() {
            return self.put_one_by_one(&part);
        }
        self.entries += part.entries;
        match &part.compressed {
            Some(compressed) => self.output.write(compressed),
            None => self.output.write(&part.text),
        }
    }

    /// Ends the export after the last part.
    pub fn end(&mut self) -> Result<(), Failure> {
        if !self.deferred.is_empty() {
            let detail = format!(
                "{} in a circle of superiors",
                counted(self.deferred.len() as u64, "entry")
            );
            return Err(store::Error::Corrupt {
                table: "entry",
                detail,
            }
            .into());
        }
        self.output.to.flush().map_err(failed)
    }

    /// Writes a part entry by entry, because some entries wait for superiors.
    fn put_one_by_one(&mut self, part: &Part) -> Result<(), Failure> {
        let mut text = Vec::with_capacity(part.text.len());
        let mut start = 0;
        for row in &part.rows {
            let Row { id, parent, .. } = *row;
            let own = &part.text[start..row.end];
            start = row.end;
            if parent > id || self.deferred.contains(&parent) {
                // The previous part may contain the entry's beginning.
                if self.deferred.insert(id) {
                    self.waiting.entry(parent).or_default().push(id);
                }
                continue;
            }
            text.extend_from_slice(own);
            if !row.goes_on {
                self.entries += u64::from(!own.is_empty());
                self.release(id, &mut text)?;
            }
        }
        self.output.write_text(&text)
    }

    /// Appends the entries that waited for this entry, and in turn the entries that waited for
    /// them.
    fn release(&mut self, id: EntryId, text: &mut Vec<u8>) -> Result<(), Failure> {
        let mut free = self.waiting.remove(&id).unwrap_or_default();
        free.reverse();
        while let Some(id) = free.pop() {
            self.deferred.remove(&id);
            let snapshot = self.reader.snapshot()?;
            if let Some(view) = snapshot.entry(id)? {
                let take = &mut |text: &mut Vec<u8>| self.output.take(text);
                let entry = StoredEntry {
                    snapshot: &snapshot,
                    id,
                    view: &view,
                };
                let written = self.renderer.entry(&entry, text, take)?;
                self.entries += u64::from(written);
            }
            if text.len() >= PART_BYTES {
                self.output.take(text)?;
            }
            let freed = self.waiting.remove(&id).unwrap_or_default();
            free.extend(freed.into_iter().rev());
        }
        Ok(())
    }
}

impl Output<'_> {
    /// Writes the text and clears it.
    fn take(&mut self, text: &mut Vec<u8>) -> Result<(), Failure> {
        self.write_text(text)?;
        text.clear();
        Ok(())
    }

    fn write_text(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self.rules.compression.pack(text)? {
            Some(compressed) => self.write(&compressed),
            None => self.write(text),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes += bytes.len() as u64;
        self.to.write_all(bytes).map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::file("writing the export", error)
}
