//! Links of the old database's entries, whose ids change as those of the entries do.

use super::links;
use super::names::Names;
use schema::{ResolvedRdn, Schema};
use state::catalog::DeletedMembers;
use state::stop::Failure;
use store::{EntryBuilder, EntryId, EntryView, Snapshot, StoredAttribute};

/// The block of an entry's links. Values stored in the row before there were links become links
/// too; the result then says that the builder holds the row without them.
pub(super) fn links_of(
    (schema, deleted): (&Schema, DeletedMembers),
    names: &mut Names,
    (snapshot, id, view): (&Snapshot<'_>, EntryId, &EntryView<'_>),
    rdn: &ResolvedRdn,
    builder: &mut EntryBuilder,
) -> Result<(Vec<u8>, bool), Failure> {
    let mut block = Vec::new();
    if view.has_links() {
        let mut name_of = |view: &EntryView<'_>, out: &mut Vec<u8>| {
            snapshot.write_name(view, out)?;
            let dn = std::str::from_utf8(out).unwrap_or_default();
            let resolved = names.resolve(schema, dn).map_err(Failure::Configuration)?;
            Ok(resolved.hash)
        };
        let rules = (schema, deleted);
        links::put_stored(rules, snapshot, id, &mut name_of, &mut block)?;
    }
    let kind = |it: &StoredAttribute<'_>| {
        let known = schema.known(it.number)?;
        let kind = (known.type_id, it.number);
        let count = || it.values().into_iter().count();
        links::is_linked(schema, kind, rdn, count).then_some(kind)
    };
    if view.attributes().all(|it| kind(&it).is_none()) {
        return Ok((block, false));
    }
    let user = view.user_attributes().as_ptr_range();
    builder.start(view.parent(), view.rdn(), view.position());
    builder.set_links(true);
    for attribute in view.attributes() {
        if let Some(kind) = kind(&attribute) {
            let values = attribute.values();
            links::put(schema, kind, values.into_iter(), &mut block, None);
        } else {
            let is_user = user.contains(&attribute.encoded.as_ptr());
            builder.copy(&attribute, !is_user);
        }
    }
    Ok((block, true))
}
