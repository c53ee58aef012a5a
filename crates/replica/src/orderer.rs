//! The orderer of a node in a cluster: bundles waiting writes and hands them to the log, one bundle
//! of a lane at a time.
//!
//! Invariants:
//! - no write is handed over whose attribute types were removed or redefined since it was resolved;
//! - a change of the configuration travels alone, after this node found that it can be executed:
//!   what it finds by looking at many entries or at indexes, execution does not ask again;
//! - a client whose write was never handed to the log hears so in time.

use crate::audit_files::AuditStanding;
use crate::clients::{Clients, Submission, Writes, for_all};
use crate::clock::Clock;
use crate::commit_log::{Bundle, CommitLog};
use crate::executor::{no_operation, rehearse};
use crate::failure::{failure_result, unaudited};
use crate::in_flight::InFlight;
use crate::patience::Patience;
use crate::payload;
use crate::writer::{Outdated, Queue, next_group};
use arc_swap::ArcSwap;
use protocol::{LdapResult, ResultCode};
use state::catalog::Catalog;
use state::record;
use state::write::Unit;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::Store;

/// Time for which a busy lane collects writes: an append costs the log a millisecond or two of
/// processor time, however small it is.
const COLLECT: Duration = Duration::from_millis(4);
/// Bytes of waiting writes for which a lane does not collect any longer.
const COLLECT_BYTES: usize = 64 << 10;

/// The orderer, which owns the way from the queue to the log.
pub(crate) struct Orderer<C: Clients> {
    /// The lane of its bundles.
    pub lane: u8,
    /// The queue of that lane.
    pub queue: Arc<Queue<C::Ticket>>,
    pub log: Arc<dyn CommitLog>,
    pub in_flight: Arc<InFlight<C::Ticket>>,
    pub clients: Arc<C>,
    pub store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    /// How long clients wait.
    pub patience: Patience,
    /// How the files of the audit stand: writes are refused that could not be audited.
    pub audit: Arc<AuditStanding>,
    /// When the last bundle was handed over.
    pub submitted: Option<Instant>,
}

impl<C: Clients> Orderer<C> {
    /// Orders writes until the queue is stopped and empty.
    pub fn run(mut self) {
        while self.queue.wait() {
            // What waits has just come.
            let until = Instant::now() + self.patience.write;
            if self.wait_for_lane(until) {
                self.collect();
            }
            self.turn(until);
        }
        self.in_flight.close();
    }

    /// Hands over what waits, or refuses it if the lane stays busy until a time.
    pub fn turn(&mut self, until: Instant) {
        let Some(taken) = self.queue.take(true, None) else {
            return;
        };
        let mut rest = taken;
        while !rest.is_empty() {
            let count = next_group(&rest, &self.catalog.load());
            let later = rest.split_off(count);
            self.order(rest, until);
            rest = later;
        }
    }

    fn wait_for_lane(&self, until: Instant) -> bool {
        let is_free = || self.log.is_free(self.lane);
        self.in_flight.wait_for_lane(is_free, until)
    }

    /// Lets more writes come while bundles follow each other closely.
    fn collect(&self) {
        let Some(submitted) = self.submitted else {
            return;
        };
        let left = COLLECT.saturating_sub(submitted.elapsed());
        if left > Duration::ZERO {
            self.queue.collect(COLLECT_BYTES, left);
        }
    }

    /// Hands over one group, all of whose writes may share a record.
    fn order(&mut self, group: Vec<Submission<C::Ticket>>, until: Instant) {
        // Before the catalog, which is published first.
        let configuration = self.in_flight.configuration.load(Ordering::Acquire);
        let catalog = self.catalog.load_full();
        let mut current = Vec::with_capacity(group.len());
        for submission in group {
            match Outdated::first_of(&submission, &catalog.schema) {
                None => current.push(submission),
                Some(outdated) => {
                    let done = outdated.refused(&catalog.schema);
                    let all = &mut std::iter::repeat(done);
                    self.clients.answer(&[submission], all, None);
                }
            }
        }
        if let Some(reason) = self.audit.refusal().filter(|_| !current.is_empty()) {
            return self.refuse_with(&current, unaudited(&reason));
        }
        if current.is_empty() || !self.is_executable(&current, &catalog) {
            return;
        }
        if !self.wait_for_lane(until) {
            return self.refuse(&current);
        }
        let units: Vec<Unit<'_>> = current.iter().flat_map(|it| it.writes.units()).collect();
        let mut writes = Vec::new();
        record::encode_writes(&units, &catalog.schema, &mut writes);
        drop(units);
        let payloads = payload::encode(configuration, self.clock.now_us(), &writes);
        match payloads {
            Ok(payloads) => self.submit(payloads, current, until),
            Err(error) => {
                tracing::error!(%error, "writes could not be compressed");
                self.refuse(&current);
            }
        }
    }

    /// Hands over a group, whose first part is to be sent until a time.
    fn submit(
        &mut self,
        payloads: Vec<Vec<u8>>,
        group: Vec<Submission<C::Ticket>>,
        mut until: Instant,
    ) {
        let first = match self.in_flight.put(payloads.len(), group) {
            Ok(first) => first,
            Err(group) => return self.refuse(&group),
        };
        for (number, payload) in (first..).zip(payloads) {
            // Later parts wait as long as it takes: the first ones are in the log already.
            if number > first {
                until = self.wait_for_next_part();
            }
            self.log.submit(Bundle {
                number,
                lane: self.lane,
                payload,
                until,
            });
        }
        self.submitted = Some(Instant::now());
    }

    /// Waits until the lane takes a further part, or the node halts. Returns until when the part is
    /// to be sent.
    fn wait_for_next_part(&self) -> Instant {
        loop {
            let until = Instant::now() + self.patience.write;
            if self.wait_for_lane(until) || self.in_flight.halted().is_some() {
                return Instant::now() + self.patience.write;
            }
        }
    }

    /// Answers a group that is not to be handed over: a write that is only tried, or a change of
    /// the configuration that this node would refuse. Returns whether the group is to be handed
    /// over.
    fn is_executable(&self, group: &[Submission<C::Ticket>], catalog: &Catalog) -> bool {
        let [only] = group else {
            return true;
        };
        let tried = only.writes.all().iter().any(|it| it.is_rehearsal());
        let config = &catalog.config;
        let mut writes = only.writes.all().iter();
        if !tried && !writes.any(|it| it.configures(config)) {
            return true;
        }
        let units: Vec<Unit<'_>> = only.writes.units().collect();
        let done = match rehearse(&self.store, catalog, self.clock.now_us(), units) {
            Ok(None) if !tried => return true,
            Ok(None) => vec![no_operation()],
            Ok(Some(results)) => results,
            Err(failure) => vec![failure_result(&failure).into()],
        };
        self.in_flight.note_end(group);
        self.clients.answer(group, &mut done.into_iter(), None);
        false
    }

    /// Tells clients that their writes are not in the log.
    fn refuse(&self, group: &[Submission<C::Ticket>]) {
        let halted = self.in_flight.halted();
        let trouble = halted.or_else(|| self.log.health().trouble);
        let reason = trouble.unwrap_or_else(|| "the cluster's log does not answer".to_owned());
        self.refuse_with(group, unavailable(&reason));
    }

    fn refuse_with(&self, group: &[Submission<C::Ticket>], result: LdapResult) {
        self.in_flight.note_end(group);
        self.clients.answer(group, &mut for_all(result), None);
        if group
            .iter()
            .any(|it| matches!(&it.writes, Writes::One(it) if it.is_of_attempts()))
        {
            self.queue.settle_attempts(0);
        }
    }
}

/// The result of a write that no node will execute.
pub(crate) fn unavailable(reason: &str) -> LdapResult {
    let text = format!("nothing was changed: {reason}");
    LdapResult::new(ResultCode::UNAVAILABLE, text)
}
