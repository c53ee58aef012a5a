//! Matching rules: equality and order of values, and the matching of assertions (RFC 4517 §4).
//!
//! Every rule works through *normal forms*: two values are equal exactly when their normal forms
//! are equal octets, and for ordering rules the normal forms stand in the order of the values. So
//! indexes, names and filters compare octets and never call back here.

mod algorithm;
pub(crate) mod certificate;
pub(crate) mod certificate_parts;
mod integer;
pub(crate) mod normalise;
mod rule;
mod table;

#[cfg(test)]
mod tests;

pub use rule::{Family, MatchingRule, Position, RuleKind};
pub use table::MATCHING_RULES;

/// OID of the rule that follows membership through nested groups.
pub const OID_IN_CHAIN: &str = "1.2.840.113556.1.4.1941";
