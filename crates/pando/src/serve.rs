//! `pando serve`: serves the directory in a folder until told to stop.

use crate::cli::Serve;
use crate::cluster::{Joined, Serving};
use crate::node_folder::{data_folder, socket_path};
use crate::report::{Problem, note};
use directory::Directory;
use protocol::counted;
use server::{Config, Overrides, Server, StartError};
use std::path::Path;
use std::sync::Arc;

/// Serves until a signal.
pub fn serve(it: &Serve) -> Result<(), Problem> {
    data_folder(&it.dir)?;
    let overrides = Overrides {
        listen: it.listen.clone(),
        threads: it.threads,
        log_level: it.log_level.clone(),
        ..Overrides::default()
    };
    let served = start(&it.dir, &overrides)?;
    announce(&served.server);
    served.wait();
    Ok(())
}

/// A node's server, and its part in a cluster.
pub struct Served {
    /// The server.
    pub server: Arc<Server>,
    /// The node's part in its cluster, which ends after the server; `None` for a node alone.
    member: Option<Serving>,
}

impl Served {
    /// Waits until the server was told to stop and has ended.
    pub fn wait(self) {
        let left = self.member.as_ref().map(Serving::left);
        let watch = left.clone().map(|left| {
            let server = Arc::clone(&self.server);
            std::thread::spawn(move || {
                if left.wait() {
                    server.stop();
                }
            })
        });
        self.server.wait();
        if let (Some(left), Some(watch)) = (left, watch) {
            left.tell(false);
            // It only waits, and stops.
            watch.join().ok();
        }
        drop(self.member);
        server::logging::flush();
    }
}

/// Starts a node's server, with the owner's socket besides the configured listeners.
pub fn start(dir: &Path, overrides: &Overrides) -> Result<Served, Problem> {
    let mut config = Config::load(dir, overrides).map_err(Problem::usage)?;
    config.owner_socket = socket_path(dir);
    config.heed_signals = true;
    server::logging::start(&config.settings.log);
    close_data(&config.data_folder());
    let mut options = config.directory_options();
    let program = config.etcd_program();
    let joined = Joined::load(dir, program.as_deref())?;
    options.connect = joined.as_ref().map(Joined::connect);
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
