//! Logging: events of the server to standard error, quiet unless something is wrong.

use std::io;
use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::{fmt, reload};

use crate::settings::{Log, LogFormat};

/// Puts another filter in the place of the one in force; `None` before the start.
static FILTER: OnceLock<Box<dyn Fn(EnvFilter) + Send + Sync>> = OnceLock::new();

/// Starts logging for this process. Later calls change nothing, so that tests may call it too.
pub fn start(log: &Log) {
    let builder = fmt()
        .with_writer(io::stderr)
        // A standard error that is closed loses events. To say so would take another one, and end
        // the process.
        .log_internal_errors(false);
    let filter = filter(&log.level);
    // A subscriber that is already set stays: whoever set it knows better.
    match log.format {
        LogFormat::Text => {
            let ansi = io::IsTerminal::is_terminal(&io::stderr());
            let builder = builder.with_ansi(ansi).with_target(false);
            let builder = builder.with_env_filter(filter).with_filter_reloading();
            let handle = builder.reload_handle();
            if builder.try_init().is_ok() {
                keep(move |filter| handle.reload(filter));
            }
        }
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true);
            let builder = builder.with_env_filter(filter).with_filter_reloading();
            let handle = builder.reload_handle();
            if builder.try_init().is_ok() {
                keep(move |filter| handle.reload(filter));
            }
        }
    }
}

fn keep(set: impl Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync + 'static) {
    // Setting fails only when nothing logs any more.
    let set = move |filter| set(filter).unwrap_or_default();
    let _ = FILTER.set(Box::new(set));
}

/// Logs at another level from now on.
pub fn set_level(level: &str) {
    if let Some(set) = FILTER.get() {
        set(filter(level));
    }
}

fn filter(level: &str) -> EnvFilter {
    EnvFilter::try_new(level).unwrap_or_else(|_| EnvFilter::new("warn"))
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
