//! Numbers and byte strings one behind the other: how what a long work keeps is written down.

use crate::error::Error;

/// Writes fields.
#[derive(Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
}

impl Fields {
    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds a number of 128 bits.
    pub fn wide(&mut self, number: u128) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds a byte string.
    pub fn string(&mut self, string: &[u8]) {
        self.number(string.len() as u64);
        self.bytes.extend_from_slice(string);
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads fields.
#[derive(Debug, Clone, Copy)]
pub struct FieldReader<'b> {
    rest: &'b [u8],
}

impl<'b> FieldReader<'b> {
    /// Reads what a [`Fields`] wrote.
    pub fn new(bytes: &'b [u8]) -> FieldReader<'b> {
        FieldReader { rest: bytes }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(short)?;
        self.rest = rest;
        Ok(*head)
    }

    /// The next number.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when there is none; so do the others.
    pub fn number(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    /// The next number, of 128 bits.
    ///
    /// # Errors
    /// As [`FieldReader::number`].
    pub fn wide(&mut self) -> Result<u128, Error> {
        Ok(u128::from_le_bytes(self.take()?))
    }

    /// The next byte string.
    ///
    /// # Errors
    /// As [`FieldReader::number`].
    pub fn string(&mut self) -> Result<&'b [u8], Error> {
        let length = usize::try_from(self.number()?).map_err(|_| short())?;
        let (string, rest) = self.rest.split_at_checked(length).ok_or_else(short)?;
        self.rest = rest;
        Ok(string)
    }

    /// The next byte string, as text.
    ///
    /// # Errors
    /// As [`FieldReader::number`].
    pub fn text(&mut self) -> Result<String, Error> {
        let text = std::str::from_utf8(self.string()?);
        let text = text.map_err(|_| Error::corrupt("checkpoint", "a text is none"))?;
        Ok(text.to_owned())
    }

    /// As many of something as a number says that comes first.
    ///
    /// # Errors
    /// As [`FieldReader::number`].
    pub fn many<T>(
        &mut self,
        one: impl Fn(&mut FieldReader<'b>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let count = self.number()?;
        // Everything takes a byte at least, so a wrong count ends soon.
        (0..count).map(|_| one(self)).collect()
    }
}

fn short() -> Error {
    Error::corrupt("checkpoint", "it ends too early")
}
