//! The settings of one node: `pando.toml` and the flags put over it, as one checked [`Config`].
//!
//! The file's text becomes [`Settings`], with the names, types and ranges of the table. [`Config`]
//! adds values worked out from them, with combinations checked. Every error names the file, the
//! line, the setting, the expected and the given value. Settings that must be equal on all nodes
//! live in the directory under `cn=config` instead.

mod entering;
mod error;
mod listen;
mod log_format;
mod oauth;
mod origins;
#[cfg(test)]
mod page;
mod sample;
mod section;
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod tls;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::password_lists::FileLists;
use crate::saslauthd::Saslauthd;
use directory::{Auditing, FileRules, Keeping, Patience};
use policy::outside::{NoOutsidePasswords, OutsidePasswords};
use policy::{LimitSettings, LimitSubject, Limits, Scheme, TimeToLive, Verifiers};

pub use error::SettingsError;
pub use listen::{ClientCertificates, Listen, Scheme as ListenScheme};
pub use log_format::LogFormat;
pub use oauth::{IssuerSettings, KeySource};
pub use origins::{Origin, Origins};
pub use policy::Network;
pub use sample::sample;
pub use section::{Reload, Section, Setting};
pub use table::{Log, Settings, TABLE};
pub use tls::{TlsClients, TlsFiles, TlsSettings};

use error::Place;
use table::{Audit, SubjectLimits};
use tls::TlsFlags;

/// The name of the settings file in a node's folder.
pub const FILE_NAME: &str = "pando.toml";

/// How long a server runs before it reads everything: clients, recovery and the reading of the
/// database into memory come first.
const SCRUB_DELAY: Duration = Duration::from_secs(600);

/// Everything a node needs to know to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node's folder.
    pub folder: PathBuf,
    /// What flags have put over the file; it is put there again when the file is read again.
    pub overrides: Overrides,
    /// The settings of the file, under the flags.
    pub settings: Settings,
    /// Where to accept connections.
    pub listen: Vec<Listen>,
    /// The socket through which the node's owner administers it, beside `listen`. The program sets
    /// it.
    pub owner_socket: Option<PathBuf>,
    /// Proxies that may say who the client is, on listeners that are for them.
    pub proxies: Vec<Network>,
    /// Where the administrator may bind from.
    pub administrator_from: Origins,
    /// Certificates, and what is asked of clients; `None` without TLS.
    pub tls: Option<TlsSettings>,
    /// Issuers whose tokens are accepted.
    pub issuers: Vec<IssuerSettings>,
    /// Threads that serve; 0 for as many as the processors and the size of the database ask for.
    pub threads: usize,
    /// Limits on connections.
    pub connections: Connections,
    /// Limits on what one subject may ask for.
    pub limits: LimitSettings,
    /// Limits of some subjects' own.
    pub limit_rules: Vec<(LimitSubject<String>, Limits)>,
    /// The scheme of new passwords.
    pub password_scheme: Scheme,
    /// Keys of SCRAM that are stored beside.
    pub password_verifiers: Verifiers,
    /// How long clients wait for the log of a cluster.
    pub patience: Patience,
    /// Whether the node belongs to a cluster, where the directory has the shared settings. See
    /// [`Config::in_cluster`].
    pub in_cluster: bool,
    /// An error for each shared setting of the file, which it is in a cluster.
    shared_in_file: Vec<SettingsError>,
    /// The error that a setting is for a node alone, which is for nodes of a cluster.
    wants_cluster: Option<SettingsError>,
    /// Stop on SIGTERM and SIGINT, read the settings again on SIGHUP. The program sets it; a test
    /// does not.
    pub heed_signals: bool,
}

/// Limits on connections. 0 means none in numbers of connections and times; lengths of messages
/// have the largest number instead.
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
    /// How long a connection may be silent.
    pub idle_timeout: Duration,
    /// How long a client may take for the TLS handshake and its first message, and for the rest of
    /// a message; one that has authenticated has as long again while it sends fast enough.
    pub message_timeout: Duration,
    /// How long a client may leave responses unread.
    pub write_timeout: Duration,
    /// Least bytes per second of a message on its way, over each `message_timeout`.
    pub receive_bytes_per_s_min: u32,
    /// Least bytes per second of responses taken by a client, over each `write_timeout`.
    pub send_bytes_per_s_min: u32,
    /// How long requests may wait for their serving thread before others are refused.
    pub queue_delay_max: Duration,
    /// How long a stopping server waits for what was begun.
    pub stop_timeout: Duration,
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
    pub threads: Option<u32>,
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

    /// Loads settings from the text of a file, with the checks of [`Config::load`].
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
        let mut settings: Settings = toml::from_str(text).map_err(|it| place.toml(&it))?;
        check_ranges(&place, &settings)?;
        let tls = tls::of(&place, folder, &settings, &overrides.tls())?;
        let issuers = oauth::of(&place, folder, &settings)?;
        overrides.put_over(&mut settings);
        let listen = listen(&place, &settings, overrides, tls.as_ref())?;
        let proxies = proxies(&place, &settings, &listen)?;
        let administrator_from = administrator_from(&place, &settings)?;
        let time_to_live = time_to_live(&place, &settings)?;
        require_audit(&place, &settings)?;
        let patience = patience(&place, &settings)?;
        check_log_level(&place, &settings, overrides)?;
        let known = LimitSettings::default();
        let everybody = settings.limits.complete(known.everybody);
        let limits = LimitSettings {
            everybody,
            anonymous: settings.anonymous_limits.complete(everybody),
            administrator: settings.administrator_limits.complete(known.administrator),
            rules: Vec::new(),
            time_to_live,
        };
        Ok(Config {
            folder: folder.to_owned(),
            overrides: overrides.clone(),
            listen,
            owner_socket: None,
            proxies,
            administrator_from,
            tls,
            issuers,
            threads: settings.threads.serving as usize,
            connections: connections(&settings.connections),
            limit_rules: limit_rules(&place, &mut settings.subject_limits, everybody)?,
            limits,
            password_scheme: place.parse("passwords.scheme", &settings.passwords.scheme)?,
            password_verifiers: place.parse(
                "passwords.scram_verifiers",
                &settings.passwords.scram_verifiers,
            )?,
            patience,
            in_cluster: false,
            shared_in_file: shared::errors(&place, TABLE),
            wants_cluster: settings.cluster.volatile.then(|| {
                let name = "cluster.volatile";
                let message = "expected a node of a cluster, whose other nodes keep the \
                               directory on their disks; got a node alone";
                place.error(place.span(name), name, message)
            }),
            heed_signals: false,
            settings,
        })
    }

    /// The files of lists in which new passwords may not stand.
    fn password_lists(&self) -> FileLists {
        let path = |given: &Option<PathBuf>| given.as_ref().map(|it| self.folder.join(it));
        FileLists {
            dictionary: path(&self.settings.passwords.dictionary),
            breached: path(&self.settings.passwords.breached),
        }
    }

    /// The program that verifies passwords of values `{SASL}`.
    fn outside_passwords(&self) -> Arc<dyn OutsidePasswords> {
        match &self.settings.passwords.saslauthd {
            Some(socket) => Arc::new(Saslauthd::at(self.folder.join(socket))),
            None => Arc::new(NoOutsidePasswords),
        }
    }

    /// How the node's directory is opened under these settings.
    pub fn directory_options(&self) -> directory::Options {
        let Settings {
            connections,
            passwords,
            changes,
            database,
            ..
        } = &self.settings;
        let scrub = directory::Scrubbing {
            every: Duration::from_secs(u64::from(database.scrub_days) * 86_400),
            delay: SCRUB_DELAY,
        };
        directory::Options {
            passwords: self.passwords(),
            lists: Arc::new(self.password_lists()),
            outside_passwords: self.outside_passwords(),
            verified_max: passwords.remembered_max,
            verified_ttl_ms: u64::from(passwords.remembered_s) * 1_000,
            wrong_passwords_max: connections.wrong_passwords_max,
            limits: self.limits.clone(),
            limit_rules: self.limit_rules.clone(),
            changes: match changes.keep_mib {
                0 => Keeping::Off,
                mib => Keeping::Bytes(bytes(mib)),
            },
            audit: auditing(&self.settings.audit),
            attempts_interval: match self.settings.audit.attempts_interval_s {
                0 => None,
                seconds => Some(Duration::from_secs(u64::from(seconds))),
            },
            spool_bytes_max: bytes(database.spool_mib_max),
            scrub: (database.scrub_days > 0).then_some(scrub),
            memory_bytes_max: bytes(connections.memory_mib_max),
            memory_each_bytes_max: bytes(connections.memory_each_mib_max),
            patience: self.patience,
            is_volatile: self.settings.cluster.volatile,
            ..directory::Options::default()
        }
    }

    /// Where to accept connections, the owner's socket included.
    pub(crate) fn listeners(&self) -> Vec<Listen> {
        let own = self.owner_socket.clone().map(Listen::Unix);
        let own = own.filter(|it| !self.listen.contains(it));
        self.listen.iter().cloned().chain(own).collect()
    }

    /// The etcd to run; `None` to look for one.
    pub fn etcd_program(&self) -> Option<PathBuf> {
        let program = self.settings.cluster.etcd_program.as_ref();
        program.map(|it| self.folder.join(it))
    }

    /// Number of lanes to the log of the node's cluster.
    pub fn lanes(&self) -> u8 {
        u8::try_from(self.settings.cluster.lanes).unwrap_or(1)
    }

    /// The folder in memory for the data; `None` if they are on a disk.
    pub fn volatile_folder(&self) -> Option<PathBuf> {
        let given = &self.settings.cluster;
        let folder = self.folder.join(&given.volatile_folder);
        given.volatile.then_some(folder)
    }

    /// Where the node keeps its data.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }
}

impl Section {
    /// The value that `settings` have for one of this section's; `None` for none.
    pub fn value<'t>(
        &self,
        setting: &Setting,
        settings: &'t toml::Table,
    ) -> Option<&'t toml::Value> {
        match self.name {
            "" => settings.get(setting.name),
            name => settings.get(name)?.get(setting.name),
        }
    }
}

impl Section {
    /// Puts a value in `settings` for one of this section's; `None` takes it out.
    pub fn put(&self, setting: &Setting, value: Option<toml::Value>, settings: &mut toml::Table) {
        let table = match self.name {
            "" => Some(settings),
            name => settings.get_mut(name).and_then(toml::Value::as_table_mut),
        };
        if let Some(table) = table {
            let name = setting.name.to_owned();
            match value {
                Some(value) => table.insert(name, value),
                None => table.remove(&name),
            };
        }
    }
}

impl Settings {
    /// All settings that have a value, as TOML.
    pub fn to_table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("settings are read from TOML, so they fit into it")
    }
}

impl Overrides {
    /// Files of a certificate and its key.
    fn tls(&self) -> TlsFlags<'_> {
        TlsFlags {
            certificate: self.tls_certificate.as_deref(),
            key: self.tls_key.as_deref(),
        }
    }

    /// Puts the flags into the settings. Files of flags stand in [`Config::tls`] alone: their paths
    /// may be no text.
    fn put_over(&self, settings: &mut Settings) {
        if !self.listen.is_empty() {
            settings.listen.clone_from(&self.listen);
        }
        settings
            .tls
            .certificate
            .take_if(|_| self.tls_certificate.is_some());
        settings.tls.key.take_if(|_| self.tls_key.is_some());
        if let Some(it) = self.allow_cleartext_binds {
            settings.allow_cleartext_binds = it;
        }
        if let Some(it) = self.threads {
            settings.threads.serving = it;
        }
        if let Some(it) = &self.log_level {
            settings.log.level.clone_from(it);
        }
        if let Some(it) = self.log_format {
            settings.log.format = it;
        }
    }
}

fn bytes(mib: u32) -> u64 {
    u64::from(mib) << 20
}

/// Numbers that the type of a setting accepts and its row does not.
fn check_ranges(place: &Place<'_>, settings: &Settings) -> Result<(), SettingsError> {
    let given = settings.to_table();
    for section in TABLE {
        for setting in section.settings {
            let value = section.value(setting, &given);
            let number = value.and_then(toml::Value::as_integer);
            if let (Some(range), Some(number)) = (&setting.range, number)
                && !range.contains(&number)
            {
                let (from, to) = (range.start(), range.end());
                let message = format!("expected a whole number from {from} to {to}, got {number}");
                let name = format!("{}.{}", section.name, setting.name);
                return Err(place.error(place.span(&name), &name, message));
            }
        }
    }
    Ok(())
}

/// The listeners; one with TLS needs a certificate.
fn listen(
    place: &Place<'_>,
    settings: &Settings,
    overrides: &Overrides,
    tls: Option<&TlsSettings>,
) -> Result<Vec<Listen>, SettingsError> {
    let parse =
        |(at, text): (usize, &String)| {
            let parsed = text.parse().and_then(|it: Listen| {
            let asks = it.client_certificates().is_some_and(|it| it != ClientCertificates::None);
            match (it.scheme(), tls) {
                (ListenScheme::Ldaps, None) => Err(format!(
                    "{it} needs a certificate: set tls.certificate and tls.key"
                )),
                _ if asks && tls.is_none_or(|it| it.clients.is_none()) => Err(format!(
                    "{it} needs authorities of clients: set tls.client_ca beside tls.certificate"
                )),
                _ => Ok(it),
            }
        });
            parsed.map_err(|error| match overrides.listen.is_empty() {
                true => place.error(place.span(&format!("listen.{at}")), "listen", error),
                false => SettingsError::flag("listen", error),
            })
        };
    settings.listen.iter().enumerate().map(parse).collect()
}

/// The proxies; a listener for proxies needs one, or nobody could connect.
fn proxies(
    place: &Place<'_>,
    settings: &Settings,
    listen: &[Listen],
) -> Result<Vec<Network>, SettingsError> {
    let given = settings.proxies.iter().enumerate();
    let parse = |(at, text): (usize, &String)| place.parse(&format!("proxies.{at}"), text);
    match listen.iter().find(|it| it.is_proxied()) {
        Some(it) if settings.proxies.is_empty() => {
            let message = format!("{it} is for proxies: expected their addresses, got none");
            Err(place.error(None, "proxies", message))
        }
        _ => given.map(parse).collect(),
    }
}

/// Where the administrator may bind from.
fn administrator_from(place: &Place<'_>, settings: &Settings) -> Result<Origins, SettingsError> {
    let given = settings.administrator_from.iter().enumerate();
    given
        .map(|(at, text)| place.parse::<Origin>(&format!("administrator_from.{at}"), text))
        .collect()
}

fn check_log_level(
    place: &Place<'_>,
    settings: &Settings,
    overrides: &Overrides,
) -> Result<(), SettingsError> {
    let checked = crate::logging::check_level(&settings.log.level);
    checked.map_err(|error| match overrides.log_level {
        Some(_) => SettingsError::flag("log.level", error),
        None => place.error(place.span("log.level"), "log.level", error),
    })
}

fn time_to_live(place: &Place<'_>, settings: &Settings) -> Result<TimeToLive, SettingsError> {
    let given = &settings.dynamic_entries;
    let it = TimeToLive {
        default_s: given.ttl_default_s,
        min_s: given.ttl_min_s,
        max_s: given.ttl_max_s,
    };
    if it.min_s <= it.default_s && it.default_s <= it.max_s {
        return Ok(it);
    }
    let message = "expected 1 <= ttl_min_s <= ttl_default_s <= ttl_max_s <= 31557600";
    Err(place.error(None, "dynamic_entries", message))
}

fn auditing(given: &Audit) -> Auditing {
    match given.enabled {
        false => Auditing::Off,
        true => Auditing::On(FileRules {
            file_bytes: bytes(given.file_mib),
            keep_bytes: bytes(given.keep_mib),
            keep_days: u64::from(given.keep_days),
            required: given.required,
        }),
    }
}

/// Refuses settings of the audit that contradict each other or others.
fn require_audit(place: &Place<'_>, settings: &Settings) -> Result<(), SettingsError> {
    let given = &settings.audit;
    if given.enabled && settings.cluster.volatile {
        let name = "audit.enabled";
        let message = "expected false with cluster.volatile, which keeps nothing over a stop";
        return Err(place.error(place.span(name), name, message));
    }
    if given.required && !given.enabled {
        let name = "audit.required";
        let message = "expected audit.enabled = true with it, else every write would be refused";
        return Err(place.error(place.span(name), name, message));
    }
    Ok(())
}

fn patience(place: &Place<'_>, settings: &Settings) -> Result<Patience, SettingsError> {
    let given = &settings.cluster;
    if given.volatile && settings.changes.keep_mib > 0 {
        let name = "changes.keep_mib";
        let message = "expected 0 with cluster.volatile, which keeps nothing over a stop";
        return Err(place.error(place.span(name), name, message));
    }
    if given.write_timeout_s > given.undecided_timeout_s {
        let name = match place.span("cluster.write_timeout_s") {
            Some(_) => "cluster.write_timeout_s",
            None => "cluster.undecided_timeout_s",
        };
        let (write_s, undecided_s) = (given.write_timeout_s, given.undecided_timeout_s);
        let message = format!(
            "expected write_timeout_s <= undecided_timeout_s, got {write_s} and {undecided_s}"
        );
        return Err(place.error(place.span(name), name, message));
    }
    Ok(Patience {
        write: Duration::from_secs(given.write_timeout_s.into()),
        undecided: Duration::from_secs(given.undecided_timeout_s.into()),
    })
}

fn connections(given: &table::Connections) -> Connections {
    let unlimited = |it: usize| if it == 0 { usize::MAX } else { it };
    let seconds = |it: u32| Duration::from_secs(it.into());
    Connections {
        total_max: given.total_max,
        per_address_max: given.per_address_max,
        message_bytes_max: unlimited(given.message_bytes_max),
        anonymous_message_bytes_max: unlimited(given.anonymous_message_bytes_max),
        idle_timeout: seconds(given.idle_timeout_s),
        message_timeout: seconds(given.message_timeout_s),
        write_timeout: seconds(given.write_timeout_s),
        receive_bytes_per_s_min: given.receive_bytes_per_s_min,
        send_bytes_per_s_min: given.send_bytes_per_s_min,
        queue_delay_max: Duration::from_millis(given.queue_delay_ms_max.into()),
        stop_timeout: seconds(given.stop_timeout_s),
    }
}

fn limit_rules(
    place: &Place<'_>,
    given: &mut [SubjectLimits],
    everybody: Limits,
) -> Result<Vec<(LimitSubject<String>, Limits)>, SettingsError> {
    let resolve = |(at, it): (usize, &mut SubjectLimits)| {
        let limits = it.complete(everybody);
        let subject = match (&it.entry, &it.subtree, &it.group) {
            (Some(name), None, None) => LimitSubject::Entry(name.clone()),
            (None, Some(name), None) => LimitSubject::Subtree(name.clone()),
            (None, None, Some(name)) => LimitSubject::Group(name.clone()),
            (None, None, None) => {
                let message = "expected entry, subtree or group with a name, got none";
                return Err(place.error(None, "subject_limits", message));
            }
            _ => {
                let mut names = ["entry", "subtree", "group"].into_iter();
                let span = names.find_map(|it| place.span(&format!("subject_limits.{at}.{it}")));
                let message = "expected one of entry, subtree and group, got several";
                return Err(place.error(span, "subject_limits", message));
            }
        };
        Ok((subject, limits))
    };
    given.iter_mut().enumerate().map(resolve).collect()
}
