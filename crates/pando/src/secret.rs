//! Secret attributes: marks them, and names attributes that should perhaps be marked.

use crate::channel::Channel;
use crate::report::{Problem, note, say};
use policy::Secrets;
use protocol::{ChangeOperation, OwnedAttribute};
use schema::Schema;
use std::path::Path;

const CONFIG: &str = "cn=config";
const SETTING: &str = "pandoSecretAttribute";

/// Marks attribute types as secret, so that only the administrator can read them.
pub fn mark(dir: &Path, attributes: &[String]) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    let attribute = OwnedAttribute::new(SETTING, attributes);
    channel.must_modify(CONFIG, ChangeOperation::Add, &attribute)?;
    say(format_args!(
        "secret, for the administrator only: {}",
        attributes.join(", ")
    ))
}

/// Warns of attributes that access rules of another server name and that everybody can read here,
/// with the command to type.
pub fn warn_of_guarded(
    dir: &Path,
    schema: &Schema,
    channel: &mut Channel,
    guarded: Vec<String>,
) -> Result<(), Problem> {
    let named = channel.values(CONFIG, SETTING)?;
    let named = named.iter().filter_map(|it| schema.attribute_type(it));
    let secrets = Secrets::of(schema, &named.collect::<Vec<_>>());
    let is_public = |name: &String| {
        let known = schema.attribute_type(name);
        known.is_some_and(|it| !secrets.contains(it))
    };
    let names: Vec<String> = guarded.into_iter().filter(is_public).collect();
    if !names.is_empty() {
        note(format_args!(
            "pando: the old server's access rules name these attributes, and everybody can read \
             and search them here: {}\n{}",
            names.join(", "),
            what_to_type(dir, &names)
        ));
    }
    Ok(())
}

/// Warns of attribute types that look like secrets and that everybody can read, with the command to
/// type; prints nothing without names.
pub fn warn(dir: &Path, names: &[String]) {
    if names.is_empty() {
        return;
    }
    note(format_args!(
        "pando: these attributes look like secrets, and everybody can read and search them here: \
         {}\n{}",
        names.join(", "),
        what_to_type(dir, names)
    ));
}

fn what_to_type(dir: &Path, names: &[String]) -> String {
    format!(
        "pando: to keep those for the administrator that are secret, before you serve the node or \
         at any time: pando schema secret {} {}",
        dir.display(),
        names.join(" ")
    )
}
