//! The etcd that an operator runs: whether it can be reached, and is new enough.

use crate::command::runtime;
use crate::identity::{Etcd, ExternalEtcd};
use crate::trouble::Trouble;
use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The oldest version whose features are enough.
const OLDEST: Version = Version { major: 3, minor: 6 };
/// How long an answer may take.
const WAIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u64,
    minor: u64,
}

/// File of the authority of an operator's etcd, in the folder `cluster`.
pub const ETCD_CA_FILE: &str = "etcd-ca.pem";
/// File of the certificate to present to an operator's etcd.
pub const ETCD_FILE: &str = "etcd.pem";
/// File of the private key to that certificate.
pub const ETCD_KEY_FILE: &str = "etcd.key";

/// An etcd that an operator runs, as it is told.
#[derive(Debug, Clone)]
pub struct OperatorsEtcd {
    /// URLs at which its members serve clients.
    pub urls: Vec<String>,
    /// File of the authority of its members' certificates, PEM.
    pub ca: PathBuf,
    /// File of the certificate to present, PEM.
    pub certificate: PathBuf,
    /// File of its private key, PEM.
    pub key: PathBuf,
}

/// Asks each member for its version, and refuses those that are too old.
///
/// # Errors
/// A member does not answer, does not accept the certificate, or is older than 3.6.
pub fn require_version(etcd: &OperatorsEtcd) -> Result<(), Trouble> {
    let read = |path: &Path| fs::read(path).map_err(Trouble::file(path));
    let tls = TlsOptions::new()
        .ca_certificate(Certificate::from_pem(read(&etcd.ca)?))
        .identity(Identity::from_pem(
            read(&etcd.certificate)?,
            read(&etcd.key)?,
        ));
    let runtime = runtime()?;
    for url in &etcd.urls {
        if !url.starts_with("https://") {
            return Err(Trouble::Refused(format!(
                "--etcd {url}: expected https://HOST:PORT: the log has password hashes in it"
            )));
        }
        let options = ConnectOptions::new()
            .with_tls(tls.clone())
            .with_connect_timeout(WAIT)
            .with_timeout(WAIT);
        let asked = runtime.block_on(async {
            let asked = tokio::time::timeout(WAIT, ask(url, options)).await;
            asked.unwrap_or_else(|_| Err(format!("no answer within {} seconds", WAIT.as_secs())))
        });
        require_new_enough(url, &asked.map_err(|why| Trouble::unreachable(url, why))?)?;
    }
    Ok(())
}

/// An operator's etcd whose files are in the folder `cluster`.
pub(crate) fn in_folder(urls: Vec<String>) -> Etcd {
    Etcd::External(ExternalEtcd {
        urls,
        ca: ETCD_CA_FILE.into(),
        certificate: ETCD_FILE.into(),
        key: ETCD_KEY_FILE.into(),
    })
}

async fn ask(url: &str, options: ConnectOptions) -> Result<String, String> {
    let mut client = Client::connect([url], Some(options))
        .await
        .map_err(|error| causes(&error))?;
    let status = client.status().await.map_err(|error| causes(&error))?;
    Ok(status.version().to_owned())
}

/// An error with all its causes: the outermost says "transport error" alone.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

fn require_new_enough(url: &str, version: &str) -> Result<(), Trouble> {
    let mut numbers = version.split('.').map(|it| it.parse().ok());
    let found = match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => Some(Version { major, minor }),
        _ => None,
    };
    match found {
        Some(found) if found >= OLDEST => Ok(()),
        _ => Err(Trouble::Refused(format!(
            "{url}: expected etcd {}.{} or later, found {version}; leave --etcd out and the nodes \
             run an etcd of their own",
            OLDEST.major, OLDEST.minor
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_3_6_are_refused_with_what_was_found() {
        for version in ["3.6.0", "3.7.3", "3.10.0", "4.0.0-alpha.0"] {
            require_new_enough("https://e:2379", version).unwrap();
        }
        for version in ["3.5.21", "3.4.30", "2.3.8", "", "three"] {
            let refused = require_new_enough("https://e:2379", version).unwrap_err();
            let expected = format!("expected etcd 3.6 or later, found {version};");
            assert!(refused.to_string().contains(&expected), "{refused}");
        }
    }
}
