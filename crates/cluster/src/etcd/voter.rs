//! A node's own member of etcd, from no vote to a vote and back.
//!
//! Each node calls [`OwnVoter::ensure`] now and then. All nodes see the same next change; a new
//! member is added by its own node, which starts it, and any node promotes and removes: two at once
//! do no harm, since the second finds it done.

use std::time::Duration;

use etcd_client::{Client, MemberAddOptions};

use super::client::{self, ClientError, in_time};
use super::member::{FolderError, Member, Peer, Start};
use super::process::{ProcessState, Supervisor};
use super::program::EtcdProgram;
use super::voters::{Candidate, Seen, Step, is_of, next_step};

/// gRPC's code for what etcd refuses at present: a learner that lags, a second learner.
const FAILED_PRECONDITION: i32 = 9;
/// gRPC's code for a cluster that is not healthy enough for the change.
const UNAVAILABLE: i32 = 14;
/// gRPC's code for a member that is not there.
const NOT_FOUND: i32 = 5;

/// This node's member, which may have a vote or not even be there.
pub struct OwnVoter {
    program: EtcdProgram,
    member: Member,
    supervisor: Option<Supervisor>,
    /// All members, as the last call of [`OwnVoter::ensure`] found them.
    seen: Vec<Seen>,
}

/// What a call of [`OwnVoter::ensure`] has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Nothing: the voters are those that are wanted.
    Settled,
    /// One change. There may be another one, to be made at once.
    Changed,
    /// Nothing: the next change is another node's, or cannot be made yet.
    Waiting(String),
}

/// Reasons why voters cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum VoterError {
    /// No voter gives an answer that is up to date.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The own member's folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is nobody to ask.
    #[error("expected the URL of at least one member of etcd, got none")]
    Nobody,
}

/// A connection to one member, with the members that it knew after it had caught up.
struct View {
    url: String,
    client: Client,
    members: Vec<Seen>,
}

impl OwnVoter {
    /// Takes over the node's member. It is started at once if it was started before, since its vote
    /// may be needed, or if it is the first of a new cluster.
    ///
    /// # Errors
    /// The member's folder cannot be used.
    pub fn open(program: EtcdProgram, member: Member) -> Result<OwnVoter, FolderError> {
        let mut own = OwnVoter {
            program,
            member,
            supervisor: None,
            seen: Vec::new(),
        };
        if own.member.has_data() || own.member.start == Start::New {
            own.start()?;
        }
        Ok(own)
    }

    /// The member.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// All members of etcd as the last call of [`OwnVoter::ensure`] that reached one found them,
    /// by etcd's identifiers; empty before the first.
    pub fn seen(&self) -> &[Seen] {
        &self.seen
    }

    /// Whether this node has no member, and no data of one.
    pub fn is_gone(&self) -> bool {
        self.supervisor.is_none() && !self.member.has_data()
    }

    /// What the member's process does; `None` if this node has no member.
    pub fn state(&self) -> Option<ProcessState> {
        self.supervisor.as_ref().map(Supervisor::state)
    }

    /// Ends the node's etcd, whose member stays a member.
    pub fn stop(self) {
        drop(self);
    }

    /// Makes at most one change towards the wanted voters of `nodes`, which are in the order of
    /// joining. `urls` are those of members for clients, to be asked one after another. etcd takes
    /// a change five seconds after the one before it at the earliest.
    ///
    /// # Errors
    /// No voter answers, or the own member's folder cannot be used. The next call may succeed.
    pub async fn ensure(
        &mut self,
        nodes: &[Candidate],
        urls: &[String],
    ) -> Result<Progress, VoterError> {
        let mut view = self.view(urls).await?;
        self.seen.clone_from(&view.members);
        let own = Candidate {
            name: self.member.name.clone(),
            peer_url: self.member.peer.url.clone(),
        };
        match view.members.iter().find(|it| is_of(it, &own)) {
            Some(seen) if self.is_down() => {
                let id = seen.id;
                // A voter that forgot what it had voted for must not vote again.
                if !self.member.has_data() && !seen.name.is_empty() {
                    return self.remove(&mut view, id).await;
                }
                self.start_among(&view)?;
                return Ok(Progress::Changed);
            }
            // The list is that of a majority: this member was removed, and its etcd knows or will.
            None if self.supervisor.is_some() || self.member.has_data() => {
                let supervisor = self.supervisor.take();
                // A panic there has been reported; the etcd is gone or of no use.
                tokio::task::spawn_blocking(|| drop(supervisor)).await.ok();
                self.member.forget()?;
                return Ok(Progress::Changed);
            }
            _ => {}
        }
        match next_step(nodes, &view.members) {
            None => Ok(Progress::Settled),
            Some(Step::Add(node)) if node == own => self.add(&mut view).await,
            Some(Step::Add(node)) => {
                let name = node.name;
                Ok(Progress::Waiting(format!("node {name} adds its member")))
            }
            Some(Step::Promote(id)) => {
                let answer = view.client.member_promote(id);
                done(in_time(&view.url, answer).await)
            }
            Some(Step::Remove(id)) => self.remove(&mut view, id).await,
        }
    }

    /// Whether nothing runs the own member, nor will without being told.
    fn is_down(&self) -> bool {
        self.state().is_none_or(|it| it == ProcessState::Stopped)
    }

    async fn add(&mut self, view: &mut View) -> Result<Progress, VoterError> {
        let urls = [self.member.peer.url.clone()];
        let options = MemberAddOptions::new().with_is_learner();
        let answer = view.client.member_add(urls, Some(options));
        let progress = done(in_time(&view.url, answer).await)?;
        if progress == Progress::Changed {
            self.start_among(view)?;
        }
        Ok(progress)
    }

    async fn remove(&self, view: &mut View, id: u64) -> Result<Progress, VoterError> {
        // Without it writes would wait for an election, and nothing else is lost.
        self.hand_over(view, id).await.ok();
        let answer = view.client.member_remove(id);
        done(in_time(&view.url, answer).await)
    }

    /// Makes another voter the leader if it is this member.
    async fn hand_over(&self, view: &mut View, id: u64) -> Result<(), ClientError> {
        let mut maintenance = view.client.maintenance_client();
        let leader = in_time(&view.url, maintenance.status()).await?.leader();
        let of_leader = view.members.iter().find(|it| it.id == id && id == leader);
        let can_lead = |it: &&Seen| it.id != id && !it.is_learner && it.answers;
        let next = view.members.iter().find(can_lead);
        if let Some(url) = of_leader.and_then(|it| it.client_url.as_ref())
            && let Some(next) = next
        {
            // The leader alone takes this.
            let mut leader = client::connect(url, &self.member.tls).await?;
            in_time(url, leader.move_leader(next.id)).await?;
        }
        Ok(())
    }

    /// Starts the own member, which the cluster knows already.
    fn start_among(&mut self, view: &View) -> Result<(), FolderError> {
        let own = &self.member;
        let others = view.members.iter();
        let others = others.filter(|it| it.peer_url != own.peer.url && !it.name.is_empty());
        let mut peers: Vec<Peer> = others
            .map(|it| Peer {
                name: it.name.clone(),
                url: it.peer_url.clone(),
            })
            .collect();
        peers.push(Peer {
            name: own.name.clone(),
            url: own.peer.url.clone(),
        });
        self.member.start = Start::Existing(peers);
        self.start()
    }

    fn start(&mut self) -> Result<(), FolderError> {
        let supervisor = Supervisor::start(self.program.clone(), self.member.clone())?;
        self.supervisor = Some(supervisor);
        Ok(())
    }

    /// Asks one member after another for the members, until one is in touch with a majority.
    async fn view(&self, urls: &[String]) -> Result<View, VoterError> {
        let mut failure = VoterError::Nobody;
        for url in urls {
            match self.view_of(url).await {
                Ok(view) => return Ok(view),
                Err(error) => failure = error.into(),
            }
        }
        Err(failure)
    }

    async fn view_of(&self, url: &str) -> Result<View, ClientError> {
        let mut client = client::connect(url, &self.member.tls).await?;
        let members = client::listed(&mut client, url, &self.member.tls).await?;
        Ok(View {
            url: url.to_owned(),
            client,
            members,
        })
    }
}

/// What the answer to a change means. What another node has done meanwhile is no failure.
fn done<T>(answer: Result<T, ClientError>) -> Result<Progress, VoterError> {
    let error = match answer {
        Ok(_) => return Ok(Progress::Changed),
        Err(error) => error,
    };
    if let ClientError::Etcd {
        error: etcd_client::Error::GRpcStatus(status),
        ..
    } = &error
    {
        let reason = status.message().to_owned();
        match status.code() as i32 {
            FAILED_PRECONDITION | UNAVAILABLE => return Ok(Progress::Waiting(reason)),
            NOT_FOUND => return Ok(Progress::Changed),
            _ => {}
        }
    }
    Err(error.into())
}

/// Pause between two calls of [`OwnVoter::ensure`] while it waits.
pub const PAUSE: Duration = Duration::from_millis(500);
