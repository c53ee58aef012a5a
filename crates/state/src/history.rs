//! The history of changes, in order: one row for each record, for a bounded number of changes.
//!
//! A row is written inside the transaction of its changes, so a snapshot and its history always
//! agree. A search that follows the directory needs no queue: it keeps a [`Moment`] and reads later
//! rows, after a millisecond or a week. docs/formats/database.md describes the rows.

pub mod check;
pub mod fuzz;
pub mod sync_cookie;

use crate::meta::META_TIME;
use crate::stop::{Failure, Stop};
use crate::time;
use protocol::control::ChangeType;
use store::bytes::{Bytes, Undecodable, put_text};
use store::{Batch, EntryId, Snapshot};

/// Number of old rows that any record may remove; more than one, so that their number falls. A
/// record of many changes may remove as many.
const TRIM_MIN: u32 = 4;

/// Time since which this database has its own history: cookies of earlier times are foreign.
const META_BORN: &[u8] = b"history-born";
/// Time of the last move of an entry with subordinates, which changed their names without changing
/// their rows.
const META_MOVED: &[u8] = b"history-moved";

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 1 + 8 + 8 + 4;
/// Flag of a rename: the entry had subordinates.
const HAD_CHILDREN: u8 = 1;
/// Kinds of changes besides the kinds of the protocol (draft-ietf-ldapext-psearch-03).
const SUBTREE_DELETED: u8 = 16;
const RECLAIMED: u8 = 32;

/// A place in the order of all changes, which identifies the state after that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment {
    /// Time of the record in microseconds since 1970.
    pub time_us: u64,
    /// Index of the change in its record, from 0.
    pub counter: u32,
}

impl Moment {
    /// The moment in the form of `entryCSN` and `contextCSN`.
    pub fn to_csn(self) -> String {
        time::change_sequence_number(self.time_us, self.counter, 0)
    }

    /// The moment in a change sequence number of this server; `None` for any other text.
    pub fn from_csn(text: &str) -> Option<Moment> {
        let (time_us, counter) = time::parse_change_sequence_number(text)?;
        Some(Moment { time_us, counter })
    }
}

/// One change in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The kind of the change.
    pub kind: ChangeType,
    /// The entry that was changed.
    pub entry: EntryId,
    /// The facts that the entry itself does not show any more.
    pub detail: Detail<'a>,
}

impl Change<'_> {
    /// Returns whether an entry was added.
    pub fn is_add(&self) -> bool {
        self.kind == ChangeType::Add
    }
}

/// Details of a change that the changed directory no longer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail<'a> {
    /// No details: the entry itself shows the change.
    None,
    /// The entry was deleted.
    Gone {
        /// entryUUID of the entry.
        uuid: [u8; 16],
        /// DN of the entry.
        name: &'a str,
    },
    /// The entry was detached with all its subordinates. They are still stored, or later changes
    /// report them as reclaimed.
    Subtree {
        /// entryUUID of the top entry.
        uuid: [u8; 16],
        /// DN of the top entry.
        name: &'a str,
    },
    /// The rest of an entry in the deleted subtree of `top` was removed. Followers that have
    /// reported the deletion of the subtree ignore this change.
    Reclaimed {
        /// The deleted entry above the reclaimed one.
        top: EntryId,
        /// The entryUUID of the reclaimed entry.
        uuid: [u8; 16],
        /// DN of the reclaimed entry.
        name: &'a str,
    },
    /// The entry was renamed.
    Was {
        /// DN before the rename.
        name: &'a str,
        /// The superior before the change.
        superior: EntryId,
        /// Whether the entry had subordinates and got another superior.
        moved_subtree: bool,
    },
}

/// Collects the changes of one record.
#[derive(Debug, Default)]
pub struct Recorder {
    changes: Vec<u8>,
    count: u32,
    moved: bool,
}

/// A position in a [`Recorder`].
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    bytes: usize,
    count: u32,
    moved: bool,
}

impl Recorder {
    /// Returns the present position, for [`rewind`](Self::rewind).
    pub fn mark(&self) -> Mark {
        Mark {
            bytes: self.changes.len(),
            count: self.count,
            moved: self.moved,
        }
    }

    /// Drops the changes after a position.
    pub fn rewind(&mut self, mark: Mark) {
        self.changes.truncate(mark.bytes);
        self.count = mark.count;
        self.moved = mark.moved;
    }

    /// Number of changes so far: the counter of the next change sequence number.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Records that an entry was added.
    pub fn added(&mut self, entry: EntryId) {
        self.put(ChangeType::Add, entry);
    }

    /// Records that an entry was modified.
    pub fn modified(&mut self, entry: EntryId) {
        self.put(ChangeType::Modify, entry);
    }

    /// Records that an entry of this entryUUID and DN was deleted.
    pub fn deleted(&mut self, entry: EntryId, uuid: [u8; 16], name: &str) {
        self.put(ChangeType::Delete, entry);
        self.changes.extend_from_slice(&uuid);
        put_text(&mut self.changes, name);
    }

    /// Records that an entry was detached with all its subordinates.
    pub fn subtree_deleted(&mut self, entry: EntryId, uuid: [u8; 16], name: &str) {
        self.put_kind(SUBTREE_DELETED, entry);
        self.changes.extend_from_slice(&uuid);
        put_text(&mut self.changes, name);
    }

    /// Records that the rest of an entry below `top`, or of `top`, was removed.
    pub fn reclaimed(&mut self, entry: EntryId, top: EntryId, uuid: [u8; 16], name: &str) {
        self.put_kind(RECLAIMED, entry);
        self.put_id(top);
        self.changes.extend_from_slice(&uuid);
        put_text(&mut self.changes, name);
    }

    /// Records a rename. `superior` is the former one; `moved_subtree` is true if the entry moves
    /// with subordinates.
    pub fn renamed(&mut self, entry: EntryId, name: &str, superior: EntryId, moved_subtree: bool) {
        self.put(ChangeType::ModifyDn, entry);
        self.changes.push(u8::from(moved_subtree) * HAD_CHILDREN);
        self.changes.extend_from_slice(&superior.0.to_le_bytes());
        put_text(&mut self.changes, name);
        self.moved |= moved_subtree;
    }

    fn put(&mut self, kind: ChangeType, entry: EntryId) {
        self.put_kind(kind as u8, entry);
    }

    fn put_kind(&mut self, kind: u8, entry: EntryId) {
        self.changes.push(kind);
        self.put_id(entry);
        self.count += 1;
    }

    fn put_id(&mut self, entry: EntryId) {
        self.changes.extend_from_slice(&entry.0.to_le_bytes()[..6]);
    }

    /// Stores the row of the record with this position and time, and removes rows from the old end
    /// while more than `kept` changes follow them.
    ///
    /// # Errors
    /// The errors of the store; a row that cannot be read.
    pub fn store(
        self,
        batch: &mut Batch<'_>,
        position: u64,
        time_us: u64,
        kept: u64,
    ) -> Result<(), Failure> {
        let last = last_row(&batch.snapshot())?;
        let ordinal = match last {
            Some((_, last)) => last.ordinal + u64::from(last.count),
            None => begin(batch, position, time_us)?,
        };
        let header = Header {
            ordinal,
            position,
            count: self.count,
        };
        batch.put_history(time_us, &header.row(&self.changes))?;
        if self.moved {
            batch.put_meta(META_MOVED, &time_us.to_be_bytes())?;
        }
        let most = self.count.max(TRIM_MIN);
        let next = ordinal + u64::from(self.count);
        trim(batch, next.saturating_sub(kept), most)
    }
}

/// Removes all changes, so that searches with older cookies compare entries.
pub fn forget(batch: &mut Batch<'_>) -> Result<(), Failure> {
    loop {
        let oldest = {
            let snapshot = batch.snapshot();
            snapshot.history_from(0).next().transpose()?.map(|it| it.0)
        };
        match oldest {
            Some(time) => batch.delete_history(time)?,
            None => break,
        };
    }
    batch.delete_meta(META_BORN)?;
    Ok(batch.delete_meta(META_MOVED)?)
}

/// Begins the history of a database that has none; its present content is the first state.
fn begin(batch: &mut Batch<'_>, position: u64, time_us: u64) -> Result<u64, Failure> {
    let before = time_in(&batch.snapshot(), META_TIME)?.filter(|it| *it < time_us);
    if let Some(before) = before {
        let header = Header {
            ordinal: 1,
            position: position.saturating_sub(1),
            count: 0,
        };
        batch.put_history(before, &header.row(&[]))?;
    }
    let born = before.unwrap_or(time_us);
    batch.put_meta(META_BORN, &born.to_be_bytes())?;
    Ok(1)
}

/// Removes at most `most` of the oldest rows: those whose changes all come before the change
/// numbered `first`. The oldest row left shows how far back the history reaches.
fn trim(batch: &mut Batch<'_>, first: u64, most: u32) -> Result<(), Failure> {
    for _ in 0..most {
        let oldest = {
            let snapshot = batch.snapshot();
            let row = snapshot.history_from(0).next().transpose()?;
            row.map(|(time, row)| Ok::<_, Failure>((time, Header::of(row)?)))
                .transpose()?
        };
        match oldest {
            Some((time, header)) if header.ordinal + u64::from(header.count) < first => {
                batch.delete_history(time)?;
            }
            _ => break,
        }
    }
    Ok(())
}

/// Fields of a row that apply to all its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    /// Number of the row's first change since the history began.
    pub ordinal: u64,
    /// The log position of the record.
    pub position: u64,
    /// Number of changes.
    pub count: u32,
}

impl Header {
    fn row(&self, changes: &[u8]) -> Vec<u8> {
        let mut row = Vec::with_capacity(HEADER_BYTES + changes.len());
        row.push(VERSION);
        row.extend_from_slice(&self.ordinal.to_le_bytes());
        row.extend_from_slice(&self.position.to_le_bytes());
        row.extend_from_slice(&self.count.to_le_bytes());
        row.extend_from_slice(changes);
        row
    }

    fn of(row: &[u8]) -> Result<Header, Failure> {
        Header::read(&mut Bytes::new(row)).map_err(damaged)
    }

    fn read(row: &mut Bytes<'_>) -> Result<Header, Undecodable> {
        if row.take()? != [VERSION] {
            return Err(Undecodable::Unknown);
        }
        Ok(Header {
            ordinal: row.u64()?,
            position: row.u64()?,
            count: row.u32()?,
        })
    }
}

/// The changes of a row, in order.
struct Changes<'a> {
    header: Header,
    rest: Bytes<'a>,
}

impl<'a> Changes<'a> {
    fn of(row: &'a [u8]) -> Result<Changes<'a>, Failure> {
        let mut rest = Bytes::new(row);
        let header = Header::read(&mut rest).map_err(damaged)?;
        Ok(Changes { header, rest })
    }

    /// The next change; `None` after the last one.
    fn next(&mut self) -> Result<Option<Change<'a>>, Failure> {
        match self.rest.is_empty() {
            true => Ok(None),
            false => self.read().map(Some).map_err(damaged),
        }
    }

    fn read(&mut self) -> Result<Change<'a>, Undecodable> {
        let [kind] = self.rest.take()?;
        let entry = EntryId(self.rest.u48()?);
        let (kind, detail) = match kind {
            1 => (ChangeType::Add, Detail::None),
            4 => (ChangeType::Modify, Detail::None),
            2 => {
                let uuid = self.rest.take()?;
                let name = self.rest.text()?;
                (ChangeType::Delete, Detail::Gone { uuid, name })
            }
            SUBTREE_DELETED => {
                let uuid = self.rest.take()?;
                let name = self.rest.text()?;
                (ChangeType::Delete, Detail::Subtree { uuid, name })
            }
            RECLAIMED => {
                let (top, uuid) = (EntryId(self.rest.u48()?), self.rest.take()?);
                let name = self.rest.text()?;
                (ChangeType::Delete, Detail::Reclaimed { top, uuid, name })
            }
            8 => {
                let [flags] = self.rest.take()?;
                let superior = EntryId(self.rest.u64()?);
                let detail = Detail::Was {
                    name: self.rest.text()?,
                    superior,
                    moved_subtree: flags & HAD_CHILDREN != 0,
                };
                (ChangeType::ModifyDn, detail)
            }
            _ => return Err(Undecodable::Unknown),
        };
        Ok(Change {
            kind,
            entry,
            detail,
        })
    }
}

/// A change with its positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasion {
    /// The place of the change in the order of all changes.
    pub moment: Moment,
    /// Number of the change since the history began.
    pub number: u64,
    /// Log position of the change's record.
    pub position: u64,
}

/// Calls `each` for the changes after a moment, until it returns false.
pub fn changes_after<'a>(
    snapshot: &Snapshot<'a>,
    after: Moment,
    mut each: impl FnMut(Occasion, Change<'a>) -> Result<bool, Stop>,
) -> Result<(), Stop> {
    for row in snapshot.history_from(after.time_us) {
        let (time_us, row) = row?;
        let mut changes = Changes::of(row)?;
        let Header {
            ordinal, position, ..
        } = changes.header;
        let mut counter = 0;
        while let Some(change) = changes.next()? {
            let moment = Moment { time_us, counter };
            let occasion = Occasion {
                moment,
                number: ordinal + u64::from(counter),
                position,
            };
            if moment > after && !each(occasion, change)? {
                return Ok(());
            }
            counter += 1;
        }
    }
    Ok(())
}

/// Times by which a follower decides whether the history has all changes since a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Moment of the last change.
    pub newest: Moment,
    /// Time after which the history has every change, in microseconds.
    pub oldest_us: u64,
    /// Time since which this database has its own history, in microseconds.
    pub born_us: u64,
    /// Time since which no entry was moved without being changed, in microseconds.
    pub moved_us: u64,
}

impl Extent {
    /// Reads the extent of the history in a snapshot.
    pub fn of(snapshot: &Snapshot<'_>) -> Result<Extent, Failure> {
        let newest = newest(snapshot)?;
        let oldest = snapshot.history_from(0).next().transpose()?;
        let moved_us = time_in(snapshot, META_MOVED)?.unwrap_or(0);
        Ok(Extent {
            newest,
            oldest_us: oldest.map_or(newest.time_us, |(time, _)| time),
            born_us: time_in(snapshot, META_BORN)?.unwrap_or(newest.time_us),
            moved_us,
        })
    }
}

/// Returns the moment of the last change in a snapshot.
pub fn newest(snapshot: &Snapshot<'_>) -> Result<Moment, Failure> {
    Ok(match last_row(snapshot)? {
        Some((time_us, header)) => Moment {
            time_us,
            counter: header.count.saturating_sub(1),
        },
        None => Moment {
            time_us: time_in(snapshot, META_TIME)?.unwrap_or(0),
            counter: 0,
        },
    })
}

/// Returns whether the history has a change, or its beginning, at exactly this moment.
pub fn knows(snapshot: &Snapshot<'_>, moment: Moment) -> Result<bool, Failure> {
    let row = snapshot.history_from(moment.time_us).next().transpose()?;
    Ok(match row {
        Some((time, row)) if time == moment.time_us => {
            moment.counter < Header::of(row)?.count.max(1)
        }
        Some(_) => false,
        None => newest(snapshot)? == moment,
    })
}

fn last_row(snapshot: &Snapshot<'_>) -> Result<Option<(u64, Header)>, Failure> {
    let row = snapshot.last_history()?;
    row.map(|(time, row)| Ok((time, Header::of(row)?)))
        .transpose()
}

fn time_in(snapshot: &Snapshot<'_>, key: &[u8]) -> Result<Option<u64>, Failure> {
    let bytes = snapshot.meta(key)?.and_then(|it| it.try_into().ok());
    Ok(bytes.map(u64::from_be_bytes))
}

fn damaged(_: Undecodable) -> Failure {
    store::Error::Corrupt {
        table: "history",
        detail: "a row cannot be read".to_owned(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_back_what_was_recorded() {
        let mut recorder = Recorder::default();
        recorder.added(EntryId(7));
        recorder.modified(EntryId((1 << 48) - 1));
        recorder.deleted(EntryId(9), [5; 16], "cn=gone,dc=example");
        recorder.renamed(EntryId(3), "cn=before,dc=example", EntryId(2), true);
        recorder.subtree_deleted(EntryId(4), [6; 16], "cn=top");
        recorder.reclaimed(EntryId(5), EntryId(4), [7; 16], "cn=leaf,cn=top");
        assert_eq!(recorder.count(), 6);
        let header = Header {
            ordinal: 100,
            position: 42,
            count: recorder.count(),
        };
        let row = header.row(&recorder.changes);
        let mut changes = Changes::of(&row).expect("just written");
        assert_eq!(changes.header, header);
        let mut kinds = Vec::new();
        while let Some(change) = changes.next().expect("just written") {
            kinds.push((change.kind as u8, change.entry.0, change.detail));
        }
        let gone = Detail::Gone {
            uuid: [5; 16],
            name: "cn=gone,dc=example",
        };
        let was = Detail::Was {
            name: "cn=before,dc=example",
            superior: EntryId(2),
            moved_subtree: true,
        };
        let subtree = Detail::Subtree {
            uuid: [6; 16],
            name: "cn=top",
        };
        let reclaimed = Detail::Reclaimed {
            top: EntryId(4),
            uuid: [7; 16],
            name: "cn=leaf,cn=top",
        };
        let expected = [
            (1, 7, Detail::None),
            (4, (1 << 48) - 1, Detail::None),
            (2, 9, gone),
            (8, 3, was),
            (2, 4, subtree),
            (2, 5, reclaimed),
        ];
        assert_eq!(kinds, expected);
        for length in 0..row.len() {
            let mut cut = match Changes::of(&row[..length]) {
                Ok(cut) => cut,
                Err(_) => continue,
            };
            let mut seen = 0;
            while let Ok(Some(_)) = cut.next() {
                seen += 1;
            }
            assert!(seen < 6, "{length} bytes of {}", row.len());
        }
    }

    #[test]
    fn a_moment_is_its_change_sequence_number() {
        let moment = Moment {
            time_us: 1_795_251_723_000_042,
            counter: 0x1f,
        };
        let csn = moment.to_csn();
        assert_eq!(csn, "20261121090203.000042Z#00001f#000#000000");
        assert_eq!(Moment::from_csn(&csn), Some(moment));
        for bad in [
            "",
            "20261121090203.000042Z#00001f#001#000000",
            "20261121090203.000042Z#00001f#000",
            "20261321090203.000042Z#00001f#000#000000",
            "2026112109020é.000042Z#00001f#000#000000",
        ] {
            assert_eq!(Moment::from_csn(bad), None, "{bad}");
        }
    }
}
