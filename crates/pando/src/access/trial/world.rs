//! The entries and groups that tests of access rules are about. What is not said is undefined,
//! which rules count against the subject.

use crate::access::ground::Ground;
use crate::report::Problem;
use policy::access::facts::{EntryFacts, Group, SubjectFacts};
use protocol::ldif::{LdifReader, LdifRecord};
use schema::{AttributeNumber, Filter, Name, Truth, TypeId, ValueSource};
use std::collections::HashMap;
use std::path::Path;

/// Attributes with the members of a static group.
const MEMBERS: [&str; 2] = ["member", "uniqueMember"];
/// Attributes of groups whose members are not looked for here.
const OTHER_MEMBERS: [&str; 2] = ["memberURL", "memberUid"];
/// Groups in groups that are followed at most.
const NESTED_MAX: u8 = 16;

/// Entries, and members of groups.
pub struct World {
    ground: Ground,
    entries: HashMap<Name, Record>,
    /// Members that a line says, by group.
    members: HashMap<Name, Vec<Name>>,
}

/// The values of an entry.
#[derive(Debug, Default)]
struct Record(Vec<Value>);

#[derive(Debug)]
struct Value {
    number: AttributeNumber,
    type_id: TypeId,
    octets: Vec<u8>,
}

impl World {
    /// A world without entries.
    pub fn new(ground: Ground) -> World {
        World {
            ground,
            entries: HashMap::new(),
            members: HashMap::new(),
        }
    }

    /// Schema and secrets; the schema knows the attributes of the entries that are there so far.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Adds the entries of an LDIF file.
    pub fn read_entries(&mut self, path: &Path) -> Result<(), Problem> {
        let text = std::fs::read(path).map_err(|error| Problem::file(path, error))?;
        let mut reader = LdifReader::new(text.as_slice());
        while let Some(record) = reader.next_record() {
            let record = record.map_err(|error| Problem::file(path, error))?;
            let LdifRecord::Entry { dn, attributes } = record else {
                let text = "expected entries, got changes of entries";
                return Err(Problem::file(path, text));
            };
            let wrong = |error: &dyn std::fmt::Display| {
                Problem::file(path, format_args!("\"{dn}\": {error}"))
            };
            let schema = &mut self.ground.schema;
            let name = schema.resolve_name(dn).map_err(|error| wrong(&error))?;
            let mut values = Vec::new();
            for (attribute, octets) in attributes {
                let description = schema.describe(attribute).map_err(|error| wrong(&error))?;
                let numbered = schema.add_number(&description);
                let (number, _) = numbered.map_err(|error| wrong(&error))?;
                values.push(Value {
                    number,
                    type_id: description.type_id,
                    octets: octets.into_owned(),
                });
            }
            self.entries.insert(name, Record(values));
        }
        Ok(())
    }

    /// Makes an entry a member of a group, beside those that the group's entry names.
    pub fn add_member(&mut self, member: Name, group: Name) {
        self.members.entry(group).or_default().push(member);
    }

    /// The facts about an entry, which need not be there.
    pub fn entry<'w>(&'w self, name: &'w Name) -> EntryOf<'w> {
        EntryOf { world: self, name }
    }

    fn filter(&self, name: &Name, filter: &Filter) -> Truth {
        match self.entries.get(name) {
            Some(record) => filter.evaluate(&self.ground.schema, record, &mut Vec::new()),
            None => Truth::Undefined,
        }
    }

    /// Whether an attribute of an entry, or a subtype of it, has a name as a value.
    fn has_name(&self, entry: &Name, attribute: TypeId, wanted: &Name) -> Truth {
        match self.entries.get(entry) {
            Some(_) => self.names_in(entry, attribute).contains(wanted).into(),
            None => Truth::Undefined,
        }
    }

    /// The names that are values of an attribute or its subtypes.
    fn names_in(&self, entry: &Name, attribute: TypeId) -> Vec<Name> {
        let schema = &self.ground.schema;
        let values = self.entries.get(entry).into_iter().flat_map(|it| &it.0);
        let values = values.filter(|it| schema.is_subtype(it.type_id, attribute));
        let texts = values.filter_map(|it| std::str::from_utf8(&it.octets).ok());
        texts
            .filter_map(|it| schema.resolve_name(it).ok())
            .collect()
    }

    /// Whether a subject is a member of a group by some attributes, also of groups in it.
    fn belongs(&self, subject: &Name, group: &Name, by: &[TypeId], depth: u8) -> Truth {
        let told = self.members.get(group);
        if told.is_some_and(|it| it.contains(subject)) {
            return Truth::True;
        }
        let Some(record) = self.entries.get(group) else {
            return match told {
                Some(_) => Truth::False,
                None => Truth::Undefined,
            };
        };
        let schema = &self.ground.schema;
        let others = OTHER_MEMBERS
            .iter()
            .filter_map(|it| schema.attribute_type(it));
        let is_open = others
            .into_iter()
            .any(|other| record.0.iter().any(|it| it.type_id == other));
        let mut truth = match is_open && told.is_none() {
            true => Truth::Undefined,
            false => Truth::False,
        };
        for member in by.iter().flat_map(|it| self.names_in(group, *it)) {
            if member == *subject {
                return Truth::True;
            }
            let is_group = self.members.contains_key(&member)
                || by.iter().any(|it| !self.names_in(&member, *it).is_empty());
            if is_group && depth < NESTED_MAX {
                match self.belongs(subject, &member, by, depth + 1) {
                    Truth::True => return Truth::True,
                    Truth::Undefined => truth = Truth::Undefined,
                    Truth::False => (),
                }
            }
        }
        truth
    }
}

impl SubjectFacts for World {
    fn matches(&self, subject: &Name, filter: &Filter) -> Truth {
        self.filter(subject, filter)
    }

    fn is_member(&self, subject: &Name, group: &Group) -> Truth {
        match group.by {
            // Only groups without an attribute reach into other groups.
            Some(by) => match self.members.get(&group.name) {
                Some(told) if told.contains(subject) => Truth::True,
                Some(_) if !self.entries.contains_key(&group.name) => Truth::False,
                _ => self.has_name(&group.name, by, subject),
            },
            None => {
                let schema = &self.ground.schema;
                let types = MEMBERS.iter().filter_map(|it| schema.attribute_type(it));
                self.belongs(subject, &group.name, &types.collect::<Vec<_>>(), 0)
            }
        }
    }
}

impl ValueSource for Record {
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let mut values = self.0.iter().filter(|it| it.number == number).peekable();
        values.peek()?;
        Some(values.any(|it| test(&it.octets)))
    }
}

/// One entry of a world.
pub struct EntryOf<'w> {
    world: &'w World,
    name: &'w Name,
}

impl EntryFacts for EntryOf<'_> {
    fn name(&self) -> &Name {
        self.name
    }

    fn matches(&self, filter: &Filter) -> Truth {
        self.world.filter(self.name, filter)
    }

    fn names(&self, attribute: TypeId, subject: &Name) -> Truth {
        self.world.has_name(self.name, attribute, subject)
    }

    fn superior_names(&self, attribute: TypeId, subject: &Name) -> Truth {
        match self.name.parent() {
            Some(superior) => self.world.has_name(&superior, attribute, subject),
            None => Truth::False,
        }
    }
}
