//! Collected keys of a bulk load: sorting them, and moving them to files.

use std::sync::Mutex;

use super::loader::BulkLoader;
use crate::error::Error;
use crate::private;

/// Number of sorting threads.
const SORTERS: usize = 2;

/// Moves all collected keys into sorted files.
pub(super) fn spill(loader: &mut BulkLoader) -> Result<(), Error> {
    loader.spilled = true;
    sort(loader);
    let folder = &loader.temporary;
    private::create_folders(folder).map_err(Error::system("making a folder for sorting"))?;
    let (names, runs) = &mut loader.names;
    names.spill(runs, folder, "names")?;
    let (ordered, runs) = &mut loader.ordered;
    ordered.spill(runs, folder, "ordered")?;
    for (slot, group) in loader.groups.iter_mut().enumerate() {
        if let Some(group) = group {
            group.spill(folder, &format!("group-{slot}"))?;
        }
    }
    Ok(())
}

/// Sorts all collected keys on [`SORTERS`] threads, the longest collections first.
pub(super) fn sort(loader: &mut BulkLoader) {
    let mut tasks: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
    for group in loader.groups.iter_mut().flatten() {
        tasks.push(Box::new(|| group.items.sort_unstable()));
    }
    tasks.push(Box::new(|| loader.ordered.0.sort()));
    tasks.push(Box::new(|| loader.names.0.sort()));
    let tasks = Mutex::new(tasks);
    std::thread::scope(|scope| {
        for _ in 0..SORTERS {
            scope.spawn(|| {
                loop {
                    let task = tasks.lock().map(|mut tasks| tasks.pop());
                    match task {
                        Ok(Some(task)) => task(),
                        _ => return,
                    }
                }
            });
        }
    });
}
