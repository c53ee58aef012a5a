//! The state of a node that is not served, read from its folder. Nothing is changed: after a crash
//! the folder stays as it is.

use super::text::line;
use crate::report::Problem;
use indicatif::{HumanBytes, HumanCount};
use protocol::counted;
use serde_json::{Map, Value, json};
use std::path::Path;
use store::{Error, IndexState, Store, Usage};

/// Result of examining a folder.
pub enum FolderState {
    /// A database that was closed properly.
    Database(Box<Database>),
    /// A database whose process was not stopped properly.
    Unrecovered,
    /// Locked by a process that does not serve, such as an import or a server that starts.
    Used { process: Option<u32> },
}

/// State read from a database.
pub struct Database {
    entries: u64,
    position: u64,
    digest: String,
    usage: Usage,
    indexes: Vec<IndexState>,
}

/// Examines the data folder of a node.
pub fn look(data: &Path) -> Result<FolderState, Problem> {
    let store = match Store::read_only(data, false) {
        Ok(store) => store,
        Err(Error::Unrecovered { .. }) => return Ok(FolderState::Unrecovered),
        Err(Error::Locked { process, .. }) => return Ok(FolderState::Used { process }),
        Err(error) => return Err(Problem::failed(error)),
    };
    database(&store)
        .map(|it| FolderState::Database(Box::new(it)))
        .map_err(Problem::failed)
}

fn database(store: &Store) -> Result<Database, Error> {
    let usage = store.usage()?;
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    Ok(Database {
        entries: snapshot.entry_count()?,
        position: snapshot.position()?,
        digest: format!("{:032x}", snapshot.digest()?),
        usage,
        indexes: snapshot.index_states()?,
    })
}

impl FolderState {
    /// The state as JSON.
    pub fn json(&self) -> Map<String, Value> {
        let mut all = Map::new();
        let mut put = |name: &str, value: Value| drop(all.insert(name.to_owned(), value));
        match self {
            FolderState::Database(it) => {
                put(
                    "database",
                    json!({
                        "entries": it.entries,
                        "file_bytes": it.usage.bytes,
                        "free_bytes": it.usage.free_bytes,
                        "digest": it.digest,
                    }),
                );
                put("writes", json!({ "log_position": it.position }));
                put("unfinished_indexes", json!(unfinished(&it.indexes)));
            }
            FolderState::Unrecovered => put("unrecovered", json!(true)),
            FolderState::Used { process } => put("used_by", json!(process)),
        }
        all
    }

    /// The state as lines of text.
    pub fn lines(&self, dir: &Path) -> Vec<String> {
        let dir = dir.display();
        match self {
            FolderState::Used { process } => {
                let process = process.map_or(String::new(), |it| format!(" {it}"));
                vec![format!(
                    "{dir} is not served: process{process} has it open and does not answer, \
                     because it imports, checks or starts"
                )]
            }
            FolderState::Unrecovered => vec![format!(
                "{dir} is not served; the server was not stopped in order, and the next start \
                 brings back what its log holds: `pando serve {dir}`"
            )],
            FolderState::Database(it) => {
                let mut lines = vec![
                    format!("{dir} is not served; start it with `pando serve {dir}`"),
                    line(
                        "database",
                        &format!(
                            "{} in {}, {} of it free",
                            counted(it.entries, "entry"),
                            HumanBytes(it.usage.bytes),
                            HumanBytes(it.usage.free_bytes)
                        ),
                    ),
                    line("log", &format!("position {}", HumanCount(it.position))),
                ];
                let unfinished = unfinished(&it.indexes);
                lines.push(match unfinished.as_slice() {
                    [] => line("indexes", &format!("{} ready", it.indexes.len())),
                    _ => line(
                        "indexes",
                        &format!("to be built when it is served: {}", unfinished.join(", ")),
                    ),
                });
                lines
            }
        }
    }
}

/// Attributes whose indexes are not ready.
fn unfinished(indexes: &[IndexState]) -> Vec<&str> {
    let open = |it: &&IndexState| !(it.building | it.pending | it.dropping).is_empty();
    let open = indexes.iter().filter(open);
    open.map(|it| it.attribute.as_str()).collect()
}
