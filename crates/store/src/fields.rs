//! Numbers and byte strings concatenated: the encoding of checkpoints of long tasks.

use crate::bytes::{Bytes, Undecodable};
use crate::error::Error;

/// Encodes fields.
#[derive(Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
}

impl Fields {
    /// Appends a number.
    pub fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Appends a number of 128 bits.
    pub fn wide(&mut self, number: u128) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Appends a byte string.
    pub fn string(&mut self, string: &[u8]) {
        self.number(string.len() as u64);
        self.bytes.extend_from_slice(string);
    }

    /// Returns the encoded fields.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Decodes fields.
#[derive(Debug, Clone, Copy)]
pub struct FieldReader<'b> {
    rest: Bytes<'b>,
}

impl<'b> FieldReader<'b> {
    /// Returns a reader of bytes that [`Fields`] encoded.
    pub fn new(bytes: &'b [u8]) -> FieldReader<'b> {
        FieldReader {
            rest: Bytes::new(bytes),
        }
    }

    /// Reads a number.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the bytes end too early.
    pub fn number(&mut self) -> Result<u64, Error> {
        Ok(self.rest.u64()?)
    }

    /// Reads a number of 128 bits.
    ///
    /// # Errors
    /// The errors of [`FieldReader::number`].
    pub fn wide(&mut self) -> Result<u128, Error> {
        Ok(self.rest.u128()?)
    }

    /// Reads a byte string.
    ///
    /// # Errors
    /// The errors of [`FieldReader::number`].
    pub fn string(&mut self) -> Result<&'b [u8], Error> {
        let length = usize::try_from(self.number()?).map_err(|_| Undecodable::Short)?;
        Ok(self.rest.slice(length)?)
    }

    /// Reads a byte string that must be UTF-8.
    ///
    /// # Errors
    /// The errors of [`FieldReader::number`].
    pub fn text(&mut self) -> Result<String, Error> {
        let text = std::str::from_utf8(self.string()?);
        let text = text.map_err(|_| Error::corrupt("checkpoint", "a text is not UTF-8"))?;
        Ok(text.to_owned())
    }

    /// Reads a count and then as many items, each by `one`.
    ///
    /// # Errors
    /// The errors of [`FieldReader::number`].
    pub fn many<T>(
        &mut self,
        one: impl Fn(&mut FieldReader<'b>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let count = self.number()?;
        // Each item takes at least one byte, so a wrong count ends soon.
        (0..count).map(|_| one(self)).collect()
    }
}

impl From<Undecodable> for Error {
    fn from(_: Undecodable) -> Error {
        Error::corrupt("checkpoint", "its bytes end too early")
    }
}
