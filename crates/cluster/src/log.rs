//! The commit log on etcd: etcd's history of a few keys that are overwritten is the log, a place in
//! it is a revision.
//!
//! Invariants:
//! - a record is appended by a transaction that succeeds at most once, however often it is sent;
//! - a bundle is refused only if it was never sent, or can never come into the log any more;
//! - nothing waits here for etcd but the log's own thread.

mod append;
mod catch_up;
mod closing;
mod credit;
mod envelope;
mod fence;
mod found;
#[doc(hidden)]
pub mod fuzz;
mod intake;
mod keys;
mod lanes;
mod members;
mod membership;
mod pool;
mod probe;
mod queue;
mod register;
mod room;
mod search;
mod settings;
mod state;
mod tail;
mod trim;
mod upkeep;
mod values;
mod volume;
mod watch;

pub use closing::{CloseFailure, end};
pub use found::found;
pub use members::{ClusterView, Database, Difference, Member, NodeDigest};
pub use membership::ChangeFailure;
pub use settings::{Credit, EtcdLogSettings, LogTls, NodeAbout, OpenFailure, Trimming};
pub use trim::HoldFailure;
pub use values::Closing;

use fence::Question;
use pool::Opening;
use replica::commit_log::{
    Bundle, CommitLog, Fenced, LogEvent, LogFailure, LogHealth, NodeId, Standing, Unreachable, Wake,
};
use state::{Shared, lock};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, oneshot};

/// A node's use of the commit log on etcd.
pub struct EtcdLog {
    shared: Arc<Shared>,
    lanes: Vec<UnboundedSender<Bundle>>,
    questions: UnboundedSender<Question>,
    ended: Arc<Notify>,
    thread: Mutex<Option<JoinHandle<()>>>,
    runtime: tokio::runtime::Handle,
}

/// Where the tasks get their work from.
struct Inboxes {
    lanes: Vec<UnboundedReceiver<Bundle>>,
    questions: UnboundedReceiver<Question>,
}

impl EtcdLog {
    /// Opens the log: registers this node, and begins to read behind the place that it has
    /// executed.
    ///
    /// If no member of etcd answers, the log is open nevertheless: it goes on trying, and
    /// [`health`](CommitLog::health) says so meanwhile. If etcd holds something else than this
    /// cluster's log, [`next`](CommitLog::next) fails.
    ///
    /// # Errors
    /// The settings contradict themselves, or an etcd that answers is too old.
    pub fn open(settings: EtcdLogSettings) -> Result<EtcdLog, OpenFailure> {
        let shared = Arc::new(Shared::new(settings)?);
        let mut lanes = Vec::new();
        let mut bundles = Vec::new();
        for _ in 0..shared.settings.lanes {
            let (sender, receiver) = unbounded_channel();
            lanes.push(sender);
            bundles.push(receiver);
        }
        let (questions, asked) = unbounded_channel();
        let inboxes = Inboxes {
            lanes: bundles,
            questions: asked,
        };
        let ended = Arc::new(Notify::new());
        let (opened, opening) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let thread = {
            let (shared, ended) = (shared.clone(), ended.clone());
            let work = async move {
                let work = run(shared, inboxes, opened);
                tokio::select! {
                    () = ended.notified() => (),
                    () = work => (),
                }
            };
            let named = std::thread::Builder::new().name("log".to_owned());
            named.spawn(move || runtime.block_on(work))?
        };
        let log = EtcdLog {
            shared,
            lanes,
            questions,
            ended,
            thread: Mutex::new(Some(thread)),
            runtime: handle,
        };
        match opening.blocking_recv() {
            Ok(Ok(())) => Ok(log),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(OpenFailure::Settings("its thread has ended".to_owned())),
        }
    }

    /// All nodes as they are known, for `pando cluster status` and `cn=monitor`.
    pub fn members(&self) -> ClusterView {
        let view = lock(&self.shared.members).view(self.shared.settings.trimming.alive_for);
        ClusterView {
            head: self.shared.head(),
            endpoint: self.shared.pool.endpoint(),
            database: *lock(&self.shared.database),
            read: self
                .shared
                .reached
                .load(std::sync::atomic::Ordering::Acquire),
            ..view
        }
    }

    /// Uses other members of etcd from the next search for one on, the nearest first; an empty list
    /// changes nothing.
    pub fn set_endpoints(&self, urls: &[String]) {
        self.shared.pool.set_endpoints(urls);
    }

    /// URLs of the members of etcd that this log knows, the nearest first.
    pub fn endpoints(&self) -> Vec<String> {
        self.shared.pool.endpoints().to_vec()
    }

    /// Number of this process's registration; `None` before it has registered.
    pub fn epoch(&self) -> Option<u64> {
        self.shared.session.borrow().as_ref().map(|it| it.epoch)
    }

    /// Place up to which this node has executed the log; 0 before it has told so.
    pub fn executed(&self) -> u64 {
        let own = lock(&self.shared.own);
        own.standing.map_or(0, |it| it.place)
    }

    /// Whether the log was closed while this process was registered, and is open again: the node
    /// has to be served anew to append.
    pub fn is_reopened(&self) -> bool {
        let own = self.shared.settings.node;
        lock(&self.shared.members).is_reopened(own, &self.shared.process)
    }

    /// Why this node cannot follow the log any longer; `None` while it does.
    pub fn failure(&self) -> Option<LogFailure> {
        self.shared.queue.failure()
    }

    /// Positions at which nodes reported different states, ascending; empty as it should be.
    pub fn differences(&self) -> Vec<Difference> {
        lock(&self.shared.members).differences()
    }
}

impl EtcdLog {
    /// Keeps all records behind a place for `time`, on behalf of a node that is joining from a copy
    /// of the state at that place; zero ends that. To be renewed before the time is over. Waits for
    /// etcd.
    ///
    /// # Errors
    /// etcd cannot be reached, or records behind that place were trimmed already.
    pub fn hold(&self, node: NodeId, from: u64, time: Duration) -> Result<(), HoldFailure> {
        let shared = self.shared.clone();
        self.wait_for(async move { trim::hold(&shared, node, from, time).await })
    }

    /// Removes a node from the cluster: it can append nothing any more, and never register again.
    /// Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be reached, or there is no such node.
    pub fn remove(&self, node: NodeId) -> Result<(), ChangeFailure> {
        let shared = self.shared.clone();
        self.wait_for(async move { membership::remove(&shared, node).await })
    }

    /// Closes the log for a generation that this node is to begin: from then on no node appends,
    /// until this one is served without having begun it, or is removed. Returns the place of that,
    /// behind which there is no record. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be reached, another node has closed the log, or this process is not registered.
    pub fn close(&self, generation: u64) -> Result<u64, CloseFailure> {
        let shared = self.shared.clone();
        self.wait_for(async move { closing::close(&shared, generation).await })
    }

    /// Raises the format level that the cluster is to have to the highest that all members'
    /// programs execute, at most to `highest`. Afterwards no other program can register. Returns
    /// the level. Waits for etcd.
    ///
    /// # Errors
    /// etcd cannot be reached, or that level is the one that the cluster has; the members that do
    /// not know a higher one, if others do.
    pub fn raise_format(&self, highest: u32) -> Result<u32, ChangeFailure> {
        let shared = self.shared.clone();
        self.wait_for(async move { membership::raise_format(&shared, highest).await })
    }

    /// Has the log's thread do something, and waits for its result.
    fn wait_for<T: Send + 'static, E: From<Unreachable> + Send + 'static>(
        &self,
        act: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.runtime.spawn(async move {
            let result = act.await;
            // Nobody waits if the caller's thread is gone.
            let _ = sender.send(result);
        });
        let result = receiver.recv();
        result.unwrap_or_else(|_| Err(Unreachable("the log has ended".to_owned()).into()))
    }
}

/// Runs all tasks of the log; tells as soon as its opening is decided.
async fn run(
    shared: Arc<Shared>,
    inboxes: Inboxes,
    opened: oneshot::Sender<Result<(), OpenFailure>>,
) {
    let mut tasks = tokio::task::JoinSet::new();
    for url in shared.pool.order() {
        if let Err(error) = shared.pool.dial(&url).await {
            let text = format!("expected a URL of etcd, found {url}: {error}");
            // Nobody listens only if opening was given up.
            let _ = opened.send(Err(OpenFailure::Settings(text)));
            return;
        }
    }
    for (lane, bundles) in (0..).zip(inboxes.lanes) {
        let shared = shared.clone();
        tasks.spawn(async move { append::run(&shared, lane, bundles).await });
    }
    let of = |it: &Arc<Shared>| it.clone();
    let its = of(&shared);
    tasks.spawn(async move { fence::run(&its, inboxes.questions).await });
    let its = of(&shared);
    tasks.spawn(async move { search::keep(&its).await });
    let its = of(&shared);
    tasks.spawn(async move { register::run(&its).await });
    let its = of(&shared);
    tasks.spawn(async move { tail::run(&its).await });
    let its = of(&shared);
    tasks.spawn(async move { upkeep::run(&its).await });
    let opening = decided(&shared).await;
    let is_open = opening.is_ok();
    let _ = opened.send(opening);
    if is_open {
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                // Our bug; better a log that says so than one that hangs.
                let text = format!("a task of it ended: {error}");
                shared.fail(LogFailure::Strange(text));
            }
        }
        // Reading and appending may have ended for good; `end` ends the thread.
        std::future::pending::<()>().await;
    }
}

/// Waits until this process has registered, or cannot for the time being.
async fn decided(shared: &Shared) -> Result<(), OpenFailure> {
    let mut opening = shared.pool.opening();
    let decided = opening.wait_for(|it| *it != Opening::Trying).await;
    let decided = decided.map_or(Opening::Tried, |it| it.clone());
    if let Opening::Old { endpoint, found } = decided {
        return Err(OpenFailure::Version { endpoint, found });
    }
    let mut session = shared.session.subscribe();
    let registered = session.wait_for(Option::is_some);
    // However that ends: without a registration health says why.
    let wait = shared.settings.attempt_timeout * 2;
    let until = tokio::time::Instant::now() + wait;
    tokio::pin!(registered);
    while shared.queue.failure().is_none() && tokio::time::Instant::now() < until {
        let look = Duration::from_millis(20);
        if tokio::time::timeout(look, &mut registered).await.is_ok() {
            break;
        }
    }
    if let Some(barred) = shared.barred() {
        return Err(barred);
    }
    match shared.queue.failure() {
        Some(LogFailure::Level(unknown)) => Err(unknown.into()),
        _ => Ok(()),
    }
}

impl CommitLog for EtcdLog {
    fn on_free(&self, wake: Wake) {
        self.shared.lanes.on_free(wake);
    }

    fn lanes(&self) -> u8 {
        self.shared.settings.lanes
    }

    fn is_free(&self, lane: u8) -> bool {
        self.shared.lanes.is_free(lane)
    }

    fn submit(&self, bundle: Bundle) {
        let Some(lane) = self.lanes.get(usize::from(bundle.lane)) else {
            let lanes = self.lanes.len();
            let reason = format!("expected a lane below {lanes}, found {}", bundle.lane);
            self.shared.refuse(bundle.number, &reason);
            return;
        };
        self.shared.lanes.take(bundle.lane);
        // After the end nobody is told anything.
        let _ = lane.send(bundle);
    }

    fn next(&self, wait: Duration) -> Result<Vec<LogEvent>, LogFailure> {
        self.shared.queue.next(wait)
    }

    fn fence(&self, then: Fenced) {
        // What cannot be sent is dropped, and answered by that.
        let _ = self.questions.send(Question::new(then));
    }

    fn report(&self, standing: Standing) {
        self.shared.report(standing);
    }

    fn is_executed_elsewhere(&self, place: u64) -> bool {
        let own = self.shared.settings.node;
        lock(&self.shared.members).is_executed_by_another(own, place)
    }

    fn give_up(&self, failure: LogFailure) {
        self.shared.fail(failure);
    }

    fn is_steward(&self) -> bool {
        let own = self.shared.settings.node;
        let alive_for = self.shared.settings.trimming.alive_for;
        lock(&self.shared.members).is_turn_of(own, alive_for)
    }

    fn agreed_level(&self) -> Option<u32> {
        lock(&self.shared.members).agreed_level()
    }

    fn health(&self) -> LogHealth {
        self.shared.health()
    }

    fn end(&self) {
        self.shared.queue.end();
        self.ended.notify_one();
        let thread = lock(&self.thread).take();
        // A callback may end the log from its own thread.
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of that thread was printed when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for EtcdLog {
    fn drop(&mut self) {
        self.end();
    }
}
