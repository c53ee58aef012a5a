//! Matching rules (RFC 4517 §4).

/// A matching rule.
#[derive(Debug)]
pub struct MatchingRule {
    /// OID.
    pub oid: &'static str,
    /// Name.
    pub name: &'static str,
    /// Assertion syntax.
    pub syntax_oid: &'static str,
}

impl MatchingRule {
    /// Finds a matching rule by name or OID.
    pub fn by_name(name: &str) -> Option<&'static MatchingRule> {
        let _ = name;
        None
    }
}
