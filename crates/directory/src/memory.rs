//! What the server keeps in memory for its clients beyond the work of a slice: sort keys, lists of
//! views, entries found along links, large entries on their way, and what a connection has sent or
//! not taken. All of it is counted in one budget, what belongs to a connection in its account too.
//!
//! Little is not counted: what a hold has below 64 KiB is free, so that a usual request neither
//! touches what threads share nor is ever refused.

use protocol::ResultCode;
use state::stop::Stop;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted at a time, in bytes.
const CHUNK: u64 = 64 << 10;

/// The budget of a directory.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Bytes for all connections, and for each; 0 = no limit.
    bytes_max: u64,
    each_bytes_max: u64,
    taken: AtomicU64,
}

/// What one connection has taken.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Arc<Budget>,
    taken: Cell<u64>,
}

/// Bytes of the budget that something has taken, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Portion {
    budget: Arc<Budget>,
    bytes: u64,
}

/// Bytes that something of one connection has taken, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    portion: Portion,
    account: Rc<Account>,
}

impl Budget {
    /// So many bytes for all connections, and for each; 0 is no limit.
    pub fn new(bytes_max: u64, each_bytes_max: u64) -> Budget {
        Budget {
            bytes_max,
            each_bytes_max,
            taken: AtomicU64::new(0),
        }
    }

    /// Bytes that are taken now.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Account {
    /// That of a new connection.
    pub fn new(budget: &Arc<Budget>) -> Rc<Account> {
        Rc::new(Account {
            budget: Arc::clone(budget),
            taken: Cell::new(0),
        })
    }
}

impl Portion {
    /// A portion that has nothing.
    pub fn new(budget: &Arc<Budget>) -> Portion {
        Portion {
            budget: Arc::clone(budget),
            bytes: 0,
        }
    }

    /// Takes or gives back what makes it these bytes, in whole chunks.
    ///
    /// # Errors
    /// `busy` when all connections together would have more than they may; nothing is taken then.
    pub fn set(&mut self, bytes: u64) -> Result<(), Stop> {
        let wanted = bytes / CHUNK * CHUNK;
        if wanted <= self.bytes {
            self.give_back(self.bytes - wanted);
            return Ok(());
        }
        let more = wanted - self.bytes;
        let max = self.budget.bytes_max;
        let before = self.budget.taken.fetch_add(more, Ordering::Relaxed);
        if max != 0 && before + more > max {
            self.budget.taken.fetch_sub(more, Ordering::Relaxed);
            let text = format!(
                "what all connections have the server keep takes the {} MiB of memory that it \
                 may (connections.memory_mib_max): try again later",
                max >> 20
            );
            return Stop::refuse(ResultCode::BUSY, text);
        }
        self.bytes = wanted;
        Ok(())
    }

    /// As [`Portion::set`], but never gives back.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Stop> {
        match bytes > self.bytes {
            true => self.set(bytes),
            false => Ok(()),
        }
    }

    fn give_back(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.budget.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

impl Hold {
    /// A hold that has nothing, for one connection.
    pub fn of(account: &Rc<Account>) -> Hold {
        Hold {
            portion: Portion::new(&account.budget),
            account: Rc::clone(account),
        }
    }

    /// Another hold of the same connection.
    pub fn beside(&self) -> Hold {
        Hold::of(&self.account)
    }

    /// Takes or gives back what makes it these bytes, in whole chunks.
    ///
    /// # Errors
    /// `adminLimitExceeded` when the connection would have more than it may, `busy` when all would;
    /// nothing is taken then.
    pub fn set(&mut self, bytes: u64) -> Result<(), Stop> {
        let wanted = bytes / CHUNK * CHUNK;
        let own = self.account.taken.get() - self.portion.bytes + wanted;
        let each = self.account.budget.each_bytes_max;
        if each != 0 && own > each && wanted > self.portion.bytes {
            let text = format!(
                "what this connection has the server keep takes more than {} MiB of memory \
                 (connections.memory_each_mib_max): ask for less at a time",
                each >> 20
            );
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
        self.portion.set(bytes)?;
        self.account.taken.set(own);
        Ok(())
    }

    /// As [`Hold::set`], but never gives back.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Stop> {
        match bytes > self.portion.bytes {
            true => self.set(bytes),
            false => Ok(()),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let taken = self.account.taken.get();
        self.account.taken.set(taken - self.portion.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn code(refused: Result<(), Stop>) -> ResultCode {
        match refused {
            Err(Stop::Refused(refusal)) => refusal.code,
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    #[test]
    fn one_connection_and_all_have_their_limits() {
        let budget = Arc::new(Budget::new(5 * MIB, 3 * MIB));
        let (one, other) = (Account::new(&budget), Account::new(&budget));
        let (mut keys, mut input) = (Hold::of(&one), Hold::of(&one));
        keys.set(2 * MIB).unwrap();
        input.set(CHUNK - 1).unwrap();
        assert_eq!(budget.taken(), 2 * MIB, "little is free");
        input.set(MIB).unwrap();
        assert_eq!(
            code(keys.set(2 * MIB + CHUNK)),
            ResultCode::ADMIN_LIMIT_EXCEEDED
        );
        let mut view = Hold::of(&other);
        view.set(2 * MIB).unwrap();
        assert_eq!(code(view.set(2 * MIB + CHUNK)), ResultCode::BUSY);
        assert_eq!(code(Portion::new(&budget).set(MIB)), ResultCode::BUSY);
        keys.grow(1).unwrap();
        assert_eq!(budget.taken(), 5 * MIB);
        keys.set(0).unwrap();
        view.set(3 * MIB).unwrap();
        drop((keys, input, view));
        assert_eq!(
            (budget.taken(), one.taken.get(), other.taken.get()),
            (0, 0, 0)
        );
    }
}
