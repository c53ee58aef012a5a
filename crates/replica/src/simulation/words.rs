//! Short texts of writes, for the steps that a failure prints.

use schema::Schema;
use state::write::{Change, Given, Write};

/// One write on one line.
pub(super) fn write(write: &Write, schema: &Schema) -> String {
    let name = &write.spelled;
    let given = |it: &Given| {
        let values = it.values.iter().map(|it| String::from_utf8_lossy(it));
        let values: Vec<_> = values.collect();
        format!("{}={}", schema.spelled(&it.description), values.join("|"))
    };
    let change = match &write.change {
        Change::Add(addition) => {
            let all: Vec<String> = addition.attributes.iter().map(given).collect();
            format!("add {name} {}", all.join(" "))
        }
        Change::Modify(changes) => {
            let one = |it: &state::write::Modification| {
                format!("{:?} {}", it.operation, given(&it.given))
            };
            let all: Vec<String> = changes.iter().map(one).collect();
            format!("modify {name} {}", all.join(" "))
        }
        Change::Delete if write.has(|it| it.tree) => format!("delete {name} with all below"),
        Change::Delete => format!("delete {name}"),
        Change::Rename(renaming) => {
            let superior = renaming.new_superior.as_ref();
            let superior = superior.map(|it| String::from_utf8_lossy(it.bytes()).into_owned());
            let old = if renaming.delete_old_rdn {
                ""
            } else {
                ", keep the old RDN"
            };
            format!(
                "rename {name} to {} below {superior:?}{old}",
                renaming.rdn_spelled
            )
        }
        Change::Reclaim(most) => format!("reclaim {most}"),
        Change::Level(level) => format!("raise the level to {level}"),
        Change::Audit(begins) => format!("audit: {begins}"),
        Change::Attempts(attempts) => format!("{} attempts on {name}", attempts.len()),
    };
    match write.is_rehearsal() {
        true => format!("rehearse: {change}"),
        false => change,
    }
}
