//! A node of a test: an open log, what it has read, and what it has handed over.

use crate::etcd::{Etcd, PATIENCE, wait_for};
use cluster::log::{EtcdLog, EtcdLogSettings, found};
use replica::commit_log::{Bundle, CommitLog, LogEvent, LogFailure, LogRecord, NodeId};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The cluster of all tests; each test has an etcd of its own.
pub(crate) const CLUSTER: [u8; 16] = [0xc1; 16];

/// Begins the cluster in an etcd that was just started.
pub(crate) fn begin(etcd: &Etcd) {
    let settings = settings(etcd, 1);
    wait_for("etcd to begin a cluster", || found(&settings, 1).ok());
}

/// Settings of a node, with times that suit tests.
pub(crate) fn settings(etcd: &Etcd, node: u8) -> EtcdLogSettings {
    let node = NodeId([node; 16]);
    EtcdLogSettings {
        attempt_timeout: Duration::from_millis(500),
        ..EtcdLogSettings::new(vec![etcd.url()], CLUSTER, node)
    }
}

/// A node.
pub(crate) struct Node {
    pub(crate) log: EtcdLog,
    /// All records, in order.
    pub(crate) records: Vec<LogRecord>,
    /// Numbers of refused bundles, with reasons.
    pub(crate) refused: BTreeMap<u64, String>,
    /// The last place read.
    pub(crate) place: u64,
    /// Why the log failed.
    pub(crate) failure: Option<LogFailure>,
    next: u64,
    /// Time after which a bundle that could not be sent is refused.
    pub(crate) write_timeout: Duration,
}

impl Node {
    /// Opens a log.
    pub(crate) fn open(settings: EtcdLogSettings) -> Node {
        let place = settings.from;
        Node {
            log: EtcdLog::open(settings).unwrap(),
            records: Vec::new(),
            refused: BTreeMap::new(),
            place,
            failure: None,
            next: 0,
            write_timeout: Duration::from_secs(30),
        }
    }

    /// Hands a payload over to lane 0 as soon as it is free; the number of its bundle.
    pub(crate) fn submit(&mut self, payload: impl Into<Vec<u8>>) -> u64 {
        let until = Instant::now() + PATIENCE;
        while !self.log.is_free(0) {
            assert!(Instant::now() < until, "lane 0 stays taken");
            self.read(Duration::from_millis(1));
        }
        self.submit_to(0, payload)
    }

    /// Hands a payload over to a free lane.
    pub(crate) fn submit_to(&mut self, lane: u8, payload: impl Into<Vec<u8>>) -> u64 {
        assert!(self.log.is_free(lane), "lane {lane} is taken");
        self.next += 1;
        let payload = payload.into();
        let number = self.next;
        self.log.submit(Bundle {
            number,
            lane,
            payload,
            until: Instant::now() + self.write_timeout,
        });
        number
    }

    /// Reads what has come.
    pub(crate) fn read(&mut self, wait: Duration) {
        match self.log.next(wait) {
            Ok(events) => {
                for event in events {
                    self.take(event);
                }
            }
            Err(failure) => self.failure = Some(failure),
        }
    }

    fn take(&mut self, event: LogEvent) {
        match event {
            LogEvent::Record(record) => {
                assert!(record.place > self.place, "places ascend");
                self.place = record.place;
                self.records.push(record);
            }
            LogEvent::Reached(place) => {
                assert!(place >= self.place, "places ascend");
                self.place = place;
            }
            LogEvent::Refused { number, reason } => {
                let earlier = self.refused.insert(number, reason);
                assert_eq!(earlier, None, "a bundle is refused once");
            }
        }
    }

    /// Reads until something is so.
    pub(crate) fn read_until(&mut self, what: &str, mut is_so: impl FnMut(&Node) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(
                Instant::now() < until,
                "waited in vain for {what}; health {:?}, failure {:?}",
                self.log.health(),
                self.failure
            );
            self.read(Duration::from_millis(20));
        }
    }

    /// Reads until there are this many records.
    pub(crate) fn read_records(&mut self, number: usize) {
        let what = format!("{number} records");
        self.read_until(&what, |it| it.records.len() >= number);
    }

    /// Reads until the log works.
    pub(crate) fn read_until_well(&mut self) {
        self.read_until("a healthy log", |it| it.log.health().trouble.is_none());
    }

    /// The payloads of all records as text, in order.
    pub(crate) fn payloads(&self) -> Vec<String> {
        let text = |it: &LogRecord| String::from_utf8(it.payload.clone()).unwrap();
        self.records.iter().map(text).collect()
    }

    /// The number of a bundle's record, `None` while it has none.
    pub(crate) fn place_of(&self, number: u64) -> Option<u64> {
        let own = |it: &&LogRecord| it.own == Some(number);
        self.records.iter().find(own).map(|it| it.place)
    }
}
