//! The content of one base of the old server: by content synchronisation (RFC 4533), or page by
//! page with ordinary searches.

use super::entry::{Entry, Uuid};
use super::remote::{Remote, everything};
use super::trouble::Trouble;
use protocol::control::{
    PagedResults, Subentries, SyncDone, SyncInfo, SyncMode, SyncRequest, SyncState, SyncStateValue,
};
use protocol::{
    Control, DecodeError, LdapResult, MessageId, OwnedControl, Request, Response, ResponseMessage,
    ResultCode, Scope, oid,
};

/// Number of entries in a page of an ordinary search.
const PAGE_ENTRIES: u32 = 1000;

/// How content is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// By content synchronisation, from a cookie.
    Sync(SyncMode, Option<Vec<u8>>),
    /// By ordinary searches.
    Plain,
    /// By ordinary searches for subentries (RFC 3672), which slapd neither returns nor synchronises
    /// without the control.
    Subentries,
}

/// A message of the old server.
#[derive(Debug)]
pub enum Event {
    /// The present state of an entry.
    Put(Uuid, Entry),
    /// Unchanged entries.
    Unchanged(Vec<Uuid>),
    /// Deleted entries.
    Gone(Vec<Uuid>),
    /// The end of a phase of the refresh.
    PhaseEnd {
        /// Whether entries not mentioned are deleted.
        rest_is_gone: bool,
        /// Whether the whole refresh is over.
        refreshed: bool,
    },
    /// The end of the search.
    End {
        /// Result of the search.
        result: LdapResult,
        /// Whether entries not mentioned are deleted.
        rest_is_gone: bool,
    },
    /// A message without effect.
    Nothing,
}

/// Requests a base; returns the message id of the responses.
pub fn begin(remote: &mut Remote, base: &str, way: &Way) -> Result<MessageId, Trouble> {
    match way {
        Way::Sync(mode, cookie) => {
            let asked = SyncRequest {
                mode: *mode,
                cookie: cookie.as_deref(),
                reload_hint: false,
            };
            let control =
                OwnedControl::with_value(oid::SYNC_REQUEST, true, |out| asked.encode(out));
            search(remote, base, vec![control])
        }
        Way::Plain => page(remote, base, &[]),
        // Subentries are few: without pages, because slapd supports one paged search on each
        // connection.
        Way::Subentries => {
            let visible = Subentries { visible: true };
            let control =
                OwnedControl::with_value(oid::SUBENTRIES, true, |out| visible.encode(out));
            search(remote, base, vec![control])
        }
    }
}

/// Requests the page after a cookie.
pub fn page(remote: &mut Remote, base: &str, cookie: &[u8]) -> Result<MessageId, Trouble> {
    let asked = PagedResults {
        size: PAGE_ENTRIES,
        cookie,
    };
    let control = OwnedControl::with_value(oid::PAGED_RESULTS, false, |out| asked.encode(out));
    search(remote, base, vec![control])
}

fn search(
    remote: &mut Remote,
    base: &str,
    mut controls: Vec<OwnedControl>,
) -> Result<MessageId, Trouble> {
    let request = everything(base, Scope::WholeSubtree, &["*", "+"]);
    // Referral objects are copied as entries.
    controls.push(OwnedControl::new(oid::MANAGE_DSA_IT, false));
    remote.send(&Request::Search(request), &controls)
}

/// The cookie of the next page; `None` on the last.
pub fn next_page(message: &ResponseMessage<'_>) -> Option<Vec<u8>> {
    let value = value_of(&message.controls, oid::PAGED_RESULTS)?;
    let page = PagedResults::decode(value).ok()?;
    let done = message.response.result()?.code == ResultCode::SUCCESS;
    (done && !page.cookie.is_empty()).then(|| page.cookie.to_vec())
}

/// Decodes a message into an event, and the cookie in it, if any.
pub fn read(message: &ResponseMessage<'_>) -> Result<(Event, Option<Vec<u8>>), DecodeError> {
    match &message.response {
        Response::SearchEntry { name, attributes } => {
            let Some(value) = value_of(&message.controls, oid::SYNC_STATE) else {
                let entry = Entry::of(name, attributes);
                let event = entry.uuid().map(|uuid| Event::Put(uuid, entry));
                return Ok((event.unwrap_or(Event::Nothing), None));
            };
            let state = SyncStateValue::decode(value)?;
            let uuid = state.entry_uuid;
            let event = match state.state {
                SyncState::Present => Event::Unchanged(vec![uuid]),
                SyncState::Delete => Event::Gone(vec![uuid]),
                SyncState::Add | SyncState::Modify => Event::Put(uuid, Entry::of(name, attributes)),
            };
            Ok((event, owned(state.cookie)))
        }
        Response::Intermediate { name, value } if *name == Some(oid::SYNC_INFO) => {
            info(value.unwrap_or_default())
        }
        Response::SearchDone(result) => {
            let done = value_of(&message.controls, oid::SYNC_DONE)
                .map(SyncDone::decode)
                .transpose()?;
            let event = Event::End {
                result: result.clone(),
                rest_is_gone: done.as_ref().is_some_and(|it| !it.refresh_deletes),
            };
            Ok((event, owned(done.and_then(|it| it.cookie))))
        }
        _ => Ok((Event::Nothing, None)),
    }
}

/// A Sync Info message (RFC 4533 §2.5).
fn info(value: &[u8]) -> Result<(Event, Option<Vec<u8>>), DecodeError> {
    Ok(match SyncInfo::decode(value)? {
        SyncInfo::NewCookie(cookie) => (Event::Nothing, owned(Some(cookie))),
        SyncInfo::RefreshDelete {
            cookie,
            refresh_done: refreshed,
        } => (
            Event::PhaseEnd {
                rest_is_gone: false,
                refreshed,
            },
            owned(cookie),
        ),
        SyncInfo::RefreshPresent {
            cookie,
            refresh_done: refreshed,
        } => (
            Event::PhaseEnd {
                rest_is_gone: true,
                refreshed,
            },
            owned(cookie),
        ),
        SyncInfo::IdSet {
            cookie,
            refresh_deletes,
            entry_uuids,
        } => {
            let event = match refresh_deletes {
                true => Event::Gone(entry_uuids),
                false => Event::Unchanged(entry_uuids),
            };
            (event, owned(cookie))
        }
    })
}

fn owned(cookie: Option<&[u8]>) -> Option<Vec<u8>> {
    cookie.map(<[u8]>::to_vec)
}

/// The value of a control.
pub fn value_of<'a>(controls: &[Control<'a>], oid: &str) -> Option<&'a [u8]> {
    controls.iter().find(|it| it.oid == oid)?.value
}
