//! Reads the settings again while the server serves: on SIGHUP, and when the administrator asks.
//!
//! Either all changeable settings change, or none: wrong settings leave the old ones in force. Open
//! connections keep their search limits until they bind again; other settings apply to them at
//! once.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use directory::{Failure, Front, SetLimits};

use crate::admission::Admission;
use crate::connection::Rules;
use crate::settings::{Config, Network};
use crate::shared::Shared;
use crate::tls::Certificate;
use protocol::DecodeLimits;

/// Passes the state for all connections to the serving threads.
type Share = Box<dyn Fn(&Arc<Shared>) + Send + Sync>;

/// The parts of the server that can be changed.
pub struct Reload {
    /// The settings in force.
    running: Mutex<Config>,
    /// Counters and limits of connections.
    pub admission: Arc<Admission>,
    /// Networks whose hosts may send PROXY headers, at listeners for proxies.
    pub proxies: Arc<ArcSwap<Vec<Network>>>,
    /// The certificate; `None` without TLS.
    pub certificate: Option<Arc<Certificate>>,
    /// Passes new state to the serving threads.
    pub share: Share,
}

/// Result of reading the settings again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    /// Names of settings that have changed.
    changed: Vec<&'static str>,
    /// Names of settings that change with a restart.
    waiting: Vec<&'static str>,
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload").finish_non_exhaustive()
    }
}

impl Reload {
    /// With the settings that the server started with.
    pub fn new(
        running: Config,
        admission: Arc<Admission>,
        certificate: Option<Arc<Certificate>>,
        share: Share,
    ) -> Reload {
        Reload {
            proxies: Arc::new(ArcSwap::from_pointee(running.proxies.clone())),
            running: Mutex::new(running),
            admission,
            certificate,
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
        let read = Config::load(&running.folder, &running.overrides);
        let mut next = read.map_err(|error| error.to_string())?;
        let report = Report::of(&running, &next);
        let certificate = match (&self.certificate, &next.tls) {
            (Some(certificate), Some(files)) => Some((certificate, certificate.read(files)?)),
            _ => None,
        };
        set_limits(&next.limits, &next.limit_rules).map_err(|it: Failure| it.to_string())?;
        // No step fails from here on.
        if let Some((certificate, read)) = certificate {
            certificate.replace(read);
        }
        if next.log != running.log {
            crate::logging::set_filter(&next.log);
        }
        self.admission.set_limits(&next.connections);
        self.proxies.store(Arc::new(next.proxies.clone()));
        (self.share)(&Arc::new(shared(&next, self.certificate.clone())));
        next.keep_until_restart(&running);
        *running = next;
        Ok(report)
    }
}

impl Front for Reload {
    fn connections(&self) -> directory::Connections {
        self.admission.connections()
    }

    fn reload(&self, set_limits: SetLimits<'_>) -> Result<String, String> {
        self.run(set_limits)
    }
}

impl Report {
    fn of(old: &Config, new: &Config) -> Report {
        let changed = [
            (
                "tls",
                old.tls != new.tls && old.tls.is_some() && new.tls.is_some(),
            ),
            ("log.level", old.log.level != new.log.level),
            ("log.operations", old.log.operations != new.log.operations),
            ("connections", old.connections != new.connections),
            (
                "limits",
                old.limits != new.limits || old.limit_rules != new.limit_rules,
            ),
            (
                "allow_cleartext_binds",
                old.allow_cleartext_binds != new.allow_cleartext_binds,
            ),
            ("proxies", old.proxies != new.proxies),
        ];
        let waiting = [
            ("listen", old.listen != new.listen),
            ("tls", old.tls.is_some() != new.tls.is_some()),
            ("threads", old.threads != new.threads),
            ("log.format", old.log.format != new.log.format),
            ("passwords", old.passwords != new.passwords),
            ("changes", old.changes != new.changes),
            (
                "database",
                (old.warm_up, old.spool_bytes_max, old.scrub)
                    != (new.warm_up, new.spool_bytes_max, new.scrub),
            ),
        ];
        let names = |them: &[(&'static str, bool)]| {
            let those = them.iter().filter(|(_, differs)| *differs);
            those.map(|(name, _)| *name).collect()
        };
        Report {
            changed: names(&changed),
            waiting: names(&waiting),
        }
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

/// The state for all connections, from the settings.
pub fn shared(config: &Config, certificate: Option<Arc<Certificate>>) -> Shared {
    Shared {
        rules: Rules {
            limits: DecodeLimits {
                message_bytes_max: config.connections.message_bytes_max,
                ..DecodeLimits::DEFAULT
            },
            anonymous_message_bytes_max: config.connections.anonymous_message_bytes_max,
            allow_cleartext_binds: config.allow_cleartext_binds,
        },
        connections: config.connections,
        certificate,
    }
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
        let old = parse("");
        for (text, changed, waiting) in [
            ("[log]\nlevel = \"debug\"", "log.level", ""),
            ("[connections]\ntotal_max = 7", "connections", ""),
            ("[limits]\nsize_entries_max = 7", "limits", ""),
            ("[[subject_limits]]\nentry = \"cn=a\"", "limits", ""),
            ("[dynamic_entries]\nttl_min_s = 7", "limits", ""),
            ("allow_cleartext_binds = true", "allow_cleartext_binds", ""),
            ("proxies = [\"10.0.0.1\"]", "proxies", ""),
            ("listen = []", "", "listen"),
            ("[threads]\nserving = 7", "", "threads"),
            ("[log]\nformat = \"json\"", "", "log.format"),
            ("[passwords]\nremembered_max = 7", "", "passwords"),
            ("[changes]\nkeep_mib = 7", "", "changes"),
            ("[database]\nwarm_up = false", "", "database"),
        ] {
            let report = Report::of(&old, &parse(text));
            assert_eq!(report.changed.join(","), changed, "{text}");
            assert_eq!(report.waiting.join(","), waiting, "{text}");
        }
    }
}
