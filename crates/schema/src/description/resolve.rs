//! Parsing and printing of attribute descriptions under a schema.

use super::{Description, ValueRange};
use crate::definition_parse::{is_descriptor, is_numeric_oid};
use crate::error::DescribeError;
use crate::id::TypeId;
use crate::schema::Schema;

/// The option for BER transfer (RFC 4522). Types whose values always travel in BER imply it:
/// `userCertificate` and `userCertificate;binary` are one description, printed with the option. For
/// other types it is an option like any other.
const BINARY: &str = "binary";

impl Schema {
    /// Resolves `type[;option…]`, e.g. `CN;lang-DE`. Without options nothing is allocated.
    ///
    /// # Errors
    /// [`DescribeError`] when the text is not a description, or its type is unknown.
    pub fn describe(&self, text: &str) -> Result<Description, DescribeError> {
        let (name, options) = match text.split_once(';') {
            None => (text, None),
            Some((name, options)) => (name, Some(options)),
        };
        let Some(type_id) = self
            .attribute_type(name)
            .or_else(|| self.type_of_prefixed(name))
        else {
            return Err(match is_descriptor(name) || is_numeric_oid(name) {
                true => DescribeError::UnknownType(name.to_string()),
                false => DescribeError::BadSyntax(text.to_string()),
            });
        };
        let mut description = Description::of_type(type_id);
        if let Some(options) = options {
            let binary_implied = self.type_of(type_id).binary_transfer;
            read_options(options, binary_implied, &mut description)
                .ok_or_else(|| DescribeError::BadSyntax(text.to_string()))?;
        }
        Ok(description)
    }

    /// Resolves `OID.2.5.4.3`, the spelling of OIDs in LDAPv2 (RFC 1778).
    fn type_of_prefixed(&self, name: &str) -> Option<TypeId> {
        let prefix = name.get(..4)?;
        if !prefix.eq_ignore_ascii_case("oid.") {
            return None;
        }
        self.attribute_type(&name[4..])
    }

    /// Returns the canonical text of a description: the type's first name and its options.
    pub fn spelled(&self, description: &Description) -> String {
        let attribute_type = self.type_of(description.type_id);
        let mut text = attribute_type.name().to_string();
        // `binary` has its place in the sorted order of options.
        let mut binary = attribute_type.binary_transfer.then_some(BINARY);
        for option in &description.options {
            if let Some(implied) = binary.take_if(|implied| *implied < option.as_str()) {
                text.push(';');
                text.push_str(implied);
            }
            text.push(';');
            text.push_str(option);
        }
        if let Some(implied) = binary {
            text.push(';');
            text.push_str(implied);
        }
        if let Some(range) = description.range {
            text.push_str(&format!(";{range}"));
        }
        text
    }
}

/// Parses options; `None` when one is neither RFC 4512 §2.5 `1*keychar` nor the only range.
fn read_options(text: &str, binary_implied: bool, into: &mut Description) -> Option<()> {
    for option in text.split(';') {
        if let Some(range) = option
            .get(..6)
            .filter(|it| it.eq_ignore_ascii_case("range="))
        {
            let range = read_range(&option[range.len()..])?;
            if into.range.replace(range).is_some() {
                return None;
            }
            continue;
        }
        let is_keychar = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if option.is_empty() || !option.bytes().all(is_keychar) {
            return None;
        }
        if !(binary_implied && option.eq_ignore_ascii_case(BINARY)) {
            into.options.push(option.to_ascii_lowercase());
        }
    }
    into.options.sort_unstable();
    into.options.dedup();
    Some(())
}

fn read_range(text: &str) -> Option<ValueRange> {
    let (low, high) = text.split_once('-')?;
    let number = |digits: &str| {
        let only_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        if only_digits {
            digits.parse::<u64>().ok()
        } else {
            None
        }
    };
    let low = number(low)?;
    let high = if high == "*" {
        None
    } else {
        Some(number(high)?)
    };
    if high.is_some_and(|high| high < low) {
        return None;
    }
    Some(ValueRange { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Result<String, DescribeError> {
        let schema = Schema::standard();
        schema
            .describe(text)
            .map(|description| schema.spelled(&description))
    }

    #[test]
    fn descriptions_have_one_canonical_text() {
        for (given, canonical) in [
            ("CN", "cn"),
            ("commonname", "cn"),
            ("2.5.4.3", "cn"),
            ("OID.2.5.4.3", "cn"),
            ("cn;lang-DE", "cn;lang-de"),
            ("cn;x-b;lang-de;X-A;x-b", "cn;lang-de;x-a;x-b"),
            ("userCertificate", "userCertificate;binary"),
            ("usercertificate;BINARY", "userCertificate;binary"),
            (
                "userCertificate;x-a;binary;a",
                "userCertificate;a;binary;x-a",
            ),
            ("jpegPhoto;binary", "jpegPhoto;binary"),
            ("member;range=0-1499", "member;range=0-1499"),
            ("member;Range=10-*", "member;range=10-*"),
        ] {
            assert_eq!(spelled(given).as_deref(), Ok(canonical), "{given}");
        }
    }

    #[test]
    fn what_is_no_description_is_refused() {
        for text in [
            "",
            ";",
            "cn;",
            "cn;;x",
            "cn;a b",
            "c n",
            "1cn",
            "cn;range=5",
            "cn;range=5-1",
            "cn;range=0-1;range=2-3",
            "cn;\u{e4}",
            ";lang-de",
            "cn:dn",
        ] {
            assert!(
                matches!(spelled(text), Err(DescribeError::BadSyntax(_))),
                "{text}"
            );
        }
        for text in ["unheardOf", "1.2.3.4.5.6", "unheardOf;lang-de"] {
            assert!(
                matches!(spelled(text), Err(DescribeError::UnknownType(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn ranges_only_select() {
        let schema = Schema::standard();
        for (text, selection) in [
            ("cn", false),
            ("cn;lang-de", false),
            ("cn;lang-", true),
            ("member;range=0-*", true),
        ] {
            assert_eq!(
                schema.describe(text).unwrap().is_selection(),
                selection,
                "{text}"
            );
        }
    }
}
