//! The operations log: one line for each answered operation, if enabled, and one for each failed
//! bind always.
//!
//! Lines are events of the target [`TARGET`]. Results and numbers of entries are read from the
//! encoded responses (`protocol::response_head`), so an operation does the same work with and
//! without the log.

use crate::pace::Pace;
use crate::peer::Peer;
use crate::session::Session;
use answers::request_words::{LoggedRequest, clip};
use policy::Decision;
use protocol::response_head::{ResponseHead, Said, response_head};
use protocol::{Message, MessageId, Request, ResultCode};
use replica::Clock;
use replica::attempts::{Attempt, Attempts, Tried};
use state::catalog::Catalog;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::Level;

/// Target of the events, by which logging settings select them.
pub const TARGET: &str = "operations";

/// Maximum number of failed binds logged per second, for all clients together.
static FAILED_BINDS: Pace = Pace::new(10);

/// Whether operations are logged. Costs one comparison if only warnings are logged.
#[inline(always)]
pub fn is_on() -> bool {
    tracing::enabled!(target: TARGET, Level::INFO)
}

/// Whether a response is a result other than success.
#[inline]
pub(crate) fn says_failure(response: &[u8]) -> bool {
    let said = response_head(response).map(|it| it.said);
    matches!(said, Some(Said::Result(code)) if is_failure(code))
}

/// The unfinished operations of one serving thread that are to be logged.
#[derive(Default)]
pub(crate) struct OperationsLog {
    /// The lines so far, by session and message id.
    begun: HashMap<(u64, MessageId), Line>,
    /// The plan of the search being executed; empty if none was made.
    plan: RefCell<String>,
    /// Number of entries that the search being executed has examined so far; `None` for another
    /// operation.
    examined: Cell<Option<u64>>,
    /// When the thread began to work on the current operation; `None` if that is not recorded.
    working_since: Option<Instant>,
    /// The audit's counts of failed binds, with the time of the node.
    attempts: Option<(Arc<Attempts>, Arc<dyn Clock>)>,
}

/// The line of one operation.
#[derive(Debug)]
struct Line {
    /// When the request was read.
    received: Instant,
    /// Time between the reading of the request and the beginning of its execution.
    queued: Duration,
    /// Time that the serving thread has worked on the operation.
    worked: Duration,
    /// The session's identity when the operation began.
    identity: String,
    address: Option<IpAddr>,
    operation: &'static str,
    is_bind: bool,
    asked: LoggedRequest,
    /// The access rule that refused the operation.
    denied: Option<String>,
    entries: u64,
    references: u64,
    /// The index that the search used; `None` for none.
    index: Option<String>,
    /// Number of entries that the search has examined; `None` if it needed no plan.
    examined: Option<u64>,
    /// Number of octets still to come of a response that is sent in parts.
    rest: usize,
}

impl OperationsLog {
    /// Whether no operation to be logged is unfinished.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// The log of a serving thread; failed binds also go to `attempts`.
    pub fn new(attempts: Option<(Arc<Attempts>, Arc<dyn Clock>)>) -> OperationsLog {
        OperationsLog {
            attempts,
            ..OperationsLog::default()
        }
    }

    /// Begins the line of an operation. `exchanged` is the user of the SASL exchange that a bind
    /// continues.
    pub fn begin(
        &mut self,
        catalog: &Catalog,
        session: &Session,
        message: &Message<'_>,
        exchanged: Option<String>,
    ) {
        let in_full = tracing::enabled!(target: TARGET, Level::TRACE);
        let mut asked = LoggedRequest::of(catalog, message, in_full);
        if let Some(user) = exchanged {
            asked.dn = Some(clip(&user));
        }
        let now = Instant::now();
        let received = session.received.unwrap_or(now);
        let line = Line {
            received,
            queued: now.saturating_duration_since(received),
            worked: Duration::ZERO,
            identity: session.bound_name().to_owned(),
            address: session.peer.address,
            operation: message.request.name(),
            is_bind: matches!(message.request, Request::Bind(_)),
            asked,
            denied: None,
            entries: 0,
            references: 0,
            index: None,
            examined: None,
            rest: 0,
        };
        self.plan.get_mut().clear();
        self.examined.set(None);
        self.working_since = Some(now);
        self.begun.insert((session.id, message.id), line);
    }

    /// Records that the thread goes on with an operation that was begun before.
    #[inline(always)]
    pub fn goes_on(&mut self) {
        if !self.begun.is_empty() {
            self.working_since = Some(Instant::now());
        }
    }

    /// Records the number of entries that the current search has examined since its beginning.
    #[inline(always)]
    pub fn examined(&self, entries: u64) {
        if !self.begun.is_empty() {
            self.examined.set(Some(entries));
        }
    }

    /// Records the plan of the current search; `plan` is called only if the search is logged.
    #[inline(always)]
    pub fn planned(&self, plan: impl FnOnce() -> String) {
        if !self.begun.is_empty() {
            self.keep_plan(plan());
        }
    }

    #[cold]
    fn keep_plan(&self, plan: String) {
        let mut kept = self.plan.borrow_mut();
        if !kept.is_empty() {
            kept.push_str("; ");
        }
        kept.push_str(&plan);
    }

    /// Reads the responses in `out`, sent by operation `id` of the session. `is_over` ends the
    /// operation.
    pub fn heard(&mut self, session: u64, id: MessageId, mut out: &[u8], is_over: bool) {
        let plan = std::mem::take(self.plan.get_mut());
        let examined = self.examined.take();
        let worked = self.working_since.take().map(|it| it.elapsed());
        let Some(line) = self.begun.get_mut(&(session, id)) else {
            return;
        };
        if !plan.is_empty() {
            line.index = Some(plan);
        }
        line.examined = examined.or(line.examined);
        line.worked += worked.unwrap_or_default();
        let rest = line.rest.min(out.len());
        line.rest -= rest;
        out = &out[rest..];
        while let Some(response) = response_head(out) {
            let sent = response.length.min(out.len());
            let denied = Said::Result(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
            if response.said == denied
                && let Some(line) = self.begun.get_mut(&(session, response.id))
            {
                line.denied = Decision::place_in_response(&out[..sent]);
            }
            self.note(session, &response, response.length - sent);
            out = &out[sent..];
        }
        if is_over && let Some(line) = self.begun.remove(&(session, id)) {
            line.log(session, id, None);
        }
    }

    /// Counts a failed bind for the audit.
    fn count_bind(
        &self,
        address: Option<IpAddr>,
        name: Option<String>,
        mechanism: Option<String>,
        code: ResultCode,
    ) {
        self.count(|| Attempt {
            tried: Tried::Bind { name, mechanism },
            address,
            code,
        });
    }

    /// Counts an attempt for the audit; `attempt` is called only if that counts them.
    fn count(&self, attempt: impl FnOnce() -> Attempt) {
        if let Some((attempts, clock)) = &self.attempts {
            attempts.count(attempt(), clock.now_us());
        }
    }

    /// Counts an operation for the audit if access rules have refused it. `out` begins with its
    /// result.
    #[cold]
    pub fn denied(&self, catalog: &Catalog, session: &Session, message: &Message<'_>, out: &[u8]) {
        let Some(response) = response_head(out) else {
            return;
        };
        let code = match response.said {
            Said::Result(code) if is_denial(code) => code,
            _ => return,
        };
        self.count(|| {
            let asked = LoggedRequest::of(catalog, message, false);
            let request = message.request.name();
            let subject = &session.subject;
            Attempt {
                tried: Tried::Operation {
                    by: subject.dn.clone(),
                    real: subject.proxied_by.as_ref().map(|it| it.dn.clone()),
                    place: Decision::place_in_response(&out[..response.length.min(out.len())])
                        .unwrap_or_default(),
                    request: match asked.name {
                        Some(name) => format!("{request} {name}"),
                        None => request.to_owned(),
                    },
                    entry: asked.dn.unwrap_or_default(),
                },
                address: session.peer.address,
                code,
            }
        });
    }

    fn note(&mut self, session: u64, response: &ResponseHead, rest: usize) {
        let key = (session, response.id);
        let Some(line) = self.begun.get_mut(&key) else {
            return;
        };
        line.rest = rest;
        match response.said {
            Said::Entry => line.entries += 1,
            Said::Reference => line.references += 1,
            Said::Intermediate => {}
            Said::Result(code) => {
                let line = self.begun.remove(&key).expect("it was just found");
                if line.is_bind && is_failure(code) {
                    let (name, mechanism) = (line.asked.dn.clone(), line.asked.mechanism.clone());
                    self.count_bind(line.address, name, mechanism, code);
                }
                line.log(session, response.id, Some(code));
            }
        }
    }

    /// Logs a request that was refused before its execution.
    pub fn refused(&self, session: &Session, message: &[u8], code: ResultCode) {
        let header = protocol::decode_header(message);
        tracing::info!(
            target: TARGET,
            connection = session.id,
            message = header.map(|it| it.0),
            identity = session.bound_name(),
            address = session.peer.address.map(tracing::field::display),
            result = %code,
            "refused"
        );
        if header.is_some_and(|it| it.1 == protocol::request::tag::BIND) {
            let address = session.peer.address;
            self.count_bind(address, None, None, code);
            log_failed_bind(session.id, address, None, None, code);
        }
    }

    /// Ends the lines of a closed connection.
    pub fn disconnected(&mut self, session: u64) {
        if !self.begun.is_empty() {
            for ((_, id), line) in self.begun.extract_if(|key, _| key.0 == session) {
                line.log(session, id, None);
            }
        }
        tracing::debug!(target: TARGET, connection = session, "disconnected");
    }
}

/// Logs a new connection.
pub(crate) fn connected(session: u64, peer: &Peer) {
    tracing::debug!(
        target: TARGET,
        connection = session,
        address = peer.address.map(tracing::field::display),
        user_id = peer.unix_uid,
        tls = peer.secure && peer.unix_uid.is_none(),
        "connected"
    );
}

impl Line {
    /// Writes the line. `code` is `None` for an operation without a response: it has none by
    /// definition, was abandoned, or its connection was closed.
    fn log(self, connection: u64, message: MessageId, code: Option<ResultCode>) {
        let asked = &self.asked;
        tracing::info!(
            target: TARGET,
            connection,
            message,
            identity = self.identity,
            address = self.address.map(tracing::field::display),
            operation = self.operation,
            dn = asked.dn,
            scope = asked.scope,
            filter = asked.filter,
            attributes = asked.attributes,
            new_rdn = asked.new_rdn,
            new_superior = asked.new_superior,
            name = asked.name,
            mechanism = asked.mechanism,
            acts_as = asked.acts_as,
            selected = asked.selected,
            controls = asked.controls,
            result = code.map(tracing::field::display),
            denied = self.denied,
            entries = (asked.scope.is_some()).then_some(self.entries),
            references = (self.references > 0).then_some(self.references),
            examined = self.examined,
            queue_us = self.queued.as_micros() as u64,
            execution_us = self.worked.as_micros() as u64,
            time_us = self.received.elapsed().as_micros() as u64,
            index = self.index,
            "answered"
        );
        if let Some(code) = code.filter(|it| self.is_bind && is_failure(*it)) {
            let (dn, mechanism) = (asked.dn.as_deref(), asked.mechanism.as_deref());
            log_failed_bind(connection, self.address, dn, mechanism, code);
        }
    }
}

fn is_failure(code: ResultCode) -> bool {
    !matches!(
        code,
        ResultCode::SUCCESS | ResultCode::SASL_BIND_IN_PROGRESS
    )
}

fn is_denial(code: ResultCode) -> bool {
    matches!(
        code,
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS | ResultCode::AUTHORIZATION_DENIED
    )
}

/// Logs a failed bind, at most as often as [`FAILED_BINDS`] admits.
fn log_failed_bind(
    connection: u64,
    address: Option<IpAddr>,
    dn: Option<&str>,
    mechanism: Option<&str>,
    code: ResultCode,
) {
    if let Some(left_out) = FAILED_BINDS.admit(Instant::now()) {
        tracing::warn!(
            target: TARGET,
            connection,
            address = address.map(tracing::field::display),
            dn,
            mechanism,
            result = %code,
            left_out = (left_out > 0).then_some(left_out),
            "bind failed"
        );
    }
}
