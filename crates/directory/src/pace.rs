//! Limits how often the log repeats a message that clients can cause at will.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval in which lines are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Rate limit of one kind of line.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Maximum number of lines in each interval.
    lines_max: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Start of the current interval; `None` before the first line.
    began: Option<Instant>,
    /// Number of lines written in it.
    lines: u32,
    /// Number of lines left out since the last one written.
    left_out: u64,
}

impl Pace {
    /// A rate limit of `lines_max` lines in each second.
    pub const fn new(lines_max: u32) -> Pace {
        let state = State {
            began: None,
            lines: 0,
            left_out: 0,
        };
        Pace {
            lines_max,
            state: Mutex::new(state),
        }
    }

    /// Whether a line may be written at `now`: the number of lines left out before it; `None` if
    /// this one is left out too.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |began| now.saturating_duration_since(began) >= INTERVAL;
        if state.began.is_none_or(is_over) {
            (state.began, state.lines) = (Some(now), 0);
        }
        if state.lines == self.lines_max {
            state.left_out += 1;
            return None;
        }
        state.lines += 1;
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_pace_are_counted() {
        let (pace, begin) = (Pace::new(2), Instant::now());
        let admitted: Vec<_> = (0..5).map(|_| pace.admit(begin)).collect();
        assert_eq!(admitted, [Some(0), Some(0), None, None, None]);
        assert_eq!(pace.admit(begin + INTERVAL), Some(3));
        assert_eq!(pace.admit(begin + INTERVAL), Some(0));
        assert_eq!(pace.admit(begin + INTERVAL), None);
    }
}
