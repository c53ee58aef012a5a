//! Fuzz bodies for parsers of text: for any input bytes nothing panics, and a parsed value prints
//! to text that parses to an equal value. Each fuzz target calls one of them.

use crate::ber::Reader;
use crate::filter::{FILTER_DEPTH_MAX, Filter};
use crate::filter_text::parse_filter;
use crate::ldif::{
    LdifReader, LdifScratch, LdifWriter, last_boundary, parse_record, split_records,
};
use crate::name::{Name, parse_name};
use crate::url::LdapUrl;

/// Distinguished names.
pub fn name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(name) = parse_name(text) else { return };
    let printed = name.to_string();
    let again = parse_name(&printed).expect("a printed name parses");
    assert_eq!(
        values(&name),
        values(&again),
        "{text:?} printed as {printed:?}"
    );
    let spelled: Vec<_> = name.rdns.iter().map(|rdn| rdn.spelled).collect();
    let joined = spelled.join(",");
    let again = parse_name(&joined).expect("spelled RDNs make a name");
    assert_eq!(
        values(&name),
        values(&again),
        "{text:?} spelled as {joined:?}"
    );
}

fn values<'n>(name: &'n Name<'_>) -> Vec<Vec<(&'n str, &'n [u8])>> {
    let pairs = |rdn: &'n crate::name::Rdn<'_>| {
        rdn.values
            .iter()
            .map(|it| (it.attribute, &*it.value))
            .collect()
    };
    name.rdns.iter().map(pairs).collect()
}

/// Filters.
pub fn filter(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(ber) = parse_filter(text) else { return };
    let mut reader = Reader::new(&ber);
    let filter = Filter::decode(&mut reader, FILTER_DEPTH_MAX).expect("a parsed filter decodes");
    reader.finish().expect("a parsed filter is one element");
    let printed = filter.to_string();
    let again = parse_filter(&printed).expect("a printed filter parses");
    assert_eq!(ber, again, "{text:?} printed as {printed:?}");
}

/// LDAP URLs.
pub fn url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(url) = LdapUrl::parse(text) else {
        return;
    };
    let printed = url.to_string();
    let again = LdapUrl::parse(&printed).expect("a printed URL parses");
    assert_eq!(url, again, "{text:?} printed as {printed:?}");
}

/// LDIF: reading a stream in small pieces gives the records that reading slices gives, and every
/// record is unchanged after printing and parsing, folded or not.
pub fn ldif(bytes: &[u8]) {
    let whole = outcomes(bytes, 1);
    // A small buffer makes lines, line ends and blank lines come in parts.
    let mut reader = LdifReader::new(std::io::BufReader::with_capacity(7, bytes));
    let mut streamed = Vec::new();
    while let Some(record) = reader.next_record() {
        streamed.push(
            record
                .map(|record| printed(&record, 0))
                .map_err(|error| error.to_string()),
        );
    }
    assert_eq!(whole, streamed, "streamed");
    let (head, tail) = bytes.split_at(last_boundary(bytes).unwrap_or(0));
    let lines = head.iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut parts = outcomes(head, 1);
    parts.extend(outcomes(tail, 1 + lines));
    assert_eq!(whole, parts, "cut in two");
    for record in whole.iter().flatten() {
        assert_eq!(outcomes(record, 1), [Ok(record.clone())], "printed");
    }
}

/// Each record as printed without folding, or its error.
fn outcomes(text: &[u8], first_line: u64) -> Vec<Result<Vec<u8>, String>> {
    let mut scratch = LdifScratch::new();
    let mut outcomes = Vec::new();
    for part in split_records(text, first_line) {
        let record = parse_record(part.text, part.line, &mut scratch);
        if let Ok(record) = &record {
            let mut again = LdifScratch::new();
            for columns in [2, 9, 76] {
                let folded = printed(record, columns);
                let parsed = parse_record(&folded, 1, &mut again).expect("a printed record parses");
                assert_eq!(record, &parsed, "folded at {columns}");
            }
        }
        outcomes.push(
            record
                .map(|it| printed(&it, 0))
                .map_err(|error| error.to_string()),
        );
    }
    outcomes
}

fn printed(record: &crate::ldif::LdifRecord<'_>, columns: usize) -> Vec<u8> {
    let mut out = Vec::new();
    LdifWriter::new(columns).put_record(&mut out, record);
    out
}

#[cfg(test)]
mod tests;
