//! A disk that loses power: writes to the log and to the checkpoint count as durable after their
//! sync, pages of the database after the sync of a checkpoint. After a power cut the seed decides
//! for each unsynced page whether it has its old or its new content.

use super::events::{Event, Events};
use super::random::Random;
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{DATABASE_FILE, Disk, private};

const PAGE_BYTES: usize = 4096;
/// Bytes of the database file that name its log: synced before the first checkpoint.
const MARK: std::ops::Range<usize> = 2048..2064;
/// Name of the file whose existence shows that the database was not closed.
const CHECKPOINT_FILE: &str = "checkpoint";
const LOG_FOLDER: &str = "log";

/// An event at one of the next operations of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harm {
    /// The power is cut.
    Cut,
    /// A write is done in part and fails: there is no room, nor for so many writes after it.
    NoRoom(u64),
    /// A write is done in part and fails: the disk is broken.
    FailedWrite,
    /// A sync fails.
    FailedSync,
    /// A sync fails: there is no room.
    NoRoomToSync,
}

#[derive(Debug)]
pub(super) struct SimulatedDisk {
    folder: PathBuf,
    events: Events,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The database file as it was synced last; empty before the first checkpoint.
    synced: Vec<u8>,
    /// Writes to other files that are not synced.
    pending: Vec<Pending>,
    /// The next harm, and the number of operations before it.
    armed: Option<(u64, Harm)>,
    /// Whether an operation failed.
    failed: bool,
    image: Option<Image>,
}

/// A write that is not synced.
#[derive(Debug, Clone)]
struct Pending {
    inode: u64,
    at: usize,
    before: Vec<u8>,
}

/// Content of a data folder at one moment.
#[derive(Debug)]
pub(super) struct Image {
    database: Vec<u8>,
    synced: Vec<u8>,
    /// Path in the folder, inode and content of each other file.
    files: Vec<(PathBuf, u64, Vec<u8>)>,
    pending: Vec<Pending>,
}

impl SimulatedDisk {
    pub fn new(folder: &Path, events: Events) -> SimulatedDisk {
        SimulatedDisk {
            folder: folder.to_path_buf(),
            events,
            state: Mutex::default(),
        }
    }

    /// Lets a harm happen after this number of operations.
    pub fn arm(&self, after: u64, harm: Harm) {
        self.lock().armed = Some((after, harm));
    }

    /// Whether an operation failed.
    pub fn has_failed(&self) -> bool {
        self.lock().failed
    }

    /// Ends all failures of the disk.
    pub fn mend(&self) {
        let mut state = self.lock();
        (state.armed, state.failed) = (None, false);
    }

    /// The image of the disk when the power was cut; without a power cut, the image of this moment.
    pub fn cut(&self) -> Image {
        let mut state = self.lock();
        state.armed = None;
        let image = state.image.take();
        image.unwrap_or_else(|| {
            self.events.push(Event::Cut);
            self.image(&state)
        })
    }

    fn image(&self, state: &State) -> Image {
        let database = fs::read(self.folder.join(DATABASE_FILE)).expect("a database");
        let mut files = Vec::new();
        if let Ok(segments) = fs::read_dir(self.folder.join(LOG_FOLDER)) {
            let segments = segments.map(|it| it.expect("readable").file_name());
            let mut paths: Vec<PathBuf> =
                segments.map(|it| Path::new(LOG_FOLDER).join(it)).collect();
            paths.sort();
            paths.push(PathBuf::from(CHECKPOINT_FILE));
            for path in paths {
                let from = self.folder.join(&path);
                let inode = fs::metadata(&from).map(|it| it.ino());
                let content = fs::read(&from);
                if let (Ok(inode), Ok(content)) = (inode, content) {
                    files.push((path, inode, content));
                }
            }
        }
        let is_logged = files.iter().any(|it| it.0 == Path::new(CHECKPOINT_FILE));
        Image {
            synced: match is_logged {
                true => state.synced.clone(),
                // Without a checkpoint each commit is synced.
                false => database.clone(),
            },
            database,
            files,
            pending: state.pending.clone(),
        }
    }

    /// Counts an operation down; returns the harm that happens at it.
    fn step(&self, state: &mut State) -> Option<Harm> {
        match &mut state.armed {
            Some((0, harm)) => {
                let harm = *harm;
                state.armed = None;
                Some(harm)
            }
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        }
    }

    fn cut_now(&self, state: &mut State) {
        state.image = Some(self.image(state));
        self.events.push(Event::Cut);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for SimulatedDisk {
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut state = self.lock();
        let mut before = vec![0; bytes.len()];
        // The journal opens some files for writing only.
        let readable = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        readable.read_at(&mut before, at)?;
        state.pending.push(Pending {
            inode: file.metadata()?.ino(),
            at: at as usize,
            before,
        });
        let harm = self.step(&mut state);
        let failure = match harm {
            Some(Harm::NoRoom(more)) => {
                let again = more.checked_sub(1);
                state.armed = again.map(|more| (0, Harm::NoRoom(more)));
                Some(Errno::NOSPC)
            }
            Some(Harm::FailedWrite) => Some(Errno::IO),
            Some(harm @ (Harm::FailedSync | Harm::NoRoomToSync)) => {
                state.armed = Some((0, harm));
                None
            }
            Some(Harm::Cut) | None => None,
        };
        if let Some(errno) = failure {
            state.failed = true;
            file.write_all_at(&bytes[..bytes.len() / 2], at)?;
            return Err(errno.into());
        }
        file.write_all_at(bytes, at)?;
        if harm == Some(Harm::Cut) {
            self.cut_now(&mut state);
        }
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let mut state = self.lock();
        let inode = file.metadata()?.ino();
        let harm = self.step(&mut state);
        let failure = match harm {
            Some(Harm::FailedSync) => Some(Errno::IO),
            Some(Harm::NoRoomToSync) => Some(Errno::NOSPC),
            _ => None,
        };
        if let Some(errno) = failure {
            state.failed = true;
            return Err(errno.into());
        }
        state.pending.retain(|it| it.inode != inode);
        match harm {
            Some(Harm::Cut) => self.cut_now(&mut state),
            Some(harm) => state.armed = Some((0, harm)),
            None => {}
        }
        Ok(())
    }

    fn sync_database(
        &self,
        sync: &dyn Fn() -> Result<(), store::Error>,
    ) -> Result<(), store::Error> {
        let mut state = self.lock();
        if let Some(harm) = self.step(&mut state) {
            match harm {
                Harm::Cut => self.cut_now(&mut state),
                harm => state.armed = Some((0, harm)),
            }
        }
        sync()?;
        state.synced = fs::read(self.folder.join(DATABASE_FILE)).expect("a database");
        Ok(())
    }
}

impl Image {
    /// Writes the surviving files into an empty folder: each unsynced page with its old or its new
    /// content.
    pub fn survive(mut self, folder: &Path, random: &mut Random) {
        self.mix_database(random);
        self.tear_writes(random);
        let write = |path: &Path, content: &[u8]| {
            let used = content
                .iter()
                .rposition(|it| *it != 0)
                .map_or(0, |it| it + 1);
            let mut file = private::create(&folder.join(path)).expect("created");
            io::Write::write_all(&mut file, &content[..used]).expect("written");
            file.set_len(content.len() as u64).expect("room");
        };
        if self.files.iter().any(|it| it.0.starts_with(LOG_FOLDER)) {
            private::create_folder(&folder.join(LOG_FOLDER)).expect("created");
        }
        write(Path::new(DATABASE_FILE), &self.database);
        for (path, _, content) in &self.files {
            write(path, content);
        }
    }

    fn mix_database(&mut self, random: &mut Random) {
        let share = *random.pick(&[0, 1, 20, 50, 80, 99, 100]);
        let mark = self.database[MARK].to_vec();
        for (at, page) in self.database.chunks_mut(PAGE_BYTES).enumerate() {
            if random.below(100) >= share {
                continue;
            }
            let from = at * PAGE_BYTES;
            match self.synced.get(from..from + page.len()) {
                Some(former) => page.copy_from_slice(former),
                // The file had no such page: the page has its place and was never written.
                None => page.fill(0),
            }
        }
        self.database[MARK].copy_from_slice(&mark);
    }

    fn tear_writes(&mut self, random: &mut Random) {
        let share = *random.pick(&[0, 50, 100]);
        // Last write first, so that the content before the first write is restored last.
        for write in self.pending.iter().rev() {
            let mut files = self.files.iter_mut();
            let Some((_, _, content)) = files.find(|it| it.1 == write.inode) else {
                continue;
            };
            for (number, page) in write.before.chunks(PAGE_BYTES).enumerate() {
                if random.below(100) < share {
                    let at = write.at + number * PAGE_BYTES;
                    content[at..at + page.len()].copy_from_slice(page);
                }
            }
        }
    }
}
