//! A client of content synchronisation (RFC 4533): what a provider says, and cookies.

use crate::client::{Client, Event};
use crate::{Entry, Outcome, SUFFIX};
use protocol::control::{SyncDone, SyncInfo, SyncMode, SyncRequest, SyncState, SyncStateValue};
use protocol::{MessageId, OwnedControl, Scope, SearchRequest, oid};
use std::borrow::Cow;

/// A message of a provider.
#[derive(Debug)]
pub enum Said {
    /// An entry with its state, and a cookie if there is one.
    Entry(SyncState, [u8; 16], Entry, Option<String>),
    /// A set of entries that are all deleted (true) or all unchanged.
    Ids(bool, Vec<[u8; 16]>),
    /// The end of the refresh: whether deleted entries were named, and the cookie.
    Refreshed(bool, String),
    /// A cookie alone.
    Cookie(String),
    /// The final message, with refreshDeletes and the cookie.
    Done(Outcome, bool, Option<String>),
}

/// Returns the control that requests synchronisation.
pub fn sync(mode: SyncMode, cookie: Option<&str>, reload_hint: bool) -> OwnedControl {
    let mut value = Vec::new();
    let request = SyncRequest {
        mode,
        cookie: cookie.map(str::as_bytes),
        reload_hint,
    };
    request.encode(&mut value);
    OwnedControl {
        oid: Cow::Borrowed(oid::SYNC_REQUEST),
        critical: true,
        value: Some(value),
    }
}

/// Parameters of a search.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Base of the search.
    pub base: &'a str,
    /// Scope of the search.
    pub scope: Scope,
    /// Filter of the search.
    pub filter: &'a str,
    /// Requested attributes.
    pub select: &'a [&'a str],
}

/// The search for everything below the suffix.
pub const ALL: Asked<'static> = Asked {
    base: SUFFIX,
    scope: Scope::WholeSubtree,
    filter: "(objectClass=*)",
    select: &[],
};

impl Asked<'_> {
    /// Sends the search with a control.
    pub fn send(&self, client: &mut Client, control: &OwnedControl) -> MessageId {
        let controls = std::slice::from_ref(control);
        let nothing = |_: &mut SearchRequest<'_>| {};
        client.send_search(
            self.base,
            self.scope,
            self.filter,
            self.select,
            controls,
            nothing,
        )
    }

    /// Begins to follow; returns the messages up to the end of the refresh.
    pub fn follow(&self, client: &mut Client, cookie: Option<&str>) -> (MessageId, Vec<Said>) {
        let id = self.send(client, &sync(SyncMode::RefreshAndPersist, cookie, false));
        let said = until(client, id, |it| matches!(it, Said::Refreshed(..)));
        (id, said)
    }

    /// Synchronises once; returns all messages.
    pub fn poll(&self, client: &mut Client, cookie: Option<&str>) -> Vec<Said> {
        let id = self.send(client, &sync(SyncMode::RefreshOnly, cookie, false));
        until(client, id, |it| matches!(it, Said::Done(..)))
    }
}

/// Receives the next message of an operation.
#[track_caller]
pub fn next(client: &mut Client, id: MessageId) -> Said {
    let (of, event) = client.receive();
    assert_eq!(of, id, "{event:?}");
    let text = |cookie: Option<&[u8]>| cookie.map(|it| String::from_utf8_lossy(it).into_owned());
    match event {
        Event::Entry(entry, controls) => {
            let mut controls = controls.iter();
            let state = controls.find(|(it, _)| it == oid::SYNC_STATE);
            let value = state.and_then(|(_, value)| value.clone());
            let value = value.expect("each entry has its state");
            let value = SyncStateValue::decode(&value).expect("the state decodes");
            Said::Entry(value.state, value.entry_uuid, entry, text(value.cookie))
        }
        Event::Intermediate(name, value) => {
            assert_eq!(name.as_deref(), Some(oid::SYNC_INFO));
            let value = value.expect("a Sync Info message has a value");
            match SyncInfo::decode(&value).expect("it decodes") {
                SyncInfo::NewCookie(it) => Said::Cookie(text(Some(it)).expect("given")),
                SyncInfo::RefreshDelete { cookie, .. } => {
                    Said::Refreshed(true, text(cookie).expect("a cookie"))
                }
                SyncInfo::RefreshPresent { cookie, .. } => {
                    Said::Refreshed(false, text(cookie).expect("a cookie"))
                }
                SyncInfo::IdSet {
                    refresh_deletes,
                    entry_uuids,
                    ..
                } => Said::Ids(refresh_deletes, entry_uuids),
            }
        }
        Event::Done(outcome) => {
            let value = outcome.control(oid::SYNC_DONE);
            let done = value.map(|it| SyncDone::decode(it).expect("it decodes"));
            let deletes = done.as_ref().is_some_and(|it| it.refresh_deletes);
            let cookie = done.and_then(|it| text(it.cookie));
            Said::Done(outcome, deletes, cookie)
        }
        Event::Reference(urls) => panic!("a reference: {urls:?}"),
    }
}

/// Receives messages up to the first for which `last` is true, this one included.
#[track_caller]
pub fn until(client: &mut Client, id: MessageId, last: impl Fn(&Said) -> bool) -> Vec<Said> {
    let mut said = Vec::new();
    loop {
        said.push(next(client, id));
        if said.last().is_some_and(&last) {
            return said;
        }
    }
}

/// Returns state and first RDN of each entry, `ids` for sets, `end` for the final message.
pub fn short(said: &[Said]) -> Vec<String> {
    said.iter()
        .map(|it| match it {
            Said::Entry(state, _, entry, _) => {
                let rdn = entry.name.split(',').next().unwrap_or_default();
                format!("{state:?} {rdn}").to_lowercase()
            }
            Said::Ids(true, ids) => format!("gone {}", ids.len()),
            Said::Ids(false, ids) => format!("unchanged {}", ids.len()),
            Said::Refreshed(deletes, _) => format!("refreshed {deletes}"),
            Said::Cookie(_) => "cookie".to_owned(),
            Said::Done(outcome, deletes, _) => format!("{} {deletes}", outcome.code.name()),
        })
        .collect()
}

/// Returns the last cookie received.
#[track_caller]
pub fn cookie(said: &[Said]) -> String {
    said.iter()
        .rev()
        .find_map(|it| match it {
            Said::Entry(_, _, _, cookie) | Said::Done(_, _, cookie) => cookie.clone(),
            Said::Refreshed(_, cookie) | Said::Cookie(cookie) => Some(cookie.clone()),
            Said::Ids(..) => None,
        })
        .expect("a cookie was said")
}
