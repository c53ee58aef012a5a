//! Names and patterns as the model compares them.

use schema::Name;

use crate::access::rules::Reach;

/// Returns whether a name lies where `reach` says, seen from `base`.
pub(super) fn within(reach: Reach, base: &Name, name: &Name) -> bool {
    let above = std::iter::successors(Some(name.clone()), Name::parent);
    let steps = above.into_iter().position(|it| it == *base);
    match (reach, steps) {
        (_, None) => false,
        (Reach::Entry, Some(steps)) => steps == 0,
        (Reach::One, Some(steps)) => steps == 1,
        (Reach::Children, Some(steps)) => steps > 0,
        (Reach::Subtree, Some(_)) => true,
    }
}

/// Returns whether the text of a name fits a pattern, for the names and patterns of the tests.
pub(super) fn fits(pattern: &str, name: &str, captured: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase().replace("$1", captured);
    if let Some(rest) = pattern.strip_prefix("**,") {
        return name == rest || name.ends_with(&format!(",{rest}"));
    }
    let rdns = |text: &str| match text.is_empty() {
        true => Vec::new(),
        false => text.split(',').map(str::to_owned).collect::<Vec<_>>(),
    };
    let (pattern, name) = (rdns(&pattern), rdns(name));
    pattern.len() == name.len()
        && pattern
            .iter()
            .zip(&name)
            .all(|(pattern, rdn)| match pattern.split_once('*') {
                None => pattern == rdn,
                Some((before, after)) => {
                    let middle = rdn.strip_prefix(before);
                    middle.is_some_and(|it| it.ends_with(after))
                }
            })
}
