//! Changes of the cluster as a whole that an operator asks for.

use super::pool::Connected;
use super::probe::{describe, within};
use super::state::Shared;
use super::values::{self, Format, Hold, Registration};
use etcd_client::{Compare, CompareOp, Error, Txn, TxnOp};
use replica::commit_log::{NodeId, Unreachable};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reasons why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeFailure {
    /// etcd did not answer, or refused. The change may have been made.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// No node of this id ever registered.
    #[error("expected a node of this cluster, found {0}, which never registered")]
    NoSuchNode(NodeId),
    /// A member's program is too old.
    #[error("node {node} knows format levels up to {known}, not {level}: update its program first")]
    Unknown {
        /// The node.
        node: NodeId,
        /// Highest level of its program.
        known: u32,
        /// The level asked for.
        level: u32,
    },
}

impl From<Error> for ChangeFailure {
    fn from(error: Error) -> ChangeFailure {
        ChangeFailure::Unreachable(Unreachable(describe(&error)))
    }
}

/// Marks a node as removed, and ends its hold on trimming.
pub(super) async fn remove(shared: &Shared, node: NodeId) -> Result<(), ChangeFailure> {
    let released = Hold {
        place: 0,
        seconds: 0,
    };
    let released = TxnOp::put(shared.keys.hold(node), values::encode(&released), None);
    let key = shared.keys.node(node);
    change(shared, key, &[released], |found: Option<Registration>| {
        let mut registration = found.ok_or(ChangeFailure::NoSuchNode(node))?;
        registration.removed = true;
        Ok(registration)
    })
    .await
}

/// Raises the format level.
pub(super) async fn raise_format(shared: &Shared, level: u32) -> Result<(), ChangeFailure> {
    let members = super::state::lock(&shared.members)
        .view(shared.settings.trimming.alive_for)
        .members;
    let old = |it: &&super::Member| !it.is_removed && it.about.format_max < level;
    if let Some(member) = members.iter().find(old) {
        return Err(ChangeFailure::Unknown {
            node: member.id,
            known: member.about.format_max,
            level,
        });
    }
    let key = shared.keys.named("fmt");
    change(shared, key, &[], |found: Option<Format>| {
        let level = found.map_or(level, |it| it.level.max(level));
        Ok(Format { level })
    })
    .await
}

/// Replaces the value of a key by what `to` makes of it, and does `also` in the same transaction,
/// unless it is that already.
async fn change<T: Serialize + DeserializeOwned + PartialEq + Clone>(
    shared: &Shared,
    key: Vec<u8>,
    also: &[TxnOp],
    to: impl Fn(Option<T>) -> Result<T, ChangeFailure>,
) -> Result<(), ChangeFailure> {
    let wait = shared.settings.attempt_timeout;
    loop {
        let connected: Connected = shared.pool.connected_within(wait).await?;
        let mut kv = connected.kv();
        let answer = within(wait, kv.get(key.clone(), None)).await?;
        let found = answer.kvs().first();
        let revision = found.map_or(0, |it| it.mod_revision());
        let before = found.and_then(|it| values::decode::<T>(it.value()));
        let after = to(before.clone())?;
        if before.as_ref() == Some(&after) {
            return Ok(());
        }
        let unchanged = Compare::mod_revision(key.clone(), CompareOp::Equal, revision);
        let put = TxnOp::put(key.clone(), values::encode(&after), None);
        let operations: Vec<TxnOp> = [&[put], also].concat();
        let transaction = Txn::new().when([unchanged]).and_then(operations);
        if within(wait, kv.txn(transaction)).await?.succeeded() {
            return Ok(());
        }
        // Somebody else changed it in between: once more with what it is now.
    }
}
