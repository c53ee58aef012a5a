//! `pando compact`: gives space that the database no longer needs back to the file system.

use crate::backup::require_room;
use crate::channel::Channel;
use crate::cli::Compact;
use crate::init::data_folder;
use crate::report::{Problem, note, say};
use indicatif::HumanBytes;
use std::time::Instant;

/// Compacts the database of a node that is not served.
pub fn compact(it: &Compact) -> Result<(), Problem> {
    let data = data_folder(&it.dir)?;
    if Channel::is_served(&it.dir) {
        return Err(Problem::failed(format_args!(
            "{} is served: stop the server first, or restore a backup, which is compact, into a \
             new folder",
            it.dir.display()
        )));
    }
    let bytes = directory::compact::bytes(&data).map_err(Problem::failed)?;
    require_room(&data, bytes, "compacted database")?;
    let started = Instant::now();
    let done = directory::compact::compact(&data).map_err(Problem::failed)?;
    note(format_args!(
        "copied, checked and put in place in {:.1} s",
        started.elapsed().as_secs_f64()
    ));
    say(format_args!(
        "{} instead of {}",
        HumanBytes(done.after),
        HumanBytes(done.before)
    ))
}
