//! What a search that follows the directory says: entries with their state, sets of entries,
//! phases, the end.

use super::{Follower, Kind, cookie};
use crate::context::VisibleEntry;
use crate::operation::large;
use protocol::control::{
    ChangeType, EntryChangeNotification, SyncDone, SyncInfo, SyncState, SyncStateValue,
};
use protocol::{LdapResult, OwnedControl, ResultKind, oid, response};
use state::history::Moment;
use state::stop::Stop;
use std::borrow::Cow;

/// Identifiers in one set: 4.5 KiB.
const ID_SET_MAX: usize = 256;
/// Changes that do not concern the client after which it gets a cookie all the same, so that it
/// does not fall out of the history by standing still.
const SILENT_CHANGES_MAX: u32 = 1_000;

/// An entry that has left the content.
#[derive(Debug)]
pub(super) struct Gone {
    pub uuid: [u8; 16],
    pub name: String,
    /// What to say the client has got with it, if that is all of a change.
    pub moment: Option<Moment>,
}

impl Follower {
    /// An entry of the content; with a `moment` when the client has got everything up to it then.
    pub(super) fn put_entry(
        &mut self,
        entry: &VisibleEntry<'_, '_>,
        state: SyncState,
        moment: Option<Moment>,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        self.put_gone(out);
        let Some(uuid) = entry.uuid() else {
            return Ok(());
        };
        let cookie = moment.map(|it| self.cookie(it));
        let value = SyncStateValue {
            state,
            entry_uuid: uuid,
            cookie: cookie.as_deref().map(str::as_bytes),
        };
        self.put_with(entry, &[state_control(&value)], out)
    }

    /// A changed entry of a persistent search.
    pub(super) fn put_changed(
        &mut self,
        entry: &VisibleEntry<'_, '_>,
        notice: &EntryChangeNotification<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        match self.notice_control(notice) {
            Some(control) => self.put_with(entry, &[control], out),
            None => self.put_with(entry, &[], out),
        }
    }

    /// A deleted entry of a persistent search: its name is all there is.
    pub(super) fn put_deleted(&mut self, name: &str, number: u64, out: &mut Vec<u8>) {
        let notice = EntryChangeNotification {
            change_type: ChangeType::Delete,
            previous_dn: None,
            change_number: i64::try_from(number).ok(),
        };
        let control = self.notice_control(&notice);
        let mark = response::begin_search_entry(out, self.id, name.as_bytes());
        response::finish_search_entry(out, mark, control.as_slice());
    }

    fn notice_control(&self, notice: &EntryChangeNotification<'_>) -> Option<OwnedControl> {
        let Kind::Persistent(asked) = &self.kind else {
            return None;
        };
        let mut value = Vec::with_capacity(32);
        notice.encode(&mut value);
        asked.return_entry_changes.then_some(OwnedControl {
            oid: Cow::Borrowed(oid::ENTRY_CHANGE_NOTIFICATION),
            critical: false,
            value: Some(value),
        })
    }

    /// An entry with what the client selected of it; or the beginning of one that is sent in parts.
    pub(super) fn put_with(
        &mut self,
        entry: &VisibleEntry<'_, '_>,
        controls: &[OwnedControl],
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        self.silent = 0;
        if entry.has_links() || entry.catalog().has_dynamic_groups {
            self.large = large::followed(
                self.spools.as_ref(),
                entry,
                self.id,
                &self.projection,
                controls,
            )?;
            if self.large.is_some() {
                return Ok(());
            }
        }
        self.buffer.clear();
        entry.write_name(&mut self.buffer)?;
        let mark = response::begin_search_entry(out, self.id, &self.buffer);
        self.projection.write(entry.catalog(), entry, None, out)?;
        response::finish_search_entry(out, mark, controls);
        self.sent += 1;
        Ok(())
    }

    /// An entry has left the content; said when there are enough of them or something else follows.
    pub(super) fn put_left(&mut self, gone: Gone, out: &mut Vec<u8>) {
        self.gone.push(gone);
        if self.gone.len() >= ID_SET_MAX {
            self.put_gone(out);
        }
    }

    /// Says which entries have left the content.
    pub(super) fn put_gone(&mut self, out: &mut Vec<u8>) {
        let gone = std::mem::take(&mut self.gone);
        if gone.is_empty() {
            return;
        }
        // Also in a refresh: a slapd that is itself followed notes a deletion under the sequence
        // number in the cookie, and without one under a number that its followers have already.
        let moment = gone.iter().rev().find_map(|it| it.moment);
        let cookie = moment.map(|it| self.cookie(it));
        self.silent = 0;
        if let [one] = gone.as_slice() {
            let value = SyncStateValue {
                state: SyncState::Delete,
                entry_uuid: one.uuid,
                cookie: cookie.as_deref().map(str::as_bytes),
            };
            let mark = response::begin_search_entry(out, self.id, one.name.as_bytes());
            response::finish_search_entry(out, mark, &[state_control(&value)]);
            return;
        }
        let info = SyncInfo::IdSet {
            cookie: cookie.as_deref().map(str::as_bytes),
            refresh_deletes: true,
            entry_uuids: gone.iter().map(|it| it.uuid).collect(),
        };
        self.put_info(&info, out);
    }

    /// An entry that is as the client has it; said when there are enough of them.
    pub(super) fn put_unchanged(&mut self, entry: &VisibleEntry<'_, '_>, out: &mut Vec<u8>) {
        self.unchanged.extend(entry.uuid());
        if self.unchanged.len() >= ID_SET_MAX {
            self.put_present(out);
        }
    }

    /// Says which entries are as the client has them.
    pub(super) fn put_present(&mut self, out: &mut Vec<u8>) {
        let entry_uuids = std::mem::take(&mut self.unchanged);
        if !entry_uuids.is_empty() {
            let info = SyncInfo::IdSet {
                cookie: None,
                refresh_deletes: false,
                entry_uuids,
            };
            self.put_info(&info, out);
        }
    }

    /// A change that does not concern the client; now and then it gets a cookie for it.
    pub(super) fn put_nothing(&mut self, out: &mut Vec<u8>) {
        self.silent += 1;
        if self.silent >= SILENT_CHANGES_MAX {
            self.put_cookie(out);
        }
    }

    /// Says that the client has got everything up to here.
    pub(super) fn put_cookie(&mut self, out: &mut Vec<u8>) {
        self.put_gone(out);
        let cookie = self.cookie(self.at);
        self.put_info(&SyncInfo::NewCookie(cookie.as_bytes()), out);
        self.silent = 0;
    }

    /// The end of a refresh: everything else the client has is gone, or is still there.
    pub(super) fn put_refreshed(&mut self, deletes: bool, persist: bool, out: &mut Vec<u8>) {
        self.put_gone(out);
        self.put_present(out);
        let cookie = self.cookie(self.at);
        let cookie = Some(cookie.as_bytes());
        if !persist {
            let done = SyncDone {
                cookie,
                refresh_deletes: deletes,
            };
            self.put_end(&LdapResult::success(), Some(&done), out);
            return;
        }
        let refresh_done = true;
        let info = if deletes {
            SyncInfo::RefreshDelete {
                cookie,
                refresh_done,
            }
        } else {
            SyncInfo::RefreshPresent {
                cookie,
                refresh_done,
            }
        };
        self.put_info(&info, out);
    }

    /// The end, with what the client has got if it may go on from there.
    pub(super) fn put_stopped(&mut self, result: &LdapResult, out: &mut Vec<u8>) {
        self.put_gone(out);
        let part = self.walk.is_some() || self.lost.is_some() || !self.is_persisting();
        if part || !matches!(self.kind, Kind::Sync { .. }) {
            return self.put_end(result, None, out);
        }
        let cookie = self.cookie(self.at);
        let done = SyncDone {
            cookie: Some(cookie.as_bytes()),
            refresh_deletes: true,
        };
        self.put_end(result, Some(&done), out);
    }

    fn put_end(&self, result: &LdapResult, done: Option<&SyncDone<'_>>, out: &mut Vec<u8>) {
        let control = done.map(|done| {
            let mut value = Vec::with_capacity(64);
            done.encode(&mut value);
            OwnedControl {
                oid: Cow::Borrowed(oid::SYNC_DONE),
                critical: false,
                value: Some(value),
            }
        });
        response::write_result(
            out,
            self.id,
            ResultKind::SearchDone,
            result,
            control.as_slice(),
        );
    }

    fn put_info(&self, info: &SyncInfo<'_>, out: &mut Vec<u8>) {
        let mut value = Vec::with_capacity(64);
        info.encode(&mut value);
        response::write_intermediate(out, self.id, Some(oid::SYNC_INFO), Some(&value), &[]);
    }

    fn cookie(&self, moment: Moment) -> String {
        cookie::print(self.rid, moment)
    }
}

fn state_control(value: &SyncStateValue<'_>) -> OwnedControl {
    let mut encoded = Vec::with_capacity(80);
    value.encode(&mut encoded);
    OwnedControl {
        oid: Cow::Borrowed(oid::SYNC_STATE),
        critical: false,
        value: Some(encoded),
    }
}
