//! Syntaxes (RFC 4517 §3).

/// A syntax.
#[derive(Debug)]
pub struct Syntax {
    /// OID.
    pub oid: &'static str,
    /// Description.
    pub description: &'static str,
}

impl Syntax {
    /// Finds a syntax by its OID.
    pub fn by_oid(oid: &str) -> Option<&'static Syntax> {
        let _ = oid;
        None
    }
}
