//! The settings of one node: `pando.toml` and what flags put over it, as one checked [`Config`].
//!
//! Two levels: the file's text becomes `file::File` (types and names checked by serde), then
//! [`Config`] (addresses, paths and combinations checked here). Every error names the file, the
//! line, the setting, what was expected and what came. What must be equal on all nodes is not
//! here: it lives in the directory under `cn=config`.

mod error;
mod file;
mod listen;
mod network;
mod sample;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use directory::changes::Keeping;
use policy::{LimitSettings, LimitSubject, Limits, Scheme};
use toml::Spanned;

pub use error::SettingsError;
pub use listen::{Listen, Scheme as ListenScheme};
pub use network::Network;
pub use sample::sample;

use error::Place;
use file::File;

/// The name of the settings file in a node's folder.
pub const FILE_NAME: &str = "pando.toml";

/// Everything a node needs to know to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node's folder.
    pub folder: PathBuf,
    /// What flags have put over the file; it is put there again when the file is read again.
    pub overrides: Overrides,
    /// Where to accept connections.
    pub listen: Vec<Listen>,
    /// The socket through which the node's owner administers it, beside `listen`. The program sets
    /// it.
    pub owner_socket: Option<PathBuf>,
    /// Proxies that may say who the client is, on listeners that are for them.
    pub proxies: Vec<Network>,
    /// Certificate and key; `None` without TLS.
    pub tls: Option<TlsFiles>,
    /// Accept passwords over connections that are neither TLS nor on this machine.
    pub allow_cleartext_binds: bool,
    /// The threads that serve.
    pub threads: Threads,
    /// What is logged, and how.
    pub log: Log,
    /// Limits on connections.
    pub connections: Connections,
    /// Limits on what one subject may ask for.
    pub limits: LimitSettings,
    /// Limits of some subjects' own.
    pub limit_rules: Vec<(LimitSubject<String>, Limits)>,
    /// How passwords are kept.
    pub passwords: Passwords,
    /// Which changes are kept beyond the log.
    pub changes: Keeping,
    /// Read the database into memory after the start, if it is not too large.
    pub warm_up: bool,
    /// Bytes that groups of many members may take on the disk while they are sent; 0 is no limit.
    pub spool_bytes_max: u64,
    /// When everything is read in search of damage; `None`: never.
    pub scrub: Option<directory::Scrubbing>,
    /// Stop on SIGTERM and SIGINT, read the settings again on SIGHUP. The program sets it; a test
    /// does not.
    pub heed_signals: bool,
}

/// A certificate chain and its private key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, then those that lead to its authority.
    pub certificate: PathBuf,
    /// The private key: PKCS #8, PKCS #1 or SEC 1.
    pub key: PathBuf,
}

/// The threads that serve connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    /// How many; 0 means one for each processor this process may use, and more where the data do
    /// not fit into memory.
    pub serving: usize,
    /// Keep each on one processor.
    pub pinned: bool,
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// A `tracing` filter: `warn`, `info`, `server=debug,warn`.
    pub level: String,
    /// One line of text, or one JSON object, for each event.
    pub format: LogFormat,
    /// One event for each operation.
    pub operations: bool,
}

/// The form of a logged event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object for programs.
    Json,
}

/// Limits on connections. In every field 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Connections at a time; without a limit, as many as files may be open.
    pub total_max: usize,
    /// Connections at a time from one IPv4 address or one IPv6 network of 64 bits.
    pub per_address_max: usize,
    /// The longest message in bytes.
    pub message_bytes_max: usize,
    /// The longest message in bytes before the client has authenticated.
    pub anonymous_message_bytes_max: usize,
    /// Bytes of memory that may be kept for all connections: parts of messages, responses that are
    /// not read, sort keys, views. 0 is no limit.
    pub memory_bytes_max: u64,
    /// The same for each connection.
    pub memory_each_bytes_max: u64,
    /// How long a connection may be silent.
    pub idle_timeout: Duration,
    /// How long a client may take for the TLS handshake and its first message, and how long it
    /// may pause inside a message.
    pub message_timeout: Duration,
    /// How long a client may leave responses unread.
    pub write_timeout: Duration,
    /// How long a stopping server waits for what was begun.
    pub stop_timeout: Duration,
}

/// How passwords are kept and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passwords {
    /// The scheme of new passwords.
    pub scheme: Scheme,
    /// Successful slow verifications that are remembered in memory.
    pub remembered_max: usize,
    /// For how long.
    pub remembered: Duration,
    /// A wrong password counts each time it is tried.
    pub count_repeated: bool,
    /// Binds and compares are told that an account is locked.
    pub tell_locked: bool,
}

/// What flags and the environment put over the file. Empty and `None` leave the file's value.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--listen`.
    pub listen: Vec<String>,
    /// `--tls-certificate`.
    pub tls_certificate: Option<PathBuf>,
    /// `--tls-key`.
    pub tls_key: Option<PathBuf>,
    /// `--allow-cleartext-binds`.
    pub allow_cleartext_binds: Option<bool>,
    /// `--threads`.
    pub threads: Option<usize>,
    /// `--log-level`.
    pub log_level: Option<String>,
    /// `--log-format`.
    pub log_format: Option<LogFormat>,
}

impl Config {
    /// Reads `folder/pando.toml` and puts `overrides` over it. Without the file, defaults hold.
    ///
    /// # Errors
    /// The file cannot be read, or a setting is not what was expected.
    pub fn load(folder: &Path, overrides: &Overrides) -> Result<Config, SettingsError> {
        let path = folder.join(FILE_NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(SettingsError::unreadable(&path, &error)),
        };
        Config::parse(folder, &text, overrides)
    }

    /// As [`Config::load`], with the file's text given.
    ///
    /// # Errors
    /// A setting is not what was expected.
    pub fn parse(
        folder: &Path,
        text: &str,
        overrides: &Overrides,
    ) -> Result<Config, SettingsError> {
        let place = Place {
            path: folder.join(FILE_NAME),
            text,
        };
        let mut file: File = toml::from_str(text).map_err(|it| place.toml(&it))?;
        let listen = resolve_listen(&place, &file, overrides)?;
        let tls = resolve_tls(folder, &place, &mut file, overrides)?;
        if tls.is_none()
            && let Some(at) = listen
                .iter()
                .position(|it| it.scheme() == ListenScheme::Ldaps)
        {
            let it = &listen[at];
            let message = format!("{it} needs a certificate: set tls.certificate and tls.key");
            return Err(match file.listen.get(at) {
                Some(spelled) if overrides.listen.is_empty() => {
                    place.error(Some(spelled.span()), "listen", message)
                }
                _ => SettingsError::flag("listen", message),
            });
        }
        let proxies = resolve_proxies(&place, &file, &listen)?;
        let time_to_live = file
            .dynamic_entries
            .resolve(LimitSettings::default().time_to_live);
        let time_to_live = time_to_live.ok_or_else(|| {
            let message = "expected 1 <= ttl_min_s <= ttl_default_s <= ttl_max_s <= 31557600";
            place.error(None, "dynamic_entries", message)
        })?;
        let scheme = place.resolve(&file.passwords.scheme)?;
        let everybody = file.limits.resolve(LimitSettings::default().everybody);
        Ok(Config {
            folder: folder.to_owned(),
            overrides: overrides.clone(),
            listen,
            owner_socket: None,
            proxies,
            tls,
            allow_cleartext_binds: overrides
                .allow_cleartext_binds
                .unwrap_or(file.allow_cleartext_binds),
            threads: Threads {
                serving: overrides.threads.unwrap_or(file.threads.serving),
                pinned: file.threads.pinned,
            },
            log: resolve_log(&place, &file, overrides)?,
            connections: file.connections.resolve(),
            limit_rules: resolve_rules(&place, &file, everybody)?,
            limits: LimitSettings {
                everybody,
                anonymous: file.anonymous_limits.resolve(everybody),
                administrator: file
                    .administrator_limits
                    .resolve(LimitSettings::default().administrator),
                rules: Vec::new(),
                time_to_live,
            },
            passwords: file.passwords.resolve(scheme),
            changes: file.changes.resolve(),
            warm_up: file.database.warm_up,
            spool_bytes_max: file.database.spool_mib_max << 20,
            scrub: file.database.scrub(),
            heed_signals: false,
        })
    }
}

impl Config {
    /// How the node's directory is opened under these settings.
    pub fn directory_options(&self) -> directory::Options {
        directory::Options {
            password_scheme: self.passwords.scheme,
            verified_max: self.passwords.remembered_max,
            verified_ttl_ms: self.passwords.remembered.as_millis() as u64,
            count_repeated: self.passwords.count_repeated,
            tell_locked: self.passwords.tell_locked,
            limits: self.limits.clone(),
            limit_rules: self.limit_rules.clone(),
            changes: self.changes,
            spool_bytes_max: self.spool_bytes_max,
            scrub: self.scrub,
            memory_bytes_max: self.connections.memory_bytes_max,
            memory_each_bytes_max: self.connections.memory_each_bytes_max,
            ..directory::Options::default()
        }
    }

    /// Takes over from settings in force what only a restart changes.
    pub(crate) fn keep_until_restart(&mut self, running: &Config) {
        let Config {
            listen,
            owner_socket,
            threads,
            passwords,
            changes,
            ..
        } = running.clone();
        (self.listen, self.owner_socket) = (listen, owner_socket);
        (self.threads, self.passwords, self.changes) = (threads, passwords, changes);
        self.log.format = running.log.format;
        (self.warm_up, self.spool_bytes_max) = (running.warm_up, running.spool_bytes_max);
        self.scrub = running.scrub;
        self.heed_signals = running.heed_signals;
        if self.tls.is_some() != running.tls.is_some() {
            self.tls.clone_from(&running.tls);
        }
    }

    /// Where to accept connections, the owner's socket included.
    pub(crate) fn listeners(&self) -> Vec<Listen> {
        let own = self.owner_socket.clone().map(Listen::Unix);
        let own = own.filter(|it| !self.listen.contains(it));
        self.listen.iter().cloned().chain(own).collect()
    }

    /// Where the node keeps its data.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }
}

fn resolve_rules(
    place: &Place<'_>,
    file: &File,
    everybody: Limits,
) -> Result<Vec<(LimitSubject<String>, Limits)>, SettingsError> {
    let resolve = |rule: &file::OneSubject| match rule.subject() {
        Ok(subject) => Ok((subject, rule.resolve(everybody))),
        Err(text) => Err(place.error(rule.span(), "subject_limits", text)),
    };
    file.subject_limits.iter().map(resolve).collect()
}

fn resolve_listen(
    place: &Place<'_>,
    file: &File,
    overrides: &Overrides,
) -> Result<Vec<Listen>, SettingsError> {
    if overrides.listen.is_empty() {
        return file.listen.iter().map(|it| place.resolve(it)).collect();
    }
    let parse = |it: &String| {
        it.parse()
            .map_err(|error| SettingsError::flag("listen", error))
    };
    overrides.listen.iter().map(parse).collect()
}

/// The proxies; a listener for proxies needs one, or nobody could connect.
fn resolve_proxies(
    place: &Place<'_>,
    file: &File,
    listen: &[Listen],
) -> Result<Vec<Network>, SettingsError> {
    let proxies: Result<Vec<Network>, _> =
        file.proxies.iter().map(|it| place.resolve(it)).collect();
    let proxies = proxies?;
    match listen.iter().find(|it| it.is_proxied()) {
        Some(listen) if proxies.is_empty() => {
            let message = format!("{listen} is for proxies: expected their addresses, got none");
            Err(place.error(None, "proxies", message))
        }
        _ => Ok(proxies),
    }
}

fn resolve_tls(
    folder: &Path,
    place: &Place<'_>,
    file: &mut File,
    overrides: &Overrides,
) -> Result<Option<TlsFiles>, SettingsError> {
    // Paths in the file are relative to the node's folder, those of flags to where one stands.
    let in_folder = |it: &Spanned<PathBuf>| folder.join(it.get_ref());
    let certificate = overrides.tls_certificate.clone();
    let certificate = certificate.or(file.tls.certificate.as_ref().map(in_folder));
    let key = overrides
        .tls_key
        .clone()
        .or(file.tls.key.as_ref().map(in_folder));
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (None, None) => Ok(None),
        (Some(_), None) => {
            let span = file.tls.certificate.take().map(|it| it.span());
            Err(place.error(
                span,
                "tls.key",
                "expected a key beside tls.certificate, got none",
            ))
        }
        (None, Some(_)) => {
            let span = file.tls.key.take().map(|it| it.span());
            let message = "expected a certificate beside tls.key, got none";
            Err(place.error(span, "tls.certificate", message))
        }
    }
}

fn resolve_log(
    place: &Place<'_>,
    file: &File,
    overrides: &Overrides,
) -> Result<Log, SettingsError> {
    let level = overrides
        .log_level
        .as_ref()
        .unwrap_or(file.log.level.get_ref());
    if let Err(error) = crate::logging::check_level(level) {
        return Err(match overrides.log_level {
            Some(_) => SettingsError::flag("log.level", error),
            None => place.error(Some(file.log.level.span()), "log.level", error),
        });
    }
    let format = overrides.log_format.unwrap_or(file.log.format);
    Ok(Log {
        level: level.clone(),
        format,
        operations: file.log.operations,
    })
}
