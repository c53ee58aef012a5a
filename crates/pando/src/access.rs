//! `pando access`: access rules as files. A node keeps them below `cn=access,cn=config`, one entry
//! each; the text of a set is checked before it is applied, and tests of a set need no server.

mod apply;
mod candidate;
mod cost;
mod ground;
mod import;
mod live;
mod node;
mod replace;
mod stored;
mod trial;

use crate::cli::{AccessAction, AccessShow, RuleSource};
use crate::report::{Problem, note, say};
use node::{built_in_note, connect_to};
use policy::access::sets;
use stored::Stored;

pub use apply::{begin_with, new_rules};

/// Runs the action.
pub fn access(action: &AccessAction) -> Result<(), Problem> {
    match action {
        AccessAction::Show(it) => show(it),
        AccessAction::Apply(it) => apply::apply(it),
        AccessAction::Undo(it) => apply::undo(it),
        AccessAction::Shadow(it) => candidate::shadow(it),
        AccessAction::Differences(it) => candidate::differences(it),
        AccessAction::Activate(it) => candidate::activate(it),
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
        RuleSource::Candidate => candidate::text(&mut connect_to(&it.node)?)?,
    };
    say(text.trim_end())
}
