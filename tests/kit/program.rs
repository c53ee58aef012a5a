//! The path of the program under test, and whether it was built from the present sources.
//!
//! `cargo build` leaves the list of a program's sources beside it: `pando.d` beside `pando`. A
//! program older than one of them was built before the last change, and its tests would not show
//! that change. An installed program has no such list and is taken as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Returns the program: `PANDO_BIN`, or the one in the target folder beside the tests. Computed
/// once in a process.
///
/// # Panics
/// The program does not exist, or one of its sources has changed since it was built.
pub fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let program = match std::env::var_os("PANDO_BIN") {
            Some(path) => path.into(),
            None => beside_the_tests(),
        };
        let Some(built) = modified(&program) else {
            panic!(
                "{} is missing: build it with `{}`",
                program.display(),
                how_to_build(&program)
            );
        };
        if let Some(source) = newer_source(&program, built) {
            panic!(
                "{} is older than {}: build it with `{}`",
                program.display(),
                source.display(),
                how_to_build(&program)
            );
        }
        program
    };
    PROGRAM.get_or_init(find).clone()
}

fn beside_the_tests() -> PathBuf {
    let tests = std::env::current_exe().expect("a running test has a path");
    let profile = tests.parent().and_then(Path::parent);
    profile.expect("target/<profile>/deps").join("pando")
}

/// Returns the command that builds the program, by the name of its folder, which is cargo's
/// profile.
fn how_to_build(program: &Path) -> String {
    let folder = program.parent().and_then(Path::file_name);
    match folder.map(|it| it.to_string_lossy()).as_deref() {
        None | Some("debug") => "cargo build -p pando".to_owned(),
        Some(profile) => format!("cargo build -p pando --profile {profile}"),
    }
}

/// Returns a source of `program` that has changed since `built`; `None` for an installed program,
/// and for sources that are not on this machine.
fn newer_source(program: &Path, built: SystemTime) -> Option<PathBuf> {
    let list = fs::read_to_string(program.with_extension("d")).ok()?;
    let (_, sources) = list.split_once(": ")?;
    // As in a makefile, a space inside a path follows a backslash.
    let sources = sources.trim_end().replace("\\ ", "\0");
    let mut paths = sources
        .split(' ')
        .map(|it| PathBuf::from(it.replace('\0', " ")));
    paths.find(|it| modified(it).is_some_and(|changed| changed > built))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|it| it.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folder;
    use std::time::Duration;

    #[test]
    fn a_program_older_than_one_of_its_sources_is_refused() {
        let folder = Folder::new();
        let path = |name: &str| folder.join(name);
        let built = SystemTime::now();
        for (name, seconds_before) in [("pando", 0), ("a.rs", 9), ("b c.rs", 5)] {
            let file = fs::File::create(path(name)).expect("our own folder");
            let at = built - Duration::from_secs(seconds_before);
            file.set_modified(at).expect("our own file");
        }
        let program = path("pando");
        assert_eq!(newer_source(&program, built), None, "installed");
        let spelled = |name: &str| path(name).to_string_lossy().replace(' ', "\\ ");
        let names = ["pando", "a.rs", "b c.rs", "gone.rs"].map(spelled);
        let list = format!("{}: {} {} {}\n", names[0], names[1], names[2], names[3]);
        fs::write(path("pando.d"), list).expect("our own folder");
        assert_eq!(newer_source(&program, built), None, "as new as it can be");
        let before = built - Duration::from_secs(7);
        assert_eq!(newer_source(&program, before), Some(path("b c.rs")));
    }

    #[test]
    fn the_command_that_builds_names_the_profile() {
        let said = |path: &str| how_to_build(Path::new(path));
        assert_eq!(said("/t/debug/pando"), "cargo build -p pando");
        let ci = "cargo build -p pando --profile ci";
        assert_eq!(said("/t/ci/pando"), ci);
    }
}
