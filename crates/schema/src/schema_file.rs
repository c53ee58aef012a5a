//! Reader of other servers' schema files: OpenLDAP `.schema`, and LDIF in three dialects.
//!
//! - OpenLDAP `.schema`: directives, continued on indented lines; `objectIdentifier` macros.
//! - OpenLDAP `cn=config` LDIF: `olcAttributeTypes`, …, values with an `{n}` before them.
//! - 389 Directory Server (`99user.ldif`) and OpenDJ LDIF: `attributeTypes`, `objectClasses`, ….
//!
//! In LDIF only attribute names count; DNs, change types and other lines are skipped, so that a
//! whole configuration or a set of changes can be read.

use std::collections::HashMap;

use crate::definition::{Definition, DefinitionKind};
use crate::definition_parse::{is_numeric_oid, parse_definition};
use crate::error::SchemaFileError;

/// Bytes of an expanded OID at most: a macro may stand for a longer macro.
const OID_BYTES_MAX: usize = 1_000;

/// A definition of a schema file with the line on which it starts, from 1; or the error of a text
/// that is not a definition.
pub type ReadDefinition = Result<(usize, Definition), SchemaFileError>;

/// Reads a schema file, in which every definition must be valid.
///
/// # Errors
/// The first line with an error, and the reason.
pub fn read_schema_file(text: &str) -> Result<Vec<Definition>, SchemaFileError> {
    let found = read_each_definition(text).into_iter();
    found.map(|it| it.map(|(_, it)| it)).collect()
}

/// Reads a schema file; its first directive decides the dialect. Each unreadable definition is an
/// error of its own and does not end the reading.
pub fn read_each_definition(text: &str) -> Vec<ReadDefinition> {
    let mut reader = Reader::default();
    if is_ldif(text) {
        reader.read_ldif(text);
    } else {
        reader.read_directives(text);
    }
    reader.found
}

/// Returns whether a text is LDIF: `name: value`, while in a directive white space precedes any
/// colon.
fn is_ldif(text: &str) -> bool {
    let content = |line: &&str| !line.trim().is_empty() && !line.starts_with(['#', ' ', '\t']);
    text.lines().find(content).is_some_and(|line| {
        line.split_once(':')
            .is_some_and(|(name, _)| !name.contains(char::is_whitespace))
    })
}

#[derive(Default)]
struct Reader {
    found: Vec<ReadDefinition>,
    /// Numeric OIDs by macro name in lower case.
    macros: HashMap<String, String>,
}

impl Reader {
    fn read_directives(&mut self, text: &str) {
        for directive in directives(text) {
            if let Err((at, message)) = self.read_directive(&directive) {
                let before = directive.text.bytes().take(at);
                let lines = before.filter(|&byte| byte == b'\n').count();
                let line = directive.line + lines;
                self.found.push(Err(SchemaFileError { line, message }));
            }
        }
    }

    /// Reads a directive. An error is an offset in the directive and a message.
    fn read_directive(&mut self, directive: &Directive<'_>) -> Result<(), (usize, String)> {
        let body = directive.text.trim_start();
        let indent = directive.text.len() - body.len();
        let end = body
            .find(|c: char| c.is_whitespace() || c == '(')
            .unwrap_or(body.len());
        let (keyword, argument) = body.split_at(end);
        if keyword.eq_ignore_ascii_case("objectidentifier") {
            return self.define_macro(argument).map_err(|message| (0, message));
        }
        let Some(kind) = kind_of_keyword(keyword) else {
            let message = format!("expected a schema directive, got {keyword:?}");
            return Err((indent, message));
        };
        self.define(directive.line, kind, argument)
            .map_err(|(at, message)| (indent + end + at, message))
    }

    fn read_ldif(&mut self, text: &str) {
        for (line, folded) in ldif_lines(text) {
            if let Err(message) = self.read_attribute(line, &folded) {
                self.found.push(Err(SchemaFileError { line, message }));
            }
        }
    }

    fn read_attribute(&mut self, line: usize, folded: &str) -> Result<(), String> {
        let Some((name, value)) = folded.split_once(':') else {
            return match folded {
                "-" => Ok(()),
                _ => Err(format!("expected name: value, got {folded:?}")),
            };
        };
        let name = name.split(';').next().unwrap_or(name);
        let bare = match name.get(..3) {
            Some(prefix) if prefix.eq_ignore_ascii_case("olc") => &name[3..],
            _ => name,
        };
        let kind = DefinitionKind::of_attribute(bare);
        if kind.is_none() && !bare.eq_ignore_ascii_case("objectidentifier") {
            return Ok(());
        }
        let decoded;
        let value = match value.strip_prefix(':') {
            None => value.trim(),
            Some(encoded) => {
                decoded = decode_base64(encoded.trim())
                    .ok_or_else(|| "value is not UTF-8 in base64".to_string())?;
                decoded.trim()
            }
        };
        let value = without_order(value);
        match kind {
            Some(kind) => self
                .define(line, kind, value)
                .map_err(|(_, message)| message),
            None => self.define_macro(value),
        }
    }

    /// Defines a macro by `NAME OID`, `NAME macro` or `NAME macro:suffix`.
    fn define_macro(&mut self, argument: &str) -> Result<(), String> {
        let mut words = argument.split_whitespace();
        let (Some(name), Some(oid), None) = (words.next(), words.next(), words.next()) else {
            return Err(format!(
                "expected objectIdentifier NAME OID, got {:?}",
                argument.trim()
            ));
        };
        let oid = self.expand(oid)?;
        match self.macros.insert(name.to_ascii_lowercase(), oid.clone()) {
            Some(before) if before != oid => Err(format!(
                "macro {name} already stands for {before}, got {oid}"
            )),
            _ => Ok(()),
        }
    }

    fn define(
        &mut self,
        line: usize,
        kind: DefinitionKind,
        text: &str,
    ) -> Result<(), (usize, String)> {
        let mut definition =
            parse_definition(kind, text).map_err(|error| (error.at, error.message))?;
        self.expand_oids(&mut definition)
            .map_err(|message| (0, message))?;
        self.found.push(Ok((line, definition)));
        Ok(())
    }

    /// Replaces macros in the places where OpenLDAP does: the definition's OID and its syntax.
    fn expand_oids(&self, definition: &mut Definition) -> Result<(), String> {
        let expand = |oid: &mut String| -> Result<(), String> {
            if !is_numeric_oid(oid) {
                *oid = self.expand(oid)?;
            }
            Ok(())
        };
        match definition {
            Definition::AttributeType(it) => {
                expand(&mut it.oid)?;
                it.syntax.as_mut().map_or(Ok(()), expand)
            }
            Definition::ObjectClass(it) => expand(&mut it.oid),
            Definition::Syntax(it) => expand(&mut it.oid),
            Definition::MatchingRule(it) => {
                expand(&mut it.oid)?;
                expand(&mut it.syntax)
            }
            // A content rule may be given by the name of its class.
            Definition::ContentRule(it) => match it.oid.contains(':') {
                true => expand(&mut it.oid),
                false => Ok(()),
            },
            Definition::NameForm(it) => expand(&mut it.oid),
            Definition::MatchingRuleUse(_) | Definition::StructureRule(_) => Ok(()),
        }
    }

    fn expand(&self, text: &str) -> Result<String, String> {
        if is_numeric_oid(text) {
            return Ok(text.to_string());
        }
        let (name, suffix) = text.split_once(':').unwrap_or((text, ""));
        let Some(oid) = self.macros.get(&name.to_ascii_lowercase()) else {
            // 389 Directory Server and OpenDJ allow a definition without an OID.
            let stands_for_itself =
                suffix.is_empty() && name.to_ascii_lowercase().ends_with("-oid");
            return match stands_for_itself {
                true => Ok(text.to_string()),
                false => Err(format!(
                    "expected an OID or a macro defined before, got {text:?}"
                )),
            };
        };
        let expanded = if suffix.is_empty() {
            oid.clone()
        } else {
            format!("{oid}.{suffix}")
        };
        match is_numeric_oid(&expanded) && expanded.len() <= OID_BYTES_MAX {
            true => Ok(expanded),
            false => Err(format!("macro {text:?} does not make an OID")),
        }
    }
}

/// Returns the kind of a directive's keyword, singular in `.schema` files and plural in LDIF.
fn kind_of_keyword(keyword: &str) -> Option<DefinitionKind> {
    let is = |singular: &str| {
        let rest = keyword.get(..singular.len());
        rest.is_some_and(|start| start.eq_ignore_ascii_case(singular))
            && matches!(
                keyword.get(singular.len()..),
                Some("" | "s" | "S" | "es" | "ES")
            )
    };
    let named = [
        ("attributetype", DefinitionKind::AttributeType),
        ("objectclass", DefinitionKind::ObjectClass),
        ("ldapsyntax", DefinitionKind::Syntax),
        ("matchingrule", DefinitionKind::MatchingRule),
        ("matchingruleuse", DefinitionKind::MatchingRuleUse),
        ("ditcontentrule", DefinitionKind::ContentRule),
        ("nameform", DefinitionKind::NameForm),
        ("ditstructurerule", DefinitionKind::StructureRule),
    ];
    named
        .into_iter()
        .find(|(singular, _)| is(singular))
        .map(|(_, kind)| kind)
}

struct Directive<'a> {
    /// Line of the directive in the file, from 1.
    line: usize,
    /// The whole directive with its line ends; comment lines inside it are blank.
    text: std::borrow::Cow<'a, str>,
}

/// Splits a `.schema` file into directives. A directive continues on indented lines and, while a
/// parenthesis is open, on comments and other lines. FreeRADIUS's file indents whole directives.
fn directives(text: &str) -> Vec<Directive<'_>> {
    let mut found: Vec<Directive<'_>> = Vec::new();
    let mut start: Option<(usize, usize)> = None;
    let mut depth = 0i64;
    let mut at = 0;
    let mut comments = Vec::new();
    let mut finish = |start: &mut Option<(usize, usize)>, end: usize, comments: &mut Vec<_>| {
        if let Some((line, from)) = start.take() {
            found.push(Directive {
                line,
                text: blanked(text, from, end, comments),
            });
        }
        comments.clear();
    };
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        if line.starts_with('#') || (depth > 0 && line.trim_start().starts_with('#')) {
            comments.push((at, end));
        } else if !line.trim().is_empty() {
            let indented = line.starts_with([' ', '\t']);
            let continued = start.is_some()
                && match depth > 0 {
                    true => indented || !begins_directive(line),
                    false => indented && !begins_directive(line.trim_start()),
                };
            if !continued {
                finish(&mut start, at, &mut comments);
                start = Some((index + 1, at));
                depth = 0;
            }
            depth += open_parentheses(line);
        }
        at = end;
    }
    finish(&mut start, text.len(), &mut comments);
    found
}

fn begins_directive(line: &str) -> bool {
    let word = line
        .split(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or("");
    kind_of_keyword(word).is_some() || word.eq_ignore_ascii_case("objectidentifier")
}

/// Returns the text from `from` to `end` with comments as spaces, so that offsets stay the same.
fn blanked<'a>(
    text: &'a str,
    from: usize,
    end: usize,
    comments: &[(usize, usize)],
) -> std::borrow::Cow<'a, str> {
    let mut out = String::new();
    let mut at = from;
    for &(start, stop) in comments
        .iter()
        .filter(|(start, stop)| *start >= from && *stop <= end)
    {
        out.push_str(&text[at..start]);
        out.extend(
            text[start..stop]
                .bytes()
                .map(|byte| if byte == b'\n' { '\n' } else { ' ' }),
        );
        at = stop;
    }
    if at == from {
        return text[from..end].trim_end().into();
    }
    out.push_str(text[at..end].trim_end());
    out.into()
}

/// Number of opened minus closed parentheses outside of quoted strings.
fn open_parentheses(line: &str) -> i64 {
    let mut quoted = false;
    let mut depth = 0;
    for byte in line.bytes() {
        match byte {
            b'\'' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    depth
}

/// Returns unfolded LDIF lines with the number of their first line; no comments, no empty lines.
fn ldif_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut in_comment = false;
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix(' ').or_else(|| line.strip_prefix('\t')) {
            if in_comment {
                continue;
            }
            if let Some((_, last)) = lines.last_mut().filter(|_| open) {
                last.push_str(rest);
                continue;
            }
        }
        in_comment = line.starts_with('#');
        open = !in_comment && !line.trim().is_empty();
        if open {
            lines.push((index + 1, line.to_string()));
        }
    }
    lines
}

/// Turns `{12}( 1.2.3 …` into `( 1.2.3 …`, without the order that `cn=config` writes before values.
fn without_order(value: &str) -> &str {
    let inner = value
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'));
    match inner {
        Some((digits, rest)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest.trim_start()
        }
        _ => value,
    }
}

fn decode_base64(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    protocol::base64::decode_into(&mut bytes, text.as_bytes()).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
