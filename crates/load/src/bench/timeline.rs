//! Milliseconds in which an operation was carried out, for the longest time without one.

use std::time::Duration;

const NS_PER_MS: i64 = 1_000_000;
const BITS: usize = u64::BITS as usize;

/// One bit for each millisecond since the beginning of the load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    words: Vec<u64>,
}

impl Timeline {
    /// Notes that an operation was carried out so long after the beginning of the load.
    pub fn mark(&mut self, since_begin_ns: i64) {
        let millisecond = (since_begin_ns / NS_PER_MS).max(0) as usize;
        let word = millisecond / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (millisecond % BITS);
    }

    /// Adds what another thread has noted.
    pub fn merge(&mut self, other: &Timeline) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (own, others) in self.words.iter_mut().zip(&other.words) {
            *own |= others;
        }
    }

    /// Returns the longest time between two marks, or between the last one and `until`. Zero
    /// without any mark.
    pub fn longest_gap(&self, until: Duration) -> Duration {
        let (mut last, mut longest) = (None, 0);
        for (at, word) in self.words.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let millisecond = at * BITS + rest.trailing_zeros() as usize;
                longest = longest.max(last.map_or(0, |last| millisecond - last));
                last = Some(millisecond);
                rest &= rest - 1;
            }
        }
        let end = until.as_millis() as usize;
        longest = longest.max(last.map_or(0, |last| end.saturating_sub(last)));
        Duration::from_millis(longest as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_found_over_all_threads() {
        let ms = |it: i64| it * NS_PER_MS;
        let (mut one, mut two) = (Timeline::default(), Timeline::default());
        assert_eq!(one.longest_gap(Duration::from_secs(9)), Duration::ZERO);
        one.mark(ms(10));
        one.mark(ms(510));
        assert_eq!(
            one.longest_gap(Duration::from_millis(600)),
            Duration::from_millis(500)
        );
        two.mark(ms(300));
        two.mark(ms(1_000));
        one.merge(&two);
        assert_eq!(
            one.longest_gap(Duration::from_millis(1_001)),
            Duration::from_millis(490)
        );
        let at_the_end = one.longest_gap(Duration::from_secs(3));
        assert_eq!(at_the_end, Duration::from_secs(2));
    }
}
