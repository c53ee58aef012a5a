//! `pando serve`: serves the directory in a folder until told to stop.

use crate::cli::Serve;
use crate::init::data_folder;
use crate::report::{Problem, note};
use protocol::counted;
use server::{Config, Overrides, Server};
use std::path::{Path, PathBuf};

/// The socket below a node's folder through which its owner administers it.
pub const SOCKET_FILE: &str = "ldapi";
/// The longest path of a Unix domain socket on Linux, with its final zero.
const SOCKET_PATH_BYTES_MAX: usize = 108;

/// Serves until a signal.
pub fn serve(it: &Serve) -> Result<(), Problem> {
    data_folder(&it.dir)?;
    let overrides = Overrides {
        listen: it.listen.clone(),
        threads: it.threads,
        log_level: it.log_level.clone(),
        ..Overrides::default()
    };
    let server = start(&it.dir, &overrides)?;
    announce(&server);
    server.wait();
    server::logging::flush();
    Ok(())
}

/// Starts a node's server, with the owner's socket beside the listeners that were asked for.
pub fn start(dir: &Path, overrides: &Overrides) -> Result<Server, Problem> {
    let mut config = Config::load(dir, overrides).map_err(Problem::usage)?;
    config.owner_socket = socket_path(dir);
    config.heed_signals = true;
    server::logging::start(&config.settings.log);
    close_data(&config.data_folder());
    server::start(config).map_err(Problem::failed)
}

/// Closes what an earlier release, or somebody's `chmod`, left open in the folder of the database.
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

/// How many connections there is room for, then one line for each listener.
pub fn announce(server: &Server) {
    note(server.limits());
    for address in server.addresses() {
        note(format_args!("listening on {address}"));
    }
}

/// The owner's socket, if its path is not too long for one.
pub fn socket_path(dir: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(dir.join(SOCKET_FILE)).ok()?;
    (path.as_os_str().len() < SOCKET_PATH_BYTES_MAX).then_some(path)
}
