//! `pando cluster recover`: a survivor begins the next generation of a cluster without a log.

use super::folder::identity;
use super::join_line;
use super::mark::Unserved;
use crate::cli::ClusterRecover;
use crate::node_folder::data_folder;
use crate::report::{Problem, note, say};
use ::cluster::identity::{Identity, Member};
use ::cluster::init;
use ::cluster::recovery::{self, Cause, Survivor};
use std::path::Path;

/// Makes the node of a folder the first one of the next generation, and says how others join.
pub fn recover(it: &ClusterRecover) -> Result<(), Problem> {
    let before = identity(&it.dir)?;
    let database = Unserved::open(&it.dir, &data_folder(&it.dir)?)?;
    let reached = database.reached().map_err(Problem::failed)?;
    let next = before.membership.generation + 1;
    // An attempt that ended early has marked the database already, as an import does.
    let is_marked = reached.mark.is_some_and(|it| it.generation == next);
    if !is_marked || before.membership.imports {
        let survivor = Survivor {
            place: reached.place,
            position: reached.position,
        };
        let silent = recovery::survey(&before, survivor).map_err(Problem::failed)?;
        if !silent.is_empty() && !it.lose_silent {
            return Err(refusal(&it.dir, &silent));
        }
        let marked = database.mark(before.membership.cluster, next);
        marked.map_err(Problem::failed)?;
    }
    let begun = recovery::begin(&it.dir, &before, next, Cause::Loss);
    begun.map_err(Problem::failed)?;
    drop(database);
    tell(&it.dir, reached.position)
}

fn refusal(dir: &Path, silent: &[Member]) -> Problem {
    let names: Vec<String> = silent.iter().map(|it| it.address.to_string()).collect();
    let (dir, names) = (dir.display(), names.join(", "));
    Problem::failed(format_args!(
        "expected an answer of every node, and there is none of {names}, which may have executed \
         writes that this node lacks: serve those that are left, or give the command again with \
         --lose-silent: pando cluster recover {dir} --lose-silent"
    ))
}

/// Says what the node is now.
fn tell(dir: &Path, position: u64) -> Result<(), Problem> {
    let after: Identity = identity(dir)?;
    let token = init::token(&after).map_err(Problem::failed)?;
    let generation = after.membership.generation;
    let dir = dir.display();
    note(format_args!(
        "{dir} is the first node of generation {generation} of the cluster, with all writes up to \
         position {position}\nstart it with: pando serve {dir}\nfor each other node, with a new \
         folder, within an hour:"
    ));
    say(join_line(&after, &token.to_string()))?;
    note(format_args!(
        "for each further node: pando cluster token {dir}"
    ));
    Ok(())
}
