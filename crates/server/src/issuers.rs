//! Issuers of tokens, and the threads that keep their keys: read again when their file changes,
//! fetched again at times, and when a token names a key that is not known.
//!
//! Keys that are known stay in use while newer ones cannot be had; the log and `cn=monitor` say so.
//! Nothing here runs on a serving thread.

mod fetch;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use directory::ShownEntry;
use sasl::token::{Issuer, Issuers, KeySet};

use crate::settings::{IssuerSettings, KeySource};
use crate::stamp::{Stamp, stamp};

/// Interval between looks at a file of keys.
const FILE_CHECK: Duration = Duration::from_secs(5);
/// The shortest time between two fetches, whatever keys are asked for.
const FETCH_PAUSE_MIN: Duration = Duration::from_secs(10);
/// The longest time after which a fetch that failed is tried again.
const FETCH_RETRY_MAX: Duration = Duration::from_secs(30);

/// The issuers of the settings in force.
#[derive(Debug)]
pub struct IssuerKeys {
    kept: Mutex<Vec<Arc<Kept>>>,
}

/// Issuers that were read and are not in use yet.
pub struct Fresh(Vec<Arc<Kept>>);

/// An issuer whose keys are kept.
#[derive(Debug)]
struct Kept {
    settings: IssuerSettings,
    issuer: Arc<Issuer>,
    standing: Mutex<Standing>,
}

/// How it stands with the keys of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Standing {
    /// When they were last read or fetched; `None` if they never were.
    read: Option<Instant>,
    /// Why that did not succeed the last time; `None` if it did.
    trouble: Option<String>,
    /// Whether the settings have the issuer no more.
    is_closed: bool,
}

impl IssuerKeys {
    /// Reads keys from files and begins to fetch the others.
    ///
    /// # Errors
    /// A text that names the setting: a file cannot be read or has no keys.
    pub fn start(settings: &[IssuerSettings]) -> Result<IssuerKeys, String> {
        let kept = settings.iter().map(|it| kept(it, &[]));
        Ok(IssuerKeys {
            kept: Mutex::new(kept.collect::<Result<_, _>>()?),
        })
    }

    /// Reads keys under other settings, without using them. Issuers whose settings are as before
    /// stay as they are.
    ///
    /// # Errors
    /// The errors of [`IssuerKeys::start`].
    pub fn read(&self, settings: &[IssuerSettings]) -> Result<Fresh, String> {
        let before = self.kept();
        let kept = settings.iter().map(|it| kept(it, &before));
        kept.collect::<Result<_, _>>().map(Fresh)
    }

    /// Uses what was read. Issuers that the settings do not have any more accept no token, on older
    /// connections either.
    pub fn replace(&self, fresh: Fresh) {
        let mut kept = self.kept();
        for old in kept.iter() {
            if !fresh.0.iter().any(|it| Arc::ptr_eq(it, old)) {
                old.close();
            }
        }
        *kept = fresh.0;
    }

    /// The issuers for the connections.
    pub fn issuers(&self) -> Arc<Issuers> {
        let kept = self.kept();
        Arc::new(Issuers(
            kept.iter().map(|it| Arc::clone(&it.issuer)).collect(),
        ))
    }

    /// Entries of `cn=monitor` that say how it stands with the keys of each issuer.
    pub fn shown(&self) -> Vec<ShownEntry> {
        let kept = self.kept();
        let container = ShownEntry {
            name: "cn=Issuers".to_owned(),
            values: Vec::new(),
        };
        let each = kept.iter().enumerate().map(|(at, it)| it.shown(at));
        let container = (!kept.is_empty()).then_some(container);
        container.into_iter().chain(each).collect()
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Kept>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An issuer and the thread that keeps its keys; one of those before, if its settings are the same.
fn kept(settings: &IssuerSettings, before: &[Arc<Kept>]) -> Result<Arc<Kept>, String> {
    if let Some(same) = before.iter().find(|it| it.settings == *settings) {
        return Ok(Arc::clone(same));
    }
    let (wish, wishes) = sync_channel(1);
    // A full channel has a wish already; a closed one belongs to no thread any more.
    let wake = move || {
        let _ = wish.try_send(());
    };
    let kept = Kept {
        settings: settings.clone(),
        issuer: Arc::new(Issuer::new(settings.terms.clone(), Box::new(wake))),
        standing: Mutex::default(),
    };
    let stamp = match &settings.keys {
        KeySource::File(path) => {
            let stamp = stamp(path);
            let read = read(path).map_err(|error| format!("sasl.oauth.keys: {error}"))?;
            kept.have(Ok(read));
            stamp
        }
        KeySource::Url { .. } => None,
    };
    let alike = |it: &&Arc<Kept>| {
        it.settings.keys == settings.keys && it.issuer.terms().issuer == settings.terms.issuer
    };
    if let Some(alike) = before.iter().find(alike)
        && kept.issuer.keys().is_empty()
    {
        kept.issuer.set_keys(alike.issuer.keys());
        *kept.standing() = alike.standing().clone();
    }
    let kept = Arc::new(kept);
    let weak = Arc::downgrade(&kept);
    let keep = move || match &weak.upgrade().map(|it| it.settings.keys.clone()) {
        Some(KeySource::File(path)) => keep_file(&weak, &wishes, path, stamp),
        Some(KeySource::Url { url, ca, refresh }) => {
            let pauses = Pauses {
                refresh: *refresh,
                least: FETCH_PAUSE_MIN,
            };
            keep_fetched(&weak, &wishes, &pauses, || fetch::fetch(url, ca));
        }
        None => {}
    };
    let spawned = std::thread::Builder::new()
        .name("issuer".to_owned())
        .spawn(keep);
    spawned.map_err(|error| format!("cannot start a thread for the keys of issuers: {error}"))?;
    Ok(kept)
}

impl Kept {
    /// The entry of `cn=monitor` for the issuer at this place of the settings.
    fn shown(&self, at: usize) -> ShownEntry {
        let Standing { read, trouble, .. } = self.standing().clone();
        let read = match read {
            Some(read) => format!("keys read {} s ago", read.elapsed().as_secs()),
            None => "no keys were read".to_owned(),
        };
        let info = match trouble {
            Some(trouble) => format!("{read}; not read again: {trouble}"),
            None => read,
        };
        ShownEntry {
            name: format!("cn=Issuer {at},cn=Issuers"),
            values: vec![
                ("labeledURI", self.settings.terms.issuer.clone()),
                ("monitorCounter", self.issuer.keys().len().to_string()),
                ("monitoredInfo", info),
            ],
        }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all keys away, for good.
    fn close(&self) {
        let mut standing = self.standing();
        standing.is_closed = true;
        self.issuer.set_keys(Arc::default());
    }

    /// Uses keys that were read, or notes why they could not be. The log says so once.
    fn have(&self, read: Result<KeySet, String>) {
        let issuer = &self.settings.terms.issuer;
        let mut standing = self.standing();
        if standing.is_closed {
            return;
        }
        match read {
            Ok(keys) => {
                let count = keys.len();
                self.issuer.set_keys(Arc::new(keys));
                standing.read = Some(Instant::now());
                match standing.trouble.take() {
                    Some(_) => tracing::warn!(issuer, count, "keys of the issuer read again"),
                    None => tracing::info!(issuer, count, "keys of the issuer read"),
                }
            }
            Err(error) => {
                if standing.trouble.as_ref() != Some(&error) {
                    let count = self.issuer.keys().len();
                    tracing::warn!(
                        issuer,
                        count,
                        "keys of the issuer not read, the known ones stay: {error}"
                    );
                }
                standing.trouble = Some(error);
            }
        }
    }
}

/// Reads a file of keys again each time it has changed, until the issuer is in use no more.
fn keep_file(kept: &Weak<Kept>, wishes: &Receiver<()>, path: &Path, mut seen: Stamp) {
    while wishes.recv_timeout(FILE_CHECK) != Err(RecvTimeoutError::Disconnected) {
        let Some(kept) = kept.upgrade() else {
            return;
        };
        let now = stamp(path);
        if now != seen {
            // Noted even if unusable, so that each change is reported once.
            seen = now;
            kept.have(read(path));
        }
    }
}

/// Times between two fetches.
struct Pauses {
    /// The usual time.
    refresh: Duration,
    /// The shortest time, whatever keys are wished for.
    least: Duration,
}

/// Fetches keys now and then, until the issuer is in use no more.
fn keep_fetched(
    kept: &Weak<Kept>,
    wishes: &Receiver<()>,
    pauses: &Pauses,
    fetch: impl Fn() -> Result<Vec<u8>, String>,
) {
    loop {
        let fetched = fetch().and_then(|it| KeySet::read(&it));
        let Some(kept) = kept.upgrade() else {
            return;
        };
        let pause = match fetched.is_ok() {
            true => pauses.refresh,
            false => pauses.refresh.min(FETCH_RETRY_MAX),
        };
        kept.have(fetched);
        drop(kept);
        if !wait(wishes, pause, pauses.least) {
            return;
        }
    }
}

/// Waits for a time, or only for `least` if a key is wished for. False if nobody can wish any more.
fn wait(wishes: &Receiver<()>, pause: Duration, least: Duration) -> bool {
    let begun = Instant::now();
    let mut until = begun + pause;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match wishes.recv_timeout(left) {
            Ok(()) => until = until.min(begun + least),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

fn read(path: &Path) -> Result<KeySet, String> {
    let wrong = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::File::open(path).and_then(|file| {
        let mut text = Vec::new();
        let most = sasl::token::KEY_SET_OCTETS_MAX as u64 + 1;
        io::Read::read_to_end(&mut io::Read::take(file, most), &mut text)?;
        Ok(text)
    });
    let text = text.map_err(|error| wrong(format!("expected a readable file, got: {error}")))?;
    KeySet::read(&text).map_err(wrong)
}
