//! Reading slapd.conf and `olcAccess`: the access directives of each database.

use protocol::ldif::{LdifReader, LdifRecord};

/// The access directives of a slapd.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Configuration {
    /// The databases with entries of clients, in their order.
    pub(super) databases: Vec<Database>,
    /// The directives about every database, which are asked behind those of each.
    pub(super) everywhere: Vec<Given>,
}

/// A database, or what stands before the first one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Database {
    pub(super) suffixes: Vec<String>,
    pub(super) given: Vec<Given>,
}

/// A line that may have rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    /// The words behind `access`, without quotation marks.
    Directive(Vec<String>),
    /// The name of a file whose text is not here.
    File(String),
}

/// Kinds of databases about the server itself, which has its own entries for them here.
const OWN_DATABASES: [&str; 2] = ["config", "monitor"];

/// The kind of the database that stands for all.
const FRONTEND: &str = "frontend";

/// Returns the access directives of slapd.conf. Directives in front of the first database are about
/// every one, as those of the frontend are.
pub(super) fn of_conf(text: &str) -> Configuration {
    let mut configuration = Configuration::default();
    let (mut kind, mut section) = (FRONTEND.to_owned(), Database::default());
    for line in logical_lines(text) {
        let words = words(&line);
        let first = words.first().map(|it| it.to_ascii_lowercase());
        match (first.as_deref(), words.get(1)) {
            (Some("database"), Some(next)) => {
                configuration.add(&kind, std::mem::take(&mut section));
                kind = without_number(next).to_ascii_lowercase();
            }
            (Some("suffix"), Some(_)) => section.suffixes.extend_from_slice(&words[1..]),
            (Some("access"), Some(_)) => section.given.push(Given::Directive(words[1..].to_vec())),
            (Some("include"), Some(file)) => section.given.push(Given::File(file.clone())),
            _ => (),
        }
    }
    configuration.add(&kind, section);
    configuration
}

/// Returns the access directives of `olcAccess` in the LDIF of cn=config, those of a database in
/// the order of their numbers.
///
/// # Errors
/// What is wrong with the LDIF.
pub(super) fn of_config(ldif: &str) -> Result<Configuration, String> {
    let mut configuration = Configuration::default();
    let mut reader = LdifReader::new(ldif.as_bytes());
    while let Some(record) = reader.next_record() {
        let LdifRecord::Entry { attributes, .. } = record.map_err(|error| error.to_string())?
        else {
            return Err("expected entries, got changes of entries".to_owned());
        };
        let mut numbered = Vec::new();
        let (mut suffixes, mut kind) = (Vec::new(), None);
        for (attribute, value) in &attributes {
            let value = String::from_utf8_lossy(value);
            let plain = without_number(&value);
            match attribute.to_ascii_lowercase().as_str() {
                "olcaccess" => numbered.push((number(&value), words(plain))),
                "olcsuffix" => suffixes.push(plain.to_owned()),
                "olcdatabase" => kind = Some(plain.to_ascii_lowercase()),
                "olcinclude" => numbered.push((i64::MIN, vec![plain.to_owned()])),
                _ => (),
            }
        }
        numbered.sort_by_key(|it| it.0);
        let given = numbered
            .into_iter()
            .map(|(number, mut words)| match number {
                i64::MIN => Given::File(words.swap_remove(0)),
                _ => Given::Directive(words),
            });
        let given: Vec<Given> = given.collect();
        // Other entries than those of databases have directives about every database, if any.
        let kind = kind.as_deref().unwrap_or(FRONTEND);
        configuration.add(kind, Database { suffixes, given });
    }
    Ok(configuration)
}

impl Configuration {
    fn add(&mut self, kind: &str, section: Database) {
        match kind {
            FRONTEND => self.everywhere.extend(section.given),
            own if OWN_DATABASES.contains(&own) => (),
            _ => self.databases.push(section),
        }
    }
}

/// Returns the number in braces before a value, by which its likes are ordered; without one it
/// comes last.
fn number(value: &str) -> i64 {
    let rest = value.strip_prefix('{').and_then(|it| it.split_once('}'));
    let number = rest.and_then(|(number, _)| number.parse().ok());
    number.unwrap_or(i64::MAX)
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
