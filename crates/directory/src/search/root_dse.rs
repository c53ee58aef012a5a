//! The root DSE (RFC 4512 §5.1).

use crate::control;
use crate::operation::{extended, sasl};
use crate::peer::Peer;
use policy::PasswordSettings;
use protocol::oid;
use state::catalog::{CONFIG_NAME, Catalog, MONITOR_NAME, SUBSCHEMA_NAME};
use state::virtual_entry::VirtualEntry;

/// OIDs of supported features, besides controls and extended operations.
const FEATURES: [&str; 10] = [
    oid::ALL_OPERATIONAL_ATTRIBUTES,
    oid::OBJECT_CLASS_ATTRIBUTES,
    oid::TRUE_FALSE_FILTERS,
    oid::LANGUAGE_TAGS,
    oid::LANGUAGE_RANGES,
    oid::MODIFY_INCREMENT,
    oid::SUBORDINATE_SCOPE,
    oid::EXTENDED_ENTRY_COUNT,
    oid::CHOSEN_TRANSACTION_IDENTIFIERS,
    oid::INCREMENTAL_UPDATE_STYLE,
];

/// Makes the root DSE for a connection, on which the SASL mechanisms depend.
pub(crate) fn root_dse(
    catalog: &Catalog,
    csn: &str,
    peer: &Peer,
    passwords: PasswordSettings,
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
    entry.put("supportedControl", control::SUPPORTED.iter().copied());
    let operations = extended::SUPPORTED.into_iter();
    let offered = operations.filter(|it| tls || *it != oid::START_TLS);
    entry.put("supportedExtension", offered);
    entry.put("supportedFeatures", FEATURES);
    let mechanisms = sasl::circumstances(peer, passwords).offered();
    entry.put("supportedSASLMechanisms", mechanisms);
    entry.put("vendorName", ["Pando"]);
    entry.put(
        "vendorVersion",
        [concat!("Pando ", env!("CARGO_PKG_VERSION"))],
    );
    entry.put("contextCSN", [csn]);
    entry.put("entryDN", [""]);
    entry
}
