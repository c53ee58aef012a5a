//! Writes that a golden log has besides random ones: members, texts, definitions of the schema,
//! numbers, passwords and controls.

use super::super::super::{BASE, writes};
use crate::clients::Writes;
use crate::clock::Clock;
use crate::create;
use policy::{Attempt, AttemptKind};
use protocol::ChangeOperation;
use state::catalog::Catalog;
use state::write::{Change, Write, WriteOptions};

/// The submission of a step; `None` behind the last one.
pub(super) fn step(number: usize, catalog: &Catalog, clock: &dyn Clock) -> Option<Writes> {
    let it = Script { catalog, clock };
    let one = |write| Some(Writes::One(write));
    let (group, list) = (format!("cn=group,{BASE}"), format!("cn=list,{BASE}"));
    let number = match (state::level::AUDITS..).contains(&catalog.level) {
        true if number == 0 => return one(Write::of_no_entry(Change::Audit(true))),
        true => number - 1,
        false => number,
    };
    let (mia, ben) = (format!("uid=mia,{BASE}"), format!("uid=ben,{BASE}"));
    match number {
        0 => Some(Writes::Each(it.first_entries())),
        1 => one(it.modify(&group, ChangeOperation::Add, "member", &[&ben])),
        2 => one(it.person("ben", "2001")),
        3 => one(it.rename(&ben, "uid=benno", true)),
        4 => one(it.modify(&group, ChangeOperation::Delete, "member", &["cn=nobody"])),
        5 => one(it.modify(&list, ChangeOperation::Add, "memberUid", &["one", "Two"])),
        6 => one(it.modify(&mia, ChangeOperation::Increment, "uidNumber", &["5"])),
        7 => one(it.relaxed(it.modify(&mia, ChangeOperation::Add, "sn", &["mia", "Mia"]))),
        8 => one(it.definitions()),
        9 => one(it.modify(&mia, ChangeOperation::Add, "objectClass", &["goldenWalker"])),
        10 => one(it.modify(&mia, ChangeOperation::Replace, "goldenShoe", &["42"])),
        11 => one(it.attempts(&mia, AttemptKind::Failed, 3)),
        12 => one(it.attempts(&mia, AttemptKind::Succeeded, 1)),
        13 => one(it.modify(&mia, ChangeOperation::Replace, "userPassword", &["{SSHA}y"])),
        14 => Some(Writes::Whole(vec![
            it.modify(&mia, ChangeOperation::Replace, "title", &["kept"]),
            it.modify(
                &mia,
                ChangeOperation::Replace,
                "title",
                &["\u{fb01}sh", "\u{df}"],
            ),
        ])),
        15 => Some(Writes::Whole(vec![
            it.modify(&mia, ChangeOperation::Replace, "title", &["undone"]),
            it.delete(&format!("cn=nobody,{BASE}"), false),
        ])),
        16 => Some(Writes::Each(vec![
            it.rehashed(&mia, "{SSHA}y", "{SSHA512}y"),
            it.rehashed(&mia, "{SSHA}y", "{SSHA512}z"),
        ])),
        17 => Some(Writes::Each(vec![
            it.delete(&format!("uid=benno,{BASE}"), false),
            it.delete(&mia, false),
            it.delete(&format!("ou=deep,{BASE}"), true),
        ])),
        _ => None,
    }
}

/// A write that adds a small entry.
pub(super) fn addition(name: &str, catalog: &Catalog, clock: &dyn Clock) -> Write {
    let it = Script { catalog, clock };
    it.entry(name, &[("objectClass", "applicationProcess")])
}

struct Script<'s> {
    catalog: &'s Catalog,
    clock: &'s dyn Clock,
}

impl Script<'_> {
    fn first_entries(&self) -> Vec<Write> {
        let mia = format!("uid=mia,{BASE}");
        let group = [
            ("objectClass", "groupOfNames"),
            ("member", mia.as_str()),
            ("member", "cn=nobody"),
            ("member", "CN=Somebody,dc=elsewhere"),
        ];
        let uids: Vec<String> = (0..300).map(|it| format!("user{it}")).collect();
        let mut list = vec![("objectClass", "posixGroup"), ("gidNumber", "7")];
        list.extend(uids.iter().map(|it| ("memberUid", it.as_str())));
        let mut all = vec![
            self.person("mia", "1000"),
            self.entry(&format!("cn=group,{BASE}"), &group),
            self.entry(&format!("cn=list,{BASE}"), &list),
            // Refused: there is no superior, and the name is taken.
            self.entry(
                &format!("ou=x,ou=nowhere,{BASE}"),
                &[("objectClass", "organizationalUnit")],
            ),
            self.person("mia", "1001"),
        ];
        let unit = [("objectClass", "organizationalUnit")];
        all.push(self.entry(&format!("ou=deep,{BASE}"), &unit));
        let below = (0..12).map(|it| format!("ou=below{it},ou=deep,{BASE}"));
        all.extend(below.map(|it| self.entry(&it, &unit)));
        all
    }

    fn person(&self, uid: &str, number: &str) -> Write {
        let attributes = [
            ("objectClass", "inetOrgPerson"),
            ("objectClass", "posixAccount"),
            ("cn", uid),
            ("sn", "Stra\u{df}e \u{212b}"),
            ("uidNumber", number),
            ("gidNumber", "7"),
            ("homeDirectory", "/"),
            ("userPassword", "{SSHA}x"),
        ];
        self.entry(&format!("uid={uid},{BASE}"), &attributes)
    }

    /// Own definitions; refused the second time, when they are there.
    fn definitions(&self) -> Write {
        self.entry(
            "cn=golden,cn=schema,cn=config",
            &[
                ("objectClass", "pandoSchema"),
                (
                    "attributeTypes",
                    "( 1.3.6.1.4.1.99999.1 NAME 'goldenShoe' EQUALITY integerMatch SYNTAX \
                     1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )",
                ),
                (
                    "objectClasses",
                    "( 1.3.6.1.4.1.99999.2 NAME 'goldenWalker' SUP top AUXILIARY MAY goldenShoe )",
                ),
            ],
        )
    }

    fn entry(&self, name: &str, attributes: &[(&str, &str)]) -> Write {
        let made = create::entry(self.catalog, BASE, name, attributes, self.clock);
        made.expect("an entry")
    }

    fn modify(&self, name: &str, how: ChangeOperation, of: &str, values: &[&str]) -> Write {
        let change = writes::modification(&self.catalog.schema, how, of, values);
        self.of(name, Change::Modify(vec![change]))
    }

    fn rename(&self, name: &str, rdn: &str, delete_old_rdn: bool) -> Write {
        let renaming = writes::renaming(&self.catalog.schema, rdn, delete_old_rdn);
        self.of(name, Change::Rename(renaming))
    }

    fn delete(&self, name: &str, tree: bool) -> Write {
        writes::deletion(&self.catalog.schema, name, tree)
    }

    fn attempts(&self, name: &str, kind: AttemptKind, count: u64) -> Write {
        let attempt = |at| Attempt {
            kind,
            time_us: self.clock.now_us() + at,
        };
        self.of(name, Change::Attempts((0..count).map(attempt).collect()))
    }

    /// The write with controls that make it milder.
    fn relaxed(&self, mut write: Write) -> Write {
        let options = WriteOptions {
            administrator: true,
            permissive: true,
            relaxed: true,
            counts_passwords: true,
            ..WriteOptions::default()
        };
        write.options = options.if_any();
        write
    }

    /// The same password in another form, if its stored value is this one.
    fn rehashed(&self, name: &str, from: &str, to: &str) -> Write {
        let schema = &self.catalog.schema;
        let change = |how, value| writes::modification(schema, how, "userPassword", &[value]);
        let changes = vec![
            change(ChangeOperation::Delete, from),
            change(ChangeOperation::Add, to),
        ];
        let mut write = self.of(name, Change::Modify(changes));
        write.options = Some(Box::new(WriteOptions {
            rehashes: true,
            ..WriteOptions::default()
        }));
        write
    }

    fn of(&self, name: &str, change: Change) -> Write {
        writes::change_of(&self.catalog.schema, name, change)
    }
}
