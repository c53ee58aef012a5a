//! The operations of RFC 4511, one file each, and functions that several of them use.

pub(crate) mod acting;
pub(crate) mod add;
pub(crate) mod bind;
pub(crate) mod bulk_update;
pub(crate) mod compaction;
pub(crate) mod compare;
pub(crate) mod delete;
pub(crate) mod dynamic;
pub(crate) mod extended;
pub(crate) mod follow;
pub(crate) mod modify;
pub(crate) mod modify_dn;
pub(crate) mod password_modify;
pub(crate) mod reload;
pub(crate) mod sasl;
pub(crate) mod transaction;
pub(crate) mod update;

use protocol::ResultCode;
use schema::{Name, Schema};
use state::catalog::Catalog;
use state::referral;
use state::stop::Stop;

/// Resolves a DN sent by a client; a malformed one is refused with `invalidDNSyntax` and the
/// reason.
pub(crate) fn resolve_name(schema: &Schema, text: &str) -> Result<Name, Stop> {
    match schema.resolve_name(text) {
        Ok(name) => Ok(name),
        Err(error) => Stop::refuse(
            ResultCode::INVALID_DN_SYNTAX,
            format!("\"{text}\": {error}"),
        ),
    }
}

/// Refuses a write to a name that this directory does not hold: the subschema subentry, which is
/// computed, and names of a superior server.
pub(crate) fn refuse_unheld(catalog: &Catalog, name: &Name, spelled: &str) -> Result<(), Stop> {
    if *name == catalog.subschema {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the subschema subentry shows the schema in force; change definitions below \
             cn=schema,cn=config",
        );
    }
    referral::refer_upwards(catalog, name, spelled, None)
}
