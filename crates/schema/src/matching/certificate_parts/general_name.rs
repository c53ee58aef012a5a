//! General names (RFC 5280 §4.2.1.6) and the subtrees of names in constraints (§4.2.1.10): normal
//! forms, and the test whether a name lies in a subtree.
//!
//! A normal form is the number of the name's form and its content: directory names as elsewhere,
//! hosts and mailboxes in lower case, addresses as octets.

use protocol::ber::Reader;

use super::super::certificate::{name_text, oid_text, rdn_sequence};
use crate::gser::Gser;
use crate::name;

/// The forms of a GeneralName, by tag number; an assertion gives otherName by OID.
pub(super) const FORMS: [&str; 9] = [
    "otherName",
    "rfc822Name",
    "dNSName",
    "x400Address",
    "directoryName",
    "ediPartyName",
    "uniformResourceIdentifier",
    "iPAddress",
    "registeredID",
];

const MAILBOX: u8 = 1;
const HOST: u8 = 2;
pub(super) const DIRECTORY: u8 = 4;
const URI: u8 = 6;
const ADDRESS: u8 = 7;
const REGISTERED: u8 = 8;

/// A general name after parsing.
pub(super) enum GeneralName {
    /// The name of a directory entry, as text.
    Directory(String),
    /// The normal form of a name of another form.
    Other(Vec<u8>),
}

/// Parses a name in a certificate; `None` for forms that are not compared and for damaged names.
pub(super) fn stored(tag: u8, content: &[u8]) -> Option<GeneralName> {
    let form = tag & 0x1f;
    let body = match form {
        MAILBOX | HOST => lower(std::str::from_utf8(content).ok()?),
        URI => uri(std::str::from_utf8(content).ok()?),
        DIRECTORY => {
            let name = Reader::new(content).expect(protocol::ber::SEQUENCE).ok()?;
            return Some(GeneralName::Directory(name_text(name)?));
        }
        ADDRESS => content.to_vec(),
        REGISTERED => oid_text(content)?.into_bytes(),
        _ => return None,
    };
    Some(GeneralName::Other(with_form(form, &body)))
}

/// Parses a name in an assertion, such as `dNSName:"example.com"`.
pub(super) fn asserted(gser: &mut Gser<'_>) -> Option<GeneralName> {
    let word = gser.word()?;
    let form = u8::try_from(FORMS.iter().position(|it| *it == word)?).ok()?;
    if !gser.take(":") {
        return None;
    }
    let body = match form {
        MAILBOX | HOST => lower(&gser.text()?),
        URI => uri(&gser.text()?),
        DIRECTORY => return Some(GeneralName::Directory(rdn_sequence(gser)?)),
        ADDRESS => gser.octets()?,
        REGISTERED => gser.word()?.as_bytes().to_vec(),
        _ => return None,
    };
    Some(GeneralName::Other(with_form(form, &body)))
}

/// Returns the normal form of a directory name, from the normal form of the DN.
pub(super) fn of_directory(name: &[u8]) -> Vec<u8> {
    with_form(DIRECTORY, name)
}

/// Returns whether two names are of one form.
pub(super) fn same_form(one: &[u8], other: &[u8]) -> bool {
    one.first() == other.first()
}

/// Returns whether a name lies in the subtree of a base of the same form (RFC 5280 §4.2.1.10).
pub(super) fn is_within(name: &[u8], base: &[u8]) -> bool {
    let (Some((form, name)), Some((of, base))) = (name.split_first(), base.split_first()) else {
        return false;
    };
    form == of
        && match *form {
            MAILBOX => is_mailbox_within(name, base),
            HOST => is_host_within(name, base),
            URI => {
                let host = host_of(name);
                host == base || base.starts_with(b".") && host.ends_with(base)
            }
            DIRECTORY => name::is_within(name, base),
            ADDRESS => is_address_within(name, base),
            _ => name == base,
        }
}

fn with_form(form: u8, body: &[u8]) -> Vec<u8> {
    [&[form][..], body].concat()
}

fn lower(text: &str) -> Vec<u8> {
    text.to_ascii_lowercase().into_bytes()
}

/// Returns a URI with scheme and host in lower case; without a scheme the text is a host.
fn uri(text: &str) -> Vec<u8> {
    let start = text.find("://").map(|it| it + 3);
    let path = start.and_then(|at| Some(at + text.get(at..)?.find(['/', '?', '#'])?));
    let (host, path) = text
        .split_at_checked(path.unwrap_or(text.len()))
        .unwrap_or((text, ""));
    [host.to_ascii_lowercase().as_bytes(), path.as_bytes()].concat()
}

/// Returns whether a mailbox lies in a base: a mailbox, a host, or a domain with a leading dot.
fn is_mailbox_within(mailbox: &[u8], base: &[u8]) -> bool {
    let at = mailbox.iter().rposition(|it| *it == b'@');
    let host = at.and_then(|at| mailbox.get(at + 1..)).unwrap_or_default();
    if base.contains(&b'@') {
        return mailbox == base;
    }
    match base.first() {
        Some(b'.') => host.ends_with(base),
        _ => host == base,
    }
}

/// Returns whether a host lies in a base, before whose labels any number may stand.
fn is_host_within(host: &[u8], base: &[u8]) -> bool {
    let base = base.strip_prefix(b".").unwrap_or(base);
    let Some(before) = host.strip_suffix(base) else {
        return false;
    };
    base.is_empty() || before.is_empty() || before.ends_with(b".")
}

/// Returns the host of a URI with an authority; empty for one without.
fn host_of(uri: &[u8]) -> &[u8] {
    let start = uri.windows(3).position(|it| it == b"://");
    let rest = start.and_then(|at| uri.get(at + 3..)).unwrap_or_default();
    let end = rest.iter().position(|it| b"/?#".contains(it));
    let authority = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let at = authority.iter().rposition(|it| *it == b'@');
    let host = at
        .and_then(|at| authority.get(at + 1..))
        .unwrap_or(authority);
    let port = host.iter().rposition(|it| *it == b':');
    port.and_then(|at| host.get(..at)).unwrap_or(host)
}

/// Returns whether an address lies in a base: an address and a mask of the same length.
fn is_address_within(address: &[u8], base: &[u8]) -> bool {
    if base.len() != 2 * address.len() {
        return false;
    }
    let (network, mask) = base.split_at(address.len());
    let mut octets = address.iter().zip(network).zip(mask);
    octets.all(|((have, want), mask)| have & mask == want & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    /// Rows of a name, a base, and whether the name lies within the base.
    const ROWS: &[(&str, &str, bool)] = &[
        (
            "dNSName:\"www.Example.com\"",
            "dNSName:\"example.com\"",
            true,
        ),
        ("dNSName:\"example.com\"", "dNSName:\".example.com\"", true),
        (
            "dNSName:\"badexample.com\"",
            "dNSName:\"example.com\"",
            false,
        ),
        ("dNSName:\"a.b\"", "dNSName:\"\"", true),
        (
            "rfc822Name:\"ada@example.com\"",
            "rfc822Name:\"example.com\"",
            true,
        ),
        (
            "rfc822Name:\"ada@www.example.com\"",
            "rfc822Name:\"example.com\"",
            false,
        ),
        (
            "rfc822Name:\"ada@www.example.com\"",
            "rfc822Name:\".example.com\"",
            true,
        ),
        ("rfc822Name:\"ada@a.b\"", "rfc822Name:\"ADA@a.b\"", true),
        ("rfc822Name:\"eve@a.b\"", "rfc822Name:\"ada@a.b\"", false),
        (
            "uniformResourceIdentifier:\"https://u@www.example.com:8443/a?b\"",
            "uniformResourceIdentifier:\".example.com\"",
            true,
        ),
        (
            "uniformResourceIdentifier:\"https://example.com\"",
            "uniformResourceIdentifier:\".example.com\"",
            false,
        ),
        (
            "iPAddress:'c0000205'H",
            "iPAddress:'c0000200ffffff00'H",
            true,
        ),
        (
            "iPAddress:'c0000305'H",
            "iPAddress:'c0000200ffffff00'H",
            false,
        ),
        ("iPAddress:'c0000205'H", "iPAddress:'c0000200'H", false),
        (
            "directoryName:rdnSequence:\"cn=Ada,o=Example\"",
            "directoryName:rdnSequence:\"O=example\"",
            true,
        ),
        (
            "directoryName:rdnSequence:\"o=Example\"",
            "directoryName:rdnSequence:\"cn=ada,o=example\"",
            false,
        ),
        ("registeredID:1.2.3", "registeredID:1.2.3", true),
        ("registeredID:1.2.3", "dNSName:\"1.2.3\"", false),
    ];

    #[test]
    fn what_lies_within_what() {
        let schema = Schema::standard();
        let name = |text: &str| {
            let mut gser = Gser::new(text);
            match asserted(&mut gser).filter(|_| gser.is_at_end())? {
                GeneralName::Directory(text) => {
                    Some(of_directory(schema.resolve_name(&text).ok()?.bytes()))
                }
                GeneralName::Other(normal) => Some(normal),
            }
        };
        for (one, base, expected) in ROWS {
            let (one, base) = (name(one).expect(one), name(base).expect(base));
            assert_eq!(is_within(&one, &base), *expected, "{one:?} {base:?}");
        }
        for junk in [
            "",
            "dNSName",
            "dNSName:a",
            "otherName:1.2",
            "nothing:\"a\"",
            "iPAddress:'c'H",
        ] {
            assert_eq!(name(junk), None, "{junk}");
        }
    }
}
