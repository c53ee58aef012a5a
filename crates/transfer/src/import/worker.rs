//! One thread of an import: makes prepared entries of pieces of the input.

mod pieces;
mod rules;
mod values;

pub(super) use pieces::values_of;

use super::attributes::Slots;
use super::contexts::{Opening, superiors};
use super::entry::{Composer, Given, Group};
use super::known::{Forms, Known};
use super::names::{Names, Resolved};
use super::rulebook::Rulebook;
use super::shared::{INITIAL_POSITION, Shared};
use super::source::Content;
use super::stamps::Stamps;
use super::stored;
use super::urls;
use super::verdict::Verdict;
use super::work::{Kind, Origin, Prospect, Rejected, Task, Text, Work};
use crate::line::Stopped;
use protocol::ldif::{LdifAttribute, LdifScratch};
use replica::create::classes_for;
use schema::{Name, Schema};
use state::stop::Failure;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::Ordering;
use store::{EntryBuilder, EntryId, Preparer, Reader};

/// Bytes of old entries and their links that are taken over at once.
const STORED_BYTES: usize = 4 << 20;

/// One entry of the input, before any check.
pub(super) struct Read<'r> {
    pub dn: &'r str,
    pub values: &'r [LdifAttribute<'r>],
    pub place: Range<usize>,
    pub line: u64,
}

/// Reason why an entry does not become a prospect.
pub(super) enum Refused {
    /// The entry is invalid.
    Entry(String),
    Stopped,
}

impl From<String> for Refused {
    fn from(reason: String) -> Refused {
        Refused::Entry(reason)
    }
}

impl From<Stopped> for Refused {
    fn from(_: Stopped) -> Refused {
        Refused::Stopped
    }
}

/// A worker with its caches.
pub(super) struct Worker<'s> {
    shared: &'s Shared<'s>,
    reader: Reader,
    schema: Schema,
    names: Names,
    contexts: Vec<Name>,
    slots: Slots,
    /// Slots of the previous entry by group; most recur in the next one.
    before: Vec<usize>,
    groups: Vec<Group>,
    composer: Composer,
    builder: EntryBuilder,
    preparer: Preparer,
    stamps: Stamps,
    scratch: LdifScratch,
    piece: u64,
    entries: Vec<Prospect>,
    claims: rules::Claims,
    links: Vec<(usize, Vec<u8>)>,
    known: Known,
    /// Hash of the superior that was looked up last.
    superior_known: Option<u128>,
    pub rejected: Vec<Rejected>,
}

impl<'s> Worker<'s> {
    pub fn new(shared: &'s Shared<'s>, reader: Reader) -> Worker<'s> {
        let schema = shared.schema.newest();
        Worker {
            preparer: Preparer::new(&shared.plan.indexes(&schema)),
            contexts: shared.contexts.names(),
            shared,
            reader,
            schema,
            names: Names::default(),
            slots: Slots::default(),
            before: Vec::new(),
            groups: Vec::new(),
            composer: Composer::default(),
            builder: EntryBuilder::default(),
            stamps: Stamps::new(),
            scratch: match shared.plan.options.file_urls {
                true => LdifScratch::with_urls(Box::new(urls::read)),
                false => LdifScratch::with_urls(Box::new(urls::refuse)),
            },
            piece: 0,
            entries: Vec::new(),
            claims: rules::Claims::default(),
            links: Vec::new(),
            known: Known::default(),
            superior_known: None,
            rejected: Vec::new(),
        }
    }

    /// Works on a task. Returns the result, and the rest of the task if it is too large for one
    /// result; `None` if the import was stopped.
    pub fn work(
        &mut self,
        number: u64,
        task: Task,
    ) -> Result<Option<(Work, Option<Task>)>, Failure> {
        self.piece = number;
        self.stamps
            .begin(self.shared.plan, self.shared.first_stamp + number);
        let mut broken = false;
        let mut rest = None;
        let (origin, offset, done) = match task {
            Task::Given(piece) => {
                broken = matches!(piece.content, Content::Broken { .. });
                self.given(piece)?
            }
            Task::Stored { from, to } => {
                let (names, next) = self.stored(from, to)?;
                rest = next.map(|from| Task::Stored { from, to });
                let origin = "the old database, entry".to_owned();
                (origin, None, Ok(Text::Names(names)))
            }
        };
        let Ok(text) = done else { return Ok(None) };
        let origin = Origin {
            text: origin,
            offset,
        };
        let work = Work {
            origin,
            text,
            broken,
            prepared: self.preparer.take(),
            entries: std::mem::take(&mut self.entries),
            claims: std::mem::take(&mut self.claims.all),
            rejected: std::mem::take(&mut self.rejected),
            links: std::mem::take(&mut self.links),
            known: std::mem::take(&mut self.known),
        };
        Ok(Some((work, rest)))
    }

    /// Takes over entries of the old database unchanged. If they are large, returns the id from
    /// which to continue.
    fn stored(&mut self, from: u64, to: u64) -> Result<(Vec<u8>, Option<u64>), Failure> {
        let mut names = Vec::new();
        let (mut bytes, mut rest) = (0, None);
        let rulebook = Rulebook::new(self.shared.plan);
        let snapshot = self.reader.snapshot()?;
        let open_context = |name: &Name, dn: &str| {
            self.shared.contexts.open(&self.schema, name, dn, false);
        };
        for row in snapshot.entries_range(EntryId(from), EntryId(to)) {
            let (id, view) = row?;
            let start = names.len();
            snapshot.write_name(&view, &mut names)?;
            let dn = std::str::from_utf8(&names[start..]).unwrap_or_default();
            let resolved = self.names.resolve(&self.schema, dn);
            let resolved = resolved.map_err(|reason| {
                Failure::Configuration(format!("entry {} of the old database: {reason}", id.0))
            })?;
            let is_context = view.parent().is_root();
            if is_context {
                open_context(&resolved.name, dn);
            }
            let is_config = resolved.name.is_within(&self.shared.plan.catalog.config);
            let is_initial = is_context && !is_config && view.position() == INITIAL_POSITION;
            let row_name = row_name(&resolved, is_context);
            let (schema, builder) = (&self.schema, &mut self.builder);
            let deleted = self.shared.plan.catalog.deleted_members;
            let from = (&snapshot, id, &view);
            let rules = (schema, deleted);
            let (links, is_built) =
                stored::links_of(rules, &mut self.names, from, &resolved.rdn, builder)?;
            match is_built {
                true => self.preparer.build(row_name, &mut self.builder)?,
                false => self.preparer.add(row_name, view.bytes())?,
            }
            bytes += view.bytes().len() + links.len();
            if !links.is_empty() {
                self.links.push((self.entries.len(), links));
            }
            let prepared = (&self.schema, &self.preparer);
            let claimed = self
                .claims
                .add(rulebook, prepared, &resolved.name, Vec::new());
            let (claims, ruled) = claimed?;
            self.entries.push(Prospect {
                claims,
                ruled,
                name: resolved.hash,
                superior: (!is_context).then_some(resolved.superior),
                kind: if is_initial {
                    Kind::Initial
                } else {
                    Kind::Kept
                },
                place: start..names.len(),
                line: id.0,
            });
            if bytes >= STORED_BYTES && id.0 < to {
                rest = Some(id.0 + 1);
                break;
            }
        }
        self.reader.reset();
        Ok((names, rest))
    }

    /// Makes a prospect of an entry of the input.
    pub fn entry(&mut self, read: &Read<'_>, kind: Kind) -> Result<(), Refused> {
        let resolved = self.names.resolve(&self.schema, read.dn)?;
        if !resolved.covered {
            self.enter_context(&resolved, read)?;
        }
        let is_context = self.contexts.contains(&resolved.name);
        self.resolve_attributes(read.values)?;
        let mut groups = std::mem::take(&mut self.groups);
        let mut numbers = Vec::new();
        let mut links = Vec::new();
        let mut forms = self.shared.keeps_old.then(Forms::default);
        let added = self.add_naming_values(&resolved, read.values, &mut groups);
        let added = added.and_then(|mut extras| {
            if kind == Kind::Imported && !self.rulebook().is_empty() {
                let given = (read.values, &mut groups, &mut extras);
                numbers = self.ask_for_numbers(&resolved, given)?;
            }
            Ok(extras)
        });
        let done = added.and_then(|extras| {
            self.stamps.next();
            let mut given = Given {
                name: &resolved,
                spelled: if is_context {
                    read.dn
                } else {
                    resolved.spelled
                },
                values: read.values,
                groups: &mut groups,
                extras,
                links: &mut links,
                forms: forms.as_mut(),
            };
            let Worker {
                composer,
                slots,
                stamps,
                builder,
                schema,
                ..
            } = self;
            let plan = self.shared.plan;
            Ok(composer.compose(plan, schema, slots, stamps, &mut given, builder)?)
        });
        self.groups = groups;
        self.note(&done?);
        let row_name = row_name(&resolved, is_context);
        let built = self.preparer.build(row_name, &mut self.builder);
        built.map_err(|error| error.to_string())?;
        let (rulebook, prepared) = (self.rulebook(), (&self.schema, &self.preparer));
        let claimed = self.claims.add(rulebook, prepared, &resolved.name, numbers);
        let (claims, ruled) = claimed.map_err(|error| error.to_string())?;
        self.look_up(&resolved, forms)?;
        if !links.is_empty() {
            self.links.push((self.entries.len(), links));
        }
        self.entries.push(Prospect {
            claims,
            ruled,
            name: resolved.hash,
            superior: (!is_context).then_some(resolved.superior),
            kind,
            place: read.place.clone(),
            line: read.line,
        });
        Ok(())
    }

    /// Looks up an input entry, its superior and its members in the old database, if the import
    /// adds to it.
    fn look_up(&mut self, resolved: &Resolved<'_>, forms: Option<Forms>) -> Result<(), Refused> {
        let looked_up = forms.map_or(Ok(()), |forms| self.look_up_in_old(resolved, forms));
        looked_up.map_err(|error| {
            self.shared.line.stop(Some(error.into()));
            Refused::Stopped
        })
    }

    fn look_up_in_old(
        &mut self,
        resolved: &Resolved<'_>,
        forms: Forms,
    ) -> Result<(), store::Error> {
        let snapshot = self.reader.snapshot()?;
        let name = &resolved.name;
        self.known.look_up(&snapshot, name, resolved.hash)?;
        if self.superior_known != Some(resolved.superior)
            && let Some(superior) = name.parent()
        {
            let above = resolved.superior;
            self.known.look_up(&snapshot, &superior, above)?;
            self.superior_known = Some(resolved.superior);
        }
        self.known.look_up_all(&snapshot, forms)
    }

    /// Records whether there are aliases, referrals and subentries.
    fn note(&self, verdict: &Verdict) {
        for (is, flag) in [
            (verdict.is_alias, &self.shared.aliases),
            (verdict.is_referral, &self.shared.referrals),
            (verdict.is_subentry, &self.shared.subentries),
        ] {
            if is {
                flag.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Checks, for the first entry below a superior, that it lies in a naming context, and that the
    /// context has a base entry.
    #[cold]
    fn enter_context(&mut self, resolved: &Resolved<'_>, read: &Read<'_>) -> Result<(), Refused> {
        let plan = self.shared.plan;
        if resolved.name.is_within(&plan.catalog.config) {
            let reason = "the configuration is kept as it is; change it over LDAP";
            return Err(Refused::Entry(reason.to_owned()));
        }
        let contexts = &self.shared.contexts;
        if !contexts.is_open(&resolved.name) {
            self.shared.line.wait_for_turn(self.piece)?;
            let create = plan.options.create_contexts;
            match contexts.open(&self.schema, &resolved.name, read.dn, create) {
                Opening::Open => {}
                Opening::First(depth) => {
                    self.contexts = contexts.names();
                    if plan.options.create_superiors {
                        self.create_superiors(read, depth)?;
                    }
                }
                Opening::Outside => return Err(Refused::Entry(contexts.missing(read.dn))),
            }
        }
        self.contexts = contexts.names();
        let parent_inside = resolved
            .name
            .parent()
            .is_some_and(|it| contexts.is_open(&it));
        if parent_inside {
            // Resolved again, because creating superiors has changed the cache.
            let _ = self.names.resolve(&self.schema, read.dn);
            self.names.cover();
        }
        Ok(())
    }

    /// Creates the missing superiors of the first entry of a context, from the context's own entry,
    /// whose name has `depth` RDNs, downwards.
    fn create_superiors(&mut self, read: &Read<'_>, depth: usize) -> Result<(), Refused> {
        for dn in superiors(read.dn, depth) {
            let classes = classes_for(&dn).iter();
            let values: Vec<LdifAttribute<'_>> = classes
                .map(|it| ("objectClass", Cow::Borrowed(it.as_bytes())))
                .collect();
            let created = Read {
                dn: &dn,
                values: &values,
                // If it is ever rejected, the text of the entry it was created for is shown.
                place: read.place.clone(),
                line: read.line,
            };
            self.entry(&created, Kind::Created)?;
        }
        Ok(())
    }
}

/// The key under which the store keeps an entry's name.
fn row_name<'n>(resolved: &'n Resolved<'_>, is_context: bool) -> &'n [u8] {
    if is_context {
        resolved.name.bytes()
    } else {
        &resolved.rdn.normal
    }
}
