//! Links: values that name entries, kept by entry id outside the entry that holds them; and long
//! lists of texts that name members otherwise, kept in the same way.
//!
//! The values of one attribute of one entry are a *set*, which has an id of its own. Its members
//! are ids: of entries, or of texts that name no entry. Three tables hold that: `linkset` what
//! belongs to whom, `link` the members of each set in chunks, `linked` the sets of each member.
//! Formats: docs/formats/database.md, "Links".
//!
//! Invariants:
//! - a member stands in `link` exactly if the set stands in `linked`, also for sets that are
//!   detached, which nobody owns any more and which are cleared away bit by bit;
//! - an entry that owns a set has the flag in its row; there is no set without members but between
//!   two calls of a batch.

pub(crate) mod chunk;
mod read;
pub(crate) mod rows;
mod write;

pub use read::Members;

use schema::{AttributeNumber, Schema, TypeId};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::id::EntryId;

/// The id of a set: given from the same counter as those of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub EntryId);

/// A set of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedSet {
    /// The attribute whose values it holds.
    pub number: AttributeNumber,
    /// Its id.
    pub set: SetId,
    /// How many members it has, those included that are detached.
    pub count: u64,
}

/// Who holds a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// The entry.
    pub id: EntryId,
    /// The attribute.
    pub number: AttributeNumber,
    /// The set.
    pub set: SetId,
}

/// What the values of a type are that are kept as links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// Names: each value is the entry of that name, or a text until there is one.
    Names,
    /// Texts that name no entry, whatever they say. They are kept as links when an attribute has
    /// more than [`TEXTS_IN_ROW_MAX`] of them.
    Texts,
}

/// Values of texts up to which they stay in the row of their entry: a row of some kilobytes is
/// rewritten as fast as links are changed, and read faster.
pub const TEXTS_IN_ROW_MAX: usize = 256;

/// The byte before forms of texts, which no name begins with: a text is never taken for a name.
pub(crate) const TEXT_MARK: u8 = 1;

/// How values of a type are kept as links, where its description has no options: the types that
/// groups name their members with.
#[inline]
pub fn link_kind(schema: &Schema, type_id: TypeId) -> Option<LinkKind> {
    match schema.type_of(type_id).name() {
        "member" | "uniqueMember" => Some(LinkKind::Names),
        "memberUid" => Some(LinkKind::Texts),
        _ => None,
    }
}

/// Whether values of a type may be kept as links.
#[inline]
pub fn is_linked_type(schema: &Schema, type_id: TypeId) -> bool {
    link_kind(schema, type_id).is_some()
}

/// Whether so many values of a type become links.
pub fn becomes_links(schema: &Schema, type_id: TypeId, values: usize) -> bool {
    match link_kind(schema, type_id) {
        Some(LinkKind::Names) => true,
        Some(LinkKind::Texts) => values > TEXTS_IN_ROW_MAX,
        None => false,
    }
}

/// Makes of the normal form of a value the form under which it is known as a member.
pub fn make_member_form(schema: &Schema, type_id: TypeId, form: &mut Vec<u8>) {
    if link_kind(schema, type_id) == Some(LinkKind::Texts) {
        form.insert(0, TEXT_MARK);
    }
}

/// What a link contributes to the digest of the state.
pub(crate) fn term(set: SetId, member: EntryId) -> u128 {
    const SEED: u64 = 1;
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&set.0.0.to_le_bytes());
    bytes[8..].copy_from_slice(&member.0.to_le_bytes());
    xxh3_128_with_seed(&bytes, SEED)
}
