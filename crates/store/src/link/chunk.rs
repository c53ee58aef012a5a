//! A chunk of a set: the members whose ids agree in all but their low 13 bits.
//!
//! Up to 512 members stand as sorted numbers, more as a bitmap of 1,024 bytes, so that a chunk
//! always fits into a leaf page and changing one member rewrites at most that much.

use crate::error::Error;

/// Number of low bits of an id that a chunk distinguishes.
pub(crate) const BITS: u32 = 13;
/// Number of ids in a chunk at most.
const IDS: usize = 1 << BITS;
/// First byte of a chunk of sorted numbers.
const LIST: u8 = 1;
/// First byte of a chunk with a bitmap.
const BITMAP: u8 = 2;
/// Bytes of a bitmap.
const BITMAP_BYTES: usize = IDS / 8;
/// Number of members up to which a list is not longer than a bitmap.
const LISTED_MAX: usize = BITMAP_BYTES / 2;

/// A view of a chunk's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunk<'a> {
    List(&'a [[u8; 2]]),
    Bitmap(&'a [u8; BITMAP_BYTES]),
}

impl<'a> Chunk<'a> {
    /// Returns a view, checked as far as finding members needs; [`Chunk::check`] does the rest.
    pub fn parse(bytes: &'a [u8]) -> Result<Chunk<'a>, Error> {
        match bytes.split_first() {
            Some((&LIST, rest)) => match rest.as_chunks::<2>() {
                (members, []) if (1..=LISTED_MAX).contains(&members.len()) => {
                    Ok(Chunk::List(members))
                }
                _ => Err(damaged("a list has an odd length")),
            },
            Some((&BITMAP, rest)) => match rest.try_into() {
                Ok(bits) => Ok(Chunk::Bitmap(bits)),
                Err(_) => Err(damaged("a bitmap has another length")),
            },
            Some((&found, _)) => Err(Error::Format {
                what: "a chunk of links",
                found: found.into(),
                expected: BITMAP.into(),
            }),
            None => Err(damaged("a chunk is empty")),
        }
    }

    /// Fails unless the chunk is as [`encode`] writes it: sorted, and in the shorter form.
    pub fn check(&self) -> Result<(), Error> {
        let sound = match self {
            Chunk::List(list) => {
                let numbers = list.iter().map(|it| u16::from_le_bytes(*it));
                numbers.clone().is_sorted_by(|a, b| a < b)
                    && numbers.max().is_some_and(|it| usize::from(it) < IDS)
            }
            Chunk::Bitmap(_) => self.len() > LISTED_MAX,
        };
        match sound {
            true => Ok(()),
            false => Err(damaged("a chunk is not in order")),
        }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        match self {
            Chunk::List(list) => list.len(),
            Chunk::Bitmap(bits) => bits.iter().map(|it| it.count_ones() as usize).sum(),
        }
    }

    /// Returns whether the chunk has a member.
    pub fn contains(&self, low: u16) -> bool {
        match self {
            Chunk::List(list) => list
                .binary_search_by_key(&low, |it| u16::from_le_bytes(*it))
                .is_ok(),
            Chunk::Bitmap(bits) => bits
                .get(usize::from(low) / 8)
                .is_some_and(|it| it & (1 << (low % 8)) != 0),
        }
    }

    /// Appends the members from `from` on, ascending.
    pub fn members_from(&self, from: u16, out: &mut Vec<u16>) {
        match self {
            Chunk::List(list) => {
                let numbers = list.iter().map(|it| u16::from_le_bytes(*it));
                out.extend(numbers.skip_while(|it| *it < from));
            }
            Chunk::Bitmap(bits) => {
                for (at, byte) in bits.iter().enumerate().skip(usize::from(from) / 8) {
                    let mut left = *byte;
                    while left != 0 {
                        let low = (at * 8) as u16 + left.trailing_zeros() as u16;
                        left &= left - 1;
                        if low >= from {
                            out.push(low);
                        }
                    }
                }
            }
        }
    }

    /// Returns the members, ascending.
    pub fn members(&self) -> Vec<u16> {
        let mut members = Vec::with_capacity(self.len());
        self.members_from(0, &mut members);
        members
    }
}

/// A chunk being changed: a bit for each id, whatever its stored form.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    bits: [u8; BITMAP_BYTES],
    count: usize,
}

impl Draft {
    /// Returns a draft of a stored chunk; `None` begins an empty one.
    pub fn of(chunk: Option<Chunk<'_>>) -> Draft {
        let mut draft = Draft {
            bits: [0; BITMAP_BYTES],
            count: 0,
        };
        match chunk {
            None => {}
            Some(Chunk::Bitmap(bits)) => {
                draft.bits = *bits;
                draft.count = Chunk::Bitmap(bits).len();
            }
            Some(Chunk::List(list)) => {
                for low in list {
                    draft.set(u16::from_le_bytes(*low), true);
                }
            }
        }
        draft
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Adds or removes a member; `false` if that changes nothing.
    pub fn set(&mut self, low: u16, member: bool) -> bool {
        let Some(byte) = self.bits.get_mut(usize::from(low) / 8) else {
            return false;
        };
        let bit = 1 << (low % 8);
        if (*byte & bit != 0) == member {
            return false;
        }
        *byte ^= bit;
        match member {
            true => self.count += 1,
            false => self.count -= 1,
        }
        true
    }

    /// Encodes the chunk, which must have members, into `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        if self.count > LISTED_MAX {
            out.push(BITMAP);
            out.extend_from_slice(&self.bits);
        } else {
            encode(&Chunk::Bitmap(&self.bits).members(), out);
        }
    }
}

/// Encodes a chunk of at least one member, ascending, into `out`.
pub(crate) fn encode(members: &[u16], out: &mut Vec<u8>) {
    debug_assert!(!members.is_empty() && members.is_sorted_by(|a, b| a < b));
    out.clear();
    if members.len() <= LISTED_MAX {
        out.push(LIST);
        out.extend(members.iter().flat_map(|it| it.to_le_bytes()));
        return;
    }
    out.push(BITMAP);
    out.resize(1 + BITMAP_BYTES, 0);
    for low in members {
        out[1 + usize::from(*low) / 8] |= 1 << (low % 8);
    }
}

fn damaged(detail: &'static str) -> Error {
    Error::corrupt("link", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn members_come_back(
            few in proptest::collection::btree_set(0..IDS as u16, 1..20),
            many in proptest::collection::btree_set(0..IDS as u16, 400..1500),
            from in 0..IDS as u16,
        ) {
            for members in [few, many] {
                let list: Vec<u16> = members.iter().copied().collect();
                let mut bytes = Vec::new();
                encode(&list, &mut bytes);
                let chunk = Chunk::parse(&bytes).unwrap();
                chunk.check().unwrap();
                prop_assert_eq!(chunk.len(), list.len());
                prop_assert_eq!(&chunk.members(), &list);
                prop_assert_eq!(chunk.contains(from), members.contains(&from));
                let mut rest = Vec::new();
                chunk.members_from(from, &mut rest);
                let expected: BTreeSet<u16> = members.range(from..).copied().collect();
                prop_assert!(rest.into_iter().eq(expected));
                prop_assert!(bytes.len() <= 1 + BITMAP_BYTES);
            }
        }

        #[test]
        fn changes_make_what_is_written_at_once(
            before in proptest::collection::btree_set(0..IDS as u16, 1..900),
            changes in proptest::collection::vec((0..IDS as u16, any::<bool>()), 0..900),
        ) {
            let mut bytes = Vec::new();
            encode(&before.iter().copied().collect::<Vec<_>>(), &mut bytes);
            let mut draft = Draft::of(Some(Chunk::parse(&bytes).unwrap()));
            let mut members = before;
            for (low, member) in changes {
                let changed = match member {
                    true => members.insert(low),
                    false => members.remove(&low),
                };
                prop_assert_eq!(draft.set(low, member), changed);
            }
            prop_assert_eq!(draft.len(), members.len());
            if !members.is_empty() {
                let mut expected = Vec::new();
                encode(&members.into_iter().collect::<Vec<_>>(), &mut expected);
                draft.encode(&mut bytes);
                prop_assert_eq!(bytes, expected);
            }
        }

        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..1100)) {
            if let Ok(chunk) = Chunk::parse(&bytes) {
                let _ = (chunk.check(), chunk.len(), chunk.members(), chunk.contains(u16::MAX));
            }
        }
    }

    #[test]
    fn other_chunks_are_told_apart() {
        for bytes in [&[][..], &[LIST], &[LIST, 1], &[3, 1, 0], &[BITMAP, 1]] {
            assert!(Chunk::parse(bytes).is_err(), "{bytes:?}");
        }
        let unsorted = [LIST, 2, 0, 1, 0];
        assert!(Chunk::parse(&unsorted).unwrap().check().is_err());
    }
}
