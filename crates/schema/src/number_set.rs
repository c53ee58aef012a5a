//! A set of attribute numbers with look-ups in constant time, whatever its size.

use crate::dictionary::AttributeNumber;

/// Numbers of one dictionary: a bit for each, 8 KiB at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberSet {
    words: Vec<u64>,
}

impl NumberSet {
    /// Returns an empty set.
    pub const fn new() -> NumberSet {
        NumberSet { words: Vec::new() }
    }

    /// Returns whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether the set has this number.
    #[inline]
    pub fn contains(&self, number: AttributeNumber) -> bool {
        let word = self.words.get(usize::from(number.0 / 64));
        word.is_some_and(|word| word >> (number.0 % 64) & 1 == 1)
    }
}

impl Extend<AttributeNumber> for NumberSet {
    fn extend<I: IntoIterator<Item = AttributeNumber>>(&mut self, numbers: I) {
        for number in numbers {
            let at = usize::from(number.0 / 64);
            if self.words.len() <= at {
                self.words.resize(at + 1, 0);
            }
            self.words[at] |= 1 << (number.0 % 64);
        }
    }
}

impl FromIterator<AttributeNumber> for NumberSet {
    fn from_iter<I: IntoIterator<Item = AttributeNumber>>(numbers: I) -> NumberSet {
        let mut set = NumberSet::new();
        set.extend(numbers);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_what_was_put_in() {
        let numbers = [1, 63, 64, 65, 4_000, u16::MAX].map(AttributeNumber);
        let set: NumberSet = numbers.into_iter().collect();
        let found = (0..=u16::MAX).map(AttributeNumber);
        let found: Vec<_> = found.filter(|it| set.contains(*it)).collect();
        assert_eq!(found, numbers);
        assert!(!set.is_empty());
        assert!(NumberSet::new().is_empty());
        assert!(!NumberSet::new().contains(AttributeNumber(1)));
    }
}
