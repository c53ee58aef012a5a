//! Bulk export: the entries of a data folder as LDIF or as add requests, parents before their
//! children.
//!
//! Several threads render ranges of ids from snapshots of one state, and the ranges are written in
//! order, in small parts. Ids mostly follow the tree; an entry that was moved below one with a
//! greater id waits until its superior is written. So entries stand by id wherever possible, and
//! because an import gives ids in the order of the file, exporting an imported export yields the
//! same file.
//!
//! A served folder is read beside the server, in one state from beginning to end.

mod changes;
mod forgotten;
mod options;
mod order;
mod render;
mod rules;

pub use changes::{ChangesOptions, export_changes};
pub use options::{Compression, ExportFormat, ExportOptions, Exported};

use crate::line::Line;
use crate::meter::Meter;
use order::Writer;
use render::{Part, Renderer};
use replica::recover;
use rules::Rules;
use state::config;
use state::stop::Failure;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{EntryId, Reader};

/// Number of ids rendered at once: about a megabyte of text for entries of usual size.
const PART_IDS: u64 = 256;

/// Exports from the database in `data`.
///
/// # Errors
/// There is no database; the base does not exist; the filter cannot be parsed; the output cannot be
/// written.
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
    // All readers, and the rules, are of one state.
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
    // A reader of the same state, for the names of lost entries.
    let mut names = options.salvage.then(|| readers.pop()).flatten();
    std::thread::scope(|scope| {
        for reader in readers {
            let (parts, rules) = (&parts, &rules);
            scope.spawn(move || parts.render(rules, reader));
        }
        let mut writer = Writer::new(&rules, own, output);
        let done = write(&parts, &mut writer, meter);
        // Threads that wait for room must not wait forever.
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

/// The parts of an export, handed out in order.
struct Parts {
    line: Line<Part>,
    next: AtomicU64,
    last: EntryId,
}

impl Parts {
    /// Renders parts until there are none left.
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
                // The line knows why it was stopped.
                put.map_err(|_| Failure::Cancelled)
            };
            let done = reader
                .snapshot()
                .map_err(Failure::from)
                .and_then(|snapshot| renderer.parts(&snapshot, from, to, put));
            if let Err(failure) = done {
                return self.line.stop(Some(failure));
            }
        }
    }
}
