//! The subschema subentry (RFC 4512 §4.2).

use state::catalog::{Catalog, SUBSCHEMA_NAME};
use state::virtual_entry::VirtualEntry;

/// Makes the subschema subentry of the present schema.
pub(crate) fn subschema(catalog: &Catalog) -> VirtualEntry {
    let mut entry = VirtualEntry::new(&catalog.schema);
    let schema = &catalog.schema;
    entry.put(
        "objectClass",
        ["top", "subentry", "subschema", "extensibleObject"],
    );
    entry.put("cn", ["Subschema"]);
    entry.put("structuralObjectClass", ["subentry"]);
    entry.put("subschemaSubentry", [SUBSCHEMA_NAME]);
    entry.put("entryDN", [SUBSCHEMA_NAME]);
    for (attribute, descriptions) in schema.subschema() {
        entry.put(attribute, descriptions);
    }
    entry
}
