//! All nodes of the cluster, as known from their registrations, positions and holds in the log.

mod agreement;

pub(super) use agreement::Equality;
pub use agreement::{Difference, NodeDigest};

use super::keys::Key;
use super::settings::{Credit, NodeAbout};
use super::values::{self, Closing, Floor, Format, Hold, Next, Registration, Report};
use super::volume::Volume;
use replica::commit_log::{NodeId, Standing};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Digests kept for each node.
pub(super) const DIGESTS_MAX: usize = 64;

/// A snapshot of the cluster as this node knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// All nodes that ever registered, by id.
    pub members: Vec<Member>,
    /// The last place of the log.
    pub head: u64,
    /// The place that this node has read.
    pub read: u64,
    /// The place up to which the log was trimmed, 0 if it never was.
    pub floor: u64,
    /// Format level that the cluster is to have, which every node's program executes; `None` before
    /// it was read.
    pub format_level: Option<u32>,
    /// URL of the member of etcd in use, `None` while there is none.
    pub endpoint: Option<String>,
    /// How full that member's database is, `None` before it was asked.
    pub database: Option<Database>,
    /// The import that has closed the log; `None` while the log is open.
    pub closing: Option<Closing>,
}

/// How full etcd is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Database {
    /// Bytes in use: about the records that are kept.
    pub used_bytes: u64,
    /// Bytes that its file may have at most; appends end well before.
    pub quota_bytes: u64,
    /// Whether a member took no more writes for want of room, and raised the alarm NOSPACE.
    pub is_full: bool,
}

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The node.
    pub id: NodeId,
    /// Its words about itself when it registered.
    pub about: NodeAbout,
    /// Place of its first registration, by which nodes are in the order of joining; the same on
    /// all nodes. 0 before it was read.
    pub joined: u64,
    /// Number of its registrations.
    pub epoch: u64,
    /// Random name of the process that registered last.
    pub process: String,
    /// It was removed, and is no member any longer.
    pub is_removed: bool,
    /// It reported within the time after which a node counts as stopped.
    pub is_alive: bool,
    /// The part of the log it has executed, `None` before its first report.
    pub standing: Option<Standing>,
    /// Time since its last report came; at least that, for a report older than this process.
    pub since_report: Option<Duration>,
    /// Its clock less this node's in microseconds, too small by the time its report took; `None`
    /// until a report came while this process followed the log's end.
    pub clock_offset_us: Option<i64>,
}

impl ClusterView {
    /// The nodes that have not been removed, in the order of joining.
    pub fn present(&self) -> Vec<&Member> {
        let present = self.members.iter();
        let mut present: Vec<&Member> = present
            .filter(|it| it.joined > 0 && !it.is_removed)
            .collect();
        present.sort_by_key(|it| it.joined);
        present
    }
}

/// All that is known.
#[derive(Default)]
pub(super) struct Members {
    nodes: BTreeMap<NodeId, Node>,
    holds: BTreeMap<NodeId, HeldPlace>,
    format: Option<u32>,
    next: Option<Next>,
    next_at: i64,
    /// Place up to which the log was trimmed.
    pub(super) floor: u64,
}

#[derive(Default)]
struct Node {
    registration: Registration,
    registered_at: i64,
    /// Revision of its first registration.
    joined_at: i64,
    report: Option<Report>,
    reported_at: i64,
    /// When the last change of its registration or report was seen.
    seen: Option<Instant>,
    /// When its last report was seen.
    reported: Option<Instant>,
    /// When a report was seen that it has gone on.
    advanced: Option<Instant>,
    /// Number of the registration in which it was near the end of the log, 0 for none.
    near_in: u64,
    clock_offset_us: Option<i64>,
    digests: BTreeMap<u64, u128>,
}

struct HeldPlace {
    hold: Hold,
    revision: i64,
    seen: Instant,
}

/// A node that executes more slowly than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlowNode {
    /// Bytes of records that it has not executed.
    pub(super) bytes: u64,
    /// The node.
    pub(super) id: NodeId,
}

/// A value of a key.
pub(super) struct Observed<'a> {
    /// Meaning of the key.
    pub(super) key: Key,
    /// The value.
    pub(super) value: &'a [u8],
    /// The revision that set it.
    pub(super) revision: i64,
    /// The revision that set the key first: keys are never deleted.
    pub(super) created: i64,
    /// This node's clock in microseconds since 1970, `None` if the value may be old.
    pub(super) now_us: Option<u64>,
}

impl Members {
    /// Takes the value of a key, unless a later one is known.
    pub(super) fn observe(&mut self, observed: &Observed<'_>) {
        let revision = observed.revision;
        let seen = Instant::now();
        match observed.key {
            Key::Node(id) => {
                let node = self.nodes.entry(id).or_default();
                if let Some(registration) = values::decode::<Registration>(observed.value)
                    && node.registered_at < revision
                {
                    node.registered_at = revision;
                    if registration.epoch != node.registration.epoch {
                        // It may have begun anew with another node's state.
                        node.digests.clear();
                    }
                    node.joined_at = observed.created;
                    node.registration = registration;
                    node.seen = Some(seen);
                }
            }
            Key::Position(id) => {
                let node = self.nodes.entry(id).or_default();
                if let Some(report) = values::decode(observed.value)
                    && node.reported_at < revision
                {
                    node.reported_at = revision;
                    node.seen = Some(seen);
                    node.reported = Some(seen);
                    node.take_report(report, observed.now_us);
                }
            }
            Key::Hold(id) => {
                let known = self.holds.get(&id).map_or(0, |it| it.revision);
                if let Some(hold) = values::decode(observed.value)
                    && known < revision
                {
                    self.holds.insert(
                        id,
                        HeldPlace {
                            hold,
                            revision,
                            seen,
                        },
                    );
                }
            }
            Key::Floor => {
                let floor = values::decode::<Floor>(observed.value);
                self.floor = self.floor.max(floor.map_or(0, |it| it.place));
            }
            Key::Format => {
                let format = values::decode::<Format>(observed.value);
                self.format = format.map(|it| it.level).max(self.format);
            }
            Key::Next => {
                if self.next_at < revision {
                    self.next_at = revision;
                    self.next = values::decode(observed.value);
                }
            }
            Key::Cluster | Key::Lane { .. } => (),
        }
    }

    /// Whether the newest known registration of a node is that of this number.
    pub(super) fn has_registered(&self, node: NodeId, epoch: u64) -> bool {
        let known = self.nodes.get(&node);
        known.is_some_and(|it| it.registration.epoch == epoch)
    }

    /// Whether a node besides `own` has executed the log up to a place or beyond.
    pub(super) fn is_executed_by_another(&self, own: NodeId, place: u64) -> bool {
        let mut others = self.nodes.iter().filter(|(id, _)| **id != own);
        others.any(|(_, node)| {
            let standing = node.report.as_ref().map(Report::standing);
            standing.is_some_and(|it| it.place >= place)
        })
    }

    /// Whether all nodes seen within `absent_for` have executed the log up to a place.
    pub(super) fn have_executed(&self, place: u64, absent_for: Duration) -> bool {
        let mut nodes = self.nodes.values().filter(|it| !it.registration.removed);
        nodes.all(|node| {
            let standing = node.report.as_ref().map(Report::standing);
            standing.is_some_and(|it| it.place >= place) || !node.is_within(absent_for)
        })
    }

    /// A snapshot without the places of the log.
    pub(super) fn view(&self, alive_for: Duration) -> ClusterView {
        let member = |(id, node): (&NodeId, &Node)| Member {
            id: *id,
            about: node.registration.about(),
            joined: u64::try_from(node.joined_at).unwrap_or(0),
            epoch: node.registration.epoch,
            process: node.registration.process.clone(),
            is_removed: node.registration.removed,
            is_alive: node.is_within(alive_for),
            standing: node.report.as_ref().map(Report::standing),
            since_report: node.reported.map(|it| it.elapsed()),
            clock_offset_us: node.clock_offset_us,
        };
        ClusterView {
            members: self.nodes.iter().map(member).collect(),
            format_level: self.format,
            floor: self.floor,
            closing: self.next.as_ref().and_then(Next::closing),
            ..ClusterView::default()
        }
    }

    /// Whether the log was closed after this process of a node had registered, and is open again.
    pub(super) fn is_reopened(&self, node: NodeId, process: &str) -> bool {
        let known = self.nodes.get(&node);
        let registration = known.map(|it| &it.registration);
        let was_closed =
            registration.is_some_and(|it| it.process == process && !it.closed_by.is_empty());
        was_closed && self.next.as_ref().and_then(Next::closing).is_none()
    }

    /// The format level that the cluster is to have; `None` before it was read.
    pub(super) fn agreed_level(&self) -> Option<u32> {
        self.format
    }

    /// Whether it is the turn of `own` to trim: no node with a lower id is alive.
    pub(super) fn is_turn_of(&self, own: NodeId, alive_for: Duration) -> bool {
        let mut lower = self.nodes.range(..own);
        !lower.any(|(_, node)| node.is_within(alive_for))
    }

    /// The node that is farthest behind, of those that run and go on; `None` if there are no such.
    /// A node counts once it has been near: one that joins or was away may catch up first.
    pub(super) fn slowest(
        &mut self,
        credit: &Credit,
        alive_for: Duration,
        volume: &Volume,
    ) -> Option<SlowNode> {
        let mut slowest = None;
        for (id, node) in &mut self.nodes {
            let Some(report) = &node.report else {
                continue;
            };
            let bytes = volume.behind(report.standing().place);
            if bytes <= credit.behind_bytes_max {
                node.near_in = report.epoch;
            }
            let advanced = node.advanced.map(|at| at.elapsed());
            let goes_on = advanced.is_some_and(|it| it < credit.stuck_after);
            if node.near_in == report.epoch && goes_on && node.is_within(alive_for) {
                slowest = slowest.max(Some(SlowNode { bytes, id: *id }));
            }
        }
        slowest
    }

    /// The last place that neither a hold needs any longer nor a node seen within `absent_for`, but
    /// for `own`, which knows better itself. `None` if there are no such.
    pub(super) fn unneeded(&self, own: NodeId, absent_for: Duration) -> Option<u64> {
        let others = self.nodes.iter().filter(|it| *it.0 != own);
        let nodes = others.filter(|it| it.1.is_within(absent_for));
        let synced = nodes.map(|it| it.1.synced());
        let counts = |it: &&HeldPlace| it.seen.elapsed() < Duration::from_secs(it.hold.seconds);
        let held = self.holds.values().filter(counts).map(|it| it.hold.place);
        synced.chain(held).min()
    }
}

impl Node {
    /// Whether it is a member that was seen within this time.
    fn is_within(&self, time: Duration) -> bool {
        !self.registration.removed && self.seen.is_some_and(|it| it.elapsed() < time)
    }

    /// The place that it will not need records before.
    fn synced(&self) -> u64 {
        let from = self.registration.from;
        match &self.report {
            Some(it) if it.epoch == self.registration.epoch => it.standing().synced_place,
            // It may have gone back since, or not synced all that it has executed.
            Some(it) => it.standing().synced_place.min(from),
            None => from,
        }
    }

    /// Takes a report that came at `now_us`, or at an unknown time.
    fn take_report(&mut self, report: Report, now_us: Option<u64>) {
        let place = self.report.as_ref().map_or(0, |it| it.standing().place);
        if report.standing().place > place {
            self.advanced = Some(Instant::now());
        }
        // A report of an earlier process may be about another state.
        let is_current = report.epoch >= self.registration.epoch;
        for reported in report.digests.iter().filter(|_| is_current) {
            if let Some(digest) = reported.digest() {
                self.digests.insert(reported.position, digest);
            }
        }
        while self.digests.len() > DIGESTS_MAX {
            self.digests.pop_first();
        }
        if let Some(now) = now_us {
            let offset = i128::from(report.now_us) - i128::from(now);
            self.clock_offset_us = i64::try_from(offset).ok();
        }
        self.report = Some(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::values::{ReportedDigest, encode};

    pub(super) const SOON: Duration = Duration::from_secs(60);

    pub(super) fn id(number: u8) -> NodeId {
        NodeId([number; 16])
    }

    /// A node that registered once, from place 10.
    pub(super) fn register(members: &mut Members, number: u8, epoch: u64) {
        let mut registration = Registration::new(&NodeAbout::default());
        registration.epoch = epoch;
        registration.from = 10;
        let value = encode(&registration);
        observe(members, Key::Node(id(number)), &value);
    }

    /// A report with a synced place and a digest.
    pub(super) fn report(members: &mut Members, number: u8, epoch: u64, digest: u128) {
        let standing = Standing {
            place: 100 * u64::from(number),
            synced_place: 100 * u64::from(number),
            ..Standing::default()
        };
        let mut report = Report::new(&standing, epoch, 5);
        report.digests.push(ReportedDigest::new(1_024, digest));
        observe(members, Key::Position(id(number)), &encode(&report));
    }

    fn observe(members: &mut Members, key: Key, value: &[u8]) {
        let known = members.nodes.values();
        let last = known.map(|it| it.registered_at.max(it.reported_at)).max();
        members.observe(&Observed {
            key,
            value,
            revision: last.unwrap_or(0) + 1,
            created: 1,
            now_us: Some(3),
        });
    }

    #[test]
    fn a_node_that_registered_again_counts_from_where_it_began() {
        let mut members = Members::default();
        assert_eq!(members.unneeded(id(9), SOON), None);
        register(&mut members, 1, 1);
        assert_eq!(members.unneeded(id(9), SOON), Some(10));
        // It knows better itself.
        assert_eq!(members.unneeded(id(1), SOON), None);
        report(&mut members, 1, 1, 7);
        assert_eq!(members.unneeded(id(9), SOON), Some(100));
        register(&mut members, 1, 2);
        assert_eq!(members.unneeded(id(9), SOON), Some(10));
        report(&mut members, 1, 2, 7);
        assert_eq!(members.unneeded(id(9), SOON), Some(100));
        assert_eq!(members.unneeded(id(9), Duration::ZERO), None);
        assert_eq!(members.view(SOON).members[0].clock_offset_us, Some(2));
    }

    #[test]
    fn the_lowest_node_alive_trims() {
        let mut members = Members::default();
        register(&mut members, 2, 1);
        register(&mut members, 3, 1);
        let turn = |number, alive_for| members.is_turn_of(id(number), alive_for);
        assert!(turn(1, SOON) && turn(2, SOON) && !turn(3, SOON));
        assert!(turn(3, Duration::ZERO));
    }

    #[test]
    fn a_state_taken_from_another_node_is_compared_anew() {
        let mut members = Members::default();
        for (number, digest) in [(1, 7), (2, 7), (3, 8)] {
            register(&mut members, number, 1);
            report(&mut members, number, 1, digest);
        }
        let differences = members.differences();
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].position, 1_024);
        let digests: Vec<_> = differences[0].digests.iter().map(|it| it.digest).collect();
        assert_eq!(digests, [7, 7, 8]);
        let is_new = |members: &Members| members.has_registered(id(3), 2);
        assert!(!is_new(&members), "the report is of an earlier process");
        register(&mut members, 3, 2);
        assert!(is_new(&members));
        assert_eq!(members.differences(), []);
        // What its earlier process said may come after its registration, when all is read anew.
        report(&mut members, 3, 1, 8);
        assert_eq!(members.differences(), []);
        report(&mut members, 3, 2, 7);
        assert_eq!(members.differences(), []);
    }

    #[test]
    fn writers_wait_for_a_node_that_goes_on() {
        let mut members = Members::default();
        let mut volume = Volume::default();
        for place in 1..=300 {
            volume.add(place, 1 << 20);
        }
        let credit = Credit::default();
        let slowest = |members: &mut Members, volume: &Volume| {
            let slowest = members.slowest(&credit, SOON, volume);
            slowest.map(|it| (it.id, it.bytes >> 20))
        };
        register(&mut members, 1, 1);
        register(&mut members, 3, 1);
        assert_eq!(slowest(&mut members, &volume), None);
        // Node 1 is at place 100 and has to catch up first, node 3 is at place 300.
        report(&mut members, 1, 1, 7);
        report(&mut members, 3, 1, 7);
        assert_eq!(slowest(&mut members, &volume), Some((id(3), 0)));
        (301..=330).for_each(|place| volume.add(place, 1 << 20));
        assert_eq!(slowest(&mut members, &volume), Some((id(3), 30)));
        // A node that stands still is not waited for.
        let stuck = Credit {
            stuck_after: Duration::ZERO,
            ..Credit::default()
        };
        assert_eq!(members.slowest(&stuck, SOON, &volume), None);
    }

    #[test]
    fn an_older_value_changes_nothing() {
        let mut members = Members::default();
        register(&mut members, 1, 2);
        let before = members.view(SOON);
        members.observe(&Observed {
            key: Key::Node(id(1)),
            value: &encode(&Registration::default()),
            revision: 1,
            created: 1,
            now_us: None,
        });
        assert_eq!(members.view(SOON), before);
    }
}
