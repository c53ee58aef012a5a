//! A disk that is soon full: a small tmpfs in a mount namespace of its own, or, where the machine
//! forbids that, a limit on the size of files; or a file system of another kind, made in a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

use crate::Folder;
use crate::process::Running;
use crate::tools;

/// A place where a node lives until there is no room.
pub struct Disk {
    folder: Folder,
    kind: Kind,
}

enum Kind {
    /// Process that keeps the namespace alive.
    Namespace(Running),
    /// Largest file size in bytes; `None` for a file system of its own.
    FileSize(u64),
}

/// File systems that overwrite a block by writing another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyOnWrite {
    /// btrfs: always, except for a file with the attribute "no copy on write".
    Btrfs,
    /// xfs with reflinks: for blocks shared with a copy of the file.
    Xfs,
}

const MEGABYTE: u64 = 1 << 20;
/// Room in bytes for the images of all tests that run side by side.
const IMAGES_BYTES: u64 = 2 << 30;
/// Size of a small tmpfs, half of it filled by a file that can be removed.
const SIZE_MB: u64 = 32;
const FILLER_MB: u64 = 16;

/// Returns the folder for images of file systems: in memory where there is room, since filling an
/// image syncs thousands of times and tests nothing of the disk below it.
fn image_folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let free = rustix::fs::statvfs(&memory).map(|it| it.f_bavail * it.f_frsize);
    match free {
        Ok(free) if free >= IMAGES_BYTES => memory,
        _ => std::env::temp_dir(),
    }
}

impl Disk {
    /// Makes a small disk.
    pub fn new() -> Self {
        Self::of(SIZE_MB)
    }

    /// Makes a disk of so many megabytes.
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

    /// Makes a file system of this kind in a file, mounted by a loop device. Prints a line and
    /// returns `None` where the machine lacks the tools or forbids the mount, which needs the real
    /// root; a user namespace is not enough.
    pub fn copy_on_write(kind: CopyOnWrite) -> Option<Self> {
        // This is the least size that mkfs.xfs makes; with less, btrfs has hardly any room for
        // data.
        // btrfs frees blocks when it commits, by default every 30 seconds.
        let (size, make, options) = match kind {
            CopyOnWrite::Btrfs => ("256M", "mkfs.btrfs -q --metadata single", "loop,commit=1"),
            CopyOnWrite::Xfs => ("300M", "mkfs.xfs -q -m reflink=1", "loop"),
        };
        let folder = Folder::below(&image_folder());
        fs::create_dir(folder.join("disk")).expect("the folder is new");
        let image = folder.join("image");
        let script = format!(
            "{{ truncate -s {size} \"$1\" && {make} \"$1\" && mount -o {options} \"$1\" \"$2\"; }} \
             >&2 || {{ echo failed >&2; exit 1; }}; echo ready >&2; exec tail -f /dev/null"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        command.args(["sh", "-c", &script, "sh"]).arg(&image);
        command.arg(folder.join("disk"));
        let mut holder = Running::start("the holder of the file system", &mut command);
        let is_ready = holder.wait_for_end_or("ready", |line| (line == "ready").then_some(()));
        if is_ready.is_none() {
            eprintln!(
                "nothing was looked at: no {kind:?} can be made and mounted here: {}",
                holder.log()
            );
            return None;
        }
        Some(Disk {
            folder,
            kind: Kind::Namespace(holder),
        })
    }

    /// Returns the folder of the disk as this process sees it. Only for file systems that end.
    pub fn inside(&self) -> PathBuf {
        let Kind::Namespace(holder) = &self.kind else {
            panic!("the disk is a limit on the size of files");
        };
        let path = self.path();
        let below = path.strip_prefix("/").expect("the folder is absolute");
        PathBuf::from(format!("/proc/{}/root", holder.pid())).join(below)
    }

    /// Fills the disk to its last byte with a file of this name.
    pub fn fill(&self, name: &str) {
        let path = self.inside().join(name);
        let mut file = match File::create(path) {
            Ok(file) => file,
            // The disk may lack room even for the file's name.
            Err(error) => return full(error).expect("a disk that works"),
        };
        let zeros = vec![0; MEGABYTE as usize];
        for bytes in [zeros.len(), 4096, 512] {
            // Data that is not written back yet may turn out to need more room, or less.
            while file.write_all(&zeros[..bytes]).is_ok() {}
            file.sync_all().or_else(full).expect("a disk that works");
        }
    }

    /// Removes a file that [`Disk::fill`] made.
    pub fn remove(&self, name: &str) {
        match fs::remove_file(self.inside().join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{name}: {error}"),
            _ => {}
        }
        let folder = File::open(self.inside()).expect("the disk");
        rustix::fs::syncfs(folder).expect("a disk that works");
    }

    /// Returns whether the file system itself ends, rather than files on it.
    pub fn has_an_end(&self) -> bool {
        matches!(self.kind, Kind::Namespace(_))
    }

    /// Returns the folder of the disk as seen by commands behind [`Disk::prefix`].
    pub fn path(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// Returns the words before a command that run it on the disk.
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

/// Ignores the error of a full disk.
fn full(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::StorageFull => Ok(()),
        _ => Err(error),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
