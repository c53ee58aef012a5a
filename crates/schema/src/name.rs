//! Distinguished names, resolved under the schema and normalised.
//!
//! Normal form of an RDN: the type's first name in lower case (its OID if it has none), `=`, and
//! the value's normal form under its equality rule. An RDN of several values has them sorted.
//!
//! Invariant: names are equal exactly when their octets are. A zero octet in a value is written `00
//! FF`; `00 01` separates the values of an RDN, `00 02` the RDNs of a name.

pub(crate) mod resolve;

use std::fmt;

use smallvec::SmallVec;

pub use resolve::ResolvedRdn;

const VALUE_SEPARATOR: [u8; 2] = [0, 1];
const RDN_SEPARATOR: [u8; 2] = [0, 2];

/// A normalised distinguished name, from the top (the suffix) down. In the order of names, a name
/// directly precedes all its subordinates.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name {
    bytes: Vec<u8>,
    /// End of each RDN in `bytes`, separators not counted; derived from `bytes`.
    ends: SmallVec<[u32; 8]>,
}

impl Name {
    /// Returns the empty name, of the root DSE.
    pub fn root() -> Name {
        Name::default()
    }

    /// Returns the name with these [`Name::bytes`]: the inverse of that function. Other octets give
    /// an arbitrary name, never a panic.
    pub fn from_bytes(bytes: &[u8]) -> Name {
        let mut ends = SmallVec::new();
        let mut at = 0;
        while at + 1 < bytes.len() {
            if bytes[at] != 0 {
                at += 1;
                continue;
            }
            if bytes[at..at + 2] == RDN_SEPARATOR {
                ends.push(at as u32);
            }
            at += 2;
        }
        if !bytes.is_empty() {
            ends.push(bytes.len() as u32);
        }
        Name {
            bytes: bytes.to_vec(),
            ends,
        }
    }

    /// Number of RDNs; 0 for the root.
    pub fn depth(&self) -> usize {
        self.ends.len()
    }

    /// Returns the RDN at a level, 0 being the topmost.
    ///
    /// # Panics
    /// If the level is not below [`Name::depth`].
    pub fn rdn(&self, level: usize) -> &[u8] {
        let start = match level {
            0 => 0,
            _ => self.ends[level - 1] as usize + RDN_SEPARATOR.len(),
        };
        &self.bytes[start..self.ends[level] as usize]
    }

    /// Iterates over the RDNs, topmost first.
    pub fn rdns(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        (0..self.depth()).map(|level| self.rdn(level))
    }

    /// Returns the RDN of the entry itself; `None` for the root.
    pub fn leaf(&self) -> Option<&[u8]> {
        self.depth().checked_sub(1).map(|level| self.rdn(level))
    }

    /// Returns the name of the parent; `None` for the root.
    pub fn parent(&self) -> Option<Name> {
        self.depth().checked_sub(1).map(|depth| self.prefix(depth))
    }

    /// Returns the topmost `depth` RDNs as a name.
    ///
    /// # Panics
    /// If the name has fewer RDNs.
    pub fn prefix(&self, depth: usize) -> Name {
        let ends = SmallVec::from_slice(&self.ends[..depth]);
        Name {
            bytes: self.prefix_bytes(depth).to_vec(),
            ends,
        }
    }

    /// Returns whether this is `superior` itself or one of its subordinates.
    pub fn is_within(&self, superior: &Name) -> bool {
        let depth = superior.depth();
        depth <= self.depth() && self.prefix_bytes(depth) == superior.bytes
    }

    /// Returns whether the topmost RDNs are those of `superior`, like [`Name::is_within`].
    pub fn starts_with(&self, superior: &Name) -> bool {
        self.is_within(superior)
    }

    /// Returns the name of a child.
    ///
    /// `rdn` is a normal form, from [`ResolvedRdn::normal`] or [`Name::rdn`].
    pub fn child(&self, rdn: &[u8]) -> Name {
        let mut bytes = Vec::with_capacity(self.bytes.len() + RDN_SEPARATOR.len() + rdn.len());
        bytes.extend_from_slice(&self.bytes);
        if !bytes.is_empty() {
            bytes.extend_from_slice(&RDN_SEPARATOR);
        }
        bytes.extend_from_slice(rdn);
        let mut ends = self.ends.clone();
        ends.push(bytes.len() as u32);
        Name { bytes, ends }
    }

    /// Octets that identify the name.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the [`Name::bytes`] of the topmost `depth` RDNs.
    ///
    /// # Panics
    /// If the name has fewer than `depth` RDNs.
    pub fn prefix_bytes(&self, depth: usize) -> &[u8] {
        match depth {
            0 => &[],
            _ => &self.bytes[..self.ends[depth - 1] as usize],
        }
    }
}

/// Returns whether the name with octets `name` is the one with octets `superior` or below it. Works
/// on normal forms of values of DN syntax without building names.
pub(crate) fn is_within(name: &[u8], superior: &[u8]) -> bool {
    superior.is_empty() || below(name, superior).is_some() || name == superior
}

/// Returns the part of `name` below `superior`; `None` if `name` is not below it.
pub(crate) fn below<'a>(name: &'a [u8], superior: &[u8]) -> Option<&'a [u8]> {
    let rest = name.strip_prefix(superior)?;
    let rest = if superior.is_empty() {
        rest
    } else {
        rest.strip_prefix(&RDN_SEPARATOR)?
    };
    (!rest.is_empty()).then_some(rest)
}

/// Writes the normal form in the syntax of RFC 4514: an equal name, perhaps never spelled so.
impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rdn) in self.rdns().rev().enumerate() {
            if at > 0 {
                out.write_str(",")?;
            }
            let mut text = String::new();
            for_each_value(rdn, |attribute, value| {
                if !text.is_empty() {
                    text.push('+');
                }
                text.push_str(attribute);
                text.push('=');
                protocol::escape_value(&mut text, value);
            });
            out.write_str(&text)?;
        }
        Ok(())
    }
}

/// Returns whether octets of a name are exactly one RDN.
pub(crate) fn is_one_rdn(bytes: &[u8]) -> bool {
    !bytes.is_empty() && !bytes.windows(2).any(|pair| pair == RDN_SEPARATOR)
}

/// Calls `visit` with the attribute name and the normal value (zero octets unescaped) of every
/// value of an RDN's normal form.
pub(crate) fn for_each_value(rdn: &[u8], mut visit: impl FnMut(&str, &[u8])) {
    let mut plain = Vec::with_capacity(rdn.len());
    let mut rest = rdn;
    while !rest.is_empty() {
        plain.clear();
        let mut at = 0;
        while at < rest.len() && rest[at..].get(..2) != Some(&VALUE_SEPARATOR) {
            plain.push(rest[at]);
            at += if rest[at] == 0 { 2 } else { 1 };
        }
        rest = rest.get(at + 2..).unwrap_or(&[]);
        let equals = plain
            .iter()
            .position(|byte| *byte == b'=')
            .unwrap_or(plain.len());
        let attribute = std::str::from_utf8(&plain[..equals]).unwrap_or("");
        visit(attribute, plain.get(equals + 1..).unwrap_or(&[]));
    }
}
