//! Matching rules of vendors that clients use by OID: bits and links in chain (Microsoft), names
//! (OpenLDAP), times (OpenDJ).

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    bits(book);
    in_chain(book);
    names(book);
    times(book);
}

fn bits(book: &mut Book) {
    const AND: &str = "1.2.840.113556.1.4.803";
    const OR: &str = "1.2.840.113556.1.4.804";
    let rows = [
        ("all-bits-set", AND, "6", true),
        ("not-all-bits-set", AND, "5", false),
        ("some-bit-set", OR, "5", true),
        ("no-bit-set", OR, "9", false),
    ];
    for (words, rule, asserted, matches) in rows {
        let needs = [Need::Rule(rule), Need::Type("uidNumber")];
        let mut section = book.section_needing("ms-adts", "3.1.1.3.4.4", &needs);
        section.clause(
            words,
            format_args!("uidNumber 6 under {rule} with {asserted}: {matches}."),
            move |it| {
                let classes = [
                    ("objectClass", "device"),
                    ("objectClass", "extensibleObject"),
                    ("uidNumber", "6"),
                ];
                it.put("cn=six", &classes)?;
                let filter = format!("(uidNumber:{rule}:={asserted})");
                it.finds(&filter, if matches { "six" } else { "" })
            },
        );
    }
}

fn in_chain(book: &mut Book) {
    const RULE: &str = "1.2.840.113556.1.4.1941";
    let mut section = book.section_needing("ms-adts", "3.1.1.3.4.4.3", &[Need::Rule(RULE)]);
    section.clause(
        "groups-of-groups",
        "Groups that name an entry, and groups that name those, are found; circles do no harm.",
        |it| {
            let ada = it.person("ada", &[])?;
            let group = [("objectClass", "groupOfNames")];
            let inner = it.put("cn=inner", &[&group[..], &[("member", &*ada)]].concat())?;
            let outer = it.put("cn=outer", &[&group[..], &[("member", &*inner)]].concat())?;
            it.modify(&inner, &[Modification::add("member", &[&outer])])?
                .ok()?;
            it.finds(&format!("(member:{RULE}:={ada})"), "inner outer")
        },
    );
}

fn names(book: &mut Book) {
    let rows = [
        ("subtree", "1.3.6.1.4.1.4203.666.4.9", "ada unit"),
        ("one-level", "1.3.6.1.4.1.4203.666.4.8", "ada"),
        ("subordinates", "1.3.6.1.4.1.4203.666.4.10", "ada"),
    ];
    for (words, rule, expected) in rows {
        let needs = [Need::Rule(rule), Need::Type("entryDN")];
        let mut section = book.section_needing("openldap-rules", "1", &needs);
        section.clause(
            words,
            format_args!("entryDN under {rule} finds: {expected}."),
            move |it| {
                let unit = it.unit("unit")?;
                it.put("cn=beside", &[("objectClass", "device")])?;
                let ada = it.draft("uid=ada,ou=unit", &person("ada", &[]))?;
                it.admin()?.add(&ada, &[])?.ok()?;
                it.finds(&format!("(entryDN:{rule}:={unit})"), expected)
            },
        );
    }
}

fn times(book: &mut Book) {
    let rows = [
        ("after-an-hour-ago", "1.3.6.1.4.1.26027.1.4.5", "-1h", true),
        (
            "before-an-hour-ago",
            "1.3.6.1.4.1.26027.1.4.6",
            "-1h",
            false,
        ),
        (
            "before-an-hour-from-now",
            "1.3.6.1.4.1.26027.1.4.6",
            "1h",
            true,
        ),
    ];
    for (words, rule, asserted, matches) in rows {
        let mut section = book.section_needing("opendj-rules", "1", &[Need::Rule(rule)]);
        section.clause(
            words,
            format_args!("createTimestamp of a new entry under {rule} with {asserted}: {matches}."),
            move |it| {
                it.person("ada", &[])?;
                let filter = format!("(&(uid=ada)(createTimestamp:{rule}:={asserted}))");
                it.finds(&filter, if matches { "ada" } else { "" })
            },
        );
    }
}
