//! One client thread: an epoll loop over its connections.
//!
//! A member is one virtual client: a connection for all operations but binds, and, when the job
//! binds, one for binds, so that a bind never changes the identity of other operations. It has as
//! many slots as requests may be in flight; a message id names its slot, so that an answer is
//! matched without a search. All answers of one read are handled, and all resulting requests are
//! written, with one system call each.
//!
//! Latency ends at the read that brings the answer. It begins at the read that freed the slot, or
//! in an open loop at the moment at which the operation was due, however late it could be sent.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::answer::{Answer, Verdict};
use super::failover::Failover;
use super::job::{NotWritten, Scratch};
use super::measure::{Message, Recorder, ThreadEnd};
use super::member::Member;
use super::shared::Run;
use super::{BenchError, JobKind};
use crate::pattern::Turn;

mod again;

/// Octets read from a connection at once.
const READ_BYTES: usize = 256 << 10;
/// Octets of an accepted answer at most.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// Longest time for which a thread waits before it reads the clock.
const LOOK_NS: i64 = 50_000_000;
const EVENTS_MAX: usize = 1024;

pub(crate) struct Client<'a> {
    run: &'a Run,
    thread: usize,
    sender: Sender<Message>,
    epoll: OwnedFd,
    members: Vec<Member>,
    /// Makes connections again, when connections are to be.
    failover: Option<Failover>,
    /// Requests in flight for each member; the number of slots is rounded up to a power of two.
    depth: usize,
    turn: Turn,
    scratch: Scratch,
    recorder: Recorder,
    buffer: Vec<u8>,
    /// Slots without a request, in an open loop.
    free: VecDeque<(usize, usize)>,
    /// Time at which the next operation is due, in an open loop.
    due_ns: f64,
    /// Members with unsent requests.
    dirty: Vec<usize>,
    in_flight: u64,
    /// Whether new operations are started.
    issuing: bool,
    cpu_begin_ns: Option<i64>,
    end: ThreadEnd,
}

impl<'a> Client<'a> {
    pub fn new(
        run: &'a Run,
        thread: usize,
        sender: Sender<Message>,
        members: Vec<Member>,
        depth: usize,
        seed: u64,
    ) -> io::Result<Client<'a>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (position, member) in members.iter().enumerate() {
            let links = [(&member.main, 0), (&member.binder, 1)];
            for (link, which) in links
                .iter()
                .filter_map(|(it, at)| Some((it.as_ref()?, *at)))
            {
                let data = EventData::new_u64(position as u64 * 2 + which);
                epoll::add(&epoll, &link.stream, data, EventFlags::IN)?;
                link.stream.set_nonblocking()?;
            }
        }
        Ok(Client {
            run,
            thread,
            sender,
            epoll,
            members,
            failover: run.failover.clone().map(Failover::start),
            depth,
            turn: Turn::new(crate::random::mix(seed, thread as u64)),
            scratch: Scratch::default(),
            recorder: Recorder::new(run.jobs.kinds.len(), run.now()),
            buffer: vec![0; READ_BYTES],
            free: VecDeque::new(),
            due_ns: run.now() as f64,
            dirty: Vec::new(),
            in_flight: 0,
            issuing: true,
            cpu_begin_ns: None,
            end: ThreadEnd {
                thread,
                last_ns: i64::MIN,
                last_answer_ns: -run.warm_up_ns,
                ..ThreadEnd::default()
            },
        })
    }

    /// Runs until the job is done, and reports to the main thread.
    pub fn work(mut self) {
        if let Err(error) = self.serve() {
            self.run.failed.store(true, Ordering::Relaxed);
            self.end.error = Some(error);
        }
        self.stop_cpu_clock();
        self.end.lost = self.in_flight;
        self.end.fates.unknown += self.in_flight;
        let (second, counts) = self.recorder.finish();
        // The main thread outlives this one; a closed channel means that it has failed.
        let _ = self.sender.send(Message::Second {
            thread: self.thread,
            second,
            counts,
        });
        let _ = self.sender.send(Message::End(self.end));
    }

    fn serve(&mut self) -> Result<(), BenchError> {
        let failed = |error: io::Error| BenchError::new(format!("waiting for answers: {error}"));
        let mut events = Vec::with_capacity(EVENTS_MAX);
        // Without it the kernel may wake an open loop 50 us late; an error only costs precision.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1_000));
        self.start_all()?;
        while self.goes_on() {
            self.flush_dirty();
            events.clear();
            let timeout = self.timeout();
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, spare, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            for event in &events {
                let (data, flags) = (event.data.u64(), event.flags);
                let (member, binder) = ((data / 2) as usize, data % 2 == 1);
                if flags.contains(EventFlags::OUT) {
                    self.mark(member);
                }
                if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                    self.receive(member, binder)?;
                }
                // Sent at once: the server can work while the other answers are read here.
                self.flush_dirty();
            }
        }
        Ok(())
    }

    /// Reads the clock; `false` when the run is over for this thread.
    fn goes_on(&mut self) -> bool {
        let now = self.run.now();
        if let Some((second, counts)) = self.recorder.roll(now) {
            let _ = self.sender.send(Message::Second {
                thread: self.thread,
                second,
                counts,
            });
        }
        if now >= 0 && self.cpu_begin_ns.is_none() {
            self.cpu_begin_ns = Some(thread_cpu_ns());
        }
        if now >= self.run.duration_ns || self.run.failed.load(Ordering::Relaxed) {
            self.stop_issuing();
        }
        self.take_connections(now);
        if self.issuing {
            // A failure to start an operation is kept and ends the loop.
            if let Err(error) = self.start_due(now) {
                self.end.error = Some(error);
                self.run.failed.store(true, Ordering::Relaxed);
                self.stop_issuing();
            }
        }
        let drained = now >= self.run.duration_ns.saturating_add(self.run.drain_ns);
        let answered = self.in_flight == 0 && !self.issuing;
        !(answered || drained || self.run.failed.load(Ordering::Relaxed))
    }

    fn stop_issuing(&mut self) {
        if self.issuing {
            self.issuing = false;
            if let Some(interval) = self.run.interval_ns.filter(|_| self.run.budget.is_none()) {
                let behind = self.run.duration_ns as f64 - self.due_ns;
                self.end.never_started = (behind / interval).max(0.0) as u64;
            }
            if self.run.duration_ns < i64::MAX {
                self.stop_cpu_clock();
            }
        }
    }

    fn stop_cpu_clock(&mut self) {
        if let Some(begin) = self.cpu_begin_ns.filter(|_| self.end.cpu_ns == 0) {
            self.end.cpu_ns = (thread_cpu_ns() - begin).max(0) as u64;
        }
    }

    fn timeout(&self) -> Timespec {
        let mut ns = LOOK_NS;
        if self.issuing && self.run.interval_ns.is_some() && !self.free.is_empty() {
            ns = ns
                .min((self.due_ns as i64).saturating_sub(self.run.now()))
                .max(0);
        }
        Timespec {
            tv_sec: 0,
            tv_nsec: ns as _,
        }
    }

    fn start_all(&mut self) -> Result<(), BenchError> {
        let now = self.run.now();
        // The outer loop runs over slots, so that few operations are spread evenly over the
        // connections.
        for slot in 0..self.depth {
            for member in 0..self.members.len() {
                if self.run.interval_ns.is_some() {
                    self.free.push_back((member, slot));
                } else {
                    self.start(member, slot, now)?;
                }
            }
        }
        Ok(())
    }

    /// Starts due operations in an open loop, as far as slots are free.
    fn start_due(&mut self, now: i64) -> Result<(), BenchError> {
        let Some(interval) = self.run.interval_ns else {
            return Ok(());
        };
        while self.issuing && self.due_ns as i64 <= now {
            let Some((member, slot)) = self.free.pop_front() else {
                break;
            };
            let due = self.due_ns as i64;
            self.due_ns += interval;
            self.start(member, slot, due)?;
        }
        Ok(())
    }

    /// Begins an operation in a free slot, unless all operations have been started.
    fn start(&mut self, member: usize, slot: usize, due_ns: i64) -> Result<(), BenchError> {
        if !self.issuing {
            return Ok(());
        }
        let measured = due_ns >= 0;
        if let Some(budget) = self.run.budget.as_ref().filter(|_| measured)
            && budget.fetch_sub(1, Ordering::Relaxed) <= 0
        {
            self.stop_issuing();
            return Ok(());
        }
        let kind = self.run.jobs.pick(&mut self.turn);
        let it = &mut self.members[member].slots[slot];
        it.kind = kind;
        it.binding = false;
        it.start_ns = due_ns;
        it.measured = measured;
        it.entries = 0;
        it.wrong_entry = false;
        self.in_flight += 1;
        if self.run.jobs.kinds[kind] == JobKind::Bind {
            return self.queue_bind(member, slot);
        }
        self.send(member, slot, false)
    }

    /// Sends a bind, or queues it behind the one in flight.
    fn queue_bind(&mut self, member: usize, slot: usize) -> Result<(), BenchError> {
        let it = &mut self.members[member];
        match &mut it.binder {
            Some(link) if link.busy => {
                it.waiting.push_back(slot);
                Ok(())
            }
            _ => self.send(member, slot, true),
        }
    }

    fn send(&mut self, member: usize, slot: usize, binder: bool) -> Result<(), BenchError> {
        let it = &mut self.members[member];
        let id = it.next_id(slot);
        let link = if binder { &mut it.binder } else { &mut it.main };
        let Some(link) = link else {
            // The server has closed the connection.
            it.slots[slot].id = 0;
            let measured = it.slots[slot].measured;
            self.in_flight -= 1;
            self.not_started(measured);
            return Ok(());
        };
        link.busy = binder;
        let target = &mut it.slots[slot];
        target.id = id;
        let (jobs, turn, scratch) = (&self.run.jobs, &mut self.turn, &mut self.scratch);
        let kind = jobs.kinds[target.kind];
        let before = link.out.len();
        if target.binding {
            jobs.write_auth_bind(id, &target.dn, turn, scratch, &mut link.out);
        } else {
            match jobs.write(kind, id, turn, scratch, &mut target.dn, &mut link.out) {
                Ok(()) => {}
                Err(NotWritten::Failed(error)) => return Err(error),
                Err(NotWritten::Exhausted) => {
                    link.out.truncate(before);
                    link.busy = false;
                    target.id = 0;
                    self.in_flight -= 1;
                    self.stop_issuing();
                    return Ok(());
                }
            }
        }
        if let Some(announcement) = self.run.announcement.as_ref().filter(|_| !binder) {
            announcement.note(&mut link.bundle_left, &mut link.out, before);
        }
        self.mark(member);
        Ok(())
    }

    fn mark(&mut self, member: usize) {
        if !self.members[member].dirty {
            self.members[member].dirty = true;
            self.dirty.push(member);
        }
    }

    fn flush_dirty(&mut self) {
        while let Some(member) = self.dirty.pop() {
            self.members[member].dirty = false;
            self.flush(member, false);
            self.flush(member, true);
        }
    }

    fn flush(&mut self, member: usize, binder: bool) {
        let Some(link) = self.members[member].link(binder) else {
            return;
        };
        if link.out.is_empty() {
            return;
        }
        let blocked = match link.send() {
            Ok(done) => !done,
            Err(error) => return self.close(member, binder, &error.to_string()),
        };
        if blocked != link.blocked {
            link.blocked = blocked;
            let flags = if blocked {
                EventFlags::IN | EventFlags::OUT
            } else {
                EventFlags::IN
            };
            let data = EventData::new_u64(member as u64 * 2 + u64::from(binder));
            if let Err(error) = epoll::modify(&self.epoll, &link.stream, data, flags) {
                self.close(member, binder, &error.to_string());
            }
        }
    }

    fn receive(&mut self, member: usize, binder: bool) -> Result<(), BenchError> {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let Some(link) = self.members[member].link(binder) else {
                self.buffer = buffer;
                return Ok(());
            };
            let count = link.stream.read(&mut buffer);
            let full = matches!(count, Ok(count) if count == buffer.len());
            let done = match count {
                Ok(0) => {
                    self.close(member, binder, "closed by the server");
                    Ok(())
                }
                Ok(count) => self.take_octets(member, binder, &buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                Err(error) => {
                    self.close(member, binder, &error.to_string());
                    Ok(())
                }
            };
            self.buffer = buffer;
            done?;
            if !full {
                return Ok(());
            }
        }
    }

    fn take_octets(
        &mut self,
        member: usize,
        binder: bool,
        octets: &[u8],
    ) -> Result<(), BenchError> {
        let now = self.run.now();
        let Some(link) = self.members[member].link(binder) else {
            return Ok(());
        };
        if link.partial.is_empty() {
            let taken = self.take_frames(member, binder, octets, now)?;
            if let Some(link) = self.members[member].link(binder) {
                link.partial.extend_from_slice(&octets[taken..]);
            }
            return Ok(());
        }
        let mut partial = std::mem::take(&mut link.partial);
        partial.extend_from_slice(octets);
        let taken = self.take_frames(member, binder, &partial, now)?;
        partial.drain(..taken);
        if let Some(link) = self.members[member].link(binder) {
            link.partial = partial;
        }
        Ok(())
    }

    /// Handles all complete answers; returns the number of their octets.
    fn take_frames(
        &mut self,
        member: usize,
        binder: bool,
        octets: &[u8],
        now: i64,
    ) -> Result<usize, BenchError> {
        let mut taken = 0;
        loop {
            match protocol::frame(&octets[taken..], MESSAGE_BYTES_MAX) {
                Ok(None) => return Ok(taken),
                Ok(Some(length)) => {
                    self.take_answer(member, binder, &octets[taken..taken + length], now)?;
                    taken += length;
                }
                Err(error) => {
                    self.close(member, binder, &format!("unreadable answer: {error}"));
                    return Ok(octets.len());
                }
            }
        }
    }

    fn take_answer(
        &mut self,
        member: usize,
        binder: bool,
        octets: &[u8],
        now: i64,
    ) -> Result<(), BenchError> {
        let Some(answer) = Answer::read(octets) else {
            self.surprise("unreadable answer".to_owned());
            return Ok(());
        };
        let it = &mut self.members[member];
        let position = answer.id as usize & (it.slots.len() - 1);
        let slot = &mut it.slots[position];
        if answer.id == 0 || slot.id != answer.id {
            let what = if answer.id == 0 {
                "notice"
            } else {
                "answer to no request"
            };
            self.surprise(format!("{what}: {}", answer.described(octets)));
            return Ok(());
        }
        let jobs = &self.run.jobs;
        let kind = jobs.kinds[slot.kind];
        match answer.judge(octets, jobs, kind, slot) {
            Verdict::More => Ok(()),
            Verdict::BindNow => {
                slot.binding = true;
                self.queue_bind(member, position)
            }
            Verdict::Done(surprise) => {
                self.end.last_answer_ns = now;
                if self.end.fates.answered(kind, answer.code()) {
                    self.end.timeline.mark(now + self.run.warm_up_ns);
                }
                let failed = surprise.is_some();
                if let Some(surprise) = surprise {
                    self.surprise(surprise);
                }
                if binder {
                    self.bind_answered(member)?;
                }
                self.complete(member, position, now, failed)
            }
        }
    }

    /// Sends the next bind, the bind connection being free.
    fn bind_answered(&mut self, member: usize) -> Result<(), BenchError> {
        let it = &mut self.members[member];
        if let Some(link) = &mut it.binder {
            link.busy = false;
        }
        match it.waiting.pop_front() {
            Some(slot) => self.send(member, slot, true),
            None => Ok(()),
        }
    }

    fn complete(
        &mut self,
        member: usize,
        position: usize,
        now: i64,
        failed: bool,
    ) -> Result<(), BenchError> {
        let slot = &mut self.members[member].slots[position];
        slot.id = 0;
        self.in_flight -= 1;
        // With a fixed number of operations exactly these count, otherwise operations that end in
        // time.
        let counts = match self.run.budget {
            Some(_) => slot.measured || now < 0,
            None => now < self.run.duration_ns,
        };
        if counts {
            let latency = (now - slot.start_ns).max(0) as u64;
            let (kind, entries) = (slot.kind, slot.entries);
            self.recorder.record(kind, latency, entries, failed);
            self.end.last_ns = self.end.last_ns.max(now);
        }
        if self.run.interval_ns.is_some() {
            self.free.push_back((member, position));
            return Ok(());
        }
        if now >= self.run.duration_ns {
            self.stop_issuing();
        }
        self.start(member, position, now)
    }

    fn surprise(&mut self, what: String) {
        *self.end.surprises.entry(what).or_default() += 1;
    }

    /// Drops a connection; its operations in flight are lost.
    fn close(&mut self, member: usize, binder: bool, why: &str) {
        let target = self.members[member].link(binder).map(|link| link.target);
        let (jobs, recorder) = (&self.run.jobs, &mut self.recorder);
        let unknown = &mut self.end.fates.unknown;
        let lost = self.members[member].lose(binder, jobs, |kind| {
            recorder.fail(kind);
            *unknown += 1;
        });
        self.in_flight -= lost;
        if let Some(target) = target.filter(|_| self.failover.is_some()) {
            self.ask_again(member, binder, target);
            return;
        }
        self.surprise(format!("connection lost: {why}"));
        if self.members.iter().all(Member::is_gone) {
            self.stop_issuing();
        }
    }
}

/// Returns the CPU time of this thread.
fn thread_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
