//! Reads the old server's root DSE.

use super::remote::Remote;
use super::trouble::{NO_SYNC, Trouble};
use crate::cli::Migrate;
use protocol::oid;

/// Naming contexts and features of the old server.
#[derive(Debug, Clone)]
pub struct Provider {
    /// The bases, as spelled.
    pub bases: Vec<String>,
    /// The entry with the schema.
    pub subschema: String,
    /// Whether the old server supports the subentries control.
    pub subentries: bool,
}

/// Reads the root DSE of the old server.
pub fn look(remote: &mut Remote, it: &Migrate) -> Result<Provider, Trouble> {
    let wanted = ["namingContexts", "supportedControl", "subschemaSubentry"];
    let root = remote.read("", &wanted)?;
    if !it.plain
        && !root
            .texts("supportedControl")
            .any(|it| it == oid::SYNC_REQUEST)
    {
        return Err(Trouble::refused(format!("{}: {NO_SYNC}", it.from)));
    }
    let bases: Vec<String> = match it.base.as_slice() {
        [] => root.texts("namingContexts").map(str::to_owned).collect(),
        given => given.to_vec(),
    };
    if bases.iter().all(String::is_empty) {
        return Err(Trouble::refused(format!(
            "{}: the old server names no naming context; give --base",
            it.from
        )));
    }
    let subschema = root.texts("subschemaSubentry").next();
    Ok(Provider {
        subschema: subschema.unwrap_or("cn=Subschema").to_owned(),
        subentries: root
            .texts("supportedControl")
            .any(|it| it == oid::SUBENTRIES),
        bases,
    })
}
