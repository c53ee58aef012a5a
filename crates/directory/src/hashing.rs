//! The few threads for slow password hashes, so that no serving thread ever stands still.
//!
//! The queue is bounded: when it is full the operation is refused with `busy`, because a hash
//! that takes 50 ms is also the cheapest way to overload a server.

use crate::flow::{CheckPurpose, Completion, Finished, Mailbox, PasswordChecked, Reply};
use crate::stop::{Refusal, Stop};
use crate::write::{Bundle, Change, Write};
use policy::VerifiedCache;
use policy::password::{self, Scheme};
use protocol::{MessageId, ResultCode, ResultKind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Jobs that may wait: at 50 ms each and two threads, 25 seconds of work.
const WAITING_MAX: usize = 1_024;

/// A password to verify against slow stored values.
pub(crate) struct PasswordJob {
    pub entry: u64,
    pub stored: Vec<Vec<u8>>,
    pub given: Vec<u8>,
    pub purpose: CheckPurpose,
}

/// What one thread is to do.
pub(crate) enum Work {
    Verify(PasswordJob),
    /// Replace the passwords in the clear of a bundle by hashes.
    Hash {
        bundle: Box<Bundle>,
        kind: ResultKind,
        reply: Reply,
    },
}

/// A piece of work with its return address.
pub(crate) struct Task {
    pub session: u64,
    pub id: MessageId,
    pub mailbox: Arc<dyn Mailbox>,
    pub work: Work,
}

/// The threads and their queue.
pub(crate) struct HashPool {
    sender: Option<SyncSender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads share.
pub(crate) struct HashSettings {
    pub scheme: Scheme,
    pub verified: Arc<VerifiedCache>,
    pub clock: Arc<dyn crate::Clock>,
    pub password_type: schema::TypeId,
}

impl HashPool {
    pub fn start(count: usize, settings: HashSettings) -> std::io::Result<HashPool> {
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let receiver = Arc::new(Mutex::new(receiver));
        let settings = Arc::new(settings);
        let mut threads = Vec::with_capacity(count);
        for number in 0..count {
            let (receiver, settings) = (Arc::clone(&receiver), Arc::clone(&settings));
            let builder = std::thread::Builder::new().name(format!("hash-{number}"));
            threads.push(builder.spawn(move || run(&receiver, &settings))?);
        }
        Ok(HashPool {
            sender: Some(sender),
            threads,
        })
    }

    /// Queues a piece of work; `busy` when too much waits already.
    pub fn submit(&self, task: Task) -> Result<(), Stop> {
        let sender = self
            .sender
            .as_ref()
            .expect("the pool accepts work until it is dropped");
        match sender.try_send(task) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Stop::refuse(
                ResultCode::BUSY,
                format!("{WAITING_MAX} password checks are waiting already: try again later"),
            ),
        }
    }
}

impl Drop for HashPool {
    fn drop(&mut self) {
        self.sender = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a hashing thread panicked");
            }
        }
    }
}

fn run(receiver: &Mutex<Receiver<Task>>, settings: &HashSettings) {
    loop {
        let next = receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(task) = next else { return };
        let what = match task.work {
            Work::Verify(job) => verify(job, settings),
            Work::Hash {
                bundle,
                kind,
                reply,
            } => hash(bundle, kind, reply, settings),
        };
        task.mailbox.deliver(vec![Completion {
            session: task.session,
            id: task.id,
            what,
        }]);
    }
}

fn verify(job: PasswordJob, settings: &HashSettings) -> Finished {
    let right = job
        .stored
        .iter()
        .find(|stored| password::verify(stored, &job.given));
    if let Some(stored) = right {
        let tag = settings.verified.tag(job.entry, stored, &job.given);
        settings
            .verified
            .insert(tag, settings.clock.now_us() / 1_000);
    }
    Finished::Password(PasswordChecked {
        entry: job.entry,
        purpose: job.purpose,
        matched: right.is_some(),
    })
}

fn hash(
    mut bundle: Box<Bundle>,
    kind: ResultKind,
    reply: Reply,
    settings: &HashSettings,
) -> Finished {
    for write in bundle.writes_mut() {
        let former = write.options.as_mut().and_then(|it| it.former.take());
        let Some(former) = former else {
            continue;
        };
        if let Err(stop) = former.apply(&mut write.change, settings.password_type) {
            return Finished::NotHashed { kind, stop, reply };
        }
    }
    let writes = bundle.writes_mut().iter_mut();
    for value in writes.flat_map(|it| passwords(&mut it.change, settings.password_type)) {
        if password::is_hashed(value) {
            continue;
        }
        match password::hash(settings.scheme, value) {
            Ok(hashed) => *value = hashed.into_bytes(),
            Err(error) => {
                let text = format!("the password cannot be hashed: {error}");
                let stop = Refusal::new(ResultCode::OTHER, text).into();
                return Finished::NotHashed { kind, stop, reply };
            }
        }
    }
    Finished::Hashed {
        kind,
        bundle,
        reply,
    }
}

/// The password values that a write would store. Values to delete are compared, not stored.
pub(crate) fn passwords(
    change: &mut Change,
    password_type: schema::TypeId,
) -> impl Iterator<Item = &mut Vec<u8>> {
    use protocol::ChangeOperation::{Add, Replace};
    let given: Vec<&mut crate::write::Given> = match change {
        Change::Add(addition) => addition.attributes.iter_mut().collect(),
        Change::Modify(changes) => changes
            .iter_mut()
            .filter(|it| matches!(it.operation, Add | Replace))
            .map(|it| &mut it.given)
            .collect(),
        Change::Delete | Change::Rename(_) | Change::Reclaim(_) | Change::Attempts(_) => Vec::new(),
    };
    given
        .into_iter()
        .filter(move |it| it.description.type_id == password_type)
        .flat_map(|it| it.values.iter_mut())
}

/// Whether a bundle has passwords in the clear, or some to be held against former ones.
pub(crate) fn has_clear_passwords(bundle: &Bundle, password_type: schema::TypeId) -> bool {
    let mut writes = bundle.writes().iter();
    writes.any(|write| {
        write.has(|it| it.former.is_some()) || write_has_clear_passwords(write, password_type)
    })
}

fn write_has_clear_passwords(write: &Write, password_type: schema::TypeId) -> bool {
    use protocol::ChangeOperation::{Add, Replace};
    let clear = |given: &crate::write::Given| {
        given.description.type_id == password_type
            && given.values.iter().any(|value| !password::is_hashed(value))
    };
    match &write.change {
        Change::Add(addition) => addition.attributes.iter().any(clear),
        Change::Modify(changes) => changes
            .iter()
            .any(|it| matches!(it.operation, Add | Replace) && clear(&it.given)),
        Change::Delete | Change::Rename(_) | Change::Reclaim(_) | Change::Attempts(_) => false,
    }
}
