//! Certificates as people read them.

use policy::mapping::certificate::CertificateNames;
use schema::Schema;

/// A DN whose attribute types are OIDs, with short names for those of the standard schema.
pub fn readable(dn: &str) -> String {
    let schema = Schema::standard();
    let mut text = String::with_capacity(dn.len());
    let (mut rest, mut is_type) = (dn, true);
    while !rest.is_empty() {
        if is_type && let Some((oid, value)) = rest.split_once('=') {
            let found = schema.attribute_type(oid);
            let name = found.map(|it| schema.type_of(it).name().to_owned());
            text.push_str(name.as_deref().unwrap_or(oid));
            text.push('=');
            (rest, is_type) = (value, false);
            continue;
        }
        let mut signs = rest.chars();
        let taken = match signs.next() {
            Some('\\') => signs.next().map_or(1, |it| 1 + it.len_utf8()),
            Some(sign) => {
                is_type = matches!(sign, ',' | '+');
                sign.len_utf8()
            }
            None => break,
        };
        text.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    text
}

/// A moment `YYYYMMDDhhmmss` as `YYYY-MM-DD hh:mm:ss UTC`.
pub fn moment(text: &str) -> String {
    match text.len() >= 14 && text.is_ascii() {
        true => format!(
            "{}-{}-{} {}:{}:{} UTC",
            &text[..4],
            &text[4..6],
            &text[6..8],
            &text[8..10],
            &text[10..12],
            &text[12..14]
        ),
        false => text.to_owned(),
    }
}

/// A text of the server's without signs that control a terminal or begin a line.
pub fn plain(text: &str) -> String {
    let shown = |it: char| if it.is_control() { '?' } else { it };
    text.chars().map(shown).collect()
}

/// Names of hosts that a certificate is for, or what it has instead.
pub fn hosts(names: &CertificateNames) -> String {
    match names.dns.is_empty() {
        true => "none of a host".to_owned(),
        false => names.dns.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable() {
        let dn = "2.5.4.3=A\\, 2.5.4.10=x+2.5.4.11=y,1.2.3.4=z";
        assert_eq!(readable(dn), "cn=A\\, 2.5.4.10=x+ou=y,1.2.3.4=z");
        assert_eq!(readable(""), "");
        assert_eq!(plain("a\u{1b}[2J\nb"), "a?[2J?b");
        assert_eq!(moment("20260131235958"), "2026-01-31 23:59:58 UTC");
    }
}
