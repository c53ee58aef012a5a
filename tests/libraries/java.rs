//! Compiles and runs the programs of `java/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kit::tools::Answer;

use crate::{installed, run, sources};

/// Options for a fast start rather than fast execution: each program runs for a second.
const SETTINGS: [&str; 3] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"];

/// Path of the UnboundID LDAP SDK.
pub fn sdk() -> String {
    let path = installed("java").join("sdk.jar");
    path.to_string_lossy().into_owned()
}

/// Runs `java` with these arguments.
#[track_caller]
pub fn java(args: &[&str], environment: &[(&str, &str)]) -> Answer {
    run(
        Path::new("java"),
        &[&SETTINGS[..], args].concat(),
        environment,
    )
}

/// Runs the program of a class, which must succeed.
#[track_caller]
pub fn program(class: &str, args: &[&str]) {
    let path = format!("{}:{}", classes().display(), sdk());
    java(&[&["-cp", &path, class], args].concat(), &[]).expect(0);
}

/// Returns the folder of the compiled programs; the first call compiles them.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries-java");
        let (goal, sdk) = (folder.to_string_lossy(), sdk());
        let mut args = vec!["-encoding", "UTF-8", "-cp", &sdk, "-d", &goal];
        let files: Vec<String> = ["site", "unboundid", "jndi"]
            .iter()
            .flat_map(|package| files(&sources().join("java").join(package)))
            .collect();
        args.extend(files.iter().map(String::as_str));
        run(Path::new("javac"), &args, &[]).expect(0);
        folder
    })
}

fn files(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .expect("the package is there")
        .map(|entry| entry.expect("a file of ours").path())
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}
