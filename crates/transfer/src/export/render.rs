//! Renders entries as LDIF or as add requests.

use super::salvage::Losses;
use super::{Compression, ExportFormat, ExportOptions};
use flate2::write::GzEncoder;
use policy::Subject;
use protocol::ber::{OCTET_STRING, SEQUENCE, SET, put_integer, put_nested, put_octets};
use protocol::ldif::LdifWriter;
use protocol::{Filter, PartialAttribute, parse_filter};
use schema::{AttributeNumber, Truth};
use state::catalog::Catalog;
use state::stop::{Failure, Stop};
use state::view::{View, write_member};
use std::io::Write;
use store::{EntryId, EntryView, Lookup, Region, RegionScope, Snapshot};

/// zstd's level, chosen to keep up with rendering.
const ZSTD_LEVEL: i32 = 1;

/// Bytes of text at which a part ends, even inside an entry.
pub(super) const PART_BYTES: usize = 4 << 20;

const INTEGER: u8 = 0x02;
/// The tag of an AddRequest, `[APPLICATION 8]`.
const ADD_REQUEST: u8 = 0x68;

/// Rules of an export, shared by all threads.
pub(super) struct Rules {
    catalog: Catalog,
    region: Region,
    /// Id of `cn=config`; `None` if the export includes it.
    except: Option<EntryId>,
    filter: Option<schema::Filter>,
    subject: Subject,
    /// Whether each attribute is exported, by attribute number.
    selected: Vec<bool>,
    format: ExportFormat,
    writer: LdifWriter,
    pub compression: Compression,
    /// Collects entries that cannot be read; `None` if the first one ends the export.
    pub losses: Option<Losses>,
}

/// Some entries as text.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub text: Vec<u8>,
    /// The compressed text; `None` without compression.
    pub compressed: Option<Vec<u8>>,
    pub rows: Vec<Row>,
    /// Whether some entry has an id below that of its superior.
    pub has_older: bool,
    /// Number of entries in the text.
    pub entries: u64,
}

/// One entry of a part, exported or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub id: EntryId,
    pub parent: EntryId,
    /// End of its text in bytes; it begins where the previous one ends.
    pub end: usize,
    /// Whether its text continues in the next part.
    pub goes_on: bool,
}

impl Part {
    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let compressed = self.compressed.as_ref().map_or(0, Vec::capacity);
        self.text.capacity() + compressed
    }
}

/// Callback for a part, and whether it is the last of its range of ids.
pub(super) type PutPart<'p> = dyn FnMut(Part, bool) -> Result<(), Failure> + 'p;

/// Callback that takes the text of an entry that has become long, and clears it.
pub(super) type TakeText<'t> = dyn FnMut(&mut Vec<u8>) -> Result<(), Failure> + 't;

/// Callback for a value and its attribute description.
type TellValue<'t> = dyn FnMut(&str, &[u8]) -> Result<(), Failure> + 't;

impl Rules {
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

    /// The entries of a range of ids. In a salvage each is looked up separately, so that an
    /// unreadable page costs no entries of other pages.
    fn entries<'a>(
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
    fn keep<T>(&self, id: EntryId, made: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match (made, &self.losses) {
            (Ok(made), _) => Ok(Some(made)),
            (Err(Failure::Store(error)), Some(losses)) => {
                losses.add(id, &error);
                Ok(None)
            }
            (Err(failure), _) => Err(failure),
        }
    }

    fn exported<'v>(
        &self,
        view: &EntryView<'v>,
    ) -> impl Iterator<Item = store::StoredAttribute<'v>> {
        let attributes = view.attributes();
        attributes.filter(|it| self.selected.get(usize::from(it.number.0)) == Some(&true))
    }

    /// Appends a record, or its last part if the entry has very many links.
    fn put_record(
        &self,
        out: &mut Vec<u8>,
        name: &str,
        (snapshot, id, view): (&Snapshot<'_>, EntryId, &EntryView<'_>),
        take: &mut TakeText<'_>,
    ) -> Result<(), Failure> {
        self.writer.put_dn(out, name);
        let stored = self.exported(view);
        for attribute in stored.filter_map(|it| PartialAttribute::from_checked(it.encoded)) {
            for value in attribute.values {
                self.writer.put_value(out, attribute.description, value);
            }
        }
        if view.has_links() {
            self.each_link(snapshot, id, &mut |description, value| {
                self.writer.put_value(out, description, value);
                match out.len() < PART_BYTES {
                    true => Ok(()),
                    false => take(out),
                }
            })?;
        }
        self.writer.end_record(out);
        Ok(())
    }

    /// Appends an add request; attributes are stored in the encoding of requests.
    fn put_request(&self, out: &mut Vec<u8>, name: &str, view: &EntryView<'_>, links: &[u8]) {
        put_nested(out, ADD_REQUEST, |out| {
            put_octets(out, OCTET_STRING, name.as_bytes());
            put_nested(out, SEQUENCE, |out| {
                self.exported(view)
                    .for_each(|it| out.extend_from_slice(it.encoded));
                out.extend_from_slice(links);
            });
        });
    }

    /// The values that are links as encoded attributes. They are all in memory, because a request
    /// begins with its length.
    fn links(&self, snapshot: &Snapshot<'_>, id: EntryId) -> Result<Vec<u8>, Failure> {
        let mut sets: Vec<(String, Vec<u8>)> = Vec::new();
        self.each_link(snapshot, id, &mut |description, value| {
            let known = sets.last().is_some_and(|(last, _)| last == description);
            if !known {
                sets.push((description.to_owned(), Vec::new()));
            }
            if let Some((_, values)) = sets.last_mut() {
                put_octets(values, OCTET_STRING, value);
            }
            Ok(())
        })?;
        let mut out = Vec::new();
        for (description, values) in sets {
            put_nested(&mut out, SEQUENCE, |out| {
                put_octets(out, OCTET_STRING, description.as_bytes());
                put_octets(out, SET, &values);
            });
        }
        Ok(out)
    }

    /// Calls `tell` for the values that are links, attribute by attribute.
    fn each_link(
        &self,
        snapshot: &Snapshot<'_>,
        id: EntryId,
        tell: &mut TellValue<'_>,
    ) -> Result<(), Failure> {
        let mut value = Vec::new();
        for set in snapshot.linked_sets(id)? {
            let known = self.catalog.schema.known(set.number);
            let selected = self.selected.get(usize::from(set.number.0)) == Some(&true);
            let Some(known) = known.filter(|_| selected) else {
                continue;
            };
            for member in snapshot.members_after(set.set, EntryId::ROOT)? {
                value.clear();
                if write_member(snapshot, &self.catalog, (set.set, member?), &mut value)? {
                    tell(&known.text, &value)?;
                }
            }
        }
        Ok(())
    }

    /// The text compressed as one gzip member or zstd frame; `None` without compression.
    pub fn compress(&self, text: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        self.compression.pack(text)
    }
}

impl Compression {
    /// The text as one gzip member or zstd frame; `None` without compression.
    pub(super) fn pack(self, text: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let compressed = match self {
            Compression::Plain => return Ok(None),
            Compression::Zstd => zstd::encode_all(text, ZSTD_LEVEL),
            Compression::Gzip => {
                let out = Vec::with_capacity(text.len());
                let mut encoder = GzEncoder::new(out, flate2::Compression::default());
                encoder.write_all(text).and_then(|()| encoder.finish())
            }
        };
        let compressed = compressed.map_err(|error| Failure::file("compressing", error))?;
        Ok(Some(compressed))
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

/// Renders entries on one thread.
pub(super) struct Renderer<'r> {
    rules: &'r Rules,
    name: Vec<u8>,
    scratch: Vec<u8>,
    /// The last superior looked up, and whether its children are exported.
    last: Option<(EntryId, bool)>,
    text_bytes: usize,
}

impl<'r> Renderer<'r> {
    pub fn new(rules: &'r Rules) -> Renderer<'r> {
        Renderer {
            rules,
            name: Vec::new(),
            scratch: Vec::new(),
            last: None,
            text_bytes: 0,
        }
    }

    /// Renders the entries of a range of ids into one part, or several if the text is long.
    pub fn parts(
        &mut self,
        snapshot: &Snapshot<'_>,
        (from, to): (EntryId, EntryId),
        put: &mut PutPart<'_>,
    ) -> Result<(), Failure> {
        let mut text = Vec::with_capacity(self.text_bytes);
        let mut filling = Filling {
            rules: self.rules,
            part: Part::default(),
            put,
        };
        for (id, found) in self.rules.entries(snapshot, from, to) {
            let Some(view) = self.rules.keep(id, found.map_err(Failure::from))? else {
                continue;
            };
            let before = text.len();
            let mut row = Row {
                id,
                parent: view.parent(),
                end: 0,
                goes_on: true,
            };
            filling.part.has_older |= row.parent > id;
            let take = &mut |text: &mut Vec<u8>| filling.break_off(row, text);
            let written = self.entry(snapshot, id, &view, &mut text, take);
            let Some(written) = self.rules.keep(id, written)? else {
                text.truncate(before);
                continue;
            };
            (row.end, row.goes_on) = (text.len(), false);
            filling.part.entries += u64::from(written);
            filling.part.rows.push(row);
            if text.len() >= PART_BYTES {
                filling.hand_on(std::mem::take(&mut text), false)?;
            }
        }
        self.text_bytes = self.text_bytes.max(text.len());
        filling.hand_on(text, true)
    }

    /// Appends an entry if it is exported, passing long text on meanwhile.
    pub fn entry(
        &mut self,
        snapshot: &Snapshot<'_>,
        id: EntryId,
        view: &EntryView<'_>,
        out: &mut Vec<u8>,
        take: &mut TakeText<'_>,
    ) -> Result<bool, Failure> {
        if !self.is_exported(snapshot, id, view)? {
            return Ok(false);
        }
        let rules = self.rules;
        self.name.clear();
        snapshot.write_name(view, &mut self.name)?;
        // Stored names are text; other bytes would be a damaged row.
        let name = std::str::from_utf8(&self.name).unwrap_or_default();
        let links = match view.has_links() && rules.format != ExportFormat::Ldif {
            true => rules.links(snapshot, id)?,
            false => Vec::new(),
        };
        match rules.format {
            ExportFormat::Ldif => rules.put_record(out, name, (snapshot, id, view), take)?,
            ExportFormat::BareBer => rules.put_request(out, name, view, &links),
            ExportFormat::Ber => put_nested(out, SEQUENCE, |out| {
                // Message ids matter only within a session, and start again after 2^31-1.
                let message_id = (id.0 - 1) % i32::MAX as u64 + 1;
                put_integer(out, INTEGER, message_id as i64);
                rules.put_request(out, name, view, &links);
            }),
        }
        Ok(true)
    }

    fn is_exported(
        &mut self,
        snapshot: &Snapshot<'_>,
        id: EntryId,
        view: &EntryView<'_>,
    ) -> Result<bool, Failure> {
        let rules = self.rules;
        let parent = view.parent();
        let inside = match self.last {
            Some((last, inside)) if last == parent && id != rules.region.base => inside,
            _ => {
                let inside = is_inside(rules, snapshot, id, view)?;
                // Siblings are exported alike, except for a base itself.
                let is_base = id == rules.region.base || Some(id) == rules.except;
                self.last = (!is_base && !parent.is_root()).then_some((parent, inside));
                inside
            }
        };
        match &rules.filter {
            Some(filter) if inside => self.matches(filter, snapshot, id),
            _ => Ok(inside),
        }
    }

    fn matches(
        &mut self,
        filter: &schema::Filter,
        snapshot: &Snapshot<'_>,
        id: EntryId,
    ) -> Result<bool, Failure> {
        let view = View::new(snapshot, &self.rules.catalog, &self.rules.subject);
        let failed = |stop| match stop {
            Stop::Failed(failure) => failure,
            Stop::Refused(refusal) => Failure::Input(refusal.diagnostic),
        };
        let entry = view.entry(id).map_err(failed)?;
        let Some(entry) = entry else { return Ok(false) };
        let truth = entry.evaluate(filter, &mut self.scratch);
        Ok(truth.map_err(failed)? == Truth::True)
    }
}

/// A part being filled.
struct Filling<'f, 'p> {
    rules: &'f Rules,
    part: Part,
    put: &'f mut PutPart<'p>,
}

impl Filling<'_, '_> {
    /// Ends the part inside an entry.
    fn break_off(&mut self, row: Row, text: &mut Vec<u8>) -> Result<(), Failure> {
        let end = text.len();
        self.part.rows.push(Row { end, ..row });
        self.hand_on(std::mem::take(text), false)?;
        self.part.has_older = row.parent > row.id;
        Ok(())
    }

    fn hand_on(&mut self, text: Vec<u8>, last: bool) -> Result<(), Failure> {
        let mut part = std::mem::take(&mut self.part);
        part.compressed = self.rules.compress(&text)?;
        part.text = text;
        (self.put)(part, last)
    }
}

fn is_inside(
    rules: &Rules,
    snapshot: &Snapshot<'_>,
    id: EntryId,
    view: &EntryView<'_>,
) -> Result<bool, Failure> {
    if !snapshot.is_within(id, view, &rules.region)? {
        return Ok(false);
    }
    let Some(except) = rules.except else {
        return Ok(true);
    };
    let except = Region {
        base: except,
        scope: RegionScope::Subtree,
    };
    Ok(!snapshot.is_within(id, view, &except)?)
}
