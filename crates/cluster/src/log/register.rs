//! Registration: a process takes the next epoch of its node, and with that the right to append.
//!
//! An append compares the revision of the node's key, so that of two processes with one identity
//! the earlier can append nothing after the later has registered. A process whose folder does not
//! know the one that stands registered serves a copy that was left behind, and does not register.

use super::closing;
use super::pool::{Backoff, Connected};
use super::probe::{describe, within};
use super::state::{Barred, Reason, Session, Shared, place};
use super::values::{self, Format, Registration, Stage};
use etcd_client::{Compare, CompareOp, Error, GetOptions, Txn, TxnOp};
use replica::commit_log::{LogFailure, Unknown};

/// Registers this process, however long that takes, and reads where its lanes end.
pub(super) async fn run(shared: &Shared) {
    let text = "this node has not registered with etcd yet".to_owned();
    shared.set(Reason::Unregistered, Some(text));
    let mut pause = Backoff::new();
    loop {
        let connected = shared.pool.connected().await;
        match attempt(shared, &connected).await {
            Ok(Step::Registered(session)) => {
                tracing::info!(epoch = session.epoch, "registered with the cluster");
                shared.session.send_replace(Some(session));
                shared.set(Reason::Unregistered, None);
                return;
            }
            Ok(Step::Again) => (),
            Ok(Step::Closed(address)) => {
                let text = closing::refusal(&address);
                shared.set(Reason::Unregistered, Some(text));
                pause.wait().await;
            }
            Ok(Step::Barred(why)) => {
                shared.bar(why);
                return;
            }
            Ok(Step::Level(level)) => {
                shared.fail(LogFailure::Level(Unknown { level }));
                return;
            }
            Err(error) => {
                let error = describe(&error);
                let text = format!("this node cannot register with etcd: {error}");
                shared.set(Reason::Unregistered, Some(text));
                shared.pool.give_up(&connected, &error);
                pause.wait().await;
            }
        }
    }
}

/// Result of an attempt.
enum Step {
    Registered(Session),
    /// Somebody else wrote the key in between, or raised the format level.
    Again,
    /// The node at this address has closed the log.
    Closed(String),
    /// This process must never register.
    Barred(Barred),
    /// The cluster has this format level, which this program does not execute.
    Level(u32),
}

/// Takes the next epoch, unless an attempt before has done so unnoticed.
async fn attempt(shared: &Shared, connected: &Connected) -> Result<Step, Error> {
    let wait = shared.settings.attempt_timeout;
    let key = shared.keys.node(shared.settings.node);
    let mut kv = connected.kv();
    let answer = within(wait, kv.get(key.clone(), None)).await?;
    let standing = answer.kvs().first();
    let revision = standing.map_or(0, |it| it.mod_revision());
    let before = standing.and_then(|it| values::decode::<Registration>(it.value()));
    let before = before.unwrap_or_default();
    if before.removed {
        return Ok(Step::Barred(Barred::Removed));
    }
    let known = &shared.settings.processes;
    if !known.is_empty() && !before.process.is_empty() && !known.contains(&before.process) {
        return Ok(Step::Barred(Barred::Copied));
    }
    // One that was written again when the log was closed is no right to append.
    if before.process == shared.process && before.closed_by.is_empty() {
        let sequences = sequences(shared, connected).await?;
        return Ok(Step::Registered(Session {
            epoch: before.epoch,
            revision,
            sequences,
        }));
    }
    let mut registration = Registration::new(&shared.settings.about);
    registration.epoch = before.epoch + 1;
    registration.process = shared.process.clone();
    registration.from = shared.settings.from;
    let compare = Compare::mod_revision(key.clone(), CompareOp::Equal, revision);
    // A level that is raised meanwhile is one that every registered program knows.
    let format = shared.keys.named("fmt");
    let answer = within(wait, kv.get(format.clone(), None)).await?;
    let standing = answer.kvs().first();
    let found = standing.and_then(|it| values::decode::<Format>(it.value()));
    if let Some(Format { level }) = found
        && !shared.settings.about.knows(level)
    {
        return Ok(Step::Level(level));
    }
    let revision = standing.map_or(0, |it| it.mod_revision());
    let same_level = Compare::mod_revision(format, CompareOp::Equal, revision);
    let next = shared.keys.named("next");
    let closing::Found {
        next: closed,
        unchanged: same_next,
    } = closing::read(&mut kv, next.clone(), wait).await?;
    let mut puts = vec![TxnOp::put(key, values::encode(&registration), None)];
    let own = shared.settings.node.to_string();
    match closed.stage {
        Stage::Open => {}
        // This node is served again without having begun the generation: the import was given up.
        Stage::Closed if closed.node == own => puts.push(closing::open(next, &closed)),
        Stage::Closed | Stage::Begun => return Ok(Step::Closed(closed.address)),
    }
    let conditions = [compare, same_level, same_next];
    let transaction = Txn::new().when(conditions).and_then(puts);
    let answer = within(wait, kv.txn(transaction)).await?;
    if !answer.succeeded() {
        return Ok(Step::Again);
    }
    let sequences = sequences(shared, connected).await?;
    let revision = answer.header().map_or(0, |it| it.revision());
    Ok(Step::Registered(Session {
        epoch: registration.epoch,
        revision,
        sequences,
    }))
}

/// The number of records of each lane. Asked after the registration: from then on only this process
/// appends to them.
async fn sequences(shared: &Shared, connected: &Connected) -> Result<Vec<u64>, Error> {
    let wait = shared.settings.attempt_timeout;
    let node = shared.settings.node;
    let options = GetOptions::new().with_prefix().with_keys_only();
    let mut kv = connected.kv();
    let lanes = within(wait, kv.get(shared.keys.lanes_of(node), Some(options))).await?;
    let number = |lane| {
        let key = shared.keys.lane(node, lane);
        let found = lanes.kvs().iter().find(|it| it.key() == key);
        found.map_or(0, |it| place(it.version()))
    };
    Ok((0..shared.settings.lanes).map(number).collect())
}
