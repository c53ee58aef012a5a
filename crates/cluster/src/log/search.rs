//! Looking for a member of etcd that works: all are asked, the nearest first and the others soon
//! after, and the first good answer wins. Members that refuse are asked again while others hang.

use super::pool::{Backoff, Connected, Opening};
use super::probe::{self, Refusal};
use super::state::{Reason, Shared};
use etcd_client::Client;
use replica::commit_log::LogFailure;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Time between two looks whether a nearer member works again.
const NEARER: Duration = Duration::from_secs(10);
/// Time for which a member that was given up is not returned to because it is nearer.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// Time by which each member is asked later than the one before it.
const HEAD_START: Duration = Duration::from_millis(100);
/// Time after which a member that refused is asked again, as long as others have not answered.
const AGAIN: Duration = Duration::from_millis(250);

/// Keeps a member connected as long as the log is open.
pub(super) async fn keep(shared: &Arc<Shared>) {
    let pool = &shared.pool;
    let mut given_up = HashMap::new();
    let mut current = pool.current.subscribe();
    loop {
        let Some(connected) = search(shared).await else {
            return;
        };
        let url = connected.url.clone();
        tracing::debug!(url, "uses this member of etcd");
        pool.current.send_replace(Some(connected));
        pool.opening.send_replace(Opening::Tried);
        shared.set(Reason::Unreachable, None);
        let moved = loop {
            let lost = current.wait_for(Option::is_none);
            if tokio::time::timeout(NEARER, lost).await.is_ok() {
                break false;
            }
            if nearer(shared, &url, &given_up).await {
                break true;
            }
        };
        if !moved {
            given_up.insert(url, Instant::now());
        }
    }
}

/// Moves to a nearer member if one works; tells whether it did.
async fn nearer(shared: &Arc<Shared>, url: &str, given_up: &HashMap<String, Instant>) -> bool {
    let recently = |url: &String| given_up.get(url).is_some_and(|it| it.elapsed() < GIVEN_UP);
    // A member in use that is no member any longer is not in the list: all are nearer.
    for nearer in shared.pool.endpoints().iter().take_while(|it| *it != url) {
        if !recently(nearer) && probe::probe(shared, nearer).await.is_ok() {
            shared.pool.move_to(nearer);
            return true;
        }
    }
    false
}

/// Answer of a member.
struct Answer {
    url: String,
    answer: Result<Client, Refusal>,
    /// It is the first one of this member in a search.
    is_first: bool,
}

/// Why no member works.
#[derive(Default)]
struct Refusals {
    /// A sentence for each, by its URL.
    texts: BTreeMap<String, String>,
    /// A member whose program is too old.
    old: Option<Opening>,
    /// Failures of members that hold something else.
    failures: Vec<LogFailure>,
}

/// Asks all members again and again until one works; `None` if the log cannot be followed.
async fn search(shared: &Arc<Shared>) -> Option<Connected> {
    let pool = &shared.pool;
    let mut pause = Backoff::new();
    loop {
        let mut refusals = match ask_all(shared).await {
            Ok(connected) => return Some(connected),
            Err(refusals) => refusals,
        };
        // One wrong address among several is no reason to stop for good.
        if refusals.failures.len() * 2 >= pool.endpoints().len() {
            shared.fail(refusals.failures.swap_remove(0));
            pool.opening.send_replace(Opening::Tried);
            return None;
        }
        let texts = refusals.texts.into_values().collect::<Vec<String>>();
        let texts = texts.join("; ");
        let text = format!("etcd cannot be reached: {texts}");
        shared.set(Reason::Unreachable, Some(text));
        decide(&pool.opening, refusals.old.unwrap_or(Opening::Tried));
        pause.wait().await;
    }
}

/// Says how the first search ended, if this is the first.
fn decide(opening: &watch::Sender<Opening>, how: Opening) {
    opening.send_if_modified(|it| {
        let first = *it == Opening::Trying;
        if first {
            *it = how;
        }
        first
    });
}

/// Asks all members at nearly the same time, until one works or each has refused.
async fn ask_all(shared: &Arc<Shared>) -> Result<Connected, Refusals> {
    let pool = &shared.pool;
    let mut asking = JoinSet::new();
    let mut silent: usize = 0;
    for (url, head_start) in pool.order().into_iter().zip(0..) {
        asking.spawn(ask(shared.clone(), url, HEAD_START * head_start, true));
        silent += 1;
    }
    let mut refusals = Refusals::default();
    while let Some(answer) = asking.join_next().await {
        // Its panic was printed, and the others may work.
        let Ok(answer) = answer else {
            silent = silent.saturating_sub(1);
            continue;
        };
        silent = silent.saturating_sub(usize::from(answer.is_first));
        let url = answer.url;
        match answer.answer {
            Ok(client) => return Ok(pool.connection(url, client)),
            Err(refusal) => {
                // While etcd elects a leader, a moment later is enough, but one that hangs takes
                // seconds.
                if silent > 0 && matches!(refusal, Refusal::Trouble(_)) {
                    asking.spawn(ask(shared.clone(), url.clone(), AGAIN, false));
                }
                refusals.add(&url, refusal);
            }
        }
    }
    Err(refusals)
}

/// Asks a member after a pause.
async fn ask(shared: Arc<Shared>, url: String, pause: Duration, is_first: bool) -> Answer {
    tokio::time::sleep(pause).await;
    let answer = probe::probe(&shared, &url).await;
    Answer {
        url,
        answer,
        is_first,
    }
}

impl Refusals {
    /// Adds what a member said.
    fn add(&mut self, url: &str, refusal: Refusal) {
        match refusal {
            Refusal::Trouble(trouble) => {
                let text = format!("{url}: {trouble}");
                self.texts.insert(url.to_owned(), text);
            }
            Refusal::Old(found) => {
                let text = format!("{url} runs etcd {found}, older than 3.6");
                self.texts.insert(url.to_owned(), text);
                let endpoint = url.to_owned();
                self.old = Some(Opening::Old { endpoint, found });
            }
            Refusal::Failure(failure) => {
                self.texts.insert(url.to_owned(), failure.to_string());
                self.failures.push(failure);
            }
        }
    }
}
