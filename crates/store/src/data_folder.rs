//! The folder of a database: the name of the database file, and syncing the folder.

use std::fs::File;
use std::path::Path;

use crate::error::Error;

/// Name of the database file in its folder.
pub const DATABASE_FILE: &str = "pando.mdb";

/// Syncs a folder, so that the names of new files are durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    let folder = File::open(folder).map_err(Error::system("opening a folder"))?;
    folder.sync_all().map_err(Error::system("syncing a folder"))
}
