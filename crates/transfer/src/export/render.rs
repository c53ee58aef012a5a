//! Renders entries as LDIF or as add requests.

use super::options::ExportFormat;
use super::rules::{Rules, StoredEntry};
use protocol::PartialAttribute;
use protocol::ber::{OCTET_STRING, SEQUENCE, SET, put_integer, put_nested, put_octets};
use state::stop::Failure;
use state::view::write_member;
use store::{EntryId, EntryView, Snapshot};

/// Bytes of text at which a part ends, even inside an entry.
pub(super) const PART_BYTES: usize = 4 << 20;

const INTEGER: u8 = 0x02;
/// The tag of an AddRequest, `[APPLICATION 8]`.
const ADD_REQUEST: u8 = 0x68;

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
    /// End of the entry's text in the part, in bytes. The text begins where the previous row ends.
    pub end: usize,
    /// Whether the text continues in the next part.
    pub goes_on: bool,
}

impl Part {
    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let compressed = self.compressed.as_ref().map_or(0, Vec::capacity);
        self.text.capacity() + compressed
    }
}

/// Callback for a part. The flag says whether it is the last part of its range of ids.
pub(super) type PutPart<'p> = dyn FnMut(Part, bool) -> Result<(), Failure> + 'p;

/// Callback that takes the text of an entry that has become long, and clears it.
pub(super) type TakeText<'t> = dyn FnMut(&mut Vec<u8>) -> Result<(), Failure> + 't;

/// Callback for an attribute description and one of its values.
type TellValue<'t> = dyn FnMut(&str, &[u8]) -> Result<(), Failure> + 't;

/// Renders entries on one thread.
pub(super) struct Renderer<'r> {
    rules: &'r Rules,
    name: Vec<u8>,
    scratch: Vec<u8>,
    /// The last superior looked up, and whether its children are exported.
    last: Option<(EntryId, bool)>,
    /// Bytes of the longest text so far, which the next part reserves.
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
        from: EntryId,
        to: EntryId,
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
            let view = &view;
            let entry = StoredEntry { snapshot, id, view };
            let written = self.entry(&entry, &mut text, take);
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

    /// Appends an entry if it is exported, passing long text on meanwhile. False if it is not
    /// exported.
    pub fn entry(
        &mut self,
        entry: &StoredEntry<'_>,
        out: &mut Vec<u8>,
        take: &mut TakeText<'_>,
    ) -> Result<bool, Failure> {
        if !self.is_exported(entry)? {
            return Ok(false);
        }
        let rules = self.rules;
        self.name.clear();
        entry.snapshot.write_name(entry.view, &mut self.name)?;
        // Stored names are text; other bytes would be a damaged row.
        let name = std::str::from_utf8(&self.name).unwrap_or_default();
        let links = match entry.view.has_links() && rules.format != ExportFormat::Ldif {
            true => links(rules, entry)?,
            false => Vec::new(),
        };
        match rules.format {
            ExportFormat::Ldif => put_record(rules, out, name, entry, take)?,
            ExportFormat::BareBer => put_request(rules, out, name, entry.view, &links),
            ExportFormat::Ber => put_nested(out, SEQUENCE, |out| {
                // Message ids matter only within a session, and start again after 2^31-1.
                let message_id = (entry.id.0 - 1) % i32::MAX as u64 + 1;
                put_integer(out, INTEGER, message_id as i64);
                put_request(rules, out, name, entry.view, &links);
            }),
        }
        Ok(true)
    }

    fn is_exported(&mut self, entry: &StoredEntry<'_>) -> Result<bool, Failure> {
        let rules = self.rules;
        let parent = entry.view.parent();
        let is_base = rules.is_base(entry.id);
        let inside = match self.last {
            Some((last, inside)) if last == parent && !is_base => inside,
            _ => {
                let inside = rules.is_inside(entry)?;
                // Siblings are exported alike, except for a base itself.
                self.last = (!is_base && !parent.is_root()).then_some((parent, inside));
                inside
            }
        };
        Ok(inside && rules.matches(entry, &mut self.scratch)?)
    }
}

/// Appends an LDIF record, or its last part if the entry has very many links.
fn put_record(
    rules: &Rules,
    out: &mut Vec<u8>,
    name: &str,
    entry: &StoredEntry<'_>,
    take: &mut TakeText<'_>,
) -> Result<(), Failure> {
    rules.writer.put_dn(out, name);
    let stored = rules.exported(entry.view);
    for attribute in stored.filter_map(|it| PartialAttribute::from_checked(it.encoded)) {
        for value in attribute.values {
            rules.writer.put_value(out, attribute.description, value);
        }
    }
    if entry.view.has_links() {
        each_link(rules, entry, &mut |description, value| {
            rules.writer.put_value(out, description, value);
            match out.len() < PART_BYTES {
                true => Ok(()),
                false => take(out),
            }
        })?;
    }
    rules.writer.end_record(out);
    Ok(())
}

/// Appends an add request; attributes are stored in the encoding of requests.
fn put_request(rules: &Rules, out: &mut Vec<u8>, name: &str, view: &EntryView<'_>, links: &[u8]) {
    put_nested(out, ADD_REQUEST, |out| {
        put_octets(out, OCTET_STRING, name.as_bytes());
        put_nested(out, SEQUENCE, |out| {
            rules
                .exported(view)
                .for_each(|it| out.extend_from_slice(it.encoded));
            out.extend_from_slice(links);
        });
    });
}

/// The values that are links, as encoded attributes. They are all in memory, because a request
/// begins with its length.
fn links(rules: &Rules, entry: &StoredEntry<'_>) -> Result<Vec<u8>, Failure> {
    let mut sets: Vec<(String, Vec<u8>)> = Vec::new();
    each_link(rules, entry, &mut |description, value| {
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

/// Calls `tell` for the exported values that are links, attribute by attribute.
fn each_link(
    rules: &Rules,
    entry: &StoredEntry<'_>,
    tell: &mut TellValue<'_>,
) -> Result<(), Failure> {
    let (snapshot, catalog) = (entry.snapshot, &rules.catalog);
    let mut value = Vec::new();
    for set in snapshot.linked_sets(entry.id)? {
        let known = catalog.schema.known(set.number);
        let Some(known) = known.filter(|_| rules.selects(set.number)) else {
            continue;
        };
        for member in snapshot.members_after(set.set, EntryId::ROOT)? {
            value.clear();
            if write_member(snapshot, catalog, set.set, member?, &mut value)? {
                tell(&known.text, &value)?;
            }
        }
    }
    Ok(())
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
        part.compressed = self.rules.compression.pack(&text)?;
        part.text = text;
        (self.put)(part, last)
    }
}
