//! Following the log's end by a watch.

use super::catch_up;
use super::intake::Intake;
use super::pool::{Connected, MESSAGE_BYTES_MAX, keys_of};
use super::probe::describe;
use super::state::{Shared, place, revision};
use super::tail::Stop;
use etcd_client::{Client, EventType, KvClient, WatchOptions, WatchRequestSender, WatchResponse};
use replica::commit_log::LogFailure;
use std::time::Duration;
use tokio::time::Instant;

/// Time without events after which the member is asked whether there are none.
const QUIET: Duration = Duration::from_secs(3);
/// The same while the log is known to be longer.
const QUIET_BEHIND: Duration = Duration::from_millis(200);
/// Revisions behind the end from which on a watch that had to pause is left for single reads.
const FAR: u64 = 256;
/// Time for which a member may stay behind the log's known end.
const BEHIND: Duration = Duration::from_secs(3);

/// A watch, and when it was last heard of.
struct Watch<'a> {
    shared: &'a Shared,
    kv: KvClient,
    requests: WatchRequestSender,
    heard: Instant,
    /// The member was asked for its progress: when, and which place was known then.
    asked: Option<Asked>,
    /// Since when answers have been behind the log's known end.
    behind: Option<Instant>,
    /// Place of the last event that was taken; 0 before the first. Its revision may have more.
    taken: u64,
}

struct Asked {
    at: Instant,
    head: u64,
}

/// Follows the log until something stops that.
pub(super) async fn follow(
    shared: &Shared,
    connected: &Connected,
    client: &Client,
    intake: &mut Intake,
) -> Stop {
    match watch(shared, connected, client, intake).await {
        Ok(never) => match never {},
        Err(stop) => stop,
    }
}

async fn watch(
    shared: &Shared,
    connected: &Connected,
    client: &Client,
    intake: &mut Intake,
) -> Result<std::convert::Infallible, Stop> {
    let options = WatchOptions::new()
        .with_prefix()
        .with_start_revision(revision(intake.last + 1))
        .with_progress_notify()
        .with_fragment();
    let watches = client.watch_client();
    let mut watches = watches.max_decoding_message_size(MESSAGE_BYTES_MAX);
    let wait = shared.settings.attempt_timeout;
    let question = watches.watch(shared.keys.prefix(), Some(options));
    let (requests, mut responses) = super::probe::within(wait, question).await?.split();
    let mut watch = Watch {
        shared,
        kv: keys_of(client),
        requests,
        heard: Instant::now(),
        asked: None,
        behind: None,
        taken: 0,
    };
    loop {
        let waited = shared.queue.room().await;
        if waited && shared.head() > intake.last.saturating_add(FAR) {
            return Err(Stop::Behind);
        }
        if waited {
            watch.go_on();
        }
        if !shared.pool.is_current(connected.number) {
            return Err(Stop::Behind);
        }
        let grown = shared.grown.notified();
        tokio::select! {
            // What has come is dealt with before anybody is blamed for silence.
            biased;
            response = responses.message() => match response {
                Ok(Some(response)) => watch.take(intake, &response).await?,
                Ok(None) => return Err(Stop::Trouble("the watch ended".to_owned())),
                Err(error) => return Err(Stop::Trouble(describe(&error))),
            },
            () = tokio::time::sleep_until(watch.deadline(intake)) => watch.ask().await?,
            // The deadline is another one now.
            () = grown => (),
        }
    }
}

impl Watch<'_> {
    /// When the member is asked for its progress, or given up after having been asked.
    fn deadline(&self, intake: &Intake) -> Instant {
        match &self.asked {
            Some(asked) => asked.at + self.shared.settings.attempt_timeout,
            None if self.shared.head() > intake.last => self.heard + QUIET_BEHIND,
            None => self.heard + QUIET,
        }
    }

    /// Begins to wait anew: it was this node that paused.
    fn go_on(&mut self) {
        let now = Instant::now();
        self.heard = now;
        if let Some(asked) = &mut self.asked {
            asked.at = now;
        }
    }

    /// Asks for progress, unless the answer to the last question is overdue.
    async fn ask(&mut self) -> Result<(), Stop> {
        if self.asked.is_some() {
            let text = "no answer to a question for the watch's progress";
            return Err(Stop::Trouble(text.to_owned()));
        }
        let head = self.shared.head();
        let at = Instant::now();
        self.asked = Some(Asked { at, head });
        Ok(self.requests.request_progress().await?)
    }

    /// Deals with a response.
    async fn take(&mut self, intake: &mut Intake, response: &WatchResponse) -> Result<(), Stop> {
        self.heard = Instant::now();
        let asked = self.asked.take();
        let revision = response.header().map_or(0, |it| place(it.revision()));
        self.shared.saw_head(revision);
        if response.canceled() || response.compact_revision() > 0 {
            let floor = place(response.compact_revision()).saturating_sub(1);
            if floor > intake.last {
                return Err(Stop::Failure(LogFailure::Trimmed { floor }));
            }
            let reason = response.cancel_reason();
            return Err(Stop::Trouble(format!("the watch was cancelled: {reason}")));
        }
        if !intake.is_primed() {
            // Only a cancellation was to be expected: the lanes' lengths cannot be read any more.
            let floor = intake.last + 1;
            return Err(Stop::Failure(LogFailure::Trimmed { floor }));
        }
        if response.created() {
            return Ok(());
        }
        if response.events().is_empty() {
            let until = asked.map_or(0, |it| it.head);
            return self.progress(intake, revision, until).await;
        }
        self.behind = None;
        for event in response.events() {
            let Some(found) = event.kv() else { continue };
            let at = place(found.mod_revision());
            if event.event_type() == EventType::Delete {
                let key = String::from_utf8_lossy(found.key()).into_owned();
                return Err(Stop::Damaged(format!(
                    "key {key} was deleted at place {at}: no node does that"
                )));
            }
            if at <= intake.last && at != self.taken {
                continue;
            }
            catch_up::missing(self.shared, &self.kv, intake, at - 1).await?;
            if self.shared.queue.room().await {
                self.go_on();
            }
            intake.take(self.shared, found).map_err(Stop::Damaged)?;
            self.taken = at;
        }
        Ok(())
    }

    /// The member has sent all events up to a revision. Before the question the log was known to
    /// reach `until`.
    async fn progress(
        &mut self,
        intake: &mut Intake,
        revision: u64,
        until: u64,
    ) -> Result<(), Stop> {
        catch_up::missing(self.shared, &self.kv, intake, revision).await?;
        if revision >= until {
            self.behind = None;
            return Ok(());
        }
        let since = self.behind.get_or_insert_with(Instant::now);
        if since.elapsed() > BEHIND {
            return Err(Stop::Trouble(format!(
                "it stays at place {revision}, but the log has reached place {until}"
            )));
        }
        Ok(())
    }
}
