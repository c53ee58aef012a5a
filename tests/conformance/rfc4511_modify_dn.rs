//! RFC 4511 §4.9: modify DN.

use crate::prelude::*;
use crate::rfc4511_search::people;

pub(crate) fn clauses(book: &mut Book) {
    rename(book);
    rename_values(book);
    moves(book);
    move_limits(book);
    rename_refusals(book);
    rename_schema(book);
}

fn rename(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.9");
    section.clause(
        "old-rdn-is-kept",
        "With deleteoldrdn FALSE the old value stays an ordinary value.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.admin()?
                .rename(&ada, "uid=countess", false, None, &[])?
                .ok()?;
            let name = format!("uid=countess,{}", it.home()?);
            let values = it.get(&name, &["uid"])?.texts("uid").join(" ");
            equal(values.as_str(), "ada countess", "uid")
        },
    );
    section.clause(
        "old-rdn-is-deleted",
        "With deleteoldrdn TRUE the old value goes.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.rename(&ada, "uid=countess")?.ok()?;
            let name = format!("uid=countess,{}", it.home()?);
            equal(it.get(&name, &["uid"])?.value("uid")?, "countess", "uid")
        },
    );
    section.clause(
        "old-name-is-gone",
        "The entry is not found under its old name.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.rename(&ada, "uid=countess")?.ok()?;
            it.is_gone(&ada)
        },
    );
    section.clause(
        "new-type",
        "The new RDN may have another type, whose value is added.",
        |it| {
            let ada = it.person("ada", &[("uid", "ada")])?;
            it.admin()?
                .rename(&ada, "cn=Lady", false, None, &[])?
                .ok()?;
            let name = format!("cn=Lady,{}", it.home()?);
            let values = it.get(&name, &["cn"])?.texts("cn").join(" ");
            equal(values.as_str(), "Lady ada", "cn")
        },
    );
    section.clause(
        "new-value-may-be-there",
        "The new RDN's value may be a value of the entry already.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.admin()?.rename(&ada, "cn=ada", false, None, &[])?.ok()?;
            let name = format!("cn=ada,{}", it.home()?);
            equal(it.get(&name, &["cn"])?.value("cn")?, "ada", "cn")
        },
    );
}

fn rename_values(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.9");
    section.clause(
        "other-case-only",
        "An RDN may be renamed to another spelling of itself.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.rename(&ada, "uid=Ada")?.ok()?;
            equal(it.get(&ada, &["uid"])?.value("uid")?, "Ada", "uid")
        },
    );
    section.clause(
        "to-several-values",
        "The new RDN may have several values.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.rename(&ada, "uid=ada+cn=Lady")?.ok()?;
            let home = it.home()?;
            it.exists(&format!("cn=lady+uid=ada,{home}"))
        },
    );
    section.clause(
        "value-of-both-names-stays",
        "With deleteoldrdn TRUE a value of the old RDN that the new one has as well stays.",
        |it| {
            let more = [("cn", "ada"), ("cn", "Lady"), ("uid", "ada")];
            let name = it.put("uid=ada+cn=Lady", &person("ada", &more))?;
            it.rename(&name, "uid=ada+sn=ada")?.ok()?;
            let name = format!("sn=ada+uid=ada,{}", it.home()?);
            let entry = it.get(&name, &["uid", "cn", "sn"])?;
            for attribute in ["uid", "cn", "sn"] {
                equal(entry.value(attribute)?.as_str(), "ada", attribute)?;
            }
            Ok(())
        },
    );
    section.clause(
        "entry-with-entries-below",
        "An entry with entries below it can be renamed; they follow.",
        |it| {
            let unit = people(it)?;
            it.rename(&unit, "ou=folk")?.ok()?;
            let home = it.home()?;
            it.exists(&format!("uid=ada,ou=folk,{home}"))?;
            it.is_gone(&format!("uid=ada,{unit}"))
        },
    );
}

fn moves(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.9");
    section.clause(
        "leaf-moves",
        "newSuperior moves an entry below another.",
        |it| {
            let unit = people(it)?;
            let groups = it.unit("groups")?;
            let ada = format!("uid=ada,{unit}");
            it.admin()?
                .rename(&ada, "uid=ada", true, Some(&groups), &[])?
                .ok()?;
            it.exists(&format!("uid=ada,{groups}"))?;
            it.is_gone(&ada)
        },
    );
    section.clause(
        "subtree-moves",
        "An entry moves with everything below it.",
        |it| {
            let unit = people(it)?;
            let groups = it.unit("groups")?;
            it.admin()?
                .rename(&unit, "ou=people", true, Some(&groups), &[])?
                .ok()?;
            it.exists(&format!("uid=grace,ou=people,{groups}"))?;
            it.is_gone(&unit)?;
            let found = it.search(&groups, Scope::WholeSubtree, "(uid=*)", &["1.1"])?;
            found.ok()?.count(3).map(|_| ())
        },
    );
    section.clause(
        "move-and-rename-at-once",
        "newrdn and newSuperior may both differ.",
        |it| {
            let unit = people(it)?;
            let home = it.home()?;
            let ada = format!("uid=ada,{unit}");
            it.admin()?
                .rename(&ada, "uid=countess", true, Some(&home), &[])?
                .ok()?;
            equal(
                it.get(&format!("uid=countess,{home}"), &["uid"])?
                    .value("uid")?,
                "countess",
                "uid",
            )
        },
    );
    section.clause(
        "superior-may-be-the-same",
        "newSuperior may name the present superior.",
        |it| {
            let ada = it.person("ada", &[])?;
            let home = it.home()?;
            it.admin()?
                .rename(&ada, "uid=countess", true, Some(&home), &[])?
                .ok()?;
            it.exists(&format!("uid=countess,{home}"))
        },
    );
}

fn move_limits(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.9");
    section.clause(
        "not-below-itself",
        "An entry cannot move below itself.",
        |it| {
            let unit = people(it)?;
            let ada = format!("uid=ada,{unit}");
            it.admin()?
                .rename(&unit, "ou=people", true, Some(&ada), &[])?
                .refused()?;
            it.exists(&ada)
        },
    );
    section.clause(
        "not-below-an-alias",
        "A newSuperior is not dereferenced, and nothing stands below an alias (RFC 4512 §2.6).",
        |it| {
            let ada = it.person("ada", &[])?;
            let unit = it.unit("groups")?;
            let alias = [
                ("objectClass", "alias"),
                ("objectClass", "extensibleObject"),
                ("aliasedObjectName", unit.as_str()),
            ];
            let alias = it.put("cn=alias", &alias)?;
            let admin = it.admin()?;
            admin
                .rename(&ada, "uid=ada", true, Some(&alias), &[])?
                .refused()?;
            it.exists(&ada)
        },
    );
}

fn rename_refusals(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.9");
    section.clause(
        "new-name-must-be-free",
        "A name that another entry has is entryAlreadyExists.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.person("grace", &[])?;
            it.rename(&ada, "uid=grace")?
                .is(ResultCode::ENTRY_ALREADY_EXISTS)?;
            it.exists(&ada)
        },
    );
    section.clause(
        "superior-must-exist",
        "A newSuperior that does not exist is noSuchObject.",
        |it| {
            let ada = it.person("ada", &[])?;
            let nowhere = format!("ou=nowhere,{}", it.home()?);
            let outcome = it
                .admin()?
                .rename(&ada, "uid=ada", true, Some(&nowhere), &[])?;
            outcome.is(ResultCode::NO_SUCH_OBJECT)?;
            it.exists(&ada)
        },
    );
    for (words, rdn) in [("no-rdn", "no rdn"), ("two-rdns", "uid=a,ou=b")] {
        section.clause(
            format_args!("{words}-is-refused"),
            format_args!("{rdn:?} is no RDN: invalidDNSyntax or namingViolation."),
            move |it| {
                let ada = it.person("ada", &[])?;
                let right = [ResultCode::INVALID_DN_SYNTAX, ResultCode::NAMING_VIOLATION];
                it.rename(&ada, rdn)?.is_one_of(&right)?;
                it.exists(&ada)
            },
        );
    }
    section.clause(
        "unknown-type-is-refused",
        "A new RDN of a type nobody defined is refused.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.rename(&ada, "noSuchType=x")?.refused()?;
            it.exists(&ada)
        },
    );
    section.clause(
        "type-not-allowed-is-refused",
        "A new RDN of a type the classes do not allow is objectClassViolation.",
        |it| {
            let ada = it.person("ada", &[])?;
            let outcome = it.rename(&ada, "serialNumber=1")?;
            let right = [
                ResultCode::OBJECT_CLASS_VIOLATION,
                ResultCode::NAMING_VIOLATION,
            ];
            outcome.is_one_of(&right)?;
            it.exists(&ada)
        },
    );
}

fn rename_schema(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.9");
    section.clause(
        "required-value-must-stay",
        "deleteoldrdn that takes away what the class requires is objectClassViolation.",
        |it| {
            let name = it.put("cn=x", &[("objectClass", "device")])?;
            let outcome = it.rename(&name, "serialNumber=1")?;
            outcome.is(ResultCode::OBJECT_CLASS_VIOLATION)?;
            it.exists(&name)
        },
    );
}
