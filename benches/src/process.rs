//! Servers as child processes: the null responder, slapd, Pando. Each ends with its value.

use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A running server.
pub struct Server {
    child: Child,
    /// It was waited for, and its number may be that of another process by now.
    gone: bool,
    /// Where it listens.
    pub url: String,
}

impl Server {
    /// Starts the null responder, which stands beside this program.
    pub fn null(value_octets: usize) -> io::Result<Server> {
        let mut command = Command::new(beside("null"));
        command
            .args(["127.0.0.1:0", &value_octets.to_string()])
            .stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut address = String::new();
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("no standard output"))?;
        BufReader::new(stdout).read_line(&mut address)?;
        Ok(Server {
            child,
            gone: false,
            url: format!("ldap://{}", address.trim()),
        })
    }

    /// Starts a command that will listen at `url`; does not wait for it.
    pub fn start(command: &mut Command, url: &str) -> io::Result<Server> {
        Ok(Server {
            child: command.spawn()?,
            gone: false,
            url: url.to_owned(),
        })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the process ended, if it has.
    pub fn ended(&mut self) -> io::Result<Option<std::process::ExitStatus>> {
        let status = self.child.try_wait()?;
        self.gone |= status.is_some();
        Ok(status)
    }

    /// Ends the process at once, as a power cut ends it.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.gone = true;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        // A clean end lets slapd and Pando close their databases.
        let pid = rustix::process::Pid::from_child(&self.child);
        let asked = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        if asked.is_err() || self.child.wait().is_err() {
            // It is gone already.
            let _ = self.child.kill();
        }
    }
}

/// Runs a command to its end, its output to nowhere.
///
/// # Errors
/// The command cannot be run, or ended badly: then with its standard error.
pub fn finish(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!(
                "{command:?}: {}: {said}",
                output.status
            )))
        }
    }
}

/// The file of a program that is built into the folder of the running one.
pub fn beside(name: &str) -> PathBuf {
    std::env::current_exe()
        .unwrap_or_default()
        .with_file_name(name)
}

/// Raises the limit of open files to `most`, or as far as allowed, and returns it. slapd reserves
/// memory for as many files as it may open.
pub fn raise_open_files(most: u64) -> io::Result<u64> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(current),
            maximum,
        },
    )?;
    Ok(current)
}

/// A port of the loopback interface that nobody listens on at the moment.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
