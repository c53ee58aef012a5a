//! Messages of a search that follows the directory: entries with their state, sets of identifiers,
//! phases, the result.

use crate::context::VisibleEntry;
use crate::operation::follow::follower::{Follower, Gone, Kind};
use crate::search::large;
use protocol::control::{
    ChangeType, EntryChangeNotification, SyncDone, SyncInfo, SyncState, SyncStateValue,
};
use protocol::{LdapResult, OwnedControl, ResultKind, oid, response};
use state::history::{Moment, sync_cookie};
use state::stop::Stop;
use std::borrow::Cow;

/// Maximum number of entryUUIDs in one set; they take 4.5 KiB.
const ID_SET_MAX: usize = 256;
/// Number of changes that do not concern the client after which it gets a new cookie, so that its
/// cookie does not fall out of the history while nothing matches.
const SILENT_CHANGES_MAX: u32 = 1_000;

impl Follower {
    /// Sends an entry of the content. `moment` is that of the cookie, if the client is then up to
    /// date to it.
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

    /// Sends a changed entry of a persistent search.
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

    /// Sends a deleted entry of a persistent search: its name without attributes.
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

    /// Sends an entry with the selected attributes, or begins one that is sent in parts.
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
        let projection = &self.projection;
        entry.whole(|| projection.write(entry.catalog(), entry, None, out))?;
        response::finish_search_entry(out, mark, controls);
        self.sent += 1;
        Ok(())
    }

    /// Queues the report that an entry left the content; sent when the set is full or another
    /// message follows.
    pub(super) fn put_left(&mut self, gone: Gone, out: &mut Vec<u8>) {
        self.gone.push(gone);
        if self.gone.len() >= ID_SET_MAX {
            self.put_gone(out);
        }
    }

    /// Sends the queued reports of entries that left the content.
    pub(super) fn put_gone(&mut self, out: &mut Vec<u8>) {
        let gone = std::mem::take(&mut self.gone);
        if gone.is_empty() {
            return;
        }
        // A cookie is sent during a refresh too: a slapd that has consumers of its own records a
        // deletion under the sequence number in the cookie; without one it uses a number that its
        // consumers already have.
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

    /// Queues the report that an entry is unchanged; sent when the set is full.
    pub(super) fn put_unchanged(&mut self, entry: &VisibleEntry<'_, '_>, out: &mut Vec<u8>) {
        self.unchanged.extend(entry.uuid());
        if self.unchanged.len() >= ID_SET_MAX {
            self.put_present(out);
        }
    }

    /// Sends the queued reports of unchanged entries.
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

    /// Counts a change that does not concern the client, and sends a new cookie after many of them.
    pub(super) fn put_nothing(&mut self, out: &mut Vec<u8>) {
        self.silent += 1;
        if self.silent >= SILENT_CHANGES_MAX {
            self.put_cookie(out);
        }
    }

    /// Sends a cookie for everything up to `at`.
    pub(super) fn put_cookie(&mut self, out: &mut Vec<u8>) {
        self.put_gone(out);
        let cookie = self.cookie(self.at);
        self.put_info(&SyncInfo::NewCookie(cookie.as_bytes()), out);
        self.silent = 0;
    }

    /// Ends a refresh: entries not reported are deleted (`deletes`) or unchanged.
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

    /// Sends the final result, with a cookie if the client may continue from it.
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
        sync_cookie::print(self.rid, moment)
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
