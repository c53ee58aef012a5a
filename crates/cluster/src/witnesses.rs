//! Questions to other nodes whether they have executed a write.
//!
//! A node that nobody asks about is not talked to. One question to it is on its way at a time, for
//! the last position of those that are waited for: its answer settles the earlier ones as well.

use crate::address::Address;
use crate::identity::{Identity, Member};
use crate::peer::{Executed, Link, PeerClient};
use crate::trouble::Trouble;
use replica::commit_log::NodeId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Time after which a node that has not answered is connected to anew. Longer than a node that is
/// behind lets others wait for its answer.
const SILENCE_MAX: Duration = Duration::from_secs(3);
/// Time before a node that did not answer, or was behind, is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// A question to the other nodes.
pub struct Question {
    /// Position of the write.
    pub position: u64,
    /// Number of nodes that are to have executed it; `None` for all.
    pub count: Option<usize>,
    /// Time of the answer at the latest.
    pub until: std::time::Instant,
    /// Receives the answer, once.
    pub then: Box<dyn FnOnce(Answer) + Send>,
}

/// How many nodes have executed a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Number of other nodes that have said so.
    pub executed: usize,
    /// Number of all other nodes; `None` if nobody was asked because this node stops.
    pub others: Option<usize>,
}

/// Finds the present nodes of the cluster but this one.
pub type Others = Box<dyn Fn() -> Vec<Member> + Send>;

/// The thread that asks. Dropping it ends it, and answers all questions that wait.
pub struct Witnesses {
    /// `None` once the thread is to end.
    questions: Option<mpsc::UnboundedSender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

/// A question that is answered in any case.
struct Waiting {
    position: u64,
    count: Option<usize>,
    until: Instant,
    then: Option<Box<dyn FnOnce(Answer) + Send>>,
}

/// A position that is waited for.
#[derive(Clone, Copy)]
struct Wanted {
    position: u64,
    until: Instant,
}

/// Another node, with the task that asks it.
struct Peer {
    address: Address,
    wanted: watch::Sender<Wanted>,
    executed: watch::Receiver<u64>,
    task: tokio::task::AbortHandle,
}

impl Witnesses {
    /// Starts the thread of a node.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(identity: Arc<Identity>, others: Others) -> Result<Witnesses, Trouble> {
        let failed = |error| Trouble::internal("starting a thread for questions to nodes", error);
        let (questions, asked) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let thread = std::thread::Builder::new().name("witnesses".to_owned());
        let thread = thread.spawn(move || runtime.block_on(run(&identity, &others, asked)));
        Ok(Witnesses {
            questions: Some(questions),
            thread: Some(thread.map_err(failed)?),
        })
    }

    /// Asks the other nodes. Does not block.
    pub fn ask(&self, question: Question) {
        let waiting = Waiting {
            position: question.position,
            count: question.count,
            until: question.until.into(),
            then: Some(question.then),
        };
        // A question that cannot be sent is answered where it is dropped.
        if let Some(questions) = &self.questions {
            let _ = questions.send(waiting);
        }
    }
}

impl Drop for Witnesses {
    fn drop(&mut self) {
        self.questions = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

/// Takes questions until the node stops.
async fn run(
    identity: &Identity,
    others: &Others,
    mut questions: mpsc::UnboundedReceiver<Waiting>,
) {
    let mut peers: HashMap<NodeId, Peer> = HashMap::new();
    let mut waiting = JoinSet::new();
    while let Some(question) = questions.recv().await {
        let members = others();
        peers.retain(|node, peer| {
            let is_it = |it: &Member| it.node == *node && it.address == peer.address;
            members.iter().any(is_it)
        });
        let count = members.len();
        for member in members {
            let Entry::Vacant(unknown) = peers.entry(member.node) else {
                continue;
            };
            match Peer::begin(identity, member.address) {
                Ok(peer) => drop(unknown.insert_entry(peer)),
                Err(error) => tracing::warn!(%error, "a node cannot be asked for its position"),
            }
        }
        let wanted = Wanted {
            position: question.position,
            until: question.until,
        };
        let executed = peers.values().map(|it| it.want(wanted)).collect();
        waiting.spawn(question.settle(executed, count));
        while waiting.try_join_next().is_some() {}
    }
}

impl Waiting {
    /// Waits until enough of the nodes have executed the write, or the time is up, and answers.
    /// There are `others` nodes, of which some may not be possible to ask.
    async fn settle(mut self, nodes: Vec<watch::Receiver<u64>>, others: usize) {
        let count = self.count.unwrap_or(others);
        let (position, until) = (self.position, self.until);
        let mut waits = JoinSet::new();
        for mut node in nodes {
            waits.spawn(async move { node.wait_for(|it| *it >= position).await.is_ok() });
        }
        let mut executed = 0;
        while executed < count {
            // `None` if no node is left, or the time is up.
            let next = timeout_at(until, waits.join_next()).await.ok().flatten();
            match next {
                Some(Ok(true)) => executed += 1,
                Some(_) => {}
                None => break,
            }
        }
        self.answer(Answer {
            executed,
            others: Some(others),
        });
    }

    fn answer(&mut self, answer: Answer) {
        if let Some(then) = self.then.take() {
            then(answer);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.answer(Answer {
            executed: 0,
            others: None,
        });
    }
}

impl Peer {
    /// Begins to ask a node whenever something is wanted of it.
    fn begin(identity: &Identity, address: Address) -> Result<Peer, Trouble> {
        let client = PeerClient::new(identity, address.clone())?;
        let nothing = Wanted {
            position: 0,
            until: Instant::now(),
        };
        let (wanted, asked) = watch::channel(nothing);
        let (told, executed) = watch::channel(0);
        let task = tokio::spawn(follow(client, asked, told));
        Ok(Peer {
            address,
            wanted,
            executed,
            task: task.abort_handle(),
        })
    }

    /// Wants a position of the node; returns what is known of it, from now on.
    fn want(&self, more: Wanted) -> watch::Receiver<u64> {
        self.wanted.send_modify(|it| {
            it.position = it.position.max(more.position);
            it.until = it.until.max(more.until);
        });
        self.executed.clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks a node for its position as long as a later one is wanted.
async fn follow(
    client: PeerClient,
    mut wanted: watch::Receiver<Wanted>,
    executed: watch::Sender<u64>,
) {
    let mut link = None;
    loop {
        let Wanted { position, until } = *wanted.borrow_and_update();
        if *executed.borrow() >= position || until <= Instant::now() {
            if wanted.changed().await.is_err() {
                return;
            }
            continue;
        }
        let asked = timeout(SILENCE_MAX, ask(&client, link.take(), position));
        let Ok(Ok((kept, reached))) = asked.await else {
            sleep(PAUSE).await;
            continue;
        };
        link = Some(kept);
        executed.send_modify(|it| *it = reached.max(*it));
        if reached < position {
            sleep(PAUSE).await;
        }
    }
}

/// Asks once, over a connection that is made if there is none.
async fn ask(
    client: &PeerClient,
    link: Option<Link>,
    position: u64,
) -> Result<(Link, u64), Trouble> {
    let mut link = match link {
        Some(link) => link,
        None => client.connect().await?,
    };
    let answer: Executed = link.get(&format!("/executed/{position}")).await?;
    Ok((link, answer.position))
}
