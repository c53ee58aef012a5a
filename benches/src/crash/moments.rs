//! When to kill: moments spread over the whole of a work, at random within their parts.

use std::io;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Moments in a work that takes so long when it is left alone.
pub struct Moments {
    seed: u64,
    rounds: u32,
}

impl Moments {
    /// As many as there are rounds. The same seed gives the same moments.
    pub fn new(seed: u64, rounds: u32) -> Moments {
        Moments {
            seed: seed | 1,
            rounds,
        }
    }

    /// The moment of a round, from 0: somewhere in its part of the work, or just behind the end.
    pub fn of(&mut self, round: u32, whole: Duration) -> Duration {
        let part = (f64::from(round) + self.fraction()) / f64::from(self.rounds);
        whole.mul_f64(part * 1.05)
    }

    /// Marsaglia's xorshift.
    fn fraction(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Lets a child work for so long; whether it still works then.
pub fn works_for(child: &mut Child, time: Duration) -> io::Result<bool> {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        // Nothing tells when a process ends but asking.
        thread::park_timeout(Duration::from_millis(1));
    }
    Ok(child.try_wait()?.is_none())
}

/// Ends a child at once, unless it has ended.
pub fn end(mut child: Child) -> io::Result<()> {
    if child.try_wait()?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}
