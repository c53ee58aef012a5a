//! Exports kept changes as LDIF change records (RFC 2849).
//!
//! Records hold requests, so the requests of successful writes are exported, with the numbers that
//! rules gave.

use super::forgotten;
use super::options::{Compression, Exported};
use crate::meter::Meter;
use protocol::ldif::{LdifAttribute, LdifChange, LdifControl, LdifRecord, LdifWriter};
use protocol::{ChangeOperation, oid};
use replica::changes::{self, Frame, Point, Reader};
use replica::recover;
use schema::{Name, Schema, Truth};
use state::catalog::Catalog;
use state::config;
use state::execute::GivenNumber;
use state::record::Decoded;
use state::rules::Numbers;
use state::stop::Failure;
use state::time::{generalized_time, uuid_text};
use state::write::{Addition, Change, Given, Modification, Renaming, Write as DirectoryWrite};
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use store::{EntryId, Lookup, Region, RegionScope, Snapshot};

/// Bytes buffered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Selection of kept changes, and the output.
#[derive(Debug, Clone)]
pub struct ChangesOptions {
    /// The point after which changes are exported.
    pub since: Point,
    /// Columns at which lines are folded; 0 for no folding.
    pub fold_columns: usize,
    /// Compression of the output.
    pub compression: Compression,
    /// Whether a server has the database open, so that the export reads beside it.
    pub served: bool,
}

/// Writes the kept changes after a point as LDIF. Also returns the position of the last change.
///
/// # Errors
/// There is no database; some changes since the point are not kept; the output cannot be written.
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
    let mut schema = catalog.schema.clone();
    let end = snapshot.position()?;
    let mut changes = begin(data, options.since, end)?;
    let ldif = LdifWriter::new(options.fold_columns);
    let mut text = Vec::new();
    ldif.put_version(&mut text);
    let mut exported = Exported::default();
    while let Some(frame) = changes.next_up_to(end, store.is_beside())? {
        meter.check()?;
        if options.since.includes(&frame) {
            continue;
        }
        let decoded = forgotten::decode(&frame, &mut schema)?;
        let printer = Printer {
            snapshot: &snapshot,
            catalog: &catalog,
            schema: &schema,
            ldif: &ldif,
        };
        let count = printer.put(&frame, &decoded, &mut text)?;
        exported.entries += count;
        meter.add_entries(count);
        if text.len() >= BUFFER_BYTES {
            exported.bytes += flush(&mut text, options.compression, output)?;
        }
    }
    exported.bytes += flush(&mut text, options.compression, output)?;
    store.require_same_holder()?;
    // The position of the state, even if the last records are not exported: the export lacks no
    // change up to it.
    Ok((exported, end))
}

/// A reader of the changes from a point on. A time must be later than the first kept change,
/// because earlier ones may have been removed.
fn begin(data: &Path, since: Point, end: u64) -> Result<Reader, Failure> {
    let folder = changes::folder(data);
    let after = match since {
        Point::Position(position) => position,
        Point::Time(time) => {
            let first = Reader::all(&folder)?.next_frame()?;
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

/// Writes the text, compressed if wanted, and clears it; returns the number of bytes written.
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

/// Prints changes as LDIF.
struct Printer<'p> {
    snapshot: &'p Snapshot<'p>,
    catalog: &'p Catalog,
    /// The catalog's schema, extended by attribute types that only older changes name.
    schema: &'p Schema,
    ldif: &'p LdifWriter,
}

impl Printer<'_> {
    /// Appends the successful writes of a record; returns their number.
    fn put(&self, frame: &Frame, decoded: &Decoded, out: &mut Vec<u8>) -> Result<u64, Failure> {
        let position = decoded.position;
        let time = generalized_time(decoded.time_us);
        let numbers = match frame.outcome.numbers(decoded.writes.all.len()) {
            Some(numbers) => numbers,
            None => self.numbers_now(frame, decoded)?,
        };
        let mut count = 0;
        for (number, write) in decoded.writes.all.iter().enumerate() {
            let hidden = write.name().is_within(&self.catalog.config);
            // Writes of the server itself, which cannot be applied elsewhere.
            let own = matches!(
                write.change,
                Change::Reclaim(_) | Change::Attempts(_) | Change::Level(_) | Change::Audit(_)
            );
            if !frame.outcome.has(number) || hidden || own {
                continue;
            }
            let by = if write.by().is_empty() {
                "anonymous"
            } else {
                write.by()
            };
            let comment = format!("position {position}, {time}, by {by}");
            self.ldif.put_comment(out, &comment);
            let given = numbers.iter().filter(|it| it.write == number).collect();
            self.put_write(write, given, out)?;
            count += 1;
        }
        Ok(count)
    }

    fn put_write(
        &self,
        write: &DirectoryWrite,
        given: Vec<&GivenNumber>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let dn = write.spelled.as_str();
        let controls = controls(write);
        match &write.change {
            Change::Add(addition) => {
                let names = addition.attributes.iter();
                let names = names.map(|it| self.schema.spelled(&it.description));
                let names: Vec<String> = names.collect();
                let attributes = attributes_of(addition, &names, &given);
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
                let names = spelled(changes, self.schema);
                let changes = names.iter().zip(changes).map(|(attribute, it)| LdifChange {
                    operation: it.operation,
                    attribute,
                    values: it.given.values.iter().map(Cow::from).collect(),
                });
                // Given numbers come after the attribute that requested them.
                let given = given.iter().map(|it| LdifChange {
                    operation: ChangeOperation::Replace,
                    attribute: &it.attribute,
                    values: vec![Cow::from(it.value.as_bytes())],
                });
                let changes = changes.chain(given).collect();
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
            Change::Reclaim(_) | Change::Attempts(_) | Change::Level(_) | Change::Audit(_) => {}
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

    /// The DN of a superior as spelled now, or its normal form if it does not exist any more.
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

    /// The numbers that entries have now, for entries that were added without a number: the best
    /// guess for changes kept by an earlier build, which did not record numbers.
    fn numbers_now(&self, frame: &Frame, decoded: &Decoded) -> Result<Vec<GivenNumber>, Failure> {
        let mut numbers = Vec::new();
        for (write, it) in decoded.writes.all.iter().enumerate() {
            if let Change::Add(addition) = &it.change
                && frame.outcome.has(write)
            {
                self.put_numbers_now(write, addition, &mut numbers)?;
            }
        }
        Ok(numbers)
    }

    fn put_numbers_now(
        &self,
        write: usize,
        addition: &Addition,
        out: &mut Vec<GivenNumber>,
    ) -> Result<(), Failure> {
        let rules = self.catalog.rules.numbers.iter();
        let rules: Vec<&Numbers> = rules.filter(|it| asks_for_number(it, addition)).collect();
        if rules.is_empty() {
            return Ok(());
        }
        let uuid = uuid_text(&addition.uuid);
        let Some(id) = self.by_uuid(uuid.as_bytes())? else {
            return Ok(());
        };
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(());
        };
        for rule in rules {
            let attribute = self.catalog.schema.type_of(rule.type_id).name();
            for number in self.catalog.schema.numbers_of(rule.type_id) {
                let found = view.attribute(*number);
                let value = found.and_then(|it| it.values().into_iter().next());
                out.extend(value.map(|it| GivenNumber {
                    write,
                    attribute: attribute.to_owned(),
                    value: String::from_utf8_lossy(it).into_owned(),
                }));
            }
        }
        Ok(())
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

/// Whether an added entry requested a number from a rule: by lacking the attribute, or by the
/// request value.
fn asks_for_number(rule: &Numbers, addition: &Addition) -> bool {
    let of_type = |it: &&Given| it.description.type_id == rule.type_id;
    let mut values = addition.attributes.iter().filter(of_type);
    let mut in_name = addition.rdn.values.iter().map(|(it, _)| it.type_id);
    values.all(|it| it.values.iter().eq(&rule.request)) && !in_name.any(|it| it == rule.type_id)
}

/// The attributes of an added entry with their names; given numbers replace the values that
/// requested them.
fn attributes_of<'a>(
    addition: &'a Addition,
    names: &'a [String],
    given: &[&'a GivenNumber],
) -> Vec<LdifAttribute<'a>> {
    let mut attributes: Vec<LdifAttribute<'a>> = Vec::new();
    for (name, attribute) in names.iter().zip(&addition.attributes) {
        if !given.iter().any(|it| it.attribute == *name) {
            let values = attribute.values.iter();
            attributes.extend(values.map(|value| (name.as_str(), Cow::from(value))));
        }
    }
    let numbers = given.iter();
    attributes.extend(numbers.map(|it| (it.attribute.as_str(), Cow::from(it.value.as_bytes()))));
    attributes
}

fn spelled(changes: &[Modification], schema: &Schema) -> Vec<String> {
    let names = changes.iter();
    names
        .map(|it| schema.spelled(&it.given.description))
        .collect()
}

/// The controls that determine the effect of the request.
fn controls(write: &DirectoryWrite) -> Vec<LdifControl<'static>> {
    let options = write.options.as_deref();
    let asked = |it: fn(&state::write::WriteOptions) -> bool| options.is_some_and(it);
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
