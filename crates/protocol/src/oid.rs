//! Object identifiers of controls, extended operations and features.

/// ManageDsaIT control (RFC 3296); has no value.
pub const MANAGE_DSA_IT: &str = "2.16.840.1.113730.3.4.2";
/// Simple paged results control (RFC 2696), request and response.
pub const PAGED_RESULTS: &str = "1.2.840.113556.1.4.319";
/// Server-side sorting request control (RFC 2891).
pub const SORT_REQUEST: &str = "1.2.840.113556.1.4.473";
/// Server-side sorting response control (RFC 2891).
pub const SORT_RESPONSE: &str = "1.2.840.113556.1.4.474";
/// Virtual list view request control (draft-ietf-ldapext-ldapv3-vlv-09).
pub const VIRTUAL_LIST_VIEW_REQUEST: &str = "2.16.840.1.113730.3.4.9";
/// Virtual list view response control (draft-ietf-ldapext-ldapv3-vlv-09).
pub const VIRTUAL_LIST_VIEW_RESPONSE: &str = "2.16.840.1.113730.3.4.10";
/// Subentries control (RFC 3672).
pub const SUBENTRIES: &str = "1.3.6.1.4.1.4203.1.10.1";
/// Subentries control of the LDUP drafts (draft-ietf-ldup-subentry), which OpenDJ supports too.
pub const SUBENTRIES_LDUP: &str = "1.3.6.1.4.1.7628.5.101.1";
/// Proxied authorization control, version 2 (RFC 4370).
pub const PROXIED_AUTHORIZATION: &str = "2.16.840.1.113730.3.4.18";
/// Assertion control (RFC 4528).
pub const ASSERTION: &str = "1.3.6.1.1.12";
/// Pre-read control (RFC 4527), request and response.
pub const PRE_READ: &str = "1.3.6.1.1.13.1";
/// Post-read control (RFC 4527), request and response.
pub const POST_READ: &str = "1.3.6.1.1.13.2";
/// Matched values control (RFC 3876).
pub const MATCHED_VALUES: &str = "1.2.826.0.1.3344810.2.3";
/// Don't use copy control (RFC 6171); has no value.
pub const DONT_USE_COPY: &str = "1.3.6.1.1.22";
/// Sync request control (RFC 4533 §2.2).
pub const SYNC_REQUEST: &str = "1.3.6.1.4.1.4203.1.9.1.1";
/// Sync state control (RFC 4533 §2.3).
pub const SYNC_STATE: &str = "1.3.6.1.4.1.4203.1.9.1.2";
/// Sync done control (RFC 4533 §2.4).
pub const SYNC_DONE: &str = "1.3.6.1.4.1.4203.1.9.1.3";
/// Sync info intermediate response (RFC 4533 §2.5).
pub const SYNC_INFO: &str = "1.3.6.1.4.1.4203.1.9.1.4";
/// Persistent search control (draft-ietf-ldapext-psearch-03).
pub const PERSISTENT_SEARCH: &str = "2.16.840.1.113730.3.4.3";
/// Entry change notification control (draft-ietf-ldapext-psearch-03).
pub const ENTRY_CHANGE_NOTIFICATION: &str = "2.16.840.1.113730.3.4.7";
/// Password policy control (draft-behera-ldap-password-policy), request and response.
pub const PASSWORD_POLICY: &str = "1.3.6.1.4.1.42.2.27.8.5.1";
/// Password expired control (draft-vchu-ldap-pwd-policy-00); its value is the text `0`.
pub const PASSWORD_EXPIRED: &str = "2.16.840.1.113730.3.4.4";
/// Password expiring control (draft-vchu-ldap-pwd-policy-00); its value is seconds as text.
pub const PASSWORD_EXPIRING: &str = "2.16.840.1.113730.3.4.5";
/// Authorization identity request control (RFC 3829); has no value.
pub const AUTHORIZATION_IDENTITY_REQUEST: &str = "2.16.840.1.113730.3.4.16";
/// Authorization identity response control (RFC 3829); its value is an authzId.
pub const AUTHORIZATION_IDENTITY_RESPONSE: &str = "2.16.840.1.113730.3.4.15";
/// Account usability control (Sun Directory Server), request and response.
pub const ACCOUNT_USABILITY: &str = "1.3.6.1.4.1.42.2.27.9.5.8";
/// Get effective rights control (Sun Directory Server).
pub const GET_EFFECTIVE_RIGHTS: &str = "1.3.6.1.4.1.42.2.27.9.5.2";
/// Tree delete control (draft-armijo-ldap-treedelete-02); has no value.
pub const TREE_DELETE: &str = "1.2.840.113556.1.4.805";
/// Permissive modify control (Active Directory); has no value.
pub const PERMISSIVE_MODIFY: &str = "1.2.840.113556.1.4.1413";
/// Relax rules control (draft-zeilenga-ldap-relax-03); has no value.
pub const RELAX_RULES: &str = "1.3.6.1.4.1.4203.666.5.12";
/// No-op control (draft-zeilenga-ldap-noop-12); has no value.
pub const NO_OPERATION: &str = "1.3.6.1.4.1.4203.666.5.2";
/// No-op control under the OID of OpenDJ and the UnboundID LDAP SDK.
pub const NO_OPERATION_OPENDJ: &str = "1.3.6.1.4.1.4203.1.10.2";
/// Dereference control (draft-masarati-ldap-deref-00).
pub const DEREFERENCE: &str = "1.3.6.1.4.1.4203.666.5.16";
/// Session tracking control (draft-wahl-ldap-session-03).
pub const SESSION_TRACKING: &str = "1.3.6.1.4.1.21008.108.63.1";
/// Matching entry count request control (Ping Identity).
pub const MATCHING_ENTRY_COUNT_REQUEST: &str = "1.3.6.1.4.1.30221.2.5.36";
/// Matching entry count response control (Ping Identity).
pub const MATCHING_ENTRY_COUNT_RESPONSE: &str = "1.3.6.1.4.1.30221.2.5.37";
/// Reject unindexed search control (Ping Identity); has no value.
pub const REJECT_UNINDEXED_SEARCH: &str = "1.3.6.1.4.1.30221.2.5.54";
/// Permit unindexed search control (Ping Identity); has no value.
pub const PERMIT_UNINDEXED_SEARCH: &str = "1.3.6.1.4.1.30221.2.5.55";
/// Queue length control, Pando's own (docs/reference/oids.md).
pub const QUEUE_LENGTH: &str = "2.25.264386329193173027935752912657775087103.3.1";
/// Explain control, Pando's own (docs/reference/oids.md): how a search is carried out. The request
/// has no value, the response's is an `Explanation`.
pub const EXPLAIN: &str = "2.25.264386329193173027935752912657775087103.3.2";
/// Access explanation control, Pando's own (docs/reference/oids.md): why access rules decide as
/// they do. The request's value is an `AccessQuestion`, the response's an `AccessExplanation`.
pub const ACCESS_EXPLANATION: &str = "2.25.264386329193173027935752912657775087103.3.10";
/// Position control, Pando's own, request and response: a position in the order of writes.
pub const POSITION: &str = "2.25.264386329193173027935752912657775087103.3.3";
/// Assured replication request control (Ping Identity).
pub const ASSURED_REPLICATION_REQUEST: &str = "1.3.6.1.4.1.30221.2.5.28";
/// Assured replication response control (Ping Identity).
pub const ASSURED_REPLICATION_RESPONSE: &str = "1.3.6.1.4.1.30221.2.5.29";
/// Transaction specification control (RFC 5805 §2.2); its value is the transaction identifier.
pub const TRANSACTION_SPECIFICATION: &str = "1.3.6.1.1.21.2";

/// StartTLS operation (RFC 4511 §4.14), request and response name; has no value.
pub const START_TLS: &str = "1.3.6.1.4.1.1466.20037";
/// Notice of Disconnection, an unsolicited notification (RFC 4511 §4.4.1).
pub const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";
/// Password Modify operation (RFC 3062).
pub const PASSWORD_MODIFY: &str = "1.3.6.1.4.1.4203.1.11.1";
/// Who am I? operation (RFC 4532); the request has no value, the response's is an authzId.
pub const WHO_AM_I: &str = "1.3.6.1.4.1.4203.1.11.3";
/// Cancel operation (RFC 3909).
pub const CANCEL: &str = "1.3.6.1.1.8";
/// Start Transaction operation (RFC 5805 §2.1); the response's value is the identifier.
pub const START_TRANSACTION: &str = "1.3.6.1.1.21.1";
/// End Transaction operation (RFC 5805 §2.3).
pub const END_TRANSACTION: &str = "1.3.6.1.1.21.3";
/// Aborted Transaction, an unsolicited notification (RFC 5805 §2.4); its value is the identifier.
pub const ABORTED_TRANSACTION: &str = "1.3.6.1.1.21.4";
/// Start LBURP, beginning of a bulk update (RFC 4373 §5.1).
pub const START_BULK_UPDATE: &str = "1.3.6.1.1.17.1";
/// Response name of Start LBURP (RFC 4373 §5.2).
pub const START_BULK_UPDATE_RESPONSE: &str = "1.3.6.1.1.17.2";
/// End LBURP (RFC 4373 §5.5).
pub const END_BULK_UPDATE: &str = "1.3.6.1.1.17.3";
/// Response name of End LBURP (RFC 4373 §5.6).
pub const END_BULK_UPDATE_RESPONSE: &str = "1.3.6.1.1.17.4";
/// LBURP update, a list of updates (RFC 4373 §5.3).
pub const BULK_UPDATE: &str = "1.3.6.1.1.17.5";
/// Response name of LBURP update (RFC 4373 §5.4).
pub const BULK_UPDATE_RESPONSE: &str = "1.3.6.1.1.17.6";
/// Feature: the incremental update style of LBURP (RFC 4373 §6).
pub const INCREMENTAL_UPDATE_STYLE: &str = "1.3.6.1.1.17.7";
/// Refresh of a dynamic entry (RFC 2589 §4), request and response name.
pub const REFRESH: &str = "1.3.6.1.4.1.1466.101.119.1";
/// Compacts the served database, Pando's own (docs/reference/oids.md); has no value.
pub const COMPACT: &str = "2.25.264386329193173027935752912657775087103.4.1";
/// Cancels the running compaction, Pando's own; has no value.
pub const CANCEL_COMPACTION: &str = "2.25.264386329193173027935752912657775087103.4.2";
/// Makes the server read its settings again, Pando's own (docs/reference/oids.md); has no value.
pub const RELOAD: &str = "2.25.264386329193173027935752912657775087103.4.3";

/// Feature: asking for all operational attributes with `+` (RFC 3673).
pub const ALL_OPERATIONAL_ATTRIBUTES: &str = "1.3.6.1.4.1.4203.1.5.1";
/// Feature: asking for the attributes of an object class with `@` (RFC 4529).
pub const OBJECT_CLASS_ATTRIBUTES: &str = "1.3.6.1.4.1.4203.1.5.2";
/// Feature: further fields in the matching entry count response on request (Ping Identity).
pub const EXTENDED_ENTRY_COUNT: &str = "1.3.6.1.4.1.30221.2.12.7";
/// Feature: filters that are always true or false (RFC 4526).
pub const TRUE_FALSE_FILTERS: &str = "1.3.6.1.4.1.4203.1.5.3";
/// Feature: values with language tags (RFC 3866).
pub const LANGUAGE_TAGS: &str = "1.3.6.1.4.1.4203.1.5.4";
/// Feature: asking for ranges of languages (RFC 3866).
pub const LANGUAGE_RANGES: &str = "1.3.6.1.4.1.4203.1.5.5";
/// Feature: the modify operation's increment (RFC 4525).
pub const MODIFY_INCREMENT: &str = "1.3.6.1.1.14";
/// Feature: the scope of all subordinates of the base, without the base, as in OpenLDAP
/// (draft-sermersheim-ldap-subordinate-scope).
pub const SUBORDINATE_SCOPE: &str = "1.3.6.1.4.1.4203.666.8.1";
/// Feature: the client may choose the identifiers of its transactions (ours: see
/// `docs/guides/transactions.md`).
pub const CHOSEN_TRANSACTION_IDENTIFIERS: &str = "2.25.264386329193173027935752912657775087103.5.1";
/// Selects no attribute (RFC 4511 §4.5.1.8).
pub const NO_ATTRIBUTES: &str = "1.1";
