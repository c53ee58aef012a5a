//! The node or the server that an action on access rules is about.

use crate::channel::Channel;
use crate::cli::{AccessNode, Remote};
use crate::password_input::first_line;
use crate::reach::Target;
use crate::report::{Problem, note};
use std::path::Path;

/// Says that there are no rules of the directory's own.
pub fn built_in_note() {
    note("no access rules are applied: the built-in ones decide (--set built-in)");
}

/// Connects to a node or a server.
pub fn connect_to(node: &AccessNode) -> Result<Channel, Problem> {
    connect(node.dir.as_deref(), &node.remote)
}

/// Connects to the node in a folder, or to a server.
pub fn connect(dir: Option<&Path>, remote: &Remote) -> Result<Channel, Problem> {
    match (dir, &remote.url) {
        (Some(dir), None) => Channel::open(dir),
        (None, Some(url)) => {
            let target = Target::new("--url", url, remote.starttls, remote.ca.as_deref())?;
            let (Some(name), Some(file)) = (&remote.bind_dn, &remote.bind_password_file) else {
                return Err(Problem::usage(
                    "--url: expected --bind-dn and --bind-password-file, too: access rules are \
                     not public",
                ));
            };
            Channel::connect(&target, name, &first_line(file)?)
        }
        (None, None) => Err(Problem::usage("expected a node's folder, or --url")),
        (Some(dir), Some(_)) => Err(Problem::usage(format_args!(
            "expected a folder or --url, got both: {}",
            dir.display()
        ))),
    }
}
