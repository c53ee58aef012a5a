//! Threads for slow password hashes, so that serving threads never wait for one.
//!
//! A hash that takes 50 ms is a cheap way to overload a server. So the queue is bounded, takes
//! turns by client address, drops jobs that wait too long or whose client has disconnected, and
//! does not delay a stop. A thread checks these conditions between two verifications, whose time is
//! bounded (`policy::password`).

#[cfg(test)]
mod tests;

use crate::account::check::{CheckPurpose, PasswordChecked};
use crate::account::stack::wipe_stack;
use crate::completion::{Completion, Finished, Mailbox};
use crate::reply::Reply;
use crate::request_writes::RequestWrites;
use answers::former;
use answers::quality::refuse_listed;
use policy::outside::OutsidePasswords;
use policy::password::{self, Scheme};
use policy::quality::PasswordLists;
use policy::turns::{Lane, Queue};
use policy::{Limit, VerifiedCache};
use protocol::{MessageId, ResultCode, ResultKind};
use state::stop::{Refusal, Stop};
use state::write::{Change, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Maximum number of waiting jobs: at 50 ms each and two threads, 25 seconds of work.
const WAITING_MAX: usize = 1_024;
/// Maximum time that a job waits for its beginning; clients give up by then.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Time that a job of many parts runs before others have their turn.
const TURN: Duration = Duration::from_millis(10);

/// Length in characters of the random password used for checks whose result is ignored.
const IN_VAIN_LENGTH: usize = 20;

/// A password to verify against stored values with slow hashes.
pub(crate) struct PasswordJob {
    pub entry: u64,
    pub stored: Vec<Vec<u8>>,
    pub given: Zeroizing<Vec<u8>>,
    pub purpose: CheckPurpose,
}

/// A piece of work for one thread.
pub(crate) enum Work {
    Verify(PasswordJob),
    /// Replaces the clear-text passwords in writes by hashes.
    Hash {
        writes: Box<RequestWrites>,
        kind: ResultKind,
        reply: Reply,
    },
}

/// Work with the mailbox and session for its completion.
pub(crate) struct Task {
    pub lane: Lane,
    pub session: u64,
    pub id: MessageId,
    pub mailbox: Arc<dyn Mailbox>,
    /// Scheme under which new passwords are stored.
    pub scheme: Scheme,
    /// Scheme of keys that are stored beside; `None` for none.
    pub verifiers: Option<Scheme>,
    pub work: Work,
}

/// A queued task.
struct Waiting {
    task: Task,
    since: Instant,
    /// Number of its values already verified or hashed.
    done: usize,
    has_begun: bool,
}

/// The threads and their queue.
pub(crate) struct HashPool {
    shared: Arc<PoolState>,
    threads: Vec<JoinHandle<()>>,
}

/// Settings that the threads share.
pub(crate) struct HashSettings {
    pub verified: Arc<VerifiedCache>,
    pub clock: Arc<dyn crate::Clock>,
    pub password_type: schema::TypeId,
    pub lists: Arc<dyn PasswordLists>,
    pub outside: Arc<dyn OutsidePasswords>,
    /// Hash of a random password under each scheme that was needed.
    pub in_vain: Mutex<Vec<(Scheme, Arc<[u8]>)>>,
}

struct PoolState {
    state: Mutex<State>,
    /// Signalled when work is queued or the pool stops.
    called: Condvar,
    settings: HashSettings,
    wait_max: Duration,
}

struct State {
    queue: Queue<Waiting>,
    /// Tasks being worked on: mailbox, session number, and whether the session gave up.
    running: Vec<(Arc<dyn Mailbox>, u64, bool)>,
    stopped: bool,
}

impl HashPool {
    pub fn start(count: usize, settings: HashSettings) -> std::io::Result<HashPool> {
        HashPool::start_with(count, settings, WAITING_MAX, WAIT_MAX)
    }

    fn start_with(
        count: usize,
        settings: HashSettings,
        waiting_max: usize,
        wait_max: Duration,
    ) -> std::io::Result<HashPool> {
        let state = State {
            queue: Queue::new(waiting_max),
            running: Vec::new(),
            stopped: false,
        };
        let shared = Arc::new(PoolState {
            state: Mutex::new(state),
            called: Condvar::new(),
            settings,
            wait_max,
        });
        let mut threads = Vec::with_capacity(count);
        for number in 0..count {
            let shared = Arc::clone(&shared);
            let builder = std::thread::Builder::new().name(format!("hash-{number}"));
            threads.push(builder.spawn(move || shared.run())?);
        }
        Ok(HashPool { shared, threads })
    }

    /// Queues a piece of work; refuses with `busy` if too much waits already.
    pub fn submit(&self, task: Task) -> Result<(), Stop> {
        let mut state = self.shared.lock();
        if state.stopped {
            return Err(stopping());
        }
        let id = (Arc::clone(&task.mailbox), task.session, task.id);
        let waiting = Waiting {
            since: Instant::now(),
            done: 0,
            has_begun: false,
            task,
        };
        let displaced = state.queue.push(waiting.task.lane, waiting);
        drop(state);
        self.shared.called.notify_one();
        let Some(displaced) = displaced else {
            return Ok(());
        };
        Limit::WaitingChecks.count();
        let task = &displaced.task;
        let text = "very many password checks are waiting already: try again later";
        let busy = || Refusal::new(ResultCode::BUSY, text).into();
        if Arc::ptr_eq(&task.mailbox, &id.0) && (task.session, task.id) == (id.1, id.2) {
            return Err(busy());
        }
        displaced.task.refuse(busy());
        Ok(())
    }

    /// Drops the waiting work of a closed session; running work ends after its current part.
    pub fn forget(&self, mailbox: &Arc<dyn Mailbox>, session: u64, lane: Lane) {
        let own =
            |other: &Arc<dyn Mailbox>, number| Arc::ptr_eq(other, mailbox) && number == session;
        let mut state = self.shared.lock();
        let running = state.running.iter_mut();
        running
            .filter(|it| own(&it.0, it.1))
            .for_each(|it| it.2 = true);
        let leaves = |it: &Waiting| own(&it.task.mailbox, it.task.session);
        let gone = state.queue.take(Some(lane), leaves);
        drop(state);
        gone.into_iter().for_each(|it| it.task.refuse(left()));
    }

    /// Drops waiting binds and compares of a session whose client sends nothing more. The writes of
    /// the session are still done.
    pub fn forget_checks(&self, mailbox: &Arc<dyn Mailbox>, session: u64, lane: Lane) {
        let leaves = |it: &Waiting| {
            Arc::ptr_eq(&it.task.mailbox, mailbox)
                && it.task.session == session
                && it.task.only_tells()
        };
        let gone = self.shared.lock().queue.take(Some(lane), leaves);
        gone.into_iter().for_each(|it| it.task.refuse(left()));
    }

    /// Drops a waiting operation that its client abandons. Its completion is delivered without a
    /// response.
    pub fn abandon(&self, mailbox: &Arc<dyn Mailbox>, session: u64, lane: Lane, id: MessageId) {
        let leaves = |it: &Waiting| {
            Arc::ptr_eq(&it.task.mailbox, mailbox)
                && (it.task.session, it.task.id) == (session, id)
                && it.task.abandoned().is_some()
        };
        let taken = self.shared.lock().queue.take(Some(lane), leaves);
        for Waiting { task, .. } in taken {
            if let Some(kind) = task.abandoned() {
                let what = Finished::Abandoned { kind };
                task.mailbox.deliver(vec![Completion { session, id, what }]);
            }
        }
    }

    /// Stops the pool: waiting and new work is refused.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        let waiting = state.queue.take(None, |_| true);
        drop(state);
        self.shared.called.notify_all();
        waiting
            .into_iter()
            .for_each(|it| it.task.refuse(stopping()));
    }
}

impl Drop for HashPool {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a hashing thread panicked");
            }
        }
    }
}

fn stopping() -> Stop {
    Refusal::new(ResultCode::UNAVAILABLE, "the server is stopping").into()
}

fn left() -> Stop {
    Refusal::new(ResultCode::BUSY, "the client is gone").into()
}

impl PoolState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while let Some(mut waiting) = self.next() {
            if !waiting.has_begun && waiting.since.elapsed() > self.wait_max {
                Limit::WaitingChecks.count();
                let wait_s = self.wait_max.as_secs();
                let text = format!(
                    "the password check did not begin within {wait_s} seconds: try again later"
                );
                self.ended(&waiting.task);
                waiting
                    .task
                    .refuse(Refusal::new(ResultCode::BUSY, text).into());
                continue;
            }
            waiting.has_begun = true;
            let ended = waiting.turn(&self.settings);
            wipe_stack();
            let (given_up, stopped) = self.ended(&waiting.task);
            match ended {
                Some(what) => waiting.task.answer(what),
                None if given_up => waiting.task.refuse(left()),
                None if stopped => waiting.task.refuse(stopping()),
                None => {
                    let lane = waiting.task.lane;
                    self.lock().queue.go_on(lane, waiting);
                    self.called.notify_one();
                }
            }
        }
    }

    /// The next task; `None` when the pool has stopped.
    fn next(&self) -> Option<Waiting> {
        let mut state = self.lock();
        loop {
            if let Some(waiting) = state.queue.pop() {
                let Task {
                    mailbox, session, ..
                } = &waiting.task;
                state.running.push((Arc::clone(mailbox), *session, false));
                return Some(waiting);
            }
            if state.stopped {
                return None;
            }
            state = self
                .called
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a turn. Returns whether its session gave up meanwhile, and whether the pool stops.
    fn ended(&self, task: &Task) -> (bool, bool) {
        let mut state = self.lock();
        let own = |it: &(Arc<dyn Mailbox>, u64, bool)| {
            Arc::ptr_eq(&it.0, &task.mailbox) && it.1 == task.session
        };
        let at = state.running.iter().position(own);
        let given_up = at.is_some_and(|at| state.running.swap_remove(at).2);
        (given_up, state.stopped)
    }
}

impl HashSettings {
    /// Takes as long as a verification under a scheme.
    fn verify_in_vain(&self, scheme: Scheme, given: &[u8]) {
        let stored = self.in_vain(scheme);
        std::hint::black_box(password::verify(&stored, given));
    }

    /// A hash that no password is known for. It is made at the first use of the scheme, which takes
    /// as long as a verification.
    fn in_vain(&self, scheme: Scheme) -> Arc<[u8]> {
        let mut made = self.in_vain.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, stored)) = made.iter().find(|(of, _)| *of == scheme) {
            return Arc::clone(stored);
        }
        let random = password::generate_password(IN_VAIN_LENGTH);
        let hashed = random
            .ok()
            .and_then(|it| password::hash(scheme, it.as_bytes()).ok());
        let stored: Arc<[u8]> = hashed.unwrap_or_default().into_bytes().into();
        made.push((scheme, Arc::clone(&stored)));
        stored
    }
}

impl Task {
    /// Whether the work changes nothing: a bind or a compare.
    fn only_tells(&self) -> bool {
        match &self.work {
            Work::Verify(job) => !matches!(job.purpose, CheckPurpose::Change(_)),
            Work::Hash { .. } => false,
        }
    }

    /// The kind of response that is left out if the client abandons the work; `None` if the work
    /// goes on. A bind cannot be abandoned (RFC 4511 §4.11), and other work belongs to a stream or
    /// a transaction.
    fn abandoned(&self) -> Option<ResultKind> {
        match &self.work {
            Work::Verify(job) => match job.purpose {
                CheckPurpose::Compare(_) => Some(ResultKind::Compare),
                CheckPurpose::Bind { .. } | CheckPurpose::Refused(_) | CheckPurpose::Change(_) => {
                    None
                }
            },
            Work::Hash { writes, kind, .. } => match **writes {
                RequestWrites::One(_) => Some(*kind),
                RequestWrites::Transaction { .. } | RequestWrites::Sequence { .. } => None,
            },
        }
    }

    fn refuse(self, stop: Stop) {
        self.answer(Ended::Refused(stop));
    }

    fn answer(self, ended: Ended) {
        let what = match (self.work, ended) {
            (Work::Verify(mut job), Ended::Done { right }) => Finished::Password(PasswordChecked {
                entry: job.entry,
                purpose: job.purpose,
                matched: right.map(|at| job.stored.swap_remove(at)),
            }),
            (Work::Verify(job), Ended::Refused(stop)) => Finished::NotChecked {
                purpose: job.purpose,
                stop,
            },
            (
                Work::Hash {
                    writes,
                    kind,
                    reply,
                },
                Ended::Done { .. },
            ) => Finished::Hashed {
                kind,
                writes,
                reply,
            },
            (
                Work::Hash {
                    writes,
                    kind,
                    reply,
                },
                Ended::Refused(stop),
            ) => Finished::NotHashed {
                kind,
                of_stream: matches!(*writes, RequestWrites::Sequence { .. }),
                stop,
                reply,
            },
        };
        self.mailbox.deliver(vec![Completion {
            session: self.session,
            id: self.id,
            what,
        }]);
    }
}

/// Result of a task.
enum Ended {
    /// The task is done. `right` is the stored value that matched, if any.
    Done {
        right: Option<usize>,
    },
    Refused(Stop),
}

impl Waiting {
    /// Works for one turn; `None` if work is left.
    fn turn(&mut self, settings: &HashSettings) -> Option<Ended> {
        let began = Instant::now();
        let tools = Tools {
            settings,
            scheme: self.task.scheme,
            verifiers: self.task.verifiers,
        };
        loop {
            let ended = match &mut self.task.work {
                Work::Verify(job) => verify(job, &mut self.done, &tools),
                Work::Hash { writes, .. } => hash(writes, &mut self.done, &tools),
            };
            if ended.is_some() || began.elapsed() >= TURN {
                return ended;
            }
        }
    }
}

/// Means of one turn.
struct Tools<'s> {
    settings: &'s HashSettings,
    scheme: Scheme,
    verifiers: Option<Scheme>,
}

/// Verifies the next stored value; returns the end if it matches, or was the last one.
fn verify(job: &PasswordJob, done: &mut usize, tools: &Tools<'_>) -> Option<Ended> {
    let settings = tools.settings;
    if let CheckPurpose::Refused(_) = job.purpose {
        settings.verify_in_vain(tools.scheme, &job.given);
        if let Some(scheme) = tools.verifiers {
            settings.verify_in_vain(scheme, &job.given);
        }
        return Some(Ended::Done { right: None });
    }
    let at = *done;
    *done += 1;
    let Some(stored) = job.stored.get(at) else {
        return Some(Ended::Done { right: None });
    };
    let outside = password::outside_user(stored);
    let is_right = match outside {
        Some(user) => settings.outside.verify(user, &job.given),
        None => password::verify(stored, &job.given),
    };
    if !is_right && outside.is_some() {
        // As long as for a name that no account has.
        settings.verify_in_vain(tools.scheme, &job.given);
    }
    if !is_right {
        let is_last = *done >= job.stored.len();
        return is_last.then_some(Ended::Done { right: None });
    }
    // A password that changes elsewhere leaves the stored value as it is.
    if outside.is_none() {
        let tag = settings.verified.tag(job.entry, stored, &job.given);
        let now_ms = settings.clock.now_us() / 1_000;
        settings.verified.insert(tag, now_ms);
    }
    Some(Ended::Done { right: Some(at) })
}

/// Compares a write with former passwords, or hashes its next password; returns the end if there is
/// none.
fn hash(writes: &mut RequestWrites, done: &mut usize, tools: &Tools<'_>) -> Option<Ended> {
    let settings = tools.settings;
    for write in writes.all_mut() {
        let former = write.options.as_mut().and_then(|it| it.former.take());
        if let Some(former) = former {
            let applied = former::apply(&former, &mut write.change, settings.password_type);
            return applied.err().map(Ended::Refused);
        }
    }
    let writes = writes.all_mut().iter_mut();
    let mut before = 0;
    let every = writes.flat_map(|it| {
        let options = it.options.as_deref();
        let asked = options.and_then(|it| it.hashing);
        let hashing = asked.unwrap_or_else(|| tools.scheme.into());
        let lists = options.map(|it| it.lists).unwrap_or_default();
        let given = passwords(&mut it.change, settings.password_type);
        given.map(move |given| (hashing, lists, given))
    });
    for (hashing, lists, given) in every {
        while let Some(value) = given.values.get_mut((*done).saturating_sub(before)) {
            *done += 1;
            if password::is_hashed(value) {
                continue;
            }
            if let Err(stop) = refuse_listed(lists, settings.lists.as_ref(), value) {
                return Some(Ended::Refused(stop));
            }
            // Binds know no values with options, so that these need no keys.
            let verifiers = tools
                .verifiers
                .filter(|_| given.description.options.is_empty());
            let clear = Zeroizing::new(std::mem::take(value));
            let hashed = password::hash(hashing, &clear);
            let keys = verifiers.map(|scheme| password::hash(scheme, &clear));
            return match hashed.and_then(|it| Ok((it, keys.transpose()?))) {
                Ok((hashed, keys)) => {
                    *value = hashed.into_bytes();
                    given.values.extend(keys.map(String::into_bytes));
                    None
                }
                Err(error) => {
                    let text = format!("the password cannot be hashed: {error}");
                    Some(Ended::Refused(Refusal::new(ResultCode::OTHER, text).into()))
                }
            };
        }
        before += given.values.len();
    }
    Some(Ended::Done { right: None })
}

/// The parts of a write whose passwords would be stored. Deleted values are only compared.
fn passwords(
    change: &mut Change,
    password_type: schema::TypeId,
) -> impl Iterator<Item = &mut state::write::Given> {
    use protocol::ChangeOperation::{Add, Replace};
    let given: Vec<&mut state::write::Given> = match change {
        Change::Add(addition) => addition.attributes.iter_mut().collect(),
        Change::Modify(changes) => changes
            .iter_mut()
            .filter(|it| matches!(it.operation, Add | Replace))
            .map(|it| &mut it.given)
            .collect(),
        Change::Delete
        | Change::Rename(_)
        | Change::Reclaim(_)
        | Change::Attempts(_)
        | Change::Level(_)
        | Change::Audit(_) => Vec::new(),
    };
    let mine = move |it: &&mut state::write::Given| it.description.type_id == password_type;
    given.into_iter().filter(mine)
}

/// Whether writes have clear-text passwords, or ones to be compared with former ones.
pub(crate) fn has_clear_passwords(writes: &RequestWrites, password_type: schema::TypeId) -> bool {
    let mut writes = writes.all().iter();
    writes.any(|write| {
        write.has(|it| it.former.is_some()) || write_has_clear_passwords(write, password_type)
    })
}

fn write_has_clear_passwords(write: &Write, password_type: schema::TypeId) -> bool {
    use protocol::ChangeOperation::{Add, Replace};
    let clear = |given: &state::write::Given| {
        given.description.type_id == password_type
            && given.values.iter().any(|value| !password::is_hashed(value))
    };
    match &write.change {
        Change::Add(addition) => addition.attributes.iter().any(clear),
        Change::Modify(changes) => changes
            .iter()
            .any(|it| matches!(it.operation, Add | Replace) && clear(&it.given)),
        Change::Delete
        | Change::Rename(_)
        | Change::Reclaim(_)
        | Change::Attempts(_)
        | Change::Level(_)
        | Change::Audit(_) => false,
    }
}
