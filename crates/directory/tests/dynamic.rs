//! Dynamic entries (RFC 2589) at moments of a clock that stands still.

mod kit;

use directory::{Clock, Options, SystemClock};
use kit::{ADMIN, Client, PASSWORD, options, success};
use protocol::Scope;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// 22 November 2026, in microseconds.
const DAY_US: u64 = 1_795_305_600_000_000;

/// A clock that is set by hand.
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn uuid(&self) -> [u8; 16] {
        SystemClock.uuid()
    }
}

#[test]
fn the_time_to_live_that_was_asked_for_is_read_at_once() {
    let hands = Arc::new(Hands(AtomicU64::new(DAY_US)));
    let still = Options {
        clock: Arc::clone(&hands) as Arc<dyn Clock>,
        ..options()
    };
    let mut client = Client::admin().reopen_with(&still);
    success(&client.bind(ADMIN, PASSWORD));
    for microseconds in [0, 1, 499_999, 500_000, 999_999] {
        let now_us = DAY_US + 10_000_000 + microseconds;
        hands.0.store(now_us, Ordering::Relaxed);
        let name = format!("cn=m{microseconds},dc=example,dc=com");
        let attributes: [(&str, &[&str]); 2] = [
            ("objectClass", &["device", "dynamicObject"]),
            ("entryTtl", &["600"]),
        ];
        success(&client.add(&name, &attributes));
        let ttl = |client: &mut Client, later_us: u64| -> u64 {
            hands.0.store(now_us + later_us, Ordering::Relaxed);
            let all = "(objectClass=*)";
            let found = client.search(&name, Scope::BaseObject, all, &["entryTtl"]);
            found.values("entryTtl")[0].parse().expect("a number")
        };
        assert_eq!(ttl(&mut client, 0), 600, "{microseconds}");
        assert!(
            matches!(ttl(&mut client, 1_500_000), 598 | 599),
            "{microseconds}"
        );
        let ttl_s = ttl(&mut client, 599_000_000);
        assert!(matches!(ttl_s, 1 | 2), "{microseconds}: {ttl_s}");
        hands.0.store(now_us, Ordering::Relaxed);
    }
}
