//! A disk that is soon full: a small tmpfs in a mount namespace of its own, or, where the machine
//! forbids that, a limit on the size of files.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::Folder;
use crate::process::Running;
use crate::tools;

/// Where a node can live until there is no room.
pub struct Disk {
    folder: Folder,
    kind: Kind,
}

enum Kind {
    /// The process that keeps the namespace alive.
    Namespace(Running),
    /// Largest file size in bytes.
    FileSize(u64),
}

const MEGABYTE: u64 = 1 << 20;
/// Size of a small tmpfs, half of it taken by a file that can be removed.
const SIZE_MB: u64 = 32;
const FILLER_MB: u64 = 16;

impl Disk {
    /// A new small disk.
    pub fn new() -> Self {
        Self::of(SIZE_MB)
    }

    /// A new disk of so many megabytes.
    pub fn of(size_mb: u64) -> Self {
        let folder = Folder::new();
        fs::create_dir(folder.join("disk")).expect("the folder is new");
        let user: &[&str] = if is_root() {
            &[]
        } else {
            &["--user", "--map-root-user"]
        };
        let probe = [&["--mount"], user, &["true"]].concat();
        if tools::run("unshare", &probe, "").status != 0 {
            eprintln!("mount namespaces are forbidden here: files are limited in size instead");
            return Disk {
                folder,
                kind: Kind::FileSize((size_mb - FILLER_MB) * MEGABYTE),
            };
        }
        let script = format!(
            "mount -t tmpfs -o size={size_mb}m tmpfs \"$1\" && \
             head -c {FILLER_MB}M /dev/zero >\"$1/filler\" && echo ready >&2 && \
             exec tail -f /dev/null"
        );
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private"])
            .args(user);
        command
            .args(["sh", "-c", &script, "sh"])
            .arg(folder.join("disk"));
        let mut holder = Running::start("the holder of the small disk", &mut command);
        holder.wait_for("ready", |line| (line == "ready").then_some(()));
        Disk {
            folder,
            kind: Kind::Namespace(holder),
        }
    }

    /// Whether the file system itself ends, rather than files on it.
    pub fn has_an_end(&self) -> bool {
        matches!(self.kind, Kind::Namespace(_))
    }

    /// The folder that is the disk, as seen by commands behind [`Disk::prefix`].
    pub fn path(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// Put before a command to run it on the disk.
    pub fn prefix(&self) -> Vec<String> {
        let words: Vec<String> = match &self.kind {
            Kind::Namespace(holder) => {
                let mut words = vec!["nsenter".into(), "-t".into(), holder.pid().to_string()];
                if !is_root() {
                    words.extend(["--user".into(), "--preserve-credentials".into()]);
                }
                words.extend(["--mount".into(), "--".into()]);
                words
            }
            // Without the signal a write beyond the limit fails, as on a full disk.
            Kind::FileSize(bytes) => vec![
                "env".into(),
                "--ignore-signal=XFSZ".into(),
                "prlimit".into(),
                format!("--fsize={bytes}:unlimited"),
                "--".into(),
            ],
        };
        words
    }

    /// Makes room for a process that is running on the disk.
    pub fn make_room(&mut self, pid: u32) {
        match &self.kind {
            Kind::Namespace(holder) => {
                let root = format!("/proc/{}/root", holder.pid());
                let filler = format!("{root}{}/filler", self.path().display());
                fs::remove_file(&filler).unwrap_or_else(|error| panic!("{filler}: {error}"));
            }
            Kind::FileSize(_) => {
                let pid = pid.to_string();
                tools::run("prlimit", &["--pid", &pid, "--fsize=unlimited"], "").expect(0);
                self.kind = Kind::FileSize(u64::MAX);
            }
        }
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
