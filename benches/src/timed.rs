//! Commands that run to their end, and what they cost.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// Time and memory that a command took.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Until it ended.
    pub seconds: f64,
    /// Of all processors, in the program and in the kernel for it.
    pub processor_seconds: f64,
    /// The most memory it had at a time, pages of mapped files among it.
    pub memory_mb: f64,
}

/// A command that runs; it and what it started end with this value.
pub struct Timed {
    child: Child,
    name: String,
    figures: PathBuf,
    log: PathBuf,
    ended: bool,
}

impl Timed {
    /// Starts a program under `time(1)`. Its standard output can be read when `read` says so; what
    /// it says on standard error goes to a file in the folder.
    pub fn start(
        folder: &Path,
        name: &str,
        program: &Path,
        arguments: &[&str],
        read: bool,
    ) -> io::Result<Timed> {
        let figures = folder.join(format!("{name}.time"));
        let log = folder.join(format!("{name}.log"));
        let mut command = Command::new("/usr/bin/time");
        command.args(["-f", "%e %U %S %M", "-o"]).arg(&figures);
        command.arg(program).args(arguments).current_dir(folder);
        command.stdin(Stdio::null()).stderr(File::create(&log)?);
        command.stdout(if read { Stdio::piped() } else { Stdio::null() });
        // A group of its own, so that the end of `time` is that of the program too.
        command.process_group(0);
        Ok(Timed {
            child: command.spawn()?,
            name: name.to_owned(),
            figures,
            log,
            ended: false,
        })
    }

    /// The standard output of the program; an error when it was not kept, or is read already.
    pub fn output(&mut self) -> io::Result<impl Read + use<>> {
        let output = self.child.stdout.take();
        output.ok_or_else(|| io::Error::other("the output is not read, or by somebody else"))
    }

    /// Waits for the end.
    pub fn end(mut self) -> io::Result<Cost> {
        let status = self.child.wait()?;
        self.ended = true;
        if !status.success() {
            let said = fs::read_to_string(&self.log)?;
            let name = &self.name;
            return Err(io::Error::other(format!("{name}: {status}: {said}")));
        }
        let figures = fs::read_to_string(&self.figures)?;
        cost(&figures).ok_or_else(|| {
            io::Error::other(format!("expected four numbers of time(1), came {figures}"))
        })
    }
}

fn cost(figures: &str) -> Option<Cost> {
    let numbers: Result<Vec<f64>, _> = figures.split_whitespace().map(str::parse).collect();
    let [seconds, user, system, kilobytes] = numbers.ok()?[..] else {
        return None;
    };
    Some(Cost {
        seconds,
        processor_seconds: user + system,
        memory_mb: kilobytes * 1024.0 / 1e6,
    })
}

impl Drop for Timed {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended by itself.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}
