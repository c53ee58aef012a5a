//! Selects the definitions that a schema accepts, in any order.

use schema::{AttributeTypeDefinition, Definition, Schema, SchemaError};

/// Result of adding definitions.
pub struct Accepted {
    /// The schema with all accepted definitions.
    pub schema: Schema,
    /// Definitions that extend the schema, each after the definitions it refers to.
    pub taken: Vec<Taken>,
    /// Indexes of the definitions that are not accepted, and the reasons.
    pub refused: Vec<(usize, SchemaError)>,
}

/// A definition that extends the schema.
pub struct Taken {
    /// Its index among the given ones.
    pub place: usize,
    /// The definition as accepted.
    pub definition: Definition,
    /// Whether the definition extends an existing one.
    pub widens: bool,
    /// Unknown matching rules that were left out, with their roles.
    pub without: Vec<(&'static str, String)>,
}

/// Extends the schema by each definition that does not contradict it.
pub fn accept(mut schema: Schema, given: impl IntoIterator<Item = Definition>) -> Accepted {
    let mut left: Vec<(usize, Definition)> = given.into_iter().enumerate().collect();
    let mut taken = Vec::new();
    let mut refused;
    loop {
        let before = left.len();
        let mut later = Vec::new();
        refused = Vec::new();
        for (place, definition) in left {
            match extended(&schema, definition.clone()) {
                Ok((larger, ..)) if larger.is_same(&schema) => {}
                Ok((larger, definition, without)) => {
                    let widens = is_known(&schema, &definition);
                    schema = larger;
                    taken.push(Taken {
                        place,
                        definition,
                        widens,
                        without,
                    });
                }
                Err(error) => {
                    refused.push((place, error));
                    later.push((place, definition));
                }
            }
        }
        left = later;
        if left.is_empty() || left.len() == before {
            break;
        }
    }
    Accepted {
        schema,
        taken,
        refused,
    }
}

/// Whether the schema has a definition under its OID.
pub fn is_known(schema: &Schema, definition: &Definition) -> bool {
    let oid = definition.identifier();
    match definition {
        Definition::AttributeType(_) => schema.attribute_type(&oid).is_some(),
        Definition::ObjectClass(_) => schema.object_class(&oid).is_some(),
        _ => false,
    }
}

type Extended = (Schema, Definition, Vec<(&'static str, String)>);

/// The schema with one more definition, without its unknown matching rules.
fn extended(schema: &Schema, mut definition: Definition) -> Result<Extended, SchemaError> {
    let mut without = Vec::new();
    // A type may have three unknown rules, which are found one by one.
    loop {
        match schema.extended(std::slice::from_ref(&definition)) {
            Ok(larger) => return Ok((larger, definition, without)),
            Err(SchemaError::Unknown { role, name, .. })
                if role.ends_with(" rule") && without.len() < 3 =>
            {
                if let Definition::AttributeType(it) = &mut definition {
                    forget_rule(it, role);
                }
                without.push((role, name));
            }
            Err(error) => return Err(error),
        }
    }
}

fn forget_rule(it: &mut AttributeTypeDefinition, role: &str) {
    match role {
        "equality rule" => it.equality = None,
        "ordering rule" => it.ordering = None,
        _ => it.substring = None,
    }
}
