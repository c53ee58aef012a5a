//! The tags inside a line: `<sequential:1>`, `<random:alpha:8>`, `{uid}`, and escapes.

use std::sync::Arc;

use super::lists::{self, Names};
use super::model::{Condition, Group, Part};
use super::options::ParseOptions;
use crate::number::NumberFormat;

/// Number of characters that one tag may make.
const LENGTH_MAX: usize = 1 << 28;
/// Levels of tags inside tags (only `<base64:…>` contains others).
const NESTING_MAX: usize = 4;

/// Names to which a tag may refer.
pub(crate) struct Scope<'a> {
    /// Attributes on earlier lines.
    pub groups: &'a [Group],
    pub options: &'a ParseOptions,
}

#[derive(Default)]
pub(crate) struct Parsed {
    pub parts: Vec<Part>,
    pub conditions: Vec<Condition>,
    pub repeat: Option<(i64, i64)>,
}

pub(crate) fn parse(text: &str, scope: &Scope<'_>) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    parse_into(text, scope, NESTING_MAX, &mut parsed)?;
    Ok(parsed)
}

fn parse_into(
    text: &str,
    scope: &Scope<'_>,
    nesting: usize,
    parsed: &mut Parsed,
) -> Result<(), String> {
    let bytes = text.as_bytes();
    let mut literal = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if bytes.get(at + 1).is_some_and(|&next| is_escapable(next)) => {
                literal.push(bytes[at + 1]);
                at += 2;
            }
            open @ (b'<' | b'{') => {
                let end = closing(bytes, at, open)?;
                flush(&mut literal, &mut parsed.parts);
                let inner = &text[at + 1..end];
                if open == b'<' {
                    tag(inner, scope, nesting, parsed)?;
                } else {
                    parsed.parts.push(reference(inner, scope)?);
                }
                at = end + 1;
            }
            byte => {
                literal.push(byte);
                at += 1;
            }
        }
    }
    flush(&mut literal, &mut parsed.parts);
    Ok(())
}

fn is_escapable(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'{' | b'}' | b'[' | b']')
}

fn flush(literal: &mut Vec<u8>, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Text(std::mem::take(literal)));
    }
}

/// Returns the position at which the bracket opened at `at` is closed; brackets of one kind may be
/// nested.
fn closing(bytes: &[u8], at: usize, open: u8) -> Result<usize, String> {
    let close = if open == b'<' { b'>' } else { b'}' };
    let mut depth = 0usize;
    let mut position = at;
    while let Some(&byte) = bytes.get(position) {
        if byte == b'\\'
            && bytes
                .get(position + 1)
                .is_some_and(|&next| is_escapable(next))
        {
            position += 1;
        } else if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Ok(position);
            }
        }
        position += 1;
    }
    let (open, close) = (char::from(open), char::from(close));
    Err(format!(
        "expected {close} after {open}; write \\{open} for the character itself"
    ))
}

/// Removes the backslashes of escapes.
fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|&next| is_escapable(next)) {
            at += 1;
        }
        out.push(bytes[at]);
        at += 1;
    }
    out
}

fn group(name: &str, scope: &Scope<'_>) -> Option<usize> {
    scope
        .groups
        .iter()
        .position(|group| group.description.eq_ignore_ascii_case(name.trim()))
}

/// Parses `{attr}` or `{attr:length}`.
fn reference(inner: &str, scope: &Scope<'_>) -> Result<Part, String> {
    let (name, length) = match inner.split_once(':') {
        Some((name, length)) => (name, number::<usize>(length)?),
        None => (inner, usize::MAX),
    };
    if name.trim().is_empty() {
        return Err("expected an attribute in {}; write \\{ for a brace".to_owned());
    }
    Ok(Part::Reference {
        group: group(name, scope),
        length,
    })
}

fn tag(inner: &str, scope: &Scope<'_>, nesting: usize, out: &mut Parsed) -> Result<(), String> {
    let (name, text) = match inner.split_once(':') {
        Some((name, text)) => (name, Some(text)),
        None => (inner, None),
    };
    let name = name.trim().to_ascii_lowercase();
    let arguments: Vec<&str> = text
        .map(|text| text.split(':').collect())
        .unwrap_or_default();
    let part = match name.as_str() {
        "presence" => {
            let percent: f64 = number(one(&name, &arguments)?)?;
            if !(0.0..=100.0).contains(&percent) {
                return Err(format!("expected 0 to 100 percent, found {percent}"));
            }
            out.conditions.push(Condition::Presence(percent / 100.0));
            return Ok(());
        }
        "ifpresent" | "ifabsent" => {
            let text = text.ok_or_else(|| format!("expected <{name}:attribute>"))?;
            let (attribute, value) = match text.split_once(':') {
                Some((attribute, value)) => (attribute, Some(unescape(value))),
                None => (text, None),
            };
            let group = group(attribute, scope);
            out.conditions.push(Condition::Attribute {
                group,
                value,
                wanted: name == "ifpresent",
            });
            return Ok(());
        }
        "loop" => {
            let [low, high] = arguments[..] else {
                return Err("expected <loop:from:to>".to_owned());
            };
            let (low, high) = (number::<i64>(low)?, number::<i64>(high)?);
            if out.repeat.replace((low, high)).is_some() {
                return Err("expected one <loop> on a line".to_owned());
            }
            if high < low || high.checked_sub(low).is_none() {
                return Err(format!(
                    "expected a range that rises, found {low} to {high}"
                ));
            }
            Part::LoopNumber
        }
        "base64" => base64_tag(text, scope, nesting)?,
        "random" => random_tag(text.unwrap_or_default(), &arguments)?,
        _ => simple_tag(&name, text, &arguments, scope)?,
    };
    out.parts.push(part);
    Ok(())
}

fn simple_tag(
    name: &str,
    text: Option<&str>,
    arguments: &[&str],
    scope: &Scope<'_>,
) -> Result<Part, String> {
    let underscores = name.starts_with('_');
    let bare = |part: Part| match arguments.is_empty() {
        true => Ok(part),
        false => Err(format!("expected <{name}> without arguments")),
    };
    match name {
        "sequential" => sequential_tag(arguments),
        "guid" => bare(Part::Guid),
        "first" => bare(Part::FirstName(Names::load(scope.options)?)),
        "last" => bare(Part::LastName(Names::load(scope.options)?)),
        "rdn" => bare(Part::Rdn),
        "dn" | "_dn" => {
            let components = match arguments {
                [] => 0,
                [count] => number(count)?,
                _ => return Err(format!("expected <{name}:components>")),
            };
            Ok(Part::Dn {
                components,
                underscores,
            })
        }
        "parentdn" | "_parentdn" => bare(Part::AncestorDn {
            levels: 1,
            underscores,
        }),
        "ancestordn" | "_ancestordn" => {
            let levels = number::<usize>(one(name, arguments)?)?;
            match levels {
                0 => Err("expected at least 1 level up".to_owned()),
                levels => Ok(Part::AncestorDn {
                    levels,
                    underscores,
                }),
            }
        }
        "parent" => Ok(Part::ParentAttribute(
            one(name, arguments)?.trim().to_owned(),
        )),
        "file" => file_tag(text, scope),
        "list" => list_tag(text.unwrap_or_default()),
        "csvfield" => Err("<csvfield> is not supported; use <file:…>".to_owned()),
        "exec" | "custom" => Err(format!("<{name}> is refused: templates run no code")),
        _ => Err(format!(
            "<{name}> is no tag; write \\< for the character itself"
        )),
    }
}

fn sequential_tag(arguments: &[&str]) -> Result<Part, String> {
    let (start, within_parent) = match arguments {
        [] => ("", true),
        [start] => (*start, true),
        [start, reset] => (*start, boolean(reset)?),
        _ => return Err("expected <sequential:start:reset>".to_owned()),
    };
    let start = if start.trim().is_empty() {
        0
    } else {
        number(start)?
    };
    Ok(Part::Sequential {
        start,
        step: 1,
        within_parent,
    })
}

fn base64_tag(text: Option<&str>, scope: &Scope<'_>, nesting: usize) -> Result<Part, String> {
    let Some((charset, inner)) = text.and_then(|text| text.split_once(':')) else {
        return Err("expected <base64:UTF-8:text>".to_owned());
    };
    if !["utf-8", "utf8", "us-ascii", "ascii"]
        .contains(&charset.trim().to_ascii_lowercase().as_str())
    {
        return Err(format!(
            "expected the character set UTF-8, found {charset:?}"
        ));
    }
    let nesting = nesting.checked_sub(1).ok_or("tags are nested too deep")?;
    let mut parsed = Parsed::default();
    parse_into(inner, scope, nesting, &mut parsed)?;
    if parsed.repeat.is_some() || !parsed.conditions.is_empty() {
        return Err("expected <loop>, <presence> and conditions outside of <base64>".to_owned());
    }
    Ok(Part::Base64(parsed.parts))
}

fn random_tag(text: &str, arguments: &[&str]) -> Result<Part, String> {
    let kind = arguments
        .first()
        .map(|kind| kind.trim().to_ascii_lowercase())
        .unwrap_or_default();
    let rest = arguments.get(1..).unwrap_or_default();
    let characters = |set: &[u8]| {
        let (least, most) = lengths(rest)?;
        Ok(Part::Characters {
            set: Arc::from(set),
            least,
            most,
        })
    };
    match kind.as_str() {
        "alpha" => characters(b"abcdefghijklmnopqrstuvwxyz"),
        "alphanumeric" => characters(b"abcdefghijklmnopqrstuvwxyz0123456789"),
        "hex" => characters(b"0123456789abcdef"),
        "numeric" if rest.len() < 2 => characters(b"0123456789"),
        "numeric" => number_range(text, rest),
        "chars" => {
            // The set itself may contain colons, so the lengths are taken from the right.
            let body = text
                .split_once(':')
                .map(|(_, body)| body)
                .unwrap_or_default();
            let mut pieces: Vec<&str> = body.split(':').collect();
            let mut sizes = Vec::new();
            while pieces.len() > 1 && sizes.len() < 2 {
                match pieces.last().filter(|piece| number::<usize>(piece).is_ok()) {
                    Some(size) => sizes.insert(0, *size),
                    None => break,
                }
                pieces.pop();
            }
            let set = unescape(&pieces.join(":"));
            if set.is_empty() || set.len() > 1 << 16 || !set.is_ascii() {
                return Err("expected 1 or more ASCII characters to draw from".to_owned());
            }
            let (least, most) = lengths(&sizes)?;
            Ok(Part::Characters {
                set: set.into(),
                least,
                most,
            })
        }
        "base64" => {
            let (least, most) = lengths(rest)?;
            Ok(Part::Base64Characters { least, most })
        }
        "telephone" => Ok(Part::Telephone),
        "month" => match rest {
            [] => Ok(Part::Month(usize::MAX)),
            [length] => Ok(Part::Month(number(length)?)),
            _ => Err("expected <random:month:length>".to_owned()),
        },
        _ => Err(format!("<random:{kind}> is no random tag")),
    }
}

fn lengths(arguments: &[&str]) -> Result<(usize, usize), String> {
    let (least, most) = match arguments {
        [length] => (number(length)?, number(length)?),
        [least, most] => (number(least)?, number(most)?),
        _ => return Err("expected a length, or a least and a greatest length".to_owned()),
    };
    if least > most || most > LENGTH_MAX {
        return Err(format!(
            "expected lengths that rise up to {LENGTH_MAX}, found {least} to {most}"
        ));
    }
    Ok((least, most))
}

/// Parses `numeric:low:high`, `numeric:low:high:digits` (SLAMD) or `numeric:low:high:pattern`
/// (OpenDJ).
fn number_range(text: &str, rest: &[&str]) -> Result<Part, String> {
    let (low, high) = (number::<i64>(rest[0])?, number::<i64>(rest[1])?);
    if low > high {
        return Err(format!("expected numbers that rise, found {low} to {high}"));
    }
    let format = match rest.get(2) {
        None => NumberFormat::Plain,
        Some(pattern) => {
            let pattern = text.splitn(4, ':').nth(3).unwrap_or(pattern);
            NumberFormat::parse(pattern)?
        }
    };
    Ok(Part::Number { low, high, format })
}

/// Parses `<file:path>` or `<file:path:sequential>`.
fn file_tag(text: Option<&str>, scope: &Scope<'_>) -> Result<Part, String> {
    let text = text.ok_or("expected <file:path>")?;
    let (path, sequential) = match text.rsplit_once(':') {
        Some((path, order)) if order.trim().eq_ignore_ascii_case("sequential") => (path, true),
        Some((path, order)) if order.trim().eq_ignore_ascii_case("random") => (path, false),
        _ => (text, false),
    };
    Ok(Part::FileLine {
        lines: lists::lines(path.trim(), scope.options)?,
        sequential,
    })
}

/// Parses `<list:a,b:2>` as in SLAMD or `<list:a:b;2>` as in OpenDJ; a comma decides.
fn list_tag(text: &str) -> Result<Part, String> {
    let (separator, mark) = if text.contains(',') {
        (',', ':')
    } else {
        (':', ';')
    };
    let mut sum = 0u64;
    let mut values = Vec::new();
    for item in text.split(separator) {
        let (value, weight) = match item.rsplit_once(mark) {
            Some((value, weight)) => match number::<u64>(weight) {
                Ok(weight) => (value, weight),
                Err(_) => (item, 1),
            },
            None => (item, 1),
        };
        sum = sum.checked_add(weight).ok_or("expected smaller weights")?;
        values.push((sum, unescape(value)));
    }
    match sum {
        0 => Err("expected a list with at least one weight above 0".to_owned()),
        _ => Ok(Part::List(values.into())),
    }
}

fn one<'a>(name: &str, arguments: &[&'a str]) -> Result<&'a str, String> {
    match arguments {
        [argument] => Ok(argument),
        _ => Err(format!("expected <{name}:…> with one argument")),
    }
}

fn boolean(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(format!("expected true or false, found {other:?}")),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("expected a number, found {:?}", text.trim()))
}
