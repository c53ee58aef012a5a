//! Resolves attributes and values of requests under the schema.

use crate::level;
use crate::stop::Stop;
use crate::stored_form::normal;
use crate::view::View;
use crate::write::{Change, Given, Write};
use protocol::ResultCode;
use protocol::ber::PartialAttribute;
use schema::{DefinitionKind, DescribeError, Description, Schema, TypeId};

/// Resolves an attribute description; `undefinedAttributeType` if the schema does not have the
/// type.
pub fn describe(schema: &Schema, text: &str) -> Result<Description, Stop> {
    match schema.describe(text) {
        Ok(description) => Ok(description),
        Err(DescribeError::UnknownType(..)) if is_openldap_schema(text) => Stop::refuse(
            ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            format!(
                "{text} is how OpenLDAP keeps definitions: add the file with \
                 \"pando schema add DIR FILE\""
            ),
        ),
        Err(DescribeError::UnknownType(..)) => Stop::refuse(
            ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            format!("{text}: the schema defines no such attribute type"),
        ),
        Err(error) => Stop::refuse(
            ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            format!("{text}: {error}"),
        ),
    }
}

/// Returns whether an attribute holds schema definitions in OpenLDAP's `cn=config`.
fn is_openldap_schema(text: &str) -> bool {
    let Some((prefix, name)) = text.split_at_checked(3) else {
        return false;
    };
    let is_kind = |it: DefinitionKind| it.attribute().eq_ignore_ascii_case(name);
    prefix.eq_ignore_ascii_case("olc")
        && (name.eq_ignore_ascii_case("objectIdentifier")
            || DefinitionKind::ALL.into_iter().any(is_kind))
}

/// Resolves a description under which values are stored. Refuses ones that select values, such as
/// `member;range=0-1`: a delete would take it for all of `member`.
pub fn describe_stored(schema: &Schema, text: &str) -> Result<Description, Stop> {
    let description = describe(schema, text)?;
    if description.is_selection() {
        return Stop::refuse(
            ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            format!("{text}: a range selects values and cannot hold any"),
        );
    }
    Ok(description)
}

/// Resolves an attribute, checks its values against the syntax, and refuses repeated ones. Object
/// classes are stored under their first name, by which aliases and referrals are recognised.
pub fn given(schema: &Schema, attribute: &PartialAttribute<'_>) -> Result<Given, Stop> {
    let description = describe_stored(schema, attribute.description)?;
    let mut values: Vec<Vec<u8>> = attribute.values.into_iter().map(<[u8]>::to_vec).collect();
    for value in &values {
        check(schema, description.type_id, attribute.description, value)?;
    }
    refuse_repeated(schema, &description, &values)?;
    if schema.type_of(description.type_id).name() == "objectClass" {
        for value in &mut values {
            if let Some(name) = schema.class_renamed(value) {
                *value = name.as_bytes().to_vec();
            }
        }
    }
    Ok(Given {
        description,
        values,
    })
}

/// Refuses a value that the syntax does not allow. The text never repeats the value, which may be a
/// secret.
pub fn check(schema: &Schema, type_id: TypeId, text: &str, value: &[u8]) -> Result<(), Stop> {
    match schema.check_value(type_id, value) {
        Ok(()) => Ok(()),
        Err(error) => Stop::refuse(
            ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            format!("{text}: {error}"),
        ),
    }
}

/// Refuses a list that holds one value twice (RFC 4511 §4.1.7).
fn refuse_repeated(
    schema: &Schema,
    description: &Description,
    values: &[Vec<u8>],
) -> Result<(), Stop> {
    if values.len() < 2 {
        return Ok(());
    }
    let mut normals: Vec<Vec<u8>> = Vec::with_capacity(values.len());
    for value in values {
        let mut form = Vec::new();
        normal(schema, description.type_id, value, &mut form);
        normals.push(form);
    }
    normals.sort_unstable();
    if normals.windows(2).any(|pair| pair[0] == pair[1]) {
        let text = schema.spelled(description);
        return Stop::refuse(
            ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
            format!("{text}: the same value is given more than once"),
        );
    }
    Ok(())
}

/// Operational attributes that administrators may set under relaxed rules
/// (draft-zeilenga-ldap-relax-03 §3.6), such as the account state from another server. All others
/// follow from the entry.
pub const RELAXABLE: [&str; 10] = [
    "createTimestamp",
    "creatorsName",
    "entryUUID",
    "modifiersName",
    "modifyTimestamp",
    "pwdChangedTime",
    "pwdFailureTime",
    "pwdGraceUseTime",
    "pwdHistory",
    "pwdLastSuccess",
];

/// Refuses, to subjects other than the administrator, attribute descriptions with options that no
/// entry has had. Each takes one of 65,535 numbers forever, and any client can invent options,
/// unlike types.
pub fn refuse_new_options(view: &View<'_>, write: &Write) -> Result<(), Stop> {
    if view.subject.is_administrator() {
        return Ok(());
    }
    let schema = &view.catalog.schema;
    let is_new = |it: &&Description| !it.options.is_empty() && schema.number(it).is_none();
    match descriptions(&write.change).find(is_new) {
        None => Ok(()),
        Some(new) => Stop::refuse(
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            format!(
                "{}: no entry has had this attribute with these options; only the administrator \
                 may be the first to give it",
                schema.spelled(new)
            ),
        ),
    }
}

/// Refuses attributes that users may not change (NO-USER-MODIFICATION, RFC 4512 §4.1.2).
pub fn refuse_unmodifiable(
    schema: &Schema,
    description: &Description,
    relaxed: bool,
) -> Result<(), Stop> {
    let type_of = schema.type_of(description.type_id);
    let relaxable = || description.options.is_empty() && RELAXABLE.contains(&type_of.name());
    if type_of.no_user_modification && !(relaxed && relaxable()) {
        return Stop::refuse(
            ResultCode::CONSTRAINT_VIOLATION,
            format!(
                "{}: the server keeps this attribute; users may not change it",
                type_of.name()
            ),
        );
    }
    Ok(())
}
/// Refuses attribute types that begin a later format level than the one in force.
pub fn refuse_later_types(view: &View<'_>, write: &Write) -> Result<(), Stop> {
    let (schema, level) = (&view.catalog.schema, view.catalog.level);
    if level >= level::HIGHEST {
        return Ok(());
    }
    for description in descriptions(&write.change) {
        let name = schema.type_of(description.type_id).name();
        let begins = level::begins(name);
        if level < begins {
            let text = format!(
                "{name}: expected format level {begins}, the directory has {level}: see `pando \
                 cluster upgrade`"
            );
            return Stop::refuse(ResultCode::UNWILLING_TO_PERFORM, text);
        }
    }
    Ok(())
}

/// The descriptions that a change names.
fn descriptions(change: &Change) -> Box<dyn Iterator<Item = &Description> + '_> {
    match change {
        Change::Add(addition) => Box::new(addition.attributes.iter().map(|it| &it.description)),
        Change::Modify(changes) => Box::new(changes.iter().map(|it| &it.given.description)),
        Change::Rename(renaming) => Box::new(renaming.rdn.values.iter().map(|(it, _)| it)),
        Change::Delete | Change::Reclaim(_) | Change::Attempts(_) | Change::Level(_) => {
            Box::new(std::iter::empty())
        }
    }
}
