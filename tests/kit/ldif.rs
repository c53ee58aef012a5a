//! A simple reader and writer of LDIF, to compare the output of two programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Entry;

/// Parses LDIF content records into entries; change records are not supported.
pub fn parse(text: &str) -> Vec<Entry> {
    let unfolded = text.replace("\r\n", "\n").replace("\n ", "");
    let mut entries = Vec::new();
    for record in unfolded.split("\n\n") {
        let mut entry = Entry {
            name: String::new(),
            attributes: Vec::new(),
        };
        let mut named = false;
        for line in record
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (attribute, value) = split(line);
            match attribute.as_str() {
                "dn" => {
                    entry.name = String::from_utf8(value).expect("a DN is UTF-8");
                    named = true;
                }
                "version" if !named => {}
                _ => entry.push(&attribute, value),
            }
        }
        if named {
            entries.push(entry);
        }
    }
    entries
}

fn split(line: &str) -> (String, Vec<u8>) {
    let (attribute, rest) = line
        .split_once(':')
        .unwrap_or_else(|| panic!("not a line of LDIF: {line:?}"));
    let value = match rest.strip_prefix(':') {
        Some(encoded) => decode_base64(encoded.trim()),
        None => rest.trim_start_matches(' ').as_bytes().to_vec(),
    };
    (attribute.to_owned(), value)
}

/// Prints one entry as LDIF; values that are not plain text are in base64.
pub fn print(entry: &Entry) -> String {
    let mut out = String::new();
    print_line(&mut out, "dn", entry.name.as_bytes());
    for (attribute, values) in &entry.attributes {
        for value in values {
            print_line(&mut out, attribute, value);
        }
    }
    out.push('\n');
    out
}

fn print_line(out: &mut String, attribute: &str, value: &[u8]) {
    let plain = value.iter().all(|byte| (0x20..0x7F).contains(byte))
        && !value.starts_with(b" ")
        && !value.starts_with(b":")
        && !value.starts_with(b"<")
        && !value.ends_with(b" ");
    let written = if plain {
        writeln!(out, "{attribute}: {}", String::from_utf8_lossy(value))
    } else {
        writeln!(out, "{attribute}:: {}", encode_base64(value))
    };
    written.expect("writing to a string cannot fail");
}

/// Sorts entries, attributes and values, to compare servers.
pub fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    for entry in &mut entries {
        entry.name = entry.name.to_lowercase();
        for (_, values) in &mut entry.attributes {
            values.sort();
        }
        entry.attributes.sort();
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

/// Attributes and values of entries, in no particular order: lower-case DN → lower-case attribute →
/// sorted values.
pub type Content = BTreeMap<String, BTreeMap<String, Vec<Vec<u8>>>>;

/// Returns the content of `entries`, user attributes only.
pub fn content(entries: &[Entry]) -> Content {
    let mut content = Content::new();
    for entry in entries {
        let attributes = content.entry(entry.name.to_lowercase()).or_default();
        for (attribute, values) in &entry.attributes {
            if is_operational(attribute) {
                continue;
            }
            let all: &mut Vec<Vec<u8>> = attributes.entry(attribute.to_lowercase()).or_default();
            all.extend(values.iter().cloned());
            all.sort();
        }
    }
    content
}

/// Attributes that a server maintains itself.
fn is_operational(attribute: &str) -> bool {
    const OPERATIONAL: &[&str] = &[
        "structuralObjectClass",
        "entryUUID",
        "entryCSN",
        "entryDN",
        "creatorsName",
        "createTimestamp",
        "modifiersName",
        "modifyTimestamp",
        "pwdChangedTime",
        "subschemaSubentry",
        "hasSubordinates",
        "numSubordinates",
    ];
    OPERATIONAL
        .iter()
        .any(|name| name.eq_ignore_ascii_case(attribute))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes `bytes` in base64, with padding.
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte))
            << (8 * (3 - group.len()));
        for digit in 0..4 {
            if digit <= group.len() {
                let index = (number >> (18 - 6 * digit)) & 63;
                out.push(char::from(ALPHABET[index as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// Decodes base64; panics on any other text.
pub fn decode_base64(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in text.trim_end_matches('=').bytes() {
        let digit = ALPHABET
            .iter()
            .position(|known| *known == byte)
            .expect("a base64 digit");
        bits = (bits << 6) | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses_the_same() {
        let mut entry = Entry {
            name: "cn=Ünal,dc=example".to_owned(),
            attributes: Vec::new(),
        };
        for length in 0..7 {
            entry.push("photo", (0..length).map(|byte| byte * 41).collect());
        }
        entry.push("cn", b"plain".to_vec());
        entry.push("description", b" leading space".to_vec());
        let parsed = parse(&print(&entry));
        assert_eq!(content(&parsed), content(&[entry]));
    }
}
