//! Questions for the log's end. One question to etcd serves all that came before it was sent.

use super::probe::{describe, is_slow, within};
use super::state::{Shared, place};
use etcd_client::GetOptions;
use replica::commit_log::{Fenced, Unreachable};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

/// A question, which is answered in any case.
pub(super) struct Question {
    then: Option<Fenced>,
}

impl Question {
    /// A question of a caller.
    pub(super) fn new(then: Fenced) -> Question {
        Question { then: Some(then) }
    }

    fn answer(mut self, answer: Result<u64, Unreachable>) {
        if let Some(then) = self.then.take() {
            then(answer);
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Some(then) = self.then.take() {
            then(Err(Unreachable("the log has ended".to_owned())));
        }
    }
}

/// Answers questions until the log ends.
pub(super) async fn run(shared: &Shared, mut questions: UnboundedReceiver<Question>) {
    while let Some(first) = questions.recv().await {
        let mut asking = vec![first];
        while let Ok(question) = questions.try_recv() {
            asking.push(question);
        }
        let answer = ask(shared).await;
        for question in asking {
            question.answer(answer.clone());
        }
    }
}

/// The log's end, by an answer that a majority stands behind.
async fn ask(shared: &Shared) -> Result<u64, Unreachable> {
    let wait = shared.settings.attempt_timeout;
    // Time for a member that hangs, and another one.
    let until = Instant::now() + wait * 3;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let connected = shared.pool.connected_within(left).await;
        let connected = connected.map_err(|error| match shared.trouble() {
            Some(trouble) => Unreachable(trouble),
            None => error,
        })?;
        let mut kv = connected.kv();
        let options = GetOptions::new().with_keys_only();
        let question = kv.get(shared.keys.named("cluster"), Some(options));
        match within(wait, question).await {
            Ok(answer) => {
                let head = answer.header().map_or(0, |it| place(it.revision()));
                shared.saw_head(head);
                return Ok(head);
            }
            Err(error) => {
                let error_text = describe(&error);
                if !is_slow(&error) {
                    shared.pool.give_up(&connected, &error_text);
                }
                if Instant::now() >= until {
                    return Err(Unreachable(error_text));
                }
                tokio::time::sleep(wait / 20).await;
            }
        }
    }
}
