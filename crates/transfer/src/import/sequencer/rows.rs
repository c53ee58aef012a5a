//! Changes to encoded rows, before the entries are appended or replaced.

use schema::Schema;
use state::stop::Failure;
use store::{EntryBuilder, EntryId, EntryView};

/// The row with another superior.
pub(super) fn with_parent(row: &[u8], parent: EntryId) -> Result<Vec<u8>, Failure> {
    let view = EntryView::new(row)?;
    let mut builder = EntryBuilder::new(parent, view.rdn(), view.position());
    builder.set_links(view.has_links());
    let user = view.user_attributes().as_ptr_range();
    for attribute in view.attributes() {
        let is_user = user.contains(&attribute.encoded.as_ptr());
        builder.copy(&attribute, !is_user);
    }
    let mut out = Vec::with_capacity(row.len());
    builder.finish(&mut out);
    Ok(out)
}

/// The row with an attribute set to this single value.
pub(super) fn with_value(
    schema: &Schema,
    row: &[u8],
    attribute: &str,
    number: u128,
) -> Result<Vec<u8>, Failure> {
    let view = EntryView::new(row)?;
    let mut builder = EntryBuilder::new(view.parent(), view.rdn(), view.position());
    builder.set_links(view.has_links());
    let user = view.user_attributes().as_ptr_range();
    let own = schema
        .describe(attribute)
        .ok()
        .and_then(|it| schema.number(&it));
    let text = number.to_string();
    for stored in view.attributes() {
        let is_user = user.contains(&stored.encoded.as_ptr());
        if Some(stored.number) != own {
            builder.copy(&stored, !is_user);
        } else if is_user {
            builder.user(stored.number, attribute, std::iter::once(text.as_bytes()));
        } else {
            builder.operational(stored.number, attribute, std::iter::once(text.as_bytes()));
        }
    }
    let mut out = Vec::with_capacity(row.len() + text.len());
    builder.finish(&mut out);
    Ok(out)
}
