//! The first copy: all entries of the old server, by bulk import into an empty node.

use super::entry::{Entry, Uuid, parse_uuid, uuid_text};
use super::pull::{self, Way};
use super::remote::Remote;
use super::selection::Selection;
use super::trouble::{Trouble, explain};
use directory::Failure;
use protocol::ber::{OCTET_STRING, SEQUENCE, put_nested, put_octets};
use protocol::control::{SyncDone, SyncStateValue};
use protocol::{
    Control, LdapResult, MessageId, PartialAttribute, Response, ResponseMessage, ResultCode, oid,
    put_partial_attribute,
};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use transfer::Meter;
use transfer::import::{Content, Piece, Source};

/// Bytes of add requests in one piece.
const PIECE_BYTES: usize = 1 << 20;
/// Interval between checks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The tag of an AddRequest, `[APPLICATION 8]`.
const ADD_REQUEST: u8 = 0x68;

/// Facts gathered during the copy.
#[derive(Debug, Default)]
pub struct Findings {
    /// For each copied base, the cookie to continue with.
    pub cookies: Vec<(String, Option<Vec<u8>>)>,
    /// Whether an entry other than that of the bind name had a password.
    pub passwords: bool,
    /// Reason for ending early; `None` if the copy is complete.
    pub trouble: Option<Trouble>,
}

/// The old server's entries as a source of the import.
pub struct Copy {
    remote: Remote,
    waiting: VecDeque<(String, Way)>,
    at: Option<At>,
    /// Subentries received among the entries, to be skipped later.
    subentries: HashSet<Uuid>,
    selection: Selection,
    origin: Arc<str>,
    /// Number of entries so far.
    count: u64,
    findings: Arc<Mutex<Findings>>,
}

impl Copy {
    /// Copies these bases in these ways, one after the other. The second result is shared and
    /// receives the facts gathered.
    pub fn new(
        remote: Remote,
        bases: &[String],
        ways: &[Way],
        selection: Selection,
        origin: &str,
    ) -> (Copy, Arc<Mutex<Findings>>) {
        let findings = Arc::new(Mutex::new(Findings::default()));
        let copy = Copy {
            remote,
            waiting: ways
                .iter()
                .flat_map(|way| bases.iter().map(|base| (base.clone(), way.clone())))
                .collect(),
            at: None,
            subentries: HashSet::new(),
            selection,
            origin: origin.into(),
            count: 0,
            findings: Arc::clone(&findings),
        };
        (copy, findings)
    }

    /// Add requests for the next piece, up to its size; `None` after the last.
    fn requests(&mut self, meter: &Meter) -> Result<Option<Vec<u8>>, Failure> {
        let mut requests = Vec::with_capacity(PIECE_BYTES + (PIECE_BYTES >> 3));
        while requests.len() < PIECE_BYTES {
            meter.check()?;
            let more = self.step(&mut requests, meter);
            match more {
                Ok(Step::More) => {}
                Ok(Step::Quiet) if requests.is_empty() => {}
                Ok(Step::Quiet) => break,
                Ok(Step::End) if requests.is_empty() => return Ok(None),
                Ok(Step::End) => break,
                Err(trouble) => {
                    let text = "the old server does not return all entries".to_owned();
                    self.find(|it| it.trouble = Some(trouble));
                    return Err(Failure::Input(text));
                }
            }
        }
        Ok(Some(requests))
    }

    /// Handles one message.
    fn step(&mut self, requests: &mut Vec<u8>, meter: &Meter) -> Result<Step, Trouble> {
        let Some(at) = self.at.clone() else {
            let Some((base, way)) = self.waiting.pop_front() else {
                return Ok(Step::End);
            };
            let id = pull::begin(&mut self.remote, &base, &way)?;
            self.at = Some(At { base, way, id });
            return Ok(Step::More);
        };
        let base = &at.base;
        let who = self.remote.who.clone();
        let Some(bytes) = self.remote.next(LOOK_EVERY)? else {
            return Ok(Step::Quiet);
        };
        meter.add_bytes(bytes.len() as u64);
        let message = match ResponseMessage::decode(bytes) {
            Ok(message) => message,
            Err(error) => return Err(Trouble::refused(format!("{base}: no response: {error}"))),
        };
        if message.id != at.id {
            return Ok(Step::More);
        }
        let broken = |error| Trouble::refused(format!("{base}: no correct response: {error}"));
        match &message.response {
            Response::SearchEntry { name, attributes } => {
                let state = pull::value_of(&message.controls, oid::SYNC_STATE);
                let state = state.map(SyncStateValue::decode).transpose();
                let told = state.map_err(broken)?.map(|it| it.entry_uuid);
                let uuid = told.or_else(|| uuid_of(attributes));
                if is_a(attributes, "subentry")
                    && uuid.is_some_and(|it| !self.subentries.insert(it))
                {
                    return Ok(Step::More);
                }
                let has_password =
                    put_request(requests, &mut self.selection, name, attributes, uuid);
                self.count += 1;
                // A name can often read only its own password.
                if has_password && !name.eq_ignore_ascii_case(&who) {
                    self.find(|it| it.passwords = true);
                }
            }
            Response::SearchDone(result) => {
                let ended = Ended::of(result, &message.controls, pull::next_page(&message));
                let ended = ended.map_err(broken)?;
                return self.end(at, &who, ended);
            }
            _ => {}
        }
        Ok(Step::More)
    }

    fn end(&mut self, mut at: At, who: &str, ended: Ended) -> Result<Step, Trouble> {
        if ended.result.code != ResultCode::SUCCESS {
            return Err(explain(&ended.result, &at.base, who));
        }
        self.at = match (&at.way, ended.next_page) {
            (Way::Plain, Some(page)) => {
                at.id = pull::page(&mut self.remote, &at.base, &page)?;
                Some(at)
            }
            (Way::Sync(..), _) => {
                self.find(|it| it.cookies.push((at.base, ended.cookie)));
                None
            }
            _ => None,
        };
        Ok(Step::More)
    }

    fn find(&self, act: impl FnOnce(&mut Findings)) {
        act(&mut self.findings.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The current search.
#[derive(Clone)]
struct At {
    base: String,
    way: Way,
    id: MessageId,
}

/// Result of handling one message.
enum Step {
    More,
    /// No message arrived in time.
    Quiet,
    /// All searches have ended.
    End,
}

/// Result of a search.
struct Ended {
    result: LdapResult,
    cookie: Option<Vec<u8>>,
    next_page: Option<Vec<u8>>,
}

impl Ended {
    fn of(
        result: &LdapResult,
        controls: &[Control<'_>],
        next_page: Option<Vec<u8>>,
    ) -> Result<Ended, protocol::DecodeError> {
        let done = pull::value_of(controls, oid::SYNC_DONE);
        let done = done.map(SyncDone::decode).transpose()?;
        Ok(Ended {
            result: result.clone(),
            cookie: done.and_then(|it| it.cookie.map(<[u8]>::to_vec)),
            next_page,
        })
    }
}

impl Source for Copy {
    fn next(&mut self, meter: &Meter) -> Result<Option<Piece>, Failure> {
        let first = self.count + 1;
        let Some(requests) = self.requests(meter)? else {
            return Ok(None);
        };
        Ok(Some(Piece {
            origin: Arc::clone(&self.origin),
            content: Content::Ber {
                requests,
                first,
                offset: None,
                bare: true,
            },
        }))
    }
}

/// Appends the entry as an AddRequest; returns whether it has a password.
fn put_request(
    out: &mut Vec<u8>,
    selection: &mut Selection,
    name: &str,
    attributes: &[PartialAttribute<'_>],
    uuid: Option<Uuid>,
) -> bool {
    let is = |it: &PartialAttribute<'_>, name: &str| it.description.eq_ignore_ascii_case(name);
    let is_source = is_a(attributes, "collectiveAttributeSubentry");
    let names = attributes.iter().map(|it| it.description);
    let carried = selection.carry(names, || Entry::of(name, attributes));
    let mut has_password = false;
    put_nested(out, ADD_REQUEST, |out| {
        put_octets(out, OCTET_STRING, name.as_bytes());
        put_nested(out, SEQUENCE, |out| {
            has_password = attributes.iter().any(|it| is(it, "userPassword"));
            let mut takes = |description: &str, is_empty: bool| {
                let known = uuid.is_some() && description.eq_ignore_ascii_case("entryUUID");
                !known && !is_empty && selection.imports(description, is_source)
            };
            match &carried {
                Some(entry) => {
                    for (description, values) in &entry.attributes {
                        if takes(description, values.is_empty()) {
                            let values = values.iter().map(Vec::as_slice);
                            put_partial_attribute(out, description, values);
                        }
                    }
                }
                None => {
                    for attribute in attributes {
                        if takes(attribute.description, attribute.values.is_empty()) {
                            attribute.encode(out);
                        }
                    }
                }
            }
            // The UUID is read from the control, because the attribute may be hidden from the bind
            // name.
            if let Some(uuid) = uuid {
                let text = uuid_text(&uuid);
                put_partial_attribute(out, "entryUUID", std::iter::once(text.as_bytes()));
            }
        });
    });
    has_password
}

/// Whether an entry has an object class by this name.
fn is_a(attributes: &[PartialAttribute<'_>], class: &str) -> bool {
    attributes.iter().any(|it| {
        let mut values = it.values.iter();
        it.description.eq_ignore_ascii_case("objectClass")
            && values.any(|value| value.eq_ignore_ascii_case(class.as_bytes()))
    })
}

/// The value of `entryUUID`.
fn uuid_of(attributes: &[PartialAttribute<'_>]) -> Option<Uuid> {
    let named = |it: &&PartialAttribute<'_>| it.description.eq_ignore_ascii_case("entryUUID");
    let value = attributes.iter().find(named)?.values.iter().next()?;
    parse_uuid(value)
}
