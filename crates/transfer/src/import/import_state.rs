//! State that the threads of an import share: the workers, and the sequencer behind them.

use super::attributes::GrowingSchema;
use super::checkpoint::Saved;
use super::contexts::Contexts;
use super::names;
use super::plan::Plan;
use super::work::Item;
use crate::line::Line;
use crate::meter::Meter;
use state::stop::Failure;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{EntryId, Store};

/// Position of the entries made by `pando init`.
pub(super) const INITIAL_POSITION: u64 = 1;

/// The shared state.
pub(super) struct ImportState<'p> {
    pub plan: &'p Plan<'p>,
    pub line: Line<Item>,
    pub schema: GrowingSchema,
    pub contexts: Contexts,
    /// Whether the new database has aliases, referrals, and subentries.
    pub aliases: AtomicBool,
    pub referrals: AtomicBool,
    pub subentries: AtomicBool,
    /// Number added to the number of a piece for the stamps of its entries: the stamps that an
    /// interrupted import used.
    pub first_stamp: u64,
    /// Whether the import adds to the old database, whose entries are not read.
    pub keeps_old: bool,
    pub meter: &'p Meter,
}

impl<'p> ImportState<'p> {
    /// The state at the begin of an import, or at its checkpoint.
    pub fn new(
        plan: &'p Plan<'_>,
        keeps_old: bool,
        saved: Option<&Saved>,
        meter: &'p Meter,
    ) -> Result<ImportState<'p>, Failure> {
        let catalog = &plan.catalog;
        let [aliases, referrals, subentries] = match saved {
            Some(saved) => saved.flags,
            None => [
                catalog.has_aliases,
                catalog.has_referrals,
                catalog.has_subentries,
            ],
        };
        let schema = match saved {
            Some(saved) => catalog
                .schema
                .with_dictionary(&saved.dictionary)
                .map_err(|error| Failure::Configuration(error.to_string()))?,
            None => catalog.schema.clone(),
        };
        Ok(ImportState {
            plan,
            line: Line::new(),
            contexts: match saved {
                Some(saved) => Contexts::resume(&schema, &saved.contexts)?,
                None => Contexts::new(&catalog.contexts),
            },
            schema: GrowingSchema::new(schema),
            aliases: AtomicBool::new(aliases),
            referrals: AtomicBool::new(referrals),
            subentries: AtomicBool::new(subentries),
            first_stamp: saved.map_or(0, |it| it.stamps),
            keeps_old,
            meter,
        })
    }

    /// Fails after cancellation.
    pub fn check(&self) -> Result<(), Failure> {
        self.meter.check()
    }

    /// Whether the new database has aliases, referrals, and subentries so far.
    pub fn flags(&self) -> [bool; 3] {
        [&self.aliases, &self.referrals, &self.subentries].map(|it| it.load(Ordering::Relaxed))
    }

    /// Opens the naming contexts of the old database. Returns the base entries made by `pando
    /// init`, with the hashes of their names.
    pub fn open_contexts(&self, old: &Store) -> Result<Vec<(u128, EntryId)>, Failure> {
        let mut initial = Vec::new();
        let mut reader = old.reader()?;
        let snapshot = reader.snapshot()?;
        for id in snapshot.children(EntryId::ROOT) {
            let id = id?;
            let Some(view) = snapshot.entry(id)? else {
                continue;
            };
            let mut dn = Vec::new();
            snapshot.write_name(&view, &mut dn)?;
            let dn = String::from_utf8_lossy(&dn);
            let (catalog, schema) = (&self.plan.catalog, &self.plan.catalog.schema);
            let name = schema.resolve_name(&dn).map_err(|error| {
                Failure::Configuration(format!("entry {} of the old database: {error}", id.0))
            })?;
            self.contexts.open(schema, &name, &dn, false);
            if view.position() == INITIAL_POSITION && !name.is_within(&catalog.config) {
                initial.push((names::hash(&name), id));
            }
        }
        Ok(initial)
    }
}
