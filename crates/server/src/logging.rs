//! Logging: events of the server to standard error, quiet unless something is wrong.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::settings::{Log, LogFormat};

/// Starts logging for this process. Later calls change nothing, so that tests may call it too.
pub fn start(log: &Log) {
    let filter = EnvFilter::try_new(&log.level).unwrap_or_else(|_| EnvFilter::new("warn"));
    let builder = fmt().with_env_filter(filter).with_writer(io::stderr);
    // A subscriber that is already set stays: whoever set it knows better.
    let _ = match log.format {
        LogFormat::Text => {
            let ansi = io::IsTerminal::is_terminal(&io::stderr());
            builder.with_ansi(ansi).with_target(false).try_init()
        }
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// Whether `level` is a filter that [`start`] understands.
///
/// # Errors
/// What is wrong with it.
pub fn check_level(level: &str) -> Result<(), String> {
    EnvFilter::try_new(level)
        .map(|_| ())
        .map_err(|error| format!("expected warn, info, debug or part=level,…: {error}"))
}
