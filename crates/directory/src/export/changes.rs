//! Kept changes as LDIF change records (RFC 2849), so that others can follow.
//!
//! A record holds what was asked for, so that is what is written, for the writes that were done.
//! What execution adds by a rule (numbers) is taken from the entry as it is now.

use super::{Compression, Exported};
use crate::catalog::Catalog;
use crate::changes::{self, Frame, Point, Reader};
use crate::clock::{generalized_time, uuid_text};
use crate::config;
use crate::import::Meter;
use crate::record;
use crate::recover;
use crate::stop::Failure;
use crate::write::{Addition, Change, Modification, Renaming, Write as DirectoryWrite};
use protocol::ldif::{LdifAttribute, LdifChange, LdifControl, LdifRecord, LdifWriter};
use protocol::oid;
use schema::{Name, Schema, Truth};
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use store::{EntryId, Lookup, Region, RegionScope, Snapshot};

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Which changes, and how they are written.
#[derive(Debug, Clone)]
pub struct ChangesOptions {
    /// The changes after this point.
    pub since: Point,
    /// Columns after which lines are folded; 0: never.
    pub fold_columns: usize,
    /// How the output is compressed.
    pub compression: Compression,
    /// A process serves the database: it is read beside that one.
    pub served: bool,
}

/// Writes the kept changes after a point as LDIF; also returns the position of the last one.
///
/// # Errors
/// There is no database; the changes since then are not all kept; the output cannot be written.
pub fn export_changes(
    data: &Path,
    options: &ChangesOptions,
    output: &mut dyn Write,
    meter: &Meter,
) -> Result<(Exported, u64), Failure> {
    let store = recover::open_to_read(data, options.served)?;
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let dictionary = config::stored_dictionary(&snapshot)?;
    let catalog = config::load(&snapshot, &dictionary)?;
    let end = snapshot.position()?;
    let mut changes = begin(data, options.since, end)?;
    let ldif = LdifWriter::new(options.fold_columns);
    let mut text = Vec::new();
    ldif.put_version(&mut text);
    let mut exported = Exported::default();
    let mut position = match options.since {
        Point::Position(position) => position,
        Point::Time(_) => 0,
    };
    while let Some(frame) = changes.next_up_to(end, store.is_beside())? {
        meter.check()?;
        if options.since.includes(&frame) {
            continue;
        }
        position = frame.position().unwrap_or(position);
        let printer = Printer {
            snapshot: &snapshot,
            catalog: &catalog,
            ldif: &ldif,
        };
        let count = printer.put(&frame, &mut text)?;
        exported.entries += count;
        meter.add_entries(count);
        if text.len() >= BUFFER_BYTES {
            exported.bytes += flush(&mut text, options.compression, output)?;
        }
    }
    exported.bytes += flush(&mut text, options.compression, output)?;
    store.require_same_holder()?;
    Ok((exported, position))
}

/// The changes from a point on. A time must lie behind the first change that is kept, or nobody
/// could say whether there were others.
fn begin(data: &Path, since: Point, end: u64) -> Result<Reader, Failure> {
    let folder = changes::folder(data);
    let after = match since {
        Point::Position(position) => position,
        Point::Time(time) => {
            let first = Reader::all(&folder)?.next()?;
            let Some(first) = first else {
                return Reader::open(&folder, end);
            };
            let (begins, position) = (first.time_us().unwrap_or(0), first.position().unwrap_or(1));
            if begins > time {
                return Err(Failure::Input(format!(
                    "{}: expected a time from {} on, when the first kept change was made (position \
                     {position})",
                    folder.display(),
                    generalized_time(begins)
                )));
            }
            position - 1
        }
    };
    if after > end {
        return Err(Failure::Input(format!(
            "expected a position up to {end}, the last one, got {after}"
        )));
    }
    Reader::open(&folder, after)
}

/// Writes the text, compressed if it is to be, and empties it; returns how many bytes it took.
fn flush(
    text: &mut Vec<u8>,
    compression: Compression,
    output: &mut dyn Write,
) -> Result<u64, Failure> {
    let packed = compression.pack(text)?;
    let bytes = packed.as_deref().unwrap_or(text);
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(|error| Failure::file("the output".to_owned(), error))?;
    let count = bytes.len() as u64;
    text.clear();
    Ok(count)
}

/// Prints changes of one directory.
struct Printer<'p> {
    snapshot: &'p Snapshot<'p>,
    catalog: &'p Catalog,
    ldif: &'p LdifWriter,
}

impl Printer<'_> {
    /// Appends the writes of a record that were done; returns how many.
    fn put(&self, frame: &Frame, out: &mut Vec<u8>) -> Result<u64, Failure> {
        let position = frame.position().unwrap_or(0);
        let decoded = record::decode(&frame.content, &self.catalog.schema);
        let decoded = decoded.map_err(|error| {
            Failure::Input(format!(
                "the change of position {position} was made under another schema: {error}"
            ))
        })?;
        let time = generalized_time(decoded.time_us);
        let mut count = 0;
        for (number, write) in decoded.writes.iter().enumerate() {
            let hidden = write.name.is_within(&self.catalog.config);
            // The server's own: nobody could apply them elsewhere.
            let own = matches!(write.change, Change::Reclaim(_) | Change::Attempts(_));
            if !frame.outcome.has(number) || hidden || own {
                continue;
            }
            let by = if write.by.is_empty() {
                "anonymous"
            } else {
                &write.by
            };
            let comment = format!("position {position}, {time}, by {by}");
            self.ldif.put_comment(out, &comment);
            self.put_write(write, out)?;
            count += 1;
        }
        Ok(count)
    }

    fn put_write(&self, write: &DirectoryWrite, out: &mut Vec<u8>) -> Result<(), Failure> {
        let dn = write.spelled.as_str();
        let controls = controls(write);
        let schema = &self.catalog.schema;
        match &write.change {
            Change::Add(addition) => {
                let names: Vec<String> = addition
                    .attributes
                    .iter()
                    .map(|it| schema.spelled(&it.description))
                    .collect();
                let given = self.numbers(addition)?;
                let mut attributes: Vec<LdifAttribute<'_>> = Vec::new();
                for (name, it) in names.iter().zip(&addition.attributes) {
                    if given.iter().any(|(number, _)| number == name) {
                        continue;
                    }
                    let values = it.values.iter();
                    attributes.extend(values.map(|value| (name.as_str(), Cow::from(value))));
                }
                attributes.extend(
                    given
                        .iter()
                        .map(|(name, value)| (name.as_str(), Cow::from(value))),
                );
                self.ldif.put_record(
                    out,
                    &LdifRecord::Add {
                        dn,
                        controls,
                        attributes,
                    },
                );
            }
            Change::Modify(changes) => {
                let names = spelled(changes, schema);
                let changes = names.iter().zip(changes).map(|(attribute, it)| LdifChange {
                    operation: it.operation,
                    attribute,
                    values: it.given.values.iter().map(Cow::from).collect(),
                });
                let changes = changes.collect();
                self.ldif.put_record(
                    out,
                    &LdifRecord::Modify {
                        dn,
                        controls,
                        changes,
                    },
                );
            }
            Change::Delete => self
                .ldif
                .put_record(out, &LdifRecord::Delete { dn, controls }),
            Change::Rename(renaming) => self.put_renaming(dn, controls, renaming, out)?,
            Change::Reclaim(_) | Change::Attempts(_) => {}
        }
        Ok(())
    }

    fn put_renaming(
        &self,
        dn: &str,
        controls: Vec<LdifControl<'_>>,
        renaming: &Renaming,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let superior = renaming.new_superior.as_ref();
        let superior = superior.map(|it| self.superior(it)).transpose()?;
        let record = LdifRecord::ModifyDn {
            dn,
            controls,
            new_rdn: &renaming.rdn_spelled,
            delete_old_rdn: renaming.delete_old_rdn,
            new_superior: superior.as_deref(),
        };
        self.ldif.put_record(out, &record);
        Ok(())
    }

    /// A superior as it is spelled now, or in its normal form when it is there no more.
    fn superior(&self, name: &Name) -> Result<String, Failure> {
        if let Lookup::Found(id) = self.snapshot.find(name)?
            && let Some(view) = self.snapshot.entry(id)?
        {
            let mut out = Vec::new();
            self.snapshot.write_name(&view, &mut out)?;
            return Ok(String::from_utf8_lossy(&out).into_owned());
        }
        Ok(name.to_string())
    }

    /// What the entry has now in attributes whose numbers a rule gives.
    fn numbers(&self, addition: &Addition) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let rules = &self.catalog.rules.numbers;
        if rules.is_empty() {
            return Ok(Vec::new());
        }
        let uuid = uuid_text(&addition.uuid);
        let Some(id) = self.by_uuid(uuid.as_bytes())? else {
            return Ok(Vec::new());
        };
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(Vec::new());
        };
        let mut numbers = Vec::new();
        for rule in rules {
            let name = self.catalog.schema.type_of(rule.type_id).name();
            for number in self.catalog.schema.numbers_of(rule.type_id) {
                let found = view.attribute(*number);
                let value = found.and_then(|it| it.values().into_iter().next());
                numbers.extend(value.map(|it| (name.to_owned(), it.to_vec())));
            }
        }
        Ok(numbers)
    }

    fn by_uuid(&self, uuid: &[u8]) -> Result<Option<EntryId>, Failure> {
        let schema = &self.catalog.schema;
        let filter = schema.resolve_filter(&protocol::Filter::Equality {
            attribute: "entryUUID",
            value: uuid,
        });
        let everywhere = Region {
            base: EntryId::ROOT,
            scope: RegionScope::Subtree,
        };
        let plan = store::plan(self.snapshot, &self.catalog.indexes, &filter, &everywhere)?;
        let candidates = self.snapshot.candidates(&plan, EntryId::ROOT)?;
        let mut scratch = Vec::new();
        for found in candidates.entries_after(*self.snapshot, EntryId::ROOT) {
            let (id, view) = found?;
            if filter.evaluate(schema, &view, &mut scratch) == Truth::True {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

fn spelled(changes: &[Modification], schema: &Schema) -> Vec<String> {
    let names = changes.iter();
    names
        .map(|it| schema.spelled(&it.given.description))
        .collect()
}

/// The controls without which the request would not do the same.
fn controls(write: &DirectoryWrite) -> Vec<LdifControl<'static>> {
    let options = write.options.as_deref();
    let asked = |it: fn(&crate::write::WriteOptions) -> bool| options.is_some_and(it);
    [
        (oid::MANAGE_DSA_IT, false, write.manage_dsa_it),
        (oid::PERMISSIVE_MODIFY, true, asked(|it| it.permissive)),
        (oid::RELAX_RULES, true, asked(|it| it.relaxed)),
        (oid::TREE_DELETE, true, asked(|it| it.tree)),
    ]
    .into_iter()
    .filter(|(.., asked)| *asked)
    .map(|(oid, critical, _)| LdifControl {
        oid,
        critical,
        value: None,
    })
    .collect()
}
