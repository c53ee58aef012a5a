//! RFC 4511 §4.6: modify.

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    whole(book);
    whole_entries(book);
    tables(book);
    naming(book);
    refusals(book);
    further_refusals(book);
}

/// Adds a person `ada` with two titles.
fn ada(it: &mut Case<'_>) -> Result<String, Finding> {
    it.person(
        "ada",
        &[
            ("title", "Countess"),
            ("title", "Analyst"),
            ("mail", "ada@example.com"),
        ],
    )
}

fn whole(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.6");
    section.clause(
        "changes-are-made-in-order",
        "The changes are made one after the other, as listed.",
        |it| {
            let ada = ada(it)?;
            let changes = [
                Modification::replace("title", &["one"]),
                Modification::add("title", &["two"]),
                Modification::delete("title", &["one"]),
                Modification::add("title", &["three"]),
            ];
            it.modify(&ada, &changes)?.ok()?;
            let texts = it.get(&ada, &["title"])?.texts("title").join(" ");
            equal(texts.as_str(), "three two", "title")
        },
    );
    section.clause(
        "changes-are-atomic",
        "When one change fails, none is made.",
        |it| {
            let ada = ada(it)?;
            let changes = [
                Modification::replace("title", &["x"]),
                Modification::delete("pager", &[]),
            ];
            it.modify(&ada, &changes)?
                .is(ResultCode::NO_SUCH_ATTRIBUTE)?;
            let texts = it.get(&ada, &["title"])?.texts("title").join(" ");
            equal(texts.as_str(), "Analyst Countess", "title")
        },
    );
    section.clause(
        "entry-may-be-wrong-in-between",
        "Only the entry at the end must obey the schema.",
        |it| {
            let ada = ada(it)?;
            let changes = [
                Modification::delete("sn", &[]),
                Modification::add("sn", &["King"]),
            ];
            it.modify(&ada, &changes)?.ok()?;
            equal(it.get(&ada, &["sn"])?.value("sn")?, "King", "sn")
        },
    );
    section.clause(
        "entry-must-be-right-at-the-end",
        "A modify that leaves out what the class requires is objectClassViolation.",
        |it| {
            let ada = ada(it)?;
            let change = Modification::delete("sn", &[]);
            it.modify(&ada, &[change])?
                .is(ResultCode::OBJECT_CLASS_VIOLATION)?;
            equal(it.get(&ada, &["sn"])?.value("sn")?, "ada", "sn")
        },
    );
}

fn whole_entries(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.6");
    section.clause(
        "single-value-may-be-exchanged",
        "A single-valued attribute is exchanged by delete and add in one modify.",
        |it| {
            let ada = it.person("ada", &[("employeeNumber", "1")])?;
            let changes = [
                Modification::add("employeeNumber", &["2"]),
                Modification::delete("employeeNumber", &["1"]),
            ];
            it.modify(&ada, &changes)?.ok()?;
            let number = it.get(&ada, &["employeeNumber"])?.value("employeeNumber")?;
            equal(number, "2", "employeeNumber")
        },
    );
    section.clause(
        "no-changes-at-all",
        "A modify without changes succeeds or is a protocol error, and changes nothing.",
        |it| {
            let ada = ada(it)?;
            let right = [ResultCode::SUCCESS, ResultCode::PROTOCOL_ERROR];
            it.modify(&ada, &[])?.is_one_of(&right)?;
            equal(it.get(&ada, &["sn"])?.value("sn")?, "ada", "sn")
        },
    );
    section.clause(
        "no-changes-by-nobody",
        "A modify without changes, sent without a bind, is refused and stamps no entry.",
        |it| {
            let ada = ada(it)?;
            let before = it.get(&ada, &["modifyTimestamp", "modifiersName"])?;
            it.session()?.modify(&ada, &[], &[])?.refused()?;
            let after = it.get(&ada, &["modifyTimestamp", "modifiersName"])?;
            equal(after, before, "the entry")
        },
    );
}

type Change = fn() -> Modification;

/// Rows of words, statement, change, result, and the titles afterwards.
const CHANGES: &[(&str, &str, Change, ResultCode, &str)] = &[
    (
        "add-adds-a-value",
        "add puts a value beside the others.",
        || Modification::add("title", &["Poet"]),
        ResultCode::SUCCESS,
        "Analyst Countess Poet",
    ),
    (
        "add-adds-several",
        "add takes several values.",
        || Modification::add("title", &["P", "Q"]),
        ResultCode::SUCCESS,
        "Analyst Countess P Q",
    ),
    (
        "add-of-an-existing-value",
        "add of a value that is there is attributeOrValueExists.",
        || Modification::add("title", &["Countess"]),
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
        "Analyst Countess",
    ),
    (
        "add-of-an-equal-value",
        "add of a value that the equality rule takes for the same, too.",
        || Modification::add("title", &["COUNTESS "]),
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
        "Analyst Countess",
    ),
    (
        "add-of-one-value-twice",
        "add of the same value twice is attributeOrValueExists.",
        || Modification::add("title", &["X", "x"]),
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
        "Analyst Countess",
    ),
    (
        "add-all-or-nothing",
        "add of a new and an existing value adds neither.",
        || Modification::add("title", &["X", "Analyst"]),
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
        "Analyst Countess",
    ),
    (
        "delete-of-a-value",
        "delete takes one value away.",
        || Modification::delete("title", &["Countess"]),
        ResultCode::SUCCESS,
        "Analyst",
    ),
    (
        "delete-by-equality",
        "delete finds the value by the equality rule.",
        || Modification::delete("title", &["countess"]),
        ResultCode::SUCCESS,
        "Analyst",
    ),
    (
        "delete-of-all-values",
        "delete of every value removes the attribute.",
        || Modification::delete("title", &["Countess", "Analyst"]),
        ResultCode::SUCCESS,
        "",
    ),
    (
        "delete-of-the-attribute",
        "delete without values removes the attribute.",
        || Modification::delete("title", &[]),
        ResultCode::SUCCESS,
        "",
    ),
    (
        "delete-of-a-missing-value",
        "delete of a value that is not there is noSuchAttribute.",
        || Modification::delete("title", &["Poet"]),
        ResultCode::NO_SUCH_ATTRIBUTE,
        "Analyst Countess",
    ),
    (
        "delete-all-or-nothing",
        "delete of an existing and a missing value deletes neither.",
        || Modification::delete("title", &["Analyst", "Poet"]),
        ResultCode::NO_SUCH_ATTRIBUTE,
        "Analyst Countess",
    ),
    (
        "delete-of-a-missing-attribute",
        "delete of an attribute that is not there is noSuchAttribute.",
        || Modification::delete("pager", &[]),
        ResultCode::NO_SUCH_ATTRIBUTE,
        "Analyst Countess",
    ),
    (
        "delete-of-a-value-of-a-missing-attribute",
        "The same with a value.",
        || Modification::delete("pager", &["1"]),
        ResultCode::NO_SUCH_ATTRIBUTE,
        "Analyst Countess",
    ),
    (
        "replace-replaces-all",
        "replace puts the values in place of all others.",
        || Modification::replace("title", &["Poet"]),
        ResultCode::SUCCESS,
        "Poet",
    ),
    (
        "replace-with-some-of-the-old",
        "replace may keep values.",
        || Modification::replace("title", &["Poet", "Analyst"]),
        ResultCode::SUCCESS,
        "Analyst Poet",
    ),
    (
        "replace-changes-the-spelling",
        "replace stores the new spelling of an equal value.",
        || Modification::replace("title", &["COUNTESS"]),
        ResultCode::SUCCESS,
        "COUNTESS",
    ),
    (
        "replace-without-values-deletes",
        "replace without values removes the attribute.",
        || Modification::replace("title", &[]),
        ResultCode::SUCCESS,
        "",
    ),
    (
        "replace-of-nothing-by-nothing",
        "replace without values of a missing attribute does nothing.",
        || Modification::replace("pager", &[]),
        ResultCode::SUCCESS,
        "Analyst Countess",
    ),
    (
        "replace-with-one-value-twice",
        "replace by the same value twice is attributeOrValueExists.",
        || Modification::replace("title", &["x", "X"]),
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
        "Analyst Countess",
    ),
    (
        "delete-of-a-subtype-value",
        "delete of a supertype does not take its subtypes along.",
        || Modification::delete("name", &[]),
        ResultCode::NO_SUCH_ATTRIBUTE,
        "Analyst Countess",
    ),
];

fn tables(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.6");
    for (words, text, change, code, titles) in CHANGES {
        section.clause(words, text, move |it| {
            let ada = ada(it)?;
            it.modify(&ada, &[change()])?.is(*code)?;
            let texts = it.get(&ada, &["title"])?.texts("title").join(" ");
            equal(texts.as_str(), *titles, "title")
        });
    }
    section.clause(
        "replace-creates",
        "replace of an attribute that is not there creates it.",
        |it| {
            let ada = ada(it)?;
            it.modify(&ada, &[Modification::replace("pager", &["1"])])?
                .ok()?;
            equal(it.get(&ada, &["pager"])?.value("pager")?, "1", "pager")
        },
    );
    section.clause(
        "add-creates",
        "add of an attribute that is not there creates it.",
        |it| {
            let ada = ada(it)?;
            it.modify(&ada, &[Modification::add("pager", &["1"])])?
                .ok()?;
            equal(it.get(&ada, &["pager"])?.value("pager")?, "1", "pager")
        },
    );
    section.clause(
        "add-without-values-is-refused",
        "add without values is a protocol error or otherwise refused.",
        |it| {
            let ada = ada(it)?;
            it.modify(&ada, &[Modification::add("pager", &[])])?
                .refused()?;
            ensure(!it.get(&ada, &["pager"])?.has("pager"), "no pager", "one")
        },
    );
}

fn naming(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.6");
    let changes: [(&str, Change); 3] = [
        ("delete-of-its-value", || {
            Modification::delete("uid", &["ada"])
        }),
        ("delete-of-its-attribute", || {
            Modification::delete("uid", &[])
        }),
        ("replace-by-another", || {
            Modification::replace("uid", &["countess"])
        }),
    ];
    for (words, change) in changes {
        section
            .clause(
                format_args!("rdn-stays-on-{words}"),
                "A value of the RDN cannot be removed by modify: notAllowedOnRDN.",
                move |it| {
                    let ada = ada(it)?;
                    it.modify(&ada, &[change()])?
                        .is(ResultCode::NOT_ALLOWED_ON_RDN)?;
                    equal(it.get(&ada, &["uid"])?.value("uid")?, "ada", "uid")
                },
            )
            .slapd("slapd 2.5 says namingViolation where §4.6 says notAllowedOnRDN");
    }
    section.clause(
        "naming-attribute-may-get-more-values",
        "replace of the naming attribute may keep the RDN's value and add others.",
        |it| {
            let ada = ada(it)?;
            let change = Modification::replace("uid", &["countess", "ada"]);
            it.modify(&ada, &[change])?.ok()?;
            it.finds("(uid=countess)", "ada")
        },
    );
    section.clause(
        "naming-attribute-may-lose-other-values",
        "A value of the naming attribute that is not in the RDN can be removed.",
        |it| {
            let ada = it.person("ada", &[("uid", "ada"), ("uid", "countess")])?;
            it.modify(&ada, &[Modification::delete("uid", &["countess"])])?
                .ok()?;
            it.finds("(uid=countess)", "")
        },
    );
}

fn refusals(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.6");
    let rows: [(&str, &str, Change, ResultCode); 4] = [
        (
            "unknown-type",
            "A type nobody defined is undefinedAttributeType.",
            || Modification::add("noSuchType", &["x"]),
            ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
        ),
        (
            "wrong-syntax",
            "A value that is none of the syntax is invalidAttributeSyntax.",
            || Modification::add("seeAlso", &["no name"]),
            ResultCode::INVALID_ATTRIBUTE_SYNTAX,
        ),
        (
            "second-single-value",
            "A second value of a single-valued type is constraintViolation.",
            || Modification::add("preferredLanguage", &["de", "en"]),
            ResultCode::CONSTRAINT_VIOLATION,
        ),
        (
            "unknown-class",
            "A class nobody defined is invalidAttributeSyntax or a violation.",
            || Modification::add("objectClass", &["noSuchClass"]),
            ResultCode::INVALID_ATTRIBUTE_SYNTAX,
        ),
    ];
    for (words, text, change, code) in rows {
        section.clause(format_args!("{words}-is-refused"), text, move |it| {
            let ada = ada(it)?;
            it.modify(&ada, &[change()])?.is(code).map(|_| ())
        });
    }
    section.clause(
        "attribute-the-classes-do-not-allow",
        "An attribute that the classes do not allow is objectClassViolation.",
        |it| {
            let ada = ada(it)?;
            let change = Modification::add("serialNumber", &["1"]);
            it.modify(&ada, &[change])?
                .is(ResultCode::OBJECT_CLASS_VIOLATION)
                .map(|_| ())
        },
    );
    section.clause(
        "aliases-are-not-followed",
        "modify changes the alias entry itself.",
        |it| {
            let ada = ada(it)?;
            let classes = [
                ("objectClass", "alias"),
                ("objectClass", "extensibleObject"),
            ];
            let more = [("aliasedObjectName", ada.as_str())];
            let name = it.put("cn=countess", &[&classes[..], &more].concat())?;
            it.modify(&name, &[Modification::add("description", &["x"])])?
                .ok()?;
            it.finds("(description=x)", "countess")
        },
    );
}

fn further_refusals(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.6");
    section.clause(
        "name-that-is-none",
        "A name that is none is invalidDNSyntax.",
        |it| {
            let change = Modification::add("title", &["x"]);
            it.modify("no name", &[change])?
                .is(ResultCode::INVALID_DN_SYNTAX)
                .map(|_| ())
        },
    );
}
