//! State for one operation: a snapshot, its catalog, and the writer, the hashing threads and the
//! feed, which continue operations.

use crate::account::hashing::{HashPool, Task, Work, has_clear_passwords};
use crate::completion::Mailbox;
use crate::context::{Context, Lent};
use crate::directory_state::DirectoryState;
use crate::feed::Listener;
use crate::last_name::LastName;
use crate::operations_log::OperationsLog;
use crate::reply::Reply;
use crate::request_writes::RequestWrites;
use crate::session::{HeldWrite, Session};
use crate::ticket::Pending;
use policy::access::candidate::Candidate;
use policy::seats::Seats;
use policy::{Limit, Subject, VerifiedCache};
use protocol::{Message, MessageId, ResultCode, ResultKind};
use shadow::Waiting;
use spool::cookie::CookieKey;
use state::catalog::Catalog;
use state::stop::Stop;
use state::view::Served;
use state::write::{Change, Write};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use store::Snapshot;

/// State for one operation.
pub(crate) struct Call<'p> {
    pub snapshot: &'p Snapshot<'p>,
    pub catalog: &'p Catalog,
    pub lent: Lent<'p>,
    pub verified: &'p VerifiedCache,
    pub cookie_key: &'p CookieKey,
    pub tls: bool,
    pub last_name: &'p RefCell<LastName>,
    pub scratch: &'p RefCell<Vec<u8>>,
    pub shared: &'p DirectoryState,
    pub mailbox: &'p Arc<dyn Mailbox>,
    pub hashes: &'p HashPool,
    pub operations: &'p OperationsLog,
    /// Requests to be judged by a candidate for the access rules.
    pub waiting: &'p RefCell<Waiting>,
    /// The bound sessions of the thread.
    pub seats: &'p Rc<Seats>,
}

impl Call<'_> {
    /// The context of this subject.
    #[inline]
    pub fn context<'c>(&'c self, subject: &'c Subject) -> Context<'c> {
        let (snapshot, catalog) = (self.snapshot, self.catalog);
        Context::of_request(snapshot, catalog, subject, &self.lent)
    }

    /// Has a request judged by the candidate for the access rules, once it is answered.
    #[cold]
    pub fn shadow(&self, candidate: &Candidate, subject: &Rc<Subject>, message: &Message<'_>) {
        let now_us = self.lent.steady_us();
        let mut waiting = self.waiting.borrow_mut();
        waiting.keep(candidate, subject, message, now_us);
    }

    /// A place among the followers, for a search of the session.
    pub fn listen(
        &self,
        session: &Session,
        id: MessageId,
        subject: &str,
        max: u32,
    ) -> Result<Listener, Stop> {
        let feed = &self.shared.feed;
        let listener = feed.listen(session.id, id, subject, max, self.mailbox);
        listener.map_or_else(
            || {
                Limit::Followers.count();
                let text = format!(
                    "{max} searches of this subject follow the directory already \
                     (followers_max): end one of them first"
                );
                Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text)
            },
            Ok,
        )
    }

    /// Submits the writes of a request, through the hashing threads if they have a clear-text
    /// password. Later requests of the session wait for it, so that their order is kept.
    pub fn submit(
        &self,
        session: &mut Session,
        id: MessageId,
        kind: ResultKind,
        writes: Box<RequestWrites>,
        reply: Reply,
    ) -> Result<(), Stop> {
        let changes_own = session.bound.is_some() && self.changes_own_password(session, &writes);
        let to_hash = has_clear_passwords(&writes, self.catalog.known.user_password.type_id);
        if to_hash && !session.hashing {
            let work = Work::Hash {
                writes,
                kind,
                reply,
            };
            self.hash(session, id, work)?;
            session.hashing = true;
        } else {
            let request = Pending {
                session: session.id,
                id,
                kind,
                reply,
                mailbox: Arc::clone(self.mailbox),
            };
            match session.hashing {
                true => session.held.made().push_back(HeldWrite {
                    writes,
                    request,
                    to_hash,
                }),
                false => {
                    session.hashing = request.reply.again.is_some();
                    self.shared.replica.submit(writes.submission(request));
                }
            }
        }
        session.waiting += 1;
        if changes_own && let Some(bound) = &mut session.bound {
            bound.changes_password(id);
        }
        Ok(())
    }

    /// Whether writes change the password with which the session is bound.
    fn changes_own_password(&self, session: &Session, writes: &RequestWrites) -> bool {
        let password = self.catalog.known.user_password.type_id;
        let (subject, administrator) = (&session.subject, &self.catalog.administrator);
        let is_own = |write: &Write| {
            let kept = administrator
                .as_ref()
                .filter(|_| subject.is_administrator());
            subject.is_self(write.name())
                || kept.is_some() && write.name().is_within(&self.catalog.config)
        };
        writes.all().iter().any(|write| match &write.change {
            Change::Modify(changes) => {
                let mut types = changes.iter().map(|it| it.given.description.type_id);
                types.any(|it| it == password) && is_own(write)
            }
            _ => false,
        })
    }

    /// Drops waiting work of the hashing threads.
    pub fn abandon(&self, session: &Session, id: MessageId) {
        let lane = session.peer.lane();
        self.hashes.abandon(self.mailbox, session.id, lane, id);
    }

    /// Submits work to the hashing threads.
    pub fn hash(&self, session: &Session, id: MessageId, work: Work) -> Result<(), Stop> {
        let mailbox = Arc::clone(self.mailbox);
        self.hashes.submit(Task {
            lane: session.peer.lane(),
            session: session.id,
            id,
            mailbox,
            scheme: self.catalog.passwords.scheme,
            verifiers: self.catalog.verifiers(),
            work,
        })
    }
}
