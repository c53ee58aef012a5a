//! `pando serve`: serves the directory in a folder until told to stop.

use crate::cli::Serve;
use crate::cluster::{Ending, Joined, Serving};
use crate::node_folder::{data_folder, socket_path};
use crate::report::{Problem, note};
use ::cluster::identity::Identity;
use ::cluster::{rejoin, volatile};
use directory::Directory;
use protocol::counted;
use server::{Config, Overrides, Server, StartError};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Serves until a signal.
pub fn serve(it: &Serve) -> Result<(), Problem> {
    if !rejoin::is_under_way(&it.dir) && !volatile::is_in_memory(&it.dir) {
        data_folder(&it.dir)?;
    }
    let overrides = Overrides {
        listen: it.listen.clone(),
        threads: it.threads,
        log_level: it.log_level.clone(),
        ..Overrides::default()
    };
    let served = start(&it.dir, &overrides)?;
    announce(&served.server);
    match served.wait() {
        Ending::NeedsCopy | Ending::Reopened => Err(begin_again()),
        Ending::Outdated(unknown) => Err(Problem::failed(unknown)),
        Ending::Left | Ending::Stopped => Ok(()),
    }
}

/// Takes the place of this process with another one of the same command, which serves the node
/// anew. Returns only on failure.
fn begin_again() -> Problem {
    let program = std::env::current_exe();
    let failed = |error| Problem::failed(format_args!("serving the node again: {error}"));
    match program {
        Ok(program) => failed(
            Command::new(program)
                .args(std::env::args_os().skip(1))
                .exec(),
        ),
        Err(error) => failed(error),
    }
}

/// A node's server, and its part in a cluster.
pub struct Served {
    /// The server.
    pub server: Arc<Server>,
    /// The node's part in its cluster, which ends after the server; `None` for a node alone.
    member: Option<Serving>,
}

impl Served {
    /// Waits until the server has ended. Returns the reason.
    pub fn wait(self) -> Ending {
        let watch = self.member.as_ref().map(|member| {
            let (endings, look) = (member.endings(), member.look());
            let server = Arc::clone(&self.server);
            std::thread::spawn(move || {
                let ending = endings.wait(look);
                if ending != Ending::Stopped {
                    server.stop();
                }
                ending
            })
        });
        self.server.wait();
        if let Some(member) = &self.member {
            member.endings().tell(Ending::Stopped);
        }
        // The thread only waits and stops.
        let ending = watch.and_then(|it| it.join().ok());
        drop(self.member);
        server::logging::flush();
        ending.unwrap_or(Ending::Stopped)
    }
}

/// Starts a node's server, with the owner's socket besides the configured listeners.
pub fn start(dir: &Path, overrides: &Overrides) -> Result<Served, Problem> {
    let mut config = Config::load(dir, overrides).map_err(Problem::usage)?;
    config = match Identity::folder_of(dir).exists() {
        true => config.in_cluster(),
        false => config.alone(),
    }
    .map_err(Problem::usage)?;
    config.owner_socket = socket_path(dir);
    config.heed_signals = true;
    server::logging::start(&config.settings.log);
    if !config.settings.core_dumps {
        server::forbid_core_dumps();
    }
    let mut options = config.directory_options();
    let joined = Joined::load(dir, &config)?;
    options.connect = joined.as_ref().map(|it| it.connect(config.lanes()));
    close_data(&config.data_folder());
    let directory = Directory::open(&config.data_folder(), &options);
    let directory = directory.map_err(|it| Problem::failed(StartError::Directory(it)))?;
    let member = joined.map(|it| it.serve(&directory)).transpose()?;
    let server = server::start_directory(config, directory).map_err(Problem::failed)?;
    Ok(Served {
        server: Arc::new(server),
        member,
    })
}

/// Removes permissions for others that an earlier build or a `chmod` has given to the data folder.
fn close_data(data: &Path) {
    match store::private::close_folder(data) {
        Ok(0) => {}
        Ok(count) => tracing::warn!(
            "{} in {} could be read by other users of this machine, and now by the owner alone: \
             change the passwords if somebody else has an account",
            counted(count, "path"),
            data.display()
        ),
        Err(error) => tracing::warn!(
            %error,
            "other users of this machine may read files in {}",
            data.display()
        ),
    }
}

/// Prints the room for connections, then one line for each listener.
pub fn announce(server: &Server) {
    note(server.limits());
    for address in server.addresses() {
        note(format_args!("listening on {address}"));
    }
}
