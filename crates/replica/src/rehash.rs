//! The thread that stores right passwords in another form, after the binds that proved them.
//!
//! It works for a small share of the time, on few passwords at a time, and begins with the first
//! one. Its writes apply only if the stored value is still the one that was verified: several nodes
//! may do the same at once.

use crate::clients::{Submission, Writes};
use crate::writer::Queue;
use policy::password;
use policy::rehash::{Rehash, Rehashes};
use protocol::ChangeOperation;
use schema::{Description, TypeId};
use state::catalog::{CONFIG_NAME, Catalog};
use state::grant::Grant;
use state::write::{Change, Given, Modification, Write, WriteOptions};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread, once it runs, and the passwords that wait for it.
#[derive(Debug)]
pub(crate) struct Rehasher {
    shared: Arc<Shared>,
    password_type: TypeId,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Rehashes,
    thread: Option<JoinHandle<()>>,
    stopping: bool,
}

impl Rehasher {
    /// A thread that does not run yet.
    pub fn new(catalog: &Catalog) -> Rehasher {
        Rehasher {
            shared: Arc::default(),
            password_type: catalog.known.user_password.type_id,
        }
    }

    /// Adds the password of an entry, made by `rehash`, if there is a place for it. Its write goes
    /// to this queue.
    pub fn add<T: Send + 'static>(
        &self,
        entry: u64,
        queue: &Arc<Queue<T>>,
        rehash: impl FnOnce() -> Rehash,
    ) {
        let mut state = self.shared.lock();
        if state.stopping || !state.waiting.takes(entry) {
            return;
        }
        if state.thread.is_none() {
            let (shared, queue) = (Arc::clone(&self.shared), Arc::clone(queue));
            let password_type = self.password_type;
            let builder = std::thread::Builder::new().name("rehash".to_owned());
            match builder.spawn(move || shared.run(&queue, password_type)) {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => {
                    tracing::warn!("no thread to hash passwords anew: {error}");
                    return;
                }
            }
        }
        state.waiting.add(rehash());
        self.shared.called.notify_one();
    }

    /// Ends the thread; passwords that wait stay as they are stored.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.stopping = true;
        let thread = state.thread.take();
        drop(state);
        self.shared.called.notify_one();
        if thread.is_some_and(|it| it.join().is_err()) {
            tracing::error!("the thread that hashes passwords anew panicked");
        }
    }
}

impl Shared {
    fn run<T>(&self, queue: &Queue<T>, password_type: TypeId) {
        while let Some(rehash) = self.next() {
            let began = Instant::now();
            match password::hash(rehash.hashing, &rehash.given) {
                Ok(hashed) => queue.submit(Submission {
                    writes: Writes::One(write_of(rehash, hashed, password_type)),
                    client: 0,
                    ticket: None,
                }),
                // The password is stored as it was, and does for the next bind.
                Err(error) => tracing::debug!("{}: not hashed anew: {error}", rehash.spelled),
            }
            self.pause(Rehashes::pause(began.elapsed()));
        }
    }

    /// Waits for a password; `None` when the thread is to end.
    fn next(&self) -> Option<Rehash> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(rehash) = state.waiting.take() {
                return Some(rehash);
            }
            let woken = self.called.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        while !state.stopping {
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return;
            }
            let woken = self.called.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The write that puts the new form in the place of the stored value, which must be there.
fn write_of(rehash: Rehash, hashed: String, password_type: TypeId) -> Write {
    let modification = |operation, value| Modification {
        operation,
        given: Given {
            description: Description::of_type(password_type),
            values: vec![value],
        },
    };
    let changes = vec![
        modification(ChangeOperation::Delete, rehash.stored),
        modification(ChangeOperation::Add, hashed.into_bytes()),
    ];
    let grant = Grant::of_server(CONFIG_NAME.to_owned(), rehash.name);
    let mut write = Write::of_server(grant, rehash.spelled, Change::Modify(changes));
    write.options = Some(Box::new(WriteOptions {
        rehashes: true,
        ..WriteOptions::default()
    }));
    write
}
