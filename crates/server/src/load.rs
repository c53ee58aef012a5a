//! How long requests wait for their serving thread, and what is refused when it is too long.
//!
//! A probe is a task that is woken when a round was full, behind all tasks that are ready: the time
//! until it runs is the time for which a request that comes now would wait. A thread without full
//! rounds measures nothing: no request waits for more than the turns of a round.
//!
//! Requests are refused only if probe after probe is late, because a queue that is gone by itself
//! harms nobody, and refused until probes have been in time as often.

use std::time::{Duration, Instant};

use policy::pressure::Pressure;

/// Number of late probes after which searches of anonymous clients are refused …
const ANONYMOUS: u8 = 2;
/// … and those of others, if probes are late even so.
const USERS: u8 = 5;
/// Minimum time between two log lines.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// The load of a serving thread.
#[derive(Debug, Default)]
pub struct Load {
    /// When the probe that is under way began; `None` if there is none.
    began: Option<Instant>,
    /// Late probes, less those that were in time after them.
    late: u8,
    /// Time of the last log line.
    told: Option<Instant>,
}

impl Load {
    /// Begins a probe; false if one is under way.
    pub fn begin(&mut self, now: Instant) -> bool {
        let none = self.began.is_none();
        self.began.get_or_insert(now);
        none
    }

    /// Ends the probe, which is late if it took `delay_max` or longer; zero for no limit.
    pub fn end(&mut self, now: Instant, delay_max: Duration) {
        let Some(began) = self.began.take() else {
            return;
        };
        let delay = now.saturating_duration_since(began);
        let before = self.pressure();
        self.late = match !delay_max.is_zero() && delay >= delay_max {
            true => (self.late + 1).min(USERS + ANONYMOUS),
            false => self.late.saturating_sub(1),
        };
        let is_new = self.pressure() > before;
        let silent = self.told.map(|it| now.saturating_duration_since(it));
        if is_new && silent.is_none_or(|it| it >= TOLD_EVERY) {
            self.told = Some(now);
            let (delay_ms, refused) = (delay.as_millis() as u64, self.pressure());
            tracing::warn!(
                delay_ms,
                ?refused,
                "requests wait too long for their thread"
            );
        }
    }

    /// The thread has nothing to do.
    pub fn rest(&mut self) {
        self.late = 0;
    }

    /// The requests that are to be refused.
    pub fn pressure(&self) -> Pressure {
        match self.late {
            0..ANONYMOUS => Pressure::None,
            ANONYMOUS..USERS => Pressure::Anonymous,
            USERS.. => Pressure::Users,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_millis(100);

    /// The pressure after a probe that took so long.
    fn probe(load: &mut Load, took_ms: u64) -> Pressure {
        let began = Instant::now();
        assert!(load.begin(began));
        assert!(!load.begin(began + MAX), "one at a time");
        load.end(began + Duration::from_millis(took_ms), MAX);
        load.pressure()
    }

    #[test]
    fn pressure_grows_while_probes_are_late() {
        use Pressure::{Anonymous, None, Users};
        let mut load = Load::default();
        let late: Vec<Pressure> = (0..6).map(|_| probe(&mut load, 100)).collect();
        assert_eq!(late, [None, Anonymous, Anonymous, Anonymous, Users, Users]);
        let in_time: Vec<Pressure> = (0..5).map(|_| probe(&mut load, 99)).collect();
        assert_eq!(in_time, [Users, Anonymous, Anonymous, Anonymous, None]);
    }

    #[test]
    fn one_late_probe_refuses_nothing() {
        let mut load = Load::default();
        for took_ms in [500, 10, 500, 10, 500, 10] {
            assert_eq!(probe(&mut load, took_ms), Pressure::None);
        }
    }

    #[test]
    fn a_thread_at_rest_refuses_nothing() {
        let mut load = Load::default();
        for _ in 0..9 {
            probe(&mut load, 100);
        }
        load.rest();
        assert_eq!(load.pressure(), Pressure::None);
    }

    #[test]
    fn without_a_limit_no_probe_is_late() {
        let (mut load, began) = (Load::default(), Instant::now());
        for _ in 0..9 {
            load.begin(began);
            load.end(began + Duration::from_secs(60), Duration::ZERO);
        }
        assert_eq!(load.pressure(), Pressure::None);
    }
}
