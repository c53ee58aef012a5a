//! RFC 4511 §4.5: search: base, scope, aliases, limits, selection, references.

use protocol::SearchRequest;

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    bases(book);
    scopes(book);
    scope_depths(book);
    aliases(book);
    aliases_above(book);
    alias_by_oid(book);
    alias_problems(book);
    selection(book);
    operational_selection(book);
    entries(book);
}

/// Adds Ada, Grace and Edsger below a unit `people`; returns the unit's name.
pub(crate) fn people(it: &mut Case<'_>) -> Result<String, Finding> {
    let unit = it.unit("people")?;
    let ada = [
        ("description", "Wrote the first program"),
        ("givenName", "Ada"),
    ];
    let edsger = [
        ("description", "Goto considered"),
        ("description", "The humble programmer"),
        ("givenName", "Edsger"),
    ];
    for (uid, more) in [("ada", &ada[..]), ("grace", &[]), ("edsger", &edsger[..])] {
        it.put(&format!("uid={uid},ou=people"), &person(uid, more))?;
    }
    Ok(unit)
}

fn bases(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.1");
    section.clause(
        "base-must-exist",
        "A base that does not exist is noSuchObject, not an empty result.",
        |it| {
            let nowhere = format!("ou=nowhere,{}", it.home()?);
            let found = it.search(&nowhere, Scope::WholeSubtree, EVERYTHING, &[])?;
            found.is(ResultCode::NO_SUCH_OBJECT)?.count(0).map(|_| ())
        },
    );
    section.clause(
        "base-must-be-a-name",
        "A base that is no distinguished name is invalidDNSyntax.",
        |it| {
            let found = it.search("no name", Scope::WholeSubtree, EVERYTHING, &[])?;
            found.is(ResultCode::INVALID_DN_SYNTAX).map(|_| ())
        },
    );
    section.clause(
        "base-is-matched-as-a-name",
        "The base is matched as a name: case and spaces around separators do not count.",
        |it| {
            let ada = it.person("ada", &[])?;
            let spelled = ada.to_uppercase().replace(',', " , ");
            let entry = it
                .search(&spelled, Scope::BaseObject, EVERYTHING, &["uid"])?
                .one()?;
            equal(entry.value("uid")?, "ada", "uid")
        },
    );
}

fn scopes(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.2");
    let rows = [
        (
            "base-object-is-the-base-only",
            "baseObject",
            Scope::BaseObject,
            "people",
        ),
        (
            "single-level-is-the-children-only",
            "singleLevel",
            Scope::SingleLevel,
            "ada edsger grace",
        ),
        (
            "whole-subtree-is-the-base-and-all-below",
            "wholeSubtree",
            Scope::WholeSubtree,
            "ada edsger grace people",
        ),
    ];
    for (words, name, scope, expected) in rows {
        section.clause(
            words,
            format_args!("{name} selects among: {expected}."),
            move |it| {
                let unit = people(it)?;
                let found = it.search(&unit, scope, EVERYTHING, &["1.1"])?.ok()?;
                equal(rdn_values(&found).join(" ").as_str(), expected, "entries")
            },
        );
    }
    section.clause(
        "single-level-leaves-out-grandchildren",
        "singleLevel does not look below the children.",
        |it| {
            people(it)?;
            let home = it.home()?;
            let found = it
                .search(&home, Scope::SingleLevel, EVERYTHING, &["1.1"])?
                .ok()?;
            equal(rdn_values(&found).join(" ").as_str(), "people", "entries")
        },
    );
}

fn scope_depths(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.2");
    section.clause(
        "whole-subtree-goes-to-any-depth",
        "wholeSubtree reaches entries many levels below.",
        |it| {
            let mut rdn = String::new();
            for level in 0..8 {
                let dot = if rdn.is_empty() { "" } else { "," };
                rdn = format!("ou=l{level}{dot}{rdn}");
                let name = format!("l{level}");
                it.put(
                    &rdn,
                    &[("objectClass", "organizationalUnit"), ("ou", &name)],
                )?;
            }
            it.finds("(ou=l7)", "l7")
        },
    );
    for (words, scope) in [
        ("single-level", Scope::SingleLevel),
        ("base-object", Scope::BaseObject),
    ] {
        section.clause(
            format_args!("{words}-of-a-leaf"),
            format_args!("{words} of a leaf is success, with its own number of entries."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let count = usize::from(scope == Scope::BaseObject);
                it.search(&ada, scope, EVERYTHING, &["1.1"])?
                    .ok()?
                    .count(count)
                    .map(|_| ())
            },
        );
    }
    section.clause(
        "each-entry-comes-once",
        "An entry that matches in several ways is returned once.",
        |it| {
            people(it)?;
            it.finds("(|(uid=ada)(sn=ada)(cn=a*)(description=*))", "ada edsger")
        },
    );
}

/// Adds an alias `cn=…` below home.
fn alias(it: &mut Case<'_>, rdn: &str, target: &str) -> Result<String, Finding> {
    let classes = [
        ("objectClass", "alias"),
        ("objectClass", "extensibleObject"),
    ];
    it.put(
        rdn,
        &[&classes[..], &[("aliasedObjectName", target)]].concat(),
    )
}

fn found_with(
    it: &mut Case<'_>,
    base: &str,
    scope: Scope,
    deref: DerefAliases,
) -> Result<Found, Finding> {
    it.admin()?
        .search_with(base, scope, EVERYTHING, &["1.1"], &[], |request| {
            request.deref_aliases = deref;
        })
}

fn aliases(book: &mut Book) {
    use DerefAliases::{Always, FindingBaseObject, InSearching, Never};
    let mut section = book.section("rfc4511", "4.5.1.3");
    let below = [
        (
            "never-returns-aliases-below-the-base",
            Never,
            "countess groups",
        ),
        (
            "finding-base-object-leaves-aliases-below-the-base",
            FindingBaseObject,
            "countess groups",
        ),
        (
            "in-searching-follows-aliases-below-the-base",
            InSearching,
            "ada groups",
        ),
        (
            "always-follows-aliases-below-the-base",
            Always,
            "ada groups",
        ),
    ];
    for (words, deref, expected) in below {
        section.clause(
            words,
            format_args!("Below the base, an alias with this choice gives: {expected}."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let groups = it.unit("groups")?;
                alias(it, "cn=countess,ou=groups", &ada)?;
                let found = found_with(it, &groups, Scope::WholeSubtree, deref)?.ok()?;
                equal(rdn_values(&found).join(" ").as_str(), expected, "entries")
            },
        );
    }
}

fn aliases_above(book: &mut Book) {
    use DerefAliases::{Always, FindingBaseObject, InSearching, Never};
    let mut section = book.section("rfc4511", "4.5.1.3");
    let as_base = [
        ("never-takes-an-alias-for-the-base", Never, "countess"),
        (
            "in-searching-takes-an-alias-for-the-base",
            InSearching,
            "countess",
        ),
        (
            "finding-base-object-follows-the-base",
            FindingBaseObject,
            "ada",
        ),
        ("always-follows-the-base", Always, "ada"),
    ];
    for (words, deref, expected) in as_base {
        section.clause(
            words,
            format_args!("An alias as base with this choice gives: {expected}."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let name = alias(it, "cn=countess", &ada)?;
                let found = found_with(it, &name, Scope::BaseObject, deref)?.ok()?;
                equal(rdn_values(&found).join(" ").as_str(), expected, "entries")
            },
        );
    }
    section.clause(
        "alias-in-the-middle-of-the-base",
        "findingBaseObject follows an alias above the base, too.",
        |it| {
            let unit = people(it)?;
            let name = alias(it, "cn=folk", &unit)?;
            let base = format!("uid=ada,{name}");
            let found = found_with(it, &base, Scope::BaseObject, FindingBaseObject)?;
            equal_name(&found.one()?.name, &format!("uid=ada,{unit}"))
        },
    );
    section.clause(
        "subtree-behind-an-alias",
        "A subtree search that follows an alias searches the subtree it points to.",
        |it| {
            people(it)?;
            let groups = it.unit("groups")?;
            let target = format!("ou=people,{}", it.home()?);
            alias(it, "cn=folk,ou=groups", &target)?;
            let found = found_with(it, &groups, Scope::WholeSubtree, InSearching)?.ok()?;
            let expected = "ada edsger grace groups people";
            equal(rdn_values(&found).join(" ").as_str(), expected, "entries")
        },
    );
}

fn alias_by_oid(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.3");
    section.clause(
        "alias-by-the-oid-of-its-class",
        "An entry whose object class is given by its OID is an alias, too.",
        |it| {
            let ada = it.person("ada", &[])?;
            let groups = it.unit("groups")?;
            let attributes = [
                ("objectClass", "2.5.6.1"),
                ("objectClass", "extensibleObject"),
                ("aliasedObjectName", ada.as_str()),
            ];
            it.put("cn=countess,ou=groups", &attributes)?;
            let deref = DerefAliases::Always;
            let found = found_with(it, &groups, Scope::WholeSubtree, deref)?.ok()?;
            equal(
                rdn_values(&found).join(" ").as_str(),
                "ada groups",
                "entries",
            )
        },
    );
}

fn alias_problems(book: &mut Book) {
    use DerefAliases::{Always, FindingBaseObject};
    let mut section = book.section("rfc4511", "4.5.1.3");
    section.clause(
        "dangling-alias-as-base",
        "An alias as base that points to nothing is aliasProblem or noSuchObject.",
        |it| {
            let nobody = format!("uid=nobody,{}", it.home()?);
            let name = alias(it, "cn=lost", &nobody)?;
            let found = found_with(it, &name, Scope::BaseObject, FindingBaseObject)?;
            let right = [ResultCode::ALIAS_PROBLEM, ResultCode::NO_SUCH_OBJECT];
            found.outcome.is_one_of(&right).map(|_| ())
        },
    );
    section.clause(
        "loop-of-aliases-ends",
        "Aliases that point to each other do not keep a search from ending.",
        |it| {
            let home = it.home()?;
            alias(it, "cn=one", &format!("cn=two,{home}"))?;
            alias(it, "cn=two", &format!("cn=one,{home}"))?;
            found_with(it, &home, Scope::WholeSubtree, Always).map(|_| ())
        },
    );
    section.clause(
        "loop-of-aliases-hides-nothing",
        "Aliases below the base that point to each other hide no other entry.",
        |it| {
            people(it)?;
            let home = it.home()?;
            alias(it, "cn=one", &format!("cn=two,{home}"))?;
            alias(it, "cn=two", &format!("cn=one,{home}"))?;
            let found = found_with(it, &home, Scope::WholeSubtree, Always)?.ok()?;
            let ada = rdn_values(&found).iter().filter(|it| *it == "ada").count();
            equal(ada, 1, "entries uid=ada")
        },
    );
    let clause = section.clause(
        "alias-to-above-the-base-returns-nothing-twice",
        "Through an alias to an entry above the base, what is below the base comes once.",
        |it| {
            people(it)?;
            let home = it.home()?;
            alias(it, "cn=up,ou=people", &home)?;
            let base = format!("ou=people,{home}");
            let found = found_with(it, &base, Scope::WholeSubtree, Always)?.ok()?;
            let ada = rdn_values(&found).iter().filter(|it| *it == "ada").count();
            equal(ada, 1, "entries uid=ada")
        },
    );
    clause.slapd("slapd returns it once for each scope, which §4.5.1.3 says it should not");
    section.clause(
        "entry-and-alias-to-it-come-once",
        "An entry found directly and through an alias is returned once.",
        |it| {
            people(it)?;
            let home = it.home()?;
            alias(it, "cn=countess", &format!("uid=ada,ou=people,{home}"))?;
            let found = found_with(it, &home, Scope::WholeSubtree, Always)?.ok()?;
            let ada = rdn_values(&found).iter().filter(|it| *it == "ada").count();
            equal(ada, 1, "entries uid=ada")
        },
    );
}

pub(crate) fn adjusted(
    it: &mut Case<'_>,
    filter: &str,
    select: &[&str],
    adjust: impl FnOnce(&mut SearchRequest<'_>),
) -> Result<Found, Finding> {
    let unit = people(it)?;
    let scope = Scope::SingleLevel;
    it.admin()?
        .search_with(&unit, scope, filter, select, &[], adjust)
}

/// Rows of clause, text and selection, then attributes that it returns of a person with `mail`, and
/// attributes that it does not.
struct Row(
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
);

const SELECTIONS: &[Row] = &[
    Row(
        "empty-list-is-all-user-attributes",
        "An empty list asks for all user attributes.",
        &[],
        "objectClass uid cn sn mail",
        "createTimestamp entryUUID modifiersName",
    ),
    Row(
        "star-is-all-user-attributes",
        "`*` asks for all user attributes.",
        &["*"],
        "objectClass uid cn sn mail",
        "createTimestamp entryUUID modifiersName",
    ),
    Row(
        "star-and-an-operational-one",
        "`*` beside an operational attribute: all user ones and that.",
        &["*", "createTimestamp"],
        "mail sn createTimestamp",
        "creatorsName",
    ),
    Row(
        "operational-ones-by-name",
        "Operational attributes come when they are named.",
        &["createTimestamp"],
        "createTimestamp",
        "mail creatorsName",
    ),
    Row(
        "no-attributes",
        "`1.1` alone asks for no attributes.",
        &["1.1"],
        "",
        "mail sn objectClass",
    ),
    Row(
        "no-attributes-beside-others-means-nothing",
        "`1.1` beside others is ignored.",
        &["1.1", "mail"],
        "mail",
        "sn",
    ),
    Row(
        "unknown-names-are-ignored",
        "A name that nobody defined is ignored.",
        &["noSuchType", "mail"],
        "mail",
        "sn noSuchType",
    ),
    Row(
        "only-unknown-names",
        "Unknown names alone return no attributes.",
        &["noSuchType"],
        "",
        "mail sn objectClass",
    ),
    Row(
        "a-supertype-stands-for-its-subtypes",
        "`name` returns cn and sn, which are its subtypes.",
        &["name"],
        "cn sn",
        "mail uid",
    ),
    Row(
        "names-know-no-case",
        "Selected names know no case.",
        &["MAIL"],
        "mail",
        "sn",
    ),
    Row(
        "object-class-is-an-attribute",
        "objectClass can be asked for alone.",
        &["objectClass"],
        "objectClass",
        "mail",
    ),
    Row(
        "alternative-names",
        "Each name of a type selects it: surname is sn.",
        &["surname"],
        "sn",
        "cn",
    ),
    Row(
        "oid-selects",
        "An OID selects the type it stands for.",
        &["0.9.2342.19200300.100.1.3"],
        "mail",
        "sn",
    ),
];

fn selection(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.8");
    for Row(words, text, select, present, absent) in SELECTIONS {
        section.clause(words, text, move |it| {
            let ada = it.person("ada", &[("mail", "ada@example.com")])?;
            let entry = it.get(&ada, select)?;
            for name in present.split_whitespace() {
                ensure(entry.has(name), format_args!("{name} among them"), &entry)?;
            }
            for name in absent.split_whitespace() {
                ensure(!entry.has(name), format_args!("no {name}"), &entry)?;
            }
            if present.is_empty() {
                ensure(entry.attributes.is_empty(), "no attributes", &entry)?;
            }
            Ok(())
        });
    }
}

fn operational_selection(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.8");
    section.clause(
        "an-attribute-asked-for-twice-comes-once",
        "An attribute named several times, in any spelling, is returned once.",
        |it| {
            let ada = it.person("ada", &[("mail", "ada@example.com")])?;
            let select = ["mail", "MAIL", "mail", "0.9.2342.19200300.100.1.3"];
            equal(it.get(&ada, &select)?.attributes.len(), 1, "attributes")
        },
    );
    section.clause(
        "star-and-a-name-come-once",
        "An attribute named beside `*` is returned once.",
        |it| {
            let ada = it.person("ada", &[("mail", "ada@example.com")])?;
            let entry = it.get(&ada, &["*", "mail"])?;
            let count = entry
                .attributes
                .iter()
                .filter(|it| it.0.eq_ignore_ascii_case("mail"));
            equal(count.count(), 1, "attributes mail")
        },
    );
}

fn entries(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.2");
    section.clause(
        "names-can-be-used-again",
        "The name of a returned entry can be used as a base.",
        |it| {
            people(it)?;
            let found = it.search_home("(uid=ada)", &["1.1"], &[])?.one()?;
            it.exists(&found.name)
        },
    );
    section.clause(
        "all-values-of-an-attribute-come-together",
        "All values of an attribute come in one PartialAttribute.",
        |it| {
            people(it)?;
            let entry = it
                .search_home("(uid=edsger)", &["description"], &[])?
                .one()?;
            equal(entry.attributes.len(), 1, "attributes")?;
            let expected = vec![
                "Goto considered".to_owned(),
                "The humble programmer".to_owned(),
            ];
            equal(entry.texts("description"), expected, "values")
        },
    );
    section.clause(
        "values-come-as-they-were-stored",
        "Values keep their case and spaces.",
        |it| {
            let value = "MiXed  Case,  two  spaces";
            let ada = it.person("ada", &[("description", value)])?;
            equal(
                it.get(&ada, &["description"])?.value("description")?,
                value,
                "value",
            )
        },
    );
    section.clause(
        "nothing-found-is-success",
        "A search that finds nothing succeeds.",
        |it| it.finds("(uid=nobody)", ""),
    );
    section.clause(
        "changes-are-seen-at-once",
        "A search after an update's response sees the update.",
        |it| {
            let ada = it.person("ada", &[])?;
            for number in 0..10 {
                let title = format!("t{number}");
                it.modify(&ada, &[Modification::replace("title", &[&title])])?
                    .ok()?;
                it.finds(&format!("(title={title})"), "ada")?;
            }
            Ok(())
        },
    );
}
