//! Lines of a benchmark: shown as they come, kept for the file.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::table;

/// Lines shown and kept.
#[derive(Debug, Default)]
pub struct Journal {
    text: String,
}

impl Journal {
    /// Shows a line and keeps it.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        self.text.push_str(line);
        self.text.push('\n');
        writeln!(io::stdout(), "{line}")
    }

    /// Writes all lines to `place`, or to `benches/results/<date><what>.md`.
    pub fn record(&self, place: Option<&Path>, what: &str) -> io::Result<()> {
        let place = match place {
            Some(place) => place.to_owned(),
            None => default_place(what)?,
        };
        fs::write(&place, &self.text)?;
        writeln!(io::stdout(), "written to {}", place.display())
    }
}

/// With a number behind when there is one already.
fn default_place(what: &str) -> io::Result<PathBuf> {
    let folder = Path::new("benches/results");
    fs::create_dir_all(folder)?;
    let date = table::today();
    let mut place = folder.join(format!("{date}{what}.md"));
    let mut number = 2;
    while place.exists() {
        place = folder.join(format!("{date}{what}-{number}.md"));
        number += 1;
    }
    Ok(place)
}
