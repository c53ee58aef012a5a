//! Writes of a client to one entry, made from texts.

use super::BASE;
use protocol::ChangeOperation;
use schema::Schema;
use state::grant::Grant;
use state::write::{Change, Given, Modification, Renaming, Write, WriteOptions};

/// A change of the entry of this name.
pub(super) fn change_of(schema: &Schema, name: &str, change: Change) -> Write {
    let resolved = schema.resolve_name(name).expect("a name");
    Write::of_server(
        Grant::of_server(BASE.to_owned(), resolved),
        name.to_owned(),
        change,
    )
}

/// A change of one attribute.
pub(super) fn modification(
    schema: &Schema,
    operation: ChangeOperation,
    attribute: &str,
    values: &[&str],
) -> Modification {
    Modification {
        operation,
        given: Given {
            description: schema.describe(attribute).expect("known"),
            values: values.iter().map(|it| it.as_bytes().to_vec()).collect(),
        },
    }
}

/// A new RDN for an entry, which stays below its superior.
pub(super) fn renaming(schema: &Schema, rdn: &str, delete_old_rdn: bool) -> Renaming {
    Renaming {
        rdn: schema.resolve_rdn(rdn).expect("an RDN"),
        rdn_spelled: rdn.to_owned(),
        delete_old_rdn,
        new_superior: None,
    }
}

/// The deletion of an entry or of its whole subtree, by the administrator.
pub(super) fn deletion(schema: &Schema, name: &str, tree: bool) -> Write {
    let options = WriteOptions {
        administrator: true,
        tree,
        ..WriteOptions::default()
    };
    Write {
        options: options.if_any(),
        ..change_of(schema, name, Change::Delete)
    }
}
