//! The reader of the log: everything from the place that this node has executed, in order, without
//! gaps.
//!
//! Each revision of etcd that has a record is one change of one key; others may change several. A
//! revision that a watch leaves out is one of
//! keys outside of this cluster's prefix, or an event that etcd has lost. A read of the prefix as
//! it was tells which, since it does not pass through the watch: it finds the lost change, or no
//! key that was set in the missing revisions. Foreign revisions are passed over. Behind all this
//! each lane's records are counted, so that a lost record would still be noticed at the lane's next
//! one.

use super::catch_up;
use super::intake::Intake;
use super::members::Observed;
use super::pool::{Backoff, Connected, keys_of};
use super::probe::{describe, within};
use super::state::{Shared, lock, place, revision};
use super::watch;
use etcd_client::{Client, Error, GetOptions, KvClient, Txn, TxnOp, TxnOpResponse};
use replica::commit_log::LogFailure;
use std::time::Duration;

/// Revisions behind the end from which on single reads are used: a watch that begins far behind
/// makes etcd load a thousand revisions at once.
const NEAR: u64 = 64;

/// Reasons to stop reading from a member.
#[derive(Debug)]
pub(super) enum Stop {
    /// The reader must look again how far it is behind.
    Behind,
    /// The member does not work.
    Trouble(String),
    /// The member gave what no node writes.
    Damaged(String),
    /// The log cannot be followed.
    Failure(LogFailure),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Trouble(describe(&error))
    }
}

/// Reads until the log fails.
pub(super) async fn run(shared: &Shared) {
    let mut intake = Intake::new(shared.settings.from);
    let mut pause = Backoff::new();
    let mut damaged = 0;
    loop {
        let connected = shared.pool.connected().await;
        let before = intake.last;
        let stop = follow(shared, &connected, &mut intake).await;
        if intake.last > before {
            pause = Backoff::new();
            damaged = 0;
        }
        match stop {
            Stop::Behind => continue,
            Stop::Trouble(why) => shared.pool.give_up(&connected, &why),
            Stop::Damaged(why) if damaged < shared.pool.endpoints().len() => {
                // Perhaps this member alone has it so.
                damaged += 1;
                shared.pool.give_up(&connected, &why);
            }
            Stop::Damaged(why) => {
                shared.fail(LogFailure::Strange(why));
                return;
            }
            Stop::Failure(failure) => {
                shared.fail(failure);
                return;
            }
        }
        pause.wait().await;
    }
}

/// Reads from one member.
async fn follow(shared: &Shared, connected: &Connected, intake: &mut Intake) -> Stop {
    // A connection of its own: records that wait here must not hold up the answers to appends.
    let client = match shared.pool.dial(&connected.url).await {
        Ok(client) => client,
        Err(error) => return error.into(),
    };
    loop {
        let stop = match approach(shared, &client, intake).await {
            Ok(()) => watch::follow(shared, connected, &client, intake).await,
            Err(stop) => stop,
        };
        if !matches!(stop, Stop::Behind) || !shared.pool.is_current(connected.number) {
            return stop;
        }
    }
}

/// Reads up to the neighbourhood of the log's end.
async fn approach(shared: &Shared, client: &Client, intake: &mut Intake) -> Result<(), Stop> {
    let mut kv = keys_of(client);
    let wait = shared.settings.attempt_timeout;
    if !intake.is_primed() {
        prime(shared, &mut kv, intake).await?;
    }
    intake.news_after = u64::MAX;
    observe_all(shared, &mut kv).await?;
    loop {
        let options = GetOptions::new().with_serializable().with_keys_only();
        let answer = within(wait, kv.get(shared.keys.named("cluster"), Some(options))).await?;
        let head = answer.header().map_or(0, |it| place(it.revision()));
        shared.saw_head(head);
        intake.news_after = head;
        if head <= intake.last.saturating_add(NEAR) {
            return Ok(());
        }
        match catch_up::read(shared, &kv, intake, head).await {
            // The watch tells from where on records are left.
            Err(Stop::Trouble(why)) if is_compacted(&why) => return Ok(()),
            read => read?,
        }
    }
}

/// Reads the lengths of all lanes at the place where this node stands.
async fn prime(shared: &Shared, kv: &mut KvClient, intake: &mut Intake) -> Result<(), Stop> {
    let wait = shared.settings.attempt_timeout;
    let at = revision(intake.last);
    let options = GetOptions::new().with_prefix().with_keys_only();
    let question = kv.get(shared.keys.lanes(), Some(options.with_revision(at)));
    match within(wait, question).await {
        Ok(answer) => {
            intake.prime(shared, answer.kvs());
            Ok(())
        }
        // The watch tells from where on records are left.
        Err(error) if is_compacted(&describe(&error)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads what is known of all nodes: registrations and reports may be older than the place from
/// which the log is followed.
async fn observe_all(shared: &Shared, kv: &mut KvClient) -> Result<(), Stop> {
    let names = ["node/", "pos/", "hold/", "floor", "fmt", "next"];
    let question = names.map(|name| {
        let options = GetOptions::new().with_prefix();
        TxnOp::get(shared.keys.named(name), Some(options))
    });
    let question = kv.txn(Txn::new().and_then(question));
    let answer = within(shared.settings.attempt_timeout, question).await?;
    let mut members = lock(&shared.members);
    for answer in answer.op_responses() {
        let TxnOpResponse::Get(answer) = answer else {
            continue;
        };
        for found in answer.kvs() {
            if let Some(key) = shared.keys.parse(found.key()) {
                members.observe(&Observed {
                    key,
                    value: found.value(),
                    revision: found.mod_revision(),
                    created: found.create_revision(),
                    now_us: None,
                });
            }
        }
    }
    Ok(())
}

/// Whether etcd says that history up to the asked revision was removed.
pub(super) fn is_compacted(error: &str) -> bool {
    error.contains("has been compacted")
}

/// Time that a question about history may take: it waits for etcd's disk.
pub(super) fn history_wait(shared: &Shared) -> Duration {
    shared.settings.attempt_timeout * 4
}
