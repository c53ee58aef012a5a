//! Makes prospects of entries: resolves, checks and encodes entries of the input, and takes over
//! entries of the old database.

use crate::import::contexts::{Opening, superiors};
use crate::import::entry::{Composer, ResolvedEntry};
use crate::import::grouping::Grouper;
use crate::import::import_state::{INITIAL_POSITION, ImportState};
use crate::import::known::{Forms, Known};
use crate::import::links::StoredEntry;
use crate::import::names::{Names, Resolved};
use crate::import::rulebook::{Claims, Rulebook};
use crate::import::stamps::Stamps;
use crate::import::verdict::Verdict;
use crate::import::work::{Kind, Origin, Prospect, Read, Refused, Rejected, Text, Work};
use protocol::ldif::LdifAttribute;
use replica::create::classes_for;
use schema::Name;
use state::stop::Failure;
use std::borrow::Cow;
use std::sync::atomic::Ordering;
use store::{EntryBuilder, EntryId, Preparer, Reader};

/// Bytes of old entries and their links that are taken over at once.
const STORED_BYTES: usize = 4 << 20;

/// The prospects of a piece, with the caches and buffers for making them.
pub(super) struct Prospects<'s> {
    shared: &'s ImportState<'s>,
    reader: Reader,
    names: Names,
    contexts: Vec<Name>,
    grouper: Grouper<'s>,
    composer: Composer,
    builder: EntryBuilder,
    preparer: Preparer,
    stamps: Stamps,
    piece: u64,
    entries: Vec<Prospect>,
    claims: Claims<'s>,
    links: Vec<(usize, Vec<u8>)>,
    known: Known,
    /// Hash of the superior that was looked up last.
    superior_known: Option<u128>,
    rejected: Vec<Rejected>,
}

impl<'s> Prospects<'s> {
    /// No prospects, and empty caches. The reader is one of the old database.
    pub fn new(shared: &'s ImportState<'s>, reader: Reader) -> Prospects<'s> {
        let grouper = Grouper::new(shared);
        Prospects {
            preparer: Preparer::new(&shared.plan.indexes(grouper.schema())),
            contexts: shared.contexts.names(),
            shared,
            reader,
            names: Names::default(),
            grouper,
            composer: Composer::default(),
            builder: EntryBuilder::default(),
            stamps: Stamps::new(),
            piece: 0,
            entries: Vec::new(),
            claims: Claims::new(Rulebook::new(shared.plan)),
            links: Vec::new(),
            known: Known::default(),
            superior_known: None,
            rejected: Vec::new(),
        }
    }

    /// Begins the piece of this number.
    pub fn begin(&mut self, piece: u64) {
        self.piece = piece;
        self.grouper.begin(piece);
        self.stamps
            .begin(self.shared.plan, self.shared.first_stamp + piece);
    }

    /// Takes the prospects and rejected entries of the piece.
    pub fn take(&mut self, origin: Origin, text: Text, broken: bool) -> Work {
        Work {
            origin,
            text,
            broken,
            prepared: self.preparer.take(),
            entries: std::mem::take(&mut self.entries),
            claims: self.claims.take(),
            rejected: std::mem::take(&mut self.rejected),
            links: std::mem::take(&mut self.links),
            known: std::mem::take(&mut self.known),
        }
    }

    /// Adds a rejected entry.
    pub fn reject(&mut self, rejected: Rejected) {
        self.rejected.push(rejected);
    }

    /// Takes over entries of the old database unchanged. Returns their concatenated names, and, if
    /// the entries are large, the id from which to continue.
    pub fn take_over(&mut self, from: u64, to: u64) -> Result<(Vec<u8>, Option<u64>), Failure> {
        let mut dns = Vec::new();
        let (mut bytes, mut rest) = (0, None);
        let (schema, catalog) = (self.grouper.schema(), &self.shared.plan.catalog);
        let snapshot = self.reader.snapshot()?;
        for row in snapshot.entries_range(EntryId(from), EntryId(to)) {
            let (id, view) = row?;
            let start = dns.len();
            snapshot.write_name(&view, &mut dns)?;
            let dn = std::str::from_utf8(&dns[start..]).unwrap_or_default();
            let resolved = self.names.resolve(schema, dn).map_err(|reason| {
                Failure::Configuration(format!("entry {} of the old database: {reason}", id.0))
            })?;
            let is_context = view.parent().is_root();
            if is_context {
                let contexts = &self.shared.contexts;
                contexts.open(schema, &resolved.name, dn, false);
            }
            let is_config = resolved.name.is_within(&catalog.config);
            let is_initial = is_context && !is_config && view.position() == INITIAL_POSITION;
            let row_name = row_name(&resolved, is_context);
            let stored = StoredEntry {
                snapshot: &snapshot,
                id,
                view: &view,
                rdn: &resolved.rdn,
            };
            let (names, builder) = (&mut self.names, &mut self.builder);
            let (links, is_built) =
                stored.links(schema, catalog.deleted_members, names, builder)?;
            match is_built {
                true => self.preparer.build(row_name, &mut self.builder)?,
                false => self.preparer.add(row_name, view.bytes())?,
            }
            bytes += view.bytes().len() + links.len();
            if !links.is_empty() {
                self.links.push((self.entries.len(), links));
            }
            let (claims, ruled) =
                self.claims
                    .add(schema, &self.preparer, &resolved.name, Vec::new())?;
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
                place: start..dns.len(),
                line: id.0,
            });
            if bytes >= STORED_BYTES && id.0 < to {
                rest = Some(id.0 + 1);
                break;
            }
        }
        self.reader.reset();
        Ok((dns, rest))
    }

    /// Makes a prospect of an entry of the input.
    pub fn entry(&mut self, read: &Read<'_>, kind: Kind) -> Result<(), Refused> {
        let resolved = self.names.resolve(self.grouper.schema(), read.dn)?;
        if !resolved.covered {
            self.enter_context(&resolved, read)?;
        }
        let is_context = self.contexts.contains(&resolved.name);
        let mut entry = ResolvedEntry {
            name: &resolved,
            spelled: if is_context {
                read.dn
            } else {
                resolved.spelled
            },
            grouped: self.grouper.group(read.values)?,
            links: Vec::new(),
            forms: self.shared.keeps_old.then(Forms::default),
        };
        let composed = self.compose(&mut entry, kind);
        let (links, forms) = (entry.links, entry.forms);
        self.grouper.reuse(entry.grouped);
        let numbers = composed?;
        let row_name = row_name(&resolved, is_context);
        let built = self.preparer.build(row_name, &mut self.builder);
        built.map_err(|error| error.to_string())?;
        let schema = self.grouper.schema();
        let claimed = self
            .claims
            .add(schema, &self.preparer, &resolved.name, numbers);
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

    /// Completes and checks an entry, and leaves its row in the builder. Returns the rules from
    /// which the entry requests a number.
    fn compose(&mut self, entry: &mut ResolvedEntry<'_>, kind: Kind) -> Result<Vec<u16>, Refused> {
        self.grouper
            .add_naming_values(entry.name, &mut entry.grouped)?;
        let numbers = match kind {
            Kind::Imported => self
                .grouper
                .ask_for_numbers(entry.name, &mut entry.grouped)?,
            Kind::Kept | Kind::Initial | Kind::Created => Vec::new(),
        };
        let plan = self.shared.plan;
        if let Some(schema) = self.grouper.growth() {
            self.preparer.set_indexes(&plan.indexes(schema));
        }
        self.stamps.next();
        let (schema, slots) = (self.grouper.schema(), self.grouper.slots());
        let (composer, builder) = (&mut self.composer, &mut self.builder);
        let verdict = composer.compose(plan, schema, slots, &self.stamps, entry, builder)?;
        self.note(&verdict);
        Ok(numbers)
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

    /// Checks, for the first entry below a superior, that the entry is in a naming context, and
    /// that the context has a base entry.
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
            let schema = self.grouper.schema();
            match contexts.open(schema, &resolved.name, read.dn, create) {
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
            let _ = self.names.resolve(self.grouper.schema(), read.dn);
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
