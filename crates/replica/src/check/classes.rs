//! Checks that the `structuralObjectClass` of each entry follows from its object classes.

use policy::Subject;
use schema::Schema;
use state::catalog::Catalog;
use state::stop::{Failure, Stop};
use state::view::View;
use std::collections::HashMap;
use store::{EntryId, Snapshot};

/// Maximum number of class lists cached; real directories have some dozens.
const REMEMBERED_MAX: usize = 10_000;

/// Reports entries with another `structuralObjectClass`, and stored definitions that are not in
/// force. Entries whose classes have no structural one were imported unchecked and are skipped.
///
/// # Errors
/// The database cannot be read.
pub fn check(
    snapshot: &Snapshot<'_>,
    catalog: &Catalog,
    problem: &mut dyn FnMut(String),
) -> Result<(), Failure> {
    for conflict in &catalog.schema_conflicts {
        problem(format!("{conflict}; the definition is not in force"));
    }
    let known = &catalog.known;
    let server = Subject::server();
    let view = View::new(snapshot, catalog, &server);
    let mut remembered: HashMap<Vec<u8>, Option<String>> = HashMap::new();
    let mut key = Vec::new();
    for found in snapshot.entries_after(EntryId::ROOT) {
        let (id, row) = match found {
            // The comparison of rows reports damaged entries.
            Err(store::Error::DamagedEntry { .. }) => continue,
            found => found?,
        };
        let class = row.attribute(known.structural_object_class.number);
        let class = class.and_then(|it| it.values().into_iter().next());
        let classes = row.attribute(known.object_class.number);
        let (Some(class), Some(classes)) = (class, classes) else {
            continue;
        };
        key.clear();
        for value in classes.values() {
            key.extend_from_slice(value);
            key.push(b'$');
        }
        if !remembered.contains_key(&key) {
            if remembered.len() == REMEMBERED_MAX {
                remembered.clear();
            }
            let values: Vec<&[u8]> = classes.values().into_iter().collect();
            remembered.insert(key.clone(), structural(&catalog.schema, &values));
        }
        let Some(Some(made)) = remembered.get(&key) else {
            continue;
        };
        if !class.eq_ignore_ascii_case(made.as_bytes()) {
            let name = view.spelled_name(id).map_err(|stop| match stop {
                Stop::Failed(failure) => failure,
                Stop::Refused(refusal) => Failure::Configuration(refusal.diagnostic),
            })?;
            problem(format!(
                "\"{name}\": structuralObjectClass is {}, the object classes make it {made}",
                String::from_utf8_lossy(class)
            ));
        }
    }
    Ok(())
}

fn structural(schema: &Schema, classes: &[&[u8]]) -> Option<String> {
    let class = schema.structural_class_of(classes).ok()?;
    Some(schema.class_of(class).name().to_owned())
}
