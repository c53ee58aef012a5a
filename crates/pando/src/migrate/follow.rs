//! Follows the old server: applies its changes and stores the cookie.
//!
//! A cookie is stored only after all changes before it are durable here, so after any interruption
//! the old server sends every missing change again, and perhaps some others.

use super::apply::{Applier, Counts};
use super::entry::Uuid;
use super::pull::{self, Event, Way};
use super::remote::Remote;
use super::state::State;
use super::stop::Stop;
use super::trouble::{Trouble, explain};
use crate::report::note;
use protocol::control::SyncMode;
use protocol::{LdapResult, MessageId, ResponseMessage, ResultCode};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Interval between checks for an interrupt while no message arrives.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Interval of storing cookies while changes arrive without a pause.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// Day number of 1970-01-01 in the count of [`moment`].
const DAYS_1970: u64 = 719_469;
/// Interval of progress lines.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// When to stop following.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// When node and old server are equal.
    Once,
    /// When node and old server are equal, found out by ordinary searches.
    Plain,
    /// When the operator interrupts the command.
    Stay,
}

/// State of one base.
struct Stream {
    base: String,
    way: Way,
    id: MessageId,
    /// Whether the old server continues from an earlier cookie.
    resumed: bool,
    refreshing: bool,
    /// UUIDs mentioned in the refresh.
    mentioned: Vec<Uuid>,
    /// Cookie up to which all changes are applied.
    cookie: Option<Vec<u8>>,
    /// The last cookie received; its changes are applied once the refresh is over.
    told: Option<Vec<u8>>,
    ended: bool,
}

/// Follows over one connection.
pub struct Follow<'f> {
    /// The old server.
    pub remote: &'f mut Remote,
    /// The node.
    pub applier: &'f mut Applier,
    /// State of the migration.
    pub state: &'f mut State,
    /// Folder in which the state is stored.
    pub dir: &'f Path,
    /// When to stop.
    pub mode: Mode,
    /// Set by an interrupt.
    pub stop: &'f Stop,
    /// Whether the old server supports the subentries control.
    pub subentries: bool,
    /// Number of unfinished refreshes.
    pub refreshes: usize,
    /// Time of the last applied change; `None` before the first.
    pub changed: Option<SystemTime>,
}

impl Follow<'_> {
    /// Follows all bases. Returns without trouble when node and old server are equal and the mode
    /// is not `Stay`.
    pub fn run(&mut self) -> Result<(), Trouble> {
        let bases = self.state.bases.clone();
        if self.mode != Mode::Plain {
            return self.follow(bases);
        }
        // slapd supports one paged search on each connection.
        bases.into_iter().try_for_each(|it| self.follow(vec![it]))
    }

    fn follow(&mut self, bases: Vec<(String, Option<Vec<u8>>)>) -> Result<(), Trouble> {
        let mut streams = Vec::new();
        for (base, cookie) in bases {
            streams.push(self.begin(base.clone(), cookie)?);
            if self.subentries {
                streams.push(self.begin_as(base, Way::Subentries)?);
            }
        }
        let mut saved = Instant::now();
        let mut said = Said::new(self.applier.counts);
        let done = loop {
            if streams.iter().all(|it| it.ended) {
                break Ok(());
            }
            if self.stop.is_wished() {
                break Err(Trouble::Stopped);
            }
            match self.step(&mut streams) {
                Err(trouble) => break Err(trouble),
                Ok(came) => {
                    if !came || saved.elapsed() > SAVE_EVERY {
                        self.save(&streams)?;
                        saved = Instant::now();
                    }
                    let in_step = !came && streams.iter().all(|it| !it.refreshing);
                    said.say(self.applier.counts, in_step, self.changed);
                }
            }
        };
        match done {
            // After any of these ends, received changes may not be applied yet.
            Ok(()) | Err(Trouble::Stopped | Trouble::Lost(_)) => self.save(&streams)?,
            Err(_) => {}
        }
        done
    }

    fn begin(&mut self, base: String, cookie: Option<Vec<u8>>) -> Result<Stream, Trouble> {
        let mode = match self.mode {
            Mode::Stay => SyncMode::RefreshAndPersist,
            Mode::Once | Mode::Plain => SyncMode::RefreshOnly,
        };
        let way = match self.mode {
            Mode::Plain => Way::Plain,
            _ => Way::Sync(mode, cookie),
        };
        self.begin_as(base, way)
    }

    fn begin_as(&mut self, base: String, way: Way) -> Result<Stream, Trouble> {
        let id = pull::begin(self.remote, &base, &way)?;
        self.refreshes += 1;
        self.applier.set_refreshing(true);
        let cookie = match &way {
            Way::Sync(_, cookie) => cookie.clone(),
            Way::Plain | Way::Subentries => None,
        };
        Ok(Stream {
            id,
            base,
            // A search for subentries mentions no other entries, so no entry is swept after it.
            resumed: cookie.is_some() || way == Way::Subentries,
            way,
            refreshing: true,
            mentioned: Vec::new(),
            cookie,
            told: None,
            ended: false,
        })
    }

    /// Handles one message; returns `false` if none arrived.
    fn step(&mut self, streams: &mut [Stream]) -> Result<bool, Trouble> {
        if !self.remote.has_message() {
            // While the old server is silent, received changes become durable.
            self.flush()?;
        }
        let Some(bytes) = self.remote.next(LOOK_EVERY)? else {
            return Ok(false);
        };
        let message = match ResponseMessage::decode(bytes) {
            Ok(message) => message,
            Err(error) => return Err(Trouble::refused(format!("no correct response: {error}"))),
        };
        if message.id == 0 {
            let said = message.response.result().map(|it| it.diagnostic.clone());
            let said = said.unwrap_or_default();
            return Err(Trouble::Lost(format!("the old server disconnects: {said}")));
        }
        let Some(stream) = streams.iter_mut().find(|it| it.id == message.id) else {
            return Ok(true);
        };
        let page = pull::next_page(&message);
        let (event, cookie) = match pull::read(&message) {
            Ok(said) => said,
            Err(error) => return Err(Trouble::refused(format!("{}: {error}", stream.base))),
        };
        // A cookie with a refusal does not cover the changes received.
        let refused = matches!(&event, Event::End { result, .. } if !result.code.is_success());
        self.take(stream, event, page)?;
        if let Some(cookie) = cookie.filter(|_| !refused) {
            stream.told = Some(cookie);
        }
        if let Some(cookie) = stream.told.take_if(|_| !stream.refreshing) {
            stream.cookie = Some(cookie);
        }
        Ok(true)
    }

    fn take(
        &mut self,
        stream: &mut Stream,
        event: Event,
        page: Option<Vec<u8>>,
    ) -> Result<(), Trouble> {
        match event {
            Event::Put(uuid, entry) => {
                match stream.refreshing {
                    true => stream.mentioned.push(uuid),
                    // Only after the refresh do modification times show progress, because a refresh
                    // is unordered.
                    false => self.changed = entry.texts("modifyTimestamp").find_map(moment),
                }
                self.applier.put(uuid, entry)?;
            }
            Event::Unchanged(uuids) => stream.mentioned.extend(uuids),
            Event::Gone(uuids) => {
                for uuid in uuids {
                    self.applier.remove(uuid)?;
                }
            }
            Event::PhaseEnd {
                rest_is_gone,
                refreshed,
            } => {
                if rest_is_gone || (refreshed && !stream.resumed) {
                    self.sweep(stream)?;
                }
                if refreshed {
                    self.refreshed(stream)?;
                }
            }
            Event::End {
                result,
                rest_is_gone,
            } => self.end(stream, &result, rest_is_gone, page)?,
            Event::Nothing => {}
        }
        Ok(())
    }

    /// Waits until all changes are applied. After the refresh, changes come in the order they were
    /// made, so none has to wait for another.
    fn flush(&mut self) -> Result<(), Trouble> {
        self.applier.flush()?;
        self.applier.settle(self.refreshes == 0)?;
        if self.refreshes == 0 {
            self.applier.set_refreshing(false);
        }
        Ok(())
    }

    fn end(
        &mut self,
        stream: &mut Stream,
        result: &LdapResult,
        rest_is_gone: bool,
        page: Option<Vec<u8>>,
    ) -> Result<(), Trouble> {
        let base = stream.base.clone();
        match (result.code, page) {
            (ResultCode::SUCCESS, Some(page)) => {
                stream.id = pull::page(self.remote, &base, &page)?;
            }
            (ResultCode::SUCCESS, None)
                if self.mode != Mode::Stay || stream.way == Way::Subentries =>
            {
                if rest_is_gone || !stream.resumed {
                    self.sweep(stream)?;
                }
                self.refreshed(stream)?;
                stream.ended = true;
            }
            (ResultCode::E_SYNC_REFRESH_REQUIRED, _) => {
                note(format_args!(
                    "{base}: the old server no longer knows what has changed since; everything \
                     is compared"
                ));
                if stream.refreshing {
                    self.refreshes = self.refreshes.saturating_sub(1);
                }
                *stream = self.begin(base, None)?;
            }
            (ResultCode::SUCCESS | ResultCode::CANCELED, None) => {
                let text = format!("{base}: the old server ended the search");
                return Err(Trouble::Lost(text));
            }
            _ => return Err(explain(result, &base, &self.remote.who)),
        }
        Ok(())
    }

    /// Deletes entries not mentioned in a refresh.
    fn sweep(&mut self, stream: &mut Stream) -> Result<(), Trouble> {
        self.applier.flush()?;
        self.applier.settle(false)?;
        let mut mentioned = std::mem::take(&mut stream.mentioned);
        mentioned.sort_unstable();
        mentioned.dedup();
        self.applier.sweep(&stream.base, &mentioned)?;
        // If the refresh continues, it names deleted entries.
        stream.resumed = true;
        Ok(())
    }

    fn refreshed(&mut self, stream: &mut Stream) -> Result<(), Trouble> {
        stream.refreshing = false;
        stream.mentioned = Vec::new();
        self.refreshes = self.refreshes.saturating_sub(1);
        self.flush()?;
        if stream.way == Way::Subentries {
            return Ok(());
        }
        note(format_args!(
            "{}: caught up: {}",
            stream.base,
            Sum(self.applier.counts)
        ));
        Ok(())
    }

    fn save(&mut self, streams: &[Stream]) -> Result<(), Trouble> {
        self.flush()?;
        if self.mode == Mode::Plain || !self.applier.is_settled() {
            return Ok(());
        }
        let mut changed = false;
        let followed = |it: &&Stream| !it.refreshing && it.way != Way::Subentries;
        for stream in streams.iter().filter(followed) {
            let cookie = stream.cookie.clone();
            changed |= self.state.set_cookie(&stream.base, cookie);
        }
        match changed {
            true => self.state.save(self.dir).map_err(Trouble::Refused),
            false => Ok(()),
        }
    }
}

/// Numbers of applied changes, printed as a sentence.
pub struct Sum(pub Counts);

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts {
            added,
            changed,
            deleted,
            same,
        } = self.0;
        write!(
            f,
            "{added} added, {changed} changed, {deleted} deleted, {same} already identical"
        )
    }
}

/// Progress already reported.
struct Said {
    last: Instant,
    counts: u64,
    in_step: bool,
}

impl Said {
    fn new(counts: Counts) -> Said {
        Said {
            last: Instant::now(),
            counts: total(counts),
            in_step: false,
        }
    }

    /// Prints a line periodically while changes are applied, and a line when no change is left.
    fn say(&mut self, counts: Counts, in_step: bool, changed: Option<SystemTime>) {
        let total = total(counts);
        let arrives = in_step && (!self.in_step || total != self.counts);
        let works = !in_step && total != self.counts;
        let wanted = arrives || (works && self.last.elapsed() > SAY_EVERY);
        if !wanted {
            return;
        }
        let rate = (total - self.counts) as f64 / self.last.elapsed().as_secs_f64().max(0.001);
        match in_step {
            true => note(format_args!("in sync with the old server: {}", Sum(counts))),
            false => {
                let behind = changed.and_then(|it| it.elapsed().ok());
                let behind = behind.map_or_else(String::new, |it| {
                    format!(", {} s behind the old server", it.as_secs())
                });
                note(format_args!(
                    "applying: {}, {rate:.0}/s{behind}",
                    Sum(counts)
                ));
            }
        }
        self.last = Instant::now();
        self.counts = total;
        self.in_step = in_step;
    }
}

/// A generalized time in its usual form, `YYYYMMDDHHMMSSZ`.
fn moment(text: &str) -> Option<SystemTime> {
    let part = |at: std::ops::Range<usize>| text.get(at)?.parse::<u64>().ok();
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    let (hour, minute, second) = (part(8..10)?, part(10..12)?, part(12..14)?);
    if !text.ends_with('Z') || year < 1970 || month < 1 {
        return None;
    }
    // Days before the month, counted from March, so that leap days come last.
    let (years, months) = match month > 2 {
        true => (year, month - 3),
        false => (year - 1, month + 9),
    };
    let days = years * 365 + years / 4 - years / 100 + years / 400 + (months * 153 + 2) / 5 + day;
    let seconds = (days.checked_sub(DAYS_1970)?) * 86_400 + hour * 3_600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn total(counts: Counts) -> u64 {
    counts.added + counts.changed + counts.deleted + counts.same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let seconds = |text: &str| {
            let since = moment(text)?.duration_since(UNIX_EPOCH).ok()?;
            Some(since.as_secs())
        };
        assert_eq!(seconds("19700101000000Z"), Some(0));
        assert_eq!(seconds("20000301000000Z"), Some(951_868_800));
        assert_eq!(seconds("20261121203000Z"), Some(1_795_293_000));
        for wrong in [
            "",
            "2026",
            "20261121203000",
            "20260021203000Z",
            "x0261121203000Z",
        ] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
