//! Makes an entry row of a name and values, and checks it.

use super::attributes::{MADE, Role, STRUCTURAL, Slots};
use super::grouping::{Group, Grouped};
use super::known::Forms;
use super::links::{self, LinkAttribute};
use super::names::Resolved;
use super::plan::Plan;
use super::stamps::Stamps;
use super::verdict::{Verdict, Verdicts};
use policy::password;
use protocol::name::string_form;
use schema::{Schema, TypeId};
use store::{EntryBuilder, EntryId};
use xxhash_rust::xxh3::xxh3_128;

/// Maximum number of values that are compared pairwise; more are compared by sorted hashes.
const PAIRS_MAX: usize = 8;

/// An entry of the input with resolved name and attributes.
pub(super) struct ResolvedEntry<'e> {
    pub name: &'e Resolved<'e>,
    /// The stored name of the entry: its RDN, or the whole DN of a naming context.
    pub spelled: &'e str,
    pub grouped: Grouped<'e>,
    /// Block of the values that become links.
    pub links: Vec<u8>,
    /// Normal forms of the values that become links, if they have to be looked up.
    pub forms: Option<Forms>,
}

/// Makes entry rows, one after the other.
#[derive(Debug, Default)]
pub(super) struct Composer {
    verdicts: Verdicts,
    shape: Vec<(TypeId, usize)>,
    rdn: Vec<TypeId>,
    normal: Vec<u8>,
    ends: Vec<usize>,
}

impl Composer {
    /// Checks the entry and leaves its row in the builder. Errors are sentences without values.
    pub fn compose(
        &mut self,
        plan: &Plan<'_>,
        schema: &Schema,
        slots: &Slots,
        stamps: &Stamps,
        entry: &mut ResolvedEntry<'_>,
        builder: &mut EntryBuilder,
    ) -> Result<Verdict, String> {
        if plan.options.check_schema {
            self.check_values(schema, slots, entry)?;
        }
        check_passwords(slots, entry)?;
        if let Some(scheme) = plan.options.hash_passwords {
            hash_passwords(slots, entry, scheme)?;
        }
        let verdict = self.verdict(plan, schema, slots, entry)?;
        if let Some(classes) = &verdict.classes {
            name_classes(slots, entry, classes);
        }
        builder.start(EntryId::ROOT, &string_form(entry.spelled), plan.position);
        let mut given = [false; MADE.len()];
        let grouped = &entry.grouped;
        for (at, group) in grouped.groups.iter().enumerate() {
            let slot = slots.slot(group.slot);
            if let Role::Made(which) = slot.role {
                given[which] = true;
            }
            let attribute = LinkAttribute {
                type_id: slot.type_id,
                number: slot.number,
            };
            if attribute.is_linked(schema, &entry.name.rdn, || grouped.count(at)) {
                let values = grouped.of(at);
                // Sized beforehand: a growing buffer would take twice the memory of a large group.
                let bytes = values.clone().map(|it| it.len() + links::VALUE_BYTES);
                entry.links.reserve(bytes.sum());
                links::put(
                    schema,
                    attribute,
                    values,
                    &mut entry.links,
                    entry.forms.as_mut(),
                );
            } else if slot.role == STRUCTURAL && verdict.structural.is_some() {
                // The given class may follow other rules, or be older than a change of the classes.
                let class = verdict.structural.iter().map(|it| it.as_bytes());
                builder.operational(slot.number, &slot.text, class);
            } else if slot.operational {
                builder.operational(slot.number, &slot.text, grouped.of(at));
            } else {
                builder.user(slot.number, &slot.text, grouped.of(at));
            }
        }
        builder.set_links(!entry.links.is_empty());
        put_made(plan, stamps, &verdict, given, builder);
        Ok(verdict)
    }

    fn check_values(
        &mut self,
        schema: &Schema,
        slots: &Slots,
        entry: &ResolvedEntry<'_>,
    ) -> Result<(), String> {
        for (at, group) in entry.grouped.groups.iter().enumerate() {
            let slot = slots.slot(group.slot);
            if slot.role == Role::ObjectClass {
                // Checked with the classes.
                continue;
            }
            for value in entry.grouped.of(at) {
                let checked = schema.check_value(slot.type_id, value);
                checked.map_err(|error| format!("{}: {error}", slot.text))?;
            }
            let (count, values) = (entry.grouped.count(at), entry.grouped.of(at));
            let is_repeated = match count {
                0 | 1 => false,
                2..=PAIRS_MAX => self.has_repeated(schema, slot.type_id, values),
                _ => self.has_repeated_hash(schema, slot.type_id, values, count),
            };
            if is_repeated {
                return Err(format!(
                    "{}: the same value is given more than once",
                    slot.text
                ));
            }
        }
        Ok(())
    }

    /// Whether two values are equal, by comparing each with every other.
    fn has_repeated<'v>(
        &mut self,
        schema: &Schema,
        type_id: TypeId,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> bool {
        self.normal.clear();
        self.ends.clear();
        for value in values {
            self.put_normal(schema, type_id, value);
            self.ends.push(self.normal.len());
        }
        let form = |at: usize| {
            let start = if at == 0 { 0 } else { self.ends[at - 1] };
            &self.normal[start..self.ends[at]]
        };
        let count = self.ends.len();
        (1..count).any(|one| (0..one).any(|other| form(one) == form(other)))
    }

    /// Whether two values are equal, by a hash of 16 bytes for each value: the members of a group
    /// may take hundreds of megabytes.
    fn has_repeated_hash<'v>(
        &mut self,
        schema: &Schema,
        type_id: TypeId,
        values: impl Iterator<Item = &'v [u8]>,
        count: usize,
    ) -> bool {
        let mut hashes = Vec::with_capacity(count);
        for value in values {
            self.normal.clear();
            self.put_normal(schema, type_id, value);
            hashes.push(xxh3_128(&self.normal));
        }
        hashes.sort_unstable();
        hashes.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Appends the normal form of a value; equal values have equal forms.
    fn put_normal(&mut self, schema: &Schema, type_id: TypeId, value: &[u8]) {
        let start = self.normal.len();
        let normalised = schema.normalise_equality(type_id, value, &mut self.normal);
        if normalised.is_err() {
            self.normal.truncate(start);
            self.normal.extend_from_slice(value);
        }
    }

    fn verdict(
        &mut self,
        plan: &Plan<'_>,
        schema: &Schema,
        slots: &Slots,
        entry: &ResolvedEntry<'_>,
    ) -> Result<Verdict, String> {
        self.shape.clear();
        self.rdn.clear();
        let mut classes: [&[u8]; 16] = [&[]; 16];
        let mut many: Vec<&[u8]> = Vec::new();
        let mut count = 0;
        for (at, group) in entry.grouped.groups.iter().enumerate() {
            let slot = slots.slot(group.slot);
            self.shape.push((slot.type_id, entry.grouped.count(at)));
            if slot.role == Role::ObjectClass {
                count = entry.grouped.count(at);
                match count <= classes.len() {
                    true => classes
                        .iter_mut()
                        .zip(entry.grouped.of(at))
                        .for_each(|(to, it)| *to = it),
                    false => many = entry.grouped.of(at).collect(),
                }
            }
        }
        let classes = if many.is_empty() {
            &classes[..count]
        } else {
            &many
        };
        self.rdn
            .extend(entry.name.rdn.values.iter().map(|(it, _)| it.type_id));
        let check = plan.options.check_schema;
        self.verdicts
            .of(schema, classes, &self.shape, &self.rdn, check)
            .map_err(|reason| reason.to_string())
    }
}

/// Replaces the given spellings of object classes by their first names.
fn name_classes(slots: &Slots, entry: &mut ResolvedEntry<'_>, classes: &[Box<[u8]>]) {
    let is_class = |it: &Group| slots.slot(it.slot).role == Role::ObjectClass;
    if let Some(at) = entry.grouped.groups.iter().rposition(is_class) {
        let named = classes.iter().map(|it| it.to_vec());
        entry.grouped.replace(at, named);
    }
}

/// Refuses passwords that must not be stored.
fn check_passwords(slots: &Slots, entry: &ResolvedEntry<'_>) -> Result<(), String> {
    let mut count = 0;
    for (at, group) in entry.grouped.groups.iter().enumerate() {
        if slots.slot(group.slot).role != Role::Password {
            continue;
        }
        for value in entry.grouped.of(at) {
            password::check(value).map_err(|error| format!("userPassword: {error}"))?;
            count += 1;
        }
    }
    match count > state::passwords::VALUES_MAX {
        true => Err(format!(
            "userPassword: expected at most {} values, got {count}",
            state::passwords::VALUES_MAX
        )),
        false => Ok(()),
    }
}

/// Replaces clear-text passwords by hashes.
fn hash_passwords(
    slots: &Slots,
    entry: &mut ResolvedEntry<'_>,
    scheme: password::Scheme,
) -> Result<(), String> {
    for at in 0..entry.grouped.groups.len() {
        if slots.slot(entry.grouped.groups[at].slot).role != Role::Password {
            continue;
        }
        let mut hashed = Vec::new();
        for value in entry.grouped.of(at) {
            let value = match password::is_hashed(value) {
                true => value.to_vec(),
                false => password::hash(scheme, value)
                    .map_err(|error| format!("userPassword: {error}"))?
                    .into_bytes(),
            };
            hashed.push(value);
        }
        entry.grouped.replace(at, hashed.into_iter());
    }
    Ok(())
}

/// Adds missing operational attributes.
fn put_made(
    plan: &Plan<'_>,
    stamps: &Stamps,
    verdict: &Verdict,
    given: [bool; MADE.len()],
    builder: &mut EntryBuilder,
) {
    let known = &plan.catalog.known;
    let uuid;
    let [class_given, uuid_given, ..] = given;
    let class = if class_given {
        None
    } else {
        verdict.structural.as_deref()
    };
    let uuid = if uuid_given {
        None
    } else {
        uuid = stamps.uuid(plan);
        Some(uuid.as_str())
    };
    let texts = [
        (&known.structural_object_class, class),
        (&known.entry_uuid, uuid),
        (&known.creators_name, Some(plan.by.as_str())),
        (&known.create_timestamp, Some(plan.timestamp.as_str())),
        (&known.entry_csn, Some(stamps.csn())),
        (&known.modify_timestamp, Some(plan.timestamp.as_str())),
        (&known.modifiers_name, Some(plan.by.as_str())),
    ];
    for (((known, text), given), name) in texts.into_iter().zip(given).zip(MADE) {
        if let (Some(text), false) = (text, given) {
            let value = std::iter::once(text.as_bytes());
            builder.operational(known.number, name, value);
        }
    }
}
