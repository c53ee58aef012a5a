//! Sets of attribute numbers and attribute types that a request selects.
//!
//! A client may name an attribute any number of times; the set contains it once, and tests
//! membership in constant time.

use schema::{AttributeNumber, TypeId};
use std::marker::PhantomData;

/// Maximum number of members that are compared one by one; larger sets use a bit table up to the
/// greatest number.
const LISTED_MAX: usize = 8;

/// A type that a set can contain; each of its values has a small number.
pub trait Numbered: Copy {
    /// Number of the type.
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
pub struct Selected<T> {
    numbers: Numbers,
    of: PhantomData<T>,
}

/// Representation of a set.
#[derive(Debug, Clone)]
enum Numbers {
    /// A small set: the first `count` numbers of the array.
    Listed {
        count: u8,
        numbers: [u16; LISTED_MAX],
    },
    /// A large set: one bit for each number.
    Bits(Vec<u64>),
}

impl<T> Default for Selected<T> {
    fn default() -> Self {
        Selected {
            numbers: Numbers::Listed {
                count: 0,
                numbers: [0; LISTED_MAX],
            },
            of: PhantomData,
        }
    }
}

impl<T: Numbered> Selected<T> {
    /// Returns whether the set has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self.numbers, Numbers::Listed { count: 0, .. })
    }

    /// Returns whether the set has this member.
    #[inline]
    pub fn contains(&self, it: T) -> bool {
        match &self.numbers {
            Numbers::Listed { count, numbers } => {
                let listed = numbers.iter().take(usize::from(*count));
                listed.into_iter().any(|listed| *listed == it.number())
            }
            Numbers::Bits(bits) => has_bit(bits, it.number()),
        }
    }

    /// Adds a member; does nothing if the set contains it.
    #[inline]
    pub fn insert(&mut self, it: T) {
        if self.contains(it) {
            return;
        }
        if let Numbers::Listed { count, numbers } = &mut self.numbers
            && let Some(free) = numbers.get_mut(usize::from(*count))
        {
            *free = it.number();
            *count += 1;
            return;
        }
        self.numbers.set_bit(it.number());
    }
}

impl Numbers {
    #[cold]
    fn set_bit(&mut self, number: u16) {
        match self {
            Numbers::Bits(bits) => set_bit(bits, number),
            Numbers::Listed { numbers, .. } => {
                let mut bits = Vec::new();
                numbers.iter().for_each(|it| set_bit(&mut bits, *it));
                set_bit(&mut bits, number);
                *self = Numbers::Bits(bits);
            }
        }
    }
}

fn has_bit(bits: &[u64], number: u16) -> bool {
    let (word, bit) = place(number);
    bits.get(word).is_some_and(|word| word & bit != 0)
}

fn set_bit(bits: &mut Vec<u64>, number: u16) {
    let (word, bit) = place(number);
    if bits.len() <= word {
        bits.resize(word + 1, 0);
    }
    bits[word] |= bit;
}

impl<T: Numbered> Extend<T> for Selected<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, all: I) {
        all.into_iter().for_each(|it| self.insert(it));
    }
}

/// Returns the index of the word in the table, and the bit in it.
fn place(number: u16) -> (usize, u64) {
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
            match &set.numbers {
                Numbers::Listed { .. } => assert!(usize::from(count) <= LISTED_MAX),
                Numbers::Bits(bits) => assert!(bits.len() <= 1_024),
            }
        }
    }
}
