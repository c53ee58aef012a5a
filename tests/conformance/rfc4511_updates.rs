//! RFC 4511 §4.7 to §4.14: add, delete, modify DN, compare, abandon, extended operations.

use crate::prelude::*;

use crate::rfc4511_search::people;

pub(crate) fn clauses(book: &mut Book) {
    add(book);
    add_leaves_nothing(book);
    add_names(book);
    delete(book);
    compare(book);
    compare_refusals(book);
    abandon(book);
    extended(book);
}

fn add(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.7");
    section.clause(
        "added-entry-is-there",
        "An added entry has exactly the attributes that were sent.",
        |it| {
            let ada = it.person("ada", &[("title", "x"), ("mail", "a@b")])?;
            let entry = it.get(&ada, &["*"])?;
            let mut names: Vec<String> = entry
                .attributes
                .iter()
                .map(|it| it.0.to_lowercase())
                .collect();
            names.sort();
            equal(
                names.join(" ").as_str(),
                "cn mail objectclass sn title uid",
                "attributes",
            )
        },
    );
    section.clause(
        "entry-must-not-exist",
        "An entry of that name must not exist: entryAlreadyExists.",
        |it| {
            it.person("ada", &[])?;
            let again = it.add("uid=ada", &person("ada", &[]))?;
            again.is(ResultCode::ENTRY_ALREADY_EXISTS).map(|_| ())
        },
    );
    section.clause(
        "entry-must-not-exist-in-any-spelling",
        "The same in another spelling of the name.",
        |it| {
            it.person("ada", &[])?;
            let again = it.add("UID=ADA", &person("ada", &[]))?;
            again.is(ResultCode::ENTRY_ALREADY_EXISTS).map(|_| ())
        },
    );
    section.clause(
        "superior-must-exist",
        "The superior must exist: noSuchObject.",
        |it| {
            let orphan = it.add("uid=ada,ou=nowhere", &person("ada", &[]))?;
            orphan.is(ResultCode::NO_SUCH_OBJECT).map(|_| ())
        },
    );
}

fn add_leaves_nothing(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.7");
    section.clause(
        "aliases-above-are-not-followed",
        "Aliases are not followed while adding: the superior is the alias itself.",
        |it| {
            let unit = it.unit("people")?;
            let classes = [
                ("objectClass", "alias"),
                ("objectClass", "extensibleObject"),
            ];
            let more = [("aliasedObjectName", unit.as_str())];
            it.put("cn=folk", &[&classes[..], &more].concat())?;
            it.add("uid=ada,cn=folk", &person("ada", &[]))?.refused()?;
            it.is_gone(&format!("uid=ada,{unit}"))
        },
    );
    section.clause(
        "refused-add-leaves-nothing",
        "An add that is refused leaves nothing behind.",
        |it| {
            let name = format!("uid=ada,{}", it.home()?);
            let wrong = person("ada", &[("serialNumber", "1")]);
            it.add("uid=ada", &wrong)?
                .is(ResultCode::OBJECT_CLASS_VIOLATION)?;
            it.is_gone(&name)
        },
    );
    section.clause(
        "attribute-without-values-is-refused",
        "An attribute of an add has at least one value.",
        |it| {
            let mut entry = it.draft("uid=ada", &person("ada", &[]))?;
            entry.attributes.push(("title".to_owned(), Vec::new()));
            let name = entry.name.clone();
            it.admin()?.add(&entry, &[])?.refused()?;
            it.is_gone(&name)
        },
    );
}

fn add_names(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.7");
    section.clause(
        "naming-values-come-along",
        "An entry whose attributes lack the RDN's value gets it, or is a namingViolation.",
        |it| {
            let entry = Entry {
                name: format!("uid=ada,{}", it.home()?),
                ..it.draft("uid=other", &person("ada", &[]))?
            };
            let outcome = it.admin()?.add(&entry, &[])?;
            if outcome.code == ResultCode::NAMING_VIOLATION {
                return Ok(());
            }
            outcome.ok()?;
            it.finds("(uid=ada)", "ada")
        },
    );
    section.clause(
        "name-that-is-none",
        "A name that is none is invalidDNSyntax.",
        |it| {
            let entry = Entry {
                name: "no name".to_owned(),
                ..it.draft("uid=ada", &person("ada", &[]))?
            };
            let outcome = it.admin()?.add(&entry, &[])?;
            outcome.is(ResultCode::INVALID_DN_SYNTAX).map(|_| ())
        },
    );
    section.clause(
        "unknown-naming-type",
        "A naming attribute that nobody defined is refused.",
        |it| {
            let outcome = it.add("noSuchType=x", &[("objectClass", "device"), ("cn", "x")])?;
            let right = [
                ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
                ResultCode::INVALID_DN_SYNTAX,
                ResultCode::NAMING_VIOLATION,
                ResultCode::OBJECT_CLASS_VIOLATION,
            ];
            outcome.is_one_of(&right).map(|_| ())
        },
    );
    section.clause(
        "no-object-class",
        "An entry without objectClass is objectClassViolation.",
        |it| {
            let outcome = it.add("cn=x", &[])?;
            outcome.is(ResultCode::OBJECT_CLASS_VIOLATION).map(|_| ())
        },
    );
    section.clause(
        "unknown-type",
        "An attribute type that nobody defined is undefinedAttributeType.",
        |it| {
            let outcome = it.add("uid=ada", &person("ada", &[("noSuchType", "x")]))?;
            outcome.is(ResultCode::UNDEFINED_ATTRIBUTE_TYPE).map(|_| ())
        },
    );
    section.clause(
        "value-of-the-wrong-syntax",
        "A value that is none of its syntax is invalidAttributeSyntax.",
        |it| {
            let outcome = it.add("uid=ada", &person("ada", &[("manager", "no name")]))?;
            outcome.is(ResultCode::INVALID_ATTRIBUTE_SYNTAX).map(|_| ())
        },
    );
}

fn delete(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.8");
    section.clause(
        "deleted-entry-is-gone",
        "A deleted entry is gone; deleting it again is noSuchObject.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.delete(&ada)?.ok()?;
            it.is_gone(&ada)?;
            it.delete(&ada)?.is(ResultCode::NO_SUCH_OBJECT).map(|_| ())
        },
    );
    section.clause(
        "only-leaves-are-deleted",
        "An entry with entries below it is notAllowedOnNonLeaf.",
        |it| {
            let unit = people(it)?;
            it.delete(&unit)?.is(ResultCode::NOT_ALLOWED_ON_NON_LEAF)?;
            it.exists(&unit)
        },
    );
    section.clause(
        "emptied-entry-is-a-leaf-again",
        "An entry can be deleted once nothing is below it.",
        |it| {
            let unit = it.unit("people")?;
            it.put("uid=ada,ou=people", &person("ada", &[]))?;
            it.delete(&format!("uid=ada,{unit}"))?.ok()?;
            it.delete(&unit)?.ok().map(|_| ())
        },
    );
    section.clause(
        "alias-itself-is-deleted",
        "Deleting an alias deletes it, not what it points to.",
        |it| {
            let ada = it.person("ada", &[])?;
            let classes = [
                ("objectClass", "alias"),
                ("objectClass", "extensibleObject"),
            ];
            let more = [("aliasedObjectName", ada.as_str())];
            let name = it.put("cn=countess", &[&classes[..], &more].concat())?;
            it.delete(&name)?.ok()?;
            it.exists(&ada)
        },
    );
    section.clause(
        "name-that-is-none",
        "A name that is none is invalidDNSyntax.",
        |it| {
            it.delete("no name")?
                .is(ResultCode::INVALID_DN_SYNTAX)
                .map(|_| ())
        },
    );
    section.clause(
        "name-is-free-again",
        "The name of a deleted entry can be used again.",
        |it| {
            let ada = it.person("ada", &[("title", "old")])?;
            it.delete(&ada)?.ok()?;
            it.person("ada", &[])?;
            ensure(
                !it.get(&ada, &["title"])?.has("title"),
                "no title",
                "the old one",
            )
        },
    );
}

/// Rows of words, statement, attribute, assertion, and result.
const COMPARES: &[(&str, &str, &str, &str, ResultCode)] = &[
    (
        "true",
        "An equal value is compareTrue.",
        "cn",
        "ada",
        ResultCode::COMPARE_TRUE,
    ),
    (
        "by-the-equality-rule",
        "Equality is the type's rule: case may not count.",
        "cn",
        "  ADA ",
        ResultCode::COMPARE_TRUE,
    ),
    (
        "exactly-where-the-rule-says-so",
        "Equality is the type's rule: case may count.",
        "labeledURI",
        "http://example.com/a",
        ResultCode::COMPARE_FALSE,
    ),
    (
        "false",
        "No equal value is compareFalse.",
        "cn",
        "grace",
        ResultCode::COMPARE_FALSE,
    ),
    (
        "any-of-several-values",
        "One equal value of several suffices.",
        "title",
        "two",
        ResultCode::COMPARE_TRUE,
    ),
    (
        "missing-attribute",
        "An attribute that is not there is noSuchAttribute.",
        "pager",
        "1",
        ResultCode::NO_SUCH_ATTRIBUTE,
    ),
    (
        "unknown-type",
        "A type nobody defined is undefinedAttributeType.",
        "noSuchType",
        "x",
        ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
    ),
    (
        "supertype",
        "A supertype stands for its subtypes.",
        "name",
        "ada",
        ResultCode::COMPARE_TRUE,
    ),
    (
        "type-by-oid",
        "The type may be given by its OID.",
        "2.5.4.3",
        "ada",
        ResultCode::COMPARE_TRUE,
    ),
    (
        "object-class",
        "objectClass compares by OID or name.",
        "objectClass",
        "2.5.6.6",
        ResultCode::COMPARE_TRUE,
    ),
    (
        "superclass",
        "An implied superclass is a value of objectClass.",
        "objectClass",
        "top",
        ResultCode::COMPARE_TRUE,
    ),
    (
        "wrong-syntax",
        "An assertion that is none of the syntax is invalidAttributeSyntax.",
        "seeAlso",
        "no name",
        ResultCode::INVALID_ATTRIBUTE_SYNTAX,
    ),
];

fn compare(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.10");
    for (words, text, attribute, value, code) in COMPARES {
        let clause = section.clause(words, text, move |it| {
            let home = it.home()?;
            let more = [
                ("title", "one"),
                ("title", "two"),
                ("labeledURI", "http://example.com/A"),
                ("seeAlso", home.as_str()),
            ];
            let ada = it.person("ada", &more)?;
            it.compare(&ada, attribute, value)?.is(*code).map(|_| ())
        });
        if *attribute == "labeledURI" {
            clause.needs(Need::Type("labeledURI"));
        }
    }
}

fn compare_refusals(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.10");
    section.clause(
        "password",
        "userPassword is an octet string: its bytes are compared, or its hash is checked.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            it.compare(&ada, "userPassword", "ada")?
                .is(ResultCode::COMPARE_TRUE)?;
            it.compare(&ada, "userPassword", "ADA")?
                .is(ResultCode::COMPARE_FALSE)
                .map(|_| ())
        },
    );
    section.clause(
        "password-with-an-option",
        "A description with an option is about values with it, for passwords as for all others.",
        |it| {
            let passwords = [("userPassword", "one"), ("userPassword;lang-de", "two")];
            let ada = it.person("ada", &passwords)?;
            it.compare(&ada, "userPassword;lang-de", "two")?
                .is(ResultCode::COMPARE_TRUE)?;
            it.compare(&ada, "userPassword;lang-de", "one")?
                .is(ResultCode::COMPARE_FALSE)
                .map(|_| ())
        },
    );
    section.clause(
        "entry-must-exist",
        "A compare with a missing entry is noSuchObject.",
        |it| {
            let nobody = format!("uid=nobody,{}", it.home()?);
            it.compare(&nobody, "cn", "x")?
                .is(ResultCode::NO_SUCH_OBJECT)
                .map(|_| ())
        },
    );
    section.clause(
        "name-that-is-none",
        "A name that is none is invalidDNSyntax.",
        |it| {
            it.compare("no name", "cn", "x")?
                .is(ResultCode::INVALID_DN_SYNTAX)
                .map(|_| ())
        },
    );
    section.clause(
        "aliases-are-not-followed",
        "A compare looks at the alias itself.",
        |it| {
            let ada = it.person("ada", &[])?;
            let classes = [
                ("objectClass", "alias"),
                ("objectClass", "extensibleObject"),
            ];
            let more = [("aliasedObjectName", ada.as_str())];
            let name = it.put("cn=countess", &[&classes[..], &more].concat())?;
            it.compare(&name, "cn", "countess")?
                .is(ResultCode::COMPARE_TRUE)
                .map(|_| ())
        },
    );
}

fn abandon(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.11");
    section.clause(
        "abandon-has-no-response",
        "An abandon of an unknown id has no response, and the session goes on.",
        |it| {
            let ada = it.person("ada", &[])?;
            let admin = it.admin()?;
            admin.send(&Request::Abandon(4711), &[])?;
            admin
                .search(&ada, Scope::BaseObject, EVERYTHING, &[])?
                .one()
                .map(|_| ())
        },
    );
    section.clause(
        "abandon-of-what-has-ended",
        "An abandon of an operation that has ended is ignored.",
        |it| {
            let ada = it.person("ada", &[])?;
            let admin = it.admin()?;
            let id = admin.send_search(&ada, Scope::BaseObject, EVERYTHING, &[], &[], |_| {})?;
            admin.finish(id)?;
            admin.send(&Request::Abandon(id), &[])?;
            admin
                .search(&ada, Scope::BaseObject, EVERYTHING, &[])?
                .one()
                .map(|_| ())
        },
    );
    section.clause(
        "abandoned-search-does-not-hold-up-the-session",
        "After an abandon the session serves the next operation.",
        |it| {
            let unit = people(it)?;
            let admin = it.admin()?;
            let scope = Scope::WholeSubtree;
            let search = admin.send_search(&unit, scope, EVERYTHING, &["*"], &[], |_| {})?;
            admin.send(&Request::Abandon(search), &[])?;
            let next = admin.send_search(&unit, Scope::BaseObject, EVERYTHING, &[], &[], |_| {})?;
            loop {
                let (id, event) = admin.receive()?;
                if let (true, Event::Done(outcome)) = (id == next, event) {
                    return outcome.ok().map(|_| ());
                }
            }
        },
    );
}

fn extended(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.12");
    section.clause(
        "unknown-operation-is-a-protocol-error",
        "An extended operation nobody knows is protocolError.",
        |it| {
            let outcome = it.session()?.extended("1.2.3.4.5.6.7", Some(b"x"), &[])?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
    section.clause(
        "session-goes-on-after-an-unknown-operation",
        "An unknown extended operation does not end the session.",
        |it| {
            let mut session = it.session()?;
            session.extended("1.2.3.4.5.6.7", None, &[])?;
            session
                .search("", Scope::BaseObject, EVERYTHING, &["1.1"])?
                .ok()
                .map(|_| ())
        },
    );
    section.clause(
        "name-that-is-no-oid",
        "An extended operation whose name is no OID is protocolError.",
        |it| {
            let outcome = it.session()?.extended("no oid", None, &[])?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
    let mut section = book.section("rfc4511", "4.14.1");
    section
        .clause(
            "starttls-has-no-value",
            "StartTLS with a value is protocolError.",
            |it| {
                let outcome = it.session()?.extended(oid::START_TLS, Some(b"x"), &[])?;
                outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
            },
        )
        .needs(Need::Extension(oid::START_TLS));
}
