//! RFC 4530, RFC 5020, RFC 4529 and RFC 3866: further names of entries and selections of
//! attributes.

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    identity(book);
    names_of_entries(book);
    options(book);
    option_subtypes(book);
    class_selection(book);
}

/// Rows of words, statement, and the result of a filter on an entry with `description` and tagged
/// ones.
const TAGGED: &[(&str, &str, &str, &str)] = &[
    (
        "base-finds-tagged-values",
        "A description without options covers those with options.",
        "(description=schrieb das programm)",
        "ada",
    ),
    (
        "tagged-filter",
        "A description with an option finds its own values.",
        "(description;lang-de=schrieb das programm)",
        "ada",
    ),
    (
        "tagged-filter-leaves-the-base-out",
        "It does not find values without the option.",
        "(description;lang-de=wrote the program)",
        "",
    ),
    (
        "options-know-no-case",
        "Options know no case.",
        "(description;LANG-DE=schrieb das programm)",
        "ada",
    ),
    (
        "other-tag",
        "Another option finds nothing.",
        "(description;lang-fr=schrieb das programm)",
        "",
    ),
    (
        "presence-of-the-tag",
        "Presence asks for the option too.",
        "(description;lang-de=*)",
        "ada",
    ),
    (
        "presence-of-another-tag",
        "Presence of an option that is not there is False.",
        "(description;lang-fr=*)",
        "",
    ),
    (
        "substrings-of-the-tag",
        "Substrings ask for the option too.",
        "(description;lang-de=schrieb*)",
        "ada",
    ),
];

fn options(book: &mut Book) {
    let mut section = book.section("rfc3866", "2.1");
    for (words, text, filter, expected) in TAGGED {
        section.clause(words, text, move |it| {
            it.person("ada", &TAGGED_VALUES)?;
            it.finds(filter, expected)
        });
    }
    let rows: [(&str, &str, &[&str], &str); 4] = [
        (
            "base-selects-tagged",
            "A description without options selects those with options.",
            &["description"],
            "description description;lang-de",
        ),
        (
            "tag-selects-itself",
            "A description with an option selects that alone.",
            &["description;lang-de"],
            "description;lang-de",
        ),
        (
            "unknown-tag-selects-nothing",
            "An option that is not there selects nothing.",
            &["description;lang-fr"],
            "",
        ),
        (
            "star-selects-all",
            "`*` selects them all.",
            &["*"],
            "description description;lang-de",
        ),
    ];
    for (words, text, select, expected) in rows {
        section.clause(words, text, move |it| {
            let ada = it.person("ada", &TAGGED_VALUES)?;
            let entry = it.get(&ada, select)?;
            let mut names: Vec<String> = entry
                .attributes
                .iter()
                .map(|it| it.0.to_lowercase())
                .collect();
            names.retain(|it| it.starts_with("description"));
            names.sort();
            equal(names.join(" ").as_str(), expected, "descriptions")
        });
    }
    let mut section = book.section("rfc4512", "2.5.2");
    section.clause(
        "options-make-attributes-of-their-own",
        "The same value may stand with and without an option.",
        |it| {
            let both = [("description", "same"), ("description;lang-de", "same")];
            it.person("ada", &both).map(|_| ())
        },
    );
}

fn option_subtypes(book: &mut Book) {
    let mut section = book.section("rfc4512", "2.5.2");
    section.clause(
        "modify-touches-its-options-only",
        "Deleting a description with an option leaves the others.",
        |it| {
            let ada = it.person("ada", &TAGGED_VALUES)?;
            it.modify(&ada, &[Modification::delete("description;lang-de", &[])])?
                .ok()?;
            let entry = it.get(&ada, &["*"])?;
            ensure(entry.has("description"), "description", &entry)?;
            ensure(
                !entry.has("description;lang-de"),
                "no description;lang-de",
                &entry,
            )
        },
    );
    section.clause(
        "options-are-not-for-every-type",
        "An option nobody defined is undefinedAttributeType, or kept as an attribute of its own.",
        |it| {
            let ada = it.person("ada", &[])?;
            let change = Modification::add("description;x-no-such-option-1", &["x"]);
            let right = [ResultCode::UNDEFINED_ATTRIBUTE_TYPE, ResultCode::SUCCESS];
            it.modify(&ada, &[change])?.is_one_of(&right).map(|_| ())
        },
    );
}

const TAGGED_VALUES: [(&str, &str); 2] = [
    ("description", "Wrote the program"),
    ("description;lang-de", "Schrieb das Programm"),
];

fn identity(book: &mut Book) {
    let mut section = book.section_needing("rfc4530", "2.4", &[Need::Type("entryUUID")]);
    section.clause(
        "entry-uuid-is-a-uuid",
        "Every entry has an entryUUID: 8-4-4-4-12 hexadecimal digits.",
        |it| {
            let ada = it.person("ada", &[])?;
            let id = it.get(&ada, &["entryUUID"])?.value("entryUUID")?;
            let parts: Vec<usize> = id.split('-').map(str::len).collect();
            equal(
                parts,
                vec![8, 4, 4, 4, 12],
                format_args!("the parts of {id}"),
            )
        },
    );
    section.clause(
        "entry-uuid-survives-a-rename",
        "The entryUUID stays when the entry is renamed.",
        |it| {
            let ada = it.person("ada", &[])?;
            let before = it.get(&ada, &["entryUUID"])?.value("entryUUID")?;
            it.rename(&ada, "uid=countess")?.ok()?;
            let name = format!("uid=countess,{}", it.home()?);
            equal(
                it.get(&name, &["entryUUID"])?.value("entryUUID")?,
                before,
                "entryUUID",
            )
        },
    );
    section.clause(
        "entry-uuid-is-not-used-again",
        "An entry added anew has another entryUUID.",
        |it| {
            let ada = it.person("ada", &[])?;
            let before = it.get(&ada, &["entryUUID"])?.value("entryUUID")?;
            it.delete(&ada)?.ok()?;
            it.person("ada", &[])?;
            let after = it.get(&ada, &["entryUUID"])?.value("entryUUID")?;
            ensure(after != before, "another entryUUID", after)
        },
    );
    section.clause(
        "entry-uuid-is-found",
        "An entry is found by its entryUUID, in any case.",
        |it| {
            let ada = it.person("ada", &[])?;
            let id = it.get(&ada, &["entryUUID"])?.value("entryUUID")?;
            it.finds(&format!("(entryUUID={})", id.to_uppercase()), "ada")
        },
    );
}

fn names_of_entries(book: &mut Book) {
    let mut section = book.section_needing("rfc4530", "2.4", &[Need::Type("entryUUID")]);
    section.clause(
        "entry-uuid-is-closed",
        "A client cannot change an entryUUID.",
        |it| {
            let ada = it.person("ada", &[])?;
            let value = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
            let change = Modification::replace("entryUUID", &[value]);
            it.modify(&ada, &[change])?
                .is(ResultCode::CONSTRAINT_VIOLATION)
                .map(|_| ())
        },
    );
    let mut section = book.section_needing("rfc5020", "2", &[Need::Type("entryDN")]);
    section.clause(
        "entry-dn-is-the-name",
        "entryDN is the entry's name.",
        |it| {
            let ada = it.person("ada", &[])?;
            equal_name(&it.get(&ada, &["entryDN"])?.value("entryDN")?, &ada)
        },
    );
    section.clause(
        "entry-dn-is-found",
        "An entry is found by its entryDN in any spelling.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.finds(&format!("(entryDN={})", ada.to_uppercase()), "ada")
        },
    );
    section.clause(
        "entry-dn-follows-a-rename",
        "entryDN follows the entry's name.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.rename(&ada, "uid=countess")?.ok()?;
            it.finds(&format!("(entryDN={ada})"), "")
        },
    );
}

fn class_selection(book: &mut Book) {
    let needs = [Need::Feature(oid::OBJECT_CLASS_ATTRIBUTES)];
    let mut section = book.section_needing("rfc4529", "2", &needs);
    let rows: [(&str, &str, &[&str], &str, &str); 5] = [
        (
            "class",
            "@person selects what person requires and allows.",
            &["@person"],
            "cn sn",
            "mail uid",
        ),
        (
            "class-with-superclasses",
            "A class stands for its superclasses, too.",
            &["@inetOrgPerson"],
            "cn sn mail uid",
            "createTimestamp",
        ),
        (
            "class-by-oid",
            "The class may be given by its OID.",
            &["@2.5.6.6"],
            "cn sn",
            "mail",
        ),
        (
            "class-beside-attributes",
            "It stands beside names of attributes.",
            &["@person", "mail"],
            "cn sn mail",
            "uid",
        ),
        (
            "unknown-class-is-ignored",
            "A class nobody defined selects nothing.",
            &["@noSuchClass"],
            "",
            "cn sn mail",
        ),
    ];
    for (words, text, select, present, absent) in rows {
        section.clause(words, text, move |it| {
            let ada = it.person("ada", &[("mail", "a@b")])?;
            let entry = it.get(&ada, select)?;
            for name in present.split_whitespace() {
                ensure(entry.has(name), format_args!("{name} among them"), &entry)?;
            }
            for name in absent.split_whitespace() {
                ensure(!entry.has(name), format_args!("no {name}"), &entry)?;
            }
            Ok(())
        });
    }
}
