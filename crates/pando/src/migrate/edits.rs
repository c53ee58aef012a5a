//! Computes changes between two sets of attributes, with as few values as possible.

use super::here::Edit;
use super::selection::Attributes;
use policy::password;
use protocol::ChangeOperation;
use std::sync::Arc;

/// Number of values from which on single values are changed instead of replacing all.
const VALUES_MANY: usize = 16;

/// The changes that make `has` equal to `wanted`.
pub fn edits(has: &Attributes, wanted: &Attributes) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (name, values) in wanted {
        match has.get(name) {
            Some(own) if own == values || same_passwords(name, own, values) => {}
            Some(own) if own.len() >= VALUES_MANY && values.len() >= VALUES_MANY => {
                single_values(&mut edits, name, own, values);
            }
            _ => edits.push((ChangeOperation::Replace, Arc::clone(name), values.clone())),
        }
    }
    for name in has.keys().filter(|name| !wanted.contains_key(*name)) {
        edits.push((ChangeOperation::Replace, Arc::clone(name), Vec::new()));
    }
    edits
}

/// Adds the values to delete and to add; both lists are sorted.
fn single_values(edits: &mut Vec<Edit>, name: &Arc<str>, own: &[Vec<u8>], wanted: &[Vec<u8>]) {
    let without = |these: &[Vec<u8>], others: &[Vec<u8>]| -> Vec<Vec<u8>> {
        let missing = |it: &&Vec<u8>| others.binary_search(it).is_err();
        these.iter().filter(missing).cloned().collect()
    };
    let both = [
        (ChangeOperation::Delete, without(own, wanted)),
        (ChangeOperation::Add, without(wanted, own)),
    ];
    for (operation, values) in both {
        if !values.is_empty() {
            edits.push((operation, Arc::clone(name), values));
        }
    }
}

/// Whether the passwords are equal, even if the node has hashed a clear-text one.
pub fn same_passwords(name: &str, own: &[Vec<u8>], wanted: &[Vec<u8>]) -> bool {
    let same = |value: &Vec<u8>| {
        own.contains(value)
            || (!password::is_hashed(value) && own.iter().any(|it| password::verify(it, value)))
    };
    name == "userPassword" && own.len() == wanted.len() && wanted.iter().all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::selection::attributes;

    #[test]
    fn only_what_differs_is_changed() {
        let has = attributes(&[("cn", &["a"]), ("mail", &["x", "y"]), ("sn", &["s"])]);
        let wanted = attributes(&[("cn", &["a"]), ("mail", &["x"]), ("title", &["t"])]);
        let edits = edits(&has, &wanted);
        let names: Vec<(&str, usize)> = edits.iter().map(|it| (&*it.1, it.2.len())).collect();
        assert_eq!(names, [("mail", 1), ("title", 1), ("sn", 0)]);
    }

    #[test]
    fn large_attributes_change_by_value() {
        let many: Vec<String> = (10..40).map(|it| it.to_string()).collect();
        let mut all: Vec<&str> = many.iter().map(String::as_str).collect();
        let has = attributes(&[("member", &all)]);
        all.remove(3);
        all.push("99");
        let edits = edits(&has, &attributes(&[("member", &all)]));
        let said: Vec<_> = edits.iter().map(|it| (it.0, it.2.len())).collect();
        assert_eq!(
            said,
            [(ChangeOperation::Delete, 1), (ChangeOperation::Add, 1)]
        );
    }
}
