//! Keeps a member's etcd running, and ends it with the node.
//!
//! A killed Pando leaves its etcd behind: the cluster keeps a voter while Pando starts again, and
//! the next [`Supervisor`] takes it over if it runs with the same arguments, or else ends it and
//! starts anew. A Pando that ends in order ends its etcd first.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::fs::inotify;

use super::claim::{Claim, claim};
use super::flags::{are_the_same, flags};
use super::member::{FolderError, Member, Start, open_private};
use super::output::Output;
use super::program::EtcdProgram;
use super::running::{Running, poll};

/// How long an etcd that was asked to end may take. It hands its leadership over first.
const PATIENCE: Duration = Duration::from_secs(10);
/// An etcd that ran at least so long is started again at once.
const GOOD_RUN: Duration = Duration::from_secs(10);
/// Pause before the second start of an etcd that ends soon; it doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// State of the process of a member's etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessState {
    /// It has not been started yet.
    Starting,
    /// It runs. Whether it answers is another question: see [`super::client::ready`].
    Running {
        /// Number of the process.
        pid: i32,
        /// Whether an earlier Pando started it.
        adopted: bool,
    },
    /// It does not run and will be started again.
    Waiting {
        /// Why it does not run.
        why: String,
    },
    /// It does not run any more, as was asked for, or because the cluster's members must be asked
    /// for before it can begin anew.
    Stopped,
}

/// A member's etcd, kept running. Dropping it ends the etcd, which takes up to 20 seconds.
pub struct Supervisor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<ProcessState>,
    /// Readable once the supervisor is to end.
    end: OwnedFd,
    /// Whether etcd is left running then.
    leaves: AtomicBool,
}

/// The thread's own.
struct Keeper {
    program: EtcdProgram,
    member: Member,
    shared: Arc<Shared>,
    output: Output,
    /// Readable when a file of the member's folder changes.
    changes: OwnedFd,
    /// Whether the member has had data while it was watched.
    had_data: bool,
}

/// The one that starts a member again whose first start was interrupted.
enum Anew {
    /// This supervisor.
    Now,
    /// Whoever asks the cluster for its members, who may be others by now.
    ByTheCluster,
}

/// Why watching a process came to its end.
enum End {
    /// The supervisor is to end.
    Asked,
    /// The process has ended.
    Ended(String),
    /// The process runs, on data of an interrupted first start, and will never be of use.
    Useless,
}

impl Supervisor {
    /// Starts etcd, or takes over the one that an earlier process left running.
    ///
    /// # Errors
    /// The member's folder cannot be used. An etcd that ends is started again and no error.
    pub fn start(program: EtcdProgram, member: Member) -> Result<Supervisor, FolderError> {
        member.prepare()?;
        let failed = |error: rustix::io::Errno| FolderError::File {
            path: member.folder.clone(),
            error: error.into(),
        };
        let changes = inotify::init(inotify::CreateFlags::CLOEXEC).map_err(failed)?;
        let which = inotify::WatchFlags::MODIFY | inotify::WatchFlags::CREATE;
        inotify::add_watch(&changes, &member.folder, which).map_err(failed)?;
        let end = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(failed)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(ProcessState::Starting),
            end,
            leaves: AtomicBool::new(false),
        });
        let keeper = Keeper {
            output: Output::follow(member.log()),
            program,
            member,
            shared: Arc::clone(&shared),
            changes,
            had_data: false,
        };
        let thread = thread::Builder::new()
            .name("etcd".to_owned())
            .spawn(move || keeper.run())
            .expect("the system has room for a thread at the start");
        Ok(Supervisor {
            shared,
            thread: Some(thread),
        })
    }

    /// State of the process.
    pub fn state(&self) -> ProcessState {
        self.shared.state().clone()
    }

    /// Ends etcd, and waits until it has ended: by itself within ten seconds, or killed.
    pub fn stop(self) {
        drop(self);
    }

    /// Ends the supervision and leaves etcd running, for the next process to take over.
    pub fn release(self) {
        self.shared.leaves.store(true, Ordering::SeqCst);
        drop(self);
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let one = 1_u64.to_ne_bytes();
        rustix::io::write(&self.shared.end, &one)
            .expect("the counter of an eventfd is far from full");
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper {
    fn run(mut self) {
        let mut pause = Duration::ZERO;
        loop {
            let started = Instant::now();
            // A voter that forgot what it had voted for must not vote again, least of all alone.
            if self.had_data && !self.member.has_data() {
                tracing::error!(
                    target: "etcd",
                    "the data of etcd have gone from {}: it is not started as the same member",
                    self.member.folder.display()
                );
                *self.shared.state() = ProcessState::Stopped;
                return;
            }
            let why = match self.start_or_adopt() {
                Ok(mut running) => match self.watch(&mut running) {
                    End::Asked => return self.finish(running),
                    End::Ended(how) => how,
                    End::Useless => match self.begin_anew(running) {
                        Ok(Anew::Now) => {
                            self.had_data = false;
                            continue;
                        }
                        Ok(Anew::ByTheCluster) => {
                            *self.shared.state() = ProcessState::Stopped;
                            return;
                        }
                        Err(error) => error.to_string(),
                    },
                },
                Err(error) => error.to_string(),
            };
            pause = match started.elapsed() >= GOOD_RUN {
                true => Duration::ZERO,
                false => (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX),
            };
            tracing::warn!(
                target: "etcd",
                "etcd does not run: {why}; it is started again in {} ms",
                pause.as_millis()
            );
            *self.shared.state() = ProcessState::Waiting { why };
            if self.is_asked_within(pause) {
                *self.shared.state() = ProcessState::Stopped;
                return;
            }
        }
    }

    fn start_or_adopt(&mut self) -> io::Result<Running> {
        loop {
            let input = match claim(&self.member.folder)? {
                Claim::Free(input) => input,
                Claim::Held(pid) => {
                    let left = Running::adopt(pid)?;
                    // Only now is the number sure to stay its own: look at it again.
                    match claim(&self.member.folder)? {
                        Claim::Held(still) if still == pid => {}
                        _ => continue,
                    }
                    let wanted = self.arguments();
                    if are_the_same(&left.arguments(), &wanted) {
                        self.say_running(&left, true);
                        return Ok(left);
                    }
                    tracing::info!(target: "etcd", "an etcd with other settings is ended first");
                    left.end(PATIENCE);
                    continue;
                }
            };
            let running = Running::own(self.command(input)?.spawn()?)?;
            self.say_running(&running, false);
            return Ok(running);
        }
    }

    fn say_running(&self, running: &Running, adopted: bool) {
        let pid = running.pid.as_raw_nonzero().get();
        let how = if adopted { "taken over" } else { "started" };
        let version = self.program.version;
        tracing::info!(target: "etcd", "etcd {version} is {how} as process {pid}");
        *self.shared.state() = ProcessState::Running { pid, adopted };
    }

    /// Name and arguments of the process.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.program.path.display().to_string()];
        arguments.extend(flags(&self.member));
        arguments
    }

    fn command(&self, input: File) -> io::Result<Command> {
        let errors = open_private(&self.errors())?;
        errors.set_len(0)?;
        let mut command = Command::new(&self.program.path);
        command
            .args(flags(&self.member))
            .current_dir(&self.member.folder)
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(errors)
            // Ctrl-C in a terminal is for Pando, which ends etcd after its own work.
            .process_group(0);
        // Variables that etcd would take for settings.
        let set = std::env::vars_os().map(|(name, _)| name);
        for name in set.filter(|name| is_setting_of_etcd(name)) {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// File of what etcd prints before it can log.
    fn errors(&self) -> std::path::PathBuf {
        self.member.folder.join("etcd.stderr")
    }

    /// Passes messages on until the process or the supervision ends.
    fn watch(&mut self, running: &mut Running) -> End {
        loop {
            let mut watched = [
                PollFd::new(&self.shared.end, PollFlags::IN),
                PollFd::new(running, PollFlags::IN),
                PollFd::new(&self.changes, PollFlags::IN),
            ];
            if let Err(error) = poll(&mut watched, None) {
                return End::Ended(error.to_string());
            }
            let ready = watched.map(|it| !it.revents().is_empty());
            let [asked, ended, changed] = ready;
            if changed {
                // Which file changed does not matter.
                let mut events = [MaybeUninit::uninit(); 4096];
                rustix::io::read(&self.changes, &mut events).ok();
            }
            if let Err(error) = self.output.pass_on() {
                tracing::warn!(target: "etcd", "{}: {error}", self.member.log().display());
            }
            self.had_data = self.had_data || self.member.has_data();
            if asked {
                return End::Asked;
            }
            if self.output.take_went_on_with_nothing() {
                return End::Useless;
            }
            if ended {
                return End::Ended(self.reason(running.reap()));
            }
        }
    }

    /// Sets the data of an interrupted first start aside.
    fn begin_anew(&self, running: Running) -> Result<Anew, FolderError> {
        tracing::warn!(target: "etcd", "the first start of etcd was interrupted: it begins anew");
        running.end(PATIENCE);
        self.member.forget()?;
        Ok(match self.member.start {
            Start::New => Anew::Now,
            Start::Existing(_) => Anew::ByTheCluster,
        })
    }

    /// Puts into words why the process ended: what it printed last, or logged as an error.
    fn reason(&mut self, status: String) -> String {
        let printed = std::fs::read_to_string(self.errors()).unwrap_or_default();
        let printed = printed.lines().map(str::trim).rfind(|it| !it.is_empty());
        let logged = self.output.take_trouble();
        match logged.as_deref().or(printed) {
            Some(words) => format!("{status}: {}", words.chars().take(500).collect::<String>()),
            None => status,
        }
    }

    fn finish(&mut self, running: Running) {
        if !self.shared.leaves.load(Ordering::SeqCst) {
            running.end(PATIENCE);
            self.output.pass_on().ok();
        }
        *self.shared.state() = ProcessState::Stopped;
    }

    /// Waits for the end of the supervision, at most for `pause`.
    fn is_asked_within(&self, pause: Duration) -> bool {
        let mut watched = [PollFd::new(&self.shared.end, PollFlags::IN)];
        let deadline = Instant::now() + pause;
        poll(&mut watched, Some(deadline)).unwrap_or(false)
    }
}

fn is_setting_of_etcd(variable: &OsStr) -> bool {
    variable.as_encoded_bytes().starts_with(b"ETCD_")
}
