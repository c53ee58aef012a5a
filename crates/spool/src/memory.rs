//! The memory budget: memory that the server keeps for its clients between slices, such as sort
//! keys, lists of views, entries found along links, large entries being sent, and requests and
//! responses in buffers. All of this memory counts in one budget, and the memory of a connection
//! also in the connection's account.
//!
//! The first 64 KiB of a hold are not counted, so that a usual request neither writes memory shared
//! by threads nor is refused.

use policy::Limit;
use protocol::ResultCode;
use state::stop::Stop;
use state::view::Room;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unit of counting, in bytes.
const CHUNK: u64 = 64 << 10;

/// The memory budget of a directory.
#[derive(Debug)]
pub struct Budget {
    /// Maximum bytes of all connections, and of each; 0 for no limit.
    bytes_max: u64,
    each_bytes_max: u64,
    taken: AtomicU64,
}

/// Memory counted for one connection.
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    taken: Cell<u64>,
}

/// Bytes taken from the budget, returned on drop.
#[derive(Debug)]
pub struct Portion {
    budget: Arc<Budget>,
    bytes: u64,
}

/// Bytes taken from the budget for one connection, returned on drop.
#[derive(Debug)]
pub struct Hold {
    portion: Portion,
    account: Rc<Account>,
}

impl Budget {
    /// A budget of `bytes_max` for all connections and `each_bytes_max` for each; 0 for no limit.
    pub fn new(bytes_max: u64, each_bytes_max: u64) -> Budget {
        Budget {
            bytes_max,
            each_bytes_max,
            taken: AtomicU64::new(0),
        }
    }

    /// Bytes taken at present.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Account {
    /// The account of a new connection.
    pub fn new(budget: &Arc<Budget>) -> Rc<Account> {
        Rc::new(Account {
            budget: Arc::clone(budget),
            taken: Cell::new(0),
        })
    }
}

impl Portion {
    /// An empty portion.
    pub fn new(budget: &Arc<Budget>) -> Portion {
        Portion {
            budget: Arc::clone(budget),
            bytes: 0,
        }
    }

    /// Changes the portion to `bytes`, in whole chunks.
    ///
    /// # Errors
    /// `busy` if the budget would be exceeded; the portion is then unchanged.
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
            Limit::Memory.count();
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

    /// Like [`Portion::set`], but never decreases.
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
    /// An empty hold of one connection.
    pub fn of(account: &Rc<Account>) -> Hold {
        Hold {
            portion: Portion::new(&account.budget),
            account: Rc::clone(account),
        }
    }

    /// Whether no bytes are counted.
    pub fn is_empty(&self) -> bool {
        self.portion.bytes == 0
    }

    /// An empty hold of this connection.
    pub fn beside(&self) -> Hold {
        Hold::of(&self.account)
    }

    /// Changes the hold to `bytes`, in whole chunks.
    ///
    /// # Errors
    /// `adminLimitExceeded` if the connection's limit would be exceeded, `busy` if the budget
    /// would; the hold is then unchanged.
    pub fn set(&mut self, bytes: u64) -> Result<(), Stop> {
        let wanted = bytes / CHUNK * CHUNK;
        let own = self.account.taken.get() - self.portion.bytes + wanted;
        let each = self.account.budget.each_bytes_max;
        if each != 0 && own > each && wanted > self.portion.bytes {
            Limit::MemoryOfConnection.count();
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

    /// Like [`Hold::set`], but never decreases.
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

impl Room for Portion {
    fn grow(&mut self, bytes: u64) -> Result<(), Stop> {
        Portion::grow(self, bytes)
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
