//! Finding the etcd program, and refusing one that is too old.
//!
//! Before 3.6, etcd lacks the flags that bound its memory with records of up to 1 MB
//! (`--snapshot-catchup-entries`), and the feature gates that detect a member that differs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest version that is used.
pub const OLDEST: Version = Version {
    major: 3,
    minor: 6,
    patch: 0,
};

/// Advice about a missing or old program.
const WAY_OUT: &str = "run `make etcd` in Pando's sources, or name one in pando.toml by \
                       cluster.etcd_program";

/// Version of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

/// An etcd program that is new enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdProgram {
    /// Absolute path.
    pub path: PathBuf,
    /// Version, as the program says itself.
    pub version: Version,
}

/// Reasons why there is no etcd to run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No program is there.
    #[error("expected etcd {OLDEST} or later in PATH, found none: {WAY_OUT}")]
    Missing,
    /// The program does not run.
    #[error("etcd at {} cannot be started: {error}: {WAY_OUT}", path.display())]
    Broken {
        /// Path of the program.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The program is something else.
    #[error(
        "expected {} to print `etcd Version: …`, it printed {printed:?}: {WAY_OUT}",
        path.display()
    )]
    Strange {
        /// Path of the program.
        path: PathBuf,
        /// Its first line.
        printed: String,
    },
    /// The program is older than [`OLDEST`].
    #[error("expected etcd {OLDEST} or later, {} is {found}: {WAY_OUT}", path.display())]
    Old {
        /// Path of the program.
        path: PathBuf,
        /// Its version.
        found: Version,
    },
}

impl EtcdProgram {
    /// Finds the program: the one that `setting` names, else the first in PATH or of `make etcd`
    /// that is new enough.
    ///
    /// # Errors
    /// There is none, or the one of the setting is unfit; if all are unfit, the first one's reason.
    pub fn find(setting: Option<&Path>) -> Result<EtcdProgram, ProgramError> {
        if let Some(path) = setting {
            return EtcdProgram::at(path);
        }
        EtcdProgram::first_of(candidates())
    }

    /// Finds the first of these programs that is new enough. Paths without a file are skipped.
    ///
    /// # Errors
    /// All are unfit, for the reason of the first, or none is there.
    pub fn first_of(paths: impl IntoIterator<Item = PathBuf>) -> Result<EtcdProgram, ProgramError> {
        let mut unfit = None;
        for path in paths.into_iter().filter(|path| path.is_file()) {
            match EtcdProgram::at(&path) {
                Ok(program) => return Ok(program),
                Err(error) => unfit = unfit.or(Some(error)),
            }
        }
        Err(unfit.unwrap_or(ProgramError::Missing))
    }

    /// Asks the program at `path` for its version.
    ///
    /// # Errors
    /// It does not run, prints something else, or is too old.
    pub fn at(path: &Path) -> Result<EtcdProgram, ProgramError> {
        let broken = |error| ProgramError::Broken {
            path: path.to_owned(),
            error,
        };
        let path_of_all_folders = std::path::absolute(path).map_err(broken)?;
        let answer = Command::new(&path_of_all_folders)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(broken)?;
        let printed = String::from_utf8_lossy(&answer.stdout);
        let printed = printed.lines().next().unwrap_or_default();
        let version = printed
            .strip_prefix("etcd Version:")
            .and_then(Version::parse);
        match version {
            None => Err(ProgramError::Strange {
                path: path.to_owned(),
                printed: printed.chars().take(80).collect(),
            }),
            Some(found) if found < OLDEST => Err(ProgramError::Old {
                path: path.to_owned(),
                found,
            }),
            Some(version) => Ok(EtcdProgram {
                path: path_of_all_folders,
                version,
            }),
        }
    }
}

/// Paths at which an etcd may be: in the folders of PATH, then where `make etcd` puts it if this
/// program was built in Pando's sources.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<PathBuf> = std::env::split_paths(&folders)
        .map(|folder| folder.join("etcd"))
        .collect();
    let this = std::env::current_exe().unwrap_or_default();
    let built = this
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "target"))
        .map(|target| target.join("etcd").join("etcd"));
    in_path.into_iter().chain(built)
}

impl Version {
    /// Parses `3.7.3`, also with more behind it, such as `3.7.0-rc.1`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Version> {
        let mut numbers = text.trim().splitn(3, '.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        let rest = numbers.next()?;
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let patch = rest[..end.unwrap_or(rest.len())].parse().ok()?;
        Some(Version {
            major,
            minor,
            patch,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_and_ordered() {
        let of = |text: &str| Version::parse(text).map(|it| it.to_string());
        assert_eq!(of(" 3.7.3").as_deref(), Some("3.7.3"));
        assert_eq!(of("3.7.0-rc.1").as_deref(), Some("3.7.0"));
        assert_eq!(of("3.7"), None);
        assert_eq!(of("three"), None);
        assert!(Version::parse("3.5.30").unwrap() < OLDEST);
        assert!(Version::parse("3.6.0").unwrap() >= OLDEST);
        assert!(Version::parse("3.10.0").unwrap() > OLDEST);
    }
}
