//! Links: values that name entries, stored by entry id outside the entry that holds them; long
//! lists of texts that name members otherwise are stored likewise.
//!
//! The values of one attribute of one entry are a *set*, which has an id of its own. Its members
//! are ids: of entries, or of texts that name no entry. There are three tables: `linkset` has the
//! owner of each set, `link` the members of each set in chunks, `linked` the sets of each member.
//! Formats: docs/formats/database.md, "Links".
//!
//! Invariants:
//! - `link` has a member of a set exactly if `linked` has the set of the member, also for detached
//!   sets, which have no owner and are cleared away bit by bit;
//! - the sum of texts, if there is one, is that of the texts that are stored;
//! - an entry that owns a set has the flag in its row; a set without members exists only between
//!   two calls of a batch.

pub(crate) mod chunk;
mod read;
pub(crate) mod rows;
pub(crate) mod texts;
mod write;

pub use read::Members;

use schema::{AttributeNumber, Schema, TypeId};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::id::EntryId;

/// The id of a set, given from the same counter as entry ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub EntryId);

/// A set with its attribute and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedSet {
    /// Number of the attribute whose values the set holds.
    pub number: AttributeNumber,
    /// Id of the set.
    pub set: SetId,
    /// Number of members, detached ones included.
    pub count: u64,
}

/// The holder of a link: an entry, one of its attributes, and the set of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// Id of the entry.
    pub id: EntryId,
    /// Number of the attribute.
    pub number: AttributeNumber,
    /// Id of the set.
    pub set: SetId,
}

/// The meaning of the values of a type that are stored as links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// Names: each value is the entry of that name, or a text while there is none.
    Names,
    /// Texts that name no entry, whatever they say. They become links when an attribute has more
    /// than [`TEXTS_IN_ROW_MAX`] of them.
    Texts,
}

/// Number of text values up to which they stay in the row of their entry: a row of some kilobytes
/// is rewritten as fast as links are changed, and read faster.
pub const TEXTS_IN_ROW_MAX: usize = 256;

/// First byte of the forms of texts; no name begins with it, so a text is never taken for a name.
pub(crate) const TEXT_MARK: u8 = 1;

/// Returns the kind of links of a type, for descriptions without options; `None` for types whose
/// values stay in rows. Links are for the types that name the members of groups.
#[inline]
pub fn link_kind(schema: &Schema, type_id: TypeId) -> Option<LinkKind> {
    match schema.type_of(type_id).name() {
        "member" | "uniqueMember" => Some(LinkKind::Names),
        "memberUid" => Some(LinkKind::Texts),
        _ => None,
    }
}

/// Returns whether values of a type may be stored as links.
#[inline]
pub fn is_linked_type(schema: &Schema, type_id: TypeId) -> bool {
    link_kind(schema, type_id).is_some()
}

/// Returns whether `values` values of a type are stored as links.
pub fn becomes_links(schema: &Schema, type_id: TypeId, values: usize) -> bool {
    match link_kind(schema, type_id) {
        Some(LinkKind::Names) => true,
        Some(LinkKind::Texts) => values > TEXTS_IN_ROW_MAX,
        None => false,
    }
}

/// Turns the normal form of a value into its form as a member.
pub fn make_member_form(schema: &Schema, type_id: TypeId, form: &mut Vec<u8>) {
    if link_kind(schema, type_id) == Some(LinkKind::Texts) {
        form.insert(0, TEXT_MARK);
    }
}

/// The term of a link in the digest of the state.
pub(crate) fn term(set: SetId, member: EntryId) -> u128 {
    const SEED: u64 = 1;
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&set.0.0.to_le_bytes());
    bytes[8..].copy_from_slice(&member.0.to_le_bytes());
    xxh3_128_with_seed(&bytes, SEED)
}
