//! Resolves names of imported entries. Most entries have the superior of the previous one, so
//! superiors are cached by text and only RDNs are resolved.

use protocol::rdns;
use schema::{Name, ResolvedRdn, Schema};
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_128;

/// Maximum number of cached superiors.
const SUPERIORS_MAX: usize = 4096;

/// A resolver with its cache.
#[derive(Debug, Default)]
pub(super) struct Names {
    superiors: Vec<Superior>,
    by_text: HashMap<Box<str>, usize>,
    last: usize,
}

/// A cached superior.
#[derive(Debug)]
struct Superior {
    text: Box<str>,
    name: Name,
    hash: u128,
    covered: bool,
}

/// A resolved name of an entry.
#[derive(Debug)]
pub(super) struct Resolved<'d> {
    pub name: Name,
    /// Hash of the name, see [`hash`].
    pub hash: u128,
    /// Hash of the superior's name.
    pub superior: u128,
    pub rdn: ResolvedRdn,
    /// The RDN as spelled.
    pub spelled: &'d str,
    /// Whether the superior is known to be in an open naming context.
    pub covered: bool,
}

/// Hash by which names are compared.
pub(super) fn hash(name: &Name) -> u128 {
    xxh3_128(name.bytes())
}

impl Names {
    /// Resolves the name of an entry. Errors are sentences.
    pub fn resolve<'d>(&mut self, schema: &Schema, dn: &'d str) -> Result<Resolved<'d>, String> {
        let (spelled, above) = split(dn)?;
        let rdn = schema
            .resolve_rdn(spelled)
            .map_err(|error| format!("dn: {error}"))?;
        let at = self.superior(schema, above)?;
        self.last = at;
        let superior = &self.superiors[at];
        let name = superior.name.child(&rdn.normal);
        Ok(Resolved {
            hash: hash(&name),
            name,
            superior: superior.hash,
            rdn,
            spelled,
            covered: superior.covered,
        })
    }

    /// Marks the superior of the last resolved name as lying in an open naming context.
    pub fn cover(&mut self) {
        if let Some(superior) = self.superiors.get_mut(self.last) {
            superior.covered = true;
        }
    }

    fn superior(&mut self, schema: &Schema, text: &str) -> Result<usize, String> {
        if self
            .superiors
            .get(self.last)
            .is_some_and(|it| *it.text == *text)
        {
            return Ok(self.last);
        }
        if let Some(at) = self.by_text.get(text) {
            return Ok(*at);
        }
        let name = schema
            .resolve_name(text)
            .map_err(|error| format!("dn: {error}"))?;
        if self.superiors.len() == SUPERIORS_MAX {
            self.superiors.clear();
            self.by_text.clear();
        }
        let at = self.superiors.len();
        let hash = hash(&name);
        self.superiors.push(Superior {
            text: text.into(),
            name,
            hash,
            covered: false,
        });
        self.by_text.insert(text.into(), at);
        Ok(at)
    }
}

/// The first RDN of a name as spelled, and the text behind its separator.
pub(super) fn split(dn: &str) -> Result<(&str, &str), String> {
    let special = |byte: u8| matches!(byte, b'\\' | b'"' | b';' | b'#');
    if !dn.bytes().any(special) {
        let (first, above) = dn.split_once(',').unwrap_or((dn, ""));
        let first = first.trim_matches(' ');
        if first.is_empty() {
            return Err("dn: expected the name of an entry, got none".to_owned());
        }
        return Ok((first, above.trim_matches(' ')));
    }
    let first = match rdns(dn).next() {
        None => return Err("dn: expected the name of an entry, got none".to_owned()),
        Some(first) => first.map_err(|error| format!("dn: {error}"))?,
    };
    // The RDN is a slice of the text, so the pointers' distance is its end.
    let end = first.spelled.as_ptr().addr() - dn.as_ptr().addr() + first.spelled.len();
    let above = dn.get(end..).unwrap_or_default().trim_start_matches(' ');
    let above = above.strip_prefix([',', ';']).unwrap_or(above);
    Ok((first.spelled, above.trim_matches(' ')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_their_first_separator() {
        for (dn, rdn, above) in [
            ("uid=1,ou=x,dc=com", "uid=1", "ou=x,dc=com"),
            ("dc=com", "dc=com", ""),
            (" uid=1 , ou=x", "uid=1", "ou=x"),
            ("cn=a\\,b,ou=x", "cn=a\\,b", "ou=x"),
            ("cn=\"a,b\" ; ou=x", "cn=\"a,b\"", "ou=x"),
            ("cn=a+sn=b,ou=x", "cn=a+sn=b", "ou=x"),
        ] {
            assert_eq!(split(dn), Ok((rdn, above)), "{dn}");
        }
        assert!(split("").is_err());
        assert!(split(" ,dc=com").is_err());
    }

    #[test]
    fn equal_names_have_equal_hashes() {
        let schema = Schema::standard();
        let mut names = Names::default();
        let one = names.resolve(&schema, "UID=A,ou=X,dc=com").unwrap();
        let (hash, superior) = (one.hash, one.superior);
        let other = names.resolve(&schema, "uid=a, OU=x,dc=COM").unwrap();
        assert_eq!((other.hash, other.superior), (hash, superior));
        assert_eq!(
            names.resolve(&schema, "ou=x,dc=com").unwrap().hash,
            superior
        );
    }
}
