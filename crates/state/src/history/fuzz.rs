//! Fuzz body: rows of the history.

use super::{Change, Changes, Detail, Recorder};
use protocol::control::ChangeType;

/// Checks that recording the decoded changes of a row makes a row with equal changes.
pub fn row(bytes: &[u8]) {
    let Some((changes, row)) = recorded(bytes) else {
        return;
    };
    let (again, _) = recorded(&row).expect("it was just written");
    assert_eq!(again, changes, "{}", bytes.escape_ascii());
}

/// Returns the changes of a row, and the row that is written for them.
fn recorded(row: &[u8]) -> Option<(Vec<Change<'_>>, Vec<u8>)> {
    let mut changes = Changes::of(row).ok()?;
    let header = changes.header;
    let (mut all, mut recorder) = (Vec::new(), Recorder::default());
    while let Some(change) = changes.next().ok()? {
        record(&mut recorder, &change);
        all.push(change);
    }
    let row = header.row(&recorder.changes);
    Some((all, row))
}

fn record(recorder: &mut Recorder, change: &Change<'_>) {
    let entry = change.entry;
    match change.detail {
        Detail::None if change.kind == ChangeType::Add => recorder.added(entry),
        Detail::None => recorder.modified(entry),
        Detail::Gone { uuid, name } => recorder.deleted(entry, uuid, name),
        Detail::Subtree { uuid, name } => recorder.subtree_deleted(entry, uuid, name),
        Detail::Reclaimed { top, uuid, name } => recorder.reclaimed(entry, top, uuid, name),
        Detail::Was {
            name,
            superior,
            moved_subtree,
        } => recorder.renamed(entry, name, superior, moved_subtree),
    }
}
