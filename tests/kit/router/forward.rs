//! The router: reads packets from each site's TUN device and writes them to that of their goal.
//!
//! Packets of one direction keep their order, so that a shorter delay does not let later ones
//! overtake.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_tun::Tun;

use super::control::{Link, Rules};
use super::space::{self, Space};
use crate::{PATIENCE, Random};

/// Time between two looks at the control file.
const LOOK: Duration = Duration::from_millis(20);
/// How long a packet waits for a slow link before it is lost, like in the buffer of a real router.
const QUEUE: Duration = Duration::from_millis(250);
/// Settings of the kernel for one namespace: windows for 200 MB/s over 80 ms, and no slow start
/// after a pause.
const SETTINGS: &[(&str, &str)] = &[
    ("tcp_rmem", "4096 131072 33554432"),
    ("tcp_wmem", "4096 131072 33554432"),
    ("tcp_slow_start_after_idle", "0"),
];

/// The thread that moves packets. Dropping it ends it, with its devices.
pub(super) struct Router {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    names: Vec<String>,
    state: Mutex<State>,
    applied: Condvar,
    lost: AtomicU64,
    end: Notify,
}

struct State {
    /// The control file as it was read last.
    text: String,
    rules: Rules,
    random: Random,
}

/// A packet on its way.
struct Packet {
    arrives: Instant,
    bytes: Vec<u8>,
}

/// One direction between two sites.
struct Direction {
    from: usize,
    to: usize,
    /// When the link has passed all bytes that were sent so far.
    free: Instant,
    queue: mpsc::UnboundedSender<Packet>,
}

impl Router {
    /// Makes the devices of all sites and begins to move packets.
    pub(super) fn start(
        spaces: &[Space],
        names: &[String],
        packet_bytes: u16,
        control: PathBuf,
    ) -> Router {
        let shared = Arc::new(Shared {
            names: names.to_vec(),
            state: Mutex::new(State {
                text: String::new(),
                rules: Rules::default(),
                random: Random::announced("router"),
            }),
            applied: Condvar::new(),
            lost: AtomicU64::new(0),
            end: Notify::new(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("the system has room for a runtime");
        // A device belongs to the namespace in which it is made, and to the runtime that reads it.
        let make = |(site, space): (usize, &Space)| {
            space.within(|| {
                let _entered = runtime.enter();
                device(site, packet_bytes)
            })
        };
        let devices = spaces.iter().enumerate().map(make).collect();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("router".to_owned());
        let thread = thread.spawn(move || runtime.block_on(route(own, devices, control)));
        Router {
            shared,
            thread: Some(thread.expect("the system has room for a thread")),
        }
    }

    /// Waits until packets are moved by the rules of `text`.
    pub(super) fn wait_until_applied(&self, text: &str) {
        let state = self.shared.state();
        let waits = |state: &mut State| state.text != text;
        let waited = self
            .shared
            .applied
            .wait_timeout_while(state, PATIENCE, waits);
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(state);
        assert!(
            !waited.timed_out(),
            "the router does not read its control file"
        );
    }

    pub(super) fn lost_packets(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.shared.end.notify_one();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Makes the device of a site, in whose namespace this thread is.
fn device(site: usize, packet_bytes: u16) -> Tun {
    for (name, value) in SETTINGS {
        let path = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let made = Tun::builder()
        .name("net0")
        .mtu(packet_bytes.into())
        .address(space::address(site))
        .netmask(Ipv4Addr::new(255, 255, 0, 0))
        .close_on_exec()
        .up()
        .build();
    let mut made = made.unwrap_or_else(|error| panic!("a TUN device cannot be made: {error}"));
    made.pop().expect("a device with one queue is one device")
}

/// Moves packets until the end is asked for.
async fn route(shared: Arc<Shared>, devices: Vec<Tun>, control: PathBuf) {
    let devices: Vec<Arc<Tun>> = devices.into_iter().map(Arc::new).collect();
    for from in 0..devices.len() {
        let mut directions = Vec::new();
        for (to, device) in devices.iter().enumerate() {
            let (queue, packets) = mpsc::unbounded_channel();
            directions.push(Direction {
                from,
                to,
                free: Instant::now(),
                queue,
            });
            let arrivals = arrive(Arc::clone(&shared), from, to, packets, Arc::clone(device));
            tokio::spawn(arrivals);
        }
        tokio::spawn(depart(
            Arc::clone(&shared),
            Arc::clone(&devices[from]),
            directions,
        ));
    }
    let mut looks = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            () = shared.end.notified() => return,
            _ = looks.tick() => shared.look_at(&control),
        }
    }
}

/// Takes the packets of one site.
async fn depart(shared: Arc<Shared>, device: Arc<Tun>, mut directions: Vec<Direction>) {
    let mut bytes = vec![0; usize::from(u16::MAX)];
    loop {
        let count = match device.recv(&mut bytes).await {
            Ok(count) => count,
            Err(error) => {
                eprintln!("router: a device cannot be read: {error}");
                return;
            }
        };
        let packet = &bytes[..count];
        let goal = goal(packet).and_then(|site| directions.get_mut(site));
        if let Some(direction) = goal
            && !direction.take(&shared, packet)
        {
            shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The site that a packet is for; `None` for what is not IPv4 between sites (RFC 791, 3.1).
fn goal(packet: &[u8]) -> Option<usize> {
    let version = packet.first()? >> 4;
    let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    space::site_of(Ipv4Addr::from(address)).filter(|_| version == 4)
}

impl Direction {
    /// Puts a packet on its way; `false` if it is lost.
    fn take(&mut self, shared: &Shared, packet: &[u8]) -> bool {
        let (link, is_lost) = {
            let mut state = shared.state();
            let link = shared.link(&state, self.from, self.to);
            (link, is_lost(&mut state.random, link.loss))
        };
        let now = Instant::now();
        let waits = self.free.saturating_duration_since(now);
        if link.is_cut || is_lost || waits > QUEUE {
            return false;
        }
        if let Some(rate) = link.bytes_per_s {
            let takes = packet.len() as f64 / rate as f64;
            self.free = now + waits + Duration::from_secs_f64(takes);
        }
        let packet = Packet {
            arrives: self.free.max(now) + link.delay,
            bytes: packet.to_vec(),
        };
        self.queue.send(packet).is_ok()
    }
}

fn is_lost(random: &mut Random, share: f64) -> bool {
    const PARTS: u64 = 1_000_000;
    (random.below(PARTS) as f64) < share * PARTS as f64
}

/// Hands over the packets of one direction when their time has come.
async fn arrive(
    shared: Arc<Shared>,
    from: usize,
    to: usize,
    mut packets: mpsc::UnboundedReceiver<Packet>,
    device: Arc<Tun>,
) {
    while let Some(packet) = packets.recv().await {
        if packet.arrives > Instant::now() {
            tokio::time::sleep_until(packet.arrives).await;
        }
        let is_cut = shared.link(&shared.state(), from, to).is_cut;
        // A site without processes that listen takes packets all the same; a full one loses them.
        if is_cut || device.send(&packet.bytes).await.is_err() {
            shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self, state: &State, from: usize, to: usize) -> Link {
        state.rules.link(&self.names[from], &self.names[to])
    }

    /// Reads the control file and goes by it, unless it is as before. One that cannot be read or
    /// parsed changes nothing.
    fn look_at(&self, control: &PathBuf) {
        let text = fs::read_to_string(control).unwrap_or_default();
        let mut state = self.state();
        if text == state.text {
            return;
        }
        match Rules::parse(&text) {
            Ok(rules) => state.rules = rules,
            Err(error) => eprintln!("router: {}: {error}", control.display()),
        }
        state.text = text;
        self.applied.notify_all();
    }
}
