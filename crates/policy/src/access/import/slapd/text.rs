//! Reading slapd.conf and `olcAccess`: the access directives, each with the suffix of its database.

use protocol::ldif::{LdifReader, LdifRecord};

/// An access directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directive {
    /// Suffixes of its database; empty for directives about every database.
    pub(super) suffixes: Vec<String>,
    /// The words behind `access`, without quotation marks.
    pub(super) words: Vec<String>,
}

/// Databases whose rules are about the server itself, which has its own here.
const OWN_DATABASES: [&str; 3] = ["config", "monitor", "frontend"];

/// Returns the access directives of slapd.conf: those of databases first, as slapd asks them.
pub(super) fn of_conf(text: &str) -> Vec<Directive> {
    let (mut sections, mut own) = (vec![Section::default()], false);
    for line in logical_lines(text) {
        let words = words(&line);
        let first = words.first().map(|it| it.to_ascii_lowercase());
        let last = sections.last_mut().expect("begun with one");
        match (first.as_deref(), words.get(1)) {
            (Some("database"), Some(kind)) => {
                own = OWN_DATABASES[..2].contains(&kind.as_str());
                sections.push(Section::default());
            }
            (Some("suffix"), Some(_)) => last.suffixes.extend_from_slice(&words[1..]),
            (Some("access"), Some(_)) if !own => last.directives.push(words[1..].to_vec()),
            _ => (),
        }
    }
    sections.rotate_left(1);
    sections.into_iter().flat_map(Section::directives).collect()
}

/// Returns the access directives of `olcAccess` in the LDIF of cn=config.
///
/// # Errors
/// What is wrong with the LDIF.
pub(super) fn of_config(ldif: &str) -> Result<Vec<Directive>, String> {
    let (mut databases, mut everywhere) = (Vec::new(), Vec::new());
    let mut reader = LdifReader::new(ldif.as_bytes());
    while let Some(record) = reader.next_record() {
        let LdifRecord::Entry { attributes, .. } = record.map_err(|error| error.to_string())?
        else {
            return Err("expected entries, got changes of entries".to_owned());
        };
        let mut section = Section::default();
        let mut database = String::new();
        for (attribute, value) in &attributes {
            let value = String::from_utf8_lossy(value);
            let value = without_number(&value);
            match attribute.to_ascii_lowercase().as_str() {
                "olcaccess" => section.directives.push(words(value)),
                "olcsuffix" => section.suffixes.push(value.to_owned()),
                "olcdatabase" => database = value.to_ascii_lowercase(),
                _ => (),
            }
        }
        match database.as_str() {
            "frontend" => everywhere.extend(section.directives()),
            other if OWN_DATABASES.contains(&other) => (),
            _ => databases.extend(section.directives()),
        }
    }
    databases.extend(everywhere);
    Ok(databases)
}

/// A database, or what stands before the first one.
#[derive(Default)]
struct Section {
    suffixes: Vec<String>,
    directives: Vec<Vec<String>>,
}

impl Section {
    fn directives(self) -> impl Iterator<Item = Directive> {
        let suffixes = self.suffixes;
        self.directives.into_iter().map(move |words| Directive {
            suffixes: suffixes.clone(),
            words,
        })
    }
}

/// Returns a value without the number in braces that orders it.
fn without_number(value: &str) -> &str {
    let rest = value.strip_prefix('{').and_then(|it| it.split_once('}'));
    rest.map_or(value, |(_, rest)| rest)
}

/// Lines without comments; one that begins with a blank goes on with the line before.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.retain(|it| !it.starts_with('#') && !it.trim().is_empty());
    lines
}

/// Splits at blanks outside quotation marks, which are taken away. A backslash takes the next
/// character with it, and stays unless it precedes a quotation mark.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut begun, mut quoted) = (Vec::new(), String::new(), false, false);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => (quoted, begun) = (!quoted, true),
            '\\' => {
                let next = characters.next();
                if next != Some('"') {
                    word.push('\\');
                }
                word.extend(next);
                begun = true;
            }
            blank if blank.is_whitespace() && !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            other => {
                word.push(other);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}
