//! The content of a server as hashes: one full read of all entries.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use protocol::{Filter, Request, Response, ResponseMessage, Scope, SearchRequest};

use super::BenchError;
use super::connect::{NotBound, Stream};
use super::target::Targets;

/// Time that a server has for each part of an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Octets read from a connection at once.
const READ_BYTES: usize = 256 << 10;
/// Octets of an accepted answer at most.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// Operational attributes that say how far a server has come, and nothing about its content.
const POSITIONS: [&str; 1] = ["contextCSN"];

/// A reader of all entries of one server.
pub(crate) struct Reader {
    stream: Stream,
    input: Vec<u8>,
    buffer: Vec<u8>,
    last_id: i32,
    /// Naming contexts to read.
    bases: Vec<String>,
}

/// All entries that a server showed, in the order of their hashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    entries: Vec<Seen>,
}

/// An entry that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    /// Hash of its name and attributes.
    hash: u128,
    /// Milliseconds from the beginning of the reads until it came.
    at_ms: u32,
}

/// Entries that are in one content and not in the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differing {
    /// Number of these entries. An entry with two versions counts twice.
    pub count: u64,
    /// Milliseconds from the beginning of the reads until the last of them came.
    pub last_ms: u32,
}

impl Differing {
    fn add(&mut self, seen: &Seen) {
        self.count += 1;
        self.last_ms = self.last_ms.max(seen.at_ms);
    }

    /// Adds what another server has differed in.
    pub fn and(self, other: Differing) -> Differing {
        Differing {
            count: self.count + other.count,
            last_ms: self.last_ms.max(other.last_ms),
        }
    }
}

impl Content {
    /// Returns the number of entries.
    pub fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Compares two contents.
    pub fn differing(&self, other: &Content) -> Differing {
        let (mut one, mut two) = (
            self.entries.iter().peekable(),
            other.entries.iter().peekable(),
        );
        let mut differing = Differing::default();
        loop {
            let order = match (one.peek(), two.peek()) {
                (Some(left), Some(right)) => left.hash.cmp(&right.hash),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return differing,
            };
            let (left, right) = match order {
                Ordering::Less => (one.next(), None),
                Ordering::Greater => (None, two.next()),
                Ordering::Equal => (one.next(), two.next()),
            };
            if let (Some(seen), None) | (None, Some(seen)) = (left, right) {
                differing.add(seen);
            }
        }
    }
}

impl Reader {
    /// Connects to a server, binds as the identity of the run, and looks which naming contexts the
    /// server has, unless the caller names the `base` to read.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub fn open(
        targets: &Targets,
        target: usize,
        base: Option<&str>,
    ) -> Result<Reader, BenchError> {
        let stream = targets
            .open(target, 0, true, PATIENCE)
            .map_err(|it| match it {
                NotBound::Failed(error) => error,
                NotBound::Refused(said) => BenchError::new(said),
            })?;
        let timed = stream.set_read_timeout(PATIENCE);
        timed.map_err(|error| BenchError::new(error.to_string()))?;
        let mut reader = Reader {
            stream,
            input: Vec::new(),
            buffer: vec![0; READ_BYTES],
            last_id: 1,
            bases: Vec::new(),
        };
        reader.bases = match base {
            Some(base) => vec![base.to_owned()],
            None => reader.naming_contexts()?,
        };
        Ok(reader)
    }

    /// Reads everything once. `begin` is when the reads of all servers began.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub fn read(&mut self, begin: Instant) -> Result<Content, BenchError> {
        let mut entries = Vec::new();
        for base in self.bases.clone() {
            let mut search = SearchRequest::new(&base, Scope::WholeSubtree, all());
            search.attributes = vec!["*", "+"];
            self.search(search, &mut |response, came| {
                if let Response::SearchEntry { name, attributes } = response {
                    let values = attributes.iter().filter(|it| !is_position(it.description));
                    let values = values.flat_map(|it| {
                        let name = it.description;
                        it.values.iter().map(move |value| (name, value))
                    });
                    entries.push(Seen {
                        hash: hash(name, values.collect()),
                        at_ms: (came - begin).as_millis() as u32,
                    });
                }
            })?;
        }
        entries.sort_unstable();
        Ok(Content { entries })
    }

    fn naming_contexts(&mut self) -> Result<Vec<String>, BenchError> {
        let mut found = Vec::new();
        let mut search = SearchRequest::new("", Scope::BaseObject, all());
        search.attributes = vec!["namingContexts"];
        self.search(search, &mut |response, _| {
            if let Response::SearchEntry { attributes, .. } = response {
                let values = attributes.iter().flat_map(|it| it.values.iter());
                found.extend(values.map(|it| String::from_utf8_lossy(it).into_owned()));
            }
        })?;
        if found.is_empty() {
            return Err(BenchError::new(
                "expected naming contexts in the root DSE, found none: name the entry to read",
            ));
        }
        Ok(found)
    }

    /// Searches, and hands every entry and reference out, with the moment at which it came.
    fn search(
        &mut self,
        search: SearchRequest<'_>,
        found: &mut dyn FnMut(&Response<'_>, Instant),
    ) -> Result<(), BenchError> {
        let failed = |what: &dyn std::fmt::Display| BenchError::new(format!("full read: {what}"));
        self.last_id += 1;
        let mut request = Vec::new();
        let base = search.base.to_owned();
        protocol::write_request(&mut request, self.last_id, &Request::Search(search), &[]);
        self.stream.write_all(&request).map_err(|it| failed(&it))?;
        let mut came = Instant::now();
        loop {
            let mut taken = 0;
            while let Some(length) = protocol::frame(&self.input[taken..], MESSAGE_BYTES_MAX)
                .map_err(|error| failed(&error))?
            {
                let octets = &self.input[taken..taken + length];
                let message = ResponseMessage::decode(octets).map_err(|it| failed(&it))?;
                taken += length;
                if let Some(result) = message.response.result() {
                    if result.code.0 != 0 {
                        let (code, text) = (result.code, &result.diagnostic);
                        return Err(failed(&format_args!("{base}: {code} {text}")));
                    }
                    self.input.drain(..taken);
                    return Ok(());
                }
                found(&message.response, came);
            }
            self.input.drain(..taken);
            let count = self
                .stream
                .read(&mut self.buffer)
                .map_err(|it| failed(&it))?;
            if count == 0 {
                return Err(failed(&"the server closed the connection"));
            }
            came = Instant::now();
            self.input.extend_from_slice(&self.buffer[..count]);
        }
    }
}

fn all() -> Filter<'static> {
    Filter::Present("objectClass")
}

fn is_position(description: &str) -> bool {
    POSITIONS
        .iter()
        .any(|it| it.eq_ignore_ascii_case(description))
}

/// Hashes an entry, whatever the order of its attributes and of their values.
fn hash(name: &str, mut values: Vec<(&str, &[u8])>) -> u128 {
    values.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    let mut add = |octets: &[u8]| {
        hasher.update(&(octets.len() as u64).to_le_bytes());
        hasher.update(octets);
    };
    add(name.as_bytes());
    for (description, value) in values {
        add(description.as_bytes());
        add(value);
    }
    let mut half = [0; 16];
    half.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_le_bytes(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_count_and_values_do() {
        let one = hash("dc=com", vec![("a", b"1"), ("b", b"2"), ("a", b"3")]);
        assert_eq!(
            one,
            hash("dc=com", vec![("b", b"2"), ("a", b"3"), ("a", b"1")])
        );
        assert_ne!(
            one,
            hash("dc=com", vec![("b", b"2"), ("a", b"3"), ("a", b"2")])
        );
        assert_ne!(
            one,
            hash("dc=co", vec![("b", b"2"), ("a", b"3"), ("a", b"1")])
        );
        // The borders between name, description and value count.
        assert_ne!(hash("a", vec![("bc", b"d")]), hash("a", vec![("b", b"cd")]));
    }

    #[test]
    fn differing_entries_are_counted() {
        let content = |entries: &[u128]| Content {
            entries: entries
                .iter()
                .map(|&hash| Seen {
                    hash,
                    at_ms: 100 - hash as u32,
                })
                .collect(),
        };
        let differing = |one: &[u128], two: &[u128]| {
            let found = content(one).differing(&content(two));
            (found.count, found.last_ms)
        };
        assert_eq!(differing(&[1, 2, 3], &[1, 2, 3]), (0, 0));
        assert_eq!(differing(&[1, 2, 3], &[1, 4, 5]), (4, 98));
        assert_eq!(differing(&[], &[3, 4]), (2, 97));
        assert_eq!(differing(&[3, 9], &[9]), (1, 97));
    }
}
