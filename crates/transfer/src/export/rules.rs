//! Rules of an export: which entries and attributes it includes.

use super::options::{Compression, ExportFormat, ExportOptions};
use crate::damage::Losses;
use policy::Subject;
use protocol::ldif::LdifWriter;
use protocol::{Filter, parse_filter};
use schema::{AttributeNumber, Truth};
use state::catalog::Catalog;
use state::stop::{Failure, Stop};
use state::view::View;
use store::{EntryId, EntryView, Lookup, Region, RegionScope, Snapshot, StoredAttribute};

/// An entry, and the snapshot that it was read from.
#[derive(Clone, Copy)]
pub(super) struct StoredEntry<'e> {
    pub snapshot: &'e Snapshot<'e>,
    pub id: EntryId,
    pub view: &'e EntryView<'e>,
}

/// Rules of an export, shared by all threads.
pub(super) struct Rules {
    pub catalog: Catalog,
    region: Region,
    /// Id of `cn=config`; `None` if the export includes it.
    except: Option<EntryId>,
    filter: Option<schema::Filter>,
    subject: Subject,
    /// Whether each attribute is exported, by attribute number.
    selected: Vec<bool>,
    pub format: ExportFormat,
    pub writer: LdifWriter,
    pub compression: Compression,
    /// Collects entries that cannot be read; `None` if the first such entry ends the export.
    pub losses: Option<Losses>,
}

impl Rules {
    /// The rules of the options, resolved in one state.
    pub fn new(
        snapshot: &Snapshot<'_>,
        catalog: Catalog,
        options: &ExportOptions,
    ) -> Result<Rules, Failure> {
        let schema = &catalog.schema;
        let mut base = EntryId::ROOT;
        let mut except = None;
        match &options.base {
            Some(text) => {
                let name = schema.resolve_name(text);
                let name = name.map_err(|error| Failure::Input(format!("{text}: {error}")))?;
                match snapshot.find(&name)? {
                    Lookup::Found(id) => base = id,
                    Lookup::Missing { .. } => {
                        return Err(Failure::Input(format!("{text}: there is no such entry")));
                    }
                }
            }
            None => {
                if let Lookup::Found(id) = snapshot.find(&catalog.config)? {
                    except = Some(id);
                }
            }
        }
        let filter = match &options.filter {
            None => None,
            Some(text) => Some(resolve_filter(&catalog, text)?),
        };
        let selected = select(&catalog, options)?;
        Ok(Rules {
            catalog,
            region: Region {
                base,
                scope: RegionScope::Subtree,
            },
            except,
            filter,
            // A user who can read the folder may read everything.
            subject: Subject::server(),
            selected,
            format: options.format,
            writer: LdifWriter::new(options.fold_columns),
            compression: options.compression,
            losses: options.salvage.then(Losses::default),
        })
    }

    /// The entries of a range of ids. A salvage looks each entry up separately, so that an
    /// unreadable page costs no entries of other pages.
    pub fn entries<'a>(
        &self,
        snapshot: &Snapshot<'a>,
        from: EntryId,
        to: EntryId,
    ) -> Box<dyn Iterator<Item = (EntryId, Result<EntryView<'a>, store::Error>)> + 'a> {
        let snapshot = *snapshot;
        if self.losses.is_none() {
            let found = move |row: Result<(EntryId, EntryView<'a>), _>| match row {
                Ok((id, view)) => (id, Ok(view)),
                Err(error) => (from, Err(error)),
            };
            return Box::new(snapshot.entries_range(from, to).map(found));
        }
        let ids = (from.0..=to.0).map(EntryId);
        Box::new(ids.filter_map(move |id| Some((id, snapshot.entry(id).transpose()?))))
    }

    /// The rendering of an entry; `None` if it is damaged and losses are collected.
    pub fn keep<T>(&self, id: EntryId, made: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match (made, &self.losses) {
            (Ok(made), _) => Ok(Some(made)),
            (Err(Failure::Store(error)), Some(losses)) => {
                losses.add(id, &error);
                Ok(None)
            }
            (Err(failure), _) => Err(failure),
        }
    }

    /// Whether an attribute is exported.
    pub fn selects(&self, number: AttributeNumber) -> bool {
        self.selected.get(usize::from(number.0)) == Some(&true)
    }

    /// The exported attributes of an entry, without those that are links.
    pub fn exported<'v>(&self, view: &EntryView<'v>) -> impl Iterator<Item = StoredAttribute<'v>> {
        view.attributes().filter(|it| self.selects(it.number))
    }

    /// Whether an entry is in the exported subtree.
    pub fn is_inside(&self, entry: &StoredEntry<'_>) -> Result<bool, Failure> {
        let StoredEntry { snapshot, id, view } = *entry;
        if !snapshot.is_within(id, view, &self.region)? {
            return Ok(false);
        }
        let Some(except) = self.except else {
            return Ok(true);
        };
        let except = Region {
            base: except,
            scope: RegionScope::Subtree,
        };
        Ok(!snapshot.is_within(id, view, &except)?)
    }

    /// Whether an entry is the base of the export, or `cn=config`: other rules may hold for its
    /// siblings.
    pub fn is_base(&self, id: EntryId) -> bool {
        id == self.region.base || Some(id) == self.except
    }

    /// Whether an entry matches the filter, if there is one.
    pub fn matches(&self, entry: &StoredEntry<'_>, scratch: &mut Vec<u8>) -> Result<bool, Failure> {
        let Some(filter) = &self.filter else {
            return Ok(true);
        };
        let view = View::new(entry.snapshot, &self.catalog, &self.subject);
        let failed = |stop| match stop {
            Stop::Failed(failure) => failure,
            Stop::Refused(refusal) => Failure::Input(refusal.diagnostic),
        };
        let found = view.entry(entry.id).map_err(failed)?;
        let Some(found) = found else { return Ok(false) };
        let truth = found.evaluate(filter, scratch);
        Ok(truth.map_err(failed)? == Truth::True)
    }
}

fn resolve_filter(catalog: &Catalog, text: &str) -> Result<schema::Filter, Failure> {
    let wrong = |error: String| Failure::Input(format!("filter {text}: {error}"));
    let encoded = parse_filter(text).map_err(|error| wrong(error.to_string()))?;
    let mut reader = protocol::ber::Reader::new(&encoded);
    let filter = Filter::decode(&mut reader, protocol::FILTER_DEPTH_MAX);
    let filter = filter.map_err(|error| wrong(error.to_string()))?;
    Ok(catalog.schema.resolve_filter(&filter))
}

/// Whether each attribute is exported, by attribute number.
fn select(catalog: &Catalog, options: &ExportOptions) -> Result<Vec<bool>, Failure> {
    let schema = &catalog.schema;
    let mut user = options.attributes.is_empty();
    let mut operational = user && options.operational;
    let mut numbers: Vec<AttributeNumber> = Vec::new();
    for text in &options.attributes {
        match text.as_str() {
            "*" => user = true,
            "+" => operational = true,
            text => {
                let description = schema.describe(text);
                let description =
                    description.map_err(|error| Failure::Input(format!("{text}: {error}")))?;
                numbers.extend(schema.selected_numbers(&description));
            }
        }
    }
    let mut selected = Vec::new();
    for known in schema.known_attributes() {
        let at = usize::from(known.number.0);
        if selected.len() <= at {
            selected.resize(at + 1, false);
        }
        let by_kind = if known.operational { operational } else { user };
        selected[at] = by_kind || numbers.contains(&known.number);
    }
    Ok(selected)
}
