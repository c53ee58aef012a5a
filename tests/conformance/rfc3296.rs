//! RFC 3296 with RFC 4511 §4.1.10 and §4.5.3, and RFC 4516: named referrals.

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    referred(book);
    new_superiors(book);
    managed(book);
    references(book);
    values(book);
}

const MANAGE: [Need; 1] = [Need::Control(oid::MANAGE_DSA_IT)];

fn manage() -> OwnedControl {
    bare(oid::MANAGE_DSA_IT, true)
}

/// Adds a referral object `ou=branch` below home.
fn branch(it: &mut Case<'_>) -> Result<String, Finding> {
    let home = it.home()?;
    branch_to(it, &format!("ldap://other.example.com/ou=branch,{home}"))
}

fn branch_to(it: &mut Case<'_>, url: &str) -> Result<String, Finding> {
    let classes = [
        ("objectClass", "referral"),
        ("objectClass", "extensibleObject"),
    ];
    let entry = it.draft("ou=branch", &[&classes[..], &[("ref", url)]].concat())?;
    it.admin()?.add(&entry, &[manage()])?.ok()?;
    Ok(entry.name)
}

fn operate(it: &mut Case<'_>, operation: &str, name: &str) -> Result<Outcome, Finding> {
    let admin = it.admin()?;
    match operation {
        "search" => Ok(admin
            .search(name, Scope::BaseObject, EVERYTHING, &[])?
            .outcome),
        "modify" => admin.modify(name, &[Modification::add("description", &["x"])], &[]),
        "delete" => admin.delete(name, &[]),
        "modify-dn" => admin.rename(name, "ou=y", true, None, &[]),
        "compare" => admin.compare(name, "ou", b"x", &[]),
        _ => {
            let entry = Entry::of(name, &[("objectClass", &["device"]), ("cn", &["x"])]);
            admin.add(&entry, &[])
        }
    }
}

fn referred(book: &mut Book) {
    let mut section = book.section_needing("rfc3296", "5.1", &MANAGE);
    for operation in ["search", "modify", "delete", "modify-dn", "compare"] {
        section.clause(
            format_args!("{operation}-of-a-referral-object"),
            format_args!("{operation} of a referral object is referred to where it points."),
            move |it| {
                let name = branch(it)?;
                let outcome = operate(it, operation, &name)?.is(ResultCode::REFERRAL)?;
                points_to(&outcome.referrals, "ldap://other.example.com/ou=branch,")
            },
        );
    }
    let mut section = book.section_needing("rfc3296", "5.2", &MANAGE);
    for operation in ["search", "modify", "add", "delete", "modify-dn", "compare"] {
        section.clause(
            format_args!("{operation}-below-a-referral-object"),
            format_args!("{operation} below a referral object is referred, with the whole name."),
            move |it| {
                let name = format!("cn=x,{}", branch(it)?);
                let outcome = operate(it, operation, &name)?.is(ResultCode::REFERRAL)?;
                points_to(
                    &outcome.referrals,
                    "ldap://other.example.com/cn=x,ou=branch,",
                )
            },
        );
    }
}

fn new_superiors(book: &mut Book) {
    let mut section = book.section_needing("rfc3296", "5.6.2", &MANAGE);
    let places = [
        ("a-referral-object", "", "slapd answers other (80)"),
        (
            "below-a-referral-object",
            "ou=x,",
            "slapd answers noSuchObject",
        ),
    ];
    for (words, rdn, slapd) in places {
        let clause = section.clause(
            format_args!("new-superior-{words}"),
            "A new superior that another server holds is affectsMultipleDSAs.",
            move |it| {
                let superior = format!("{rdn}{}", branch(it)?);
                let ada = it.person("ada", &[])?;
                let admin = it.admin()?;
                let outcome = admin.rename(&ada, "uid=ada", true, Some(&superior), &[])?;
                outcome.is(ResultCode::AFFECTS_MULTIPLE_DSAS)?;
                it.exists(&ada)
            },
        );
        clause.slapd(slapd);
    }
}

fn points_to(urls: &[String], start: &str) -> Examined {
    let plain: Vec<String> = urls
        .iter()
        .map(|it| it.to_lowercase().replace("%20", " "))
        .collect();
    let there = plain.iter().any(|it| it.starts_with(start));
    ensure(there, format_args!("a URL that starts with {start}"), urls)
}

fn managed(book: &mut Book) {
    let mut section = book.section_needing("rfc3296", "3", &MANAGE);
    section.clause(
        "search-with-manage-dsa-it",
        "With ManageDsaIT a referral object is an entry.",
        |it| {
            let name = branch(it)?;
            let found = it.search_home("(ou=branch)", &["ref"], &[manage()])?;
            ensure(
                found.references.is_empty(),
                "no references",
                &found.references,
            )?;
            equal_name(&found.one()?.name, &name)
        },
    );
    section.clause(
        "modify-with-manage-dsa-it",
        "With ManageDsaIT a referral object is modified.",
        |it| {
            let name = branch(it)?;
            let change = [Modification::add("description", &["x"])];
            it.admin()?
                .modify(&name, &change, &[manage()])?
                .ok()
                .map(|_| ())
        },
    );
    section.clause(
        "delete-with-manage-dsa-it",
        "With ManageDsaIT a referral object is deleted.",
        |it| {
            let name = branch(it)?;
            it.admin()?.delete(&name, &[manage()])?.ok()?;
            it.is_gone(&name)
        },
    );
    section.clause(
        "rename-with-manage-dsa-it",
        "With ManageDsaIT a referral object is renamed.",
        |it| {
            let name = branch(it)?;
            it.admin()?
                .rename(&name, "ou=twig", true, None, &[manage()])?
                .ok()
                .map(|_| ())
        },
    );
    section.clause(
        "compare-with-manage-dsa-it",
        "With ManageDsaIT a referral object is compared.",
        |it| {
            let name = branch(it)?;
            let outcome = it.admin()?.compare(&name, "ou", b"BRANCH", &[manage()])?;
            outcome.is(ResultCode::COMPARE_TRUE).map(|_| ())
        },
    );
    section.clause(
        "ref-is-not-a-user-attribute-of-others",
        "An entry that is no referral object answers as ever with ManageDsaIT.",
        |it| {
            let ada = it.person("ada", &[])?;
            let outcome = it.admin()?.compare(&ada, "sn", b"ada", &[manage()])?;
            outcome.is(ResultCode::COMPARE_TRUE).map(|_| ())
        },
    );
}

fn references(book: &mut Book) {
    let mut section = book.section_needing("rfc4511", "4.5.3", &MANAGE);
    section.clause(
        "subtree-search-returns-references",
        "A subtree search returns a continuation reference for what another server holds.",
        |it| {
            branch(it)?;
            it.person("ada", &[])?;
            let found = it.search_home("(uid=ada)", &["1.1"], &[])?.ok()?.count(1)?;
            equal(found.references.len(), 1, "references")?;
            points_to(&found.references[0], "ldap://other.example.com/ou=branch,")
        },
    );
    section.clause(
        "references-do-not-depend-on-the-filter",
        "A reference comes even when the referral object does not match the filter.",
        |it| {
            branch(it)?;
            let found = it
                .search_home("(uid=nobody)", &["1.1"], &[])?
                .ok()?
                .count(0)?;
            equal(found.references.len(), 1, "references")
        },
    );
    section.clause(
        "single-level-reference-has-scope-base",
        "At one level the scope of the continuation is base.",
        |it| {
            branch(it)?;
            let home = it.home()?;
            let found = it
                .search(&home, Scope::SingleLevel, EVERYTHING, &["1.1"])?
                .ok()?;
            let urls = found.references.concat();
            ensure(
                urls.iter().any(|it| it.ends_with("??base")),
                "a URL with ??base",
                &urls,
            )
        },
    );
    section.clause(
        "no-reference-outside-the-scope",
        "A base search of the superior returns no reference.",
        |it| {
            branch(it)?;
            let home = it.home()?;
            let found = it
                .search(&home, Scope::BaseObject, EVERYTHING, &["1.1"])?
                .ok()?;
            ensure(
                found.references.is_empty(),
                "no references",
                &found.references,
            )
        },
    );
    section.clause(
        "references-are-no-entries",
        "A referral object is not returned as an entry.",
        |it| {
            branch(it)?;
            let found = it.search_home("(ou=branch)", &["1.1"], &[])?.ok()?;
            found.count(0).map(|_| ())
        },
    );
}

fn values(book: &mut Book) {
    let mut section = book.section_needing("rfc4516", "2", &MANAGE);
    let rows = [
        (
            "without-a-name",
            "ldap://other.example.com/",
            "ldap://other.example.com/",
        ),
        (
            "with-a-port",
            "ldap://other.example.com:1389/",
            "ldap://other.example.com:1389/",
        ),
        (
            "with-tls",
            "ldaps://other.example.com/",
            "ldaps://other.example.com/",
        ),
        (
            "with-another-name",
            "ldap://other.example.com/o=elsewhere",
            "ldap://other.example.com/o=elsewhere",
        ),
        ("with-an-address", "ldap://192.0.2.1/", "ldap://192.0.2.1/"),
        (
            "with-an-ipv6-address",
            "ldap://[2001:db8::1]/",
            "ldap://[2001:db8::1]/",
        ),
    ];
    for (words, url, start) in rows {
        section.clause(
            format_args!("referral-{words}"),
            format_args!("A ref of {url} refers to a URL that starts with {start}."),
            move |it| {
                let name = branch_to(it, url)?;
                let outcome = operate(it, "modify", &name)?.is(ResultCode::REFERRAL)?;
                points_to(&outcome.referrals, start)
            },
        );
    }
}
