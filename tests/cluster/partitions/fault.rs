//! Faults of sites and of the links between them.

use crate::wanderers::pause;
use kit::random::Random;
use kit::router::{Link, Network};
use kit::{Pando, etcd};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Names of the sites, each with the node of its number.
pub const SITES: [&str; 3] = ["a", "b", "c"];
/// All links: pairs of sites.
const PAIRS: [[usize; 2]; 3] = [[0, 1], [1, 2], [2, 0]];
/// Share of packets that a bad link loses.
const LOSS: f64 = 0.01;
/// Milliseconds of most faults at most.
const SHORT_MS: u64 = 5_000;
/// Milliseconds of some faults at most: longer than nodes hold a write back before they refuse it,
/// and than the patience of clients.
const LONG_MS: u64 = 20_000;

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The site with etcd's leader reaches no other, and none reaches it.
    CutLeader,
    /// A site that does not lead reaches no other, and none reaches it.
    CutFollower,
    /// Two sites do not reach each other; both reach the third one.
    CutPair,
    /// No packet of a site reaches the others; theirs reach it.
    Mute,
    /// No packet of the others reaches a site; its packets reach them.
    Deafen,
    /// No packet of a site reaches one of the others.
    CutOneWay,
    /// A site is cut off and comes back again and again.
    Flap,
    /// No site reaches another: there is no quorum.
    CutAll,
    /// All links are slow, as between continents.
    Delay,
    /// All links lose packets.
    Lose,
    /// etcd of a site hangs.
    PauseEtcd,
}

const FAULTS: [Fault; 11] = [
    Fault::CutLeader,
    Fault::CutFollower,
    Fault::CutPair,
    Fault::Mute,
    Fault::Deafen,
    Fault::CutOneWay,
    Fault::Flap,
    Fault::CutAll,
    Fault::Delay,
    Fault::Lose,
    Fault::PauseEtcd,
];

/// A fault, with all that chance decides about it.
#[derive(Debug, Clone, Copy)]
pub struct Struck {
    fault: Fault,
    /// Number of the site that suffers, of those that one does.
    victim: usize,
    /// How long it lasts at least.
    time: Duration,
    /// How long a site is cut off, and then back, when it flaps.
    beat: Duration,
    /// Time of a packet from site to site, when links are slow.
    delay: Duration,
}

impl Fault {
    /// All faults, each once, in an order by chance.
    pub fn shuffled(random: &mut Random) -> Vec<Fault> {
        let mut faults = FAULTS.to_vec();
        for last in (1..faults.len()).rev() {
            faults.swap(last, random.below(last as u64 + 1) as usize);
        }
        faults
    }

    /// Decides whom the fault strikes, and how hard.
    pub fn strike(self, random: &mut Random, leader: Option<usize>) -> Struck {
        let any = random.below(SITES.len() as u64) as usize;
        let victim = match (self, leader) {
            (Fault::CutLeader, Some(leader)) => leader,
            (Fault::CutFollower, Some(leader)) if leader == any => (any + 1) % SITES.len(),
            _ => any,
        };
        let longest = match random.below(8) {
            0 => LONG_MS,
            _ => SHORT_MS,
        };
        let mut milliseconds = |from, to| Duration::from_millis(from + random.below(to - from));
        Struck {
            fault: self,
            victim,
            time: milliseconds(longest / 10, longest),
            beat: milliseconds(100, 600),
            delay: milliseconds(40, 151),
        }
    }
}

impl Struck {
    /// Lets the fault happen, runs `meanwhile` with the numbers of the nodes that reach a quorum,
    /// and heals it.
    pub fn last(&self, network: &Network, nodes: &[Pando], meanwhile: impl FnOnce(&[usize])) {
        let until = Instant::now() + self.time;
        let etcd = nodes[self.victim].node();
        let [next, last] = self.others();
        let all = [self.victim, next, last];
        match self.fault {
            Fault::Flap => self.flap(network, until),
            Fault::PauseEtcd => etcd::signal(&etcd, Signal::STOP),
            Fault::Delay => self.set_links(network, Link::delayed(self.delay)),
            Fault::Lose => {
                let loss = Link {
                    loss: LOSS,
                    ..Link::default()
                };
                self.set_links(network, loss);
            }
            _ => self.set_links(network, Link::cut()),
        }
        meanwhile(match self.fault {
            Fault::Flap | Fault::CutAll => &[],
            Fault::CutLeader | Fault::CutFollower | Fault::Mute | Fault::Deafen => &all[1..],
            _ => &all,
        });
        pause(until.saturating_duration_since(Instant::now()));
        self.set_links(network, Link::default());
        etcd::signal(&etcd, Signal::CONT);
    }

    /// Numbers of the sites beside the victim.
    fn others(&self) -> [usize; 2] {
        [1, 2].map(|it| (self.victim + it) % SITES.len())
    }

    /// Sets all directions between sites on which the fault works.
    fn set_links(&self, network: &Network, link: Link) {
        let [next, last] = self.others();
        let out = [[self.victim, next], [self.victim, last]];
        let back = out.map(|[from, to]| [to, from]);
        let directions = match self.fault {
            Fault::CutPair => vec![out[0], back[0]],
            Fault::CutOneWay => vec![out[0]],
            Fault::Mute => out.to_vec(),
            Fault::Deafen => back.to_vec(),
            Fault::CutLeader | Fault::CutFollower | Fault::Flap => [out, back].concat(),
            Fault::CutAll | Fault::Delay | Fault::Lose => {
                let back = PAIRS.map(|[from, to]| [to, from]);
                [PAIRS, back].concat()
            }
            Fault::PauseEtcd => Vec::new(),
        };
        for [from, to] in directions {
            network.set(SITES[from], SITES[to], link);
        }
    }

    fn flap(&self, network: &Network, until: Instant) {
        while Instant::now() < until {
            for link in [Link::cut(), Link::default()] {
                self.set_links(network, link);
                pause(self.beat);
            }
        }
    }
}
