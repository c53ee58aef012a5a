//! Writes lines of the audit: appends them to files, begins new files, removes the oldest.

use super::end::{FolderEnd, cut_after, end_of};
use super::standing::{AuditStanding, Shown};
use super::{Auditing, EXTENSION, FileRules, KEEP_FILE, files, folder};
use crate::clock::{Clock, SystemClock};
use audit::{Closing, Head};
use rustix::fs::{FallocateFlags, fallocate};
use state::stop::Failure;
use state::time::generalized_time;
use state::trail::Audited;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::private;

/// Bytes that are reserved behind the end of a file where the audit is required, so that the lines
/// of the next record have room.
const RESERVE_BYTES: u64 = 1 << 20;
/// Maximum bytes of lines that wait for room; beyond it lines are lost, and the gap shows.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Time between two attempts to write lines that could not be written.
const RETRY: Duration = Duration::from_secs(1);

/// Writer of the lines of a data folder.
#[derive(Debug)]
pub struct AuditKeeper {
    folder: PathBuf,
    rules: FileRules,
    file: Option<Current>,
    /// The last line in the files, or the one before the first line of the current file.
    head: Head,
    /// The last line that the database knows of.
    database: Head,
    /// Lines of committed records that could not be written.
    waiting: VecDeque<Audited>,
    waiting_bytes: usize,
    /// When lines could not be written for the last time, and why.
    trouble: Option<(Instant, String)>,
    standing: Arc<AuditStanding>,
}

/// The file being written.
#[derive(Debug)]
struct Current {
    file: Arc<File>,
    bytes: u64,
    /// Bytes up to which room is reserved.
    reserved: u64,
    /// Whether the log knows of the file.
    is_announced: bool,
}

impl AuditKeeper {
    /// The keeper of a data folder; `None` if no lines are written. `head` is the end of the chain
    /// that the database has.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open(
        data: &Path,
        auditing: Auditing,
        head: Head,
        standing: &Arc<AuditStanding>,
    ) -> Result<Option<AuditKeeper>, Failure> {
        let folder = folder(data);
        let wrong = |error| Failure::file(folder.display().to_string(), error);
        let rules = match auditing {
            Auditing::AsBefore | Auditing::Off => stored_rules(&folder).map_err(wrong)?,
            Auditing::On(rules) => {
                store_rules(&folder, rules).map_err(wrong)?;
                Some(rules)
            }
        };
        let Some(rules) = rules else {
            return Ok(None);
        };
        AuditKeeper::of_folder(folder, rules, head, standing).map(Some)
    }

    /// The keeper of a folder of lines. `head` is the end of their chain.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn of_folder(
        folder: PathBuf,
        rules: FileRules,
        head: Head,
        standing: &Arc<AuditStanding>,
    ) -> Result<AuditKeeper, Failure> {
        let wrong = |error| Failure::file(folder.display().to_string(), error);
        let end = end_of(&folder).map_err(wrong)?;
        let end = end.filter(|end| !is_of_another(&end.head, &head));
        if end.is_none() && !files(&folder).map_err(wrong)?.is_empty() {
            set_aside(&folder).map_err(wrong)?;
        }
        let mut keeper = AuditKeeper {
            folder: folder.clone(),
            rules,
            file: None,
            head,
            database: head,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            trouble: None,
            standing: Arc::clone(standing),
        };
        if let Some(end) = end {
            keeper.go_on_at(&end).map_err(wrong)?;
        }
        keeper.tell();
        Ok(keeper)
    }

    /// Like [`open`](Self::open), for a database that goes back to a checkpoint: lines about later
    /// records are cut off, and written again when these records are executed again.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn open_at_checkpoint(
        data: &Path,
        head: Head,
        position: u64,
    ) -> Result<Option<AuditKeeper>, Failure> {
        let folder = folder(data);
        let wrong = |error| Failure::file(folder.display().to_string(), error);
        if stored_rules(&folder).map_err(wrong)?.is_none() {
            return Ok(None);
        }
        cut_after(&folder, position).map_err(wrong)?;
        AuditKeeper::open(data, Auditing::AsBefore, head, &Arc::default())
    }

    /// Writes the lines of a committed record. Returns a file that must be synced before the log
    /// drops the record; `None` if it is one that was returned before.
    pub fn keep(&mut self, audited: Audited) -> Option<Arc<File>> {
        self.database = audited.head;
        if self.waiting.is_empty() {
            match self.write(&audited) {
                Ok(()) => {
                    if self.rules.required
                        && let Err(error) = self.reserve()
                    {
                        self.fail(&error);
                    }
                    self.tell();
                    return self.announced();
                }
                Err(error) => self.fail(&error),
            }
        }
        self.waiting_bytes += audited.bytes.len();
        match self.waiting_bytes > WAITING_BYTES_MAX {
            true => self.waiting_bytes -= audited.bytes.len(),
            false => self.waiting.push_back(audited),
        }
        None
    }

    /// Refuses writes if the audit is required and the lines about them could not be written.
    ///
    /// # Errors
    /// [`Failure::Unaudited`] with the reason.
    pub fn require(&mut self) -> Result<(), Failure> {
        if !self.rules.required {
            return Ok(());
        }
        if let Some((since, why)) = &self.trouble
            && since.elapsed() < RETRY
        {
            return Err(Failure::Unaudited(why.clone()));
        }
        let ready = self.write_waiting().and_then(|()| self.reserve());
        match ready {
            Ok(()) => Ok(()),
            Err(error) => {
                self.fail(&error);
                Err(Failure::Unaudited(error.to_string()))
            }
        }
    }

    /// Tries again to write lines that could not be written, if that is due. Returns a file as
    /// [`keep`](Self::keep) does.
    pub fn try_again(&mut self) -> Option<Arc<File>> {
        let due = |it: &(Instant, String)| it.0.elapsed() >= RETRY;
        if !self.trouble.as_ref().is_some_and(due) {
            return None;
        }
        let written = self
            .write_waiting()
            .and_then(|()| match self.rules.required {
                true => self.reserve(),
                false => Ok(()),
            });
        match written {
            Ok(()) => self.announced(),
            Err(error) => {
                self.fail(&error);
                None
            }
        }
    }

    /// Tries a last time to write lines that could not be written, before the log is given up.
    /// Returns a file as [`keep`](Self::keep) does.
    pub fn finish(&mut self) -> Option<Arc<File>> {
        match self.write_waiting() {
            Ok(()) => self.announced(),
            Err(_) => None,
        }
    }

    /// Time until lines that could not be written are due; `None` if there are none.
    pub fn due_in(&self) -> Option<Duration> {
        let (since, _) = self.trouble.as_ref()?;
        Some(RETRY.saturating_sub(since.elapsed()))
    }

    /// Makes the next record return the file again: the log was sealed, and the file synced with
    /// it.
    pub fn begin_another_log(&mut self) {
        if let Some(current) = &mut self.file {
            current.is_announced = false;
        }
    }

    /// Ends writing: closes the file, and nobody writes lines any more.
    ///
    /// # Errors
    /// The file or the folder cannot be written.
    pub fn retire(mut self) -> Result<(), Failure> {
        let ended = self.close_file();
        let ended = ended.and_then(|()| remove_file(&self.folder.join(KEEP_FILE)));
        self.standing.set(Shown::default());
        ended.map_err(|error| Failure::file(self.folder.display().to_string(), error))
    }

    fn announced(&mut self) -> Option<Arc<File>> {
        let current = self.file.as_mut()?;
        let was = std::mem::replace(&mut current.is_announced, true);
        (!was).then(|| Arc::clone(&current.file))
    }

    fn fail(&mut self, error: &io::Error) {
        let folder = self.folder.display();
        if self.trouble.is_none() {
            tracing::error!(%error, "lines of the audit cannot be written in {folder}");
        }
        self.trouble = Some((Instant::now(), format!("{folder}: {error}")));
        self.tell();
    }

    fn tell(&self) {
        let trouble = self.trouble.as_ref().map(|it| it.1.clone());
        self.standing.set(Shown {
            is_on: true,
            line: self.head.line,
            position: self.head.position,
            refuses: self.rules.required && trouble.is_some(),
            trouble,
        });
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        while let Some(first) = self.waiting.pop_front() {
            if let Err(error) = self.write(&first) {
                self.waiting.push_front(first);
                return Err(error);
            }
            self.waiting_bytes -= first.bytes.len();
        }
        if self.trouble.take().is_some() {
            let folder = self.folder.display();
            tracing::info!("lines of the audit are written again in {folder}");
        }
        self.tell();
        Ok(())
    }

    /// Appends the lines of a record, in the file that they belong to.
    fn write(&mut self, audited: &Audited) -> io::Result<()> {
        let goes_on = audited.opening.line == self.head.line.saturating_add(1)
            && audited.opening.previous == self.head.hash;
        if !goes_on {
            self.file = None;
        }
        self.close_if_full()?;
        if self.file.is_none() {
            self.begin_file(&audited.opening)?;
        }
        let Some(current) = &mut self.file else {
            return Ok(());
        };
        if let Err(error) = (&*current.file).write_all(&audited.bytes) {
            // Half a record is taken back; if that fails, the next one begins another file.
            current.reserved = 0;
            if current.file.set_len(current.bytes).is_err() {
                self.file = None;
            }
            return Err(error);
        }
        current.bytes += audited.bytes.len() as u64;
        self.head = audited.head;
        Ok(())
    }

    fn close_if_full(&mut self) -> io::Result<()> {
        let max = self.rules.file_bytes.max(1);
        match self.file.as_ref().is_some_and(|it| it.bytes >= max) {
            true => self.close_file(),
            false => Ok(()),
        }
    }

    fn begin_file(&mut self, opening: &audit::Opening) -> io::Result<()> {
        let path = self.path_of(opening.line);
        // A file of this name has no line of the chain, or one that was never committed.
        let mut file = private::create(&path)?;
        let mut bytes = Vec::new();
        opening.write(&mut bytes);
        file.write_all(&bytes)?;
        drop(file);
        let file = appending(&path)?;
        File::open(&self.folder)?.sync_all()?;
        self.file = Some(Current {
            file: Arc::new(file),
            bytes: bytes.len() as u64,
            reserved: 0,
            is_announced: false,
        });
        self.head = Head {
            is_on: true,
            line: opening.line.saturating_sub(1),
            position: opening.position,
            hash: opening.previous,
        };
        self.make_room()
    }

    fn path_of(&self, line: u64) -> PathBuf {
        self.folder.join(format!("{line:020}.{EXTENSION}"))
    }

    /// Says in the file where it ends; another one follows.
    fn close_file(&mut self) -> io::Result<()> {
        let Some(current) = self.file.take() else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        let closing = Closing {
            line: self.head.line,
            position: self.head.position,
            hash: self.head.hash,
        };
        closing.write(&mut bytes);
        (&*current.file).write_all(&bytes)?;
        // Gives back what was reserved behind the end.
        current.file.set_len(current.bytes + bytes.len() as u64)
    }

    /// Continues the last file of the folder.
    fn go_on_at(&mut self, end: &FolderEnd) -> io::Result<()> {
        self.head = end.head;
        if !end.is_closed {
            self.file = Some(Current {
                file: Arc::new(appending(&end.path)?),
                bytes: end.bytes,
                reserved: 0,
                is_announced: false,
            });
        }
        Ok(())
    }

    /// Makes the file for the lines of the next record, if they need another one, and reserves
    /// room.
    fn reserve(&mut self) -> io::Result<()> {
        self.close_if_full()?;
        if self.file.is_none() {
            let opening = self.database.opening();
            self.begin_file(&opening)?;
        }
        let Some(current) = &mut self.file else {
            return Ok(());
        };
        if current.reserved < current.bytes + RESERVE_BYTES {
            let ahead = 4 * RESERVE_BYTES;
            let keep = FallocateFlags::KEEP_SIZE;
            match fallocate(&*current.file, keep, current.bytes, ahead) {
                Ok(()) => current.reserved = current.bytes + ahead,
                // Not every file system can reserve.
                Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                    current.reserved = u64::MAX;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Removes the oldest files beyond the limits, but never the newest.
    fn make_room(&self) -> io::Result<()> {
        let FileRules {
            keep_bytes,
            keep_days,
            ..
        } = self.rules;
        let age_max = Duration::from_secs(keep_days.saturating_mul(86_400));
        let mut kept = 0;
        for (_, path) in files(&self.folder)?.iter().rev().skip(1) {
            let found = fs::metadata(path)?;
            kept += found.len();
            let age = found.modified()?.elapsed().unwrap_or_default();
            let is_beyond = keep_bytes > 0 && kept > keep_bytes;
            let is_old = keep_days > 0 && age > age_max;
            if is_beyond || is_old {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Whether files that end in `end` are of another chain than that of the database, or go beyond it.
fn is_of_another(end: &Head, database: &Head) -> bool {
    end.line > database.line || (end.line == database.line && end.hash != database.hash)
}

/// Moves files of another chain, or that cannot be read, into a folder of their own.
fn set_aside(folder: &Path) -> io::Result<()> {
    let time = generalized_time(SystemClock.now_us());
    let aside = folder.join(format!("of-another-{time}"));
    private::create_folders(&aside)?;
    for (_, path) in files(folder)? {
        if let Some(name) = path.file_name() {
            fs::rename(&path, aside.join(name))?;
        }
    }
    tracing::error!(
        "the files of the audit do not end as the database says: they are now in {}",
        aside.display()
    );
    Ok(())
}

fn appending(path: &Path) -> io::Result<File> {
    File::options().append(true).open(path)
}

fn stored_rules(folder: &Path) -> io::Result<Option<FileRules>> {
    match fs::read_to_string(folder.join(KEEP_FILE)) {
        Ok(text) => match FileRules::parse(&text) {
            Some(rules) => Ok(Some(rules)),
            None => Err(io::Error::other(format!(
                "expected four numbers in the file \"{KEEP_FILE}\", got {text:?}"
            ))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn store_rules(folder: &Path, rules: FileRules) -> io::Result<()> {
    private::create_folders(folder)?;
    if stored_rules(folder).ok() != Some(Some(rules)) {
        private::write(&folder.join(KEEP_FILE), rules.text())?;
    }
    Ok(())
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
