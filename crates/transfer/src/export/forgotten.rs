//! Decodes kept changes that name attribute types without a definition.
//!
//! A type can be removed when no entry has it; earlier changes still name it. Printing them needs
//! only the name.

use replica::changes::Frame;
use schema::{DefinitionKind, DescribeError, Schema, parse_definition};
use state::record::{self, Decoded};
use state::stop::Failure;
use std::cell::RefCell;

/// Octet String, the syntax that allows any value.
const SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.40";

/// Decodes a record for printing. Adds the attribute types that `schema` lacks to it.
///
/// # Errors
/// The record cannot be decoded.
pub(super) fn decode(frame: &Frame, schema: &mut Schema) -> Result<Decoded, Failure> {
    loop {
        let unknown = RefCell::new(None);
        let decoded = record::decode_by(&frame.content, &|text| {
            let described = schema.describe(text);
            if let Err(DescribeError::UnknownType(name)) = &described {
                unknown.replace(Some(name.clone()));
            }
            described
        });
        let error = match decoded {
            Ok(decoded) => return Ok(decoded),
            Err(error) => error,
        };
        let name = unknown.into_inner();
        match name.and_then(|name| with_type(schema, &name)) {
            // Each round adds one of the types that the record names.
            Some(extended) => *schema = extended,
            None => {
                let position = frame.position().unwrap_or(0);
                return Err(Failure::Input(format!(
                    "the change of position {position} was made under another schema: {error}"
                )));
            }
        }
    }
}

/// A schema with one more type, of which only the name is known.
fn with_type(schema: &Schema, name: &str) -> Option<Schema> {
    let text = match name.starts_with(|it: char| it.is_ascii_digit()) {
        true => format!("( {name} SYNTAX {SYNTAX} )"),
        false => format!("( {name}-oid NAME '{name}' SYNTAX {SYNTAX} )"),
    };
    let definition = parse_definition(DefinitionKind::AttributeType, &text).ok()?;
    let extended = schema.extended(&[definition]).ok()?;
    extended.attribute_type(name).is_some().then_some(extended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_names_again() {
        let schema = Schema::standard();
        for name in ["shoeSize", "1.2.3.4.5", "x-y-2"] {
            let extended = with_type(&schema, name).unwrap();
            for text in [name.to_owned(), format!("{name};lang-de;binary")] {
                let description = extended.describe(&text).unwrap();
                let spelled = extended.spelled(&description).to_lowercase();
                assert!(spelled.starts_with(&name.to_lowercase()), "{spelled}");
            }
            let title = schema.describe("title").unwrap();
            assert_eq!(extended.spelled(&title), "title");
        }
    }
}
