//! Counts connections, in total and by address, and limits them.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use directory::{Connections, ListenerState};
use policy::Limit;
use policy::network::party;

use crate::limits::ConnectionLimits;
use crate::refusals::Refusals;
use crate::refused::Refused;
use crate::settings::{self, Listen};

/// Counters and limits, shared by the acceptor and the serving threads.
#[derive(Debug)]
pub struct Admission {
    limits: ArcSwap<ConnectionLimits>,
    total: AtomicUsize,
    accepted: AtomicU64,
    refused: AtomicU64,
    listeners: Vec<Arc<Entrance>>,
    refusals: Mutex<Refusals>,
    /// Empty if connections are not limited by address.
    addresses: Mutex<HashMap<IpAddr, usize>>,
}

/// Counters of one listener.
#[derive(Debug)]
pub struct Entrance {
    url: String,
    current: AtomicUsize,
    accepted: AtomicU64,
}

impl Admission {
    /// Counters without connections.
    pub fn new(limits: ConnectionLimits, listeners: &[Listen]) -> Arc<Self> {
        let entrance = |listen: &Listen| {
            Arc::new(Entrance {
                url: listen.to_string(),
                current: AtomicUsize::new(0),
                accepted: AtomicU64::new(0),
            })
        };
        Arc::new(Admission {
            limits: ArcSwap::from_pointee(limits),
            total: AtomicUsize::new(0),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            listeners: listeners.iter().map(entrance).collect(),
            refusals: Mutex::default(),
            addresses: Mutex::new(HashMap::new()),
        })
    }

    /// The limits.
    pub fn limits(&self) -> ConnectionLimits {
        **self.limits.load()
    }

    /// Sets new limits; connections beyond them stay open.
    pub fn set_limits(&self, settings: &settings::Connections) {
        self.limits.store(Arc::new(self.limits().with(settings)));
    }

    /// Counts a connection of a listener until its ticket is dropped.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn admit(
        self: &Arc<Self>,
        listener: usize,
        address: Option<IpAddr>,
    ) -> Result<Ticket, Refused> {
        let mut ticket = self.try_admit()?;
        if let Some(address) = address {
            ticket.count_from(address)?;
        }
        self.accepted.fetch_add(1, Ordering::Relaxed);
        ticket.entrance = self.listeners.get(listener).map(Arc::clone);
        if let Some(entrance) = &ticket.entrance {
            entrance.accepted.fetch_add(1, Ordering::Relaxed);
            entrance.current.fetch_add(1, Ordering::Relaxed);
        }
        Ok(ticket)
    }

    fn try_admit(self: &Arc<Self>) -> Result<Ticket, Refused> {
        let limit = self.limits().total;
        // Only the acceptor increments, so the count cannot grow in between.
        if self.total() >= limit {
            self.refused.fetch_add(1, Ordering::Relaxed);
            Limit::Connections.count();
            return Err(Refused::Total(limit));
        }
        self.total.fetch_add(1, Ordering::Relaxed);
        Ok(Ticket {
            admission: Arc::clone(self),
            load: None,
            entrance: None,
            address: None,
        })
    }

    /// The refusal of a peer that is no proxy, at a listener for proxies.
    pub fn no_proxy(&self) -> Refused {
        self.refused.fetch_add(1, Ordering::Relaxed);
        Refused::NoProxy
    }

    /// Refusals to be logged.
    pub fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of open connections.
    pub fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission {
    /// The present numbers of connections.
    pub fn connections(&self) -> Connections {
        let listener = |it: &Arc<Entrance>| ListenerState {
            url: it.url.clone(),
            current: it.current.load(Ordering::Relaxed) as u64,
            accepted: it.accepted.load(Ordering::Relaxed),
        };
        Connections {
            current: self.total() as u64,
            accepted: self.accepted.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            max: self.limits().most().map_or(0, |it| it as u64),
            listeners: self.listeners.iter().map(listener).collect(),
        }
    }
}

/// One connection's share of the counters, released on drop.
#[derive(Debug)]
pub struct Ticket {
    admission: Arc<Admission>,
    load: Option<Arc<AtomicUsize>>,
    entrance: Option<Arc<Entrance>>,
    address: Option<IpAddr>,
}

impl Ticket {
    /// Counts the connection on a serving thread, too.
    pub fn count_on(&mut self, load: &Arc<AtomicUsize>) {
        load.fetch_add(1, Ordering::Relaxed);
        self.load = Some(Arc::clone(load));
    }

    /// Records the reason for giving the connection up, for the log.
    pub fn refuse(&self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.admission.refusals().limit(why, address);
    }

    /// Records that the connection is ended because its client is too slow, for the log.
    pub fn cut(&self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.admission.refusals().slow(why, address);
    }

    /// Records why the client's certificate was not accepted, for the log.
    pub fn complain(&self, why: &dyn fmt::Display, address: Option<IpAddr>) {
        self.admission.refusals().certificate(why, address);
    }

    /// Counts the connection for this address; has an effect once.
    ///
    /// # Errors
    /// The address has its maximum number of connections.
    pub fn count_from(&mut self, address: IpAddr) -> Result<(), Refused> {
        let limit = self.admission.limits().per_address;
        if limit == 0 || self.address.is_some() {
            return Ok(());
        }
        let address = party(address);
        let mut addresses = self.admission.addresses();
        let count = addresses.entry(address).or_insert(0);
        if *count >= limit {
            self.admission.refused.fetch_add(1, Ordering::Relaxed);
            Limit::ConnectionsOfAddress.count();
            return Err(Refused::Address(limit));
        }
        *count += 1;
        drop(addresses);
        self.address = Some(address);
        Ok(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.admission.total.fetch_sub(1, Ordering::Relaxed);
        if let Some(load) = &self.load {
            load.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(entrance) = &self.entrance {
            entrance.current.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(address) = self.address {
            let mut addresses = self.admission.addresses();
            if let Some(count) = addresses.get_mut(&address) {
                *count -= 1;
                if *count == 0 {
                    addresses.remove(&address);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::limits;

    #[test]
    fn limits_hold_until_tickets_are_dropped() {
        let listen: Listen = "ldap://127.0.0.1:389".parse().unwrap();
        let admission = Admission::new(limits(3, 2, 100), &[listen]);
        let address = |last| Some(IpAddr::from([10, 0, 0, last]));
        let first = admission.admit(0, address(1)).unwrap();
        let second = admission.admit(0, address(1)).unwrap();
        let refused = admission.admit(0, address(1)).unwrap_err();
        assert_eq!(refused, Refused::Address(2));
        assert_eq!(admission.total(), 2);
        let mut third = admission.admit(0, None).unwrap();
        let refused = admission.admit(0, address(3)).unwrap_err();
        assert_eq!(refused, Refused::Total(3));
        let load = Arc::new(AtomicUsize::new(0));
        third.count_on(&load);
        assert!(third.count_from(IpAddr::from([10, 0, 0, 1])).is_err());
        assert!(third.count_from(IpAddr::from([10, 0, 0, 2])).is_ok());
        assert_eq!((admission.total(), load.load(Ordering::Relaxed)), (3, 1));
        let seen = admission.connections();
        assert_eq!((seen.current, seen.accepted, seen.refused), (3, 3, 3));
        assert_eq!((seen.max, seen.listeners[0].current), (3, 3));
        drop((first, third));
        assert_eq!(admission.connections().listeners[0].current, 1);
        assert_eq!((admission.total(), load.load(Ordering::Relaxed)), (1, 0));
        assert!(admission.admit(0, address(1)).is_ok());
        drop(second);
        assert_eq!(admission.total(), 0);
        assert!(admission.addresses().is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_party() {
        let party = |text: &str| party(text.parse().unwrap()).to_string();
        assert_eq!(party("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(party("2001:db8:1:2::1"), party("2001:db8:1:2:ffff::"));
        assert_ne!(party("2001:db8:1:2::1"), party("2001:db8:1:3::1"));
        assert_eq!(party("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(party("10.0.0.1"), "10.0.0.1");
    }
}
