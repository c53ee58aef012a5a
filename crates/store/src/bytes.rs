//! The byte codec of records, kept changes, rows of the history and checkpoints: numbers and byte
//! strings one after the other, numbers little-endian.

use std::fmt;

/// Reason why bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecodable {
    /// The bytes end before the value does.
    Short,
    /// A length has more than 63 bits.
    Long,
    /// A text is not UTF-8.
    NoText,
    /// A version or kind is of no known format.
    Unknown,
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undecodable::Short => "it ends too early",
            Undecodable::Long => "a length has more than 63 bits",
            Undecodable::NoText => "expected text: the bytes are not UTF-8",
            Undecodable::Unknown => "its version or kind is unknown",
        })
    }
}

impl From<Undecodable> for String {
    fn from(it: Undecodable) -> String {
        it.to_string()
    }
}

/// A reader of encoded values.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'b>(&'b [u8]);

/// Result of reading a value.
type Read<T> = Result<T, Undecodable>;

impl<'b> Bytes<'b> {
    /// Returns a reader of these bytes.
    pub fn new(bytes: &'b [u8]) -> Bytes<'b> {
        Bytes(bytes)
    }

    /// Returns the bytes that are not read yet.
    pub fn rest(&self) -> &'b [u8] {
        self.0
    }

    /// Returns whether all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads bytes of a known number.
    ///
    /// # Errors
    /// [`Undecodable::Short`].
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Undecodable::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Reads `count` bytes.
    ///
    /// # Errors
    /// [`Undecodable::Short`].
    #[inline]
    pub fn slice(&mut self, count: usize) -> Read<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Undecodable::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a number of 32 bits.
    ///
    /// # Errors
    /// [`Undecodable::Short`].
    pub fn u32(&mut self) -> Read<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    /// Reads a number of 48 bits.
    ///
    /// # Errors
    /// [`Undecodable::Short`].
    pub fn u48(&mut self) -> Read<u64> {
        let mut eight = [0; 8];
        eight[..6].copy_from_slice(&self.take::<6>()?);
        Ok(u64::from_le_bytes(eight))
    }

    /// Reads a number of 64 bits.
    ///
    /// # Errors
    /// [`Undecodable::Short`].
    pub fn u64(&mut self) -> Read<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    /// Reads a number of 128 bits.
    ///
    /// # Errors
    /// [`Undecodable::Short`].
    pub fn u128(&mut self) -> Read<u128> {
        Ok(u128::from_le_bytes(self.take()?))
    }

    /// Reads a count that [`put_count`] appended.
    ///
    /// # Errors
    /// [`Undecodable::Short`] or [`Undecodable::Long`].
    pub fn count(&mut self) -> Read<usize> {
        let mut count = 0_u64;
        for shift in (0..63).step_by(7) {
            let [byte] = self.take()?;
            count |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(count).map_err(|_| Undecodable::Short);
            }
        }
        Err(Undecodable::Long)
    }

    /// Reads a byte string that [`put_counted`] appended.
    ///
    /// # Errors
    /// [`Undecodable::Short`] or [`Undecodable::Long`].
    pub fn counted(&mut self) -> Read<&'b [u8]> {
        let count = self.count()?;
        self.slice(count)
    }

    /// Reads a text behind its length in 32 bits, as [`put_text`] appended it.
    ///
    /// # Errors
    /// [`Undecodable::Short`] or [`Undecodable::NoText`].
    pub fn text(&mut self) -> Read<&'b str> {
        let length = self.u32()? as usize;
        std::str::from_utf8(self.slice(length)?).map_err(|_| Undecodable::NoText)
    }
}

/// Appends a length or count: 7 bits a byte, lowest first, the top bit set on all but the last.
pub fn put_count(out: &mut Vec<u8>, count: usize) {
    let mut rest = count as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a byte string behind its count.
pub fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a text behind its length in 32 bits.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written() {
        let mut out = Vec::new();
        put_count(&mut out, 300);
        put_counted(&mut out, b"abc");
        put_text(&mut out, "größe");
        out.extend_from_slice(&7_u64.to_le_bytes()[..6]);
        let mut bytes = Bytes::new(&out);
        assert_eq!(bytes.count(), Ok(300));
        assert_eq!(bytes.counted(), Ok(&b"abc"[..]));
        assert_eq!(bytes.text(), Ok("größe"));
        assert_eq!(bytes.u48(), Ok(7));
        assert!(bytes.is_empty());
        assert_eq!(bytes.u32(), Err(Undecodable::Short));
        assert_eq!(Bytes::new(&[0x80; 9]).count(), Err(Undecodable::Long));
        assert_eq!(
            Bytes::new(b"\x01\0\0\0\xff").text(),
            Err(Undecodable::NoText)
        );
    }
}
