//! `pando compact`: returns space that the database no longer needs to the file system. A served
//! node is compacted by its server, at the request of this command, which shows the progress.

use crate::channel::{Channel, refused};
use crate::cli::Compact;
use crate::generate::interrupted;
use crate::node_folder::data_folder;
use crate::password_input::first_line;
use crate::progress::{Progress, Standing};
use crate::reach::Target;
use crate::report::{Problem, note, say};
use crate::room;
use crate::status::doing::compaction_has_ended;
use crate::status::figures::{Figures, Shown};
use indicatif::HumanBytes;
use protocol::{ExtendedRequest, Request, ResultCode, oid};
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between queries of the server's progress.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Entry of the monitor that shows the progress.
const SHOWN_AT: &str = "cn=Compaction,cn=monitor";

/// Compacts the database of a node.
pub fn compact(it: &Compact) -> Result<(), Problem> {
    match served(it)? {
        Some(mut channel) if it.cancel => ask(&mut channel, oid::CANCEL_COMPACTION),
        Some(mut channel) => {
            ask(&mut channel, oid::COMPACT)?;
            watch(channel)
        }
        None if it.cancel => Err(Problem::failed(
            "no process serves the node, so no server is compacting it",
        )),
        None => alone(it.dir.as_deref().unwrap_or(Path::new("."))),
    }
}

/// Connects to the node's server; `None` if the node is not served.
fn served(it: &Compact) -> Result<Option<Channel>, Problem> {
    let remote = &it.remote;
    let Some(url) = &remote.url else {
        return Channel::served(it.dir.as_deref().unwrap_or(Path::new(".")));
    };
    let target = Target::new("--url", url, remote.starttls, remote.ca.as_deref())?;
    let password = match &remote.bind_password_file {
        Some(file) => first_line(file)?,
        None => Vec::new(),
    };
    let name = remote.bind_dn.as_deref().unwrap_or("");
    Channel::connect(&target, name, &password).map(Some)
}

fn ask(channel: &mut Channel, name: &str) -> Result<(), Problem> {
    let result = channel.result(&Request::Extended(ExtendedRequest { name, value: None }))?;
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        _ => Err(refused(&result)),
    }
}

/// Shows the server's progress until the end; an interrupt cancels the compaction.
fn watch(mut channel: Channel) -> Result<(), Problem> {
    let started = Instant::now();
    let (interrupt, interrupts) = mpsc::channel();
    let interrupts_end = interrupted(move || {
        // The receiver may have ended, and needs no interrupt.
        let _ = interrupt.send(());
    })?;
    let standing = Arc::new(Mutex::new(Standing::default()));
    let looked = Arc::clone(&standing);
    let look = move || *looked.lock().unwrap_or_else(PoisonError::into_inner);
    let progress = Progress::show("checking and replacing", Arc::new(look));
    let shown = loop {
        let figures = Figures::ask_for(&mut channel, SHOWN_AT)?;
        let shown = figures.at("cn=Compaction");
        let state = shown.text("pandoCompactionState");
        if compaction_has_ended(state) {
            break figures;
        }
        *standing.lock().unwrap_or_else(PoisonError::into_inner) = standing_of(shown);
        if interrupts.recv_timeout(LOOK_EVERY).is_ok() {
            // The compaction may have ended meanwhile; the next query shows it.
            let _ = ask(&mut channel, oid::CANCEL_COMPACTION);
        }
    };
    drop(progress);
    drop(interrupts_end);
    tell(shown.at("cn=Compaction"), started)
}

fn standing_of(shown: &Shown) -> Standing {
    let done = shown.number("pandoCompactionDone").unwrap_or(0);
    let is_copying = shown.text("pandoCompactionState") == "copying";
    Standing {
        bytes: done,
        done,
        total: shown.number("pandoCompactionTotal").filter(|_| is_copying),
        finishing: !is_copying,
        ..Standing::default()
    }
}

/// Prints the result.
fn tell(shown: &Shown, started: Instant) -> Result<(), Problem> {
    let number = |attribute: &str| shown.number(attribute).unwrap_or(0);
    match shown.text("pandoCompactionState") {
        "done" => {
            note(format_args!(
                "copied, checked and put in place in {:.1} s; writes waited for {:.3} s of them",
                started.elapsed().as_secs_f64(),
                Duration::from_micros(number("pandoCompactionPause")).as_secs_f64()
            ));
            say_sizes(
                number("pandoCompactionBefore"),
                number("pandoCompactionAfter"),
            )
        }
        "cancelled" => Err(Problem::failed("cancelled; the database is unchanged")),
        failed => Err(Problem::failed(failed)),
    }
}

fn say_sizes(before: u64, after: u64) -> Result<(), Problem> {
    say(format_args!(
        "{} instead of {}",
        HumanBytes(after),
        HumanBytes(before)
    ))
}

/// Compacts the database of a node that is not served.
fn alone(dir: &Path) -> Result<(), Problem> {
    let data = data_folder(dir)?;
    let bytes = replica::compact::bytes(&data).map_err(Problem::failed)?;
    room::require(&data, bytes, "compacted database")?;
    let started = Instant::now();
    let done = replica::compact::compact(&data).map_err(Problem::failed)?;
    note(format_args!(
        "copied, checked and put in place in {:.1} s",
        started.elapsed().as_secs_f64()
    ));
    say_sizes(done.before, done.after)
}
