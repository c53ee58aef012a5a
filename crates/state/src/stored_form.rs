//! Forms by which values are compared and found.

use schema::{InvalidValue, Schema, TypeId};

/// Appends the normal form by which two values are equal; the value itself if the type has no
/// equality rule.
pub fn normal(schema: &Schema, type_id: TypeId, value: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let normalised: Result<(), InvalidValue> = schema.normalise_equality(type_id, value, out);
    if normalised.is_err() {
        out.clear();
        out.extend_from_slice(value);
    }
}

/// Appends the normal form by which a member of a group is known.
pub fn member_form(schema: &Schema, type_id: TypeId, value: &[u8], out: &mut Vec<u8>) {
    normal(schema, type_id, value, out);
    store::make_member_form(schema, type_id, out);
}
