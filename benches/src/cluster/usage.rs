//! Processor time of the processes of a cluster, by process and by the name of the thread.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::Pid;

use super::fleet::Fleet;
use super::process::Role;

/// Processor time of every process and thread of a cluster, from its beginning until one moment.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Nanoseconds of each process, ended threads included: first the nodes, then the log.
    processes: Vec<Spent>,
}

#[derive(Clone, Debug)]
struct Spent {
    role: Role,
    total_ns: u64,
    /// Name and nanoseconds of each thread.
    threads: BTreeMap<u64, Thread>,
}

#[derive(Clone, Debug)]
struct Thread {
    name: String,
    ns: u64,
}

/// Processor time spent between two moments.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// Nanoseconds of each process: first the nodes, then the log.
    pub processes: Vec<Part>,
}

/// Processor time of one process between two moments.
#[derive(Clone, Debug)]
pub struct Part {
    /// What the process is for.
    pub role: Role,
    /// Nanoseconds of all threads, ended ones included.
    pub total_ns: f64,
    /// Nanoseconds by the name of the threads, without their numbers.
    pub threads: BTreeMap<String, f64>,
}

impl Usage {
    /// Looks at all processes that run.
    pub fn take(fleet: &Fleet) -> Usage {
        let all = fleet.nodes.iter().chain(&fleet.log);
        let pids = all.map(|it| (it.role, it.pid()));
        let members = fleet.hosts.iter().map(|folder| {
            let pid = kit::etcd::process(folder).map(Pid::as_raw_nonzero);
            (Role::Log, pid.map(|it| it.get().unsigned_abs()))
        });
        let spent = pids.chain(members).map(|(role, pid)| match pid {
            Some(pid) => spent(role, pid),
            None => Spent {
                role,
                total_ns: 0,
                threads: BTreeMap::new(),
            },
        });
        Usage {
            processes: spent.collect(),
        }
    }

    /// What was spent since `earlier`.
    pub fn since(&self, earlier: &Usage) -> Difference {
        let parts = self.processes.iter().zip(&earlier.processes);
        let parts = parts.map(|(now, then)| {
            let mut threads = BTreeMap::new();
            for (id, thread) in &now.threads {
                let before = then.threads.get(id).map_or(0, |it| it.ns);
                let spent = thread.ns.saturating_sub(before) as f64;
                *threads.entry(thread.name.clone()).or_default() += spent;
            }
            Part {
                role: now.role,
                total_ns: now.total_ns.saturating_sub(then.total_ns) as f64,
                threads,
            }
        });
        Difference {
            processes: parts.collect(),
        }
    }
}

impl Difference {
    /// This without `times` what was spent in `other`.
    pub fn without(&self, other: &Difference, times: f64) -> Difference {
        let parts = self.processes.iter().zip(&other.processes);
        let parts = parts.map(|(all, some)| {
            let threads = all.threads.iter().map(|(name, ns)| {
                let less = some.threads.get(name).copied().unwrap_or_default() * times;
                (name.clone(), (ns - less).max(0.0))
            });
            Part {
                role: all.role,
                total_ns: (all.total_ns - some.total_ns * times).max(0.0),
                threads: threads.collect(),
            }
        });
        Difference {
            processes: parts.collect(),
        }
    }

    /// Microseconds of all processes of a kind.
    pub fn us(&self, role: Role) -> f64 {
        let of_it = self.processes.iter().filter(|it| it.role == role);
        of_it.fold(0.0, |sum, it| sum + it.total_ns) / 1e3
    }

    /// Microseconds of the threads of all processes of a kind, by name, most first.
    pub fn threads_us(&self, role: Role) -> Vec<(String, f64)> {
        let mut sums = BTreeMap::<String, f64>::new();
        for part in self.processes.iter().filter(|it| it.role == role) {
            for (name, ns) in &part.threads {
                *sums.entry(name.clone()).or_default() += ns / 1e3;
            }
        }
        let mut sums: Vec<(String, f64)> = sums.into_iter().collect();
        sums.sort_by(|one, two| two.1.total_cmp(&one.1));
        sums
    }
}

/// Microseconds that the threads of this process with one name have spent.
pub fn own_threads_us(name: &str) -> f64 {
    let own = spent(Role::Node, std::process::id());
    let named = own.threads.values().filter(|it| it.name == name);
    named.map(|it| it.ns as f64 / 1e3).sum()
}

fn spent(role: Role, pid: u32) -> Spent {
    let mut threads = BTreeMap::new();
    let listed = fs::read_dir(format!("/proc/{pid}/task"));
    for entry in listed.into_iter().flatten().flatten() {
        let id = entry.file_name().to_string_lossy().parse();
        let name = fs::read_to_string(entry.path().join("comm"));
        let ns = fs::read_to_string(entry.path().join("schedstat"));
        let ns = ns
            .ok()
            .and_then(|text| text.split(' ').next()?.parse().ok());
        // A thread may end between listing and reading.
        if let (Ok(id), Ok(name), Some(ns)) = (id, name, ns) {
            let name = name
                .trim()
                .trim_end_matches(|it: char| it.is_ascii_digit() || it == '-');
            let name = name.to_owned();
            threads.insert(id, Thread { name, ns });
        }
    }
    Spent {
        role,
        total_ns: ticks(pid).unwrap_or_default() * tick_ns(),
        threads,
    }
}

/// Clock ticks that a process has spent, its ended threads included.
fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may itself contain spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ticks(11)? + ticks(12)?)
}

fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}
