//! Distinguished names, resolved and normalised.

use smallvec::SmallVec;

use crate::description::Description;
use crate::error::NameError;
use crate::schema::Schema;

/// A normalised distinguished name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name {
    bytes: Vec<u8>,
    ends: SmallVec<[u32; 8]>,
}

/// One RDN, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRdn {
    /// The normal form, as [`Name::rdn`] gives it.
    pub normal: Vec<u8>,
    /// The naming attributes and their values without escapes, as spelled.
    pub values: Vec<(Description, Vec<u8>)>,
}

impl Schema {
    /// Resolves the text of a distinguished name.
    pub fn resolve_name(&self, _text: &str) -> Result<Name, NameError> {
        unimplemented!()
    }

    /// Resolves the text of one RDN.
    pub fn resolve_rdn(&self, _text: &str) -> Result<ResolvedRdn, NameError> {
        unimplemented!()
    }
}

impl Name {
    /// The empty name, of the root DSE.
    pub fn root() -> Name {
        Name::default()
    }
    /// Number of RDNs.
    pub fn depth(&self) -> usize {
        self.ends.len()
    }
    /// RDN.
    pub fn rdn(&self, _at: usize) -> &[u8] {
        unimplemented!()
    }
    /// Leaf.
    pub fn leaf(&self) -> Option<&[u8]> {
        unimplemented!()
    }
    /// Parent.
    pub fn parent(&self) -> Option<Name> {
        unimplemented!()
    }
    /// Is self or below.
    pub fn is_within(&self, _superior: &Name) -> bool {
        unimplemented!()
    }
    /// Same as `is_within`.
    pub fn starts_with(&self, _superior: &Name) -> bool {
        unimplemented!()
    }
    /// Child.
    pub fn child(&self, _rdn: &[u8]) -> Name {
        unimplemented!()
    }
    /// Bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// Prefix.
    pub fn prefix_bytes(&self, _depth: usize) -> &[u8] {
        unimplemented!()
    }
}
