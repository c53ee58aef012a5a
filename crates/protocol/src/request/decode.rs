//! Reading requests.

use super::{
    AddRequest, Authentication, BindRequest, Change, ChangeOperation, CompareRequest,
    DeleteRequest, DerefAliases, ExtendedRequest, ModifyDnRequest, ModifyRequest, Request, Scope,
    SearchRequest, tag,
};
use crate::ber::{
    BOOLEAN, ENUMERATED, INTEGER, OCTET_STRING, PartialAttribute, Reader, SEQUENCE, decode_integer,
    decode_text,
};
use crate::error::{Component, DecodeError};
use crate::filter::Filter;
use crate::message_id::MessageId;

/// The most attribute descriptions one search may select. Each is looked up in the schema before
/// others have their turn: some hundred nanoseconds, a millisecond for all.
const SELECTED_MAX: usize = 4_096;

impl<'a> Request<'a> {
    /// Decodes an operation other than search, with this identifier octet, from its content.
    #[inline]
    pub(crate) fn decode(operation: u8, content: Reader<'a>) -> Result<Self, DecodeError> {
        match operation {
            tag::BIND => bind(content).map(Request::Bind),
            tag::UNBIND if content.is_empty() => Ok(Request::Unbind),
            tag::UNBIND => Err(DecodeError::NotEmpty),
            tag::MODIFY => modify(content).map(Request::Modify),
            tag::ADD => add(content).map(Request::Add),
            tag::DELETE => {
                decode_text(content.rest()).map(|entry| Request::Delete(DeleteRequest { entry }))
            }
            tag::MODIFY_DN => modify_dn(content).map(Request::ModifyDn),
            tag::COMPARE => compare(content).map(Request::Compare),
            tag::ABANDON => abandon(content.rest()).map(Request::Abandon),
            tag::EXTENDED => extended(content).map(Request::Extended),
            tag => Err(DecodeError::UnknownOperation { tag }),
        }
    }
}

fn bind(mut parts: Reader<'_>) -> Result<BindRequest<'_>, DecodeError> {
    let version = parts.integer(INTEGER)?;
    let name = parts.text(OCTET_STRING)?;
    let (choice, content) = parts.element()?;
    let authentication = match choice {
        0x80 => Authentication::Simple(content),
        0xA3 => {
            let mut sasl = parts.deeper(content)?;
            let mechanism = sasl.text(OCTET_STRING)?;
            let credentials = sasl.optional(OCTET_STRING)?;
            sasl.finish_extensible()?;
            Authentication::Sasl {
                mechanism,
                credentials,
            }
        }
        other => Authentication::Unknown(other),
    };
    parts.finish_extensible()?;
    Ok(BindRequest {
        version,
        name,
        authentication,
    })
}

/// The components of a search request before its filter.
#[derive(Clone, Copy)]
pub(crate) struct SearchHead<'a> {
    base: &'a str,
    scope: Scope,
    deref_aliases: DerefAliases,
    size_limit: u32,
    time_limit_s: u32,
    types_only: bool,
}

impl<'a> SearchHead<'a> {
    #[inline(always)]
    pub(crate) fn decode(parts: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(SearchHead {
            base: parts.text(OCTET_STRING)?,
            scope: scope(parts.integer(ENUMERATED)?)?,
            deref_aliases: deref_aliases(parts.integer(ENUMERATED)?)?,
            size_limit: parts.max_int(INTEGER, Component::SizeLimit)?,
            time_limit_s: parts.max_int(INTEGER, Component::TimeLimit)?,
            types_only: parts.boolean(BOOLEAN)?,
        })
    }

    /// Reads the attributes to return, which follow the filter.
    #[inline(always)]
    pub(crate) fn close(parts: &mut Reader<'a>) -> Result<Vec<&'a str>, DecodeError> {
        let attributes = attribute_selection(parts)?;
        parts.skip_extensions()?;
        Ok(attributes)
    }

    #[inline(always)]
    pub(crate) fn request(self, filter: Filter<'a>, attributes: Vec<&'a str>) -> Request<'a> {
        let SearchHead {
            base,
            scope,
            deref_aliases,
            size_limit,
            time_limit_s,
            types_only,
        } = self;
        Request::Search(SearchRequest {
            base,
            scope,
            deref_aliases,
            size_limit,
            time_limit_s,
            types_only,
            filter,
            attributes,
        })
    }
}

/// An AttributeSelection (RFC 4511 §4.5.1.8): a list of attribute descriptions.
#[inline(always)]
pub(crate) fn attribute_selection<'a>(
    reader: &mut Reader<'a>,
) -> Result<Vec<&'a str>, DecodeError> {
    let list = reader.nested(SEQUENCE)?;
    if list.is_empty() {
        Ok(Vec::new())
    } else {
        selected(list)
    }
}

fn selected(mut list: Reader<'_>) -> Result<Vec<&str>, DecodeError> {
    // Most searches ask for a few.
    let mut attributes = Vec::with_capacity(4);
    while !list.is_empty() {
        if attributes.len() == SELECTED_MAX {
            return Err(DecodeError::TooMany {
                what: Component::SelectedAttributes,
                limit: SELECTED_MAX as u32,
            });
        }
        attributes.push(list.text(OCTET_STRING)?);
    }
    Ok(attributes)
}

fn scope(value: i64) -> Result<Scope, DecodeError> {
    match value {
        0 => Ok(Scope::BaseObject),
        1 => Ok(Scope::SingleLevel),
        2 => Ok(Scope::WholeSubtree),
        3 => Ok(Scope::Subordinate),
        value => Err(DecodeError::out_of_range(Component::Scope, value)),
    }
}

fn deref_aliases(value: i64) -> Result<DerefAliases, DecodeError> {
    match value {
        0 => Ok(DerefAliases::Never),
        1 => Ok(DerefAliases::InSearching),
        2 => Ok(DerefAliases::FindingBaseObject),
        3 => Ok(DerefAliases::Always),
        value => Err(DecodeError::out_of_range(Component::DerefAliases, value)),
    }
}

fn modify(mut parts: Reader<'_>) -> Result<ModifyRequest<'_>, DecodeError> {
    let object = parts.text(OCTET_STRING)?;
    let mut list = parts.nested(SEQUENCE)?;
    let mut changes = Vec::new();
    while !list.is_empty() {
        let mut change = list.nested(SEQUENCE)?;
        let operation = change_operation(change.integer(ENUMERATED)?)?;
        let attribute = PartialAttribute::decode(&mut change)?;
        change.finish_extensible()?;
        changes.push(Change {
            operation,
            attribute,
        });
    }
    parts.finish_extensible()?;
    Ok(ModifyRequest { object, changes })
}

fn change_operation(value: i64) -> Result<ChangeOperation, DecodeError> {
    match value {
        0 => Ok(ChangeOperation::Add),
        1 => Ok(ChangeOperation::Delete),
        2 => Ok(ChangeOperation::Replace),
        3 => Ok(ChangeOperation::Increment),
        value => Err(DecodeError::out_of_range(Component::ChangeOperation, value)),
    }
}

fn add(mut parts: Reader<'_>) -> Result<AddRequest<'_>, DecodeError> {
    let entry = parts.text(OCTET_STRING)?;
    let mut list = parts.nested(SEQUENCE)?;
    let mut attributes = Vec::new();
    while !list.is_empty() {
        let attribute = PartialAttribute::decode(&mut list)?;
        // RFC 4511 §4.1.7: an Attribute, unlike a PartialAttribute, has a value.
        if attribute.values.is_empty() {
            return Err(DecodeError::EmptyList {
                what: Component::AttributeValues,
            });
        }
        attributes.push(attribute);
    }
    parts.finish_extensible()?;
    Ok(AddRequest { entry, attributes })
}

fn modify_dn(mut parts: Reader<'_>) -> Result<ModifyDnRequest<'_>, DecodeError> {
    let request = ModifyDnRequest {
        entry: parts.text(OCTET_STRING)?,
        new_rdn: parts.text(OCTET_STRING)?,
        delete_old_rdn: parts.boolean(BOOLEAN)?,
        new_superior: parts.optional_text(0x80)?,
    };
    parts.finish_extensible()?;
    Ok(request)
}

fn compare(mut parts: Reader<'_>) -> Result<CompareRequest<'_>, DecodeError> {
    let entry = parts.text(OCTET_STRING)?;
    let mut assertion = parts.nested(SEQUENCE)?;
    let attribute = assertion.text(OCTET_STRING)?;
    let value = assertion.expect(OCTET_STRING)?;
    assertion.finish_extensible()?;
    parts.finish_extensible()?;
    Ok(CompareRequest {
        entry,
        attribute,
        value,
    })
}

fn abandon(content: &[u8]) -> Result<MessageId, DecodeError> {
    let value = decode_integer(content)?;
    match MessageId::try_from(value) {
        Ok(id @ 0..) => Ok(id),
        _ => Err(DecodeError::out_of_range(Component::MessageId, value)),
    }
}

fn extended(mut parts: Reader<'_>) -> Result<ExtendedRequest<'_>, DecodeError> {
    let name = parts.text(0x80)?;
    let value = parts.optional(0x81)?;
    parts.finish_extensible()?;
    Ok(ExtendedRequest { name, value })
}
