//! The root DSE (RFC 4512 §5.1).

use super::{controls, extended, sasl};
use crate::catalog::{CONFIG_NAME, Catalog, MONITOR_NAME, SUBSCHEMA_NAME};
use crate::session::Peer;
use crate::virtual_entry::VirtualEntry;
use policy::password::Scheme;

/// All operational attributes (RFC 3673), object class selection (RFC 4529), absolute filters
/// (RFC 4526), language tags and ranges (RFC 3866), modify-increment (RFC 4525), OpenLDAP's
/// feature for the subordinate scope (draft-sermersheim-ldap-subordinate-scope), more words about a
/// matching entry count (Ping Identity), transaction identifiers that the client chooses, and the
/// incremental style of bulk updates (RFC 4373).
const FEATURES: [&str; 10] = [
    "1.3.6.1.4.1.4203.1.5.1",
    "1.3.6.1.4.1.4203.1.5.2",
    "1.3.6.1.4.1.4203.1.5.3",
    "1.3.6.1.4.1.4203.1.5.4",
    "1.3.6.1.4.1.4203.1.5.5",
    "1.3.6.1.1.14",
    "1.3.6.1.4.1.4203.666.8.1",
    protocol::oid::EXTENDED_ENTRY_COUNT,
    protocol::oid::CHOSEN_TRANSACTION_IDENTIFIERS,
    protocol::oid::INCREMENTAL_UPDATE_STYLE,
];

/// Makes the root DSE for a connection: the mechanisms depend on who asks.
pub(crate) fn root_dse(
    catalog: &Catalog,
    csn: &str,
    (peer, scheme): (&Peer, Scheme),
    tls: bool,
) -> VirtualEntry {
    let mut entry = VirtualEntry::new(&catalog.schema);
    entry.put("objectClass", ["top"]);
    let contexts = catalog
        .contexts
        .iter()
        .map(|context| context.spelled.as_str());
    entry.put("namingContexts", contexts.filter(|it| *it != CONFIG_NAME));
    let contexts = catalog.contexts.iter().map(|it| it.spelled.as_str());
    entry.put("dynamicSubtrees", contexts.filter(|it| *it != CONFIG_NAME));
    entry.put("configContext", [CONFIG_NAME]);
    entry.put("monitorContext", [MONITOR_NAME]);
    entry.put("subschemaSubentry", [SUBSCHEMA_NAME]);
    entry.put("ref", catalog.superior_referrals.iter().map(String::as_str));
    entry.put("supportedLDAPVersion", ["3"]);
    entry.put("supportedControl", controls::SUPPORTED.iter().copied());
    let operations = extended::SUPPORTED.into_iter();
    let tls_oid = protocol::oid::START_TLS;
    entry.put(
        "supportedExtension",
        operations.filter(|it| tls || *it != tls_oid),
    );
    entry.put("supportedFeatures", FEATURES);
    entry.put("supportedSASLMechanisms", sasl::mechanisms(peer, scheme));
    entry.put("vendorName", ["Pando"]);
    entry.put(
        "vendorVersion",
        [concat!("Pando ", env!("CARGO_PKG_VERSION"))],
    );
    entry.put("contextCSN", [csn]);
    entry.put("entryDN", [""]);
    entry
}
