//! The text of a rule: `certificate mail "*@example.com" in subtree "dc=example,dc=com" where
//! (uid=$1)`, or `… is "uid=$1,dc=example,dc=com"`.

use schema::Schema;

use super::pattern::{Captures, Pattern};
use super::template::Template;
use super::{Condition, Kind, Outcome, Rule};
use crate::access::parse::scan::{Scanner, Token};
use crate::access::rules::Reach;

/// The most patterns of a rule.
const CONDITIONS_MAX: usize = 16;

/// Reads the text of one rule.
pub(super) fn rule(schema: &Schema, name: &str, text: &str) -> Result<Rule, String> {
    let mut scanner = Scanner::new(text);
    scanner.begin_clause();
    let rule = read(schema, name, &mut scanner)?;
    let is_over = *scanner.peek().map_err(shown)? == Token::End;
    if !is_over || scanner.begin_clause() {
        return Err(shown(scanner.unexpected("one rule and nothing behind it")));
    }
    Ok(rule)
}

fn shown(error: crate::access::error::RuleError) -> String {
    error.to_string()
}

fn read(schema: &Schema, name: &str, scanner: &mut Scanner<'_>) -> Result<Rule, String> {
    let kind = kind(scanner)?;
    let mut conditions = Vec::new();
    let mut stars = 0;
    loop {
        let word = match scanner.peek().map_err(shown)? {
            Token::Word(word) => (*word).to_owned(),
            _ => {
                return Err(shown(
                    scanner.unexpected("a part of the identity, is or in"),
                ));
            }
        };
        let is_result = matches!(word.as_str(), "is" | "in");
        if is_result && !conditions.is_empty() {
            break;
        }
        let known = kind.parts();
        if is_result || !known.is_empty() && !known.contains(&word.as_str()) {
            let expected = match known.is_empty() {
                true => "the name of a claim".to_owned(),
                false => known.join(", "),
            };
            return Err(shown(scanner.unexpected(&expected)));
        }
        if conditions.len() == CONDITIONS_MAX {
            return Err(format!("expected at most {CONDITIONS_MAX} patterns"));
        }
        scanner.take().map_err(shown)?;
        let text = quoted(scanner, "a pattern in quotation marks")?;
        let pattern = Pattern::compile(schema, &word, &text);
        let pattern = pattern.map_err(|error| format!("{word} \"{text}\": {error}"))?;
        stars += pattern.stars();
        let part = word;
        conditions.push(Condition { part, pattern });
    }
    let result = match scanner.take_word("is").map_err(shown)? {
        true => entry(schema, scanner, stars)?,
        false => search(schema, scanner, stars)?,
    };
    Ok(Rule {
        name: name.to_owned(),
        kind,
        is_literal: conditions.iter().all(|it| it.pattern.is_literal()),
        conditions,
        result,
    })
}

fn kind(scanner: &mut Scanner<'_>) -> Result<Kind, String> {
    for kind in Kind::ALL {
        if scanner.take_word(kind.word()).map_err(shown)? {
            return Ok(kind);
        }
    }
    let words: Vec<&str> = Kind::ALL.iter().map(|it| it.word()).collect();
    Err(shown(scanner.unexpected(&words.join(", "))))
}

fn quoted(scanner: &mut Scanner<'_>, expected: &str) -> Result<String, String> {
    match scanner.peek().map_err(shown)? {
        Token::Quoted(_) => match scanner.take().map_err(shown)? {
            Token::Quoted(text) => Ok(text),
            _ => Err(format!("expected {expected}")),
        },
        _ => Err(shown(scanner.unexpected(expected))),
    }
}

/// `is "uid=$1,dc=example,dc=com"`, behind the first word.
fn entry(schema: &Schema, scanner: &mut Scanner<'_>, stars: usize) -> Result<Outcome, String> {
    let text = quoted(scanner, "a name in quotation marks")?;
    let wrong = |error: String| format!("is \"{text}\": {error}");
    let template = Template::read(&text, stars).map_err(wrong)?;
    let tried = schema.resolve_name(&template.filled(&sample(stars)));
    match tried {
        Ok(name) if name.depth() > 0 => Ok(Outcome::Entry(template)),
        Ok(_) => Err(wrong("expected the name of an entry, got none".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// `in subtree "dc=example,dc=com" where (uid=$1)`.
fn search(schema: &Schema, scanner: &mut Scanner<'_>, stars: usize) -> Result<Outcome, String> {
    scanner.take().map_err(shown)?;
    let mut reach = None;
    for it in Reach::ALL {
        if scanner.take_word(it.word()).map_err(shown)? {
            reach = Some(it);
            break;
        }
    }
    let Some(reach) = reach else {
        let words: Vec<&str> = Reach::ALL.iter().map(|it| it.word()).collect();
        return Err(shown(scanner.unexpected(&words.join(", "))));
    };
    let text = quoted(scanner, "the name of a base in quotation marks")?;
    let base = schema.resolve_name(&text);
    let base = base.map_err(|error| format!("\"{text}\": {error}"))?;
    if !scanner.take_word("where").map_err(shown)? {
        return Err(shown(scanner.unexpected("where and a filter")));
    }
    let text = scanner.take_filter().map_err(shown)?;
    let wrong = |error: String| format!("where {text}: {error}");
    let filter = Template::read(&text, stars).map_err(wrong)?;
    protocol::parse_filter(&filter.filled(&sample(stars))).map_err(|error| wrong(error.message))?;
    Ok(Outcome::Search {
        base,
        reach,
        filter,
    })
}

/// Captures with which a template is tried. Escaped as all are, they fit nowhere but in values.
fn sample(stars: usize) -> Captures {
    vec![b"1".to_vec(); stars]
}
