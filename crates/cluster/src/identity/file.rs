//! Reading and writing the files of the folder `cluster`.

use super::membership::{Membership, VERSION};
use crate::trouble::Trouble;
use replica::partial::{Partial, sync};
use std::fs;
use std::io::Write;
use std::path::Path;
use store::private;

/// The authority's certificate.
pub const CA_FILE: &str = "ca.pem";
/// The authority's private key.
pub const CA_KEY_FILE: &str = "ca.key";
/// The node's certificate.
pub const NODE_FILE: &str = "node.pem";
/// The node's private key.
pub const NODE_KEY_FILE: &str = "node.key";
/// The node's place in the cluster.
pub const CLUSTER_FILE: &str = "cluster.json";

/// Reads a file of text.
pub fn read(path: &Path) -> Result<String, Trouble> {
    fs::read_to_string(path).map_err(Trouble::file(path))
}

/// Reads `cluster.json`.
pub fn membership(path: &Path) -> Result<Membership, Trouble> {
    parse(path, &read(path)?)
}

/// Reads the text of `cluster.json`; errors name its path.
pub fn parse(path: &Path, text: &str) -> Result<Membership, Trouble> {
    // The version comes first: files of later versions may have other fields.
    let wrong = |field: &str, found: String| Trouble::Content {
        path: path.to_path_buf(),
        field: field.to_owned(),
        expected: format!("{VERSION}"),
        found,
    };
    let whole = |error: serde_json::Error| Trouble::Content {
        path: path.to_path_buf(),
        field: format!("line {}, column {}", error.line(), error.column()),
        expected: "a node's place in a cluster as JSON".to_owned(),
        found: error.to_string(),
    };
    let value: serde_json::Value = serde_json::from_str(text).map_err(whole)?;
    match &value["version"] {
        serde_json::Value::Null => return Err(wrong("version", "none".to_owned())),
        version if version.as_u64() != Some(u64::from(VERSION)) => {
            return Err(wrong("version", version.to_string()));
        }
        _ => {}
    }
    serde_json::from_str(text).map_err(whole)
}

/// `cluster.json` as text.
pub fn print(membership: &Membership) -> Result<String, Trouble> {
    let text = serde_json::to_string_pretty(membership);
    let text = text.map_err(|error| Trouble::internal("writing cluster.json", error))?;
    Ok(format!("{text}\n"))
}

/// Replaces a file as a whole.
pub fn replace(path: &Path, text: &str) -> Result<(), Trouble> {
    let partial = Partial::file(path).map_err(Trouble::of)?;
    let written = partial.content().write_all(text.as_bytes());
    written.map_err(Trouble::file(partial.path()))?;
    partial.take_name().map_err(Trouble::of)
}

/// Makes a folder with files of these names and texts. `confirm` is called when they are written
/// and synced; if it fails, nothing stays.
pub fn create_folder(
    folder: &Path,
    files: &[(&'static str, String)],
    confirm: impl FnOnce() -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let partial = Partial::folder(folder).map_err(Trouble::of)?;
    // Asked under the lock of the partial folder, so of two processes one is refused.
    if folder.exists() {
        return Err(Trouble::Refused(format!(
            "{}: expected a node that belongs to no cluster",
            folder.display()
        )));
    }
    for (name, text) in files {
        let path = partial.path().join(name);
        let written = private::create(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(Trouble::file(&path))?;
    }
    sync(partial.path()).map_err(Trouble::of)?;
    confirm()?;
    partial.take_name().map_err(Trouble::of)
}
