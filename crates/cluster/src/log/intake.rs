//! Keys as they come from etcd, made into events: the same checks for a watch and for single reads.

use super::append::fenced;
use super::envelope::Envelope;
use super::keys::Key;
use super::members::Observed;
use super::state::{Shared, lock, place};
use etcd_client::KeyValue;
use replica::commit_log::{LogEvent, LogRecord, NodeId};
use std::collections::HashMap;

/// State of the reader: the part of the log it has dealt with.
pub(super) struct Intake {
    /// The last place dealt with.
    pub(super) last: u64,
    /// Places behind this one are news, those before may be old.
    pub(super) news_after: u64,
    /// Records of each lane at `last`; `None` before they were read.
    lanes: Option<HashMap<LaneId, u64>>,
}

/// A lane of any node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct LaneId {
    node: NodeId,
    lane: u8,
}

impl Intake {
    /// Begins behind a place.
    pub(super) fn new(from: u64) -> Intake {
        Intake {
            last: from,
            news_after: u64::MAX,
            lanes: (from == 0).then(HashMap::new),
        }
    }

    /// Whether the numbers of the lanes' records are known.
    pub(super) fn is_primed(&self) -> bool {
        self.lanes.is_some()
    }

    /// Takes the keys of all lanes as they were at `last`.
    pub(super) fn prime(&mut self, shared: &Shared, lanes: &[KeyValue]) {
        let mut known = HashMap::new();
        for found in lanes {
            if let Some(Key::Lane { node, lane }) = shared.keys.parse(found.key()) {
                known.insert(LaneId { node, lane }, place(found.version()));
            }
        }
        self.lanes = Some(known);
    }

    /// Deals with a key that was set in the revision behind `last`, or with a further one of it.
    ///
    /// # Errors
    /// The value is not what a node of this cluster writes; the text says why.
    pub(super) fn take(&mut self, shared: &Shared, found: &KeyValue) -> Result<(), String> {
        let revision = found.mod_revision();
        let at = place(revision);
        let key = shared.keys.parse(found.key());
        let event = match key {
            Some(Key::Lane { node, lane }) => {
                let record = self.record(shared, found, LaneId { node, lane })?;
                lock(&shared.volume).add(at, found.value().len());
                LogEvent::Record(record)
            }
            _ => LogEvent::Reached(at),
        };
        if let Some(key) = key {
            lock(&shared.members).observe(&Observed {
                key,
                value: found.value(),
                revision,
                created: found.create_revision(),
                now_us: (at > self.news_after).then(|| shared.settings.clock.now_us()),
            });
        }
        shared.queue.push(event);
        let session = shared.session.borrow().as_ref().map(|it| it.revision);
        if key == Some(Key::Node(shared.settings.node)) && session.is_some_and(|it| it < revision) {
            shared.fence(fenced(shared, found), at);
        }
        self.last = at;
        shared.reach(at);
        Ok(())
    }

    /// Notes that there is no record up to a place.
    pub(super) fn skip(&mut self, shared: &Shared, to: u64) {
        if to > self.last {
            self.last = to;
            shared.queue.push(LogEvent::Reached(to));
            shared.reach(to);
        }
    }

    /// The record in a lane's key.
    fn record(
        &mut self,
        shared: &Shared,
        found: &KeyValue,
        id: LaneId,
    ) -> Result<LogRecord, String> {
        let at = place(found.mod_revision());
        let what = || format!("lane {} of node {} at place {at}", id.lane, id.node);
        let envelope = Envelope::decode(found.value());
        let envelope = envelope.map_err(|damage| format!("{}: {damage}", what()))?;
        if envelope.cluster != shared.settings.cluster {
            return Err(format!("{} holds a record of another cluster", what()));
        }
        let origin = envelope.origin;
        let version = place(found.version());
        let Some(lanes) = &mut self.lanes else {
            return Err(format!("{} was read before the lanes' lengths", what()));
        };
        let before = lanes.get(&id).copied().unwrap_or(0);
        let expected = before + 1;
        if version != expected || origin.sequence != expected {
            return Err(format!(
                "{}: expected record {expected}, found record {} as version {version} of its key",
                what(),
                origin.sequence
            ));
        }
        if origin.node != id.node || origin.lane != id.lane {
            return Err(format!(
                "{} holds a record of lane {} of node {}",
                what(),
                origin.lane,
                origin.node
            ));
        }
        lanes.insert(id, version);
        let epoch = shared.session.borrow().as_ref().map(|it| it.epoch);
        let is_ours = origin.node == shared.settings.node && epoch == Some(origin.epoch);
        let own = is_ours.then(|| shared.lanes.seen(origin.lane, origin.sequence));
        Ok(LogRecord {
            place: at,
            origin,
            own: own.flatten(),
            payload: envelope.payload.to_vec(),
        })
    }
}
