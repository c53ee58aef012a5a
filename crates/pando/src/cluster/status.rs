//! `pando cluster status`: every node's state, as this node is told by the others.

mod json;
mod text;

use super::folder::identity;
use crate::cli::{ClusterStatus, Report};
use crate::report::{Problem, say};
use ::cluster::overview::{Equality, Overview};
use ::cluster::peer::Surveyed;
use std::io::IsTerminal;
use std::time::Duration;

/// Time between two looks with `--watch`.
const WATCH_EVERY: Duration = Duration::from_secs(2);
/// What clears a terminal and goes to its upper left corner.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Prints the state once, or until interrupted.
pub fn status(it: &ClusterStatus) -> Result<(), Problem> {
    let identity = identity(&it.dir)?;
    loop {
        let overview = Overview::look(&identity).map_err(Problem::failed)?;
        let clears = it.watch && it.format == Report::Text && std::io::stdout().is_terminal();
        let text = match it.format {
            Report::Text => text::lines(&identity, &overview).join("\n"),
            Report::Json if it.watch => json::of(&identity, &overview).to_string(),
            Report::Json => serde_json::to_string_pretty(&json::of(&identity, &overview))
                .map_err(Problem::failed)?,
        };
        say(format_args!("{}{text}", if clears { CLEAR } else { "" }))?;
        if !it.watch {
            return verdict(&overview);
        }
        std::thread::park_timeout(WATCH_EVERY);
    }
}

/// The exit status.
fn verdict(overview: &Overview) -> Result<(), Problem> {
    if overview
        .nodes
        .first()
        .is_some_and(|own| own.status.is_err())
    {
        return Err(Problem::NotServed);
    }
    let sound = |it: &Surveyed| {
        it.status.as_ref().is_ok_and(|status| {
            status.trouble.is_none() && overview.equality(status) != Equality::Different
        })
    };
    match overview.nodes.iter().all(sound) {
        true => Ok(()),
        false => Err(Problem::Reported),
    }
}
