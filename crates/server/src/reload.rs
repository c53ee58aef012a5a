//! Reads the settings again while the server serves: on SIGHUP, and when the administrator asks.
//!
//! Either all changeable settings change, or none: wrong settings leave the old ones in force. Open
//! connections keep their search limits until they bind again; other settings apply to them at
//! once.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use directory::{Failure, Front, SetLimits, ShownEntry};

use crate::admission::Admission;
use crate::connection::{Rules, TURN_TIME_MAX};
use crate::connection_settings::ConnectionSettings;
use crate::issuers::IssuerKeys;
use crate::settings::{
    Config, Network, Overrides, Reload as Holds, Section, Setting, Settings, TABLE,
};
use crate::tls::Certificate;
use protocol::DecodeLimits;
use sasl::Offers;
use sasl::token::Issuers;

/// Passes the state for all connections to the serving threads.
type Share = Box<dyn Fn(&Arc<ConnectionSettings>) + Send + Sync>;

/// The parts of the server that can be changed.
pub struct Reload {
    /// The node's folder.
    folder: PathBuf,
    /// Settings given as flags, which win over the file.
    overrides: Overrides,
    /// Whether the node belongs to a cluster.
    in_cluster: bool,
    /// The settings in force.
    running: Mutex<Settings>,
    /// The counts of connections, with their limits.
    pub admission: Arc<Admission>,
    /// Networks whose hosts may send PROXY headers, at listeners for proxies.
    pub proxies: Arc<ArcSwap<Vec<Network>>>,
    /// The certificate; `None` without TLS.
    pub certificate: Option<Arc<Certificate>>,
    /// The issuers of tokens.
    pub issuers: IssuerKeys,
    /// Passes new state to the serving threads.
    pub share: Share,
}

/// Result of reading the settings again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    /// Names of settings that hold from now on.
    changed: Vec<String>,
    /// Names of settings that hold after a restart.
    waiting: Vec<String>,
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload").finish_non_exhaustive()
    }
}

impl Reload {
    /// With the settings that the server started with.
    pub fn new(
        config: Config,
        admission: Arc<Admission>,
        certificate: Option<Arc<Certificate>>,
        issuers: IssuerKeys,
        share: Share,
    ) -> Reload {
        Reload {
            proxies: Arc::new(ArcSwap::from_pointee(config.proxies.clone())),
            folder: config.folder,
            overrides: config.overrides,
            in_cluster: config.in_cluster,
            running: Mutex::new(config.settings),
            admission,
            certificate,
            issuers,
            share,
        }
    }

    /// Reads settings and certificate again, logs the result, and returns it as one line.
    ///
    /// # Errors
    /// A text that says what is wrong with a setting or file; nothing was changed.
    pub fn run(&self, set_limits: SetLimits<'_>) -> Result<String, String> {
        let done = self.try_run(set_limits).map(|report| report.text());
        match &done {
            Ok(text) => tracing::warn!("{text}"),
            Err(error) => tracing::error!("settings not read again, the old ones stay: {error}"),
        }
        done
    }

    fn try_run(&self, set_limits: SetLimits<'_>) -> Result<Report, String> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut read = Config::load(&self.folder, &self.overrides);
        if self.in_cluster {
            read = read.and_then(Config::in_cluster);
        }
        let mut next = read.map_err(|error| error.to_string())?;
        let report = Report::of(&running, &mut next.settings);
        let certificate = match (&self.certificate, &next.tls) {
            (Some(certificate), Some(files)) => Some((certificate, certificate.read(files)?)),
            _ => None,
        };
        let issuers = self.issuers.read(&next.issuers)?;
        set_limits(&next.limits, &next.limit_rules).map_err(|it: Failure| it.to_string())?;
        // No step fails from here on.
        if let Some((certificate, read)) = certificate {
            certificate.replace(read);
        }
        if next.settings.log != running.log {
            crate::logging::set_filter(&next.settings.log);
        }
        self.admission.set_limits(&next.connections);
        self.proxies.store(Arc::new(next.proxies.clone()));
        self.issuers.replace(issuers);
        let issuers = self.issuers.issuers();
        (self.share)(&Arc::new(shared(&next, self.certificate.clone(), issuers)));
        *running = next.settings;
        Ok(report)
    }
}

impl Front for Reload {
    fn connections(&self) -> directory::Connections {
        self.admission.connections()
    }

    fn shown(&self) -> Vec<ShownEntry> {
        self.issuers.shown()
    }

    fn reload(&self, set_limits: SetLimits<'_>) -> Result<String, String> {
        self.run(set_limits)
    }
}

impl Report {
    /// Compares settings in force with others. Settings of `new` that hold after a restart become
    /// those in force.
    fn of(running: &Settings, new: &mut Settings) -> Report {
        let mut report = Report::default();
        let tls = |it: &Settings| (it.tls.certificate.is_some(), it.tls.key.is_some());
        let switched = tls(running) != tls(new);
        let (running, mut kept) = (running.to_table(), new.to_table());
        if running.get("subject_limits") != kept.get("subject_limits") {
            report.changed.push("limits".to_owned());
        }
        for (section, setting) in reported() {
            let value = section.value(setting, &running);
            if value == section.value(setting, &kept) {
                continue;
            }
            let waits = match setting.reload {
                Holds::Restart => true,
                Holds::NextTls => switched,
                Holds::AtOnce | Holds::NextBind => false,
            };
            let names = match waits {
                true => &mut report.waiting,
                false => &mut report.changed,
            };
            let name = reported_name(section, setting);
            if !names.contains(&name) {
                names.push(name);
            }
            if waits {
                section.put(setting, value.cloned(), &mut kept);
            }
        }
        *new = kept.try_into().expect("each setting was read from a file");
        report
    }

    fn text(&self) -> String {
        let changed = match self.changed.is_empty() {
            true => "settings and certificate read again; no setting has changed".to_owned(),
            false => format!(
                "settings and certificate read again; changed: {}",
                self.changed.join(", ")
            ),
        };
        match self.waiting.is_empty() {
            true => changed,
            false => format!("{changed}; after a restart: {}", self.waiting.join(", ")),
        }
    }
}

/// The rows of the table in the order of a report: those above the first header come last.
fn reported() -> impl Iterator<Item = (&'static Section, &'static Setting)> {
    let headed = TABLE.iter().filter(|it| !it.name.is_empty());
    let above = TABLE.iter().filter(|it| it.name.is_empty());
    let rows = |it: &'static Section| it.settings.iter().map(move |setting| (it, setting));
    headed.chain(above).flat_map(rows)
}

/// The name of a setting in a report: its section, where the whole section changes at once.
fn reported_name(section: &Section, setting: &Setting) -> String {
    match (section.name, setting.reload) {
        ("", _) => setting.name.to_owned(),
        (_, Holds::NextBind) => "limits".to_owned(),
        ("log", _) | ("connections", Holds::Restart) => {
            format!("{}.{}", section.name, setting.name)
        }
        (name, _) => name.to_owned(),
    }
}

/// The state for all connections, from the settings.
pub fn shared(
    config: &Config,
    certificate: Option<Arc<Certificate>>,
    issuers: Arc<Issuers>,
) -> ConnectionSettings {
    ConnectionSettings {
        rules: Rules {
            limits: DecodeLimits {
                message_bytes_max: config.connections.message_bytes_max,
                ..DecodeLimits::DEFAULT
            },
            anonymous_message_bytes_max: config.connections.anonymous_message_bytes_max,
            allow_cleartext_binds: config.settings.allow_cleartext_binds,
            administrator_from: config.administrator_from.clone(),
            trust_local: config.settings.trust_local,
            turn_time_max: TURN_TIME_MAX,
        },
        offers: offers(config, issuers),
        connections: config.connections,
        certificate,
    }
}

/// The SASL mechanisms that the settings offer beside those that a connection has anyway.
fn offers(config: &Config, issuers: Arc<Issuers>) -> Option<Arc<Offers>> {
    let anonymous = config.settings.sasl.anonymous;
    let is_any = anonymous || !issuers.0.is_empty();
    is_any.then(|| Arc::new(Offers { anonymous, issuers }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Overrides;
    use std::path::Path;

    #[test]
    fn every_setting_is_reloaded_or_waits_for_a_restart() {
        let parse = |text: &str| {
            let folder = Path::new("node");
            Config::parse(folder, text, &Overrides::default()).unwrap()
        };
        let old = parse("").settings;
        for (text, changed, waiting) in [
            ("[log]\nlevel = \"debug\"", "log.level", ""),
            ("[log]\noperations = true", "log.operations", ""),
            ("[connections]\ntotal_max = 7", "connections", ""),
            (
                "[connections]\nmemory_mib_max = 7",
                "",
                "connections.memory_mib_max",
            ),
            ("[limits]\nsize_entries_max = 7", "limits", ""),
            ("[limits]\nsize_entries_max = 5000", "", ""),
            ("[[subject_limits]]\nentry = \"cn=a\"", "limits", ""),
            ("[dynamic_entries]\nttl_min_s = 7", "limits", ""),
            ("allow_cleartext_binds = true", "allow_cleartext_binds", ""),
            ("proxies = [\"10.0.0.1\"]", "proxies", ""),
            ("listen = []", "", "listen"),
            ("[tls]\ncertificate = \"a\"\nkey = \"b\"", "", "tls"),
            ("[threads]\nserving = 7", "", "threads"),
            ("[log]\nformat = \"json\"", "", "log.format"),
            ("[passwords]\nremembered_max = 7", "", "passwords"),
            ("[sasl]\nanonymous = true", "sasl", ""),
            ("[changes]\nkeep_mib = 7", "", "changes"),
            ("[database]\nwarm_up = false", "", "database"),
            ("[cluster]\nwrite_timeout_s = 7", "", "cluster"),
        ] {
            let read = parse(text).settings;
            let mut new = read.clone();
            let report = Report::of(&old, &mut new);
            assert_eq!(report.changed.join(","), changed, "{text}");
            assert_eq!(report.waiting.join(","), waiting, "{text}");
            // In force is either the whole of the file or nothing of it: each text has one setting.
            let in_force = if changed.is_empty() { &old } else { &read };
            assert_eq!(new, *in_force, "{text}");
        }
        let with = |certificate: &str| {
            let text = format!("[tls]\ncertificate = \"{certificate}\"\nkey = \"k\"");
            parse(&text).settings
        };
        let report = Report::of(&with("a"), &mut with("b"));
        assert_eq!(
            (report.changed.join(","), report.waiting),
            ("tls".to_owned(), Vec::new())
        );
    }
}
