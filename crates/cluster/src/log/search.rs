//! Looking for a member of etcd that works: all are asked, the nearest first and the others soon
//! after, and the first good answer wins.

use super::pool::{Backoff, Connected, Opening};
use super::probe::{self, Refusal};
use super::state::{Reason, Shared};
use etcd_client::Client;
use replica::commit_log::LogFailure;
use std::collections::HashMap;
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

/// What a member answered.
struct Answer {
    url: String,
    answer: Result<Client, Refusal>,
}

/// Why no member works.
#[derive(Default)]
struct Refusals {
    /// A sentence for each.
    texts: Vec<String>,
    /// A member whose program is too old.
    old: Option<Opening>,
    /// What members say that hold something else.
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
        let texts = refusals.texts.join("; ");
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

/// Asks all members at nearly the same time.
async fn ask_all(shared: &Arc<Shared>) -> Result<Connected, Refusals> {
    let pool = &shared.pool;
    let mut asking = JoinSet::new();
    for (url, head_start) in pool.order().into_iter().zip(0..) {
        let shared = shared.clone();
        asking.spawn(async move {
            tokio::time::sleep(HEAD_START * head_start).await;
            let answer = probe::probe(&shared, &url).await;
            Answer { url, answer }
        });
    }
    let mut refusals = Refusals::default();
    while let Some(answer) = asking.join_next().await {
        // Its panic was printed, and the others may work.
        let Ok(Answer { url, answer }) = answer else {
            continue;
        };
        match answer {
            Ok(client) => return Ok(pool.connection(url, client)),
            Err(refusal) => refusals.add(&url, refusal),
        }
    }
    Err(refusals)
}

impl Refusals {
    /// Adds what a member said.
    fn add(&mut self, url: &str, refusal: Refusal) {
        match refusal {
            Refusal::Trouble(trouble) => self.texts.push(format!("{url}: {trouble}")),
            Refusal::Old(found) => {
                let text = format!("{url} runs etcd {found}, older than 3.6");
                self.texts.push(text);
                let endpoint = url.to_owned();
                self.old = Some(Opening::Old { endpoint, found });
            }
            Refusal::Failure(failure) => {
                self.texts.push(failure.to_string());
                self.failures.push(failure);
            }
        }
    }
}
