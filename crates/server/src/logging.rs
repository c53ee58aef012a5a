//! Logs events of the server to standard error; by default only problems.
//!
//! Operations have a level of their own, by the target of their events: failed binds are always
//! logged, other operations if `log.operations` or the level requests it.

use std::io;
use std::sync::OnceLock;

use directory::operations_log;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::{fmt, reload};

use crate::log_queue::{self, Writers};
use crate::settings::{Log, LogFormat};

/// Replaces the filter in force; unset before the start.
static FILTER: OnceLock<Box<dyn Fn(EnvFilter) + Send + Sync>> = OnceLock::new();

/// Starts logging for this process. Later calls change nothing, so that tests may call it too.
pub fn start(log: &Log) {
    let builder = fmt()
        .with_writer(Writers)
        // If standard error is closed, events are lost. Reporting that would write to it again, and
        // end the process.
        .log_internal_errors(false);
    let filter = filter(log);
    // A subscriber that the caller has set stays.
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
    // Fails only when there is no subscriber any more.
    let set = move |filter| set(filter).unwrap_or_default();
    let _ = FILTER.set(Box::new(set));
}

/// Changes the level and the logging of operations. The format stays.
pub fn set_filter(log: &Log) {
    if let Some(set) = FILTER.get() {
        set(filter(log));
    }
}

/// Waits until logged events are written, for at most two seconds. For the end of the process.
pub fn flush() {
    log_queue::flush();
}

fn filter(log: &Log) -> EnvFilter {
    let directives = directives(log);
    EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("warn"))
}

/// The filter directives, with one for operations unless the level names them.
fn directives(log: &Log) -> String {
    let target = operations_log::TARGET;
    let parts = || log.level.split(',').map(str::trim);
    if parts().any(|it| it.starts_with(&format!("{target}="))) || log.level.trim() == "off" {
        return log.level.clone();
    }
    let general = parts().find_map(|it| it.parse::<LevelFilter>().ok());
    let least = match log.operations {
        true => LevelFilter::INFO,
        false => LevelFilter::WARN,
    };
    let level = match general {
        // These levels include operations.
        Some(level @ (LevelFilter::DEBUG | LevelFilter::TRACE)) => level,
        _ => least,
    };
    format!("{},{target}={level}", log.level)
}

/// Whether `level` is a filter that [`start`] understands.
///
/// # Errors
/// A text that says what is wrong.
pub fn check_level(level: &str) -> Result<(), String> {
    let expected = "expected error, warn, info, debug, trace, off or part=level,…";
    for part in level.split(',').map(str::trim) {
        // The name of a part alone would enable everything of it; a mistyped level looks like one.
        let known = part.rsplit_once('=').map_or(part, |(_, level)| level);
        let number = known.bytes().all(|it| it.is_ascii_digit());
        if number || known.parse::<LevelFilter>().is_err() {
            return Err(format!("{expected}; got {part:?}"));
        }
    }
    EnvFilter::try_new(level)
        .map(|_| ())
        .map_err(|error| format!("{expected}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_a_level_of_their_own() {
        let with = |level: &str, operations| {
            directives(&Log {
                level: level.to_owned(),
                format: LogFormat::Text,
                operations,
            })
        };
        assert_eq!(with("warn", false), "warn,operations=warn");
        assert_eq!(with("error", true), "error,operations=info");
        assert_eq!(with("info", false), "info,operations=warn");
        assert_eq!(
            with("server=debug,warn", false),
            "server=debug,warn,operations=warn"
        );
        assert_eq!(with("debug", false), "debug,operations=debug");
        assert_eq!(with("trace", true), "trace,operations=trace");
        assert_eq!(
            with("warn,operations=debug", false),
            "warn,operations=debug"
        );
        assert_eq!(with("off", true), "off");
    }

    #[test]
    fn a_mistyped_level_is_refused() {
        for level in [
            "error",
            "warn",
            "INFO",
            "server=debug,warn",
            "off",
            "a::b=trace, info",
        ] {
            assert_eq!(check_level(level), Ok(()), "{level}");
        }
        for level in [
            "loud",
            "",
            "server=loud",
            "warn,loud",
            "7",
            "server=",
            "info,",
        ] {
            let refused = check_level(level).expect_err(level);
            assert!(refused.contains("expected error, warn, info"), "{refused}");
        }
    }
}
