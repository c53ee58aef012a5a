//! Restoring: the database of a backup, and the changes after it up to a moment.

use super::hashing::{HashingReader, HashingWriter};
use super::increment::Records;
use super::manifest::Manifest;
use super::{CONTENT_FILE, copy, file, partial_name, sync};
use crate::changes::{Frame, Point, Reader};
use crate::clock::{Clock, SystemClock, generalized_time};
use crate::execute::META_TIME;
use crate::import::Meter;
use crate::recover::Replayer;
use crate::stop::Failure;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use store::{DATABASE_FILE, Journal, Store};

/// Bytes of pages that a record leaves behind, about: what asks for a checkpoint now and then.
const RECORD_CHURN_BYTES: u64 = 256 << 10;

/// What a restore made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The backup.
    pub manifest: Manifest,
    /// Changes executed after the backup's own database.
    pub records: u64,
    /// The position of the last one, or of the database.
    pub position: u64,
    /// When the state was made, as a GeneralizedTime.
    pub time: String,
}

/// Puts a backup back into a data folder, which must not hold a database, and executes its
/// increments, and then what is kept in a folder of changes, up to a moment. All of it is compared
/// with the manifest on the way.
///
/// # Errors
/// What cannot be read or written; [`Failure::Input`] when the backup is damaged, is of a later
/// time, or changes are missing; [`Failure::Cancelled`]. Nothing is left behind then.
pub fn restore(
    backup: &Path,
    kept: Option<&Path>,
    until: Option<Point>,
    data: &Path,
    meter: &Meter,
) -> Result<Restored, Failure> {
    let manifest = Manifest::read(backup)?;
    let target = data.join(DATABASE_FILE);
    if target.exists() {
        return Err(Failure::Input(format!(
            "{}: expected a node without a database; restore into a new folder",
            target.display()
        )));
    }
    let partial = partial_name(data);
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).map_err(file(&partial))?;
    let work = || -> Result<Restored, Failure> {
        decompress(backup, &manifest, &partial.join(DATABASE_FILE), meter)?;
        let restored = go_on(backup, kept, until, &manifest, &partial, meter)?;
        fs::create_dir_all(data).map_err(file(data))?;
        fs::rename(partial.join(DATABASE_FILE), &target).map_err(file(&target))?;
        sync(data)?;
        Ok(restored)
    };
    let restored = work();
    let _ = fs::remove_dir_all(&partial);
    restored
}

/// Executes what came after the database in a folder.
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
            && let Some(frame) = reader.next()?
        {
            meter.check()?;
            meter.add_bytes(frame.bytes());
            execution.take(&store, &frame)?;
        }
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

/// Executing the changes of a restore.
struct Execution<'r> {
    journal: Journal,
    replayer: &'r mut Replayer,
    until: Option<Point>,
    records: u64,
    /// The moment has been reached.
    over: bool,
}

impl Execution<'_> {
    /// Executes a record unless the database has it already or it comes too late.
    fn take(&mut self, store: &Store, frame: &Frame) -> Result<(), Failure> {
        self.over = self.over || self.until.is_some_and(|it| !it.includes(frame));
        if self.over || frame.position() <= Some(self.replayer.position) {
            return Ok(());
        }
        if self.records == 0 {
            self.journal.begin(SystemClock.uuid())?;
        }
        self.replayer.execute(store, &frame.content)?;
        self.records += 1;
        self.journal.committed(RECORD_CHURN_BYTES)?;
        Ok(())
    }
}

/// Refuses a moment that lies before the database.
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

/// When the newest state was made, in microseconds since 1970.
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
    // In a file of its own nothing follows the compressed content.
    let bytes = if is_file {
        manifest.stored.bytes
    } else {
        u64::MAX
    };
    let stored = HashingReader::new(content.take(bytes));
    let mut decoder = zstd::Decoder::new(stored).map_err(file(&path))?;
    let output = File::create(target).map_err(file(target))?;
    let mut output = HashingWriter::new(output);
    copy(&mut decoder, &mut output, &path, meter)?;
    let mut stored = decoder.finish().into_inner();
    // What follows the compressed content does not belong there.
    io::copy(&mut stored, &mut io::sink()).map_err(file(&path))?;
    let (output, database) = output.finish();
    for (found, expected, what) in [
        (stored.finish(), &manifest.stored, "the file"),
        (database, &manifest.database, "the database in it"),
    ] {
        if found != *expected {
            return Err(Failure::Input(format!(
                "{}: {what} is damaged: expected {expected}, found {found}",
                path.display()
            )));
        }
    }
    output.sync_all().map_err(file(target))
}
