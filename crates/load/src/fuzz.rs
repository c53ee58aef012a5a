//! Fuzz bodies: for any input bytes nothing panics, and parsed templates and patterns make equal
//! entries and values every time. Each fuzz target calls one of them.

use crate::pattern::{Pattern, Turn};
use crate::template::{Defines, GenerateError, Generator, Template};

/// Number of entries made of a template.
const ENTRIES: u64 = 12;
/// Digits of numbers in a template at most; longer ones ask for more than a fuzzer has time for.
const DIGITS_MAX: usize = 2;

/// Templates: the entries of a range equal those of the whole, and their attributes report the
/// right number of values.
pub fn template(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if names_a_file(text) {
        return;
    }
    let mut defines = Defines::new();
    defines.set("given", "7");
    let Ok(template) = Template::parse(text, &defines) else {
        return;
    };
    let attributes = template.attributes().len();
    let _ = (template.unused_defines().len(), template.branches().count());
    // Replaced names make long numbers of short ones.
    if is_small(text) && !text.to_ascii_lowercase().contains("define") {
        let half = ENTRIES as usize / 2;
        if let Some(whole) = entries(&template, 0, attributes) {
            let rest = entries(&template, half as u64, attributes);
            assert_eq!(rest.as_deref(), Some(whole.get(half..).unwrap_or_default()));
        }
    }
    let _ = template.with_suffix_entries(&[]);
}

/// Returns the entries from one on, if all of them can be made.
fn entries(template: &Template, from: u64, attributes: usize) -> Option<Vec<Vec<u8>>> {
    let mut made = Vec::new();
    let generator = Generator::new(template.clone(), 3);
    let end: Result<(), GenerateError> = generator.generate_range(from, ENTRIES, |entry| {
        let mut text = entry.dn().as_bytes().to_vec();
        assert!(entry.attributes().count() <= attributes);
        for attribute in entry.attributes() {
            let mut count = 0;
            attribute.for_each(|value| {
                count += 1;
                text.push(b'\n');
                text.extend_from_slice(value);
            });
            assert_eq!(count, attribute.value_count());
        }
        made.push(text);
        Ok(())
    });
    end.is_ok().then_some(made)
}

/// Value patterns: a text without brackets is its own value.
pub fn pattern(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if names_a_file(text) {
        return;
    }
    let Ok(pattern) = Pattern::parse(text) else {
        return;
    };
    let _ = pattern.sequence_length();
    if !is_small(text) {
        return;
    }
    let mut turn = Turn::new(5);
    for _ in 0..3 {
        let mut value = Vec::new();
        turn.begin();
        pattern.write(&mut value, &mut turn);
        if !text.contains(['[', ']']) {
            assert_eq!(value, text.as_bytes());
        }
    }
}

/// Returns whether a text may read files, which a fuzzer must not.
fn names_a_file(text: &str) -> bool {
    text.to_ascii_lowercase().contains("file")
}

fn is_small(text: &str) -> bool {
    let mut numbers = text.split(|it: char| !it.is_ascii_digit());
    numbers.all(|it| it.len() <= DIGITS_MAX)
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

    #[test]
    fn the_corpus_of_templates() {
        run("template", super::template);
    }

    #[test]
    fn the_corpus_of_patterns() {
        run("pattern", super::pattern);
    }
}
