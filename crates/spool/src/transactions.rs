//! The open transactions of one connection (RFC 5805), which collect updates until their end.
//!
//! Invariants:
//! - a transaction with a refused update is never committed: it is aborted at once, and updates
//!   that a client without waiting still sends for it are refused;
//! - an identifier chosen by the client begins with [`CHOSEN_PREFIX`], one of the server never
//!   does;
//! - no transaction outlives the connection or a Bind.

use crate::memory::Hold;
use policy::{Limit, Limits, Subject};
use protocol::{LdapResult, MessageId, ResultCode, oid, response};
use state::stop::{Refusal, Stop};
use state::write::Write;
use std::collections::HashMap;
use std::rc::Rc;

/// First byte of identifiers chosen by clients.
pub const CHOSEN_PREFIX: u8 = 0;
/// Maximum length of an identifier chosen by a client, in bytes: two UUIDs as text fit.
const CHOSEN_BYTES_MAX: usize = 80;
/// Maximum number of aborted transactions with client identifiers that are remembered until their
/// end is requested. Beyond it no transaction begins on the connection.
const ABORTED_MAX: usize = 1_000;

/// The transactions of one connection.
#[derive(Debug, Default)]
pub struct Transactions {
    open: HashMap<Box<[u8]>, Transaction>,
    /// Refusals of aborted transactions with client identifiers whose end was not requested yet.
    /// Without them the next update with such an identifier would begin a new transaction that
    /// lacks the first updates.
    aborted: HashMap<Box<[u8]>, Refusal>,
    /// Whether there are too many aborted ones, so that client identifiers begin no transaction any
    /// more.
    closed: bool,
    /// The last identifier made by the server.
    last: u64,
    /// Memory of the collected updates of all transactions, in bytes.
    bytes: usize,
    /// These bytes in the connection's budget; `None` before the first update.
    memory: Option<Hold>,
}

/// One open transaction.
#[derive(Debug)]
pub struct Transaction {
    /// The subject of the transaction's updates.
    pub subject: Rc<Subject>,
    updates: Vec<Update>,
    /// The greatest message id of its updates.
    greatest: MessageId,
    bytes: usize,
}

/// An update that waits for the end of its transaction.
#[derive(Debug)]
struct Update {
    id: MessageId,
    /// The resolved write; `None` while the old password of a Password Modify is being checked.
    write: Option<Write>,
}

impl Transactions {
    /// Starts a transaction with an identifier of the server, which is returned.
    pub fn start(&mut self, subject: &Rc<Subject>, limits: &Limits) -> Result<Box<[u8]>, Stop> {
        self.refuse_too_many(limits)?;
        self.last += 1;
        let identifier: Box<[u8]> = self.last.to_string().into_bytes().into();
        self.begin(&identifier, subject);
        Ok(identifier)
    }

    /// Starts a transaction with an identifier that the client chose.
    pub fn start_chosen(
        &mut self,
        identifier: &[u8],
        subject: &Rc<Subject>,
        limits: &Limits,
    ) -> Result<(), Stop> {
        check_chosen(identifier)?;
        if self.open.contains_key(identifier) {
            return Stop::refuse(
                ResultCode::PROTOCOL_ERROR,
                "a transaction with this identifier is open",
            );
        }
        if self.closed {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                format!("{ABORTED_MAX} aborted transactions were not ended: connect again"),
            );
        }
        if let Some(reason) = self.aborted.get(identifier) {
            return Err(reason.clone().into());
        }
        self.refuse_too_many(limits)?;
        self.begin(identifier, subject);
        Ok(())
    }

    /// The open transaction of an update. The first update with an identifier chosen by the client
    /// begins its transaction.
    pub fn of_update(
        &mut self,
        identifier: &[u8],
        subject: &Rc<Subject>,
        limits: &Limits,
    ) -> Result<&mut Transaction, Stop> {
        if !self.open.contains_key(identifier) {
            if !is_chosen(identifier) {
                return Err(unknown(identifier));
            }
            self.start_chosen(identifier, subject, limits)?;
        }
        let found = self.open.get_mut(identifier);
        Ok(found.expect("it was there or has just begun"))
    }

    /// Adds an update; `None` reserves its place for [`Transactions::fill`].
    pub fn add(
        &mut self,
        identifier: &[u8],
        id: MessageId,
        write: Option<Write>,
        limits: &Limits,
        memory: &Hold,
    ) -> Result<(), Stop> {
        let transaction = self.open.get_mut(identifier);
        let transaction = transaction.ok_or_else(|| unknown(identifier))?;
        if transaction.has(id) {
            return Stop::refuse(
                ResultCode::PROTOCOL_ERROR,
                format!("message id {id} is that of an earlier update of the transaction"),
            );
        }
        let max = limits.transaction_updates_max;
        if max > 0 && transaction.updates.len() >= max as usize {
            Limit::TransactionUpdates.count();
            return Stop::refuse(
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                format!("a transaction may have {max} updates (transaction_updates_max)"),
            );
        }
        let bytes = write.as_ref().map_or(0, Write::bytes);
        let (max, all) = (limits.transaction_bytes_max, self.bytes + bytes);
        if max > 0 && all > max {
            Limit::TransactionBytes.count();
            return Stop::refuse(
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                format!(
                    "the open transactions of a connection may take {max} bytes \
                     (transaction_bytes_max); this update would make it {all}"
                ),
            );
        }
        let memory = self.memory.get_or_insert_with(|| memory.beside());
        memory.set(all as u64)?;
        self.bytes = all;
        transaction.bytes += bytes;
        transaction.greatest = transaction.greatest.max(id);
        transaction.updates.push(Update { id, write });
        Ok(())
    }

    /// Puts an update into its reserved place.
    pub fn fill(&mut self, identifier: &[u8], id: MessageId, write: Write) -> Result<(), Stop> {
        let transaction = self.open.get_mut(identifier);
        let transaction = transaction.ok_or_else(|| unknown(identifier))?;
        let mut updates = transaction.updates.iter_mut();
        let update = updates.find(|it| it.id == id && it.write.is_none());
        let update = update.ok_or_else(|| unknown(identifier))?;
        let all = self.bytes + write.bytes();
        if let Some(memory) = &mut self.memory {
            memory.set(all as u64)?;
        }
        self.bytes = all;
        transaction.bytes += write.bytes();
        update.write = Some(write);
        Ok(())
    }

    /// Removes a transaction, to be committed or dropped, and returns its updates and their message
    /// ids; if `may` refuses its subject, the transaction is dropped.
    pub fn end(
        &mut self,
        identifier: &[u8],
        may: impl FnOnce(&Subject) -> Result<(), Stop>,
    ) -> Result<(Vec<Write>, Vec<MessageId>), Stop> {
        if let Some(reason) = self.aborted.remove(identifier) {
            return Err(reason.into());
        }
        let transaction = self.open.remove(identifier);
        let transaction = transaction.ok_or_else(|| unknown(identifier))?;
        self.give_back(transaction.bytes);
        may(&transaction.subject)?;
        let all = transaction.updates.into_iter();
        let known = all.filter_map(|it| Some((it.write?, it.id)));
        Ok(known.unzip())
    }

    /// Aborts a transaction after a refusal, with the notice of RFC 5805 §2.4.
    pub fn abort(&mut self, identifier: &[u8], why: &LdapResult, out: &mut Vec<u8>) {
        let open = self.open.remove(identifier);
        if is_chosen(identifier) && check_chosen(identifier).is_ok() {
            self.remember_aborted(identifier, why);
        }
        let Some(transaction) = open else { return };
        self.give_back(transaction.bytes);
        let notice = LdapResult::new(why.code, aborted_text(why));
        let name = Some(oid::ABORTED_TRANSACTION);
        response::write_extended_result(out, 0, &notice, name, Some(identifier), &[]);
    }

    /// Aborts all transactions after a refused request that may have belonged to any of them.
    pub fn abort_all(&mut self, why: &LdapResult, out: &mut Vec<u8>) {
        let mut all: Vec<Box<[u8]>> = self.open.keys().cloned().collect();
        all.sort();
        for identifier in all {
            self.abort(&identifier, why, out);
        }
        self.closed = true;
    }

    fn give_back(&mut self, bytes: usize) {
        self.bytes -= bytes;
        if let Some(memory) = &mut self.memory {
            let given_back = memory.set(self.bytes as u64);
            debug_assert!(given_back.is_ok(), "less than before is never refused");
        }
    }

    /// Aborts all transactions without notice (RFC 5805 §3.5).
    pub fn forget(&mut self) {
        // Most connections have none: avoids an assignment that would free two maps.
        if self.last > 0 || self.closed || !self.open.is_empty() || !self.aborted.is_empty() {
            let last = self.last;
            *self = Transactions {
                last,
                ..Transactions::default()
            };
        }
    }

    /// Whether an update with this message id waits in a transaction.
    pub fn holds(&self, id: MessageId) -> bool {
        self.open
            .values()
            .any(|it| it.updates.iter().any(|update| update.id == id))
    }

    fn begin(&mut self, identifier: &[u8], subject: &Rc<Subject>) {
        let transaction = Transaction {
            subject: Rc::clone(subject),
            updates: Vec::new(),
            greatest: 0,
            bytes: 0,
        };
        self.open.insert(identifier.into(), transaction);
    }

    fn refuse_too_many(&self, limits: &Limits) -> Result<(), Stop> {
        let max = limits.transactions_open_max;
        if max > 0 && self.open.len() >= max as usize {
            Limit::OpenTransactions.count();
            return Stop::refuse(
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                format!(
                    "a connection may have {max} open transactions (transactions_open_max): \
                     end one of them first"
                ),
            );
        }
        Ok(())
    }

    fn remember_aborted(&mut self, identifier: &[u8], why: &LdapResult) {
        if self.aborted.len() >= ABORTED_MAX {
            self.closed = true;
        } else if !self.aborted.contains_key(identifier) {
            let reason = Refusal::new(why.code, aborted_text(why));
            self.aborted.insert(identifier.into(), reason);
        }
    }
}

impl Transaction {
    /// Message ids usually increase, so comparing with the greatest one mostly suffices.
    fn has(&self, id: MessageId) -> bool {
        id <= self.greatest && self.updates.iter().any(|it| it.id == id)
    }
}

fn is_chosen(identifier: &[u8]) -> bool {
    identifier.first() == Some(&CHOSEN_PREFIX)
}

fn check_chosen(identifier: &[u8]) -> Result<(), Stop> {
    let length = identifier.len();
    if !is_chosen(identifier) || !(2..=CHOSEN_BYTES_MAX).contains(&length) {
        return Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!(
                "a transaction identifier of the client's own is a zero byte and 1 to {} bytes \
                 of its choice, got {length} bytes",
                CHOSEN_BYTES_MAX - 1
            ),
        );
    }
    Ok(())
}

fn unknown(identifier: &[u8]) -> Stop {
    let text = format!(
        "no open transaction has the identifier \"{}\"",
        identifier.escape_ascii()
    );
    Refusal::new(ResultCode::UNWILLING_TO_PERFORM, text).into()
}

fn aborted_text(why: &LdapResult) -> String {
    match why.diagnostic.as_str() {
        "" => "the transaction was aborted: an update was refused".to_owned(),
        text if text.starts_with("the transaction was aborted") => text.to_owned(),
        text => format!("the transaction was aborted: {text}"),
    }
}
