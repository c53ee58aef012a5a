//! A served node's care for the members of etcd: the next change of voters, if it is this node's,
//! and news about members for the log and for `cluster.json`.
//!
//! Invariants:
//! - nodes have voters in the order of joining, and a removed node has none;
//! - `cluster.json` names a member that exists as long as one of the nodes that this node knew when
//!   it was last served runs a member.

use crate::address::Address;
use crate::authority::node_name;
use crate::command::runtime;
use crate::etcd::{Candidate, OwnVoter, Progress, Seen, TlsFiles, client, voter};
use crate::identity::{Etcd, Identity, Member};
use crate::log::{self, EtcdLog};
use crate::trouble::Trouble;
use replica::commit_log::CommitLog;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

/// Time between two looks at the members while nobody joins or leaves.
const LOOK_EVERY: Duration = Duration::from_secs(4);
/// Time in which this node must have read what is in the log, to change voters.
const READ_WAIT: Duration = Duration::from_secs(3);

/// A node's care for the members of etcd. Dropping it ends the node's etcd.
pub struct Voting {
    known: Arc<Mutex<Known>>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The members of etcd, as a node saw them last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// The members; empty before one has answered.
    pub members: Vec<Seen>,
    /// Reason why the voters are not those that are wanted yet, or could not be looked at; `None`
    /// if they are, and where an operator runs etcd.
    pub waiting: Option<String>,
    /// `true` if this node runs no member and is none of the members.
    pub is_without_own: bool,
}

/// State of the thread.
struct Keeper {
    identity: Arc<Identity>,
    log: Arc<EtcdLog>,
    /// `None` where an operator runs etcd.
    own: Option<OwnVoter>,
    known: Arc<Mutex<Known>>,
    /// Whether this process's registration is noted in `cluster.json`.
    is_registration_noted: bool,
}

/// The nodes of the cluster, as far as voters depend on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Nodes {
    /// In the order of joining.
    candidates: Vec<Candidate>,
    /// URLs at which their members would serve clients, in the same order.
    urls: Vec<String>,
    /// All but this one.
    peers: Vec<Member>,
}

impl Voting {
    /// Begins, with the node's own member unless an operator runs etcd.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        identity: Arc<Identity>,
        log: Arc<EtcdLog>,
        own: Option<OwnVoter>,
    ) -> Result<Voting, Trouble> {
        let known = Arc::new(Mutex::new(Known::default()));
        let (stop, stopped) = watch::channel(false);
        let mut keeper = Keeper {
            identity,
            log,
            own,
            known: Arc::clone(&known),
            is_registration_noted: false,
        };
        let runtime = runtime()?;
        let thread = std::thread::Builder::new().name("voters".to_owned());
        let thread = thread.spawn(move || runtime.block_on(keeper.run(stopped)));
        let thread = thread.map_err(|error| Trouble::internal("starting a thread", error))?;
        Ok(Voting {
            known,
            stop,
            thread: Some(thread),
        })
    }

    /// The members of etcd, as this node saw them last.
    pub fn known(&self) -> Known {
        lock(&self.known).clone()
    }
}

impl Drop for Voting {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // Its panic was printed; etcd has ended with it.
            thread.join().ok();
        }
    }
}

impl Keeper {
    /// Looks and changes until it is stopped.
    async fn run(&mut self, mut stopped: watch::Receiver<bool>) {
        let work = async {
            loop {
                let read = self.has_read().await;
                self.note_registration();
                let nodes = self.nodes();
                let pause = match read {
                    Ok(()) => self.look(&nodes).await,
                    Err(why) => {
                        lock(&self.known).waiting = Some(why);
                        voter::PAUSE
                    }
                };
                self.wait(&nodes, pause).await;
            }
        };
        tokio::select! {
            _ = stopped.wait_for(|it| *it) => {}
            () = work => {}
        }
    }

    /// Waits until this node has read what is in the log now: who knows less than others about the
    /// nodes would undo their changes.
    async fn has_read(&self) -> Result<(), String> {
        let (sender, receiver) = oneshot::channel();
        // Nobody waits any more only if this task has ended.
        let answer = move |end| drop(sender.send(end));
        self.log.fence(Box::new(answer));
        let end = receiver.await.map_err(|_| "the log has ended".to_owned())?;
        let end = end.map_err(|error| error.to_string())?;
        let until = Instant::now() + READ_WAIT;
        while self.log.members().read < end {
            if Instant::now() >= until {
                return Err(format!(
                    "this node has not read the log up to place {end} yet"
                ));
            }
            tokio::time::sleep(READ_WAIT / 100).await;
        }
        match self.log.members().closing {
            None => Ok(()),
            // Where members of this generation were, those of the next may answer.
            Some(closing) => Err(format!(
                "generation {} begins at {}",
                closing.generation, closing.address
            )),
        }
    }

    /// Waits for a time, or until a node joins or leaves.
    async fn wait(&self, nodes: &Nodes, pause: Duration) {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            tokio::time::sleep(pause.min(voter::PAUSE)).await;
            if self.nodes() != *nodes {
                return;
            }
        }
    }

    /// Makes the next change if it is this node's, and passes on who is a member. Returns the time
    /// until the next look.
    async fn look(&mut self, nodes: &Nodes) -> Duration {
        let urls = self.urls(nodes);
        let looked = match &mut self.own {
            Some(own) => ensure(own, nodes, &urls).await,
            None => observe(&self.identity, &urls).await,
        };
        let mut known = lock(&self.known);
        known.waiting = looked.waiting;
        if let Some(members) = looked.members {
            known.members = members;
        }
        known.is_without_own = match &self.own {
            Some(own) => {
                let name = &own.member().name;
                own.is_gone() && known.members.iter().all(|it| it.name != *name)
            }
            None => true,
        };
        let members = known.members.clone();
        drop(known);
        if self.own.is_some() {
            self.tell_log(&members);
            self.note(nodes, &members);
        }
        looked.pause
    }

    /// URLs to ask, those that answered last time first.
    fn urls(&self, nodes: &Nodes) -> Vec<String> {
        let own = self.own.as_ref().filter(|it| it.state().is_some());
        let mut urls: Vec<String> = own
            .map(|it| it.member().client.url.clone())
            .into_iter()
            .collect();
        urls.extend(self.log.members().endpoint);
        let mut members = lock(&self.known).members.clone();
        members.sort_by_key(|it| !it.answers);
        urls.extend(members.into_iter().filter_map(|it| it.client_url));
        urls.extend(self.log.endpoints());
        urls.extend(nodes.urls.iter().cloned());
        unique(urls)
    }

    /// The nodes, as the log tells them.
    fn nodes(&self) -> Nodes {
        let own = self.identity.membership.node;
        let view = self.log.members();
        let mut nodes = Nodes::default();
        for node in view.present() {
            let Ok(address) = node.about.address.parse::<Address>() else {
                continue;
            };
            nodes.candidates.extend(candidate(node));
            nodes.urls.push(match node.about.etcd_url.is_empty() {
                true => address.etcd_client_url(),
                false => node.about.etcd_url.clone(),
            });
            if node.id != own {
                nodes.peers.push(Member {
                    node: node.id,
                    address,
                });
            }
        }
        nodes
    }

    /// Tells the log which members serve clients: the own one, then the others.
    fn tell_log(&self, members: &[Seen]) {
        let own = self.own.as_ref().map(|it| it.member().name.clone());
        let mut voters: Vec<&Seen> = members.iter().filter(|it| !it.is_learner).collect();
        voters.sort_by_key(|it| own.as_ref() != Some(&it.name));
        let urls = voters.into_iter().filter_map(|it| it.client_url.clone());
        self.log.set_endpoints(&urls.collect::<Vec<_>>());
    }

    /// Notes the registration of this process, by which the next one knows its folder again.
    fn note_registration(&mut self) {
        if self.is_registration_noted {
            return;
        }
        let Some(epoch) = self.log.epoch() else {
            return;
        };
        let noted = self.identity.note(|it| it.processes.registered(epoch));
        match noted {
            Ok(()) => self.is_registration_noted = true,
            Err(error) => tracing::warn!(%error, "the registration of this process is not noted"),
        }
    }

    /// Notes nodes and members for the next start.
    fn note(&self, nodes: &Nodes, members: &[Seen]) {
        if nodes.candidates.is_empty() || members.is_empty() {
            return;
        }
        let voters = members.iter().filter(|it| !it.is_learner);
        let voters = voters.filter_map(|it| it.client_url.clone());
        let urls = unique(voters.chain(nodes.urls.iter().cloned()).collect());
        let noted = self.identity.note(|membership| {
            membership.peers.clone_from(&nodes.peers);
            if let Etcd::Managed(etcd) = &mut membership.etcd {
                let others = urls.into_iter().filter(|it| *it != etcd.client_url);
                etcd.others = others.collect();
            }
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "the other nodes are not noted for the next start");
        }
    }
}

/// Result of a look.
pub(crate) struct Looked {
    /// The members; `None` if none answered.
    pub(crate) members: Option<Vec<Seen>>,
    waiting: Option<String>,
    /// Time until the next look.
    pause: Duration,
}

/// Makes the next change of voters if it is this node's.
async fn ensure(own: &mut OwnVoter, nodes: &Nodes, urls: &[String]) -> Looked {
    let progress = own.ensure(&nodes.candidates, urls).await;
    let members = progress.is_ok().then(|| own.seen().to_vec());
    let (waiting, pause) = match progress {
        Ok(Progress::Settled) => (None, LOOK_EVERY),
        Ok(Progress::Changed) => {
            tracing::info!("the members of etcd have changed");
            (Some("the members of etcd change".to_owned()), voter::PAUSE)
        }
        Ok(Progress::Waiting(why)) => (Some(why), voter::PAUSE),
        Err(error) => {
            tracing::debug!(%error, "the members of etcd cannot be looked at");
            (Some(error.to_string()), voter::PAUSE)
        }
    };
    Looked {
        members,
        waiting,
        pause,
    }
}

/// Looks at the members of etcd, and changes nothing.
pub(crate) async fn observe(identity: &Identity, urls: &[String]) -> Looked {
    let files = identity.etcd_files();
    let tls = TlsFiles {
        authority: files.authority,
        certificate: files.certificate,
        key: files.key,
    };
    let mut members = None;
    for url in urls {
        if let Ok(Ok(found)) = timeout(LOOK_EVERY, client::members(url, &tls)).await {
            members = Some(found);
            break;
        }
    }
    Looked {
        members,
        waiting: None,
        pause: LOOK_EVERY,
    }
}

/// A node as a candidate. Programs of before told no URL for other members: it follows from the
/// address; `None` if that is none.
pub(crate) fn candidate(node: &log::Member) -> Option<Candidate> {
    let told = &node.about.etcd_peer_url;
    Some(Candidate {
        name: node_name(node.id),
        peer_url: match told.is_empty() {
            true => node.about.address.parse::<Address>().ok()?.etcd_peer_url(),
            false => told.clone(),
        },
    })
}

/// The first of each.
fn unique(urls: Vec<String>) -> Vec<String> {
    let mut first = Vec::with_capacity(urls.len());
    for url in urls {
        if !first.contains(&url) {
            first.push(url);
        }
    }
    first
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    // A snapshot is replaced as a whole.
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
