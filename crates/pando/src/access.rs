//! `pando access`: access rules as files. A node keeps them below `cn=access,cn=config`, one entry
//! each; the text of a set is checked before it is applied, and tests of a set need no server.

mod apply;
mod cost;
mod ground;
mod import;
mod live;
mod replace;
mod stored;
mod trial;

use crate::channel::Channel;
use crate::cli::{AccessAction, AccessNode, AccessShow, Remote, RuleSource};
use crate::password_input::first_line;
use crate::reach::Target;
use crate::report::{Problem, note, say};
use policy::access::sets;
use std::path::Path;
use stored::Stored;

pub use apply::{begin_with, new_rules};

/// Runs the action.
pub fn access(action: &AccessAction) -> Result<(), Problem> {
    match action {
        AccessAction::Show(it) => show(it),
        AccessAction::Apply(it) => apply::apply(it),
        AccessAction::Undo(it) => apply::undo(it),
        AccessAction::Check(it) => ground::check(it),
        AccessAction::Test(it) => trial::test(it),
        AccessAction::Explain(it) => trial::explain(it),
        AccessAction::Cost(it) => cost::cost(it),
        AccessAction::Import(it) => import::import(it),
    }
}

/// Prints a set of rules.
fn show(it: &AccessShow) -> Result<(), Problem> {
    let text = match it.set {
        RuleSource::Default => sets::DEFAULT.to_owned(),
        RuleSource::BuiltIn => sets::BUILTIN.to_owned(),
        RuleSource::Current => {
            let stored = Stored::read(&mut connect_to(&it.node)?)?;
            match (stored.is_empty(), stored.is_partial) {
                (true, false) => built_in_note(),
                (true, true) => {
                    note("no rules are within an area that was handed over to you");
                    return Ok(());
                }
                (false, _) => {}
            }
            stored.text()?
        }
        RuleSource::Former => Stored::read(&mut connect_to(&it.node)?)?
            .former()?
            .to_owned(),
    };
    say(text.trim_end())
}

/// Says that there are no rules of the directory's own.
fn built_in_note() {
    note("no access rules are applied: the built-in ones decide (--set built-in)");
}

fn connect_to(node: &AccessNode) -> Result<Channel, Problem> {
    connect(node.dir.as_deref(), &node.remote)
}

/// Connects to the node in a folder, or to a server.
fn connect(dir: Option<&Path>, remote: &Remote) -> Result<Channel, Problem> {
    match (dir, &remote.url) {
        (Some(dir), None) => Channel::open(dir),
        (None, Some(url)) => {
            let target = Target::new("--url", url, remote.starttls, remote.ca.as_deref())?;
            let (Some(name), Some(file)) = (&remote.bind_dn, &remote.bind_password_file) else {
                return Err(Problem::usage(
                    "--url: expected --bind-dn and --bind-password-file, too: access rules are \
                     not public",
                ));
            };
            Channel::connect(&target, name, &first_line(file)?)
        }
        (None, None) => Err(Problem::usage("expected a node's folder, or --url")),
        (Some(dir), Some(_)) => Err(Problem::usage(format_args!(
            "expected a folder or --url, got both: {}",
            dir.display()
        ))),
    }
}
