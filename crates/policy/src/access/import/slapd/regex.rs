//! Regular expressions over names, as slapd's rules have them, as patterns of names.
//!
//! Only expressions over whole RDNs have a pattern: `^uid=[^,]+,ou=people,dc=example,dc=com$`,
//! `^(.+,)?ou=([^,]+),dc=example,dc=com$`.

/// A pattern of names that means the same as a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// For each group in parentheses, the number of its star from 1; 0 if it has none.
    pub(super) groups: Vec<usize>,
}

/// Prefixes that stand for any number of RDNs; each is a group. `.+,` is none of them: it asks for
/// at least one RDN.
const OPEN: [&str; 4] = ["(.+,)?", "(.*,)?", "(.*,)*", "(.+,)*"];

/// Parts that stand for the text of one value, and whether they are a group.
const STARS: [(&str, bool); 4] = [
    ("([^,]+)", true),
    ("([^,]*)", true),
    ("[^,]+", false),
    ("[^,]*", false),
];

/// Translates an expression; `$N` of subjects becomes what `groups` has for it. `None` if it has no
/// pattern.
pub(super) fn pattern(expression: &str, groups: &[usize]) -> Option<Translated> {
    let anchored = expression.strip_prefix('^');
    let mut rest = anchored.unwrap_or(expression).strip_suffix('$')?;
    let mut translated = Translated {
        pattern: String::new(),
        groups: Vec::new(),
    };
    match OPEN.iter().find(|it| rest.starts_with(**it)) {
        Some(prefix) => {
            translated.groups.push(0);
            translated.pattern += "**,";
            rest = &rest[prefix.len()..];
        }
        None if anchored.is_none() => return None,
        None => (),
    }
    let mut stars = 0;
    while let Some(first) = rest.chars().next() {
        if let Some((star, group)) = STARS.iter().find(|it| rest.starts_with(it.0)) {
            stars += 1;
            if *group {
                translated.groups.push(stars);
            }
            translated.pattern.push('*');
            rest = &rest[star.len()..];
            continue;
        }
        if first == '$' {
            let digits = rest[1..].chars().take_while(char::is_ascii_digit).count();
            translated.pattern += &capture(&rest[1..=digits], groups)?;
            rest = &rest[digits + 1..];
            continue;
        }
        let literal = first.is_alphanumeric() || matches!(first, '=' | ',' | ' ' | '-' | '_');
        if !literal {
            return None;
        }
        translated.pattern.push(first);
        rest = &rest[first.len_utf8()..];
    }
    Some(translated)
}

/// Replaces `$N` in the name of a subject by the number of the star; `None` if one has no star.
pub(super) fn expanded(name: &str, groups: &[usize]) -> Option<String> {
    let mut parts = name.split('$');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_digit).count();
        text += &capture(&part[..digits], groups)?;
        text += &part[digits..];
    }
    (!text.contains('*')).then_some(text)
}

fn capture(digits: &str, groups: &[usize]) -> Option<String> {
    let group: usize = digits.trim_matches(['{', '}']).parse().ok()?;
    let star = *groups.get(group.checked_sub(1)?)?;
    (star > 0).then(|| format!("${star}"))
}
