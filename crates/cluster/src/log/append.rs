//! A lane's bundles on their way into etcd, one at a time.
//!
//! An append is one transaction: if the lane has `sequence - 1` records and the node's registration
//! is this process's, the lane's key gets the next record. It is repeated unchanged until an answer
//! comes or the reader of the log knows the outcome: whichever attempt succeeds, it succeeds once.

use super::closing;
use super::credit::LaneCredit;
use super::envelope::Envelope;
use super::lanes::Sent;
use super::pool::Backoff;
use super::probe::{describe, is_slow, within};
use super::state::{Session, Shared, place, revision};
use super::values::{self, Registration};
use etcd_client::{Compare, CompareOp, KeyValue, Txn, TxnOp, TxnOpResponse, TxnResponse};
use replica::commit_log::{Bundle, LogFailure, Origin, PAYLOAD_BYTES_MAX};
use std::sync::atomic::Ordering;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

/// Attempts in time without an answer after which another member is asked.
const SLOW_ATTEMPTS: u32 = 2;

/// Appends what comes to a lane until the log ends.
pub(super) async fn run(shared: &Shared, lane: u8, mut bundles: UnboundedReceiver<Bundle>) {
    let mut appended = 0;
    let mut credit = LaneCredit::default();
    while let Some(bundle) = bundles.recv().await {
        credit.wait(shared).await;
        let end = append(shared, appended, &bundle).await;
        // Before the news: who hears it finds the lane free.
        shared.lanes.free(lane);
        match end {
            End::Appended => appended += 1,
            End::Decided => (),
            End::Refused(reason) => shared.refuse(bundle.number, &reason),
        }
    }
}

/// End of a bundle.
enum End {
    /// It is a record.
    Appended,
    /// The reader of the log knows, and nothing can be appended any more.
    Decided,
    /// It was not sent, for this reason.
    Refused(String),
}

/// An append.
struct Append<'a> {
    session: &'a Session,
    origin: Origin,
    payload: &'a [u8],
}

/// Result of an attempt.
enum Outcome {
    /// The record has its place.
    Committed,
    /// Another process registered as this node.
    Fenced {
        /// Reason, for clients.
        reason: String,
        /// Revision of that registration: no record of this session is later.
        revision: i64,
    },
    /// etcd holds what it cannot hold.
    Strange(String),
    /// The answer comes from something else than this cluster's etcd.
    Doubtful(String),
}

/// Appends a bundle after `appended` others of this session.
async fn append(shared: &Shared, appended: u64, bundle: &Bundle) -> End {
    let number = bundle.number;
    let bytes = bundle.payload.len();
    if bytes > PAYLOAD_BYTES_MAX {
        let most = PAYLOAD_BYTES_MAX;
        let text = format!("expected a payload of at most {most} bytes, found {bytes}");
        return End::Refused(text);
    }
    let session = match ready(shared, bundle.until.into()).await {
        Ok(session) => session,
        Err(reason) => return End::Refused(reason),
    };
    let before = session.sequences.get(usize::from(bundle.lane));
    let sequence = before.copied().unwrap_or(0) + appended + 1;
    if !shared.lanes.send(bundle.lane, Sent { sequence, number }) {
        return End::Refused(shared.refusal().unwrap_or_default());
    }
    let origin = Origin {
        node: shared.settings.node,
        epoch: session.epoch,
        lane: bundle.lane,
        sequence,
    };
    let append = Append {
        session: &session,
        origin,
        payload: &bundle.payload,
    };
    // Whichever is known first: the reader may know more than a lost answer.
    let committed = tokio::select! {
        () = shared.lanes.decided(bundle.lane, sequence) => None,
        committed = send(shared, &append) => Some(committed),
    };
    if committed == Some(false) {
        // Not by this attempt, but perhaps by one before: the reader finds out.
        shared.lanes.decided(bundle.lane, sequence).await;
    }
    if shared.lanes.is_fenced() {
        End::Decided
    } else {
        End::Appended
    }
}

/// Waits until a bundle can be sent, at most until a time. The reason to refuse it otherwise.
async fn ready(shared: &Shared, until: Instant) -> Result<Session, String> {
    if let Some(reason) = shared.refusal() {
        return Err(reason);
    }
    let ready = async {
        let mut sessions = shared.session.subscribe();
        let registered = sessions.wait_for(Option::is_some).await;
        let session = registered.ok().and_then(|it| it.clone());
        shared.pool.connected().await;
        session
    };
    let session = tokio::time::timeout_at(until, ready).await.ok().flatten();
    session.ok_or_else(|| {
        let trouble = shared.trouble();
        trouble.unwrap_or_else(|| "no member of etcd was found in time".to_owned())
    })
}

impl Append<'_> {
    /// The transaction.
    fn transaction(&self, shared: &Shared) -> Txn {
        let record = Envelope {
            cluster: shared.settings.cluster,
            origin: self.origin,
            payload: self.payload,
        };
        let lane = shared.keys.lane(self.origin.node, self.origin.lane);
        let node = shared.keys.node(self.origin.node);
        let before = revision(self.origin.sequence - 1);
        Txn::new()
            .when([
                Compare::version(lane.clone(), CompareOp::Equal, before),
                Compare::mod_revision(node.clone(), CompareOp::Equal, self.session.revision),
            ])
            .and_then([TxnOp::put(lane.clone(), record.encode(), None)])
            .or_else([TxnOp::get(lane, None), TxnOp::get(node, None)])
    }
}

/// Repeats a transaction until its outcome is known: `true` if the record has its place, `false` if
/// no further attempt can succeed.
async fn send(shared: &Shared, append: &Append<'_>) -> bool {
    let transaction = append.transaction(shared);
    let mut pause = Backoff::new();
    let mut slow = 0;
    loop {
        let connected = shared.pool.connected().await;
        // Longer in time: a slow etcd is not helped by more of the same.
        let wait = shared.settings.attempt_timeout * (1 + slow.min(8) / 2);
        let before = shared.reached.load(Ordering::Acquire);
        let answer = within(wait, connected.kv().txn(transaction.clone())).await;
        let outcome = answer.map(|it| outcome(shared, append, &it));
        match outcome {
            Ok(Outcome::Committed) => return true,
            Ok(Outcome::Fenced { reason, revision }) => {
                shared.fence(reason, place(revision));
                return false;
            }
            Ok(Outcome::Strange(text)) => {
                shared.fail(LogFailure::Strange(text));
                return false;
            }
            Ok(Outcome::Doubtful(text)) => {
                shared.pool.give_up(&connected, &text);
                pause.wait().await;
            }
            Err(error) => {
                slow += 1;
                let why = describe(&error);
                tracing::debug!(url = connected.url, why, "an attempt to append failed");
                // A member that passes on what others append is well, but has much to do.
                let works = shared.reached.load(Ordering::Acquire) > before;
                if !is_slow(&error) || (slow % SLOW_ATTEMPTS == 0 && !works) {
                    shared.pool.give_up(&connected, &why);
                }
                pause.wait().await;
            }
        }
    }
}

/// Reads the outcome from an answer.
fn outcome(shared: &Shared, append: &Append<'_>, answer: &TxnResponse) -> Outcome {
    if answer.succeeded() {
        shared.saw_head(answer.header().map_or(0, |it| place(it.revision())));
        return Outcome::Committed;
    }
    explain(shared, append, answer)
}

/// Why the comparison failed.
fn explain(shared: &Shared, append: &Append<'_>, answer: &TxnResponse) -> Outcome {
    let found = answer.op_responses();
    let value = |at: usize| match found.get(at) {
        Some(TxnOpResponse::Get(answer)) => answer.kvs().first(),
        _ => None,
    };
    let Some(node) = value(1) else {
        return Outcome::Doubtful("etcd has lost the registration of this node".to_owned());
    };
    let standing = value(0).and_then(|it| Envelope::decode(it.value()).ok());
    if node.mod_revision() != append.session.revision {
        return Outcome::Fenced {
            reason: fenced(shared, node),
            revision: node.mod_revision(),
        };
    }
    // The registration is ours, so the lane holds what an earlier attempt put there.
    if standing.is_some_and(|it| it.origin == append.origin) {
        return Outcome::Committed;
    }
    let lane = value(0).map_or(0, KeyValue::version);
    Outcome::Strange(format!(
        "a lane of node {} ends at record {lane}, which this node has not appended",
        shared.settings.node
    ))
}

/// Describes the registration that took the place of this process's.
pub(super) fn fenced(shared: &Shared, found: &KeyValue) -> String {
    let node = shared.settings.node;
    let registration = values::decode::<Registration>(found.value());
    match registration {
        Some(it) if it.removed => format!("node {node} was removed from the cluster"),
        Some(it) if !it.closed_by.is_empty() => closing::refusal(&it.closed_by),
        it => format!(
            "another process registered as node {node} (epoch {}) from a copy of this node's \
             folder: that one goes on; end this one, whose folder is not served again",
            it.map_or(0, |it| it.epoch)
        ),
    }
}
