//! Filters as text, close to RFC 4515, for explanations.

use std::fmt::{self, Write};

use super::{Filter, SubstringAssertion};
use crate::matching::Position;

impl fmt::Display for Filter {
    /// Writes the filter as in RFC 4515, and an undefined one as `(?=reason)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::And(parts) => list(f, '&', parts),
            Filter::Or(parts) => list(f, '|', parts),
            Filter::Not(part) => write!(f, "(!{part})"),
            Filter::Equality(it) => item(f, it.selector.attribute(), "=", &it.given),
            Filter::GreaterOrEqual(it) => item(f, it.selector.attribute(), ">=", &it.given),
            Filter::LessOrEqual(it) => item(f, it.selector.attribute(), "<=", &it.given),
            Filter::Approx(it) => item(f, it.selector.attribute(), "~=", &it.given),
            Filter::Substrings(it) => substrings(f, it),
            Filter::Present(selector) => write!(f, "({}=*)", selector.attribute()),
            Filter::Extensible(it) => {
                let named = it.selectors.first().filter(|_| it.attribute_named);
                let attribute = named.map_or("", |selector| selector.attribute());
                let dn = if it.dn_attributes { ":dn" } else { "" };
                let relation = format!("{dn}:{}:=", it.rule.name);
                item(f, attribute, &relation, &it.given)
            }
            Filter::Among(it) => it.asserted().fmt(f),
            Filter::Member(it) => it.asserted.fmt(f),
            Filter::True => f.write_str("(&)"),
            Filter::False => f.write_str("(|)"),
            Filter::Undefined(reason) => write!(f, "(?={reason})"),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, operator: char, parts: &[Filter]) -> fmt::Result {
    write!(f, "({operator}")?;
    for part in parts {
        write!(f, "{part}")?;
    }
    f.write_char(')')
}

fn item(f: &mut fmt::Formatter<'_>, attribute: &str, relation: &str, value: &[u8]) -> fmt::Result {
    write!(f, "({attribute}{relation}")?;
    escaped(f, value)?;
    f.write_char(')')
}

/// Writes pieces in normal form, without the spaces that only mark the ends of the value.
fn substrings(f: &mut fmt::Formatter<'_>, assertion: &SubstringAssertion) -> fmt::Result {
    write!(f, "({}=", assertion.selector.attribute())?;
    escaped(
        f,
        shown(
            Position::Initial,
            assertion.initial.as_deref().unwrap_or(b""),
        ),
    )?;
    for piece in &assertion.any {
        f.write_char('*')?;
        escaped(f, piece)?;
    }
    f.write_char('*')?;
    escaped(
        f,
        shown(Position::Final, assertion.last.as_deref().unwrap_or(b"")),
    )?;
    f.write_char(')')
}

fn shown(position: Position, piece: &[u8]) -> &[u8] {
    match position {
        Position::Initial => piece.strip_prefix(b" ").unwrap_or(piece),
        Position::Final => piece.strip_suffix(b" ").unwrap_or(piece),
        Position::Any => piece,
    }
}

fn escaped(f: &mut fmt::Formatter<'_>, value: &[u8]) -> fmt::Result {
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '(' | ')' | '*' | '\\' | '\0'..='\x1f' | '\x7f' => {
                    write!(f, "\\{:02x}", u32::from(character))?;
                }
                _ => f.write_char(character)?,
            }
        }
        for byte in chunk.invalid() {
            write!(f, "\\{byte:02x}")?;
        }
    }
    Ok(())
}
