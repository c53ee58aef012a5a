//! Operations as bytes: requests made from patterns.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::ber::{Reader, header_length, integer_length, put_header, put_integer, put_octets};
use protocol::request::tag;

use super::{AddSource, BenchError, JobKind, Options, Scope, SearchJob};
use crate::output::encode;
use crate::output::piece::{Format, Stop, Wanted};
use crate::pattern::{Pattern, Turn};
use crate::template::Generator;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
/// Tag `[0]`: password of a simple bind, new superior of a modify DN.
const CONTEXT_0: u8 = 0x80;
/// Tag of equalityMatch in a filter.
const EQUALITY: u8 = 0xa3;
/// Number of template entries that a thread encodes at once.
const ADDS_AHEAD: u64 = 32;

type NameAndPassword = (Vec<u8>, Vec<u8>);

/// The parts that all operations of a run share, for all threads.
pub(crate) struct Jobs {
    pub kinds: Vec<JobKind>,
    /// Sum of weights up to each kind, scaled to 2^32.
    cumulative: Vec<u64>,
    search: SearchPlan,
    dn: Pattern,
    attribute: Vec<u8>,
    value: Pattern,
    password: Pattern,
    binds: Option<Vec<NameAndPassword>>,
    add: AddPlan,
    new_rdn: Pattern,
    new_superior: Option<Pattern>,
    delete_old_rdn: bool,
    pub expect_compare: Option<bool>,
    pub expect_entries: Option<u64>,
    /// Whether a base search must return the entry it names.
    pub check_dn: bool,
}

struct SearchPlan {
    base: Pattern,
    /// Encoded scope, aliases, limits and typesOnly: the fields between base and filter.
    middle: Vec<u8>,
    filter: FilterPlan,
    /// The encoded attribute selection.
    tail: Vec<u8>,
}

enum FilterPlan {
    Constant(Vec<u8>),
    Equality {
        attribute: Vec<u8>,
        value: Pattern,
    },
    /// Any other filter is written as text, with the brackets' values escaped, and parsed each
    /// time.
    Text(Pattern),
}

enum AddPlan {
    Patterns {
        dn: Pattern,
        attributes: Vec<(String, Vec<Pattern>)>,
        rdn_attribute: Option<String>,
    },
    Template {
        generator: Generator,
        next: AtomicU64,
        to: u64,
    },
}

/// The buffers of one thread, and its AddRequests encoded ahead.
#[derive(Default)]
pub(crate) struct Scratch {
    content: Vec<u8>,
    value: Vec<u8>,
    list: Vec<u8>,
    adds: Vec<u8>,
    adds_taken: usize,
}

/// The reason why a request was not written.
pub(crate) enum NotWritten {
    /// A sequence that must not restart has ended.
    Exhausted,
    Failed(BenchError),
}

impl Jobs {
    pub fn new(options: &Options) -> Result<Jobs, BenchError> {
        let sum: f64 = options.mix.shares.iter().map(|(_, weight)| weight).sum();
        if options.mix.shares.is_empty() || !sum.is_finite() || sum <= 0.0 {
            return Err(BenchError::new(
                "expected at least one kind of operation with a share",
            ));
        }
        let mut so_far = 0.0;
        let scaled = options.mix.shares.iter().map(|(_, weight)| {
            so_far += weight;
            (so_far / sum * 4_294_967_296.0) as u64
        });
        let binds = match &options.binds_file {
            Some(path) => Some(read_binds(path)?),
            None => None,
        };
        let search = &options.search;
        Ok(Jobs {
            kinds: options.mix.shares.iter().map(|(kind, _)| *kind).collect(),
            cumulative: scaled.collect(),
            search: SearchPlan::new(search)?,
            dn: pattern("dn", &options.dn)?,
            attribute: options.attribute.as_bytes().to_vec(),
            value: pattern("value", &options.value)?,
            password: pattern("password", &options.password)?,
            binds,
            add: AddPlan::new(&options.add)?,
            new_rdn: pattern("new RDN", &options.new_rdn)?,
            new_superior: match &options.new_superior {
                Some(text) => Some(pattern("new superior", text)?),
                None => None,
            },
            delete_old_rdn: options.delete_old_rdn,
            expect_compare: options.expect_compare,
            expect_entries: search.expect_entries,
            check_dn: search.scope == Scope::Base && !search.base.is_empty(),
        })
    }

    /// Chooses the kind of the next operation; returns its index in `kinds`.
    pub fn pick(&self, turn: &mut Turn) -> usize {
        if self.kinds.len() == 1 {
            return 0;
        }
        let at = turn.random.bits() >> 32;
        self.cumulative
            .partition_point(|sum| *sum <= at)
            .min(self.kinds.len() - 1)
    }

    /// Appends the request of one operation (for auth the search) and its DN to `dn`.
    pub fn write(
        &self,
        kind: JobKind,
        id: i32,
        turn: &mut Turn,
        scratch: &mut Scratch,
        dn: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), NotWritten> {
        turn.begin();
        dn.clear();
        let content = &mut scratch.content;
        content.clear();
        match kind {
            JobKind::Search | JobKind::Auth => {
                self.search.base.write(dn, turn);
                self.search.write(dn, turn, content, &mut scratch.value)?;
                put_message(out, id, tag::SEARCH, content);
            }
            JobKind::Bind => {
                self.write_identity(turn, &mut scratch.value, dn);
                put_bind(out, id, dn, &scratch.value, content);
            }
            JobKind::Compare => {
                self.dn.write(dn, turn);
                scratch.value.clear();
                self.value.write(&mut scratch.value, turn);
                put_octets(content, OCTET_STRING, dn);
                let assertion = whole(self.attribute.len()) + whole(scratch.value.len());
                put_header(content, SEQUENCE, assertion);
                put_octets(content, OCTET_STRING, &self.attribute);
                put_octets(content, OCTET_STRING, &scratch.value);
                put_message(out, id, tag::COMPARE, content);
            }
            JobKind::Modify | JobKind::AddValue | JobKind::DeleteValue => {
                self.dn.write(dn, turn);
                scratch.value.clear();
                self.value.write(&mut scratch.value, turn);
                put_change(content, kind, dn, &self.attribute, &scratch.value);
                put_message(out, id, tag::MODIFY, content);
            }
            JobKind::Add => self.write_add(id, turn, scratch, dn, out)?,
            JobKind::Delete => {
                self.dn.write(dn, turn);
                put_message(out, id, tag::DELETE, dn);
            }
            JobKind::ModifyDn => {
                self.dn.write(dn, turn);
                self.put_modify_dn(dn, turn, content, &mut scratch.value);
                put_message(out, id, tag::MODIFY_DN, content);
            }
        }
        // A repeated operation of these kinds would fail.
        let once = !matches!(
            kind,
            JobKind::Search | JobKind::Auth | JobKind::Bind | JobKind::Compare | JobKind::Modify
        );
        if once && turn.exhausted {
            Err(NotWritten::Exhausted)
        } else {
            Ok(())
        }
    }

    /// Writes DN and password of a bind.
    fn write_identity(&self, turn: &mut Turn, password: &mut Vec<u8>, dn: &mut Vec<u8>) {
        password.clear();
        match &self.binds {
            Some(binds) => {
                let (name, word) = &binds[turn.random.below(binds.len() as u64) as usize];
                dn.extend_from_slice(name);
                password.extend_from_slice(word);
            }
            None => {
                self.dn.write(dn, turn);
                self.password.write(password, turn);
            }
        }
    }

    fn put_modify_dn(
        &self,
        dn: &[u8],
        turn: &mut Turn,
        content: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) {
        value.clear();
        self.new_rdn.write(value, turn);
        put_octets(content, OCTET_STRING, dn);
        put_octets(content, OCTET_STRING, value);
        content.extend_from_slice(&[0x01, 1, if self.delete_old_rdn { 0xff } else { 0 }]);
        if let Some(superior) = &self.new_superior {
            value.clear();
            superior.write(value, turn);
            put_octets(content, CONTEXT_0, value);
        }
    }

    /// Appends the bind that ends an auth operation.
    pub fn write_auth_bind(
        &self,
        id: i32,
        dn: &[u8],
        turn: &mut Turn,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) {
        scratch.value.clear();
        self.password.write(&mut scratch.value, turn);
        scratch.content.clear();
        put_bind(out, id, dn, &scratch.value, &mut scratch.content);
    }

    fn write_add(
        &self,
        id: i32,
        turn: &mut Turn,
        scratch: &mut Scratch,
        dn: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), NotWritten> {
        match &self.add {
            AddPlan::Template {
                generator,
                next,
                to,
            } => {
                let request = scratch.next_add(generator, next, *to)?;
                put_header(
                    out,
                    SEQUENCE,
                    2 + integer_length(i64::from(id)) + request.len(),
                );
                put_integer(out, INTEGER, i64::from(id));
                out.extend_from_slice(&scratch.adds[request]);
            }
            AddPlan::Patterns {
                dn: name,
                attributes,
                rdn_attribute,
            } => {
                name.write(dn, turn);
                let Scratch {
                    content,
                    value,
                    list,
                    ..
                } = scratch;
                list.clear();
                for (attribute, values) in attributes {
                    value.clear();
                    for pattern in values {
                        let start = value.len();
                        pattern.write(value, turn);
                        let octets = value.split_off(start);
                        put_octets(value, OCTET_STRING, &octets);
                    }
                    put_attribute(list, attribute.as_bytes(), value);
                }
                if let Some(attribute) = rdn_attribute {
                    let text = std::str::from_utf8(dn).unwrap_or_default();
                    let rdn = protocol::name::rdns(text).next().and_then(Result::ok);
                    let rdn_value = rdn.map(|rdn| rdn.values.first().value.to_vec());
                    value.clear();
                    put_octets(value, OCTET_STRING, &rdn_value.unwrap_or_default());
                    put_attribute(list, attribute.as_bytes(), value);
                }
                put_octets(content, OCTET_STRING, dn);
                put_octets(content, SEQUENCE, list);
                put_message(out, id, tag::ADD, content);
            }
        }
        Ok(())
    }
}

impl SearchPlan {
    fn new(job: &SearchJob) -> Result<SearchPlan, BenchError> {
        let scope = match job.scope {
            Scope::Base => 0,
            Scope::One => 1,
            Scope::Subtree => 2,
        };
        // derefAliases never, no size limit, no time limit, typesOnly false.
        let middle = [0x0a, 1, scope, 0x0a, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0].to_vec();
        let mut list = Vec::new();
        for attribute in &job.attributes {
            put_octets(&mut list, OCTET_STRING, attribute.as_bytes());
        }
        let mut tail = Vec::new();
        put_octets(&mut tail, SEQUENCE, &list);
        Ok(SearchPlan {
            base: pattern("base", &job.base)?,
            middle,
            filter: FilterPlan::new(&job.filter)?,
            tail,
        })
    }

    fn write(
        &self,
        base: &[u8],
        turn: &mut Turn,
        content: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), NotWritten> {
        put_octets(content, OCTET_STRING, base);
        content.extend_from_slice(&self.middle);
        value.clear();
        match &self.filter {
            FilterPlan::Constant(filter) => content.extend_from_slice(filter),
            FilterPlan::Equality {
                attribute,
                value: pattern,
            } => {
                pattern.write(value, turn);
                put_header(
                    content,
                    EQUALITY,
                    whole(attribute.len()) + whole(value.len()),
                );
                put_octets(content, OCTET_STRING, attribute);
                put_octets(content, OCTET_STRING, value);
            }
            FilterPlan::Text(pattern) => {
                pattern.write_with(value, turn, encode::put_assertion);
                let filter = parse_filter(value).map_err(NotWritten::Failed)?;
                content.extend_from_slice(&filter);
            }
        }
        content.extend_from_slice(&self.tail);
        Ok(())
    }
}

impl FilterPlan {
    fn new(text: &str) -> Result<FilterPlan, BenchError> {
        let whole = pattern("filter", text)?;
        if let Some(constant) = whole.constant() {
            return Ok(FilterPlan::Constant(parse_filter(constant)?));
        }
        let mut sample = Vec::new();
        whole
            .clone()
            .fork()
            .write_with(&mut sample, &mut Turn::new(0), encode::put_assertion);
        parse_filter(&sample)?;
        let simple = text
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'));
        if let Some((attribute, value)) = simple.and_then(|inner| inner.split_once('='))
            && attribute
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"-.;".contains(&it))
        {
            let value = pattern("filter", value)?;
            let special = |text: &[u8]| text.iter().any(|octet| b"*\\()".contains(octet));
            if !value.literals().any(special) {
                return Ok(FilterPlan::Equality {
                    attribute: attribute.as_bytes().to_vec(),
                    value,
                });
            }
        }
        Ok(FilterPlan::Text(whole))
    }
}

fn parse_filter(text: &[u8]) -> Result<Vec<u8>, BenchError> {
    let text = String::from_utf8_lossy(text);
    protocol::parse_filter(&text)
        .map_err(|problem| BenchError::new(format!("expected a filter, found {text}: {problem}")))
}

impl AddPlan {
    fn new(source: &AddSource) -> Result<AddPlan, BenchError> {
        match source {
            AddSource::Template {
                generator,
                from,
                to,
            } => Ok(AddPlan::Template {
                generator: generator.clone(),
                next: AtomicU64::new(*from),
                to: (*to).min(generator.total_entries()),
            }),
            AddSource::Patterns { dn, attributes } => {
                let mut grouped: Vec<(String, Vec<Pattern>)> = Vec::new();
                for (attribute, value) in attributes {
                    let value = pattern(attribute, value)?;
                    match grouped
                        .iter_mut()
                        .find(|(it, _)| it.eq_ignore_ascii_case(attribute))
                    {
                        Some((_, values)) => values.push(value),
                        None => grouped.push((attribute.clone(), vec![value])),
                    }
                }
                let rdn = dn
                    .split_once('=')
                    .map(|(attribute, _)| attribute.trim().to_owned());
                let given = |it: &String| grouped.iter().any(|(at, _)| at.eq_ignore_ascii_case(it));
                let rdn_attribute = rdn.filter(|attribute| !given(attribute));
                Ok(AddPlan::Patterns {
                    dn: pattern("dn", dn)?,
                    attributes: grouped,
                    rdn_attribute,
                })
            }
        }
    }
}

impl Scratch {
    /// Returns the range in `adds` of the next encoded AddRequest.
    fn next_add(
        &mut self,
        generator: &Generator,
        next: &AtomicU64,
        to: u64,
    ) -> Result<std::ops::Range<usize>, NotWritten> {
        if self.adds_taken == self.adds.len() {
            let from = next.fetch_add(ADDS_AHEAD, Ordering::Relaxed);
            if from >= to {
                return Err(NotWritten::Exhausted);
            }
            self.adds.clear();
            self.adds_taken = 0;
            let wanted = Wanted {
                entries: Some(Format::BerRequests),
                ..Wanted::default()
            };
            let mut encoder = encode::Encoder::new(&wanted, |piece| {
                self.adds.extend_from_slice(&piece.octets[0]);
                true
            });
            let made = generator.generate_range(from, (from + ADDS_AHEAD).min(to), |entry| {
                encoder.entry(entry)
            });
            encoder.finish();
            if let Err(Stop::Impossible(error)) = made {
                return Err(NotWritten::Failed(BenchError::new(error.to_string())));
            }
        }
        let start = self.adds_taken;
        let element = Reader::new(&self.adds[start..]).element();
        let (_, content) = element.expect("the encoder writes whole elements");
        self.adds_taken += whole(content.len());
        Ok(start..self.adds_taken)
    }
}

fn pattern(what: &str, text: &str) -> Result<Pattern, BenchError> {
    Pattern::parse(text).map_err(|problem| BenchError::new(format!("{what} {text:?}: {problem}")))
}

fn read_binds(path: &Path) -> Result<Vec<NameAndPassword>, BenchError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| BenchError::new(format!("cannot read {}: {error}", path.display())))?;
    let mut binds = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
        let Some((dn, password)) = line.split_once('\t') else {
            let place = path.display();
            return Err(BenchError::new(format!(
                "{place} line {number}: expected DN TAB password"
            )));
        };
        binds.push((dn.as_bytes().to_vec(), password.as_bytes().to_vec()));
    }
    match binds.is_empty() {
        true => Err(BenchError::new(format!(
            "expected at least one line in {}",
            path.display()
        ))),
        false => Ok(binds),
    }
}

/// Octets of an element with so much content.
fn whole(content: usize) -> usize {
    header_length(content) + content
}

/// Appends an LDAPMessage around the content of an operation.
pub(crate) fn put_message(out: &mut Vec<u8>, id: i32, tag: u8, content: &[u8]) {
    let id = i64::from(id);
    put_header(out, SEQUENCE, 2 + integer_length(id) + whole(content.len()));
    put_integer(out, INTEGER, id);
    put_octets(out, tag, content);
}

/// Appends a simple bind (RFC 4511 §4.2).
pub(crate) fn put_bind(
    out: &mut Vec<u8>,
    id: i32,
    dn: &[u8],
    password: &[u8],
    content: &mut Vec<u8>,
) {
    put_integer(content, INTEGER, 3);
    put_octets(content, OCTET_STRING, dn);
    put_octets(content, CONTEXT_0, password);
    put_message(out, id, tag::BIND, content);
}

/// Appends the content of a modify that replaces all values of an attribute by one value.
fn put_change(content: &mut Vec<u8>, kind: JobKind, dn: &[u8], attribute: &[u8], value: &[u8]) {
    let operation = match kind {
        JobKind::AddValue => 0,
        JobKind::DeleteValue => 1,
        _ => 2,
    };
    let set = whole(value.len());
    let partial = whole(attribute.len()) + whole(set);
    let change = 3 + whole(partial);
    put_octets(content, OCTET_STRING, dn);
    put_header(content, SEQUENCE, whole(change));
    put_header(content, SEQUENCE, change);
    content.extend_from_slice(&[0x0a, 1, operation]);
    put_header(content, SEQUENCE, partial);
    put_octets(content, OCTET_STRING, attribute);
    put_header(content, SET, set);
    put_octets(content, OCTET_STRING, value);
}

/// Appends a PartialAttribute; `values` are encoded.
fn put_attribute(out: &mut Vec<u8>, attribute: &[u8], values: &[u8]) {
    put_header(out, SEQUENCE, whole(attribute.len()) + whole(values.len()));
    put_octets(out, OCTET_STRING, attribute);
    put_octets(out, SET, values);
}
