//! Parsing of a template's text into definitions and lines; names, counts and tags are resolved
//! later.
//!
//! Blank lines and trailing spaces are ignored: a definition ends where the next begins. So the
//! template printed in Oracle's paper, with a blank line after every line, is read as meant.

use std::collections::{BTreeMap, BTreeSet};

use super::defines::Defines;
use super::error::{TemplateError, error};

/// Octets that names of definitions may add to a line: a chain of definitions, each twice as long
/// as the previous one, would make a line of any length out of a short template.
const GROWTH_BYTES_MAX: usize = 1 << 20;

pub(crate) struct Source {
    pub definitions: Vec<SourceDefinition>,
    pub unused_defines: Vec<String>,
    pub known_names: Vec<String>,
}

pub(crate) struct SourceDefinition {
    /// DN of a branch or name of a template.
    pub name: String,
    pub is_branch: bool,
    pub line: u64,
    pub extends: Option<(u64, String)>,
    pub rdn: Option<(u64, Vec<String>)>,
    pub children: Vec<SourceChild>,
    pub lines: Vec<SourceLine>,
}

pub(crate) struct SourceChild {
    pub line: u64,
    pub template: String,
    pub count: Option<u64>,
}

#[derive(Clone)]
pub(crate) struct SourceLine {
    pub number: u64,
    pub description: String,
    pub form: ValueForm,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueForm {
    /// Text: `attr: text`
    Text,
    /// Base64: `attr:: base64`
    Base64,
    /// URL: `attr:< url`
    Url,
}

pub(crate) fn source(text: &str, defines: &Defines) -> Result<Source, TemplateError> {
    let mut reader = Reader {
        defines,
        defined: BTreeMap::new(),
        used: BTreeSet::new(),
        definitions: Vec::new(),
        open: false,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line.trim_end())?;
    }
    if !reader
        .definitions
        .iter()
        .any(|definition| definition.is_branch)
    {
        return Err(error(0, "expected at least one line 'branch: DN'"));
    }
    let known = |name: &&str| !reader.defined.contains_key(*name) && !reader.used.contains(*name);
    let unused_defines = defines.names().filter(known).map(str::to_owned).collect();
    let mut known_names: BTreeSet<String> = reader.defined.into_keys().collect();
    known_names.extend(reader.used);
    Ok(Source {
        definitions: reader.definitions,
        unused_defines,
        known_names: known_names.into_iter().collect(),
    })
}

struct Reader<'a> {
    defines: &'a Defines,
    /// Text of each defined name, by name in lower case.
    defined: BTreeMap<String, String>,
    used: BTreeSet<String>,
    definitions: Vec<SourceDefinition>,
    /// Whether the last definition can take more lines.
    open: bool,
}

impl Reader<'_> {
    fn line(&mut self, number: u64, raw: &str) -> Result<(), TemplateError> {
        if raw.is_empty() || raw.starts_with('#') {
            return Ok(());
        }
        if raw.starts_with([' ', '\t']) {
            return Err(error(
                number,
                "expected no space at the begin: lines are not folded",
            ));
        }
        let text = self.substitute(number, raw)?;
        if let Some(rest) = keyword(&text, "define ") {
            return self.define(number, rest);
        }
        if keyword(&text, "include ").is_some() {
            return Err(error(number, "include is refused: templates load no code"));
        }
        if let Some(rest) = keyword(&text, "branch:") {
            return self.begin(number, rest, true);
        }
        if let Some(rest) = keyword(&text, "template:") {
            return self.begin(number, rest, false);
        }
        let Some(definition) = self.definitions.last_mut().filter(|_| self.open) else {
            return Err(error(
                number,
                format!("expected branch: or template: before {text:?}"),
            ));
        };
        if let Some(rest) = keyword(&text, "subordinatetemplate:") {
            let child = child(number, rest, definition.is_branch)?;
            definition.children.push(child);
        } else if let Some(rest) = keyword(&text, "extends:") {
            set_once(number, "extends", &mut definition.extends, rest.to_owned())?;
        } else if let Some(rest) = keyword(&text, "rdnattr:") {
            let names: Vec<String> = rest.split('+').map(|it| it.trim().to_owned()).collect();
            if let Some(bad) = names.iter().find(|name| !is_description(name)) {
                return Err(error(
                    number,
                    format!("expected an attribute, found {bad:?}"),
                ));
            }
            set_once(number, "rdnAttr", &mut definition.rdn, names)?;
        } else {
            definition.lines.push(attribute_line(number, &text)?);
            return Ok(());
        }
        Ok(())
    }

    fn define(&mut self, number: u64, rest: &str) -> Result<(), TemplateError> {
        self.open = false;
        let Some((name, value)) = rest.split_once('=') else {
            return Err(error(
                number,
                format!("expected define name=value, found {rest:?}"),
            ));
        };
        let lower = name.trim().to_ascii_lowercase();
        if lower.is_empty() {
            return Err(error(number, "expected a name before '='"));
        }
        let value = self
            .defines
            .value(&lower)
            .unwrap_or(value.trim())
            .to_owned();
        match self.defined.insert(lower, value) {
            None => Ok(()),
            Some(_) => Err(error(
                number,
                format!("{:?} is defined a second time", name.trim()),
            )),
        }
    }

    fn begin(&mut self, line: u64, name: &str, is_branch: bool) -> Result<(), TemplateError> {
        if name.is_empty() {
            return Err(error(
                line,
                if is_branch {
                    "expected a DN"
                } else {
                    "expected a name"
                },
            ));
        }
        let same = |it: &&SourceDefinition| {
            it.is_branch == is_branch && it.name.eq_ignore_ascii_case(name)
        };
        if let Some(first) = self.definitions.iter().find(same) {
            return Err(error(
                line,
                format!("{name:?} stands already on line {}", first.line),
            ));
        }
        self.open = true;
        self.definitions.push(SourceDefinition {
            name: name.to_owned(),
            is_branch,
            line,
            extends: None,
            rdn: None,
            children: Vec::new(),
            lines: Vec::new(),
        });
        Ok(())
    }

    /// Replaces `[name]`, from the right so that names may be nested.
    fn substitute(&mut self, line: u64, raw: &str) -> Result<String, TemplateError> {
        let mut text = raw.to_owned();
        let mut limit = text.len();
        while let Some(open) = last_bracket(&text[..limit]) {
            let Some(close) = first_bracket(&text[open..]).map(|at| open + at) else {
                return Err(error(line, "expected ] after [; write \\[ for a bracket"));
            };
            let name = text[open + 1..close].trim().to_ascii_lowercase();
            let Some(value) = self
                .defined
                .get(&name)
                .map(String::as_str)
                .or(self.defines.value(&name))
            else {
                return Err(error(
                    line,
                    format!("[{name}] is not defined; write \\[ for a bracket"),
                ));
            };
            let value = value.to_owned();
            text.replace_range(open..=close, &value);
            if text.len() > raw.len() + GROWTH_BYTES_MAX {
                let message = format!("[{name}] makes the line longer than a megabyte");
                return Err(error(line, message));
            }
            self.used.insert(name);
            limit = open;
        }
        Ok(text)
    }
}

fn last_bracket(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len())
        .rev()
        .find(|&at| bytes[at] == b'[' && (at == 0 || bytes[at - 1] != b'\\'))
}

fn first_bracket(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (1..bytes.len()).find(|&at| bytes[at] == b']' && bytes[at - 1] != b'\\')
}

/// Returns the text behind a keyword (given in lower case), without the spaces around it; `None` if
/// the text does not begin with the keyword.
fn keyword<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word)
        .then(|| text[word.len()..].trim())
}

fn set_once<T>(
    line: u64,
    what: &str,
    place: &mut Option<(u64, T)>,
    value: T,
) -> Result<(), TemplateError> {
    if let Some((first, _)) = place {
        return Err(error(
            line,
            format!("{what} stands already on line {first}"),
        ));
    }
    *place = Some((line, value));
    Ok(())
}

fn child(line: u64, text: &str, count_needed: bool) -> Result<SourceChild, TemplateError> {
    let (template, count) = match text.rsplit_once(':') {
        Some((template, count)) => {
            let number = count.trim().parse().map_err(|_| {
                error(
                    line,
                    format!("expected a number of entries, found {:?}", count.trim()),
                )
            })?;
            (template.trim(), Some(number))
        }
        None if count_needed => {
            return Err(error(
                line,
                "expected subordinateTemplate: name:count in a branch",
            ));
        }
        None => (text, None),
    };
    if template.is_empty() {
        return Err(error(line, "expected the name of a template"));
    }
    Ok(SourceChild {
        line,
        template: template.to_owned(),
        count,
    })
}

fn attribute_line(number: u64, text: &str) -> Result<SourceLine, TemplateError> {
    let Some((description, rest)) = text.split_once(':') else {
        return Err(error(
            number,
            format!("expected attribute: value, found {text:?}"),
        ));
    };
    if !is_description(description) {
        return Err(error(
            number,
            format!("expected an attribute, found {description:?}"),
        ));
    }
    let (form, value) = match rest.as_bytes().first() {
        Some(b':') => (ValueForm::Base64, &rest[1..]),
        Some(b'<') if rest[1..].starts_with(' ') => (ValueForm::Url, &rest[1..]),
        _ => (ValueForm::Text, rest),
    };
    let value = value.trim_start();
    if value.is_empty() {
        return Err(error(number, format!("expected a value for {description}")));
    }
    Ok(SourceLine {
        number,
        description: description.to_owned(),
        form,
        text: value.to_owned(),
    })
}

/// Returns whether a text is an attribute type's name or OID with options (RFC 4512 §2.5).
fn is_description(text: &str) -> bool {
    let legal =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b';' | b'_');
    text.bytes().all(legal) && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}
