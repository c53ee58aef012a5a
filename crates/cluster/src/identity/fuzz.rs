//! Fuzz body: for any text nothing panics, and what is read is printed as a text that means the
//! same.

use super::CLUSTER_FILE;
use super::file::{parse, print};
use std::path::Path;

/// Texts of `cluster.json`.
pub fn cluster_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let path = Path::new(CLUSTER_FILE);
    if let Ok(membership) = parse(path, text) {
        let printed = print(&membership).expect("it was read");
        assert_eq!(parse(path, &printed).expect("it was printed"), membership);
    }
}
