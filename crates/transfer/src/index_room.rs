//! Estimates the space that indexes would take in the database of a data folder, served or not.

use replica::recover;
use state::config;
use state::stop::Failure;
use std::path::Path;
use store::{IndexEstimate, IndexKind, estimate_index};

/// Number of entries sampled for each index, enough for an error of a few per cent.
const SAMPLES: u64 = 2_000;

/// Estimates the sizes of indexes, each given by attribute type and kind.
///
/// # Errors
/// There is no database; an attribute type is unknown; the process that serves the folder was
/// restarted meanwhile.
pub fn estimate_indexes(
    data: &Path,
    served: bool,
    wanted: &[(String, IndexKind)],
) -> Result<Vec<IndexEstimate>, Failure> {
    let store = recover::open_to_read(data, served)?;
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let dictionary = config::stored_dictionary(&snapshot)?;
    let schema = config::load(&snapshot, &dictionary)?.schema;
    let mut estimates = Vec::with_capacity(wanted.len());
    for (attribute, kind) in wanted {
        let type_id = schema.attribute_type(attribute).ok_or_else(|| {
            Failure::Configuration(format!("no attribute type {attribute} in the schema"))
        })?;
        estimates.push(estimate_index(&snapshot, &schema, type_id, *kind, SAMPLES)?);
    }
    store.require_same_holder()?;
    Ok(estimates)
}
