//! Named subordinate references (RFC 3296): referral objects and what they answer.

use crate::context::{Context, VisibleEntry};
use crate::stop::{Refusal, Stop};
use protocol::name::parse_name;
use protocol::{MessageId, ResultCode, response};
use store::{EntryId, RegionScope};

/// The filter that finds referral objects.
pub(crate) fn filter(schema: &schema::Schema) -> schema::Filter {
    super::class_filter(schema, "referral")
}

/// Refuses with `referral` when the entry is a referral object. `depth` is how many RDNs of the
/// wanted name lead to it when it is not the wanted entry itself.
pub(crate) fn refuse_if_referral(
    context: &Context<'_>,
    id: EntryId,
    wanted: &str,
    depth: Option<usize>,
) -> Result<(), Stop> {
    let Some(entry) = context.entry(id)? else {
        return Ok(());
    };
    if !entry.has_class("referral") {
        return Ok(());
    }
    let below = depth.map_or("", |depth| leading_rdns(wanted, depth));
    let at = context.spelled_name(id)?;
    let urls = urls(&entry)
        .map(|url| with_name(url, &at, below, ""))
        .collect();
    Err(Stop::Refused(Refusal {
        code: ResultCode::REFERRAL,
        matched: at,
        diagnostic: String::new(),
        referrals: urls,
    }))
}

/// Sends a search result reference for a referral object (RFC 4511 §4.5.3).
pub(crate) fn write_reference(
    entry: &VisibleEntry<'_, '_>,
    id: MessageId,
    scope: RegionScope,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut name = Vec::new();
    entry.write_name(&mut name)?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let scope = if scope == RegionScope::OneLevel {
        "??base"
    } else {
        "??sub"
    };
    let urls: Vec<String> = urls(entry)
        .map(|url| with_name(url, &name, "", scope))
        .collect();
    if !urls.is_empty() {
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        response::write_search_reference(out, id, &urls, &[]);
    }
    Ok(())
}

/// The URLs of a referral object without their labels (RFC 3296 §2.1).
fn urls<'e>(entry: &'e VisibleEntry<'_, '_>) -> impl Iterator<Item = &'e str> {
    let values = entry.internal_values_of_ref();
    values
        .into_iter()
        .flatten()
        .filter_map(|value| std::str::from_utf8(value).ok())
        .map(|text| text.split(' ').next().unwrap_or(text))
}

/// The part of a DN's text in front of its last `depth` RDNs, without the comma.
pub(crate) fn leading_rdns(text: &str, depth: usize) -> &str {
    let Ok(name) = parse_name(text) else {
        return "";
    };
    let Some(count) = name
        .rdns
        .len()
        .checked_sub(depth)
        .filter(|count| *count > 0)
    else {
        return "";
    };
    let last = name.rdns[count - 1].spelled;
    let end = last.as_ptr() as usize - text.as_ptr() as usize + last.len();
    text.get(..end).unwrap_or("")
}

/// An LDAP URL that names an entry: the URL's own DN, or else the referral object's, below which
/// the remaining RDNs stand; with a scope when the URL has none.
pub(crate) fn with_name(url: &str, at: &str, below: &str, scope: &str) -> String {
    let Some(host_at) = url.find("://").map(|at| at + 3) else {
        return url.to_owned();
    };
    let (host, rest) = match url[host_at..].find('/') {
        Some(slash) => (&url[..host_at + slash], &url[host_at + slash + 1..]),
        None => (url, ""),
    };
    let (name, extra) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let base = if name.is_empty() {
        percent_encoded(at)
    } else {
        name.to_owned()
    };
    let full = match (below.is_empty(), base.is_empty()) {
        (true, _) => base,
        (false, true) => percent_encoded(below),
        (false, false) => format!("{},{base}", percent_encoded(below)),
    };
    let extra = if extra.is_empty() { scope } else { extra };
    format!("{host}/{full}{extra}")
}

/// RFC 4516 §2.1: what may not stand in a URL as it is.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_referral_names_the_entry_that_was_wanted() {
        let url = with_name("ldap://a:389/ou=x,o=y", "ou=z,dc=com", "cn=one", "");
        assert_eq!(url, "ldap://a:389/cn=one,ou=x,o=y");
        assert_eq!(
            with_name("ldap://a", "ou=z,dc=com", "", "??sub"),
            "ldap://a/ou=z,dc=com??sub"
        );
        assert_eq!(
            with_name("ldap://a/", "ou=a b", "", ""),
            "ldap://a/ou=a%20b"
        );
        assert_eq!(
            with_name("https://x", "o=y", "", "??base"),
            "https://x/o=y??base"
        );
    }

    #[test]
    fn leading_rdns_are_cut_as_spelled() {
        assert_eq!(leading_rdns("cn=a\\,b, ou=x,dc=com", 1), "cn=a\\,b, ou=x");
        assert_eq!(leading_rdns("cn=a,dc=com", 2), "");
    }
}
