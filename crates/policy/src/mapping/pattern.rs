//! Patterns for the parts of an outside identity. A star stands for one octet or more, and is
//! captured; each as little as possible, the last one all that is left. Matching takes time linear
//! in the length of the value: nothing is tried twice.

use schema::Schema;

use crate::access::pattern::{Matching, NamePattern};

/// Texts that the stars of patterns stand for, in the order of the stars.
pub(super) type Captures = Vec<Vec<u8>>;

/// Whether a value matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matched {
    No,
    /// It cannot be said, for this reason.
    Unknown(String),
    Yes(Captures),
}

/// A pattern for one part.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// A name of the directory's form, compared by the schema.
    Dn(NamePattern),
    /// Texts around stars: one more than there are stars.
    Text {
        texts: Vec<String>,
        ignores_case: bool,
    },
}

impl Pattern {
    /// Compiles the pattern of a part.
    pub(super) fn compile(schema: &Schema, part: &str, text: &str) -> Result<Pattern, String> {
        if matches!(part, "subject" | "issuer") {
            let pattern = NamePattern::compile(schema, text)?;
            return match pattern.highest_capture() {
                0 => Ok(Pattern::Dn(pattern)),
                number => Err(format!("expected no $ in a pattern, got ${number}")),
            };
        }
        let ignores_case = matches!(part, "mail" | "dns" | "upn" | "fingerprint");
        let text = match ignores_case {
            true => text.to_ascii_lowercase(),
            false => text.to_owned(),
        };
        Ok(Pattern::Text {
            texts: pieces(&text)?,
            ignores_case,
        })
    }

    /// Number of stars.
    pub(super) fn stars(&self) -> usize {
        match self {
            Pattern::Dn(pattern) => pattern.stars(),
            Pattern::Text { texts, .. } => texts.len() - 1,
        }
    }

    /// Whether one value alone matches.
    pub(super) fn is_literal(&self) -> bool {
        match self {
            Pattern::Dn(pattern) => pattern.stars() == 0 && !pattern.is_open_below(),
            Pattern::Text { texts, .. } => texts.len() == 1,
        }
    }

    pub(super) fn matches(&self, schema: &Schema, value: &str) -> Matched {
        let captures = match self {
            Pattern::Dn(pattern) => {
                let name = match schema.resolve_name(value) {
                    Ok(name) => name,
                    Err(error) => return Matched::Unknown(format!("\"{value}\": {error}")),
                };
                match pattern.judge(&name, &[]) {
                    Matching::No => return Matched::No,
                    Matching::Perhaps => {
                        let why = "an RDN of several values has no certain meaning in a pattern";
                        return Matched::Unknown(why.to_owned());
                    }
                    Matching::Yes(captures) => captures,
                }
            }
            Pattern::Text {
                texts,
                ignores_case,
            } => match fill(texts, value, *ignores_case) {
                Some(captures) => captures,
                None => return Matched::No,
            },
        };
        match captures.iter().any(Vec::is_empty) {
            true => Matched::No,
            false => Matched::Yes(captures),
        }
    }
}

/// The texts around the stars. A backslash makes the next character an ordinary one.
fn pieces(text: &str) -> Result<Vec<String>, String> {
    let mut texts = vec![String::new()];
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        let last = texts.last_mut().expect("begun with one");
        match sign {
            '*' => texts.push(String::new()),
            '\\' => match signs.next() {
                Some(sign) => last.push(sign),
                None => return Err("expected a character behind the last backslash".to_owned()),
            },
            _ => last.push(sign),
        }
    }
    let between = texts.get(1..texts.len() - 1).unwrap_or_default();
    match between.iter().any(String::is_empty) {
        true => Err("expected text between two stars, got none".to_owned()),
        false => Ok(texts),
    }
}

fn fill(texts: &[String], value: &str, ignores_case: bool) -> Option<Captures> {
    // Letters keep their number of octets, so places in one are places in the other.
    let compared = match ignores_case {
        true => value.to_ascii_lowercase(),
        false => value.to_owned(),
    };
    let (first, between) = texts.split_first()?;
    let Some((last, between)) = between.split_last() else {
        return (compared == *first).then(Captures::new);
    };
    let mut at = first.len();
    let rest = compared.strip_prefix(first.as_str())?;
    let end = at + rest.strip_suffix(last.as_str())?.len();
    let mut captures = Captures::new();
    for text in between {
        // A star stands for one character at least.
        let begin = at + compared[at..end].chars().next()?.len_utf8();
        let found = begin + compared[begin..end].find(text.as_str())?;
        captures.push(value[at..found].into());
        at = found + text.len();
    }
    captures.push(value[at..end].into());
    Some(captures)
}
