//! Named subordinate references (RFC 3296): referral objects and the referrals made from them.

use crate::catalog::Catalog;
use crate::knowledge::class_filter;
use crate::stop::{Refusal, Stop};
use crate::view::{View, VisibleEntry};
use protocol::name::parse_name;
use protocol::url::LdapUrl;
use protocol::{ResultCode, Scope};
use schema::Name;
use store::EntryId;

/// The filter that finds referral objects.
pub fn filter(schema: &schema::Schema) -> schema::Filter {
    class_filter(schema, "referral")
}

/// Refuses with `referral` if the entry is a referral object. `depth` is the number of RDNs of the
/// requested name that lead to it, if it is not the requested entry itself; `scope` is that of a
/// search, which its referrals have to name (RFC 3296 §5.3).
pub fn refuse_if_referral(
    view: &View<'_>,
    id: EntryId,
    wanted: &str,
    depth: Option<usize>,
    scope: Option<Scope>,
) -> Result<(), Stop> {
    let Some(entry) = view.reached(id)? else {
        return Ok(());
    };
    if !entry.has_class("referral") {
        return Ok(());
    }
    let below = depth.map_or("", |depth| leading_rdns(wanted, depth));
    let at = view.spelled_name(id)?;
    let urls = urls(&entry)
        .map(|url| with_name(url, &at, below, scope))
        .collect();
    Err(Stop::Refused(Refusal {
        code: ResultCode::REFERRAL,
        matched: at,
        diagnostic: String::new(),
        referrals: urls,
        password_policy: None,
    }))
}

/// Returns the URLs of a referral object without their labels (RFC 3296 §2.1).
pub fn urls<'e>(entry: &'e VisibleEntry<'_, '_>) -> impl Iterator<Item = &'e str> {
    let values = entry.internal_values_of_ref();
    values
        .into_iter()
        .flatten()
        .filter_map(|value| std::str::from_utf8(value).ok())
        .map(|text| text.split(' ').next().unwrap_or(text))
}

/// Returns the text of a DN in front of its last `depth` RDNs, without the comma.
pub fn leading_rdns(text: &str, depth: usize) -> &str {
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

/// Returns the LDAP URL of a referral to an entry: the URL's own DN, or else the referral object's,
/// preceded by the remaining RDNs. Its scope is that of the search; attributes and filter are left
/// out, extensions stay (RFC 3296 §5.2). A URL of another scheme is returned unchanged.
pub fn with_name(url: &str, at: &str, below: &str, scope: Option<Scope>) -> String {
    let Ok(mut parsed) = LdapUrl::parse(url) else {
        return url.to_owned();
    };
    if parsed.dn.is_empty() {
        at.clone_into(&mut parsed.dn);
    }
    if !below.is_empty() {
        let separator = if parsed.dn.is_empty() { "" } else { "," };
        parsed.dn = format!("{below}{separator}{}", parsed.dn);
    }
    parsed.attributes.clear();
    parsed.filter = None;
    parsed.scope = scope;
    parsed.to_string()
}

/// Refuses with `referral` if the name is in no naming context of this directory and
/// `pandoSuperiorReferral` is configured.
pub fn refer_upwards(
    catalog: &Catalog,
    name: &Name,
    wanted: &str,
    scope: Option<Scope>,
) -> Result<(), Stop> {
    let urls = &catalog.superior_referrals;
    if urls.is_empty() || catalog.context_of(name).is_some() {
        return Ok(());
    }
    let refer = |url: &String| match LdapUrl::parse(url) {
        Ok(mut url) => {
            url.dn.clear();
            with_name(&url.to_string(), wanted, "", scope)
        }
        Err(_) => url.clone(),
    };
    Err(Stop::Refused(Refusal {
        code: ResultCode::REFERRAL,
        matched: String::new(),
        diagnostic: String::new(),
        referrals: urls.iter().map(refer).collect(),
        password_policy: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_referral_names_the_entry_that_was_wanted() {
        let sub = Some(Scope::WholeSubtree);
        for (url, at, below, scope, expected) in [
            (
                "ldap://a:389/ou=x,o=y",
                "ou=z,dc=com",
                "cn=one",
                None,
                "ldap://a:389/cn=one,ou=x,o=y",
            ),
            (
                "ldap://a",
                "ou=z,dc=com",
                "",
                sub,
                "ldap://a/ou=z,dc=com??sub",
            ),
            ("ldap://a/", "ou=a b", "", None, "ldap://a/ou=a%20b"),
            (
                "ldap://a/o=y?cn?one?(cn=x)?!x",
                "o=z",
                "",
                None,
                "ldap://a/o=y????!x",
            ),
            ("ldap://a/o=y??one", "o=z", "", sub, "ldap://a/o=y??sub"),
            ("https://x/y", "o=y", "cn=a", sub, "https://x/y"),
        ] {
            assert_eq!(with_name(url, at, below, scope), expected);
        }
    }

    #[test]
    fn leading_rdns_are_cut_as_spelled() {
        assert_eq!(leading_rdns("cn=a\\,b, ou=x,dc=com", 1), "cn=a\\,b, ou=x");
        assert_eq!(leading_rdns("cn=a,dc=com", 2), "");
    }
}
