//! Closing the log for an import that begins another generation of the cluster.
//!
//! One transaction closes it: it notes in the key `next` which node does so, and writes every
//! registration anew. An append compares its registration, so that no record comes behind. No
//! process registers while the log is closed, but one of the node that closed it, which opens it by
//! that. Beginning the generation and opening the log compare the same key: one of them happens.

use super::keys::Key;
use super::pool::{Pool, keys_of};
use super::probe::{self, Refusal, describe, within};
use super::settings::{EtcdLogSettings, OpenFailure};
use super::state::{Shared, place};
use super::values::{self, Identity, Next, Registration, Stage};
use crate::log::keys::Keys;
use etcd_client::{Client, Compare, CompareOp, Error, GetOptions, KvClient, Txn, TxnOp};
use replica::commit_log::Unreachable;
use std::time::{Duration, Instant};

/// Time between two attempts to begin a generation.
const PAUSE: Duration = Duration::from_millis(500);

/// Reasons why the log was not closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloseFailure {
    /// etcd did not answer, or refused. The log may be closed.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// Another import has closed it.
    #[error(
        "another import has closed the log, on the node at {0}: serve that node, or take it out \
         with `pando cluster remove`, then give the command again"
    )]
    Closed(String),
    /// This process has not registered, or another one of this node has since.
    #[error("expected this process to be the last one that was started for its node")]
    Unregistered,
}

impl From<Error> for CloseFailure {
    fn from(error: Error) -> CloseFailure {
        CloseFailure::Unreachable(Unreachable(describe(&error)))
    }
}

/// Reason, for clients, why nothing is appended to a log that the node at an address has closed.
pub(super) fn refusal(address: &str) -> String {
    format!(
        "an import into the node at {address} begins another generation of the cluster, and no \
         node takes writes meanwhile: serve that node"
    )
}

/// The change by which a closed log becomes open.
pub(super) fn open(key: Vec<u8>, closed: &Next) -> TxnOp {
    let open = Next {
        stage: Stage::Open,
        ..closed.clone()
    };
    TxnOp::put(key, values::encode(&open), None)
}

/// The value of the key `next` as it was read.
pub(super) struct Found {
    /// The value; the default one if there is none.
    pub(super) next: Next,
    /// Condition of a transaction: the key was not changed since.
    pub(super) unchanged: Compare,
}

/// Reads the key `next`.
pub(super) async fn read(kv: &mut KvClient, key: Vec<u8>, wait: Duration) -> Result<Found, Error> {
    let answer = within(wait, kv.get(key.clone(), None)).await?;
    let standing = answer.kvs().first();
    let revision = standing.map_or(0, |it| it.mod_revision());
    let next = standing.and_then(|it| values::decode(it.value()));
    Ok(Found {
        next: next.unwrap_or_default(),
        unchanged: Compare::mod_revision(key, CompareOp::Equal, revision),
    })
}

/// Closes the log for a generation that this node is to begin. Returns the place of that: no record
/// is behind it.
pub(super) async fn close(shared: &Shared, generation: u64) -> Result<u64, CloseFailure> {
    let wait = shared.settings.attempt_timeout;
    let (key, nodes) = (shared.keys.named("next"), shared.keys.nodes());
    let session = shared.session.borrow().as_ref().map(|it| it.revision);
    let session = session.ok_or(CloseFailure::Unregistered)?;
    let own = Next {
        node: shared.settings.node.to_string(),
        address: shared.settings.about.address.clone(),
        generation,
        stage: Stage::Closed,
    };
    loop {
        let connected = shared.pool.connected_within(wait).await?;
        let mut kv = connected.kv();
        let found = read(&mut kv, key.clone(), wait).await?;
        match found.next {
            // By an attempt whose answer was lost: the place is that of any later question.
            it if it == own => {
                let answer = within(wait, kv.get(key.clone(), None)).await?;
                return Ok(answer.header().map_or(0, |it| place(it.revision())));
            }
            it if it.stage != Stage::Open => return Err(CloseFailure::Closed(it.address)),
            _ => {}
        }
        let options = GetOptions::new().with_prefix();
        let registered = within(wait, kv.get(nodes.clone(), Some(options))).await?;
        let seen = registered.header().map_or(0, |it| it.revision());
        let mut puts = vec![TxnOp::put(key.clone(), values::encode(&own), None)];
        for standing in registered.kvs() {
            let is_own = shared.keys.parse(standing.key()) == Some(Key::Node(shared.settings.node));
            if is_own && standing.mod_revision() != session {
                return Err(CloseFailure::Unregistered);
            }
            let registration = values::decode::<Registration>(standing.value());
            let Some(mut registration) = registration.filter(|it| !it.removed) else {
                continue;
            };
            registration.closed_by.clone_from(&own.address);
            let value = values::encode(&registration);
            puts.push(TxnOp::put(standing.key(), value, None));
        }
        // Registrations of all nodes, also of those that come while this is decided.
        let same_nodes = Compare::mod_revision(nodes.clone(), CompareOp::Less, seen + 1);
        let conditions = [found.unchanged, same_nodes.with_prefix()];
        let transaction = Txn::new().when(conditions).and_then(puts);
        let answer = within(wait, kv.txn(transaction)).await?;
        if answer.succeeded() {
            return Ok(answer.header().map_or(0, |it| place(it.revision())));
        }
    }
}

/// Ends a log that this node has closed: notes that the generation has begun. Does nothing if that
/// was done before. Tries for `patience` to reach etcd.
///
/// # Errors
/// etcd cannot be reached or is another one, or the log was opened again.
pub fn end(
    settings: &EtcdLogSettings,
    generation: u64,
    patience: Duration,
) -> Result<(), OpenFailure> {
    let pool = Pool::new(settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let until = Instant::now() + patience;
    runtime.block_on(async {
        loop {
            let mut troubles = Vec::new();
            for endpoint in pool.order() {
                let client = pool.dial(&endpoint).await;
                let ended = match client {
                    Ok(client) => end_at(settings, &client, generation).await,
                    Err(error) => Err(error.into()),
                };
                match ended {
                    Ok(true) => return Ok(()),
                    Ok(false) => return Err(OpenFailure::Reopened(settings.node)),
                    Err(Refusal::Old(found)) => troubles.push(format!("{endpoint}: etcd {found}")),
                    Err(Refusal::Trouble(it)) => troubles.push(format!("{endpoint}: {it}")),
                    Err(Refusal::Failure(it)) => troubles.push(format!("{endpoint}: {it}")),
                }
            }
            if Instant::now() >= until {
                return Err(OpenFailure::Unreachable(Unreachable(troubles.join("; "))));
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// Ends the log by one member of etcd; `false` if it was opened again.
async fn end_at(
    settings: &EtcdLogSettings,
    client: &Client,
    generation: u64,
) -> Result<bool, Refusal> {
    let wait = settings.attempt_timeout;
    probe::version(client, wait * 3).await?;
    let keys = Keys::of(&settings.cluster);
    let mut kv = keys_of(client);
    let answer = within(wait, kv.get(keys.named("cluster"), None)).await?;
    let standing = answer.kvs().first();
    let identity = standing.and_then(|it| values::decode::<Identity>(it.value()));
    let etcd = answer.header().map_or(0, |it| it.cluster_id());
    if identity.is_none_or(|it| it.etcd != etcd) {
        let text = "it does not hold the log that was closed".to_owned();
        return Err(Refusal::Trouble(text));
    }
    let key = keys.named("next");
    loop {
        let found = read(&mut kv, key.clone(), wait).await?;
        let is_own = found.next.node == settings.node.to_string();
        if !is_own || found.next.generation != generation || found.next.stage == Stage::Open {
            return Ok(false);
        }
        if found.next.stage == Stage::Begun {
            return Ok(true);
        }
        let begun = Next {
            stage: Stage::Begun,
            ..found.next
        };
        let put = TxnOp::put(key.clone(), values::encode(&begun), None);
        let transaction = Txn::new().when([found.unchanged]).and_then([put]);
        if within(wait, kv.txn(transaction)).await?.succeeded() {
            return Ok(true);
        }
    }
}
