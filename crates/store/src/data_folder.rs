//! The folder of a database: the name of its file, and syncing what stands in the folder.

use std::fs::File;
use std::path::Path;

use crate::error::Error;

/// The database file in its folder.
pub const DATABASE_FILE: &str = "pando.mdb";

/// Makes the names of new files in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    let folder = File::open(folder).map_err(Error::system("opening a folder"))?;
    folder.sync_all().map_err(Error::system("syncing a folder"))
}
