//! The entry row: a header, a directory, and attributes as BER PartialAttributes.
//!
//! The layout stands in docs/formats/database.md, "Entry". Reading copies and parses nothing:
//! an [`EntryView`] points into the map. Malformed bytes read as absent values, never as a panic;
//! `check` finds them.

mod builder;

pub use builder::EntryBuilder;
pub(crate) use builder::{state_term, with_parent};

use protocol::ber::Values;
use schema::{AttributeNumber, NumberSet};

use crate::error::Error;
use crate::id::EntryId;

/// Version byte of rows stored with a checksum.
pub(crate) const VERSION: u8 = 2;
/// Version byte of rows stored without a checksum, otherwise equal.
pub(crate) const VERSION_UNSUMMED: u8 = 1;
/// The flag of a row whose entry may own sets of links.
pub(crate) const LINKED: u8 = 1;
/// Offset of the flags.
const FLAGS_AT: usize = 1;
/// Bytes of the header, before the RDN.
pub(crate) const HEADER_BYTES: usize = 44;
/// Offset of the parent id.
pub(crate) const PARENT_AT: usize = 8;
/// Offset of the digest.
pub(crate) const DIGEST_AT: usize = 24;

/// A view of an entry row in the map.
#[derive(Debug, Clone, Copy)]
pub struct EntryView<'a> {
    bytes: &'a [u8],
    /// Number of attributes in the directory.
    count: usize,
    /// Offset of the directory's numbers; the offsets of attributes follow them.
    directory: usize,
}

/// One attribute of a stored entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredAttribute<'a> {
    /// Number of the attribute description in the dictionary.
    pub number: AttributeNumber,
    /// The whole PartialAttribute (RFC 4511 §4.1.7), as sent to clients.
    pub encoded: &'a [u8],
}

impl<'a> StoredAttribute<'a> {
    /// The values of the attribute.
    #[inline]
    pub fn values(&self) -> Values<'a> {
        Values::from_checked(set_content(self.encoded).unwrap_or_default())
    }
}

impl<'a> EntryView<'a> {
    /// Returns a view of an entry row.
    ///
    /// # Errors
    /// [`Error::Format`] for another version, [`Error::Corrupt`] for lengths that do not fit.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<EntryView<'a>, Error> {
        let view = Self::parse(bytes);
        view.ok_or_else(|| unreadable(bytes))
    }

    #[inline]
    fn parse(bytes: &'a [u8]) -> Option<EntryView<'a>> {
        if bytes.len() < HEADER_BYTES || !matches!(bytes[0], VERSION | VERSION_UNSUMMED) {
            return None;
        }
        let count = usize::from(u16_at(bytes, 2)?);
        let directory = HEADER_BYTES + u32_at(bytes, 4)? as usize;
        let end = directory + 6 * count;
        let operational = u32_at(bytes, 40)? as usize;
        (end <= operational && operational <= bytes.len()).then_some(EntryView {
            bytes,
            count,
            directory,
        })
    }

    /// The whole row, without its checksum.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Id of the parent; [`EntryId::ROOT`] for a naming context.
    #[inline]
    pub fn parent(&self) -> EntryId {
        EntryId(u64_at(self.bytes, PARENT_AT).unwrap_or_default())
    }

    /// Returns whether the entry may own sets of links, which are not in the row.
    #[inline]
    pub fn has_links(&self) -> bool {
        self.bytes
            .get(FLAGS_AT)
            .is_some_and(|flags| flags & LINKED != 0)
    }

    /// The log position of the last change.
    pub fn position(&self) -> u64 {
        u64_at(self.bytes, 16).unwrap_or_default()
    }

    /// Digest of RDN and attributes, see docs/formats/database.md, "Digest".
    pub fn digest(&self) -> u128 {
        let bytes = self
            .bytes
            .get(DIGEST_AT..DIGEST_AT + 16)
            .and_then(|it| it.try_into().ok());
        u128::from_le_bytes(bytes.unwrap_or_default())
    }

    /// Digest computed anew from RDN and attributes, for comparison with the stored one.
    pub fn computed_digest(&self) -> u128 {
        builder::digest(self.rdn().as_bytes(), self.all_attributes())
    }

    /// The RDN as spelled; of a naming context the whole DN. Empty if damaged.
    #[inline]
    pub fn rdn(&self) -> &'a str {
        std::str::from_utf8(self.rdn_bytes()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn rdn_bytes(&self) -> &'a [u8] {
        self.bytes
            .get(HEADER_BYTES..self.directory)
            .unwrap_or_default()
    }

    /// Number of attributes.
    pub fn attribute_count(&self) -> usize {
        self.count
    }

    /// All attributes, user attributes first.
    pub fn attributes(&self) -> impl Iterator<Item = StoredAttribute<'a>> + use<'a> {
        let view = *self;
        (0..view.count).filter_map(move |at| view.at(at))
    }

    /// Returns the attribute with this number, if the entry has it.
    #[inline]
    pub fn attribute(&self, number: AttributeNumber) -> Option<StoredAttribute<'a>> {
        self.at(self.find(number)?)
    }

    /// Index of an attribute in the directory.
    #[inline]
    fn find(&self, number: AttributeNumber) -> Option<usize> {
        let numbers = self
            .bytes
            .get(self.directory..self.directory + 2 * self.count)?;
        let wanted = number.0.to_le_bytes();
        numbers.chunks_exact(2).position(|it| it == wanted)
    }

    /// Appends the user attributes as PartialAttributes, except those with numbers in `without`.
    pub fn write_user_attributes(&self, without: &NumberSet, out: &mut Vec<u8>) {
        let (mut from, end) = (self.area(), self.operational_start());
        let numbers = self.directory..self.directory + 2 * self.count;
        let numbers = self.bytes.get(numbers).unwrap_or_default();
        // Directory and values are in the same order.
        for (at, number) in numbers.chunks_exact(2).enumerate() {
            if !without.contains(AttributeNumber(u16::from_le_bytes([number[0], number[1]]))) {
                continue;
            }
            match self.span(at) {
                Some((start, after)) if start < end => {
                    out.extend_from_slice(self.bytes.get(from..start).unwrap_or_default());
                    from = after;
                }
                _ => break,
            }
        }
        out.extend_from_slice(self.bytes.get(from..end).unwrap_or_default());
    }

    /// The user attributes, concatenated PartialAttributes.
    pub fn user_attributes(&self) -> &'a [u8] {
        self.bytes
            .get(self.area()..self.operational_start())
            .unwrap_or_default()
    }

    /// The operational attributes, concatenated PartialAttributes.
    pub fn operational_attributes(&self) -> &'a [u8] {
        self.bytes
            .get(self.operational_start()..)
            .unwrap_or_default()
    }

    pub(crate) fn all_attributes(&self) -> &'a [u8] {
        self.bytes.get(self.area()..).unwrap_or_default()
    }

    /// Returns whether the attributes follow one another in the order of the directory up to the
    /// end of the row, each a PartialAttribute of the length that the directory gives it.
    pub(crate) fn directory_covers_attributes(&self) -> bool {
        let mut length = 0;
        let sound = self.attributes().all(|attribute| {
            length += attribute.encoded.len();
            let mut reader = protocol::ber::Reader::new(attribute.encoded);
            let decoded = protocol::ber::PartialAttribute::decode(&mut reader);
            decoded.and_then(|_| reader.finish()).is_ok()
        });
        sound && length == self.all_attributes().len()
    }

    fn area(&self) -> usize {
        self.directory + 6 * self.count
    }

    fn operational_start(&self) -> usize {
        u32_at(self.bytes, 40).unwrap_or_default() as usize
    }

    #[inline]
    fn at(&self, at: usize) -> Option<StoredAttribute<'a>> {
        let number = u16_at(self.bytes, self.directory + 2 * at)?;
        let (start, end) = self.span(at)?;
        let encoded = self.bytes.get(start..end)?;
        Some(StoredAttribute {
            number: AttributeNumber(number),
            encoded,
        })
    }

    /// Start and end of the attribute at an index of the directory.
    #[inline]
    fn span(&self, at: usize) -> Option<(usize, usize)> {
        let offsets = self.directory + 2 * self.count;
        let start = u32_at(self.bytes, offsets + 4 * at)? as usize;
        let end = match at + 1 {
            next if next < self.count => u32_at(self.bytes, offsets + 4 * next)? as usize,
            _ => self.bytes.len(),
        };
        Some((start, end))
    }
}

impl schema::filter::ValueSource for EntryView<'_> {
    #[inline]
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        Some(self.attribute(number)?.values().iter().any(test))
    }
}

#[cold]
fn unreadable(bytes: &[u8]) -> Error {
    match bytes.first() {
        Some(&found) if found > VERSION => Error::Format {
            what: "an entry",
            found: found.into(),
            expected: VERSION.into(),
        },
        _ => Error::corrupt("entry", "lengths do not fit the row"),
    }
}

/// The content of the SET of a PartialAttribute.
#[inline]
fn set_content(encoded: &[u8]) -> Option<&[u8]> {
    let mut reader = protocol::ber::Reader::new(encoded);
    let mut inside = reader.nested(protocol::ber::SEQUENCE).ok()?;
    inside.expect(protocol::ber::OCTET_STRING).ok()?;
    inside.expect(protocol::ber::SET).ok()
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
