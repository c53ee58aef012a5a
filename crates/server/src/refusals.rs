//! What the log hears about connections that were not taken: once for each interval, with their
//! number, however many clients try again and again.

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The shortest time between two such lines of the same kind.
const INTERVAL: Duration = Duration::from_secs(10);

/// What is to be said of one kind.
#[derive(Debug, Default)]
struct Kind {
    said: Option<Instant>,
    /// Refused since then.
    count: u64,
    /// Why, and from where the last one came.
    why: String,
    address: Option<IpAddr>,
}

/// Connections that were not taken.
#[derive(Debug, Default)]
pub struct Refusals {
    /// A limit of ours is reached, or what came is not what the listener is for.
    limit: Kind,
    /// The system opens no more files.
    system: Kind,
}

impl Refusals {
    /// A connection was refused.
    pub fn limit(&mut self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.limit.note(why, address);
        self.tell(Instant::now());
    }

    /// The system gave no connection.
    pub fn system(&mut self, why: &dyn fmt::Display) {
        self.system.note(why, None);
        self.tell(Instant::now());
    }

    /// Logs what is to be said now; returns after how long there is more to say, if there is.
    pub fn tell(&mut self, now: Instant) -> Option<Duration> {
        if let Some((count, Kind { why, address, .. })) = self.limit.due(now) {
            tracing::warn!(refused = count, last_address = ?address, "connections refused: {why}");
        }
        if let Some((count, Kind { why, .. })) = self.system.due(now) {
            tracing::warn!(times = count, "cannot accept connections: {why}");
        }
        [&self.limit, &self.system]
            .into_iter()
            .filter(|it| it.count > 0)
            .map(|it| it.wait(now))
            .min()
    }
}

impl Kind {
    fn note(&mut self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.count += 1;
        self.address = address;
        // A client that tries again in a loop makes no text that nobody reads.
        if self.count == 1 {
            self.why = why.to_string();
        }
    }

    /// How long to be silent.
    fn wait(&self, now: Instant) -> Duration {
        let silent = self.said.map(|it| now.saturating_duration_since(it));
        silent.map_or(Duration::ZERO, |it| INTERVAL.saturating_sub(it))
    }

    /// The number to say now; counting begins again.
    fn due(&mut self, now: Instant) -> Option<(u64, &Kind)> {
        if self.count == 0 || !self.wait(now).is_zero() {
            return None;
        }
        let count = std::mem::take(&mut self.count);
        self.said = Some(now);
        Some((count, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_said_once_for_an_interval() {
        let (mut kind, begin) = (Kind::default(), Instant::now());
        assert!(kind.due(begin).is_none());
        kind.note(&"full", None);
        assert_eq!(kind.due(begin).map(|it| it.0), Some(1));
        for _ in 0..5 {
            kind.note(&"full", None);
        }
        assert!(kind.due(begin + INTERVAL / 2).is_none());
        assert_eq!(kind.wait(begin + INTERVAL / 2), INTERVAL / 2);
        assert_eq!(kind.due(begin + INTERVAL).map(|it| it.0), Some(5));
        assert!(kind.due(begin + INTERVAL * 3).is_none());
    }

    #[test]
    fn what_is_left_to_say_is_waited_for() {
        let (mut refusals, begin) = (Refusals::default(), Instant::now());
        assert_eq!(refusals.tell(begin), None);
        refusals.limit.note(&"full", None);
        assert_eq!(refusals.tell(begin), None);
        refusals.limit.note(&"full", None);
        refusals.system.note(&"no files", None);
        assert_eq!(refusals.tell(begin + INTERVAL / 4), Some(INTERVAL * 3 / 4));
        assert_eq!(refusals.tell(begin + INTERVAL), None);
    }
}
