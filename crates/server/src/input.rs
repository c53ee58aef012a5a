//! Received bytes, which may contain passwords: every buffer is overwritten with zeros before its
//! memory is given back or used for other bytes.

use std::hint::black_box;
use std::ops::Deref;

/// Overwrites bytes with zeros, also when nothing reads them afterwards. As fast as the processor
/// fills memory, because all input of all clients passes here.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // The compiler must suppose that the bytes are read here.
    black_box(bytes);
}

/// Bytes that wait. Without bytes it owns no memory.
#[derive(Debug, Default)]
pub(crate) struct Input(Vec<u8>);

impl Input {
    /// A copy of bytes.
    pub fn of(bytes: &[u8]) -> Input {
        Input(bytes.to_vec())
    }

    /// Length of the memory in bytes.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        let length = self.0.len() + bytes.len();
        if length > self.0.capacity() {
            let mut longer = Vec::with_capacity(length.max(2 * self.0.capacity()));
            longer.extend_from_slice(&self.0);
            // The shorter one is wiped.
            *self = Input(longer);
        }
        self.0.extend_from_slice(bytes);
    }

    /// Removes bytes from a place on.
    pub fn remove(&mut self, from: usize, count: usize) {
        let end = self.0.len() - count;
        self.0.copy_within(from + count.., from);
        wipe(&mut self.0[end..]);
        self.0.truncate(end);
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_removed_and_wiped() {
        let mut input = Input::default();
        input.append(b"abc");
        input.append(b"secret");
        input.append(b"de");
        assert_eq!(&*input, b"abcsecretde");
        input.remove(3, 6);
        assert_eq!(&*input, b"abcde");
        input.remove(0, 5);
        assert!(input.is_empty());
        let mut memory = *b"secret";
        wipe(&mut memory);
        assert_eq!(memory, [0; 6]);
    }
}
