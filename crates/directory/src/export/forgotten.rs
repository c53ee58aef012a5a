//! Reading kept changes that name attribute types which are defined no more.
//!
//! A type can be taken away when no entry has it any more; the changes from before it went still
//! name it. Who only prints them needs no more than the name.

use crate::changes::Frame;
use schema::{DefinitionKind, DescribeError, Schema, parse_definition};
use state::record::{self, Decoded};
use state::stop::Failure;
use std::cell::RefCell;

/// Octet String, which says nothing of the values.
const SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.40";

/// Reads a record to print it. Types that it names and `schema` lacks are added to that.
///
/// # Errors
/// It cannot be read.
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
            // With every round there is one more of the types that the record names.
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

/// A schema with one more type, of which nothing but the name is known.
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
