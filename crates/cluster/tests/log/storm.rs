//! Everything at once, by seed: lost questions and replies, cut connections, killed etcd, restarted
//! nodes and trimming, while all nodes write.

use crate::etcd::Etcd;
use crate::node::{Node, begin, settings};
use crate::proxy::Proxy;
use cluster::log::{EtcdLogSettings, Trimming};
use replica::commit_log::{CommitLog, LogRecord, Standing};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Random numbers by seed, SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// Prints the seed when the test fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            // Where not even that can be written, nobody reads it.
            let _ = writeln!(std::io::stderr(), "PANDO_SEED={seed} repeats the storm");
        }
    }
}

/// A node that writes until told to stop, and is started anew now and then.
struct Writer<'a> {
    id: u8,
    proxy: &'a Proxy,
    etcd_settings: EtcdLogSettings,
    random: Random,
    /// Payloads that it handed over, by their text; `true` for what it knows to be in the log.
    written: BTreeMap<String, bool>,
    /// Payloads that it knows not to be in the log.
    refused: Vec<String>,
    /// All records, over all its processes.
    records: Vec<LogRecord>,
}

impl Writer<'_> {
    /// One process of the node.
    fn live(&mut self, stop: &AtomicBool) {
        let from = self.records.last().map_or(0, |it| it.place);
        let mut node = Node::open(EtcdLogSettings {
            endpoints: vec![self.proxy.url()],
            from,
            ..self.etcd_settings.clone()
        });
        let mut texts = BTreeMap::new();
        let until = Instant::now() + Duration::from_millis(500 + self.random.below(2000));
        while Instant::now() < until && !stop.load(Ordering::SeqCst) {
            if node.log.is_free(0) {
                let text = format!("{}:{}", self.id, self.written.len());
                texts.insert(node.submit_to(0, text.clone()), text.clone());
                self.written.insert(text, false);
            }
            node.read(Duration::from_millis(5));
            assert_eq!(node.failure, None);
            node.log.report(Standing {
                place: node.place,
                synced_place: node.records.last().map_or(from, |it| it.place),
                ..Standing::default()
            });
        }
        for record in &node.records {
            if let Some(number) = record.own {
                assert_eq!(record.payload, texts[&number].as_bytes());
                self.written.insert(texts[&number].clone(), true);
            }
        }
        let refused = node.refused.keys().map(|it| texts[it].clone());
        self.refused.extend(refused);
        self.records.append(&mut node.records);
    }
}

#[test]
fn a_storm_loses_and_doubles_nothing() {
    let seed = std::env::var("PANDO_SEED")
        .ok()
        .and_then(|it| it.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let _told = Seed(seed);
    let mut etcd = Etcd::start(&[]);
    begin(&etcd);
    let proxies = [1, 2, 3].map(|_| Proxy::before(etcd.port()));
    // Nothing is kept for nodes that are not known yet.
    for id in 1..=3 {
        Node::open(settings(&etcd, id)).read_until_well();
    }
    let stop = AtomicBool::new(false);
    let mut writers: Vec<Writer> = (1..=3)
        .zip(&proxies)
        .map(|(id, proxy)| Writer {
            id,
            proxy,
            etcd_settings: EtcdLogSettings {
                attempt_timeout: Duration::from_millis(200),
                report_every: Duration::from_millis(100),
                trimming: Trimming {
                    every: Duration::from_millis(100),
                    ..Trimming::default()
                },
                ..settings(&etcd, id)
            },
            random: Random(seed + u64::from(id)),
            written: BTreeMap::new(),
            refused: Vec::new(),
            records: Vec::new(),
        })
        .collect();
    std::thread::scope(|scope| {
        for writer in &mut writers {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    writer.live(stop);
                }
            });
        }
        let mut random = Random(seed);
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            std::thread::park_timeout(Duration::from_millis(random.below(300)));
            let proxy = &proxies[random.below(3) as usize];
            match random.below(16) {
                0 | 1 => proxy.set_deaf(true),
                2 | 3 => proxy.set_mute(true),
                4 => proxy.set_closed(true),
                5 => {
                    etcd.kill();
                    etcd.run();
                }
                _ => {
                    proxy.set_deaf(false);
                    proxy.set_mute(false);
                    proxy.set_closed(false);
                }
            }
        }
        stop.store(true, Ordering::SeqCst);
    });
    judge(&etcd, &writers);
}

/// Compares what all have seen with what they were told.
fn judge(etcd: &Etcd, writers: &[Writer<'_>]) {
    let last = writers.iter().max_by_key(|it| it.records.len()).unwrap();
    let from = last.records.last().map_or(0, |it| it.place);
    // The rest, by a node that reaches etcd without a proxy.
    let mut rest = Node::open(EtcdLogSettings {
        from,
        ..settings(etcd, 9)
    });
    rest.submit("end");
    rest.read_until("the end", |it| it.payloads().contains(&"end".to_owned()));
    let place = |it: &LogRecord| it.place;
    let all: Vec<_> = last.records.iter().chain(&rest.records).collect();
    let times = |text: &str| {
        let same = all.iter().filter(|it| it.payload == text.as_bytes());
        same.count()
    };
    let mut known = 0;
    for writer in writers {
        for (it, seen) in all.iter().zip(&writer.records) {
            assert_eq!((it.place, &it.payload), (place(seen), &seen.payload));
        }
        for (text, in_log) in &writer.written {
            assert!(times(text) <= 1, "{text} is doubled");
            assert!(!in_log || times(text) == 1, "{text} is lost");
            known += usize::from(*in_log);
        }
        for text in &writer.refused {
            assert_eq!(times(text), 0, "{text} was refused and is in the log");
        }
    }
    assert!(known > 0);
}
