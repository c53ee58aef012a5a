//! Blocks of values that become links (docs/adr/0021). A worker makes the block of an entry: for
//! each attribute its number, the count of its values, and each value with the hash of the name
//! that it is. The entry that a value names is certain when all entries have ids (`members.rs`).

use super::known::Forms;
use super::names::{Names, hash};
use schema::{AttributeNumber, Name, ResolvedRdn, Schema, TypeId};
use state::catalog::DeletedMembers;
use state::stop::Failure;
use state::stored_form::member_form;
use store::{EntryBuilder, EntryId, EntryView, Snapshot, StoredAttribute};
use store::{becomes_links, is_linked_type};

/// An attribute whose values may become links.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkAttribute {
    pub type_id: TypeId,
    pub number: AttributeNumber,
}

impl LinkAttribute {
    /// Whether this number of values become links in an entry with this RDN.
    pub fn is_linked(
        self,
        schema: &Schema,
        rdn: &ResolvedRdn,
        count: impl FnOnce() -> usize,
    ) -> bool {
        is_linked_type(schema, self.type_id)
            && becomes_links(schema, self.type_id, count())
            && schema
                .known(self.number)
                .is_some_and(|it| it.base == self.number)
            && !rdn.values.iter().any(|(it, _)| it.type_id == self.type_id)
    }
}

/// Bytes of a value in a block besides its text: the hash and the length.
pub(super) const VALUE_BYTES: usize = 20;

/// Appends the values of an attribute to a block, and their normal forms to `forms`, if they have
/// to be looked up.
pub(super) fn put<'v>(
    schema: &Schema,
    attribute: LinkAttribute,
    values: impl Iterator<Item = &'v [u8]>,
    block: &mut Vec<u8>,
    mut forms: Option<&mut Forms>,
) {
    let at = begin(attribute.number, block);
    let mut form = Vec::new();
    let mut count = 0_u64;
    for value in values {
        member_form(schema, attribute.type_id, value, &mut form);
        let hash = hash(&Name::from_bytes(&form));
        if let Some(forms) = &mut forms {
            forms.add(&form, hash);
        }
        put_value(hash, value, block);
        count += 1;
    }
    block[at..at + 8].copy_from_slice(&count.to_le_bytes());
}

/// An entry of the old database.
pub(super) struct StoredEntry<'e> {
    pub snapshot: &'e Snapshot<'e>,
    pub id: EntryId,
    pub view: &'e EntryView<'e>,
    pub rdn: &'e ResolvedRdn,
}

impl StoredEntry<'_> {
    /// The block of the entry's links, because ids change in the new database. Values stored in the
    /// row before there were links become links too; the flag then says that the builder holds the
    /// row without them. Detached members are kept as texts if the directory keeps deleted members.
    pub fn links(
        &self,
        schema: &Schema,
        deleted: DeletedMembers,
        names: &mut Names,
        builder: &mut EntryBuilder,
    ) -> Result<(Vec<u8>, bool), Failure> {
        let mut block = Vec::new();
        let view = self.view;
        if view.has_links() {
            self.put_links(schema, deleted, names, &mut block)?;
        }
        let linked = |it: &StoredAttribute<'_>| {
            let attribute = LinkAttribute {
                type_id: schema.known(it.number)?.type_id,
                number: it.number,
            };
            let count = || it.values().into_iter().count();
            let is_linked = attribute.is_linked(schema, self.rdn, count);
            is_linked.then_some(attribute)
        };
        if view.attributes().all(|it| linked(&it).is_none()) {
            return Ok((block, false));
        }
        let user = view.user_attributes().as_ptr_range();
        builder.start(view.parent(), view.rdn(), view.position());
        builder.set_links(true);
        for stored in view.attributes() {
            if let Some(attribute) = linked(&stored) {
                let values = stored.values();
                put(schema, attribute, values.into_iter(), &mut block, None);
            } else {
                let is_user = user.contains(&stored.encoded.as_ptr());
                builder.copy(&stored, !is_user);
            }
        }
        Ok((block, true))
    }

    /// Appends the members of all attributes to a block.
    fn put_links(
        &self,
        schema: &Schema,
        deleted: DeletedMembers,
        names: &mut Names,
        block: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let snapshot = self.snapshot;
        let mut put_name = |view: &EntryView<'_>, out: &mut Vec<u8>| {
            snapshot.write_name(view, out)?;
            let dn = std::str::from_utf8(out).unwrap_or_default();
            let resolved = names.resolve(schema, dn).map_err(Failure::Configuration)?;
            Ok::<u128, Failure>(resolved.hash)
        };
        let mut form = Vec::new();
        let mut value = Vec::new();
        for set in snapshot.linked_sets(self.id)? {
            let Some(known) = schema.known(set.number) else {
                continue;
            };
            let at = begin(set.number, block);
            let mut count = 0_u64;
            for member in snapshot.members_after(set.set, EntryId::ROOT)? {
                let member = member?;
                value.clear();
                let hash = match (snapshot.entry(member)?, snapshot.text(member)?) {
                    (Some(view), _) => put_name(&view, &mut value)?,
                    (None, Some(text)) => {
                        value.extend_from_slice(text);
                        member_form(schema, known.type_id, text, &mut form);
                        hash(&Name::from_bytes(&form))
                    }
                    (None, None) if deleted == DeletedMembers::Keep => {
                        match snapshot.stored_entry(member)? {
                            Some(view) => put_name(&view, &mut value)?,
                            None => continue,
                        }
                    }
                    (None, None) => continue,
                };
                put_value(hash, &value, block);
                count += 1;
            }
            block[at..at + 8].copy_from_slice(&count.to_le_bytes());
        }
        Ok(())
    }
}

/// Begins an attribute; returns the offset for the number of its values.
fn begin(number: AttributeNumber, block: &mut Vec<u8>) -> usize {
    block.extend_from_slice(&number.0.to_le_bytes());
    let at = block.len();
    block.extend_from_slice(&[0; 8]);
    at
}

fn put_value(hash: u128, value: &[u8], block: &mut Vec<u8>) {
    block.extend_from_slice(&hash.to_le_bytes());
    block.extend_from_slice(&(value.len() as u32).to_le_bytes());
    block.extend_from_slice(value);
}
