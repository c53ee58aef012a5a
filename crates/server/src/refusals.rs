//! Logs connections that were refused, or ended for slowness: one line for each interval, with the
//! number of them, however often clients try.

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Minimum time between two lines of one kind.
const INTERVAL: Duration = Duration::from_secs(10);

/// Refusals of one kind.
#[derive(Debug, Default)]
struct Kind {
    said: Option<Instant>,
    /// Number of refusals since the last line.
    count: u64,
    /// Reason, and address of the last one.
    why: String,
    address: Option<IpAddr>,
}

/// Refused connections.
#[derive(Debug, Default)]
pub struct Refusals {
    /// Refused by a limit, or because the peer is none that the listener is for.
    limit: Kind,
    /// Refused because the system opens no more files.
    system: Kind,
    /// Handshakes that failed because of the client's certificate.
    certificate: Kind,
    /// Connections ended because their clients sent or read too slowly.
    slow: Kind,
}

impl Refusals {
    /// Records a connection refused by the server.
    pub fn limit(&mut self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.limit.note(why, address);
        self.tell(Instant::now());
    }

    /// Records a connection that the system could not provide.
    pub fn system(&mut self, why: &dyn fmt::Display) {
        self.system.note(why, None);
        self.tell(Instant::now());
    }

    /// Records a handshake that failed because of the client's certificate.
    pub fn certificate(&mut self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.certificate.note(why, address);
        self.tell(Instant::now());
    }

    /// Records a connection that is ended because its client is too slow.
    pub fn slow(&mut self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.slow.note(why, address);
        self.tell(Instant::now());
    }

    /// Logs the lines that are due; returns the time until the next one, if any.
    pub fn tell(&mut self, now: Instant) -> Option<Duration> {
        if let Some((count, Kind { why, address, .. })) = self.limit.due(now) {
            tracing::warn!(refused = count, last_address = ?address, "connections refused: {why}");
        }
        if let Some((count, Kind { why, .. })) = self.system.due(now) {
            tracing::warn!(times = count, "cannot accept connections: {why}");
        }
        if let Some((count, Kind { why, address, .. })) = self.certificate.due(now) {
            tracing::warn!(
                refused = count,
                last_address = ?address,
                "certificates of clients refused: {why}"
            );
        }
        if let Some((count, Kind { why, address, .. })) = self.slow.due(now) {
            tracing::warn!(closed = count, last_address = ?address, "slow clients: {why}");
        }
        let kinds = [&self.limit, &self.system, &self.certificate, &self.slow];
        kinds
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
        // Formatted only once in each interval, because a client may try in a loop.
        if self.count == 1 {
            self.why = why.to_string();
        }
    }

    /// Time until the next line may be logged.
    fn wait(&self, now: Instant) -> Duration {
        let silent = self.said.map(|it| now.saturating_duration_since(it));
        silent.map_or(Duration::ZERO, |it| INTERVAL.saturating_sub(it))
    }

    /// The number to log now, if a line is due; resets the count.
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
