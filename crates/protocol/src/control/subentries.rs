//! Subentries control (RFC 3672 §3): a search returns subentries instead of entries.

use crate::DecodeError;
use crate::ber::{BOOLEAN, Reader, put_boolean};

/// Kind of entries that a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subentries {
    /// True: subentries and no entries. False: entries and no subentries.
    pub visible: bool,
}

impl Subentries {
    /// Decodes the control's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value);
        let visible = reader.boolean(BOOLEAN)?;
        reader.finish()?;
        Ok(Subentries { visible })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_boolean(out, BOOLEAN, self.visible);
    }
}
