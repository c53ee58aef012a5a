//! Repeatable random numbers: every test prints its seed, `PANDO_TEST_SEED` sets it.

use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator (SplitMix64): fast, and equal on every machine.
#[derive(Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Returns a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// Returns a generator with the seed of `PANDO_TEST_SEED`, or else with one from the clock.
    pub fn announced(test: &str) -> Self {
        let seed = match std::env::var("PANDO_TEST_SEED") {
            Ok(text) => text.parse().expect("PANDO_TEST_SEED is a number"),
            Err(_) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                now.map_or(1, |since| since.as_nanos() as u64)
            }
        };
        eprintln!("{test}: again with PANDO_TEST_SEED={seed}");
        Random::new(seed)
    }

    /// Returns any number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// Returns true in `percent` of all calls.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of `things`, which must not be empty.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len() as u64) as usize]
    }

    /// Returns `count` random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.number() as u8).collect()
    }

    /// Returns `count` random letters.
    pub fn word(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| char::from(b'a' + self.below(26) as u8))
            .collect()
    }
}
