//! The servers of a run, and how a connection to one is opened.

use std::time::Duration;

use super::connect::{Address, NotBound, Stream};
use super::{BenchError, Options};

/// The servers of a run, in the order given, and the identity of connections to them.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    all: Vec<Target>,
    /// DN and password.
    bind_as: Option<(String, String)>,
}

#[derive(Clone, Debug)]
struct Target {
    url: String,
    address: Address,
}

impl Targets {
    /// Reads the URLs of a run.
    pub fn new(options: &Options) -> Result<Targets, BenchError> {
        let target = |url: &String| {
            Ok(Target {
                url: url.clone(),
                address: Address::parse(url)?,
            })
        };
        let all = options.urls.iter().map(target);
        let all = all.collect::<Result<Vec<Target>, BenchError>>()?;
        if all.is_empty() {
            return Err(BenchError::new("expected the URL of a server"));
        }
        Ok(Targets {
            all,
            bind_as: options.bind_as.clone(),
        })
    }

    /// Returns the number of servers.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the URL of a server.
    pub fn url(&self, target: usize) -> &str {
        &self.all[target].url
    }

    /// Opens the connection with this number to a server and, when it is to be `bound`, binds as
    /// the identity of the run. Waits at most `patience` for each of the two.
    pub fn open(
        &self,
        target: usize,
        number: usize,
        bound: bool,
        patience: Duration,
    ) -> Result<Stream, NotBound> {
        let Target { url, address } = &self.all[target];
        let stream = address.connect(number, patience).map_err(|error| {
            NotBound::Failed(BenchError::new(format!(
                "connection {number} to {url}: {error}"
            )))
        })?;
        if let Some((dn, password)) = self.bind_as.as_ref().filter(|_| bound) {
            stream.bind(dn, password, patience)?;
        }
        Ok(stream)
    }
}
