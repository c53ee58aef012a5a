//! Executes one message: at once, after earlier writes, or not at all.

use directory::{Flow, Worker};
use protocol::{LdapResult, Message, Request, ResultKind, write_result};

use super::look_ahead::{cancel_target, insists};
use super::stall::Stall;
use super::turn::Turn;
use super::{Connection, OUTPUT_BYTES_MAX, Rules, State};

/// A message and its bytes.
struct Whole<'a> {
    message: Message<'a>,
    bytes: &'a [u8],
}

impl Connection {
    /// Executes one message of the input, or holds it; false if it must wait for completions.
    pub(super) fn execute(
        &mut self,
        worker: &mut Worker,
        rules: &Rules,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let message = match Message::decode(bytes, &rules.limits) {
            Ok(message) => message,
            Err(error) => {
                self.refuse_malformed(worker, bytes, &error, out);
                return true;
            }
        };
        self.stall = Stall::None;
        let waits = !self.unfinished.is_empty() && !self.session.may_overlap(&message.request);
        let is_abandon = matches!(message.request, Request::Abandon(_));
        let whole = Whole { message, bytes };
        // Operations that end give memory back.
        let stalls = self.unfinished.is_alone() && !is_abandon
            || !self.unfinished.is_empty() && self.lack_of_room(&whole).is_some();
        let message = &whole.message;
        if stalls || waits && !self.held_reads.accept(message, bytes) {
            self.stall = Stall::Waits;
            return false;
        }
        self.heard = self.heard.wrapping_add(1).max(1);
        self.bundle.consider(message);
        if waits {
            let received = self.session.received();
            self.held_reads
                .hold(message.id, bytes, received, &self.unfinished);
            return true;
        }
        let done = self.perform(worker, rules, &whole, out);
        if !done {
            self.stall = Stall::Postponed;
        }
        done
    }

    /// Executes the held reads that need wait no longer, until one must wait or the turn is over.
    pub(super) fn execute_held(
        &mut self,
        worker: &mut Worker,
        rules: &Rules,
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) {
        while matches!(self.state, State::Open | State::Ending)
            && self.parked.is_none()
            && !self.stall.holds_reads()
            && !self.is_inside_message()
            && out.len() < OUTPUT_BYTES_MAX
        {
            let Some(read) = self.held_reads.next(&self.unfinished) else {
                return;
            };
            // Messages are held only after they were decoded once.
            let Ok(message) = Message::decode(&read.bytes, &rules.limits) else {
                continue;
            };
            let bytes = &read.bytes;
            let newer = self.session.set_received(read.received);
            let done = self.perform(worker, rules, &Whole { message, bytes }, out);
            self.session.set_received(newer);
            if !done {
                self.held_reads.give_back(read, &self.unfinished);
                self.stall = Stall::ReadPostponed;
                return;
            }
            if turn.is_over(rules.turn_time_max) {
                return;
            }
        }
    }

    /// Executes a message; false if it must be executed again after a completion.
    fn perform(
        &mut self,
        worker: &mut Worker,
        rules: &Rules,
        whole: &Whole<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let message = &whole.message;
        let refusal = self.refusal(rules, message);
        let refusal = refusal.or_else(|| worker.pressure.refusal(self.session.subject(), message));
        if let Some(refusal) = refusal.or_else(|| self.lack_of_room(whole)) {
            match ResultKind::of(message.request.tag()) {
                Some(kind) => {
                    write_result(out, message.id, kind, &refusal, &[]);
                    worker.refused(&mut self.session, whole.bytes, &refusal, out);
                }
                None => self.disconnect(refusal.code, &refusal.diagnostic, out),
            }
            self.bundle.answered();
            return true;
        }
        if self.ends_held(message) || self.ends_following(message, out) {
            return true;
        }
        if matches!(message.request, Request::Bind(_)) {
            self.session
                .admit_administrator(|peer| rules.administrator_from.admit(peer));
        }
        let flow = worker.execute(&mut self.session, message, out);
        if matches!(flow, Flow::Later) {
            self.unfinished.begin(message.id);
            return false;
        }
        let waits = matches!(flow, Flow::Waiting);
        self.follow(message.id, flow);
        if waits {
            self.unfinished.keep(whole.bytes.len());
        }
        if waits && matches!(message.request, Request::Bind(_)) {
            self.unfinished.set_alone();
        }
        true
    }

    /// The refusal of an update for which there is no memory while it waits to be executed; `None`
    /// for others.
    fn lack_of_room(&mut self, whole: &Whole<'_>) -> Option<LdapResult> {
        use Request::{Add, Delete, Extended, Modify, ModifyDn};
        match whole.message.request {
            Add(_) | Modify(_) | ModifyDn(_) | Delete(_) | Extended(_) => {
                let bytes = self.kept_bytes() + whole.bytes.len();
                self.session.require_room(bytes).err()
            }
            _ => None,
        }
    }

    /// Drops the held read that an Abandon names. False if the request is something else.
    fn ends_held(&mut self, message: &Message<'_>) -> bool {
        match message.request {
            Request::Abandon(target) if !insists(message) => self.held_reads.remove(target),
            _ => false,
        }
    }

    /// Applies a request to the following searches. True if it concerns nothing else.
    fn ends_following(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> bool {
        if self.followers.is_empty() {
            return false;
        }
        match &message.request {
            _ if insists(message) && !matches!(message.request, Request::Bind(_)) => false,
            Request::Abandon(target) => self.followers.remove(*target).is_some(),
            // RFC 4511 §4.2.1: no operation continues under another identity.
            Request::Bind(_) => {
                self.followers.clear();
                false
            }
            Request::Extended(it) => {
                let target = cancel_target(it);
                let Some(mut follower) = target.and_then(|it| self.followers.remove(it)) else {
                    return false;
                };
                follower.cancel(message.id, out);
                self.bundle.answered();
                true
            }
            _ => false,
        }
    }
}
