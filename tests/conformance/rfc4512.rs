//! RFC 4512: entries, classes, attribute options, operational attributes, subschema, root DSE; and
//! the related RFC 4530, 5020, 3673, 4529 and 3866.

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    entries(book);
    classes(book);
    implied_classes(book);
    structure(book);
    auxiliary_classes(book);
    values(book);
    operational(book);
    operational_closed(book);
    operational_selection(book);
    subschema(book);
    root_dse(book);
    root_dse_limits(book);
}

fn entries(book: &mut Book) {
    let mut section = book.section("rfc4512", "2.3.2");
    section.clause(
        "rdn-of-several-values-is-one-name",
        "An RDN of two values is not an RDN of one of them.",
        |it| {
            it.put(
                "cn=Two+sn=Fold",
                &[("objectClass", "person"), ("cn", "Two"), ("sn", "Fold")],
            )?;
            let home = it.home()?;
            it.is_gone(&format!("cn=Two,{home}"))
        },
    );
    section.clause(
        "siblings-differ-in-their-rdn",
        "Two siblings cannot have the same RDN, whatever the order of its values.",
        |it| {
            let more = [("objectClass", "person"), ("cn", "Two"), ("sn", "Fold")];
            it.put("cn=Two+sn=Fold", &more)?;
            let again = it.add("sn=fold+cn=two", &more)?;
            again.is(ResultCode::ENTRY_ALREADY_EXISTS).map(|_| ())
        },
    );
    section.clause(
        "cousins-may-have-the-same-rdn",
        "Entries below different superiors may have the same RDN.",
        |it| {
            it.unit("a")?;
            it.unit("b")?;
            it.put("uid=ada,ou=a", &person("ada", &[]))?;
            it.put("uid=ada,ou=b", &person("ada", &[])).map(|_| ())
        },
    );
    let mut section = book.section("rfc4512", "2.6");
    section.clause(
        "alias-has-a-target",
        "An alias without aliasedObjectName is objectClassViolation.",
        |it| {
            let classes = [
                ("objectClass", "alias"),
                ("objectClass", "extensibleObject"),
            ];
            let outcome = it.add("cn=lost", &classes)?;
            outcome.is(ResultCode::OBJECT_CLASS_VIOLATION).map(|_| ())
        },
    );
}

fn classes(book: &mut Book) {
    let mut section = book.section("rfc4512", "2.4");
    section.clause(
        "required-attributes",
        "An entry has what its classes require: objectClassViolation otherwise.",
        |it| {
            let outcome = it.add("cn=x", &[("objectClass", "person")])?;
            outcome.is(ResultCode::OBJECT_CLASS_VIOLATION).map(|_| ())
        },
    );
    section.clause(
        "required-attributes-of-superclasses",
        "What a superclass requires is required too.",
        |it| {
            let outcome = it.add("cn=x", &[("objectClass", "inetOrgPerson")])?;
            outcome.is(ResultCode::OBJECT_CLASS_VIOLATION).map(|_| ())
        },
    );
    section.clause(
        "allowed-attributes-only",
        "An entry has nothing that its classes do not allow.",
        |it| {
            let outcome = it.add("cn=x", &[("objectClass", "device"), ("sn", "x")])?;
            outcome.is(ResultCode::OBJECT_CLASS_VIOLATION).map(|_| ())
        },
    );
    section.clause(
        "unknown-class",
        "A class that nobody defined is refused.",
        |it| {
            let classes = [("objectClass", "device"), ("objectClass", "noSuchClass")];
            let outcome = it.add("cn=x", &classes)?;
            let right = [
                ResultCode::INVALID_ATTRIBUTE_SYNTAX,
                ResultCode::OBJECT_CLASS_VIOLATION,
            ];
            outcome.is_one_of(&right).map(|_| ())
        },
    );
    section.clause(
        "classes-know-no-case",
        "Names of classes know no case.",
        |it| it.put("cn=x", &[("objectClass", "DEVICE")]).map(|_| ()),
    );
    section.clause("classes-by-oid", "A class may be given by its OID.", |it| {
        it.put("cn=x", &[("objectClass", "2.5.6.14")])?;
        it.finds("(objectClass=device)", "x")
    });
    let mut section = book.section("rfc4512", "3.3");
    section.clause(
        "superclasses-are-implied",
        "An entry belongs to the superclasses of its classes, named or not.",
        |it| {
            it.put("cn=x", &[("objectClass", "inetOrgPerson"), ("sn", "x")])?;
            it.finds("(&(cn=x)(objectClass=organizationalPerson))", "x")
        },
    );
}

fn implied_classes(book: &mut Book) {
    let mut section = book.section("rfc4512", "4.3");
    section.clause(
        "extensible-object-allows-any-user-attribute",
        "An extensibleObject may have any user attribute.",
        |it| {
            let classes = [
                ("objectClass", "device"),
                ("objectClass", "extensibleObject"),
            ];
            it.put("cn=x", &[&classes[..], &[("mail", "a@b")]].concat())
                .map(|_| ())
        },
    );
    section.clause(
        "extensible-object-does-not-excuse-requirements",
        "An extensibleObject still has what its other classes require.",
        |it| {
            let classes = [
                ("objectClass", "person"),
                ("objectClass", "extensibleObject"),
            ];
            it.add("cn=x", &classes)?
                .is(ResultCode::OBJECT_CLASS_VIOLATION)
                .map(|_| ())
        },
    );
}

fn structure(book: &mut Book) {
    let mut section = book.section("rfc4512", "2.4.2");
    for (words, classes) in [
        ("abstract-only", &["top"][..]),
        ("auxiliary-only", &["uidObject"]),
        ("two-chains", &["person", "device"]),
    ] {
        section.clause(
            format_args!("one-structural-class-{words}"),
            format_args!(
                "An entry of {} has no structural class of its own.",
                classes.join(", ")
            ),
            move |it| {
                let mut all: Vec<(&str, &str)> =
                    classes.iter().map(|it| ("objectClass", *it)).collect();
                all.extend([("sn", "x"), ("uid", "x")]);
                let outcome = it.add("cn=x", &all)?;
                outcome.is(ResultCode::OBJECT_CLASS_VIOLATION).map(|_| ())
            },
        );
    }
    section.clause(
        "structural-class-does-not-change",
        "The structural class of an entry cannot be changed: objectClassModsProhibited.",
        |it| {
            let name = it.put("cn=x", &[("objectClass", "person"), ("sn", "x")])?;
            let change = Modification::add("objectClass", &["inetOrgPerson"]);
            let outcome = it.modify(&name, &[change])?;
            outcome
                .is(ResultCode::OBJECT_CLASS_MODS_PROHIBITED)
                .map(|_| ())
        },
    );
    let mut section = book.section("rfc4512", "2.4.3");
    section.clause(
        "auxiliary-classes-come",
        "An auxiliary class can be added to an entry, with what it requires.",
        |it| {
            let name = it.put("cn=x", &[("objectClass", "person"), ("sn", "x")])?;
            let changes = [
                Modification::add("objectClass", &["uidObject"]),
                Modification::add("uid", &["x"]),
            ];
            it.modify(&name, &changes)?.ok().map(|_| ())
        },
    );
}

fn auxiliary_classes(book: &mut Book) {
    let mut section = book.section("rfc4512", "2.4.3");
    section.clause(
        "auxiliary-classes-go",
        "An auxiliary class can be removed from an entry, with its attributes.",
        |it| {
            let classes = [("objectClass", "person"), ("objectClass", "uidObject")];
            let name = it.put(
                "cn=x",
                &[&classes[..], &[("sn", "x"), ("uid", "x")]].concat(),
            )?;
            let changes = [
                Modification::delete("objectClass", &["uidObject"]),
                Modification::delete("uid", &[]),
            ];
            it.modify(&name, &changes)?.ok().map(|_| ())
        },
    );
    section.clause(
        "auxiliary-class-is-needed-for-its-attributes",
        "Removing an auxiliary class and leaving its attributes is objectClassViolation.",
        |it| {
            let classes = [("objectClass", "person"), ("objectClass", "uidObject")];
            let name = it.put(
                "cn=x",
                &[&classes[..], &[("sn", "x"), ("uid", "x")]].concat(),
            )?;
            let change = Modification::delete("objectClass", &["uidObject"]);
            let outcome = it.modify(&name, &[change])?;
            outcome.is(ResultCode::OBJECT_CLASS_VIOLATION).map(|_| ())
        },
    );
}

fn values(book: &mut Book) {
    let mut section = book.section("rfc4512", "2.2");
    section.clause(
        "values-are-a-set",
        "The values of an attribute differ under its equality rule.",
        |it| {
            let twice = person("ada", &[("description", "same"), ("description", "SAME")]);
            let outcome = it.add("uid=ada", &twice)?;
            outcome
                .is(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS)
                .map(|_| ())
        },
    );
    let mut section = book.section("rfc4512", "2.5.1");
    section.clause(
        "single-valued-on-add",
        "A single-valued attribute with two values is constraintViolation.",
        |it| {
            let twice = person("ada", &[("employeeNumber", "1"), ("employeeNumber", "2")]);
            let outcome = it.add("uid=ada", &twice)?;
            outcome.is(ResultCode::CONSTRAINT_VIOLATION).map(|_| ())
        },
    );
    section.clause(
        "single-valued-on-modify",
        "A second value of a single-valued attribute is constraintViolation.",
        |it| {
            let ada = it.person("ada", &[("employeeNumber", "1")])?;
            let change = Modification::add("employeeNumber", &["2"]);
            it.modify(&ada, &[change])?
                .is(ResultCode::CONSTRAINT_VIOLATION)
                .map(|_| ())
        },
    );
    section.clause(
        "subtypes-are-found-by-their-supertype",
        "A supertype in a filter stands for its subtypes, a subtype not for its supertype.",
        |it| {
            it.person("ada", &[("givenName", "only")])?;
            it.finds("(&(uid=*)(name=only))", "ada")?;
            it.finds("(&(uid=*)(sn=only))", "")
        },
    );
}

fn operational(book: &mut Book) {
    let mut section = book.section("rfc4512", "3.4");
    section.clause(
        "creator-is-kept",
        "creatorsName is who added the entry.",
        |it| {
            let ada = it.person("ada", &[])?;
            let (admin, _) = it.site.administrator()?;
            equal_name(
                &it.get(&ada, &["creatorsName"])?.value("creatorsName")?,
                admin,
            )
        },
    );
    section.clause(
        "modifier-is-kept",
        "modifiersName is who changed the entry last.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let mut session = it.bound(&ada, "ada")?;
            let change = Modification::replace("userPassword", &["new"]);
            let outcome = session.modify(&ada, &[change], &[])?;
            if outcome.code == ResultCode::INSUFFICIENT_ACCESS_RIGHTS {
                return Err(Finding::NotOffered(
                    "the right to change one's own password".into(),
                ));
            }
            outcome.ok()?;
            equal_name(
                &it.get(&ada, &["modifiersName"])?.value("modifiersName")?,
                &ada,
            )
        },
    );
    section.clause(
        "create-timestamp-stays",
        "createTimestamp does not change with the entry.",
        |it| {
            let ada = it.person("ada", &[])?;
            let before = it
                .get(&ada, &["createTimestamp"])?
                .value("createTimestamp")?;
            it.modify(&ada, &[Modification::add("title", &["x"])])?
                .ok()?;
            let after = it
                .get(&ada, &["createTimestamp"])?
                .value("createTimestamp")?;
            equal(after, before, "createTimestamp")
        },
    );
}

fn operational_closed(book: &mut Book) {
    let mut section = book.section("rfc4512", "3.4");
    section.clause(
        "modify-timestamp-is-not-before-create-timestamp",
        "modifyTimestamp is at or after createTimestamp.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.modify(&ada, &[Modification::add("title", &["x"])])?
                .ok()?;
            let entry = it.get(&ada, &["createTimestamp", "modifyTimestamp"])?;
            let (created, modified) = (
                entry.value("createTimestamp")?,
                entry.value("modifyTimestamp")?,
            );
            ensure(
                modified >= created,
                format_args!("at or after {created}"),
                modified,
            )
        },
    );
    for name in [
        "creatorsName",
        "createTimestamp",
        "modifiersName",
        "modifyTimestamp",
    ] {
        let value = if name.ends_with("Name") {
            "cn=x"
        } else {
            "20000101000000Z"
        };
        section.clause(
            format_args!("{}-is-closed-to-modify", name.to_lowercase()),
            format_args!("A client cannot change {name}: constraintViolation."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let change = Modification::replace(name, &[value]);
                it.modify(&ada, &[change])?
                    .is(ResultCode::CONSTRAINT_VIOLATION)
                    .map(|_| ())
            },
        );
        section.clause(
            format_args!("{}-is-closed-to-add", name.to_lowercase()),
            format_args!("A client cannot add an entry with a {name}: constraintViolation."),
            move |it| {
                let outcome = it.add("uid=ada", &person("ada", &[(name, value)]))?;
                outcome.is(ResultCode::CONSTRAINT_VIOLATION).map(|_| ())
            },
        );
    }
}

fn operational_selection(book: &mut Book) {
    let mut section = book.section("rfc4512", "3.4.5");
    section.clause(
        "structural-object-class",
        "structuralObjectClass is the most specific structural class.",
        |it| {
            let ada = it.person("ada", &[])?;
            let select = ["structuralObjectClass"];
            let class = it.get(&ada, &select)?.value("structuralObjectClass")?;
            equal(class.to_lowercase().as_str(), "inetorgperson", "the class")
        },
    );
    let mut section = book.section("rfc3673", "2");
    section
        .clause(
            "plus-is-all-operational-attributes",
            "`+` selects operational attributes and no user attributes.",
            |it| {
                let ada = it.person("ada", &[("mail", "a@b")])?;
                let entry = it.get(&ada, &["+"])?;
                ensure(entry.has("createTimestamp"), "createTimestamp", &entry)?;
                ensure(!entry.has("mail"), "no mail", &entry)
            },
        )
        .needs(Need::Feature(oid::ALL_OPERATIONAL_ATTRIBUTES));
    section
        .clause(
            "plus-and-star-are-everything",
            "`*` and `+` together select both.",
            |it| {
                let ada = it.person("ada", &[("mail", "a@b")])?;
                let entry = it.get(&ada, &["*", "+"])?;
                let both = entry.has("createTimestamp") && entry.has("mail");
                ensure(both, "createTimestamp and mail", &entry)
            },
        )
        .needs(Need::Feature(oid::ALL_OPERATIONAL_ATTRIBUTES));
}

fn subschema(book: &mut Book) {
    let mut section = book.section("rfc4512", "4.2");
    section.clause(
        "subschema-subentry-of-an-entry",
        "Every entry names its subschema, which can be read with (objectClass=subschema).",
        |it| {
            let ada = it.person("ada", &[])?;
            let name = it
                .get(&ada, &["subschemaSubentry"])?
                .value("subschemaSubentry")?;
            let filter = "(objectClass=subschema)";
            it.search(&name, Scope::BaseObject, filter, &["1.1"])?
                .one()
                .map(|_| ())
        },
    );
    for (attribute, part) in [
        ("objectClasses", "2.5.6.6 "),
        ("attributeTypes", "2.5.4.3 "),
        ("ldapSyntaxes", "1.3.6.1.4.1.1466.115.121.1.15"),
        ("matchingRules", "2.5.13.2 "),
        ("matchingRuleUse", "2.5.13.2 "),
    ] {
        section.clause(
            format_args!("subschema-has-{}", attribute.to_lowercase()),
            format_args!("The subschema publishes {attribute}."),
            move |it| {
                let mut session = it.session()?;
                let select = ["subschemaSubentry"];
                let root = session
                    .search("", Scope::BaseObject, EVERYTHING, &select)?
                    .one()?;
                let name = root.value("subschemaSubentry")?;
                let entry = session
                    .search(&name, Scope::BaseObject, EVERYTHING, &[attribute])?
                    .one()?;
                let there = entry.texts(attribute).iter().any(|it| it.contains(part));
                ensure(
                    there,
                    format_args!("{part} in {attribute}"),
                    entry.texts(attribute).len(),
                )
            },
        );
    }
    section.clause(
        "subschema-attributes-are-operational",
        "The definitions come when asked for by name, not as user attributes.",
        |it| {
            let mut session = it.session()?;
            let select = ["subschemaSubentry"];
            let root = session
                .search("", Scope::BaseObject, EVERYTHING, &select)?
                .one()?;
            let name = root.value("subschemaSubentry")?;
            let entry = session
                .search(&name, Scope::BaseObject, EVERYTHING, &["*"])?
                .one()?;
            ensure(
                !entry.has("attributeTypes"),
                "no attributeTypes",
                "attributeTypes",
            )
        },
    );
}

fn root_dse(book: &mut Book) {
    let mut section = book.section("rfc4512", "5.1");
    section.clause(
        "root-dse-is-read-by-anyone",
        "The root DSE is read with an empty base, anonymously.",
        |it| {
            let mut session = it.session()?;
            let root = session
                .search("", Scope::BaseObject, EVERYTHING, &["*", "+"])?
                .one()?;
            equal(root.name.as_str(), "", "its name")
        },
    );
    section.clause(
        "root-dse-knows-version-3",
        "supportedLDAPVersion has 3.",
        |it| {
            let mut session = it.session()?;
            let select = ["supportedLDAPVersion"];
            let root = session
                .search("", Scope::BaseObject, EVERYTHING, &select)?
                .one()?;
            let there = root
                .texts("supportedLDAPVersion")
                .iter()
                .any(|it| it == "3");
            ensure(there, "3", root.texts("supportedLDAPVersion"))
        },
    );
    section.clause(
        "root-dse-names-its-contexts",
        "namingContexts has the context of the base, which can be read.",
        |it| {
            let base = it.site.base().to_lowercase();
            let contexts = &it.site.offers.naming_contexts;
            let above = contexts.iter().any(|it| base.ends_with(&it.to_lowercase()));
            ensure(above, format_args!("a context of {base}"), contexts)
        },
    );
    section.clause(
        "root-dse-is-in-no-subtree",
        "The root DSE is not returned by a search below it.",
        |it| {
            let home = it.home()?;
            let found = it
                .search(&home, Scope::WholeSubtree, EVERYTHING, &["1.1"])?
                .ok()?;
            ensure(
                found.entries.iter().all(|it| !it.name.is_empty()),
                "no root DSE",
                "the root DSE",
            )
        },
    );
}

fn root_dse_limits(book: &mut Book) {
    let mut section = book.section("rfc4512", "5.1");
    section.clause(
        "root-dse-attributes-are-operational",
        "namingContexts and the like come when asked for, not as user attributes.",
        |it| {
            let mut session = it.session()?;
            let root = session
                .search("", Scope::BaseObject, EVERYTHING, &["*"])?
                .one()?;
            ensure(!root.has("namingContexts"), "no namingContexts", &root)
        },
    );
    section.clause(
        "root-dse-is-filtered",
        "A filter that the root DSE does not match finds nothing.",
        |it| {
            let mut session = it.session()?;
            let found = session.search("", Scope::BaseObject, "(cn=no such root)", &[])?;
            found.ok()?.count(0).map(|_| ())
        },
    );
    section.clause(
        "root-dse-is-not-deleted",
        "The root DSE cannot be deleted.",
        |it| it.delete("")?.refused().map(|_| ()),
    );
    section.clause(
        "root-dse-oids-are-oids",
        "What the root DSE lists as controls, extensions and features are OIDs.",
        |it| {
            let offers = &it.site.offers;
            for oid in [&offers.controls, &offers.extensions, &offers.features]
                .into_iter()
                .flatten()
            {
                // Arcs made from UUIDs have up to 39 digits.
                let number =
                    |arc: &str| !arc.is_empty() && arc.bytes().all(|it| it.is_ascii_digit());
                let digits = oid.split('.').all(number);
                ensure(digits, "an OID", oid)?;
            }
            Ok(())
        },
    );
}
