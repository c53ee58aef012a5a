//! `pando migrate`: copies a running OpenLDAP server to this node.
//!
//! The schema is copied first, then the data: an empty node that is not served is filled by bulk
//! import. Then the old server is followed through the served node until the operator cuts over. At
//! the end both servers can be compared.

mod accounts;
mod apply;
mod compare;
mod copy;
mod edits;
mod entry;
mod follow;
mod here;
mod left_behind;
mod node;
mod policies;
mod provider;
mod pull;
mod rejects;
mod remote;
mod selection;
mod state;
mod stop;
mod take_schema;
mod trouble;

use crate::channel::Channel;
use crate::cli::Migrate;
use crate::generate::interrupted;
use crate::import::{REJECTS_FILE, refuse_used, unused_rejects};
use crate::node_folder::data_folder_alone;
use crate::password_input::first_line;
use crate::reach::Target;
use crate::report::{Problem, note};
use crate::secret;
use apply::Applier;
use compare::Compare;
use copy::Copy;
use follow::{Follow, Mode, Sum};
use here::Here;
use left_behind::LeftBehind;
use protocol::control::SyncMode;
use protocol::counted;
use pull::Way;
use rejects::Rejects;
use remote::{Old, Remote};
use schema::Schema;
use selection::Selection;
use state::State;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use stop::Stop;
use store::private;
use transfer::import::ImportOptions;
use trouble::Trouble;

/// Minimum and maximum pause before connecting to the old server again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// Minimum time between two readings of the old server's schema because of unknown definitions: its
/// entries may violate its own schema.
const SCHEMA_PAUSE: Duration = Duration::from_secs(60);
/// Interval between checks whether the node is served.
const NODE_LOOK: Duration = Duration::from_millis(200);
/// Time that a node may take to listen after it has locked its folder.
const NODE_PATIENCE: Duration = Duration::from_secs(5);

/// Runs the migration; exit status 1 if entries were rejected or differ.
pub fn migrate(it: &Migrate) -> Result<(), Problem> {
    let data = data_folder_alone(&it.dir)?;
    let _lock = state::lock(&it.dir)?;
    let old = old(it)?;
    let mut state = State::load(&it.dir)?;
    let mode = match (it.plain, it.once) {
        (true, _) => Mode::Plain,
        (false, true) => Mode::Once,
        (false, false) => Mode::Stay,
    };
    let rejects = it.rejects.clone();
    let mut job = Job {
        it,
        old: &old,
        mode,
        rejects: rejects.unwrap_or_else(|| it.dir.join(REJECTS_FILE)),
        refused: 0,
        stop: Stop::default(),
        schema_read: None,
        has_locks: false,
    };
    let copied = job.copy(&data, &mut state).map_err(Trouble::into_problem)?;
    let Some(mut state) = state else {
        return Err(Problem::failed("there is nothing to copy"));
    };
    let stop = job.stop.clone();
    let interrupts = interrupted(move || stop.wish())?;
    // With `--once` or `--plain`, a copy that was just completed is not followed.
    if !(copied && mode != Mode::Stay) {
        job.follow(&mut state).map_err(Trouble::into_problem)?;
    }
    if mode != Mode::Stay {
        job.default_policy().map_err(Trouble::into_problem)?;
    }
    // After an interrupt the report is still written; another interrupt ends the report, too.
    drop(interrupts);
    let reported = job.report(&state);
    if mode != Mode::Stay {
        job.require_policy()?;
    }
    reported
}

/// The old server, from the command line.
fn old(it: &Migrate) -> Result<Old, Problem> {
    Ok(Old {
        url: it.from.clone(),
        target: Target::new("--from", &it.from, it.starttls, it.ca.as_deref())?,
        bind_dn: it.bind_dn.clone().unwrap_or_default(),
        password: match &it.bind_password_file {
            Some(file) => first_line(file)?,
            None => Vec::new(),
        },
    })
}

/// Both servers, for comparing or following.
struct Both {
    here: Here,
    selection: Selection,
    /// Whether the old server supports the subentries control.
    subentries: bool,
}

/// One run of the command.
struct Job<'j> {
    it: &'j Migrate,
    old: &'j Old,
    mode: Mode,
    rejects: PathBuf,
    /// Number of entries rejected so far.
    refused: u64,
    stop: Stop,
    /// Time of the last reading of the old server's schema because of an unknown definition.
    schema_read: Option<Instant>,
    /// Whether accounts came with locks that hold only under a password policy.
    has_locks: bool,
}

impl Job<'_> {
    fn dir(&self) -> &Path {
        &self.it.dir
    }

    /// Prepares the node, and fills it if it is empty and not served. Returns whether it did.
    fn copy(&mut self, data: &Path, state: &mut Option<State>) -> Result<bool, Trouble> {
        let mut remote = match Remote::open(self.old) {
            // A continued migration can wait for the old server: following does.
            Err(Trouble::Lost(_)) if state.is_some() && self.mode == Mode::Stay => {
                return Ok(false);
            }
            opened => opened?,
        };
        let mut provider = provider::look(&mut remote, self.it)?;
        if let Some(known) = &state {
            // The first run fixes the bases, because other bases could have entries that were not
            // copied.
            let bases: Vec<String> = known.bases.iter().map(|it| it.0.clone()).collect();
            if self.it.base.iter().any(|it| !bases.contains(it)) {
                return Err(Trouble::refused(format!(
                    "{}: this is a migration of {}; other bases need a node of their own",
                    state::path(self.dir()).display(),
                    bases.join(" and ")
                )));
            }
            provider.bases = bases;
        }
        let served = Channel::is_served(self.dir());
        let mut channel = self.channel()?;
        let taken = take_schema::take_over(&mut remote, &provider.subschema, &mut channel, true)?;
        if state.is_none() || self.it.old_config.is_some() {
            self.say_left_behind(&mut remote, &taken.schema, &mut channel)?;
        }
        let selection = Selection::new(taken.schema, taken.operational);
        node::add_contexts(&mut channel, selection.schema(), &provider.bases)?;
        node::add_index(&mut channel).map_err(Trouble::Refused)?;
        let mut here = Here::new(channel);
        let mut empty = true;
        for base in &provider.bases {
            empty = empty && here.is_empty(base)?;
        }
        drop(here);
        let known = self.known(state, &provider.bases, empty)?;
        let mut begun = false;
        for base in provider.bases.iter().filter(|_| empty) {
            // The node was created again and has no copied entries.
            begun |= known.set_cookie(base, None);
        }
        known.save(self.dir()).map_err(Trouble::Refused)?;
        if !empty || served || begun {
            // A bulk copy warns later, and only of attributes that have values.
            secret::warn(self.dir(), &taken.look_alikes);
            if empty && served {
                note(
                    "the node is served: its entries are added one by one; stop it first for the \
                     bulk copy, which is many times faster",
                );
            }
            return Ok(false);
        }
        self.fill(remote, data, selection, provider.subentries, known)?;
        Ok(true)
    }

    /// Prints functions of the old server that are not taken over, and attributes that become
    /// public because of that.
    fn say_left_behind(
        &self,
        remote: &mut Remote,
        schema: &Schema,
        channel: &mut Channel,
    ) -> Result<(), Trouble> {
        let found = match &self.it.old_config {
            Some(path) => Some(LeftBehind::of_path(path).map_err(Trouble::Refused)?),
            None => LeftBehind::of_server(remote)?,
        };
        let Some(found) = found else {
            note(
                "pando: the old server does not show its configuration: its access rules, limits \
                 and overlays are not taken over and cannot be named; let the name to bind with \
                 read cn=config there, or give --old-config PATH (slapd.conf, slapd.d, or what \
                 `slapcat -n0` prints)",
            );
            return Ok(());
        };
        found.say();
        secret::warn_of_guarded(self.dir(), schema, channel, found.guarded()).map_err(Trouble::here)
    }

    /// The state to continue from.
    fn known<'s>(
        &self,
        state: &'s mut Option<State>,
        bases: &[String],
        empty: bool,
    ) -> Result<&'s mut State, Trouble> {
        let file = state::path(self.dir());
        match state {
            None if !empty => Err(Trouble::refused(format!(
                "{}: the node has entries that are not from a migration; use an empty node",
                self.dir().display()
            ))),
            Some(known) if known.from != self.old.url => Err(Trouble::refused(format!(
                "{}: this is a migration from {}; remove the file to compare everything with {}",
                file.display(),
                known.from,
                self.old.url
            ))),
            state => Ok(state.get_or_insert_with(|| State::new(self.old, bases))),
        }
    }

    /// Fills the node by bulk import.
    fn fill(
        &mut self,
        remote: Remote,
        data: &Path,
        selection: Selection,
        subentries: bool,
        state: &mut State,
    ) -> Result<(), Trouble> {
        let mut ways = vec![match self.mode {
            Mode::Plain => Way::Plain,
            _ => Way::Sync(SyncMode::RefreshOnly, None),
        }];
        if subentries {
            ways.push(Way::Subentries);
        }
        let bases: Vec<String> = state.bases.iter().map(|it| it.0.clone()).collect();
        note(format_args!(
            "copying {} from {}",
            bases.join(" and "),
            self.old.url
        ));
        let tally = selection.tally();
        let (source, findings) = Copy::new(remote, &bases, &ways, selection, &self.old.url);
        let started = Instant::now();
        self.rejects = match &self.it.rejects {
            Some(wanted) => {
                refuse_used(wanted).map_err(Trouble::Refused)?;
                wanted.clone()
            }
            None => unused_rejects(self.dir()),
        };
        let options = ImportOptions::new(self.rejects.clone());
        let imported = crate::import::run(data, Box::new(source), &options, None, true);
        let found = take(&findings);
        match found.trouble {
            Some(Trouble::Lost(text)) => {
                return Err(Trouble::Lost(format!(
                    "{text}; a copy is all or nothing: nothing was changed, try again"
                )));
            }
            Some(trouble) => return Err(trouble),
            None => {}
        }
        let imported = imported.map_err(Trouble::Refused)?;
        for (base, cookie) in found.cookies {
            state.set_cookie(&base, cookie);
        }
        state.save(self.dir()).map_err(Trouble::Refused)?;
        self.refused += imported.rejected;
        tally.say();
        self.has_locks |= tally.has_locks();
        // Rejected entries are reported now and decide the exit status at the end.
        let _ = crate::import::report(self.dir(), &imported, &self.rejects, started);
        if !found.passwords {
            let who = match self.old.bind_dn.as_str() {
                "" => "an anonymous client",
                who => who,
            };
            note(format_args!(
                "pando: no other entry came with userPassword: if there are any, {who} may not \
                 read them; allow it on the old server and begin again with a new node"
            ));
        }
        Ok(())
    }

    /// Follows to the end, through interruptions of either server.
    fn follow(&mut self, state: &mut State) -> Result<(), Trouble> {
        let mut pause = PAUSES.0;
        loop {
            let began = Instant::now();
            let ended = match self.wait_for_node() {
                Ok(()) => self.follow_once(state),
                Err(trouble) => Err(trouble),
            };
            let text = match ended {
                Ok(()) => return Ok(()),
                Err(Trouble::Stopped) if self.mode == Mode::Stay => return Ok(()),
                Err(Trouble::Schema) => {
                    self.schema_read = Some(Instant::now());
                    continue;
                }
                Err(Trouble::Lost(text) | Trouble::Here(text)) if self.mode == Mode::Stay => text,
                Err(trouble) => return Err(trouble),
            };
            if began.elapsed() > PAUSES.1 {
                pause = PAUSES.0;
            }
            note(format_args!(
                "{text}; nothing is lost, trying again in {:.1} s",
                pause.as_secs_f64()
            ));
            if self.stop.wait(pause) {
                return Ok(());
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Waits until the node is served, because following writes through its server.
    fn wait_for_node(&self) -> Result<(), Trouble> {
        if self.mode != Mode::Stay || Channel::is_served(self.dir()) {
            return Ok(());
        }
        note(format_args!(
            "waiting for the node: start it with `pando serve {}`",
            self.dir().display()
        ));
        while !Channel::is_served(self.dir()) {
            if self.stop.wait(NODE_LOOK) {
                return Err(Trouble::Stopped);
            }
        }
        Ok(())
    }

    fn follow_once(&mut self, state: &mut State) -> Result<(), Trouble> {
        let mut remote = Remote::open(self.old)?;
        let both = self.both(&mut remote)?;
        note(format_args!("following {}", self.old.url));
        let bases = state.bases.iter().map(|it| it.0.clone()).collect();
        let tally = both.selection.tally();
        let rejects = Rejects::new(self.rejects.clone());
        let mut applier = Applier::new(both.here, both.selection, bases, rejects);
        applier.asks_for_schema = self.mode == Mode::Stay
            && self
                .schema_read
                .is_none_or(|it| it.elapsed() > SCHEMA_PAUSE);
        let done = Follow {
            remote: &mut remote,
            applier: &mut applier,
            state,
            dir: &self.it.dir,
            mode: self.mode,
            stop: &self.stop,
            subentries: both.subentries,
            refreshes: 0,
            changed: None,
        }
        .run();
        self.refused += applier.rejects.count;
        note(format_args!("applied: {}", Sum(applier.counts)));
        tally.say();
        self.has_locks |= tally.has_locks();
        done
    }

    /// The node, with definitions that the old server has got meanwhile.
    fn both(&self, remote: &mut Remote) -> Result<Both, Trouble> {
        let provider = provider::look(remote, self.it)?;
        let mut channel = self.channel()?;
        let taken = take_schema::take_over(remote, &provider.subschema, &mut channel, false)?;
        secret::warn(self.dir(), &taken.look_alikes);
        let reader = match channel.is_online() {
            true => Some(self.channel()?),
            false => None,
        };
        Ok(Both {
            here: Here::with_reader(channel, reader),
            selection: Selection::new(taken.schema, taken.operational),
            subentries: provider.subentries,
        })
    }

    /// Takes over the default password policy.
    fn default_policy(&self) -> Result<(), Trouble> {
        let mut remote = Remote::open(self.old)?;
        let mut channel = self.channel()?;
        policies::take_over(&mut remote, &mut channel)
    }

    /// Fails if accounts that the old server locks can bind here for want of a default policy.
    fn require_policy(&self) -> Result<(), Problem> {
        if !self.has_locks {
            return Ok(());
        }
        let mut channel = self.channel().map_err(Trouble::into_problem)?;
        match channel.first_value(policies::CONFIG, policies::HERE)? {
            Some(_) => Ok(()),
            None => Err(Problem::failed(format_args!(
                "accounts came with locks, and locks hold only under a password policy: expected \
                 {} in {}, found none; until there is one, these accounts can bind here",
                policies::HERE,
                policies::CONFIG
            ))),
        }
    }

    /// Connects to the node, which may have locked its folder and not listen yet.
    fn channel(&self) -> Result<Channel, Trouble> {
        let began = Instant::now();
        loop {
            match Channel::open(self.dir()) {
                Ok(channel) => return Ok(channel),
                Err(problem) if began.elapsed() > NODE_PATIENCE => {
                    return Err(Trouble::here(problem));
                }
                Err(_) if self.stop.wait(NODE_LOOK) => return Err(Trouble::Stopped),
                Err(_) => {}
            }
        }
    }

    /// Compares both servers if requested, and prints the result.
    fn report(&mut self, state: &State) -> Result<(), Problem> {
        let mut differing = 0;
        if let Some(path) = &self.it.report {
            let stop = Stop::default();
            let wish = stop.clone();
            let interrupts = interrupted(move || wish.wish())?;
            let compared = self
                .compare(path, state, &stop)
                .map_err(Trouble::into_problem);
            drop(interrupts);
            differing = compared?;
        }
        if self.refused > 0 {
            note(format_args!(
                "pando: {} refused; {} has the reasons",
                counted(self.refused, "entry"),
                self.rejects.display()
            ));
        }
        match self.refused + differing {
            0 => Ok(()),
            _ => Err(Problem::Reported),
        }
    }

    fn compare(&self, path: &Path, state: &State, stop: &Stop) -> Result<u64, Trouble> {
        let mut remote = Remote::open(self.old)?;
        let mut both = self.both(&mut remote)?;
        let failed = |error| Trouble::Refused(Problem::file(path, error));
        let mut out: Box<dyn Write> = match path == Path::new("-") {
            true => Box::new(std::io::stdout().lock()),
            false => {
                let file = private::create(path).map_err(failed)?;
                Box::new(std::io::BufWriter::new(file))
            }
        };
        let bases: Vec<String> = state.bases.iter().map(|it| it.0.clone()).collect();
        let found = Compare {
            remote: &mut remote,
            here: &mut both.here,
            selection: &mut both.selection,
            out: &mut *out,
            stop,
            subentries: both.subentries,
        }
        .run(&bases)?;
        out.flush().map_err(failed)?;
        note(format_args!(
            "compared: {} on both sides, {} of them differ; {} only on the old server, {} \
             only here",
            counted(found.both, "entry"),
            found.differing,
            found.only_there,
            found.only_here
        ));
        Ok(found.count())
    }
}

/// Takes the facts gathered by the copy.
fn take(findings: &Mutex<copy::Findings>) -> copy::Findings {
    std::mem::take(&mut *findings.lock().unwrap_or_else(PoisonError::into_inner))
}
