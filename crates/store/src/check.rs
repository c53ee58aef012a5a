//! The check of a database: every table is compared with every other.
//!
//! Names and index rows are compared with entries by sums over all rows, so that each table is read
//! once from end to end; only when sums differ do look-ups find the wrong rows. Links are looked up
//! from the set's side, and counted from the member's.

mod indexes;
mod links;
mod report;
mod rows;
mod scrub;
mod sums;

use std::collections::HashMap;

use schema::Schema;
use smallvec::SmallVec;

use crate::entry::{EntryView, state_term};
use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::IndexSet;
use crate::snapshot::Snapshot;
use crate::tables::{count_of_value, id_of_key, id_of_name, parent_of_name_key};
pub use report::Report;
use rows::{is_stored, name_key};
pub use scrub::Scrub;
use sums::Sum;

/// Entries between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1000;

/// Compares every table with every other, and recomputes counts and digests. `progress` is called
/// every 1,000 entries with the number of entries read.
///
/// # Errors
/// Errors of LMDB; all other damage is a problem in the report.
pub fn check(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, Error> {
    let mut report = Report::default();
    let names = sum_names(snapshot, &mut report)?;
    let mut expected_names = Sum::default();
    check_counts(snapshot, names.children, &mut report)?;
    check_dictionary(snapshot, &indexes.schema, &mut report)?;
    let mut rows = indexes::Rows::new(*snapshot, indexes)?;
    let mut digest = 0_u128;
    for row in snapshot.stored_entries_from(EntryId(1)) {
        let (id, view) = match row {
            Ok(row) => row,
            Err(error) => {
                report.add(|| error.to_string());
                match error {
                    Error::DamagedEntry { .. } => continue,
                    _ => break,
                }
            }
        };
        check_entry(id, &view, &indexes.schema, &mut report);
        digest = digest.wrapping_add(state_term(id, view.parent(), view.digest()));
        if let Some(key) = name_key(&indexes.schema, id, &view) {
            expected_names.add(&name_row(key.bytes(), id));
        }
        rows.expect(id, &view);
        report.entries += 1;
        if report.entries % PROGRESS_EVERY == 0 {
            progress(report.entries);
        }
    }
    if !rows.check_tables(&mut report)? {
        for row in snapshot.stored_entries_from(EntryId(1)) {
            match row {
                Ok((id, view)) => rows.find_missing(id, &view, &mut report)?,
                // The damaged entry is in the report already.
                Err(Error::DamagedEntry { .. }) => {}
                Err(_) => break,
            }
        }
    }
    digest = digest.wrapping_add(links::check(snapshot, &mut report)?);
    progress(report.entries);
    let state = snapshot.state()?;
    let entries = report.entries;
    report.expect(state.entries == entries, || {
        format!(
            "the state counts {} entries, there are {entries}",
            state.entries
        )
    });
    report.expect(names.sum.rows == entries, || {
        format!("there are {} names for {entries} entries", names.sum.rows)
    });
    if names.sum != expected_names {
        report.add(|| "the name rows are not those that the entries require".to_owned());
        find_names(snapshot, &indexes.schema, &mut report)?;
    }
    report.expect(state.digest == digest, || {
        "the state's digest is wrong".to_owned()
    });
    let last = names.last_id;
    report.expect(state.next_id > last.0, || {
        format!("the next id is {}, but entry {last} exists", state.next_id)
    });
    Ok(report)
}

struct Names {
    sum: Sum,
    last_id: EntryId,
    children: HashMap<u64, u64>,
}

/// Sums up and counts all name rows.
fn sum_names(snapshot: &Snapshot<'_>, report: &mut Report) -> Result<Names, Error> {
    let mut names = Names {
        sum: Sum::default(),
        last_id: EntryId::ROOT,
        children: HashMap::new(),
    };
    let mut cursor = snapshot.transaction.cursor(snapshot.tables.name)?;
    while let Some((key, value)) = cursor.next()? {
        let (Some(parent), Ok(id)) = (parent_of_name_key(key), id_of_name(key, value)) else {
            report.add(|| "a name row cannot be read".to_owned());
            continue;
        };
        names.sum.add(&name_row(key, id));
        names.last_id = names.last_id.max(id);
        *names.children.entry(parent.0).or_default() += 1;
    }
    Ok(names)
}

/// Follows every name row to its entry.
fn find_names(snapshot: &Snapshot<'_>, schema: &Schema, report: &mut Report) -> Result<(), Error> {
    let mut cursor = snapshot.transaction.cursor(snapshot.tables.name)?;
    while let Some((key, value)) = cursor.next()? {
        let Ok(id) = id_of_name(key, value) else {
            continue;
        };
        match snapshot.stored_entry(id) {
            Ok(Some(view)) => {
                let expected = name_key(schema, id, &view);
                report.expect(expected.is_some_and(|it| it.bytes() == key), || {
                    format!(
                        "the name row of entry {id} ({}) has another name",
                        view.rdn()
                    )
                });
            }
            Ok(None) => report.add(|| format!("a name row leads to entry {id}, which is missing")),
            Err(error) => report.add(|| format!("entry {id}: {error}")),
        }
    }
    Ok(())
}

/// The bytes of a name that enter the sum.
fn name_row(key: &[u8], id: EntryId) -> SmallVec<[u8; 64]> {
    let mut row = SmallVec::from_slice(key);
    row.extend_from_slice(&id.0.to_be_bytes());
    row
}

fn check_counts(
    snapshot: &Snapshot<'_>,
    mut children: HashMap<u64, u64>,
    report: &mut Report,
) -> Result<(), Error> {
    let mut cursor = snapshot.transaction.cursor(snapshot.tables.count)?;
    while let Some((key, value)) = cursor.next()? {
        let (Ok(parent), Ok(stored)) = (id_of_key(key, "count"), count_of_value(value)) else {
            report.add(|| "a count row cannot be read".to_owned());
            continue;
        };
        let counted = children.remove(&parent.0).unwrap_or(0);
        report.expect(counted == stored, || {
            format!("entry {parent} has {counted} children, its count says {stored}")
        });
        let exists = !parent.is_entry() || is_stored(snapshot, parent)?;
        report.expect(exists, || {
            format!("{parent} has children but does not exist")
        });
    }
    for (parent, counted) in children {
        report.add(|| format!("entry {parent} has {counted} children but no count"));
    }
    Ok(())
}

fn check_dictionary(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    report: &mut Report,
) -> Result<(), Error> {
    for row in snapshot.dictionary()? {
        let known = schema.known(row.number).map(|it| it.text.as_str());
        report.expect(known.is_none_or(|text| text == row.text), || {
            format!(
                "number {} is {} here and {known:?} in the schema",
                row.number.0, row.text
            )
        });
    }
    Ok(())
}

/// Checks one entry by itself: digest, attribute numbers, directory.
fn check_entry(id: EntryId, view: &EntryView<'_>, schema: &Schema, report: &mut Report) {
    report.expect(view.computed_digest() == view.digest(), || {
        format!("the digest of entry {id} is wrong")
    });
    let mut length = 0;
    for attribute in view.attributes() {
        length += attribute.encoded.len();
        let mut reader = protocol::ber::Reader::new(attribute.encoded);
        let decoded = protocol::ber::PartialAttribute::decode(&mut reader);
        let Ok(decoded) = decoded.and_then(|it| reader.finish().map(|()| it)) else {
            report.add(|| {
                format!(
                    "entry {id}: attribute {} cannot be read",
                    attribute.number.0
                )
            });
            continue;
        };
        let known = schema.known(attribute.number).map(|it| it.text.as_str());
        report.expect(known == Some(decoded.description), || {
            let number = attribute.number.0;
            format!(
                "entry {id}: number {number} is {known:?}, not {}",
                decoded.description
            )
        });
    }
    report.expect(length == view.all_attributes().len(), || {
        format!("entry {id}: the directory does not cover all attributes")
    });
}
