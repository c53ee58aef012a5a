//! The parts of change records: controls, modifications, new names (RFC 2849, `changerecord`).

use std::borrow::Cow;

use super::LdifError;
use super::lines::is_description_byte;
use super::record::{Fields, LdifControl, LdifRecord};
use crate::base64;
use crate::request::ChangeOperation;

/// One modification of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdifChange<'a> {
    /// Kind of the modification.
    pub operation: ChangeOperation,
    /// The attribute description, as spelled after the operation.
    pub attribute: &'a str,
    /// The values; empty for all values (delete, replace).
    pub values: Vec<Cow<'a, [u8]>>,
}

/// The modifications of `changetype: modify`; the list may be empty, as in a request.
pub(super) fn changes<'a>(fields: &mut Fields<'a>) -> Result<Vec<LdifChange<'a>>, LdifError> {
    let mut changes = Vec::new();
    while fields.peek().is_some() {
        changes.push(change(fields)?);
    }
    Ok(changes)
}

/// `add: attribute`, its values, and `-`, which may be missing at the end of the record.
fn change<'a>(fields: &mut Fields<'a>) -> Result<LdifChange<'a>, LdifError> {
    let operations = [
        ("add", ChangeOperation::Add),
        ("delete", ChangeOperation::Delete),
        ("replace", ChangeOperation::Replace),
        ("increment", ChangeOperation::Increment),
    ];
    let found = operations
        .into_iter()
        .find(|(keyword, _)| fields.next_is(keyword));
    let Some((keyword, operation)) = found else {
        return Err(fields.expected("'add:', 'delete:', 'replace:' or 'increment:'"));
    };
    let line = fields.peek().map_or(0, |line| line.number);
    let attribute = fields.take(keyword)?.trim_ascii_end();
    if attribute.is_empty() || !attribute.bytes().all(is_description_byte) {
        let message = format!("expected an attribute description after '{keyword}:'");
        return Err(LdifError::new(line, message));
    }
    let mut values = Vec::new();
    while let Some(line) = fields.peek().filter(|line| !line.separator) {
        if !fields.description(line).eq_ignore_ascii_case(attribute) {
            return Err(fields.expected(&format!("'{attribute}:' or '-'")));
        }
        values.push(Cow::Borrowed(fields.value(line)));
        fields.next();
    }
    fields.next();
    Ok(LdifChange {
        operation,
        attribute,
        values,
    })
}

/// The rest of `changetype: modrdn` (or `moddn`).
pub(super) fn modify_dn<'a>(
    fields: &mut Fields<'a>,
    dn: &'a str,
    controls: Vec<LdifControl<'a>>,
) -> Result<LdifRecord<'a>, LdifError> {
    let new_rdn = fields.take("newrdn")?;
    let line = fields.peek().map_or(0, |line| line.number);
    let delete_old_rdn = match fields.take("deleteoldrdn")?.trim_ascii_end() {
        "0" => false,
        "1" => true,
        came => {
            let message = format!("expected 0 or 1 as 'deleteoldrdn', got '{came}'");
            return Err(LdifError::new(line, message));
        }
    };
    let new_superior = fields.take_if("newsuperior")?;
    fields.end("the end of the record after the new name")?;
    Ok(LdifRecord::ModifyDn {
        dn,
        controls,
        new_rdn,
        delete_old_rdn,
        new_superior,
    })
}

/// The value of a `control:` line: OID, optional criticality, optional value after a colon.
pub(super) fn control(text: &[u8], line: u64) -> Result<LdifControl<'_>, LdifError> {
    let colon = text.iter().position(|byte| *byte == b':');
    let (head, value) = text.split_at(colon.unwrap_or(text.len()));
    let mut words = head
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    let is_oid = |oid: &&[u8]| oid.iter().all(|it| it.is_ascii_digit() || *it == b'.');
    let oid = words
        .next()
        .filter(is_oid)
        .and_then(|oid| std::str::from_utf8(oid).ok());
    let critical = match words.next() {
        None => Some(false),
        Some(word) if word.eq_ignore_ascii_case(b"true") => Some(true),
        Some(word) if word.eq_ignore_ascii_case(b"false") => Some(false),
        Some(_) => None,
    };
    let (Some(oid), Some(critical), None) = (oid, critical, words.next()) else {
        let came = head.escape_ascii();
        let message = format!("expected an OID and 'true' or 'false' as control, got '{came}'");
        return Err(LdifError::new(line, message));
    };
    Ok(LdifControl {
        oid,
        critical,
        value: control_value(value, line)?,
    })
}

fn control_value(text: &[u8], line: u64) -> Result<Option<Cow<'_, [u8]>>, LdifError> {
    match text {
        [] => Ok(None),
        [b':', b':', base64 @ ..] => {
            let mut value = Vec::new();
            base64::decode_into(&mut value, base64.trim_ascii())
                .map_err(|error| LdifError::new(line, error.message))?;
            Ok(Some(Cow::Owned(value)))
        }
        [b':', b'<', ..] => Err(LdifError::new(
            line,
            "expected the control's value itself, got a URL",
        )),
        [_, plain @ ..] => {
            let spaces = plain.iter().take_while(|byte| **byte == b' ').count();
            Ok(Some(Cow::Borrowed(plain.get(spaces..).unwrap_or_default())))
        }
    }
}
