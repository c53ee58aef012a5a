//! Shell completions and man pages, made from the same definitions as the help texts.

use crate::cli::Cli;
use crate::report::{Problem, note};
use clap::CommandFactory;
use std::path::Path;

/// `pando completions`
pub fn completions(shell: clap_complete::Shell) -> Result<(), Problem> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pando", &mut text);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &text)?;
    Ok(())
}

/// `pando man`
pub fn man(dir: &Path) -> Result<(), Problem> {
    std::fs::create_dir_all(dir).map_err(|error| Problem::file(dir, error))?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(|error| Problem::file(dir, error))?;
    note(format_args!("man pages written to {}", dir.display()));
    Ok(())
}
