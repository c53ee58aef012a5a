//! Connections of a client thread that end and are made again at the next server.

use std::sync::atomic::Ordering;

use rustix::event::epoll::{self, EventData, EventFlags};

use super::Client;
use crate::bench::failover::Ended;
use crate::bench::member::Link;

impl Client<'_> {
    /// Asks for a connection in the place of one that has ended.
    pub(super) fn ask_again(&mut self, member: usize, binder: bool, target: usize) {
        // What is due waits for a connection that is there.
        self.free.retain(|(owner, _)| *owner != member);
        if let Some(failover) = self.failover.as_ref().filter(|_| self.issuing) {
            failover.ask(Ended {
                member,
                binder,
                target,
            });
        }
    }

    /// Puts connections that have been made again in their places, and starts operations on them.
    pub(super) fn take_connections(&mut self, now: i64) {
        while let Some(again) = self.failover.as_ref().and_then(|it| it.take()) {
            let (member, binder) = (again.ended.member, again.ended.binder);
            let data = EventData::new_u64(member as u64 * 2 + u64::from(binder));
            let stream = again.stream;
            let watched = stream.set_nonblocking().and_then(|()| {
                epoll::add(&self.epoll, &stream, data, EventFlags::IN)?;
                Ok(())
            });
            if watched.is_err() {
                self.ask_again(member, binder, again.target);
                continue;
            }
            self.members[member].replace(binder, Link::new(stream, again.target));
            self.end.reconnections += 1;
            self.resume(member, now);
        }
        self.flush_dirty();
    }

    /// Starts operations in all slots that were idle because the connection was gone.
    fn resume(&mut self, member: usize, now: i64) {
        let idle = self.members[member].idle_slots(self.depth);
        if self.run.interval_ns.is_some() {
            self.free.retain(|(owner, _)| *owner != member);
            self.free
                .extend(idle.into_iter().map(|slot| (member, slot)));
            return;
        }
        for slot in idle {
            // A failure to start an operation ends the run.
            if let Err(error) = self.start(member, slot, now) {
                self.end.error = Some(error);
                self.run.failed.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Gives back what an operation took of the number of operations, as no connection was there.
    pub(super) fn not_started(&mut self, measured: bool) {
        if let Some(budget) = self.run.budget.as_ref().filter(|_| measured) {
            budget.fetch_add(1, Ordering::Relaxed);
        }
    }
}
