//! The end of the audit's chain, from the database of a node.

use crate::recover::open_to_read;
use audit::Head;
use state::stop::Failure;
use state::trail::head_of_audit;
use std::path::Path;

/// The end of the chain that the database in a data folder has; `None` if nothing was ever audited.
/// With `beside` another process may serve the database.
///
/// # Errors
/// The database cannot be opened or read.
pub fn stored_head(data: &Path, beside: bool) -> Result<Option<Head>, Failure> {
    let store = open_to_read(data, beside)?;
    let mut reader = store.reader()?;
    head_of_audit(&reader.snapshot()?)
}
