//! Bulk export: the entries of a data folder as LDIF or as add requests, parents before their
//! children.
//!
//! Several threads each render ranges of ids from snapshots of one state, and the ranges are
//! written in order, in parts that are small whatever the entries are. Ids mostly follow the tree;
//! an entry that was moved below a younger one waits until that has been written. So the order is
//! that of ids wherever it can be, an import gives its entries ids in the order of the file, and
//! the export of an imported export is the same file.
//!
//! A folder that a server has open is read beside it, one state of it from beginning to end.

mod changes;
mod forgotten;
mod order;
mod render;
pub(crate) mod salvage;

pub use changes::{ChangesOptions, export_changes};

use crate::import::Meter;
use crate::import::line::Line;
use crate::recover;
use order::Writer;
use render::{Part, Renderer, Rules};
use state::config;
use state::stop::Failure;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{EntryId, Reader};

/// Ids that are rendered in one go: about a megabyte of text for entries of usual size.
const PART_IDS: u64 = 256;

/// How the output is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// Gzip (RFC 1952), in many members.
    Gzip,
    /// Zstandard (RFC 8878), in many frames.
    Zstd,
}

/// How entries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// LDIF content records (RFC 2849).
    Ldif,
    /// Concatenated LDAPMessages with add requests (RFC 4511 §4.7).
    Ber,
    /// Concatenated bare AddRequests.
    BareBer,
}

/// What is exported, and how.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The entry to export with everything below it; `None`: all naming contexts but `cn=config`.
    pub base: Option<String>,
    /// Only entries that match (RFC 4515).
    pub filter: Option<String>,
    /// Only these attributes, as in a search (RFC 4511 §4.5.1.8); none: all.
    pub attributes: Vec<String>,
    /// With all attributes, operational ones too.
    pub operational: bool,
    /// How entries are written.
    pub format: ExportFormat,
    /// Columns after which lines are folded; 0: never.
    pub fold_columns: usize,
    /// How the output is compressed.
    pub compression: Compression,
    /// Threads; 0: one per core.
    pub threads: usize,
    /// A process serves the database: it is read beside that one.
    pub served: bool,
    /// Entries that are damaged are left out instead of ending the export, and so is what lies
    /// below them.
    pub salvage: bool,
}

impl Default for ExportOptions {
    /// Everything, so that an import of it makes the same directory again.
    fn default() -> ExportOptions {
        ExportOptions {
            base: None,
            filter: None,
            attributes: Vec::new(),
            operational: true,
            format: ExportFormat::Ldif,
            fold_columns: 76,
            compression: Compression::Plain,
            served: false,
            salvage: false,
            threads: 0,
        }
    }
}

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Entries.
    pub entries: u64,
    /// Bytes, after compression.
    pub bytes: u64,
    /// Entries that could not be read, each with its name and the reason; none but in a salvage.
    pub lost: Vec<String>,
}

/// Exports from the database in `data`.
///
/// # Errors
/// There is no database; the base does not exist; the filter cannot be
/// read; the output cannot be written.
pub fn export(
    data: &Path,
    options: &ExportOptions,
    output: &mut dyn Write,
    meter: &Meter,
) -> Result<Exported, Failure> {
    let store = recover::open_to_read(data, options.served)?;
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    // What is read and what it is read by are of one state.
    let mut readers = store.readers(threads + 1 + usize::from(options.salvage))?;
    let mut own = readers.pop().ok_or_else(|| {
        Failure::Configuration("there is no read transaction for the export".to_owned())
    })?;
    let (rules, last) = {
        let snapshot = own.snapshot()?;
        let dictionary = config::stored_dictionary(&snapshot)?;
        let catalog = config::load(&snapshot, &dictionary)?;
        meter.expect_entries(snapshot.entry_count()?);
        (
            Rules::new(&snapshot, catalog, options)?,
            snapshot.last_id()?,
        )
    };
    let parts = Parts {
        line: Line::new(),
        next: AtomicU64::new(0),
        last,
    };
    // Of the same state as the others: names of what is lost are told by it.
    let mut names = options.salvage.then(|| readers.pop()).flatten();
    std::thread::scope(|scope| {
        for reader in readers {
            let (parts, rules) = (&parts, &rules);
            scope.spawn(move || parts.render(rules, reader));
        }
        let mut writer = Writer::new(&rules, own, output);
        let done = write(&parts, &mut writer, meter);
        // Threads that wait for room must not wait for ever.
        parts.line.stop(None);
        done?;
        store.require_same_holder()?;
        let mut exported = writer.exported();
        if let (Some(losses), Some(names)) = (&rules.losses, &mut names) {
            exported.lost = losses.lines(&names.snapshot()?);
        }
        Ok(exported)
    })
}

fn write(parts: &Parts, writer: &mut Writer<'_>, meter: &Meter) -> Result<(), Failure> {
    writer.begin()?;
    while let Some(part) = parts.line.take()? {
        meter.check()?;
        let before = writer.exported();
        writer.put(part)?;
        let now = writer.exported();
        meter.add_entries(now.entries - before.entries);
        meter.add_bytes(now.bytes - before.bytes);
    }
    writer.end()
}

/// The parts of an export, given out one after the other.
struct Parts {
    line: Line<Part>,
    next: AtomicU64,
    last: EntryId,
}

impl Parts {
    /// Renders parts until there are no more.
    fn render(&self, rules: &Rules, mut reader: Reader) {
        let total = self.last.0.div_ceil(PART_IDS);
        let mut renderer = Renderer::new(rules);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                return self.line.end(total);
            }
            let from = EntryId(number * PART_IDS + 1);
            let to = EntryId((number + 1) * PART_IDS);
            let put = &mut |part: Part, last| {
                let bytes = part.bytes();
                let put = match last {
                    true => self.line.put(number, part, bytes),
                    false => self.line.put_part(number, part, bytes),
                };
                // Why it was stopped is known there.
                put.map_err(|_| Failure::Cancelled)
            };
            let done = reader
                .snapshot()
                .map_err(Failure::from)
                .and_then(|snapshot| renderer.parts(&snapshot, (from, to), put));
            if let Err(failure) = done {
                return self.line.stop(Some(failure));
            }
        }
    }
}
