//! Execution: the only code that changes entries, as a function of state and record alone.

mod account;
mod add;
mod concerned;
mod delete;
mod difference;
mod draft;
mod dynamic;
mod free_number;
mod groups;
mod holder;
mod leaving;
mod links;
mod many;
mod modify;
mod numbers;
mod options;
mod overtaken;
mod raise;
mod relaxed;
mod rename;
mod trail;
mod unique;
mod unit;

use crate::catalog::Catalog;
use crate::concerned::Concerned;
use crate::history::Recorder;
use crate::knowledge::{COLLECTIVE_CLASS, DYNAMIC_GROUP_CLASS};
use crate::meta::{META_ALIASES, META_AUDIT, META_REFERRALS, META_SUBENTRIES, META_TIME};
use crate::referral;
use crate::stop::{Failure, Refusal, Stop};
use crate::time;
use crate::trail::{Audited, Trail};
use crate::write::{Change, Record, Unit, Write};
use policy::rehash::Rehashed;
use protocol::{OwnedControl, ResultCode};
use schema::{AttributeNumber, Description, DictionaryRow, Schema, Violation};
use std::collections::BTreeSet;
use store::{Batch, EntryId, EntryView, Lookup};

pub use dynamic::{DYNAMIC_CLASS, is_dynamic};
pub use groups::META_TOURS;
pub use holder::other_match;
pub use numbers::{GivenNumber, counter_key, exhausted};
pub use options::name_afterwards;
pub use overtaken::is_overtaken;
pub use unique::held;
pub use unit::{Broken, Done, Outcome};

/// One record being executed inside one transaction.
pub struct Execution<'x, 'b> {
    batch: &'x mut Batch<'b>,
    catalog: &'x Catalog,
    schema: Schema,
    position: u64,
    time_us: u64,
    /// The record's time in the form of operational attributes.
    timestamp: String,
    /// The changes so far; their number is the counter of change sequence numbers.
    history: Recorder,
    noticed: Noticed,
    /// Numbers given by rules to entries of the current unit.
    given: Vec<GivenNumber>,
    /// Attribute numbers that the current write assigned.
    numbered: Numbered,
    /// Groups whose members were changed by the current write.
    changed_groups: BTreeSet<EntryId>,
    /// Lines of the audit.
    trail: Trail,
}

/// Attribute numbers assigned by a write. They are kept if the write succeeds; a refused write must
/// leave none behind, whatever other writes its record has.
#[derive(Default)]
struct Numbered {
    rows: Vec<DictionaryRow>,
    /// The schema before the first of these numbers, and whether `new_knowledge` was set already.
    before: Option<(Schema, bool)>,
}

/// Effects of a record that must be known before it becomes visible.
#[derive(Debug, Clone)]
pub struct Noticed {
    /// The schema with every attribute number in use.
    pub schema: Schema,
    /// Number of changes; a write that changes many entries counts once for each.
    pub changed: u32,
    /// Whether attribute numbers were assigned, or the first alias, referral or subentry was
    /// stored.
    pub new_knowledge: bool,
    /// An alias was added.
    pub aliases: bool,
    /// A referral object was added.
    pub referrals: bool,
    /// A dynamic group was added.
    pub dynamic_groups: bool,
    /// A subentry with collective attributes was added.
    pub collective: bool,
    /// A subentry was added.
    pub subentries: bool,
    /// Whether an entry below `cn=config` changed, or the format level.
    pub configuration: bool,
    /// Accounts that were deleted or renamed, or whose password, lock or policy changed.
    pub concerned: Concerned,
    /// Passwords that were stored in another form.
    pub rehashed: Vec<Rehashed>,
    /// Dynamic entries that were written, with their ends in seconds since 1970.
    pub ending: Vec<(u64, EntryId)>,
    /// Whether work was left to later writes: a subtree or links to remove, or groups to change.
    pub left_work: bool,
    /// Number of entries of detached subtrees that were removed.
    pub reclaimed: u32,
    /// Lines of the audit; `None` if there are none.
    pub audited: Option<Audited>,
}

impl<'x, 'b> Execution<'x, 'b> {
    /// Begins the execution of a record in the transaction of a batch.
    pub fn new(batch: &'x mut Batch<'b>, catalog: &'x Catalog, record: &Record<'_>) -> Self {
        Execution {
            batch,
            catalog,
            schema: catalog.schema.clone(),
            position: record.position,
            time_us: record.time_us,
            timestamp: time::generalized_time(record.time_us),
            history: Recorder::default(),
            noticed: Noticed {
                schema: catalog.schema.clone(),
                changed: 0,
                new_knowledge: false,
                aliases: false,
                referrals: false,
                dynamic_groups: false,
                collective: false,
                subentries: false,
                configuration: false,
                concerned: Concerned::default(),
                rehashed: Vec::new(),
                ending: Vec::new(),
                left_work: false,
                reclaimed: 0,
                audited: None,
            },
            given: Vec::new(),
            numbered: Numbered::default(),
            changed_groups: BTreeSet::new(),
            trail: Trail::new(catalog.audits),
        }
    }

    /// Has the store read ahead for the next units, where there are several.
    pub fn announce(&self, units: &[Unit<'_>]) {
        if units.len() > 1 {
            let first = units.iter().filter_map(|writes| writes.first());
            self.batch.announce(first.map(Write::name));
        }
    }

    /// Executes one write and returns its response controls. A refused write changes nothing.
    pub fn execute(&mut self, write: &Write) -> Result<Vec<OwnedControl>, Stop> {
        self.trail.begin(write);
        let mark = self.trail.mark();
        let done = self.change(write);
        let numbered = std::mem::take(&mut self.numbered);
        match done {
            Ok(_) => self.batch.put_dictionary(&numbered.rows)?,
            Err(_) => {
                self.trail.rewind(&mark);
                if let Some((schema, new_knowledge)) = numbered.before {
                    self.batch.set_schema(schema.clone());
                    self.schema = schema;
                    self.noticed.new_knowledge = new_knowledge;
                }
            }
        }
        done
    }

    fn change(&mut self, write: &Write) -> Result<Vec<OwnedControl>, Stop> {
        let mut controls = Vec::new();
        self.changed_groups.clear();
        if let Some(options) = &write.options {
            self.before(write, options, &mut controls)?;
        }
        match &write.change {
            Change::Add(addition) => self.add(write, addition)?,
            Change::Modify(changes) => self.modify(write, changes)?,
            Change::Delete => self.delete(write)?,
            Change::Rename(renaming) => self.rename(write, renaming)?,
            Change::Reclaim(most) => self.reclaim(*most)?,
            Change::Attempts(attempts) => self.note_attempts(write, attempts)?,
            Change::Level(level) => self.raise(*level)?,
            Change::Audit(begins) => self.change_audit(write, *begins)?,
        }
        self.stamp_groups()?;
        self.noticed.changed += 1;
        self.noticed.configuration |= write.name().is_within(&self.catalog.config);
        if let Some(options) = &write.options {
            self.after(write, options, &mut controls)?;
        }
        Ok(controls)
    }

    /// Stores the rows that belong to the whole record.
    pub fn finish(mut self) -> Result<Noticed, Failure> {
        if self.noticed.changed > 0 {
            self.batch.set_position(self.position);
            self.history.store(
                self.batch,
                self.position,
                self.time_us,
                self.catalog.bounds.history_changes,
            )?;
            self.batch
                .put_meta(META_TIME, &self.time_us.to_be_bytes())?;
            if let Some(head) = self.trail.head() {
                self.batch.put_meta(META_AUDIT, &head.encode())?;
            }
        }
        self.noticed.audited = self.trail.into_lines();
        self.noticed.schema = self.schema;
        Ok(self.noticed)
    }

    /// Returns the change sequence number of the write being executed.
    fn change_sequence_number(&self) -> String {
        time::change_sequence_number(self.time_us, self.history.count(), 0)
    }

    /// Returns the number of an attribute description. At its first use in this database one is
    /// assigned, and kept if the write succeeds.
    fn number(&mut self, description: &Description) -> Result<AttributeNumber, Stop> {
        if let Some(number) = self.schema.number(description) {
            return Ok(number);
        }
        // The batch's copy of the schema is replaced, so that the dictionary is extended in place:
        // copying it for each new number would take quadratic time. The first number of a write
        // makes one copy.
        self.batch.set_schema(self.catalog.schema.clone());
        if self.numbered.before.is_none() {
            self.numbered.before = Some((self.schema.clone(), self.noticed.new_knowledge));
        }
        let assigned = self.schema.add_number(description);
        self.batch.set_schema(self.schema.clone());
        let (number, rows) = match assigned {
            Ok(assigned) => assigned,
            Err(error) => {
                let text = error.to_string();
                return Stop::refuse(ResultCode::UNDEFINED_ATTRIBUTE_TYPE, text);
            }
        };
        self.numbered.rows.extend(rows);
        self.noticed.new_knowledge = true;
        Ok(number)
    }

    /// Returns the entry that a write names; refuses if there is none.
    fn locate(&self, write: &Write) -> Result<EntryId, Stop> {
        match self.batch.snapshot().find(write.name())? {
            Lookup::Found(id) => {
                self.refuse_if_referral(id, write, None)?;
                Ok(id)
            }
            Lookup::Missing { matched, depth } => {
                self.refuse_if_referral(matched, write, Some(depth))?;
                Err(self.no_such_object(write, matched)?)
            }
        }
    }

    /// Refuses to put an entry below an alias, which is always a leaf (RFC 4512 §2.6).
    fn refuse_below_alias(&self, parent: EntryId) -> Result<(), Stop> {
        let aliases = self.catalog.has_aliases || self.noticed.aliases;
        if !aliases || parent.0 == 0 || !self.has_class(parent, b"alias")? {
            return Ok(());
        }
        let text = "the superior is an alias, which has nothing below it";
        Stop::refuse(ResultCode::ALIAS_PROBLEM, text)
    }

    fn has_class(&self, id: EntryId, name: &[u8]) -> Result<bool, Stop> {
        let snapshot = self.batch.snapshot();
        let number = self.catalog.known.object_class.number;
        let Some(view) = snapshot.entry(id)? else {
            return Ok(false);
        };
        let Some(classes) = view.attribute(number) else {
            return Ok(false);
        };
        let mut values = classes.values().into_iter();
        Ok(values.any(|it| it.eq_ignore_ascii_case(name)))
    }

    /// Refuses with `referral` if the entry is a referral object (RFC 3296 §5). `depth` is the
    /// number of RDNs of the write's name that lead to it, if it is not the named entry itself.
    fn refuse_if_referral(
        &self,
        id: EntryId,
        write: &Write,
        depth: Option<usize>,
    ) -> Result<(), Stop> {
        let refers = self.catalog.has_referrals || self.noticed.referrals;
        if !refers || write.manage_dsa_it || id.0 == 0 {
            return Ok(());
        }
        let snapshot = self.batch.snapshot();
        let Some(view) = snapshot.entry(id)? else {
            return Ok(());
        };
        let known = &self.catalog.known;
        if !is_referral(&view, known.object_class.number) {
            return Ok(());
        }
        if !self.may_learn_of(write, id)? {
            return Err(Refusal::new(ResultCode::NO_SUCH_OBJECT, "").into());
        }
        let matched = self.spelled_name(id)?;
        let below = depth.map_or("", |depth| referral::leading_rdns(&write.spelled, depth));
        let url = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            // Text behind a space is a label (RFC 3296 §2.1).
            referral::with_name(text.split(' ').next().unwrap_or(""), &matched, below, None)
        };
        let urls = view
            .attribute(known.referral.number)
            .map_or_else(Vec::new, |it| it.values().into_iter().map(url).collect());
        Err(Stop::Refused(Refusal {
            code: ResultCode::REFERRAL,
            matched,
            diagnostic: String::new(),
            referrals: urls,
            password_policy: None,
        }))
    }

    /// Returns the refusal `noSuchObject` with the deepest existing entry as matched name, if the
    /// write's subject may learn of it.
    fn no_such_object(&self, write: &Write, matched: EntryId) -> Result<Stop, Stop> {
        let mut refusal = Refusal::new(ResultCode::NO_SUCH_OBJECT, "");
        if matched.0 != 0 && self.may_learn_of(write, matched)? {
            refusal.matched = self.spelled_name(matched)?;
        }
        Ok(Stop::Refused(refusal))
    }

    fn spelled_name(&self, id: EntryId) -> Result<String, Stop> {
        let snapshot = self.batch.snapshot();
        let mut name = Vec::new();
        if let Some(view) = snapshot.entry(id)? {
            snapshot.write_name(&view, &mut name)?;
        }
        Ok(String::from_utf8_lossy(&name).into_owned())
    }

    /// Records permanently that there are aliases, referrals or subentries.
    fn notice_classes<'v>(&mut self, classes: impl Iterator<Item = &'v [u8]>) -> Result<(), Stop> {
        for class in classes {
            if class.eq_ignore_ascii_case(COLLECTIVE_CLASS.as_bytes())
                && !self.catalog.has_collective
            {
                self.noticed.collective = true;
                self.noticed.new_knowledge = true;
            }
            if class.eq_ignore_ascii_case(DYNAMIC_GROUP_CLASS.as_bytes())
                && !self.catalog.has_dynamic_groups
            {
                self.noticed.dynamic_groups = true;
                self.noticed.new_knowledge = true;
            }
            if class.eq_ignore_ascii_case(b"alias") && !self.catalog.has_aliases {
                self.noticed.aliases = true;
                self.noticed.new_knowledge = true;
                self.batch.put_meta(META_ALIASES, &[1])?;
            }
            if class.eq_ignore_ascii_case(b"referral") && !self.catalog.has_referrals {
                self.noticed.referrals = true;
                self.noticed.new_knowledge = true;
                self.batch.put_meta(META_REFERRALS, &[1])?;
            }
            if class.eq_ignore_ascii_case(b"subentry") && !self.catalog.has_subentries {
                self.noticed.subentries = true;
                self.noticed.new_knowledge = true;
                self.batch.put_meta(META_SUBENTRIES, &[1])?;
            }
        }
        Ok(())
    }
}

/// Returns whether an entry is a referral object (RFC 3296 §2).
fn is_referral(view: &EntryView<'_>, object_class: AttributeNumber) -> bool {
    view.attribute(object_class).is_some_and(|classes| {
        let mut classes = classes.values().into_iter();
        classes.any(|it| it.eq_ignore_ascii_case(b"referral"))
    })
}

/// Returns the failure for a name that leads to an entry without a row.
fn missing_row(id: EntryId) -> Stop {
    let detail = format!("entry {id:?} has a name but no row");
    store::Error::Corrupt {
        table: "entry",
        detail,
    }
    .into()
}

/// Returns the refusal for an entry that would violate its object classes.
fn violation(violation: &Violation) -> Stop {
    Stop::Refused(Refusal::new(violation.result_code(), violation.to_string()))
}
