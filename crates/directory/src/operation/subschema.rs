//! The subschema subentry (RFC 4512 §4.2).

use crate::catalog::{Catalog, SUBSCHEMA_NAME};
use crate::virtual_entry::VirtualEntry;

/// Makes the subschema subentry of the schema in force.
pub(crate) fn subschema(catalog: &Catalog) -> VirtualEntry {
    let mut entry = VirtualEntry::default();
    let schema = &catalog.schema;
    entry.put(
        schema,
        "objectClass",
        ["top", "subentry", "subschema", "extensibleObject"],
    );
    entry.put(schema, "cn", ["Subschema"]);
    entry.put(schema, "structuralObjectClass", ["subentry"]);
    entry.put(schema, "subschemaSubentry", [SUBSCHEMA_NAME]);
    entry.put(schema, "entryDN", [SUBSCHEMA_NAME]);
    for (attribute, descriptions) in schema.subschema() {
        entry.put(schema, attribute, descriptions);
    }
    entry
}
