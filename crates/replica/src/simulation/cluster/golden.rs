//! Golden logs: for each released format level, records as a program of that release made them, the
//! database that they begin with, and the state after them. Whatever changes in this crate and
//! those below, these records lead to that state, byte for byte.
//!
//! A change that fails here has to take a new level (`state::level`). With `PANDO_TEST_REWRITE` the
//! log of a level that has none is written; one that is there is never written again.

mod file;
mod node;
mod record;
mod script;

use file::Golden;
use node::GoldenNode;
use state::level;
use std::path::PathBuf;
use store::private;

/// The file of a level.
fn path(level: u32) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
    folder.join(format!("level-{level}.txt"))
}

/// Executes the golden log of each level.
pub(in crate::simulation) fn replay() {
    for level in level::LOWEST..=level::HIGHEST {
        let path = path(level);
        if std::env::var_os("PANDO_TEST_REWRITE").is_some() && !path.exists() {
            let golden = record::record(level);
            private::create_folders(path.parent().expect("a folder")).expect("made");
            private::write(&path, golden.to_text()).expect("written");
        }
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| {
            panic!(
                "{}: {error}: a level that is released has a golden log; PANDO_TEST_REWRITE=1 \
                 writes the first one",
                path.display()
            )
        });
        replay_one(level, &Golden::of_text(&text));
    }
}

/// Executes one log, in transactions of one to many records.
fn replay_one(level: u32, golden: &Golden) {
    for most in [usize::MAX, 1, 7] {
        let mut node = GoldenNode::open(&golden.database);
        for records in golden.records.chunks(most.min(golden.records.len())) {
            node.execute(records);
        }
        let found = node.end();
        assert_eq!(found.level, level, "the level in the end");
        let same = |of: &str, found: &str, expected: &str| {
            let difference = found.lines().zip(expected.lines()).find(|it| it.0 != it.1);
            assert!(
                found == expected,
                "level {level}: another {of} than the release had: {difference:?}"
            );
        };
        same("content", &found.content, &golden.end.content);
        same("state", &found.state, &golden.end.state);
    }
}
