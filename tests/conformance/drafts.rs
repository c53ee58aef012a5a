//! Controls of drafts and of vendors' documents that many servers have: tree delete, permissive
//! modify, no-op, relax rules, dereference.

use crate::prelude::*;
use crate::rfc4511_search::people;

pub(crate) fn clauses(book: &mut Book) {
    tree_delete(book);
    permissive(book);
    no_operation(book);
    relax_rules(book);
    dereference(book);
    dereference_mistakes(book);
}

fn tree_delete(book: &mut Book) {
    let mut section =
        book.section_needing("draft-treedelete", "2", &[Need::Control(oid::TREE_DELETE)]);
    section.clause(
        "deletes-the-subtree",
        "A delete with the control removes the entry and everything below it.",
        |it| {
            let unit = people(it)?;
            it.admin()?
                .delete(&unit, &[bare(oid::TREE_DELETE, true)])?
                .ok()?;
            it.is_gone(&unit)?;
            it.is_gone(&format!("uid=ada,{unit}"))
        },
    );
    section.clause(
        "deletes-a-leaf",
        "The control does no harm to a leaf's delete.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.admin()?
                .delete(&ada, &[bare(oid::TREE_DELETE, true)])?
                .ok()?;
            it.is_gone(&ada)
        },
    );
    section.clause(
        "leaves-siblings",
        "Nothing beside the subtree is removed.",
        |it| {
            let unit = people(it)?;
            let grace = it.person("grace", &[])?;
            it.admin()?
                .delete(&unit, &[bare(oid::TREE_DELETE, true)])?
                .ok()?;
            it.exists(&grace)
        },
    );
    section.clause(
        "without-it-only-leaves-are-deleted",
        "Without the control an entry with subordinates stays.",
        |it| {
            let unit = people(it)?;
            it.delete(&unit)?.is(ResultCode::NOT_ALLOWED_ON_NON_LEAF)?;
            it.exists(&unit)
        },
    );
    section.clause(
        "missing-entry-is-no-such-object",
        "The control does not make a missing entry a success.",
        |it| {
            let name = format!("ou=nothing,{}", it.home()?);
            let controls = [bare(oid::TREE_DELETE, true)];
            let outcome = it.admin()?.delete(&name, &controls)?;
            outcome.is(ResultCode::NO_SUCH_OBJECT).map(|_| ())
        },
    );
}

fn permissive(book: &mut Book) {
    let needs = [Need::Control(oid::PERMISSIVE_MODIFY)];
    let mut section = book.section_needing("ms-permissive", "1", &needs);
    type Change = fn() -> Modification;
    let rows: [(&str, &str, Change, &str); 4] = [
        (
            "add-of-an-existing-value",
            "add of a value that is there succeeds.",
            || Modification::add("title", &["one"]),
            "one",
        ),
        (
            "add-of-old-and-new",
            "add of old and new values adds the new ones.",
            || Modification::add("title", &["one", "two"]),
            "one two",
        ),
        (
            "delete-of-a-missing-value",
            "delete of a value that is not there succeeds.",
            || Modification::delete("title", &["two"]),
            "one",
        ),
        (
            "delete-of-a-missing-attribute",
            "delete of an attribute that is not there succeeds.",
            || Modification::delete("pager", &[]),
            "one",
        ),
    ];
    for (words, text, change, after) in rows {
        let clause = section.clause(words, text, move |it| {
            let ada = it.person("ada", &[("title", "one")])?;
            let controls = [bare(oid::PERMISSIVE_MODIFY, true)];
            it.admin()?.modify(&ada, &[change()], &controls)?.ok()?;
            let titles = it.get(&ada, &["title"])?.texts("title").join(" ");
            equal(titles.as_str(), after, "title")
        });
        if words == "delete-of-a-missing-value" {
            clause.slapd("slapd 2.5 forgives a missing attribute, not a missing value");
        }
    }
}

fn no_operation(book: &mut Book) {
    let mut section = book.section_needing("draft-noop", "2", &[Need::Control(oid::NO_OPERATION)]);
    for operation in ["modify", "add", "delete", "modify-dn"] {
        section.clause(
            format_args!("{operation}-changes-nothing"),
            format_args!("{operation} with the control is checked, not done: noOperation."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let other = it.draft("uid=other", &person("other", &[]))?;
                let controls = [bare(oid::NO_OPERATION, true)];
                let admin = it.admin()?;
                let outcome = match operation {
                    "modify" => {
                        admin.modify(&ada, &[Modification::add("title", &["x"])], &controls)?
                    }
                    "add" => admin.add(&other, &controls)?,
                    "delete" => admin.delete(&ada, &controls)?,
                    _ => admin.rename(&ada, "uid=x", true, None, &controls)?,
                };
                // Implementations of the draft answer 0x410e.
                outcome.is_one_of(&[ResultCode(0x410E), ResultCode(118)])?;
                it.finds("(uid=*)", "ada")?;
                ensure(!it.get(&ada, &["title"])?.has("title"), "no title", "one")
            },
        );
    }
    section.clause(
        "what-would-fail-says-why",
        "A delete that would fail answers as it would without the control.",
        |it| {
            let unit = people(it)?;
            let controls = [bare(oid::NO_OPERATION, true)];
            let outcome = it.admin()?.delete(&unit, &controls)?;
            outcome.is(ResultCode::NOT_ALLOWED_ON_NON_LEAF).map(|_| ())
        },
    );
}

fn relax_rules(book: &mut Book) {
    const UUID: &str = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
    let needs = [Need::Control(oid::RELAX_RULES)];
    let mut section = book.section_needing("draft-relax", "3", &needs);
    section.clause(
        "entry-uuid-may-be-given",
        "Under relaxed rules an administrator gives a new entry the entryUUID it always had.",
        |it| {
            let entry = it.draft("uid=ada", &person("ada", &[("entryUUID", UUID)]))?;
            let controls = [bare(oid::RELAX_RULES, true)];
            it.admin()?.add(&entry, &controls)?.ok()?;
            let uuid = it.get(&entry.name, &["entryUUID"])?.value("entryUUID")?;
            it.delete(&entry.name)?.ok()?;
            equal(uuid.as_str(), UUID, "entryUUID")
        },
    );
    section.clause(
        "without-it-the-server-makes-them",
        "Without the control an operational attribute in an add is refused.",
        |it| {
            let outcome = it.add("uid=ada", &person("ada", &[("entryUUID", UUID)]))?;
            outcome.refused().map(|_| ())
        },
    );
    section.clause(
        "structural-class-may-change",
        "Under relaxed rules the structural object class may change.",
        |it| {
            let name = it.put("cn=thing", &[("objectClass", "device")])?;
            let changes = [
                Modification::delete("objectClass", &["device"]),
                Modification::add("objectClass", &["applicationProcess"]),
            ];
            let outcome = it.modify(&name, &changes)?;
            outcome.is(ResultCode::OBJECT_CLASS_MODS_PROHIBITED)?;
            let controls = [bare(oid::RELAX_RULES, true)];
            it.admin()?.modify(&name, &changes, &controls)?.ok()?;
            it.finds("(objectClass=applicationProcess)", "thing")
        },
    );
    section
        .clause(
            "others-may-not",
            "Who is no administrator is refused.",
            |it| {
                let ada = it.person("ada", &[("userPassword", "ada")])?;
                let mut session = it.bound(&ada, "ada")?;
                let controls = [bare(oid::RELAX_RULES, true)];
                let changes = [Modification::replace("userPassword", &["new"])];
                let outcome = session.modify(&ada, &changes, &controls)?;
                outcome.refused().map(|_| ())
            },
        )
        .slapd("slapd asks for rights only where rules are really relaxed");
}

/// Returns the control that dereferences `attribute` to these attributes.
fn follow(attribute: &str, wanted: &[&str]) -> OwnedControl {
    let wanted: Vec<Vec<u8>> = wanted.iter().map(octets).collect();
    let one = sequence(&[octets(attribute), sequence(&wanted)]);
    control(oid::DEREFERENCE, true, sequence(&[one]))
}

/// Adds a group of two people, of whom only one exists.
fn team(it: &mut Case<'_>) -> Result<String, Finding> {
    let ada = it.person("ada", &[("mail", "ada@example.com")])?;
    let nobody = format!("uid=nobody,{}", it.home()?);
    let members = [
        ("objectClass", "groupOfNames"),
        ("member", ada.as_str()),
        ("member", nobody.as_str()),
    ];
    it.put("cn=team", &members)
}

fn dereference(book: &mut Book) {
    let needs = [Need::Control(oid::DEREFERENCE)];
    let mut section = book.section_needing("draft-deref", "2", &needs);
    section.clause(
        "attributes-of-the-entry-named",
        "Each entry comes with the wanted attributes of the entries that its values name.",
        |it| {
            team(it)?;
            let controls = [follow("member", &["mail"])];
            let (text, count) = followed(it, &controls)?;
            equal(count, 1, "entries with the response control")?;
            ensure(
                text.contains("ada@example.com"),
                "the mail of a member",
                text,
            )
        },
    );
    section.clause(
        "values-without-an-entry-do-no-harm",
        "A value that names no entry comes without attributes, or not at all.",
        |it| {
            team(it)?;
            let controls = [follow("member", &["mail"])];
            let (_, count) = followed(it, &controls)?;
            equal(count, 1, "entries with the response control")
        },
    );
    section.clause(
        "attributes-not-asked-for-stay-away",
        "Only what was asked for is shown of the entries followed to.",
        |it| {
            team(it)?;
            let controls = [follow("member", &["sn"])];
            let (text, _) = followed(it, &controls)?;
            ensure(!text.contains("@example.com"), "no mail", text)
        },
    );
}

/// Returns the values of the response controls of `cn=team` as text, and their number.
fn followed(it: &mut Case<'_>, controls: &[OwnedControl]) -> Result<(String, usize), Finding> {
    let home = it.home()?;
    let mut said = Vec::new();
    let admin = it.admin()?;
    let request = protocol::SearchRequest {
        attributes: vec!["1.1"],
        ..protocol::SearchRequest::new(
            &home,
            Scope::WholeSubtree,
            protocol::Filter::Equality {
                attribute: "cn",
                value: b"team",
            },
        )
    };
    let id = admin.send(&Request::Search(request), controls)?;
    loop {
        match admin.receive()? {
            (of, Event::Entry(_, controls)) if of == id => {
                let own = controls.iter().filter(|it| it.0 == oid::DEREFERENCE);
                said.extend(own.map(|it| it.1.clone().unwrap_or_default()));
            }
            (of, Event::Done(outcome)) if of == id => {
                outcome.ok()?;
                let text = String::from_utf8_lossy(&said.concat()).into_owned();
                return Ok((text, said.len()));
            }
            _ => {}
        }
    }
}

fn dereference_mistakes(book: &mut Book) {
    let needs = [Need::Control(oid::DEREFERENCE)];
    let mut section = book.section_needing("draft-deref", "2", &needs);
    section.clause(
        "attribute-that-names-nothing-is-refused",
        "An attribute whose values are no names cannot be followed.",
        |it| {
            team(it)?;
            let controls = [follow("description", &["mail"])];
            let found = it.search_home("(cn=team)", &["1.1"], &controls)?;
            found.outcome.refused().map(|_| ())
        },
    );
    section
        .clause(
            "junk-is-a-protocol-error",
            "A value that is no list is protocolError.",
            |it| {
                let controls = [control(oid::DEREFERENCE, true, vec![4, 1, b'x'])];
                let found = it.search_home("(cn=*)", &["1.1"], &controls)?;
                found.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
            },
        )
        .slapd("slapd takes it for an empty list");
}
