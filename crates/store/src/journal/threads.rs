//! The two threads of a journal: one writes records while they are executed, one makes checkpoints.
//! Both end when the journal is dropped.

use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::checkpoint::{Checkpoint, CheckpointFile, failed_sync};
use super::log::{LogPlace, Staged, Unwritten};
use crate::error::Error;
use crate::lmdb::ReadTransaction;
use crate::store::Store;

/// Writes and syncs records, at most one at a time.
#[derive(Debug)]
pub(super) struct Syncer {
    jobs: Option<Sender<Staged>>,
    results: Receiver<Written>,
    /// Outcome of a record that the caller's thread wrote.
    own: Option<Written>,
    thread: Option<JoinHandle<()>>,
}

/// The buffer of a written record, for reuse, and the outcome of the write.
type Written = (Vec<u8>, Result<(), Unwritten>);

impl Syncer {
    pub fn start() -> std::io::Result<Syncer> {
        let (jobs, todo) = channel::<Staged>();
        let (done, results) = channel();
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                for staged in todo {
                    let written = staged.write();
                    if done.send((staged.bytes, written)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Syncer {
            jobs: Some(jobs),
            results,
            own: None,
            thread: Some(thread),
        })
    }

    /// Writes a record on the thread.
    pub fn send(&mut self, staged: Staged) -> Result<(), Error> {
        let sent = self.jobs.as_ref().map(|jobs| jobs.send(staged));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(ended()),
        }
    }

    /// Writes a record on the caller's thread.
    pub fn write(&mut self, staged: Staged) -> Result<(), Error> {
        let written = staged.write();
        self.own = Some((staged.bytes, written));
        Ok(())
    }

    /// Waits for the record passed last, and returns its outcome.
    pub fn wait(&mut self) -> Written {
        let own = self.own.take();
        own.or_else(|| self.results.recv().ok()).unwrap_or_else(|| {
            let error = std::io::Error::other("the thread that writes the log has ended");
            (Vec::new(), Err(Unwritten::Unsynced(error)))
        })
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.jobs = None;
        join(&mut self.thread);
    }
}

/// Makes checkpoints, at most one at a time, and holds the pin of the checkpoint in force.
#[derive(Debug)]
pub(super) struct Checkpointer {
    jobs: Option<Sender<Job>>,
    results: Receiver<Result<LogPlace, Error>>,
    busy: bool,
    thread: Option<JoinHandle<()>>,
}

/// A checkpoint to make: its pin, its content, and the files to sync before.
type Job = (ReadTransaction, Checkpoint, Vec<Arc<File>>);

impl Checkpointer {
    pub fn start(
        store: &Store,
        file: CheckpointFile,
        pin: ReadTransaction,
    ) -> std::io::Result<Checkpointer> {
        let (jobs, todo) = channel::<Job>();
        let (done, results) = channel();
        let store = store.clone();
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || {
                // Pins of failed checkpoints stay too, since it is unknown which checkpoint is in
                // force.
                let mut pins = vec![pin];
                for (pin, checkpoint, companions) in todo {
                    pins.push(pin);
                    let synced = sync_all(&companions);
                    let synced = synced.map_err(|it| failed_sync("syncing kept changes", it));
                    let made = synced.and_then(|()| make(&store, &file, &checkpoint));
                    if made.is_ok() {
                        let last = pins.len() - 1;
                        pins.drain(..last);
                    }
                    if done.send(made).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Checkpointer {
            jobs: Some(jobs),
            results,
            busy: false,
            thread: Some(thread),
        })
    }

    /// Begins a checkpoint of the state that `pin` holds.
    pub fn send(
        &mut self,
        pin: ReadTransaction,
        checkpoint: Checkpoint,
        companions: Vec<Arc<File>>,
    ) {
        if let Some(jobs) = &self.jobs {
            // If the thread has ended, waiting for its result reports that.
            self.busy = jobs.send((pin, checkpoint, companions)).is_ok();
        }
    }

    pub fn is_busy(&self) -> bool {
        self.busy
    }

    /// Returns the outcome of the checkpoint being made: the place of the first record still needed.
    /// [`Error::Full`]: there was no room to write it; the previous checkpoint is in force, and the
    /// next attempt must not take its slot.
    pub fn finished(&mut self, wait: bool) -> Option<Result<LogPlace, Error>> {
        if !self.busy {
            return None;
        }
        let outcome = match wait {
            true => Some(self.results.recv().unwrap_or_else(|_| Err(ended()))),
            false => self.results.try_recv().ok(),
        };
        self.busy = outcome.is_none();
        outcome
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.jobs = None;
        join(&mut self.thread);
    }
}

/// Syncs the files written along with the log.
pub(super) fn sync_all(companions: &[Arc<File>]) -> Result<(), Error> {
    let mut synced = companions.iter().map(|it| it.sync_data());
    let failed = synced.find_map(Result::err);
    failed.map_or(Ok(()), |error| {
        Err(Error::system("syncing what accompanies the log")(error))
    })
}

fn make(store: &Store, file: &CheckpointFile, checkpoint: &Checkpoint) -> Result<LogPlace, Error> {
    let synced = file.disk().sync_database(&|| store.sync());
    synced.map_err(|error| failed_sync("syncing the database", error))?;
    file.write(checkpoint)?;
    Ok(checkpoint.place)
}

fn ended() -> Error {
    Error::conflict("a thread of the log has ended")
}

fn join(thread: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = thread.take() {
        // A panic of the thread has been printed, and the next use of the thread fails.
        let _ = thread.join();
    }
}
