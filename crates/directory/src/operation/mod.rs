//! The operations of RFC 4511, one file each, and functions that several of them use.

pub(crate) mod account_usability;
pub(crate) mod add;
pub(crate) mod alias;
pub(crate) mod assurance;
pub(crate) mod authentication;
pub(crate) mod bind;
pub(crate) mod bulk_update;
pub(crate) mod compaction;
pub(crate) mod compare;
pub(crate) mod controls;
pub(crate) mod cost;
pub(crate) mod count;
pub(crate) mod delete;
pub(crate) mod dereference;
pub(crate) mod dynamic;
pub(crate) mod effective_rights;
pub(crate) mod explain;
pub(crate) mod extended;
pub(crate) mod extras;
pub(crate) mod follow;
pub(crate) mod kept;
pub(crate) mod large;
pub(crate) mod last_name;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod modify;
pub(crate) mod modify_dn;
pub(crate) mod must_change;
pub(crate) mod new_password;
pub(crate) mod page;
pub(crate) mod password_modify;
pub(crate) mod passwords;
pub(crate) mod placed;
pub(crate) mod policed;
pub(crate) mod position;
pub(crate) mod proxy;
pub(crate) mod reference;
pub(crate) mod reload;
pub(crate) mod root_dse;
pub(crate) mod sasl;
pub(crate) mod search;
pub(crate) mod slice;
pub(crate) mod sort_key;
pub(crate) mod sort_list;
pub(crate) mod sort_pages;
pub(crate) mod sort_result;
pub(crate) mod sort_walk;
pub(crate) mod sorted;
pub(crate) mod spool;
pub(crate) mod subschema;
pub(crate) mod transaction;
pub(crate) mod unindexed;
pub(crate) mod view;
pub(crate) mod virtual_list;
pub(crate) mod virtual_search;

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
