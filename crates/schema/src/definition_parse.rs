//! Parser of the descriptions of RFC 4512 §4.1.
//!
//! Lenient as deployed servers are: fields in any order, quoted OIDs, bare words instead of quoted
//! strings, lists without `$`, line ends as white space, OIDs that are names or `macro:suffix`.
//! Strict about all else: an unknown or repeated field is an error.

use protocol::TextError;

use crate::definition::*;

/// Parses one description of the given kind.
///
/// # Errors
/// Position and reason, when the text is not such a description.
pub fn parse_definition(kind: DefinitionKind, text: &str) -> Result<Definition, TextError> {
    let mut fields = Fields::read(text)?;
    let definition = match kind {
        DefinitionKind::AttributeType => Definition::AttributeType(attribute_type(&mut fields)?),
        DefinitionKind::ObjectClass => Definition::ObjectClass(object_class(&mut fields)?),
        DefinitionKind::Syntax => Definition::Syntax(syntax(&mut fields)?),
        DefinitionKind::MatchingRule => Definition::MatchingRule(MatchingRuleDefinition {
            oid: fields.oid()?,
            names: fields.names()?,
            description: fields.one("DESC")?,
            obsolete: fields.flag("OBSOLETE"),
            syntax: fields.required("SYNTAX")?,
            extensions: fields.extensions(),
        }),
        DefinitionKind::MatchingRuleUse => Definition::MatchingRuleUse(MatchingRuleUseDefinition {
            oid: fields.oid()?,
            names: fields.names()?,
            description: fields.one("DESC")?,
            obsolete: fields.flag("OBSOLETE"),
            applies: fields.many("APPLIES"),
            extensions: fields.extensions(),
        }),
        DefinitionKind::ContentRule => Definition::ContentRule(ContentRuleDefinition {
            oid: fields.oid()?,
            names: fields.names()?,
            description: fields.one("DESC")?,
            obsolete: fields.flag("OBSOLETE"),
            auxiliaries: fields.many("AUX"),
            must: fields.many("MUST"),
            may: fields.many("MAY"),
            not: fields.many("NOT"),
            extensions: fields.extensions(),
        }),
        DefinitionKind::NameForm => Definition::NameForm(NameFormDefinition {
            oid: fields.oid()?,
            names: fields.names()?,
            description: fields.one("DESC")?,
            obsolete: fields.flag("OBSOLETE"),
            class: fields.required("OC")?,
            must: fields.many("MUST"),
            may: fields.many("MAY"),
            extensions: fields.extensions(),
        }),
        DefinitionKind::StructureRule => Definition::StructureRule(structure_rule(&mut fields)?),
    };
    fields.finish()?;
    Ok(definition)
}

fn syntax(fields: &mut Fields<'_>) -> Result<SyntaxDefinition, TextError> {
    // RFC 4512 gives syntaxes no names, but OpenLDAP's pmi.schema does. No definition refers to
    // them.
    fields.names()?;
    Ok(SyntaxDefinition {
        oid: fields.oid()?,
        description: fields.one("DESC")?,
        extensions: fields.extensions(),
    })
}

fn attribute_type(fields: &mut Fields<'_>) -> Result<AttributeTypeDefinition, TextError> {
    let usage_at = fields.at("USAGE");
    let usage = match fields.one("USAGE")? {
        None => Usage::default(),
        Some(word) => [
            Usage::UserApplications,
            Usage::DirectoryOperation,
            Usage::DistributedOperation,
            Usage::DsaOperation,
        ]
        .into_iter()
        .find(|usage| usage.keyword().eq_ignore_ascii_case(&word))
        .ok_or_else(|| TextError::new(usage_at, format!("unknown usage {word:?}")))?,
    };
    let syntax_at = fields.at("SYNTAX");
    let (syntax, length) = match fields.one("SYNTAX")? {
        None => (None, None),
        Some(text) => split_length(&text, syntax_at)?,
    };
    Ok(AttributeTypeDefinition {
        oid: fields.oid()?,
        names: fields.names()?,
        description: fields.one("DESC")?,
        obsolete: fields.flag("OBSOLETE"),
        superior: fields.one("SUP")?,
        equality: fields.one("EQUALITY")?,
        ordering: fields.one("ORDERING")?,
        substring: fields.one("SUBSTR")?,
        syntax,
        length,
        single_value: fields.flag("SINGLE-VALUE"),
        collective: fields.flag("COLLECTIVE"),
        no_user_modification: fields.flag("NO-USER-MODIFICATION"),
        usage,
        extensions: fields.extensions(),
    })
}

fn object_class(fields: &mut Fields<'_>) -> Result<ObjectClassDefinition, TextError> {
    let mut kind = None;
    for given in [
        ClassKind::Abstract,
        ClassKind::Structural,
        ClassKind::Auxiliary,
    ] {
        let at = fields.at(given.keyword());
        if fields.flag(given.keyword()) && kind.replace(given).is_some() {
            return Err(TextError::new(
                at,
                "expected one kind of object class, got two",
            ));
        }
    }
    Ok(ObjectClassDefinition {
        oid: fields.oid()?,
        names: fields.names()?,
        description: fields.one("DESC")?,
        obsolete: fields.flag("OBSOLETE"),
        superiors: fields.many("SUP"),
        kind: kind.unwrap_or_default(),
        must: fields.many("MUST"),
        may: fields.many("MAY"),
        extensions: fields.extensions(),
    })
}

fn structure_rule(fields: &mut Fields<'_>) -> Result<StructureRuleDefinition, TextError> {
    let rule_id = |text: &str, at: usize| {
        text.parse::<u32>()
            .map_err(|_| TextError::new(at, format!("expected a rule id, got {text:?}")))
    };
    let superiors_at = fields.at("SUP");
    let superiors = fields.many("SUP");
    Ok(StructureRuleDefinition {
        rule_id: rule_id(&fields.identifier, fields.identifier_at)?,
        names: fields.names()?,
        description: fields.one("DESC")?,
        obsolete: fields.flag("OBSOLETE"),
        form: fields.required("FORM")?,
        superiors: superiors
            .iter()
            .map(|text| rule_id(text, superiors_at))
            .collect::<Result<_, _>>()?,
        extensions: fields.extensions(),
    })
}

/// Splits `1.2.3{64}` into the OID and 64.
fn split_length(text: &str, at: usize) -> Result<(Option<String>, Option<u32>), TextError> {
    let Some((oid, rest)) = text.split_once('{') else {
        return Ok((Some(text.to_string()), None));
    };
    let length = rest
        .strip_suffix('}')
        .and_then(|digits| digits.parse().ok());
    match length {
        Some(length) => Ok((Some(oid.to_string()), Some(length))),
        None => Err(TextError::new(
            at,
            format!("expected OID{{length}}, got {text:?}"),
        )),
    }
}

/// Returns whether a text can be an attribute or class name: a letter, then letters, digits, `-`;
/// also `_` and `.`, which existing schemas use against RFC 4512 §1.4.
pub(crate) fn is_descriptor(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Returns whether a text is a `numericoid` (RFC 4512 §1.4); leading zeros are accepted.
pub(crate) fn is_numeric_oid(text: &str) -> bool {
    text.contains('.')
        && text
            .split('.')
            .all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()))
}

/// Keywords without a value.
const FLAGS: [&str; 7] = [
    "OBSOLETE",
    "SINGLE-VALUE",
    "COLLECTIVE",
    "NO-USER-MODIFICATION",
    "ABSTRACT",
    "STRUCTURAL",
    "AUXILIARY",
];

struct Field<'a> {
    keyword: &'a str,
    at: usize,
    values: Vec<String>,
}

/// The fields of a description; the parser of each kind takes out the fields that it knows.
struct Fields<'a> {
    identifier: String,
    identifier_at: usize,
    fields: Vec<Field<'a>>,
}

impl<'a> Fields<'a> {
    fn read(text: &'a str) -> Result<Fields<'a>, TextError> {
        let mut tokens = Tokens { text, at: 0 };
        match tokens.next()? {
            Some((_, Token::Open)) => {}
            _ => return Err(TextError::new(0, "expected ( before a description")),
        }
        let (identifier_at, identifier) = tokens.word("an OID")?;
        let mut fields: Vec<Field<'a>> = Vec::with_capacity(8);
        loop {
            let (at, token) = tokens.expect("a field or )")?;
            let keyword = match token {
                Token::Close => break,
                Token::Word(keyword) => keyword,
                _ => return Err(TextError::new(at, "expected a field or )")),
            };
            if fields
                .iter()
                .any(|field| field.keyword.eq_ignore_ascii_case(keyword))
            {
                return Err(TextError::new(
                    at,
                    format!("field {keyword} is given twice"),
                ));
            }
            let alone = FLAGS.iter().any(|flag| flag.eq_ignore_ascii_case(keyword));
            let values = if alone { Vec::new() } else { tokens.values()? };
            let odd = values.iter().find(|it| !is_word(it));
            if let Some(odd) = odd.filter(|_| !holds_text(keyword)) {
                let message = format!("expected a name or an OID after {keyword}, got {odd:?}");
                return Err(TextError::new(at, message));
            }
            fields.push(Field {
                keyword,
                at,
                values,
            });
        }
        match tokens.next()? {
            None => Ok(Fields {
                identifier,
                identifier_at,
                fields,
            }),
            Some((at, _)) => Err(TextError::new(at, "expected nothing after the last )")),
        }
    }

    fn take(&mut self, keyword: &str) -> Option<Field<'a>> {
        let index = self
            .fields
            .iter()
            .position(|field| field.keyword.eq_ignore_ascii_case(keyword))?;
        Some(self.fields.remove(index))
    }

    fn at(&self, keyword: &str) -> usize {
        let found = self
            .fields
            .iter()
            .find(|field| field.keyword.eq_ignore_ascii_case(keyword));
        found.map_or(0, |field| field.at)
    }

    fn flag(&mut self, keyword: &str) -> bool {
        self.take(keyword).is_some()
    }

    fn many(&mut self, keyword: &str) -> Vec<String> {
        self.take(keyword)
            .map_or_else(Vec::new, |field| field.values)
    }

    fn one(&mut self, keyword: &str) -> Result<Option<String>, TextError> {
        let Some(mut field) = self.take(keyword) else {
            return Ok(None);
        };
        match field.values.len() {
            1 => Ok(field.values.pop()),
            n => Err(TextError::new(
                field.at,
                format!("expected one {keyword}, got {n}"),
            )),
        }
    }

    fn required(&mut self, keyword: &str) -> Result<String, TextError> {
        self.one(keyword)?
            .ok_or_else(|| TextError::new(0, format!("{keyword} is missing")))
    }

    fn names(&mut self) -> Result<Vec<String>, TextError> {
        let Some(field) = self.take("NAME") else {
            return Ok(Vec::new());
        };
        match field.values.iter().find(|name| !is_descriptor(name)) {
            None => Ok(field.values),
            Some(name) => Err(TextError::new(
                field.at,
                format!("{name:?} cannot be a name"),
            )),
        }
    }

    fn oid(&mut self) -> Result<String, TextError> {
        let text = &self.identifier;
        let (name, suffix) = text.split_once(':').unwrap_or((text, "0.0"));
        let suffix_fits = is_numeric_oid(suffix) || suffix.bytes().all(|b| b.is_ascii_digit());
        if is_numeric_oid(text) || (is_descriptor(name) && suffix_fits && !suffix.is_empty()) {
            return Ok(text.clone());
        }
        Err(TextError::new(
            self.identifier_at,
            format!("expected an OID, got {text:?}"),
        ))
    }

    fn extensions(&mut self) -> Extensions {
        let (extensions, rest) = std::mem::take(&mut self.fields)
            .into_iter()
            .partition(|field| is_extension(field.keyword));
        self.fields = rest;
        let extensions: Vec<Field<'a>> = extensions;
        extensions
            .into_iter()
            .map(|field| (field.keyword.to_string(), field.values))
            .collect()
    }

    fn finish(&self) -> Result<(), TextError> {
        match self.fields.first() {
            None => Ok(()),
            Some(field) => Err(TextError::new(
                field.at,
                format!("field {} is not known here", field.keyword),
            )),
        }
    }
}

enum Token<'a> {
    Open,
    Close,
    Dollar,
    Word(&'a str),
    Quoted(&'a str),
}

struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// Returns the next token with its position.
    fn next(&mut self) -> Result<Option<(usize, Token<'a>)>, TextError> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let start = self.at;
        let Some(&first) = bytes.get(start) else {
            return Ok(None);
        };
        self.at += 1;
        let token = match first {
            b'(' => Token::Open,
            b')' => Token::Close,
            b'$' => Token::Dollar,
            b'\'' => {
                let rest = &self.text[self.at..];
                let Some(length) = rest.find('\'') else {
                    return Err(TextError::new(start, "quoted string does not end"));
                };
                self.at += length + 1;
                Token::Quoted(&rest[..length])
            }
            _ => {
                let length = bytes[self.at..].iter().position(ends_word);
                self.at = length.map_or(bytes.len(), |length| self.at + length);
                Token::Word(&self.text[start..self.at])
            }
        };
        Ok(Some((start, token)))
    }

    fn expect(&mut self, what: &str) -> Result<(usize, Token<'a>), TextError> {
        self.next()?.ok_or_else(|| {
            TextError::new(
                self.text.len(),
                format!("expected {what}, got the end of the text"),
            )
        })
    }

    fn word(&mut self, what: &str) -> Result<(usize, String), TextError> {
        match self.expect(what)? {
            (at, Token::Word(text)) => Ok((at, text.to_string())),
            (at, Token::Quoted(text)) => Ok((at, unescape(text))),
            (at, _) => Err(TextError::new(at, format!("expected {what}"))),
        }
    }

    /// Reads one value, or several in parentheses, with or without `$` between them.
    fn values(&mut self) -> Result<Vec<String>, TextError> {
        match self.expect("a value")? {
            (_, Token::Word(text)) => return Ok(vec![text.to_string()]),
            (_, Token::Quoted(text)) => return Ok(vec![unescape(text)]),
            (_, Token::Open) => {}
            (at, _) => return Err(TextError::new(at, "expected a value")),
        }
        let mut values = Vec::new();
        loop {
            match self.expect("a value or )")? {
                (_, Token::Close) => return Ok(values),
                (_, Token::Dollar) => {}
                (_, Token::Word(text)) => values.push(text.to_string()),
                (_, Token::Quoted(text)) => values.push(unescape(text)),
                (at, Token::Open) => return Err(TextError::new(at, "expected a value or )")),
            }
        }
    }
}

fn ends_word(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b'$' | b'\'')
}

/// Returns whether a value, perhaps quoted in the text, can be printed as a word.
fn is_word(value: &str) -> bool {
    !value.is_empty() && !value.as_bytes().iter().any(ends_word)
}

/// Returns whether values of a field are more than a word: descriptions, extensions, and names,
/// which have a rule of their own.
fn holds_text(keyword: &str) -> bool {
    ["DESC", "NAME"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(keyword))
        || is_extension(keyword)
}

fn is_extension(keyword: &str) -> bool {
    let start = keyword.get(..2);
    start.is_some_and(|it| it.eq_ignore_ascii_case("X-"))
}

/// Decodes `\27` and `\5C` (RFC 4512 §4.1 `dstring`); other backslashes stay.
fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (character, used) = match rest.get(at + 1..at + 3) {
            Some("27") => ('\'', 3),
            Some("5C" | "5c") => ('\\', 3),
            _ => ('\\', 1),
        };
        out.push(character);
        rest = &rest[at + used..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
