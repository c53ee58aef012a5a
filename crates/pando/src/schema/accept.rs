//! Which definitions a schema takes, in whatever order they are given.

use schema::{AttributeTypeDefinition, Definition, Schema, SchemaError};

/// What became of definitions.
pub struct Accepted {
    /// The schema with all of them that it takes.
    pub schema: Schema,
    /// Those that say something new, in an order in which each stands behind those it names.
    pub taken: Vec<Taken>,
    /// Places among the given ones of those that the schema does not take, and the reasons.
    pub refused: Vec<(usize, SchemaError)>,
}

/// A definition that says something new.
pub struct Taken {
    /// Its place among the given ones.
    pub place: usize,
    /// The definition as it is taken.
    pub definition: Definition,
    /// Whether it widens a definition that was there.
    pub widens: bool,
    /// The matching rules that nobody here knows, without which it is taken, with their roles.
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

/// The schema with one more definition, without the matching rules that nobody here knows.
fn extended(schema: &Schema, mut definition: Definition) -> Result<Extended, SchemaError> {
    let mut without = Vec::new();
    // Three rules of a type can be unknown, each is found on its own.
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
