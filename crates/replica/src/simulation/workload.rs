//! Random writes, drawn from few names and values so that they collide.

use super::model::{Model, NO_TYPE, UNIQUE_INDEX, UNIQUE_RULE};
use super::random::Random;
use super::{BASE, writes};
use crate::clients::Writes;
use crate::clock::Clock;
use crate::create;
use protocol::ChangeOperation;
use protocol::name::leaf_form;
use schema::Schema;
use state::catalog::Catalog;
use state::entry_end;
use state::write::{Change, Modification, Renaming, Write};

const WORDS: &[&str] = &["alpha", "beta", "gamma", "delta"];
const PEOPLE: &[&str] = &["p0", "p1", "p2", "p3", "p4"];
const UNITS: &[&str] = &["a", "b", "c"];
const ATTRIBUTES: &[&str] = &[
    "description",
    "description;lang-x",
    "description;lang-y",
    "title",
    "employeenumber",
    "employeenumber",
    "sn",
    "cn",
];
/// Attributes whose indexes come and go, beside that of the unique values.
const INDEXED: &[&str] = &["title", "description", "sn", "cn", "uid"];
/// Entries below a name from which on the workload adds none, so that a run stays short.
const DEPTH_MAX: usize = 4;

/// Source of writes.
pub(super) struct Workload<'w> {
    pub random: &'w mut Random,
    pub catalog: &'w Catalog,
    pub clock: &'w dyn Clock,
    pub model: &'w Model,
}

impl Workload<'_> {
    /// The writes of one client.
    pub fn submission(&mut self) -> Writes {
        match self.random.below(100) {
            0..70 => Writes::One(self.write()),
            70..78 => Writes::Whole((0..=self.random.below(4)).map(|_| self.write()).collect()),
            78..83 => Writes::Each((0..=self.random.below(12)).map(|_| self.write()).collect()),
            83..88 => {
                let mut write = self.write();
                let mut options = write.options.take().map_or_else(Default::default, |it| *it);
                options.no_operation = true;
                write.options = options.if_any();
                Writes::One(write)
            }
            88..90 => Writes::Each((0..10).map(|_| self.refused()).collect()),
            _ => Writes::One(self.setting()),
        }
    }

    /// A name of an entry that may have failed and succeeded attempts.
    pub fn account(&mut self) -> String {
        self.some_name()
    }

    fn write(&mut self) -> Write {
        match self.random.below(100) {
            0..38 => self.addition(),
            38..62 => self.modification(),
            62..70 => self.refresh(),
            70..84 => self.renaming(),
            84..94 => self.deletion(false),
            _ => self.deletion(true),
        }
    }

    fn addition(&mut self) -> Write {
        let above = self.some_name();
        let is_deep = above.matches(',').count() >= DEPTH_MAX;
        let above = if is_deep { BASE.to_owned() } else { above };
        if self.random.chance(15) {
            let name = format!("ou={},{above}", self.random.pick(UNITS));
            return self.entry(&name, &[("objectClass", "organizationalUnit")]);
        }
        let name = format!("cn={},{above}", self.random.pick(PEOPLE));
        let mut attributes = vec![("objectClass", "inetOrgPerson")];
        // Without a surname the entry is refused.
        if self.random.chance(95) {
            attributes.push(("sn", *self.random.pick(WORDS)));
        }
        for _ in 0..self.random.below(3) {
            let attribute = *self.random.pick(&ATTRIBUTES[..6]);
            let is_new = attributes.iter().all(|it| it.0 != attribute);
            if is_new {
                attributes.push((attribute, *self.random.pick(WORDS)));
            }
        }
        if !self.random.chance(30) {
            return self.entry(&name, &attributes);
        }
        attributes.push(("objectClass", "dynamicObject"));
        let end = self.end();
        let end = String::from_utf8(end).expect("digits");
        attributes.push(("entryExpireTimestamp", &end));
        self.entry(&name, &attributes)
    }

    /// A time within the next seconds, as the end of a dynamic entry.
    fn end(&mut self) -> Vec<u8> {
        let ttl_s = 1 + self.random.below(20) as u32;
        let mut end = entry_end::end(self.catalog, self.clock.now_us(), ttl_s);
        end.values.remove(0)
    }

    fn modification(&mut self) -> Write {
        let name = self.some_name_below_base();
        let mut changes = Vec::new();
        for _ in 0..=self.random.below(3) {
            let attribute = *self.random.pick(ATTRIBUTES);
            let operation = *self.random.pick(&[
                ChangeOperation::Add,
                ChangeOperation::Add,
                ChangeOperation::Replace,
                ChangeOperation::Replace,
                ChangeOperation::Delete,
            ]);
            let mut values: Vec<&str> = Vec::new();
            let at = self.random.below(WORDS.len() as u64) as usize;
            let mut count = self.random.below(3) as usize;
            if operation == ChangeOperation::Add {
                count = count.max(1);
            }
            if attribute == "cn" && operation == ChangeOperation::Replace {
                count = 0;
            }
            values.extend(WORDS.iter().cycle().skip(at).take(count));
            changes.push(self.change(operation, attribute, &values));
        }
        self.of(&name, Change::Modify(changes))
    }

    /// A write that gives a dynamic entry more time; refused for others.
    fn refresh(&mut self) -> Write {
        let dynamic = self.model.entries.iter().filter(|it| it.1.end_s.is_some());
        let names: Vec<&String> = dynamic.map(|it| it.0).collect();
        let name = match names.is_empty() || self.random.chance(10) {
            true => self.some_name_below_base(),
            false => (*self.random.pick(&names)).clone(),
        };
        let ttl_s = 1 + self.random.below(30) as u32;
        let end = entry_end::replace_end(self.catalog, self.clock.now_us(), ttl_s);
        self.of(&name, Change::Modify(vec![end]))
    }

    fn renaming(&mut self) -> Write {
        let name = self.some_name_below_base();
        let rdn = match name.starts_with("ou=") {
            true => format!("ou={}", self.random.pick(UNITS)),
            false => format!("cn={}", self.random.pick(PEOPLE)),
        };
        let superior = match self.random.chance(50) {
            true => Some(self.some_name()),
            false => None,
        };
        let delete_old_rdn = self.random.chance(60);
        let schema = &self.catalog.schema;
        let renaming = Renaming {
            new_superior: superior.map(|it| schema.resolve_name(&it).expect("a name")),
            ..writes::renaming(schema, &rdn, delete_old_rdn)
        };
        self.of(&name, Change::Rename(renaming))
    }

    fn deletion(&mut self, tree: bool) -> Write {
        let name = self.some_name_below_base();
        writes::deletion(self.schema(), &name, tree)
    }

    /// A write that is refused in any state.
    fn refused(&mut self) -> Write {
        self.of(&format!("cn=nobody,{BASE}"), Change::Delete)
    }

    /// A change of the configuration.
    fn setting(&mut self) -> Write {
        if self.random.chance(15) {
            return Write::of_no_entry(Change::Audit(self.random.chance(70)));
        }
        let index = *self.random.pick(INDEXED);
        let name = match self.random.chance(50) {
            true => UNIQUE_INDEX.to_owned(),
            false => format!("cn={index},cn=indexes,cn=config"),
        };
        let attribute = leaf_form(&name)[3..].to_owned();
        match self.random.below(10) {
            0..4 => self.entry(
                &name,
                &[
                    ("objectClass", "pandoIndex"),
                    ("pandoIndexAttribute", &attribute),
                    ("pandoIndexKind", "equality"),
                ],
            ),
            4 | 5 => self.of(&name, Change::Delete),
            6 => {
                let kinds = *self.random.pick(&[
                    &["equality", "substring"] as &[&str],
                    &["presence"],
                    &["equality"],
                ]);
                let change = self.change(ChangeOperation::Replace, "pandoIndexKind", kinds);
                self.of(&name, Change::Modify(vec![change]))
            }
            7 | 8 => self.entry(
                UNIQUE_RULE,
                &[
                    ("objectClass", "pandoUnique"),
                    ("pandoUniqueAttribute", "employeeNumber"),
                    ("pandoBase", BASE),
                ],
            ),
            _ if self.random.chance(50) => self.of(UNIQUE_RULE, Change::Delete),
            _ => self.entry(
                &format!("cn={NO_TYPE},cn=indexes,cn=config"),
                &[
                    ("objectClass", "pandoIndex"),
                    ("pandoIndexAttribute", NO_TYPE),
                    ("pandoIndexKind", "equality"),
                ],
            ),
        }
    }

    /// The name of an entry, or rarely of none.
    fn some_name(&mut self) -> String {
        if self.random.chance(10) {
            return format!("cn={},{BASE}", self.random.pick(PEOPLE));
        }
        let at = self.random.below(self.model.entries.len() as u64) as usize;
        let name = self.model.entries.keys().nth(at);
        name.expect("the base is never deleted").clone()
    }

    fn some_name_below_base(&mut self) -> String {
        let name = self.some_name();
        match name == BASE {
            true => format!("cn={},{BASE}", self.random.pick(PEOPLE)),
            false => name,
        }
    }

    fn entry(&self, name: &str, attributes: &[(&str, &str)]) -> Write {
        let made = create::entry(self.catalog, BASE, name, attributes, self.clock);
        made.expect("an entry")
    }

    fn change(&self, operation: ChangeOperation, name: &str, values: &[&str]) -> Modification {
        writes::modification(self.schema(), operation, name, values)
    }

    fn of(&self, name: &str, change: Change) -> Write {
        writes::change_of(self.schema(), name, change)
    }

    fn schema(&self) -> &Schema {
        &self.catalog.schema
    }
}
