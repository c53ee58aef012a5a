//! How the program speaks: results on standard output, everything else on standard error, one
//! line per problem that says what was expected, what was given, and what to do.

use directory::Failure;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Why a subcommand did not do what was asked.
#[derive(Debug)]
pub enum Problem {
    /// What was typed cannot be meant: exit status 2.
    Usage(String),
    /// It was tried and failed: exit status 1.
    Failed(String),
    /// The problem is reported already: exit status 1.
    Reported,
    /// What was asked about is not there to be asked, and that is reported: exit status 3.
    NotServed,
    /// The reader of our output has gone away: that is no failure.
    OutputClosed,
}

impl Problem {
    /// What was typed cannot be meant.
    pub fn usage(text: impl Display) -> Problem {
        Problem::Usage(text.to_string())
    }

    /// It was tried and failed.
    pub fn failed(text: impl Display) -> Problem {
        Problem::Failed(text.to_string())
    }

    /// A work failed. That nobody reads the output any more is a failure of what is of use as a
    /// whole only.
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

    /// The same problem with the name or path that it is about.
    pub fn about(self, what: impl Display) -> Problem {
        match self {
            Problem::Usage(text) => Problem::Usage(format!("{what}: {text}")),
            Problem::Failed(text) => Problem::Failed(format!("{what}: {text}")),
            reported => reported,
        }
    }

    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Problem::Usage(text) | Problem::Failed(text) => text,
            Problem::Reported | Problem::NotServed => "reported already",
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

/// A line of the result.
pub fn say(text: impl Display) -> Result<(), Problem> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(Problem::from)
}

/// A line beside the result. A standard error that is closed is no reason to stop.
pub fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
