//! Very many members of a group: sets of numbers, and how they come out of an export.

use std::io::{self, BufRead, BufReader, Read};

use protocol::put_partial_attribute;

use super::node::PEOPLE;

/// The group whose members are replaced.
pub const GROUP: &str = "cn=big,ou=groups,dc=com";
/// The one that is to take its place.
pub const NEXT: &str = "cn=next,ou=groups,dc=com";

/// A set of people.
#[derive(Clone, PartialEq, Eq)]
pub struct Members {
    bits: Vec<u64>,
    /// How many.
    pub count: u64,
}

impl Members {
    /// Nobody of so many.
    pub fn none(people: u64) -> Members {
        Members {
            bits: vec![0; people as usize / 64 + 1],
            count: 0,
        }
    }

    /// The people, of so many, for whom `wanted` is true.
    pub fn of(people: u64, wanted: impl Fn(u64) -> bool) -> Members {
        let mut members = Members::none(people);
        for number in (1..=people).filter(|it| wanted(*it)) {
            members.insert(number);
        }
        members
    }

    /// The name of a person.
    pub fn name(number: u64) -> String {
        format!("uid=user.{number},{PEOPLE}")
    }

    /// Whether they were not there before.
    fn insert(&mut self, number: u64) -> bool {
        let Some(word) = self.bits.get_mut(number as usize / 64) else {
            return false;
        };
        let bit = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(is_new);
        is_new
    }

    /// Their numbers.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let people = self.bits.len() as u64 * 64;
        (0..people).filter(|it| self.bits[*it as usize / 64] & 1 << (it % 64) != 0)
    }

    /// The attribute `member` with some of them.
    pub fn attribute(numbers: &[u64]) -> Vec<u8> {
        let names: Vec<String> = numbers.iter().map(|it| Members::name(*it)).collect();
        let mut out = Vec::new();
        put_partial_attribute(&mut out, "member", names.iter().map(|it| it.as_bytes()));
        out
    }

    /// The members of each group of an export, of at most so many people.
    pub fn read(export: impl Read, people: u64) -> io::Result<Vec<(String, Members)>> {
        let mut groups: Vec<(String, Members)> = Vec::new();
        let mut lines = BufReader::with_capacity(1 << 20, export);
        let mut line = String::new();
        loop {
            line.clear();
            if lines.read_line(&mut line)? == 0 {
                return Ok(groups);
            }
            let text = line.trim_end();
            if let Some(name) = text.strip_prefix("dn: ") {
                groups.push((name.to_owned(), Members::none(people)));
            }
            let Some(member) = text.strip_prefix("member: ") else {
                continue;
            };
            let number = member
                .strip_prefix("uid=user.")
                .and_then(|it| it.split(',').next());
            let number = number.and_then(|it| it.parse().ok());
            let known = groups.last_mut().zip(number);
            if !known.is_some_and(|((_, members), number)| members.insert(number)) {
                let text = format!("expected a person once, came {member}");
                return Err(io::Error::other(text));
            }
        }
    }
}

/// The members of a new group, in the slices in which it is made.
pub struct Slices {
    numbers: Vec<u64>,
    length: usize,
}

impl Slices {
    /// Slices of such a length.
    pub fn of(members: &Members, length: usize) -> Slices {
        Slices {
            numbers: members.numbers().collect(),
            length,
        }
    }

    /// Each slice.
    pub fn each(&self) -> impl Iterator<Item = &[u64]> {
        self.numbers.chunks(self.length)
    }

    /// How many slices are there whole; nothing when there is a part of one.
    pub fn whole(&self, found: &Members) -> Option<usize> {
        let mut counted = 0;
        for (at, slice) in self.each().enumerate() {
            let there = slice.iter().filter(|it| found.contains(**it)).count();
            counted += there as u64;
            if there != slice.len() {
                return (there == 0 && counted == found.count).then_some(at);
            }
        }
        (counted == found.count).then(|| self.each().count())
    }
}

impl Members {
    fn contains(&self, number: u64) -> bool {
        let word = self.bits.get(number as usize / 64);
        word.is_some_and(|it| it & 1 << (number % 64) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read() {
        let text = format!(
            "dn: {GROUP}\nmember: {}\nmember: {}\n\ndn: {NEXT}\ncn: next\n",
            Members::name(1),
            Members::name(70)
        );
        let groups = Members::read(text.as_bytes(), 100).unwrap();
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].1.numbers().collect::<Vec<_>>(), [1, 70]);
        assert_eq!((groups[1].0.as_str(), groups[1].1.count), (NEXT, 0));
        let twice = format!("{text}member: {0}\nmember: {0}\n", Members::name(3));
        assert!(Members::read(twice.as_bytes(), 100).is_err());
    }

    #[test]
    fn slices_are_whole_or_not() {
        let wanted = Members::of(100, |number| number % 2 == 0);
        let slices = Slices::of(&wanted, 20);
        let up_to = |last: u64| Members::of(100, |number| number % 2 == 0 && number <= last);
        assert_eq!(slices.whole(&up_to(0)), Some(0));
        assert_eq!(slices.whole(&up_to(40)), Some(1));
        assert_eq!(slices.whole(&up_to(42)), None);
        assert_eq!(slices.whole(&wanted), Some(3));
        assert_eq!(slices.whole(&Members::of(100, |number| number == 3)), None);
    }
}
