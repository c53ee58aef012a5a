//! Changes of the cluster as a whole that an operator asks for.

use super::closing;
use super::keys::Key;
use super::probe::{describe, within};
use super::settings::NodeAbout;
use super::state::Shared;
use super::values::{self, Format, Hold, Next, Registration, Stage};
use etcd_client::{Compare, CompareOp, Error, GetOptions, Txn, TxnOp};
use replica::commit_log::{NodeId, Unreachable};
use replica::level::LOWEST;

/// Reasons why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeFailure {
    /// etcd did not answer, or refused. The change may have been made.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// No node of this id ever registered.
    #[error("expected a node of this cluster, found {0}, which never registered")]
    NoSuchNode(NodeId),
    /// Members' programs are too old.
    #[error(
        "expected programs that execute format level {level} on all nodes, and these do not: \
         {nodes}; install the newer pando there and start them, or take lost nodes out with `pando \
         cluster remove`, then give the command again"
    )]
    Unknown {
        /// The level that other members' programs know.
        level: u32,
        /// The members, with address, version and highest level.
        nodes: String,
    },
    /// The cluster has this format level, and no member's program knows a higher one.
    #[error("the format level is {0}, the highest that the programs of this cluster know")]
    Newest(u32),
}

impl From<Error> for ChangeFailure {
    fn from(error: Error) -> ChangeFailure {
        ChangeFailure::Unreachable(Unreachable(describe(&error)))
    }
}

/// Marks a node as removed, and ends its hold on trimming. A log that it has closed becomes open.
pub(super) async fn remove(shared: &Shared, node: NodeId) -> Result<(), ChangeFailure> {
    let released = Hold {
        place: 0,
        seconds: 0,
    };
    let wait = shared.settings.attempt_timeout;
    let (key, next) = (shared.keys.node(node), shared.keys.named("next"));
    loop {
        let connected = shared.pool.connected_within(wait).await?;
        let mut kv = connected.kv();
        let closed = closing::read(&mut kv, next.clone(), wait).await?;
        let answer = within(wait, kv.get(key.clone(), None)).await?;
        let standing = answer.kvs().first();
        let revision = standing.map_or(0, |it| it.mod_revision());
        let before = standing.and_then(|it| values::decode::<Registration>(it.value()));
        let mut after = before.ok_or(ChangeFailure::NoSuchNode(node))?;
        if after.removed {
            return Ok(());
        }
        after.removed = true;
        let mut puts = vec![
            TxnOp::put(key.clone(), values::encode(&after), None),
            TxnOp::put(shared.keys.hold(node), values::encode(&released), None),
        ];
        let Next { stage, .. } = closed.next;
        if stage == Stage::Closed && closed.next.node == node.to_string() {
            puts.push(closing::open(next.clone(), &closed.next));
        }
        let unchanged = Compare::mod_revision(key.clone(), CompareOp::Equal, revision);
        let conditions = [unchanged, closed.unchanged];
        let transaction = Txn::new().when(conditions).and_then(puts);
        if within(wait, kv.txn(transaction)).await?.succeeded() {
            return Ok(());
        }
        // Another process changed one of them in between: once more with what it is now.
    }
}

/// Raises the format level to the highest that all members' programs know, at most to `highest`,
/// unless a member registers meanwhile: then once more.
pub(super) async fn raise_format(shared: &Shared, highest: u32) -> Result<u32, ChangeFailure> {
    let wait = shared.settings.attempt_timeout;
    let (key, nodes) = (shared.keys.named("fmt"), shared.keys.nodes());
    loop {
        let connected = shared.pool.connected_within(wait).await?;
        let mut kv = connected.kv();
        let options = GetOptions::new().with_prefix();
        let found = within(wait, kv.get(nodes.clone(), Some(options))).await?;
        let seen = found.header().map_or(0, |it| it.revision());
        let members = found.kvs().iter().filter_map(|it| {
            let registration = values::decode::<Registration>(it.value())?;
            let Some(Key::Node(id)) = shared.keys.parse(it.key()) else {
                return None;
            };
            (!registration.removed).then(|| (id, registration.about()))
        });
        let members: Vec<(NodeId, NodeAbout)> = members.collect();
        let answer = within(wait, kv.get(key.clone(), None)).await?;
        let standing = answer.kvs().first();
        let format = standing.and_then(|it| values::decode::<Format>(it.value()));
        let from = format.map_or(LOWEST, |it| it.level);
        let to = next_level(&members, from, highest)?;
        let revision = standing.map_or(0, |it| it.mod_revision());
        let unchanged = Compare::mod_revision(key.clone(), CompareOp::Equal, revision);
        // Registrations of all nodes, also of those that come while this is decided.
        let same_members = Compare::mod_revision(nodes.clone(), CompareOp::Less, seen + 1);
        let conditions = [unchanged, same_members.with_prefix()];
        let put = TxnOp::put(key.clone(), values::encode(&Format { level: to }), None);
        let transaction = Txn::new().when(conditions).and_then([put]);
        if within(wait, kv.txn(transaction)).await?.succeeded() {
            return Ok(to);
        }
    }
}

/// The highest level that all members' programs know, if it is higher than `from`.
fn next_level(
    members: &[(NodeId, NodeAbout)],
    from: u32,
    highest: u32,
) -> Result<u32, ChangeFailure> {
    let known = members.iter().map(|(_, about)| about.format_max);
    let to = known.clone().min().unwrap_or(from).min(highest);
    if to > from {
        return Ok(to);
    }
    let level = known.max().unwrap_or(from).min(highest);
    if level <= from {
        return Err(ChangeFailure::Newest(from));
    }
    let behind = members.iter().filter(|it| it.1.format_max < level);
    let behind = behind.map(|(id, about)| {
        let NodeAbout {
            address,
            format_max,
            version,
            ..
        } = about;
        format!(
            "node {:.8} at {address} (pando {version}, up to {format_max})",
            id.to_string()
        )
    });
    Err(ChangeFailure::Unknown {
        level,
        nodes: behind.collect::<Vec<_>>().join(", "),
    })
}
