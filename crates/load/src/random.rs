//! Random numbers of generator and load jobs: fast, seedable, equal on every machine.
//!
//! One multiplication per eight bytes (the wyrand step). Not for secrets.

/// A generator with 64 bits of state; a copy continues the sequence of the original.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u64) -> Random {
        Random {
            state: mix(seed, 0x9e37_79b9_7f4a_7c15),
        }
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        (product >> 64) as u64 ^ product as u64
    }

    /// Returns a number below `bound`, which must not be 0; the bias is below `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in `low..=high`.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.wrapping_sub(low) as u64;
        let offset = if span == u64::MAX {
            self.bits()
        } else {
            self.below(span + 1)
        };
        low.wrapping_add(offset as i64)
    }

    /// Returns a number in 0.0..1.0.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Appends `count` random octets.
    pub fn octets(&mut self, out: &mut Vec<u8>, count: usize) {
        let start = out.len();
        out.resize(start + count, 0);
        let mut chunks = out[start..].chunks_exact_mut(8);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&self.bits().to_le_bytes());
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            let last = self.bits().to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Appends `count` octets drawn from `set` (1 to 65,536 of them), four for each multiplication.
    /// No member is favoured by more than `set.len()` / 65,536 of its share.
    pub fn characters(&mut self, out: &mut Vec<u8>, set: &[u8], count: usize) {
        let size = set.len() as u64;
        let pick = |lane: u64| set[(((lane & 0xffff) * size) >> 16) as usize];
        let start = out.len();
        out.resize(start + count, 0);
        let mut chunks = out[start..].chunks_exact_mut(4);
        for chunk in &mut chunks {
            let bits = self.bits();
            chunk[0] = pick(bits);
            chunk[1] = pick(bits >> 16);
            chunk[2] = pick(bits >> 32);
            chunk[3] = pick(bits >> 48);
        }
        let bits = self.bits();
        for (lane, byte) in chunks.into_remainder().iter_mut().enumerate() {
            *byte = pick(bits >> (16 * lane));
        }
    }
}

/// Mixes two numbers into one that looks random (a splitmix64 finish); used to key sequences by
/// path.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a
        .rotate_left(25)
        .wrapping_add(b.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns a key for `text`.
pub(crate) fn key_of(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |key, byte| mix(key, u64::from(byte)))
}

/// Appends a UUID of version 4 (RFC 9562 §5.4).
pub(crate) fn put_uuid(out: &mut Vec<u8>, random: &mut Random) {
    let high = random.bits() & !0xf000 | 0x4000;
    let low = random.bits() & !(0b11 << 62) | 0b10 << 62;
    let bits = u128::from(high) << 64 | u128::from(low);
    for nibble in (0..32).rev() {
        if matches!(nibble, 23 | 19 | 15 | 11) {
            out.push(b'-');
        }
        out.push(b"0123456789abcdef"[(bits >> (4 * nibble)) as usize & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_range_and_reach_the_ends() {
        let mut random = Random::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[(random.between(-3, 3) + 3) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
        random.between(i64::MIN, i64::MAX);
        assert_eq!(random.between(5, 5), 5);
    }

    #[test]
    fn characters_are_evenly_drawn() {
        let mut out = Vec::new();
        Random::new(7).characters(&mut out, b"0123456789", 100_003);
        assert_eq!(out.len(), 100_003);
        for digit in b'0'..=b'9' {
            let count = out.iter().filter(|&&byte| byte == digit).count();
            assert!((9_500..10_500).contains(&count), "{digit}: {count}");
        }
    }

    #[test]
    fn a_copy_continues_the_same_sequence() {
        let mut one = Random::new(3);
        let mut two = one;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        one.octets(&mut a, 1_001);
        two.octets(&mut b, 1_001);
        assert_eq!(a, b);
        assert_eq!(a.len(), 1_001);
    }
}
