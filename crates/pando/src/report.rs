//! Output conventions: results on standard output, all else on standard error, one line for each
//! problem that says what was expected, what was given, and what to do.

use directory::Failure;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Reason why a subcommand did not succeed.
#[derive(Debug)]
pub enum Problem {
    /// The command line is invalid: exit status 2.
    Usage(String),
    /// The command failed: exit status 1.
    Failed(String),
    /// The problem is reported already: exit status 1.
    Reported,
    /// No server serves the node or answers, and that is reported: exit status 3.
    NotServed,
    /// The result is printed, and this exit status tells its kind.
    Told(u8),
    /// The reader of the output has closed it, which is no failure.
    OutputClosed,
}

impl Problem {
    /// A problem with the command line.
    pub fn usage(text: impl Display) -> Problem {
        Problem::Usage(text.to_string())
    }

    /// A problem other than a wrong command line.
    pub fn failed(text: impl Display) -> Problem {
        Problem::Failed(text.to_string())
    }

    /// The problem for a failure. A closed output is a failure if the output is useful only as a
    /// whole.
    pub fn of(failure: Failure) -> Problem {
        match failure {
            Failure::File { source, .. } if source.kind() == ErrorKind::BrokenPipe => {
                Problem::failed(
                    "the output was closed before everything was written: what came out is not \
                     the whole; see what the program that reads it says",
                )
            }
            failure => Problem::failed(failure),
        }
    }

    /// A file could not be used.
    pub fn file(path: &std::path::Path, error: impl Display) -> Problem {
        Problem::Failed(format!("{}: {error}", path.display()))
    }

    /// The problem preceded by the name or path it concerns.
    pub fn about(self, what: impl Display) -> Problem {
        match self {
            Problem::Usage(text) => Problem::Usage(format!("{what}: {text}")),
            Problem::Failed(text) => Problem::Failed(format!("{what}: {text}")),
            reported => reported,
        }
    }

    /// The text of the problem.
    pub fn text(&self) -> &str {
        match self {
            Problem::Usage(text) | Problem::Failed(text) => text,
            Problem::Reported | Problem::NotServed | Problem::Told(_) => "reported already",
            Problem::OutputClosed => "the connection is broken",
        }
    }

    /// Prints the problem and chooses the exit status.
    pub fn report(self) -> ExitCode {
        let (text, status) = match self {
            Problem::Usage(text) => (text, 2),
            Problem::Failed(text) => (text, 1),
            Problem::Reported => return ExitCode::from(1),
            Problem::NotServed => return ExitCode::from(3),
            Problem::Told(status) => return ExitCode::from(status),
            Problem::OutputClosed => return ExitCode::SUCCESS,
        };
        note(format_args!("pando: {text}"));
        ExitCode::from(status)
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Problem {
        match error.kind() {
            ErrorKind::BrokenPipe => Problem::OutputClosed,
            _ => Problem::Failed(error.to_string()),
        }
    }
}

/// Prints a line of the result.
pub fn say(text: impl Display) -> Result<(), Problem> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(Problem::from)
}

/// Prints a line on standard error. Does nothing if standard error is closed.
pub fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
