//! Normal forms, by rule family.

use super::certificate::Identity;
use super::rule::{Family, MatchingRule, Position};
use super::{algorithm, certificate, certificate_parts, integer};
use crate::error::{InvalidValue, invalid};
use crate::name::resolve::put_name;
use crate::prepare::{self, Case};
use crate::schema::Schema;
use crate::syntaxes::{identifier, number, text, time};

/// Levels to which names may contain values that are names.
pub(crate) const NESTED_NAMES_MAX: u8 = 4;

impl MatchingRule {
    /// Appends the normal form of a value that an entry holds.
    ///
    /// # Errors
    /// The value does not obey the rule's syntax. `out` is then unchanged.
    pub fn normalise(
        &self,
        schema: &Schema,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        self::value(schema, self.family, value, out)
    }

    /// Appends the normal form of a value asserted by a filter or a compare request. It differs
    /// from [`MatchingRule::normalise`] for rules that compare a part of the stored value.
    ///
    /// # Errors
    /// The value does not obey the rule's assertion syntax. `out` is then unchanged.
    pub fn normalise_assertion(
        &self,
        schema: &Schema,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        if self.family == Family::Octets && self.syntax_oid != self.applies[0] {
            check_whole(value)?;
        }
        assertion(schema, self.family, value, out)
    }

    /// Appends the form of a stored value in which this substring rule searches for pieces.
    ///
    /// # Errors
    /// A value that does not obey the rule's syntax. `out` is then unchanged.
    pub fn normalise_for_pieces(
        &self,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        for_pieces(self.family, value, out)
    }

    /// Appends the normal form of one piece of a substring assertion.
    ///
    /// # Errors
    /// The piece cannot be part of a value. `out` is then unchanged.
    pub fn normalise_piece(
        &self,
        piece: &[u8],
        position: Position,
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        self::piece(self.family, piece, position, out)
    }
}

/// Appends the normal form of a stored value.
#[inline]
fn value(
    schema: &Schema,
    family: Family,
    value: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    value_in_name(schema, family, value, NESTED_NAMES_MAX, out)
}

/// Appends the normal form of a stored value inside a name, which may hold `depth_max` more names
/// in each other.
#[inline]
pub(crate) fn value_in_name(
    schema: &Schema,
    family: Family,
    value: &[u8],
    depth_max: u8,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    match family {
        // This case stands apart, because nearly all names and filters end here.
        Family::CaseIgnore | Family::CaseIgnoreIa5 if is_visible_ascii(value) => {
            let start = out.len();
            out.extend_from_slice(value);
            out[start..].make_ascii_lowercase();
            Ok(())
        }
        _ => {
            let start = out.len();
            let done = any_value(schema, family, value, depth_max, out);
            if done.is_err() {
                out.truncate(start);
            }
            done
        }
    }
}

fn is_visible_ascii(value: &[u8]) -> bool {
    !value.is_empty()
        && value
            .iter()
            .fold(true, |so_far, byte| so_far & byte.is_ascii_graphic())
}

fn any_value(
    schema: &Schema,
    family: Family,
    value: &[u8],
    depth_max: u8,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    match family {
        Family::CaseIgnore | Family::Word => directory_string(value, Case::Ignore, out),
        Family::CaseExact => directory_string(value, Case::Exact, out),
        Family::CaseIgnoreIa5 => ia5_string(value, Case::Ignore, out),
        Family::CaseExactIa5 => ia5_string(value, Case::Exact, out),
        Family::CaseIgnoreList => lines(value, out, |line, out| {
            prepare::equality(line, Case::Ignore, out)
        }),
        Family::Numeric => {
            number::numeric_string(value).map_err(invalid("Numeric String"))?;
            out.extend(value.iter().filter(|byte| **byte != b' '));
            Ok(())
        }
        Family::Telephone => {
            text::telephone_number(value).map_err(invalid("Telephone Number"))?;
            put_telephone(value, out);
            Ok(())
        }
        Family::Boolean => verbatim(value, number::boolean, "Boolean", out),
        Family::Integer => integer::put(value, out),
        Family::BitString => verbatim(value, number::bit_string, "Bit String", out),
        Family::Octets => {
            out.extend_from_slice(value);
            Ok(())
        }
        Family::ObjectIdentifier => object_identifier(schema, value, Unknown::LowerCase, out),
        Family::DistinguishedName
        | Family::InChain
        | Family::NameSubtree
        | Family::NameOneLevel
        | Family::NameSubordinate
        | Family::NameSuperior => distinguished_name(schema, value, depth_max, out),
        Family::NameAndUid => name_and_uid(schema, value, depth_max, out),
        Family::GeneralizedTime | Family::LaterThan | Family::EarlierThan | Family::PartialTime => {
            time::put_generalized_time(value, out).map_err(invalid("Generalized Time"))
        }
        Family::UtcTime => time::put_utc_time(value, out).map_err(invalid("UTC Time")),
        Family::Uuid => uuid(value, out),
        Family::IntegerFirstComponent => integer::put(first_component(value)?, out),
        Family::ObjectIdentifierFirstComponent => {
            object_identifier(schema, first_component(value)?, Unknown::LowerCase, out)
        }
        Family::TextFirstComponent => directory_string(first_component(value)?, Case::Ignore, out),
        Family::BitAnd | Family::BitOr => bits(value, out),
        Family::Certificate | Family::CertificateList => {
            put_identity(schema, certificate::stored(family, value), value, out);
            Ok(())
        }
        Family::CertificateParts | Family::CertificateListParts => {
            certificate_parts::value(schema, family, value, out);
            Ok(())
        }
        Family::Algorithm => {
            algorithm::value(value, out);
            Ok(())
        }
    }
}

/// Appends the normal form of an asserted value.
fn assertion(
    schema: &Schema,
    family: Family,
    given: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    let start = out.len();
    let done = match family {
        Family::IntegerFirstComponent => integer::put(given, out),
        Family::ObjectIdentifier | Family::ObjectIdentifierFirstComponent => {
            object_identifier(schema, given, Unknown::Refuse, out)
        }
        Family::TextFirstComponent => directory_string(given, Case::Ignore, out),
        Family::Certificate | Family::CertificateList => {
            asserted_identity(schema, family, given, out)
        }
        Family::CertificateParts | Family::CertificateListParts => {
            certificate_parts::assertion(schema, family, given, out)
        }
        Family::Algorithm => algorithm::assertion(given, out),
        Family::PartialTime => {
            time::put_partial_time(given, out).map_err(invalid("partial date and time"))
        }
        // A duration needs the present time, which is known only when a filter is resolved.
        Family::LaterThan | Family::EarlierThan => Err(invalid("relative time")(
            "expected to know the present time",
        )),
        _ => return value(schema, family, given, out),
    };
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// Checks the assertion of rules of RFC 4523 that compare whole values, octet by octet. An
/// assertion about parts, `{ serialNumber 1, … }`, is refused, so that a filter with it is
/// undefined, not false.
fn check_whole(given: &[u8]) -> Result<(), InvalidValue> {
    match given.trim_ascii_start() {
        [b'{', ..] => Err(invalid("Certificate")(
            "expected a whole value, not its parts",
        )),
        _ => Ok(()),
    }
}

/// Appends the form of a stored value in which pieces are searched.
fn for_pieces(family: Family, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let start = out.len();
    let done = match family {
        Family::CaseIgnore => prepare::for_pieces(value, Case::Ignore, out).map_err(STRING),
        Family::CaseExact => prepare::for_pieces(value, Case::Exact, out).map_err(STRING),
        Family::CaseIgnoreIa5 => prepare::for_pieces(value, Case::Ignore, out).map_err(STRING),
        Family::CaseExactIa5 => prepare::for_pieces(value, Case::Exact, out).map_err(STRING),
        Family::CaseIgnoreList => lines(value, out, |line, out| {
            prepare::for_pieces(line, Case::Ignore, out)
        }),
        Family::Numeric => {
            out.extend(value.iter().filter(|byte| **byte != b' '));
            Ok(())
        }
        Family::Telephone => {
            put_telephone(value, out);
            Ok(())
        }
        Family::Octets => {
            out.extend_from_slice(value);
            Ok(())
        }
        _ => Err(InvalidValue::NoSubstringRule),
    };
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// Appends the normal form of one piece.
fn piece(
    family: Family,
    piece: &[u8],
    position: Position,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    match family {
        Family::CaseIgnore | Family::CaseIgnoreIa5 | Family::CaseIgnoreList => {
            prepare::piece(piece, Case::Ignore, position, out).map_err(STRING)
        }
        Family::CaseExact | Family::CaseExactIa5 => {
            prepare::piece(piece, Case::Exact, position, out).map_err(STRING)
        }
        Family::Numeric if !piece.is_empty() => {
            number::numeric_string(piece).map_err(invalid("Numeric String"))?;
            for_pieces(family, piece, out)
        }
        Family::Telephone if !piece.is_empty() => {
            text::telephone_number(piece).map_err(invalid("Telephone Number"))?;
            for_pieces(family, piece, out)
        }
        _ => for_pieces(family, piece, out),
    }
}

const STRING: fn(&'static str) -> InvalidValue = |reason| InvalidValue::Syntax {
    syntax: "Directory String",
    reason,
};

fn directory_string(value: &[u8], case: Case, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    if value.is_empty() {
        return Err(STRING("expected text, got nothing"));
    }
    prepare::equality(value, case, out).map_err(STRING)
}

fn ia5_string(value: &[u8], case: Case, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    text::ia5_string(value).map_err(invalid("IA5 String"))?;
    prepare::equality(value, case, out).map_err(invalid("IA5 String"))
}

/// Appends the lines of a postal address, each prepared by itself, with line feeds between them,
/// which preparation removes elsewhere: so no piece matches across lines (RFC 4517 §4.2.12).
fn lines(
    value: &[u8],
    out: &mut Vec<u8>,
    prepare_line: impl Fn(&[u8], &mut Vec<u8>) -> Result<(), &'static str>,
) -> Result<(), InvalidValue> {
    text::postal_address(value).map_err(invalid("Postal Address"))?;
    let mut plain = Vec::new();
    for (at, line) in value.split(|byte| *byte == b'$').enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        plain.clear();
        let mut rest = line;
        while let Some((byte, after)) = rest.split_first() {
            // The validator has checked that two hexadecimal digits follow: 24 or 5C.
            let escaped = *byte == b'\\' && after.len() >= 2;
            plain.push(match (escaped, after.first()) {
                (true, Some(b'2')) => b'$',
                _ => *byte,
            });
            rest = if escaped { &after[2..] } else { after };
        }
        prepare_line(&plain, out).map_err(invalid("Postal Address"))?;
    }
    Ok(())
}

fn put_telephone(value: &[u8], out: &mut Vec<u8>) {
    let significant = value.iter().filter(|byte| !matches!(byte, b' ' | b'-'));
    out.extend(significant.map(u8::to_ascii_lowercase));
}

fn verbatim(
    value: &[u8],
    check: crate::syntax::Check,
    syntax: &'static str,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    check(value).map_err(invalid(syntax))?;
    out.extend_from_slice(value);
    Ok(())
}

/// Appends an integer as 128-bit number in two's complement; larger integers have no bits to
/// assert.
fn bits(value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    number::integer(value).map_err(invalid("INTEGER"))?;
    let number = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse::<i128>().ok());
    let number = number.ok_or(invalid("INTEGER")(
        "expected an integer of at most 128 bits",
    ))?;
    out.extend_from_slice(&number.to_be_bytes());
    Ok(())
}

/// The treatment of a descriptor that the schema does not have.
enum Unknown {
    /// A stored value: it equals itself in any case.
    LowerCase,
    /// An assertion: the descriptor has no meaning (RFC 4517 §4.2.26).
    Refuse,
}

fn object_identifier(
    schema: &Schema,
    value: &[u8],
    unknown: Unknown,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    identifier::oid(value).map_err(invalid("OID"))?;
    let text = std::str::from_utf8(value).map_err(|_| invalid("OID")("expected ASCII text"))?;
    let known = schema
        .object_class(text)
        .map(|id| schema.class_of(id).name());
    let known = known.or_else(|| {
        schema
            .attribute_type(text)
            .map(|id| schema.type_of(id).name())
    });
    let is_name = !value[0].is_ascii_digit();
    if known.is_none() && is_name && matches!(unknown, Unknown::Refuse) {
        return Err(invalid("OID")("expected a name that the schema defines"));
    }
    let start = out.len();
    out.extend_from_slice(known.unwrap_or(text).as_bytes());
    out[start..].make_ascii_lowercase();
    Ok(())
}

fn distinguished_name(
    schema: &Schema,
    value: &[u8],
    depth_max: u8,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    let wrong = invalid("DN");
    let text = std::str::from_utf8(value).map_err(|_| wrong("expected UTF-8 text"))?;
    let depth_max = depth_max
        .checked_sub(1)
        .ok_or(wrong("names are nested too deep"))?;
    put_name(schema, text, depth_max, out, &mut |_| ())
        .map_err(|_| wrong("expected a distinguished name of known attribute types"))
}

/// Appends the normal form of a name, and behind a separator that no name contains, the bits.
fn name_and_uid(
    schema: &Schema,
    value: &[u8],
    depth_max: u8,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    let (name, uid) = identifier::split_uid(value);
    distinguished_name(schema, name, depth_max, out)?;
    if let Some(bits) = uid {
        out.extend_from_slice(&[0, 3]);
        out.extend_from_slice(bits);
    }
    Ok(())
}

/// Appends the normal form of a certificate or revocation list: its identity with the issuer's
/// name in normal form, or all octets of `value` when it has no identity that can be compared.
fn put_identity(schema: &Schema, identity: Option<Identity<'_>>, value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if identity
        .and_then(|it| put_parts(schema, &it, out))
        .is_none()
    {
        out.truncate(start);
        certificate::put_whole(value, out);
    }
}

/// Appends the normal form of an asserted certificate or revocation list, which may be given by its
/// identity alone.
fn asserted_identity(
    schema: &Schema,
    family: Family,
    given: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    let Some(text) = certificate::text_of_assertion(given) else {
        put_identity(schema, certificate::stored(family, given), given, out);
        return Ok(());
    };
    let identity = certificate::asserted(family, text);
    let done = identity.and_then(|it| put_parts(schema, &it, out));
    done.ok_or_else(|| certificate::not_an_assertion(family))
}

fn put_parts(schema: &Schema, identity: &Identity<'_>, out: &mut Vec<u8>) -> Option<()> {
    let issuer = schema.resolve_name(&identity.issuer).ok()?;
    identity.put(issuer.bytes(), out)
}

fn uuid(value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    identifier::uuid(value).map_err(invalid("UUID"))?;
    let mut half = None;
    for digit in value
        .iter()
        .filter_map(|byte| char::from(*byte).to_digit(16))
    {
        match half.take() {
            None => half = Some(digit),
            Some(high) => out.push((high * 16 + digit) as u8),
        }
    }
    Ok(())
}

/// Returns the first word inside the parentheses of a definition.
fn first_component(value: &[u8]) -> Result<&[u8], InvalidValue> {
    let inner = value
        .trim_ascii()
        .strip_prefix(b"(")
        .map(<[u8]>::trim_ascii_start);
    let word = inner.and_then(|inner| {
        inner
            .split(|byte| byte.is_ascii_whitespace() || *byte == b')')
            .next()
    });
    match word {
        Some(word) if !word.is_empty() => Ok(word),
        _ => Err(invalid("definition")(
            "expected a definition in parentheses",
        )),
    }
}
