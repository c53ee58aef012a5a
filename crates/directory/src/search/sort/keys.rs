//! Sorts keys in memory, within a limit.

use std::collections::BinaryHeap;

/// Maximum octets of the sort keys of one search: limits memory if values are long, beside the
/// limit on their number.
const BYTES_MAX: usize = 64 << 20;

/// Memory of a key beside its octets, in bytes.
const KEY_BYTES: usize = 32;

/// The keys kept so far.
#[derive(Debug)]
pub(crate) struct SortKeys {
    /// Heap with the greatest key on top, which is dropped when a page is full.
    keys: BinaryHeap<Box<[u8]>>,
    bytes: usize,
    /// Number of least keys wanted; `None` for all.
    wanted: Option<usize>,
    /// Maximum number of keys; 0 for no limit.
    keys_max: usize,
}

/// The keys exceed the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany;

impl SortKeys {
    /// Keeps at most `keys_max` keys (0: no limit), and only the least `wanted` of them.
    pub fn new(wanted: Option<usize>, keys_max: usize) -> SortKeys {
        SortKeys {
            keys: BinaryHeap::new(),
            bytes: 0,
            wanted,
            keys_max,
        }
    }

    /// Adds a key, unless it is greater than the wanted ones.
    pub fn push(&mut self, key: Box<[u8]>) -> Result<(), TooMany> {
        if let Some(wanted) = self.wanted
            && self.keys.len() >= wanted
        {
            // The new key replaces the greatest one of a full page, if it is less.
            match self.keys.peek_mut() {
                Some(mut greatest) if key < *greatest => {
                    self.bytes = self.bytes + key.len() - greatest.len();
                    *greatest = key;
                }
                _ => {}
            }
        } else {
            self.bytes += key.len();
            self.keys.push(key);
        }
        let many = self.keys_max != 0 && self.keys.len() > self.keys_max;
        if many || self.bytes > BYTES_MAX {
            return Err(TooMany);
        }
        Ok(())
    }

    /// Approximate memory of the keys in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes + self.keys.len() * KEY_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Takes all keys in ascending order.
    pub fn take(&mut self) -> Vec<Box<[u8]>> {
        self.bytes = 0;
        std::mem::take(&mut self.keys).into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Box<[u8]> {
        Box::new([byte])
    }

    #[test]
    fn a_page_keeps_the_least_and_all_keeps_all() {
        let mut page = SortKeys::new(Some(3), 3);
        let mut all = SortKeys::new(None, 0);
        for byte in [9, 1, 8, 2, 7, 3, 6] {
            page.push(key(byte)).expect("three are kept");
            all.push(key(byte)).expect("there is no limit");
        }
        assert_eq!(page.take(), [key(1), key(2), key(3)]);
        assert!(page.is_empty());
        assert_eq!(all.take(), [1, 2, 3, 6, 7, 8, 9].map(key));
    }

    #[test]
    fn limits_hold() {
        let mut few = SortKeys::new(None, 2);
        assert_eq!((few.push(key(1)), few.push(key(2))), (Ok(()), Ok(())));
        assert_eq!(few.push(key(3)), Err(TooMany));
        let mut long = SortKeys::new(None, 0);
        let megabytes = |count: usize| vec![0; count << 20].into_boxed_slice();
        assert_eq!(long.push(megabytes(64)), Ok(()));
        assert_eq!(long.push(key(1)), Err(TooMany));
    }
}
