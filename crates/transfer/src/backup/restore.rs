//! Restores the database of a backup, and the changes after it up to a moment.

use super::copying::{CONTENT_FILE, copy, file};
use super::hashing::{HashingReader, HashingWriter};
use super::increment::Records;
use super::manifest::Manifest;
use super::stream::{BackupStream, unpack};
use crate::meter::Meter;
use replica::changes::{Frame, Point, Reader};
use replica::clock::{Clock, SystemClock};
use replica::partial::{Partial, sync};
use replica::recover::Replayer;
use state::meta::META_TIME;
use state::stop::Failure;
use state::time::generalized_time;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use store::private;
use store::{DATABASE_FILE, Journal, PageWriter, Store};

/// Approximate bytes of pages that executing a record adds to the next checkpoint.
const RECORD_CHURN_BYTES: u64 = 256 << 10;
/// Number of entries indexed in one slice.
const INDEX_SLICE: usize = 10_000;
/// Bytes that indexing an entry adds to the next checkpoint: a leaf page, and a share of the branch
/// pages above it.
const INDEXED_CHURN_BYTES: u64 = 12 << 10;

/// Bytes read from a stream at once.
const STREAM_BYTES: usize = 128 << 10;

/// Result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The manifest of the backup.
    pub manifest: Manifest,
    /// Number of changes executed after the backup's database.
    pub records: u64,
    /// Position of the last change, or else of the database.
    pub position: u64,
    /// Time of the restored state, as a GeneralizedTime.
    pub time: String,
}

/// Restores a backup into a data folder without a database: executes its increments, then the
/// changes kept in the folder `kept`, up to a moment. All files are compared with the manifest.
///
/// # Errors
/// A file cannot be read or written; [`Failure::Input`] if the backup is damaged or later than the
/// moment, or changes are missing; [`Failure::Cancelled`]. No file is left behind.
pub fn restore(
    backup: &Path,
    kept: Option<&Path>,
    until: Option<Point>,
    data: &Path,
    meter: &Meter,
) -> Result<Restored, Failure> {
    let manifest = Manifest::read(backup)?;
    into_place(data, |folder| {
        decompress(backup, &manifest, &folder.join(DATABASE_FILE), meter)?;
        go_on(backup, kept, until, &manifest, folder, meter)
    })
}

/// Like [`restore`], for a backup of one file that is read from a stream. Also returns the settings
/// in the backup; empty if there are none.
///
/// # Errors
/// The errors of [`restore`]; also if the stream has bytes after the backup.
pub fn restore_stream(
    stream: BackupStream<'_, impl Read>,
    kept: Option<&Path>,
    until: Option<Point>,
    data: &Path,
    meter: &Meter,
) -> Result<(Restored, Vec<u8>), Failure> {
    into_place(data, |folder| {
        let name = stream.name;
        let from = BufReader::with_capacity(STREAM_BYTES, stream.from);
        let database = folder.join(DATABASE_FILE);
        let unpacked = unpack(from, name, &database, meter);
        // Cancelling ends the wait for a stream with an error of reading.
        let unpacked = unpacked.map_err(|failure| meter.check().err().unwrap_or(failure));
        let (manifest, settings) = unpacked?;
        let restored = go_on(name, kept, until, &manifest, folder, meter)?;
        Ok((restored, settings))
    })
}

/// Makes a database in a temporary folder and moves it into the data folder.
fn into_place<T>(
    data: &Path,
    make: impl FnOnce(&Path) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let target = data.join(DATABASE_FILE);
    require_free(data, &target)?;
    let partial = Partial::folder(data)?;
    store::overwrite_in_place(partial.path());
    // Another restore may have ended meanwhile.
    require_free(data, &target)?;
    let made = make(partial.path())?;
    private::create_folders(data).map_err(file(data))?;
    fs::rename(partial.path().join(DATABASE_FILE), &target).map_err(file(&target))?;
    sync(data)?;
    Ok(made)
}

/// Refuses a folder that holds a database, or files that would be taken for the log of the restored
/// database.
fn require_free(data: &Path, target: &Path) -> Result<(), Failure> {
    if target.exists() {
        return Err(Failure::Input(format!(
            "{}: expected a node without a database; restore into a new folder",
            target.display()
        )));
    }
    if Store::has_log(data) {
        return Err(Failure::Input(format!(
            "{}: expected a folder without the log of a database that was not closed, which is \
             missing; restore into a new folder",
            data.display()
        )));
    }
    Ok(())
}

/// Executes the increments of a backup and then the kept changes, up to a moment, on the database
/// in a folder.
fn go_on(
    backup: &Path,
    kept: Option<&Path>,
    until: Option<Point>,
    manifest: &Manifest,
    folder: &Path,
    meter: &Meter,
) -> Result<Restored, Failure> {
    let store = Store::open(folder)?;
    let mut replayer = Replayer::new(&store)?;
    require_reachable(&store, until, &replayer)?;
    let mut execution = Execution {
        journal: Journal::new(&store),
        replayer: &mut replayer,
        meter,
        until,
        records: 0,
        over: false,
    };
    for increment in &manifest.increments {
        let mut records = Records::open(backup, increment)?;
        while let Some(frame) = records.next()? {
            meter.check()?;
            meter.add_bytes(frame.bytes());
            execution.take(&store, &frame)?;
        }
    }
    if let Some(kept) = kept {
        let mut reader = Reader::open(kept, execution.replayer.position)?;
        while !execution.over
            && let Some(frame) = reader.next_frame()?
        {
            meter.check()?;
            meter.add_bytes(frame.bytes());
            execution.take(&store, &frame)?;
        }
    }
    if execution.records > 0 {
        // Serving and checking need the indexes, too.
        execution.build_for_rules(&store)?;
    }
    let Execution {
        mut journal,
        records,
        ..
    } = execution;
    journal.seal()?;
    let position = replayer.position;
    if let Some(Point::Position(wanted)) = until
        && position < wanted
    {
        return Err(Failure::Input(format!(
            "expected changes up to position {wanted}, the last one there is has {position}"
        )));
    }
    let time = time_of(&store)?;
    store.close();
    Ok(Restored {
        manifest: manifest.clone(),
        records,
        position,
        time: generalized_time(time),
    })
}

/// State of executing the changes of a restore.
struct Execution<'r> {
    journal: Journal,
    replayer: &'r mut Replayer,
    meter: &'r Meter,
    until: Option<Point>,
    records: u64,
    /// Whether the wanted moment has been reached.
    over: bool,
}

impl Execution<'_> {
    /// Executes a record, unless the database includes its changes or the record is later than the
    /// wanted moment.
    fn take(&mut self, store: &Store, frame: &Frame) -> Result<(), Failure> {
        self.over = self.over || self.until.is_some_and(|it| !it.includes(frame));
        if self.over || frame.position() <= Some(self.replayer.position) {
            return Ok(());
        }
        if self.records == 0 {
            self.journal.begin(SystemClock.uuid())?;
        }
        self.build_for_rules(store)?;
        self.replayer.execute(store, &frame.content)?;
        self.records += 1;
        self.journal.committed(RECORD_CHURN_BYTES)?;
        Ok(())
    }

    /// Builds indexes that rules need. The node had them when it executed the following writes.
    /// Without the indexes execution is correct, but each write reads all entries.
    fn build_for_rules(&mut self, store: &Store) -> Result<(), Failure> {
        while self.replayer.waits() && !self.replayer.build_indexes(store, INDEX_SLICE)? {
            let churn = INDEX_SLICE as u64 * INDEXED_CHURN_BYTES;
            self.journal.committed(churn)?;
            self.meter.check()?;
        }
        Ok(())
    }
}

/// Refuses a moment earlier than the database.
fn require_reachable(
    store: &Store,
    until: Option<Point>,
    replayer: &Replayer,
) -> Result<(), Failure> {
    let (reachable, is) = match until {
        None => return Ok(()),
        Some(Point::Position(wanted)) => (
            replayer.position <= wanted,
            format!("position {}", replayer.position),
        ),
        Some(Point::Time(wanted)) => {
            let time = time_of(store)?;
            (time <= wanted, generalized_time(time))
        }
    };
    match reachable {
        true => Ok(()),
        false => Err(Failure::Input(format!(
            "expected a backup made before that: this one begins with the state of {is}"
        ))),
    }
}

/// Time of the newest state in microseconds since 1970.
fn time_of(store: &Store) -> Result<u64, Failure> {
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let time = snapshot.meta(META_TIME)?.and_then(|it| it.try_into().ok());
    Ok(time.map_or(0, u64::from_be_bytes))
}

fn decompress(
    backup: &Path,
    manifest: &Manifest,
    target: &Path,
    meter: &Meter,
) -> Result<(), Failure> {
    let is_file = backup.is_file();
    let path = match is_file {
        true => backup.to_owned(),
        false => backup.join(CONTENT_FILE),
    };
    let content = File::open(&path).map_err(file(&path))?;
    // In a folder, the file ends with the compressed content.
    let bytes = if is_file {
        manifest.stored.bytes
    } else {
        u64::MAX
    };
    let stored = HashingReader::new(content.take(bytes));
    let mut decoder = zstd::Decoder::new(stored).map_err(file(&path))?;
    let output = private::create(target).map_err(file(target))?;
    let mut output = HashingWriter::new(PageWriter::new(output));
    copy(&mut decoder, &mut output, &path, target, meter)?;
    let mut stored = decoder.finish().into_inner();
    // Bytes behind the compressed content are an error.
    io::copy(&mut stored, &mut io::sink()).map_err(file(&path))?;
    let (output, database) = output.finish();
    manifest.require(&path, stored.finish(), database)?;
    output.sync().map_err(file(target))
}
