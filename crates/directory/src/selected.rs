//! Sets of attribute numbers and attribute types that a request selects.
//!
//! A client may name an attribute as often as it likes; a set holds it once, and says in constant
//! time whether it does.

use schema::{AttributeNumber, TypeId};
use smallvec::SmallVec;

/// So many members are compared one after the other; more are bits of a table, one for each number
/// up to the greatest.
const LISTED_MAX: usize = 8;

/// What a set can hold: something with a small number of its own.
pub(crate) trait Numbered: Copy + PartialEq {
    fn number(self) -> u16;
}

impl Numbered for AttributeNumber {
    #[inline]
    fn number(self) -> u16 {
        self.0
    }
}

impl Numbered for TypeId {
    #[inline]
    fn number(self) -> u16 {
        self.0
    }
}

/// A set of attribute numbers or attribute types.
#[derive(Debug, Clone)]
pub(crate) struct Selected<T> {
    /// The members, while they are few.
    listed: SmallVec<[T; LISTED_MAX]>,
    /// One bit for each number; empty while the members are few.
    bits: Vec<u64>,
}

impl<T> Default for Selected<T> {
    fn default() -> Self {
        Selected {
            listed: SmallVec::new(),
            bits: Vec::new(),
        }
    }
}

impl<T: Numbered> Selected<T> {
    /// Whether the set has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.bits.is_empty()
    }

    /// Whether the set has this member.
    #[inline]
    pub fn contains(&self, it: T) -> bool {
        match self.bits.is_empty() {
            true => self.listed.contains(&it),
            false => self.has_bit(it),
        }
    }

    fn has_bit(&self, it: T) -> bool {
        let (word, bit) = place(it);
        self.bits.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds a member, which may be there already.
    #[inline]
    pub fn insert(&mut self, it: T) {
        if self.contains(it) {
            return;
        }
        if self.bits.is_empty() && self.listed.len() < LISTED_MAX {
            self.listed.push(it);
            return;
        }
        for it in std::mem::take(&mut self.listed) {
            self.set_bit(it);
        }
        self.set_bit(it);
    }

    #[cold]
    fn set_bit(&mut self, it: T) {
        let (word, bit) = place(it);
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= bit;
    }
}

impl<T: Numbered> Extend<T> for Selected<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, all: I) {
        all.into_iter().for_each(|it| self.insert(it));
    }
}

/// The word of the table and the bit in it.
fn place(it: impl Numbered) -> (usize, u64) {
    let number = it.number();
    (usize::from(number / 64), 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_there_once_however_many_they_are() {
        let mut set = Selected::default();
        assert!(set.is_empty() && !set.contains(AttributeNumber(0)));
        for count in [3, 8, 9, 500, 65_535_u16] {
            set.extend((0..count).map(AttributeNumber));
            set.extend((0..count).map(AttributeNumber));
            assert!(!set.is_empty());
            for number in [0, 2, count - 1] {
                assert!(set.contains(AttributeNumber(number)), "{number} of {count}");
            }
            assert!(!set.contains(AttributeNumber(count)), "{count}");
            assert!(set.listed.len() <= LISTED_MAX && set.bits.len() <= 1_024);
        }
    }
}
