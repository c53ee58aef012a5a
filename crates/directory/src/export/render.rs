//! Entries as LDIF text or as add requests.

use super::{Compression, ExportFormat, ExportOptions};
use crate::catalog::Catalog;
use crate::context::Context;
use crate::stop::{Failure, Stop};
use flate2::write::GzEncoder;
use policy::Subject;
use protocol::ber::{OCTET_STRING, Reader, SEQUENCE, SET, put_integer, put_nested, put_octets};
use protocol::ldif::LdifWriter;
use protocol::{Filter, PartialAttribute, parse_filter};
use schema::{AttributeNumber, Truth};
use std::io::Write;
use store::{EntryId, EntryView, Lookup, Region, RegionScope, Snapshot};

/// The level of zstd at which it keeps up with the rendering.
const ZSTD_LEVEL: i32 = 1;

const INTEGER: u8 = 0x02;
/// The tag of an AddRequest, `[APPLICATION 8]`.
const ADD_REQUEST: u8 = 0x68;

/// What is exported; the same for all threads.
pub(super) struct Rules {
    catalog: Catalog,
    region: Region,
    /// `cn=config`, unless it is asked for.
    except: Option<EntryId>,
    filter: Option<schema::Filter>,
    subject: Subject,
    /// By attribute number: whether it is exported.
    selected: Vec<bool>,
    format: ExportFormat,
    writer: LdifWriter,
    pub compression: Compression,
}

/// Some entries as text.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub text: Vec<u8>,
    /// The same, compressed, if it is to be.
    pub compressed: Option<Vec<u8>>,
    pub rows: Vec<Row>,
    /// Some entry is older than its superior.
    pub has_older: bool,
    /// Entries in the text.
    pub entries: u64,
}

/// One entry of a part, whether it is exported or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub id: EntryId,
    pub parent: EntryId,
    /// Where its text ends. It starts where that of the one before ends.
    pub end: usize,
}

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
            // Whoever can read the folder is its administrator.
            subject: Subject::server(),
            selected,
            format: options.format,
            writer: LdifWriter::new(options.fold_columns),
            compression: options.compression,
        })
    }

    /// What stands before the first entry.
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        if self.format == ExportFormat::Ldif {
            LdifWriter::default().put_version(&mut head);
        }
        head
    }

    fn exported<'v>(
        &self,
        view: &EntryView<'v>,
    ) -> impl Iterator<Item = store::StoredAttribute<'v>> {
        let attributes = view.attributes();
        attributes.filter(|it| self.selected.get(usize::from(it.number.0)) == Some(&true))
    }

    fn put_record(&self, out: &mut Vec<u8>, name: &str, view: &EntryView<'_>, links: &[u8]) {
        self.writer.put_dn(out, name);
        let stored = self.exported(view);
        let stored = stored.filter_map(|it| PartialAttribute::from_checked(it.encoded));
        let mut reader = Reader::new(links);
        let linked = std::iter::from_fn(|| PartialAttribute::decode(&mut reader).ok());
        for attribute in stored.chain(linked) {
            for value in attribute.values {
                self.writer.put_value(out, attribute.description, value);
            }
        }
        self.writer.end_record(out);
    }

    /// Attributes are stored as they stand in a request.
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

    /// The values that are links, as attributes of a request.
    fn links(&self, snapshot: &Snapshot<'_>, id: EntryId) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        for set in snapshot.linked_sets(id)? {
            let known = self.catalog.schema.known(set.number);
            let selected = self.selected.get(usize::from(set.number.0)) == Some(&true);
            let Some(known) = known.filter(|_| selected) else {
                continue;
            };
            let (mut values, mut value) = (Vec::new(), Vec::new());
            for member in snapshot.members_after(set.set, EntryId::ROOT)? {
                let member = member?;
                value.clear();
                match snapshot.entry(member)? {
                    Some(view) => snapshot.write_name(&view, &mut value)?,
                    None => match snapshot.text(member)? {
                        Some(text) => value.extend_from_slice(text),
                        None => continue,
                    },
                }
                put_octets(&mut values, OCTET_STRING, &value);
            }
            if !values.is_empty() {
                put_nested(&mut out, SEQUENCE, |out| {
                    put_octets(out, OCTET_STRING, known.text.as_bytes());
                    put_octets(out, SET, &values);
                });
            }
        }
        Ok(out)
    }

    /// The text compressed, as one member or frame of its own.
    pub fn compress(&self, text: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        self.compression.pack(text)
    }
}

impl Compression {
    /// The text as one member or frame of its own; `None` when it stays as it is.
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

/// Which attribute numbers are exported.
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
    /// The superior looked at last, and whether its children are exported.
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

    /// The entries of a range of ids.
    pub fn part(
        &mut self,
        snapshot: &Snapshot<'_>,
        from: EntryId,
        to: EntryId,
    ) -> Result<Part, Failure> {
        let mut part = Part {
            text: Vec::with_capacity(self.text_bytes),
            ..Part::default()
        };
        for row in snapshot.entries_range(from, to) {
            let (id, view) = row?;
            let parent = view.parent();
            part.entries += u64::from(self.entry(snapshot, id, &view, &mut part.text)?);
            part.has_older |= parent > id;
            part.rows.push(Row {
                id,
                parent,
                end: part.text.len(),
            });
        }
        self.text_bytes = self.text_bytes.max(part.text.len());
        part.compressed = self.rules.compress(&part.text)?;
        Ok(part)
    }

    /// Appends an entry, if it is exported.
    pub fn entry(
        &mut self,
        snapshot: &Snapshot<'_>,
        id: EntryId,
        view: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        if !self.is_exported(snapshot, id, view)? {
            return Ok(false);
        }
        let rules = self.rules;
        self.name.clear();
        snapshot.write_name(view, &mut self.name)?;
        // Names are stored as text; bytes that are not would be a damaged row.
        let name = std::str::from_utf8(&self.name).unwrap_or_default();
        let links = match view.has_links() {
            true => rules.links(snapshot, id)?,
            false => Vec::new(),
        };
        match rules.format {
            ExportFormat::Ldif => rules.put_record(out, name, view, &links),
            ExportFormat::BareBer => rules.put_request(out, name, view, &links),
            ExportFormat::Ber => put_nested(out, SEQUENCE, |out| {
                // Message ids are of use in a session only, and begin anew after 2^31-1.
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
                // What holds for this entry holds for its siblings, unless it is a base itself.
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
        let context = Context::new(snapshot, &self.rules.catalog, &self.rules.subject);
        let entry = context.entry(id).map_err(|stop| match stop {
            Stop::Failed(failure) => failure,
            Stop::Refused(refusal) => Failure::Input(refusal.diagnostic),
        })?;
        let Some(entry) = entry else { return Ok(false) };
        let schema = &self.rules.catalog.schema;
        Ok(filter.evaluate(schema, &entry, &mut self.scratch) == Truth::True)
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
