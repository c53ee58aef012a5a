//! Composing entry rows.

use protocol::ber::{PartialAttribute, Reader, put_partial_attribute};
use schema::AttributeNumber;
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use super::{HEADER_BYTES, LINKED, PARENT_AT, StoredAttribute, VERSION};
use crate::error::Error;
use crate::id::EntryId;

/// Composes an entry row. User and operational attributes may come in any order; each kind keeps
/// the order in which it was added. Reusable: `finish` leaves the builder empty for
/// [`EntryBuilder::start`].
#[derive(Debug, Default)]
pub struct EntryBuilder {
    parent: EntryId,
    position: u64,
    flags: u8,
    rdn: Vec<u8>,
    user: Part,
    operational: Part,
}

/// The attributes of one kind, user or operational.
#[derive(Debug, Default)]
struct Part {
    directory: Vec<(AttributeNumber, usize)>,
    bytes: Vec<u8>,
}

impl EntryBuilder {
    /// Begins an entry. `rdn` is the RDN as spelled; for a naming context the whole DN.
    pub fn new(parent: EntryId, rdn: &str, position: u64) -> EntryBuilder {
        let mut builder = EntryBuilder::default();
        builder.start(parent, rdn, position);
        builder
    }

    /// Begins another entry and forgets an unfinished one.
    pub fn start(&mut self, parent: EntryId, rdn: &str, position: u64) {
        self.parent = parent;
        self.position = position;
        self.flags = 0;
        self.rdn.clear();
        self.rdn.extend_from_slice(rdn.as_bytes());
        self.user.clear();
        self.operational.clear();
    }

    /// Sets the flag that the entry may own sets of links.
    pub fn set_links(&mut self, has_links: bool) {
        self.flags = if has_links { LINKED } else { 0 };
    }

    /// Adds a user attribute; `text` is its canonical description.
    pub fn user<'v>(
        &mut self,
        number: AttributeNumber,
        text: &str,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) {
        self.user.add(number, text, values);
    }

    /// Adds an operational attribute.
    pub fn operational<'v>(
        &mut self,
        number: AttributeNumber,
        text: &str,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) {
        self.operational.add(number, text, values);
    }

    /// Copies an attribute of another entry.
    pub fn copy(&mut self, attribute: &StoredAttribute<'_>, operational: bool) {
        let part = if operational {
            &mut self.operational
        } else {
            &mut self.user
        };
        part.copy(attribute.number, attribute.encoded);
    }

    /// Copies an encoded PartialAttribute, after checking its encoding.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the bytes are not a PartialAttribute.
    pub fn encoded(
        &mut self,
        number: AttributeNumber,
        encoded: &[u8],
        operational: bool,
    ) -> Result<(), Error> {
        let mut reader = Reader::new(encoded);
        let decoded = PartialAttribute::decode(&mut reader).and_then(|_| reader.finish());
        decoded.map_err(|error| Error::conflict(format!("not a PartialAttribute: {error}")))?;
        self.copy(&StoredAttribute { number, encoded }, operational);
        Ok(())
    }

    /// Appends the row to `out`, digest included.
    ///
    /// # Panics
    /// When the entry has more than 65,535 attributes or the row is 4 GiB long; limits on messages
    /// keep both far away.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let count = self.user.directory.len() + self.operational.directory.len();
        let area = HEADER_BYTES + self.rdn.len() + 6 * count;
        let operational = area + self.user.bytes.len();
        let length = operational + self.operational.bytes.len();
        let count = u16::try_from(count).expect("an entry has fewer than 65,536 attributes");
        assert!(
            u32::try_from(length).is_ok(),
            "an entry is smaller than 4 GiB"
        );
        let start = out.len();
        out.reserve(length);
        out.extend_from_slice(&[VERSION, self.flags]);
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&(self.rdn.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.parent.0.to_le_bytes());
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(&[0; 16]);
        out.extend_from_slice(&(operational as u32).to_le_bytes());
        out.extend_from_slice(&self.rdn);
        for part in [&self.user, &self.operational] {
            out.extend(
                part.directory
                    .iter()
                    .flat_map(|(number, _)| number.0.to_le_bytes()),
            );
        }
        for (part, from) in [(&self.user, area), (&self.operational, operational)] {
            let offsets = part.directory.iter().map(|(_, at)| (from + at) as u32);
            out.extend(offsets.flat_map(u32::to_le_bytes));
        }
        out.extend_from_slice(&self.user.bytes);
        out.extend_from_slice(&self.operational.bytes);
        let digest = digest(&self.rdn, &out[start + area..]);
        let at = start + super::DIGEST_AT;
        out[at..at + 16].copy_from_slice(&digest.to_le_bytes());
    }
}

impl Part {
    fn clear(&mut self) {
        self.directory.clear();
        self.bytes.clear();
    }

    fn add<'v>(
        &mut self,
        number: AttributeNumber,
        text: &str,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) {
        self.directory.push((number, self.bytes.len()));
        put_partial_attribute(&mut self.bytes, text, values);
    }

    fn copy(&mut self, number: AttributeNumber, encoded: &[u8]) {
        self.directory.push((number, self.bytes.len()));
        self.bytes.extend_from_slice(encoded);
    }
}

/// Computes the digest in an entry's header, over the RDN as spelled and the encoded attributes.
///
/// Id and parent are not part of it, so that a bulk load can compute it before they are known and a
/// moved entry keeps it; [`state_term`] adds them.
pub(crate) fn digest(rdn: &[u8], attributes: &[u8]) -> u128 {
    let seed = xxh3_128(rdn);
    xxh3_128_with_seed(attributes, (seed >> 64) as u64).wrapping_add(seed)
}

/// The term of an entry in the digest of the whole state, which is the wrapping sum of all terms.
pub(crate) fn state_term(id: EntryId, parent: EntryId, digest: u128) -> u128 {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&id.0.to_le_bytes());
    bytes[8..16].copy_from_slice(&parent.0.to_le_bytes());
    bytes[16..].copy_from_slice(&digest.to_le_bytes());
    xxh3_128(&bytes)
}

/// Replaces the parent in a row's header.
pub(crate) fn with_parent(header: &mut [u8; HEADER_BYTES], parent: EntryId) {
    header[PARENT_AT..PARENT_AT + 8].copy_from_slice(&parent.0.to_le_bytes());
}
