//! Checks that the rows of the history are consecutive.

use super::{Changes, Header};
use crate::stop::Failure;
use store::Snapshot;

/// Reads every row and passes each problem as text to `problem`.
///
/// # Errors
/// The table cannot be read.
pub fn check(snapshot: &Snapshot<'_>, problem: &mut dyn FnMut(String)) -> Result<(), Failure> {
    let newest = snapshot.position()?;
    let mut before: Option<Header> = None;
    for row in snapshot.history_from(0) {
        let (time, row) = row?;
        let header = match read(row) {
            Ok(header) => header,
            Err(error) => {
                problem(format!("history row of time {time}: {error}"));
                before = None;
                continue;
            }
        };
        let after = before.map(|it| (it.ordinal + u64::from(it.count), it.position));
        if let Some((ordinal, position)) = after
            && (header.ordinal != ordinal || header.position <= position)
        {
            problem(format!(
                "history row of time {time}: expected change {ordinal} at a log position after \
                 {position}, found change {} at {}",
                header.ordinal, header.position
            ));
        }
        if header.position > newest {
            problem(format!(
                "history row of time {time}: its log position {} is after the database's, {newest}",
                header.position
            ));
        }
        before = Some(header);
    }
    Ok(())
}

/// Returns the header of a row, if the row has as many changes as the header says.
fn read(row: &[u8]) -> Result<Header, String> {
    let text = |error: Failure| error.to_string();
    let mut changes = Changes::of(row).map_err(text)?;
    let mut count = 0_u32;
    while changes.next().map_err(text)?.is_some() {
        count += 1;
    }
    let header = changes.header;
    match count == header.count {
        true => Ok(header),
        false => Err(format!("expected {} changes, found {count}", header.count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Recorder;
    use schema::Schema;
    use store::{EntryId, IndexSet, Store};

    /// Returns the problems of a history with these rows, each a time, a header and a number of
    /// changes.
    fn problems(rows: &[(u64, Header, usize)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::create(folder.path()).expect("created");
        let indexes = IndexSet::from_states(Schema::standard(), &[]);
        let mut batch = store.begin(&indexes).expect("begun");
        for (time, header, count) in rows {
            let mut recorder = Recorder::default();
            (0..*count).for_each(|_| recorder.added(EntryId(7)));
            let row = header.row(&recorder.changes);
            batch.put_history(*time, &row).expect("put");
        }
        batch.set_position(9);
        batch.commit().expect("committed");
        let mut reader = store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        let mut found = Vec::new();
        check(&snapshot, &mut |it| found.push(it)).expect("read");
        found
    }

    fn header(ordinal: u64, position: u64, count: u32) -> Header {
        Header {
            ordinal,
            position,
            count,
        }
    }

    #[test]
    fn rows_in_order_are_sound() {
        let rows = [
            (10, header(5, 3, 2), 2),
            (11, header(7, 4, 0), 0),
            (15, header(7, 9, 1), 1),
        ];
        assert_eq!(problems(&rows), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let rows = [
            (10, header(5, 3, 2), 1),
            (11, header(7, 4, 1), 1),
            (12, header(9, 5, 0), 0),
            (13, header(9, 5, 0), 0),
            (14, header(9, 10, 0), 0),
        ];
        let found = problems(&rows);
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(found[0].contains("expected 2 changes, found 1"));
        assert!(found[1].contains("expected change 8") && found[1].contains("found change 9"));
        assert!(found[2].contains("after 5"));
        assert!(found[3].contains("is after the database's, 9"));
    }
}
