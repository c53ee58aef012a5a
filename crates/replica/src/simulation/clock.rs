//! The clock of a simulated node: its time moves when the simulation says so, its UUIDs come from
//! the seed.

use super::random::Random;
use crate::clock::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// 2026-01-01T00:00:00Z in microseconds since 1970.
pub(super) const START_US: u64 = 1_767_225_600_000_000;

#[derive(Debug)]
pub(super) struct SimulatedClock {
    now_us: AtomicU64,
    random: Mutex<Random>,
}

impl SimulatedClock {
    pub fn new(random: Random) -> SimulatedClock {
        SimulatedClock {
            now_us: AtomicU64::new(START_US),
            random: Mutex::new(random),
        }
    }

    pub fn advance(&self, us: u64) {
        self.now_us.fetch_add(us, Ordering::Relaxed);
    }

    /// Sets the clock back, as an administrator may do with a machine's clock.
    pub fn set_back(&self, us: u64) {
        self.now_us.fetch_sub(us, Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now_us(&self) -> u64 {
        self.now_us.load(Ordering::Relaxed)
    }

    fn uuid(&self) -> [u8; 16] {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random.next().to_le_bytes());
        bytes[8..].copy_from_slice(&random.next().to_le_bytes());
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        bytes
    }
}
