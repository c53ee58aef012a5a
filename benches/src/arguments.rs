//! Arguments that several benchmarks share.

use std::io;
use std::path::PathBuf;

use crate::journal::Journal;

/// Place where the tables are kept.
#[derive(clap::Args, Clone, Debug)]
pub struct Tables {
    /// File for the tables.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Keeps the tables in benches/results, unless a file is named.
    #[arg(long)]
    pub record: bool,
}

impl Tables {
    /// Writes the tables of the benchmark `name` if the arguments ask for that.
    pub fn keep(&self, journal: &Journal, name: &str) -> io::Result<()> {
        match self.record || self.output.is_some() {
            true => journal.record(self.output.as_deref(), &format!("-{name}")),
            false => Ok(()),
        }
    }
}
