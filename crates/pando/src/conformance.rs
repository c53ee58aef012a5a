//! `pando conformance`: which clauses of the standards does a server pass?

use crate::cli::Conformance;
use crate::passwd::first_line;
use crate::report::{Problem, note, say};
use ::conformance::{Choice, Site, Transport};
use protocol::url::{LdapUrl, UrlScheme};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where Debian and its relatives keep the certificates that a machine trusts.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// How long the server may take to accept a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Runs the clauses and prints what came out; exit status 1 when a clause failed.
pub fn conformance(it: &Conformance) -> Result<(), Problem> {
    let clauses = ::conformance::clauses();
    let choice = Choice {
        only: it.only.clone(),
        threads: it.threads,
        patience: Duration::from_secs(it.seconds),
    };
    if !clauses.iter().any(|clause| choice.takes(clause)) {
        let what = it.only.join(", ");
        return Err(Problem::usage(format_args!(
            "--only: no clause starts with {what}; --list shows all"
        )));
    }
    if it.list {
        for clause in clauses.iter().filter(|clause| choice.takes(clause)) {
            say(format_args!("{}\t{}", clause.id, clause.text))?;
        }
        return Ok(());
    }
    let site = open(it)?;
    if site.run_base().is_none() {
        note("without -D and a password, clauses that write are left out");
    }
    let report = ::conformance::run(&site, &clauses, &choice);
    let cleaned = ::conformance::clean_up(&site);
    if it.json {
        say(report.json())?;
    } else {
        say(report.text(it.verbose))?;
    }
    if let Err(finding) = cleaned {
        let place = site.run_base().unwrap_or_default();
        return Err(Problem::failed(format_args!(
            "{place} could not be removed: {finding}"
        )));
    }
    match report.failed() {
        0 => Ok(()),
        _ => Err(Problem::Reported),
    }
}

fn open(it: &Conformance) -> Result<Site, Problem> {
    let url = LdapUrl::parse(&it.url)
        .map_err(|error| Problem::usage(format_args!("--url {}: {error}", it.url)))?;
    let tls = match url.scheme {
        UrlScheme::Ldap => None,
        UrlScheme::Ldaps => Some(tls(it.ca.as_deref())?),
        UrlScheme::Ldapi => {
            return Err(Problem::usage("--url: expected ldap:// or ldaps://"));
        }
    };
    let password = match (&it.bind_password, &it.bind_password_file) {
        (Some(password), _) => Some(password.clone()),
        (None, Some(file)) => {
            let line = String::from_utf8(first_line(file)?);
            Some(line.map_err(|_| Problem::file(file, "expected a password in UTF-8"))?)
        }
        (None, None) => None,
    };
    let admin = match (&it.bind_dn, password) {
        (Some(name), Some(password)) => Some((name.clone(), password)),
        (Some(_), None) => {
            return Err(Problem::usage("-D: expected a password too, by -y or -w"));
        }
        (None, _) => None,
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let mark = format!(
        "{:x}-{}",
        since.unwrap_or_default().as_millis(),
        std::process::id()
    );
    let connect = Box::new(move || connect(&url, tls.as_ref()));
    Site::open(connect, admin, it.base.clone(), &mark, &it.assume)
        .map_err(|finding| Problem::failed(format_args!("{}: {finding}", it.url)))
}

fn connect(url: &LdapUrl, tls: Option<&Arc<ClientConfig>>) -> io::Result<Box<dyn Transport>> {
    let host = if url.host.is_empty() {
        "localhost"
    } else {
        &url.host
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut last = io::Error::other(format!("{host} has no address"));
    for address in (bare, url.port_or_default()).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_PATIENCE) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                let Some(config) = tls else {
                    return Ok(Box::new(stream));
                };
                let name = ServerName::try_from(bare.to_owned()).map_err(io::Error::other)?;
                let session = ClientConnection::new(Arc::clone(config), name);
                let session = session.map_err(io::Error::other)?;
                return Ok(Box::new(Tls(StreamOwned::new(session, stream))));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn tls(ca: Option<&Path>) -> Result<Arc<ClientConfig>, Problem> {
    let path = ca.map_or_else(|| PathBuf::from(SYSTEM_CERTIFICATES), Path::to_path_buf);
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(&path)
        .map_err(|error| Problem::file(&path, error))?
        .flatten();
    if roots.add_parsable_certificates(certificates).0 == 0 {
        return Err(Problem::file(&path, "expected certificates as PEM"));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Problem::failed)?;
    Ok(Arc::new(
        config.with_root_certificates(roots).with_no_client_auth(),
    ))
}

/// TLS over a socket.
struct Tls(StreamOwned<ClientConnection, TcpStream>);

impl Read for Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Tls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Transport for Tls {
    fn limit(&mut self, patience: Duration) -> io::Result<()> {
        self.0.sock.limit(patience)
    }
}
