//! The executor's thread of a node in a cluster: executes the records of the log, answers this
//! node's clients, and does the node's own work in between.

use crate::arrivals::Arrivals;
use crate::clients::{Clients, Submission, for_all};
use crate::commit_log::{CommitLog, LogEvent, LogFailure, Standing};
use crate::executor::{Executor, Fate, Settled};
use crate::in_flight::InFlight;
use crate::orderer::{Orderer, unavailable};
use crate::patience::Patience;
use crate::writer::{Queue, Queues};
use state::stop::Failure;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Maximum time between two looks at the node's own work.
const WAIT_MAX: Duration = Duration::from_millis(250);
/// Time between two attempts to execute records that this node could not execute.
const RETRY: Duration = Duration::from_secs(1);
/// Time for which a node that ends waits for its bundles.
const PATIENCE: Duration = Duration::from_secs(10);
/// Minimum time between two reports to the log.
const REPORT: Duration = Duration::from_millis(200);

/// Ways between the executor of a node in a cluster, its orderers, its clients and readers.
pub(crate) struct Channels<C: Clients> {
    pub log: Arc<dyn CommitLog>,
    pub queues: Queues<C::Ticket>,
    pub in_flight: Arc<InFlight<C::Ticket>>,
    pub clients: Arc<C>,
    pub arrivals: Arc<Arrivals>,
    pub patience: Patience,
}

impl<C: Clients> Channels<C> {
    /// An orderer for each lane, for the node of this executor.
    pub fn orderers(&self, executor: &Executor) -> Vec<Orderer<C>> {
        let of_lane = |(lane, queue): (u8, &Arc<Queue<C::Ticket>>)| Orderer {
            lane,
            queue: Arc::clone(queue),
            log: Arc::clone(&self.log),
            in_flight: Arc::clone(&self.in_flight),
            clients: Arc::clone(&self.clients),
            store: executor.parts.store.clone(),
            catalog: Arc::clone(&executor.parts.catalog),
            clock: Arc::clone(&executor.parts.clock),
            patience: self.patience,
            audit: Arc::clone(&executor.parts.audit.standing),
            submitted: None,
        };
        (0..).zip(self.queues.all()).map(of_lane).collect()
    }
}

/// The executor with the log that it follows.
pub(crate) struct Follower<C: Clients> {
    executor: Executor,
    channels: Channels<C>,
    /// Events that came and are not executed yet.
    events: VecDeque<LogEvent>,
    /// Whether the last attempt to execute records failed.
    stuck: bool,
    reported: Option<Instant>,
}

impl<C: Clients> Follower<C> {
    /// A follower that begins where the executor's database ends.
    pub fn new(executor: Executor, channels: Channels<C>) -> Follower<C> {
        Follower {
            executor,
            channels,
            events: VecDeque::new(),
            stuck: false,
            reported: None,
        }
    }

    /// Follows the log until the orderers have ended and their bundles have, too.
    pub fn run(mut self) {
        let call: Arc<dyn Fn() + Send + Sync> = Arc::new(|| ());
        self.begin();
        let mut ends_at = None;
        loop {
            self.turn(self.wait(), &call);
            if self.channels.in_flight.is_closed() {
                let ends_at = *ends_at.get_or_insert_with(|| Instant::now() + PATIENCE);
                if self.channels.in_flight.count() == 0 || Instant::now() >= ends_at {
                    break;
                }
            }
        }
        let left = self.channels.in_flight.take_overdue(Instant::now());
        self.give_up(
            left,
            "this server stops before the cluster's log has decided",
        );
        self.end();
    }

    /// Begins where the database ends.
    pub fn begin(&mut self) {
        self.executor.begin();
        if let Err(failure) = self.executor.begin_following() {
            let reason = format!("its place in the log cannot be read: {failure}");
            self.halt(&LogFailure::Strange(reason));
        }
    }

    /// Ends the connection to the log, and all work.
    pub fn end(&mut self) {
        self.channels.arrivals.end("this server stops");
        self.channels.log.end();
        self.executor.end();
    }

    fn wait(&self) -> Duration {
        if self.executor.has_work() || (!self.events.is_empty() && !self.stuck) {
            return Duration::ZERO;
        }
        self.executor
            .due_in()
            .map_or(WAIT_MAX, |it| it.min(WAIT_MAX))
    }

    /// Waits for events and executes them, then does a slice of the node's own work.
    pub fn turn(&mut self, wait: Duration, call: &Arc<dyn Fn() + Send + Sync>) {
        if self.stuck || self.channels.in_flight.halted().is_some() {
            // Nothing wakes this thread, and nothing needs it soon.
            std::thread::park_timeout(if self.stuck { RETRY } else { WAIT_MAX });
        }
        if !self.stuck && self.channels.in_flight.halted().is_none() {
            match self.channels.log.next(wait) {
                Ok(events) => self.events.extend(events),
                Err(failure) => self.halt(&failure),
            }
        }
        self.execute();
        self.arrive();
        self.end_long_waits();
        self.executor.work(call, false);
        self.report();
    }

    /// Executes the events that have come.
    fn execute(&mut self) {
        while !self.events.is_empty() {
            self.executor.parts.compaction.keep_pace();
            match self.executor.follow(&mut self.events) {
                Ok(settled) => {
                    self.arrive();
                    if std::mem::take(&mut self.stuck) {
                        tracing::info!("records of the cluster's log are executed again");
                    }
                    let configuration = self.executor.configuration();
                    let shared = &self.channels.in_flight.configuration;
                    shared.store(configuration, Ordering::Release);
                    settled.into_iter().for_each(|it| self.settle(it));
                }
                Err(Failure::Level(unknown)) => {
                    return self.give_up_log(LogFailure::Level(unknown));
                }
                Err(failure) => return self.stop_at(&failure),
            }
        }
        self.executor.work_after_writes();
    }

    /// Deals with records that cannot be executed: they are tried again, unless that cannot help.
    fn stop_at(&mut self, failure: &Failure) {
        let is_again = std::mem::replace(&mut self.stuck, true);
        let next = self.events.iter().find_map(|it| match it {
            LogEvent::Record(record) => Some(record.place),
            LogEvent::Reached(_) | LogEvent::Refused { .. } => None,
        });
        // What no node can execute is not this node's damage.
        if failure.is_damage() && next.is_some_and(|it| self.channels.log.is_executed_elsewhere(it))
        {
            self.stuck = false;
            return self.give_up_log(LogFailure::Damaged(failure.to_string()));
        }
        if !is_again {
            tracing::error!(
                %failure,
                "this node executes no records until it can execute the next one; writes wait, \
                 and reads show the state before it"
            );
        }
    }

    /// Ends following, because the next record can never be executed here.
    fn give_up_log(&mut self, failure: LogFailure) {
        self.events.clear();
        self.channels.log.give_up(failure.clone());
        self.halt(&failure);
    }

    /// Tells readers how far this node is.
    fn arrive(&self) {
        let Standing {
            place, position, ..
        } = self.executor.standing();
        self.channels.arrivals.reach(place, position);
    }

    fn settle(&mut self, settled: Settled) {
        let Settled { number, fate } = settled;
        let of_any_part = matches!(fate, Fate::Refused(_));
        let Some(group) = self.channels.in_flight.take(number, of_any_part) else {
            return;
        };
        match fate {
            Fate::Executed { results, position } => {
                let mut results = results.into_iter();
                self.channels
                    .clients
                    .answer(&group, &mut results, Some(position));
                self.end_of(&group);
            }
            Fate::Outdated => {
                let client = group.first().map_or(0, |it| it.client);
                self.channels.queues.of(client).put_back(group);
            }
            Fate::Refused(reason) => {
                let result = unavailable(&reason);
                self.channels
                    .clients
                    .answer(&group, &mut for_all(result), None);
                self.end_of(&group);
            }
        }
    }

    fn end_of(&self, group: &[Submission<C::Ticket>]) {
        self.channels.in_flight.note_end(group);
        let writes = group.iter().flat_map(|it| it.writes.all());
        if writes.into_iter().any(|it| it.is_of_attempts()) {
            self.channels
                .queues
                .first()
                .settle_attempts(self.executor.version());
        }
    }

    /// Ends following: reads go on, writes are refused.
    fn halt(&mut self, failure: &LogFailure) {
        tracing::error!(%failure, "this node no longer follows its cluster: it serves reads only");
        let reason = format!("this node no longer follows its cluster: {failure}");
        self.channels.arrivals.end(&reason);
        // Whether the log has these bundles is unknown, and this node will not learn it.
        let waiting = self.channels.in_flight.halt(reason.clone());
        self.give_up(waiting, &reason);
    }

    /// Ends the wait of clients whose writes have had no place in the log for long.
    fn end_long_waits(&self) {
        let Some(before) = Instant::now().checked_sub(self.channels.patience.undecided) else {
            return;
        };
        let overdue = self.channels.in_flight.take_overdue(before);
        if !overdue.is_empty() {
            let trouble = self.channels.log.health().trouble;
            let reason = trouble.unwrap_or_else(|| "the cluster's log does not answer".to_owned());
            self.give_up(overdue, &reason);
        }
    }

    /// Tells clients that their writes will have no result.
    fn give_up(&self, groups: Vec<Vec<Submission<C::Ticket>>>, reason: &str) {
        for group in groups {
            self.channels.clients.undecided(&group, reason);
            self.end_of(&group);
        }
    }

    fn report(&mut self) {
        if self.reported.is_none_or(|it| it.elapsed() >= REPORT) {
            self.report_now();
        }
    }

    /// Tells the log how far this node is.
    pub fn report_now(&mut self) {
        self.reported = Some(Instant::now());
        self.channels.log.report(self.executor.standing());
    }

    #[cfg(test)]
    pub fn checkpoint(&mut self) {
        let made = self.executor.checkpoint();
        made.expect("the disk works");
    }

    /// Place of the last record in this node's own log.
    #[cfg(test)]
    pub fn logged_place(&self) -> u64 {
        self.executor.logged_place()
    }
}
