//! One thread's share of an import: pieces of input become prepared entries.

mod rules;

use super::attributes::{Role, Slots};
use super::contexts::{Opening, superiors};
use super::entry::{Composer, Extra, Given, Group};
use super::line::Stopped;
use super::names::{Names, Resolved};
use super::pipeline::Shared;
use super::rulebook::Rulebook;
use super::sink::Sink;
use super::source::{Content, Piece, read_request};
use super::stamps::Stamps;
use super::stored;
use super::verdict::Verdict;
use super::work::{Kind, Origin, Prospect, Rejected, Task, Text, Work};
use crate::open::classes_for;
use crate::stop::Failure;
use protocol::ldif::{LdifAttribute, LdifRecord, LdifScratch, parse_record, split_records};
use schema::{Name, Schema};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::Ordering;
use store::{EntryBuilder, EntryId, Preparer, Reader};

/// One entry of the input, before anything is known about it.
pub(super) struct Read<'r> {
    pub dn: &'r str,
    pub values: &'r [LdifAttribute<'r>],
    pub place: Range<usize>,
    pub line: u64,
}

/// Why an entry does not become a prospect.
pub(super) enum Refused {
    /// Its own fault.
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

/// Where given entries come from, where their piece begins, and their text.
type GivenWork = (String, Option<u64>, Result<Text, Stopped>);

/// A worker with everything it remembers between entries.
pub(super) struct Worker<'s> {
    shared: &'s Shared<'s>,
    reader: Reader,
    schema: Schema,
    names: Names,
    contexts: Vec<Name>,
    slots: Slots,
    /// The slots of the entry before, by group: mostly those of the next one.
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
            scratch: LdifScratch::new(),
            piece: 0,
            entries: Vec::new(),
            claims: rules::Claims::default(),
            links: Vec::new(),
            rejected: Vec::new(),
        }
    }

    /// Does one task; `None` when nothing more is wanted.
    pub fn work(&mut self, number: u64, task: Task) -> Result<Option<Work>, Failure> {
        self.piece = number;
        self.stamps
            .begin(self.shared.plan, self.shared.first_stamp + number);
        let mut broken = false;
        let (origin, offset, done) = match task {
            Task::Given(piece) => {
                broken = matches!(piece.content, Content::Broken { .. });
                self.given(piece)?
            }
            Task::Stored { from, to } => {
                let names = self.stored(from, to)?;
                let origin = "the old database, entry".to_owned();
                (origin, None, Ok(Text::Names(names)))
            }
        };
        let Ok(text) = done else { return Ok(None) };
        let origin = Origin {
            text: origin,
            offset,
        };
        Ok(Some(Work {
            origin,
            text,
            broken,
            prepared: self.preparer.take(),
            entries: std::mem::take(&mut self.entries),
            claims: std::mem::take(&mut self.claims.all),
            rejected: std::mem::take(&mut self.rejected),
            links: std::mem::take(&mut self.links),
        }))
    }

    fn given(&mut self, piece: Piece) -> Result<GivenWork, Failure> {
        let origin = piece.origin;
        Ok(match piece.content {
            Content::Ldif(chunk) => {
                let done = self.ldif(&chunk.text, chunk.first_line);
                let text = done.map(|()| Text::Ldif(chunk.text));
                (format!("{origin}, line"), None, text)
            }
            Content::Ber {
                requests,
                first,
                offset,
                bare,
            } => {
                let done = self.ber(&requests, first, bare);
                let text = done.map(|()| Text::Ber { requests, bare });
                (format!("{origin}, request"), offset, text)
            }
            Content::Broken {
                number,
                offset,
                reason,
            } => {
                self.rejected.push(Rejected {
                    line: number,
                    at: 0,
                    reason: format!("{reason}; this input is not read any further"),
                    text: Vec::new(),
                });
                let text = Ok(Text::Names(Vec::new()));
                (format!("{origin}, request"), Some(offset), text)
            }
            Content::Made { make, first } => {
                let mut sink = Sink::new(self, first);
                let made = make(&mut sink);
                let Sink { names, stopped, .. } = sink;
                let done = match (stopped, made) {
                    (true, _) => Err(Stopped),
                    (false, Err(error)) => {
                        return Err(Failure::Input(format!("{origin}: {error}")));
                    }
                    (false, Ok(())) => Ok(Text::Names(names)),
                };
                (format!("{origin}, entry"), None, done)
            }
        })
    }

    fn ldif(&mut self, text: &[u8], first_line: u64) -> Result<(), Stopped> {
        // Out of self for as long as records borrow from it.
        let mut scratch = std::mem::take(&mut self.scratch);
        for record in split_records(text, first_line) {
            let start = record.text.as_ptr().addr() - text.as_ptr().addr();
            let place = start..start + record.text.len();
            let (line, result) = match parse_record(record.text, record.line, &mut scratch) {
                Ok(
                    LdifRecord::Entry { dn, attributes } | LdifRecord::Add { dn, attributes, .. },
                ) => {
                    let read = Read {
                        dn,
                        values: &attributes,
                        place,
                        line: record.line,
                    };
                    (record.line, self.entry(&read, Kind::Imported))
                }
                Ok(_) => {
                    let reason = "expected an entry, came a change; apply it with ldapmodify";
                    (record.line, Err(Refused::Entry(reason.to_owned())))
                }
                Err(error) => (error.line, Err(Refused::Entry(error.message))),
            };
            match result {
                Ok(()) => {}
                Err(Refused::Stopped) => return Err(Stopped),
                Err(Refused::Entry(reason)) => {
                    self.rejected.push(Rejected {
                        line,
                        at: start,
                        reason,
                        text: record.text.to_vec(),
                    });
                }
            }
        }
        self.scratch = scratch;
        Ok(())
    }

    fn ber(&mut self, requests: &[u8], first: u64, bare: bool) -> Result<(), Stopped> {
        let mut rest = requests;
        let mut line = first;
        while !rest.is_empty() {
            let start = requests.len() - rest.len();
            let (request, after) = match read_request(rest, bare) {
                Ok(read) => read,
                Err(reason) => {
                    // The source has found where elements end, so the next one can be tried.
                    let after = super::source::after_element(rest);
                    self.rejected.push(Rejected {
                        line,
                        at: start,
                        reason,
                        text: Vec::new(),
                    });
                    rest = after;
                    line += 1;
                    continue;
                }
            };
            rest = after;
            let values = values_of(&request);
            let place = start..requests.len() - rest.len();
            let read = Read {
                dn: request.entry,
                values: &values,
                place,
                line,
            };
            match self.entry(&read, Kind::Imported) {
                Ok(()) => {}
                Err(Refused::Stopped) => return Err(Stopped),
                Err(Refused::Entry(reason)) => {
                    let text = super::rejects::ldif(request.entry, &values);
                    self.rejected.push(Rejected {
                        line,
                        at: start,
                        reason,
                        text,
                    });
                }
            }
            line += 1;
        }
        Ok(())
    }

    /// Takes entries of the old database as they are.
    fn stored(&mut self, from: u64, to: u64) -> Result<Vec<u8>, Failure> {
        let mut names = Vec::new();
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
            let is_initial = is_context && !is_config && view.position() == 1;
            let row_name = row_name(&resolved, is_context);
            let (schema, builder) = (&self.schema, &mut self.builder);
            let from = (&snapshot, id, &view);
            let (links, is_built) =
                stored::links_of(schema, &mut self.names, from, &resolved.rdn, builder)?;
            match is_built {
                true => self.preparer.build(row_name, &mut self.builder)?,
                false => self.preparer.add(row_name, view.bytes())?,
            }
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
        }
        self.reader.reset();
        Ok(names)
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

    /// Remembers what kinds of entries there are.
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

    /// What the first entry below a superior asks for: is it in a naming context, and has that a
    /// base entry?
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
            let create = plan.options.create_suffix;
            match contexts.open(&self.schema, &resolved.name, read.dn, create) {
                Opening::Open => {}
                Opening::First(depth) => {
                    self.contexts = contexts.names();
                    if create {
                        self.create_superiors(read, depth)?;
                    }
                }
                Opening::Outside => {
                    let reason = "no naming context holds this name, and none is to be created";
                    return Err(Refused::Entry(reason.to_owned()));
                }
            }
        }
        self.contexts = contexts.names();
        let parent_inside = resolved
            .name
            .parent()
            .is_some_and(|it| contexts.is_open(&it));
        if parent_inside {
            // Found again by its text: creating superiors has moved the memory on.
            let _ = self.names.resolve(&self.schema, read.dn);
            self.names.cover();
        }
        Ok(())
    }

    /// Makes the entries that are missing above the first one of a context, from the context's
    /// own, which has `depth` RDNs, downwards.
    fn create_superiors(&mut self, read: &Read<'_>, depth: usize) -> Result<(), Refused> {
        for dn in superiors(read.dn, depth) {
            let classes = classes_for(&dn).iter();
            let values: Vec<LdifAttribute<'_>> = classes
                .map(|it| ("objectClass", Cow::Borrowed(it.as_bytes())))
                .collect();
            let created = Read {
                dn: &dn,
                values: &values,
                // Should it ever be rejected, then with the entry it was created for.
                place: read.place.clone(),
                line: read.line,
            };
            self.entry(&created, Kind::Created)?;
        }
        Ok(())
    }

    /// Puts the values given into groups, one for each attribute.
    fn resolve_attributes(&mut self, values: &[LdifAttribute<'_>]) -> Result<(), Refused> {
        self.groups.clear();
        let mut at = 0;
        while at < values.len() {
            let text = values[at].0;
            let same = values[at..].iter().take_while(|it| it.0 == text).count();
            let guess = self.before.get(self.groups.len()).copied();
            let slot = match self.slots.find(text, guess) {
                Some(slot) => slot,
                None => self.new_slot(text)?,
            };
            self.groups.push(Group {
                slot,
                start: at,
                end: at + same,
            });
            at += same;
        }
        self.before.clear();
        self.before.extend(self.groups.iter().map(|it| it.slot));
        Ok(())
    }

    #[cold]
    fn new_slot(&mut self, text: &str) -> Result<usize, Refused> {
        if self.slots.is_full() {
            return Err(Refused::Entry(
                "too many different attribute descriptions".to_owned(),
            ));
        }
        let description = self
            .schema
            .describe(text)
            .map_err(|error| error.to_string())?;
        if self.schema.number(&description).is_none() {
            self.shared.line.wait_for_turn(self.piece)?;
        }
        let catalog = &self.shared.plan.catalog;
        let (slot, newer) = self
            .slots
            .add(catalog, &self.shared.schema, &self.schema, text)?;
        if let Some(newer) = newer {
            self.preparer.set_indexes(&self.shared.plan.indexes(&newer));
            self.schema = newer;
        }
        Ok(slot)
    }

    /// RFC 4511 §4.7: values of the RDN need not be among those given; they are added. Values of
    /// one attribute that stand apart are joined, and those computed here dropped.
    fn add_naming_values<'e>(
        &mut self,
        resolved: &'e Resolved<'_>,
        values: &'e [LdifAttribute<'_>],
        groups: &mut Vec<Group>,
    ) -> Result<Vec<Extra<'e>>, Refused> {
        let slots = &self.slots;
        let is_computed = |it: &Group| slots.slot(it.slot).role == Role::Computed;
        if groups.iter().any(is_computed) {
            groups.retain(|it| !is_computed(it));
        }
        let mut extras: Vec<Extra<'e>> = Vec::new();
        let same = |a: &Group, b: &Group| slots.slot(a.slot).same_as == slots.slot(b.slot).same_as;
        let mut at = 1;
        while at < groups.len() {
            let Some(first) = groups[..at].iter().position(|it| same(it, &groups[at])) else {
                at += 1;
                continue;
            };
            let apart = groups.remove(at);
            let apart = values[apart.start..apart.end].iter();
            extras.extend(apart.map(|it| (first, Cow::Borrowed(&*it.1))));
        }
        for (description, value) in &resolved.rdn.values {
            let number = self.schema.number(description);
            let group = groups
                .iter()
                .position(|it| Some(self.slots.slot(it.slot).number) == number);
            let Some(group) = group else {
                let text = self.schema.spelled(description);
                let slot = match self.slots.find(&text, None) {
                    Some(slot) => slot,
                    None => self.new_slot(&text)?,
                };
                extras.push((groups.len(), Cow::Borrowed(value)));
                groups.push(Group {
                    slot,
                    start: 0,
                    end: 0,
                });
                continue;
            };
            let Group { start, end, .. } = groups[group];
            let given = values[start..end].iter().map(|it| &*it.1);
            let apart = extras.iter().filter(|it| it.0 == group).map(|it| &*it.1);
            if !has_value(&self.schema, description.type_id, given.chain(apart), value) {
                extras.push((group, Cow::Borrowed(value)));
            }
        }
        Ok(extras)
    }
}

/// What the store keeps an entry's name under.
fn row_name<'n>(resolved: &'n Resolved<'_>, is_context: bool) -> &'n [u8] {
    if is_context {
        resolved.name.bytes()
    } else {
        &resolved.rdn.normal
    }
}

/// Whether a value equal to `wanted` is among the values.
fn has_value<'v>(
    schema: &Schema,
    type_id: schema::TypeId,
    values: impl Iterator<Item = &'v [u8]> + Clone,
    wanted: &[u8],
) -> bool {
    if values.clone().any(|it| it == wanted) {
        return true;
    }
    let (mut form, mut other) = (Vec::new(), Vec::new());
    crate::operation::values::normal(schema, type_id, wanted, &mut form);
    let mut values = values;
    values.any(|it| {
        crate::operation::values::normal(schema, type_id, it, &mut other);
        other == form
    })
}

/// The attributes of a request as values, one after the other.
pub(super) fn values_of<'r>(request: &protocol::AddRequest<'r>) -> Vec<LdifAttribute<'r>> {
    let attributes = request.attributes.iter();
    attributes
        .flat_map(|it| {
            it.values
                .iter()
                .map(move |value| (it.description, Cow::Borrowed(value)))
        })
        .collect()
}
