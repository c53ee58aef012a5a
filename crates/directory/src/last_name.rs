//! Cache of the last name that a thread's searches and compares resolved. Clients repeat names, or
//! name entries of one container, and resolving a name takes a tenth of a search.

use schema::{Name, Schema, TypeId};
use state::catalog::Catalog;
use state::stop::Stop;

#[derive(Default)]
pub(crate) struct LastName {
    text: String,
    name: Name,
    /// Start of the superior's text in `text`, in bytes; 0 if unknown.
    superior_at: usize,
    superior: Name,
    /// The schema of the resolved names; kept alive so that its address identifies it.
    schema: Option<Schema>,
}

impl LastName {
    /// Resolves the name of a request.
    pub fn resolve(&mut self, catalog: &Catalog, text: &str) -> Result<&Name, Stop> {
        let schema = &catalog.schema;
        if !self.schema.as_ref().is_some_and(|it| is_same(it, schema)) {
            *self = LastName {
                schema: Some(schema.clone()),
                ..LastName::default()
            };
        } else if self.text == text {
            return Ok(&self.name);
        }
        self.resolve_other(schema, text)?;
        Ok(&self.name)
    }

    fn resolve_other(&mut self, schema: &Schema, text: &str) -> Result<(), Stop> {
        let Some((rdn, superior)) = split(text) else {
            return self.resolve_whole(schema, text, 0);
        };
        let superior_at = text.len() - superior.len();
        if self.superior_at == 0 || self.text[self.superior_at..] != *superior {
            return self.resolve_whole(schema, text, superior_at);
        }
        let below = schema.resolve_below(&self.superior, rdn, &mut self.name);
        if below.is_err() {
            // Resolves again for the text of the refusal.
            return self.resolve_whole(schema, text, superior_at);
        }
        self.text.clear();
        self.text.push_str(text);
        self.superior_at = superior_at;
        Ok(())
    }

    fn resolve_whole(
        &mut self,
        schema: &Schema,
        text: &str,
        superior_at: usize,
    ) -> Result<(), Stop> {
        // A malformed name is not cached.
        self.text.clear();
        self.name = Name::root();
        self.superior_at = 0;
        self.name = crate::operation::resolve_name(schema, text)?;
        self.superior = self.name.parent().unwrap_or_default();
        self.text.push_str(text);
        self.superior_at = superior_at;
        Ok(())
    }
}

/// Splits a DN into RDN and superior; `None` if the RDN has characters that might quote its comma.
fn split(text: &str) -> Option<(&str, &str)> {
    let (rdn, superior) = text.split_once(',')?;
    let plain = |byte: u8| !matches!(byte, b'\\' | b'"' | b'#' | b'<' | b';');
    let blank = |text: &str| text.bytes().all(|byte| byte == b' ');
    (rdn.bytes().all(plain) && !blank(rdn) && !blank(superior)).then_some((rdn, superior))
}

fn is_same(one: &Schema, other: &Schema) -> bool {
    let first = |it: &Schema| std::ptr::from_ref(it.type_of(TypeId(0)));
    first(one) == first(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The name as resolved by an empty cache, and by one that has just resolved `before`.
    fn both(schema: &Schema, before: &str, text: &str) -> (Option<Name>, Option<Name>) {
        let mut used = LastName::default();
        let _ = used.resolve_other(schema, before);
        let again = used.resolve_other(schema, text).ok().map(|()| used.name);
        (schema.resolve_name(text).ok(), again)
    }

    #[test]
    fn a_superior_that_is_remembered_changes_nothing() {
        let schema = Schema::standard();
        let piece = prop_oneof![
            Just("uid=a"),
            Just("cn=b"),
            Just("cn=B+uid=c"),
            Just("x"),
            Just(""),
            Just(" dc=com "),
            Just("cn=a\\,b"),
            Just("cn=\"q,r\""),
            Just("cn=#0401"),
            Just("o=x;c=DE"),
            Just("cn="),
        ];
        let name = prop::collection::vec(piece, 0..4).prop_map(|it| it.join(","));
        let config = ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        proptest!(config, |(before in name.clone(), text in name)| {
            let (expected, again) = both(&schema, &before, &text);
            prop_assert_eq!(expected, again, "{} after {}", text, before);
        });
        for (before, text) in [
            ("uid=a,ou=x,dc=com", "uid=b,ou=x,dc=com"),
            ("uid=a,ou=x,dc=com", "ou=x,dc=com"),
            ("uid=a,ou=x,dc=com", "uid=b,OU=x,dc=com"),
            ("uid=a,dc=com", "uid=b,"),
            ("uid=a, ", "uid=b, "),
            ("uid=a,uid=a", ",uid=a"),
            ("uid=a,uid=a", " ,uid=a"),
        ] {
            let (expected, again) = both(&schema, before, text);
            assert_eq!(expected, again, "{text} after {before}");
        }
    }
}
