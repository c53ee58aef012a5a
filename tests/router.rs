//! The router of the test kit does to packets what tests of partitions rely on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use kit::router::{Link, Network};
use kit::{PATIENCE, Random};

/// Time in which a packet that gets through would have come.
const SOON: Duration = Duration::from_millis(300);

/// A connection from site `a` to site `b`, with its two ends.
fn connect(network: &Network) -> [TcpStream; 2] {
    let at_b = (network.address("b"), 0);
    let listener = network.at("b", || TcpListener::bind(at_b)).unwrap();
    let goal = listener.local_addr().unwrap();
    let one = network.at("a", || TcpStream::connect_timeout(&goal, PATIENCE));
    let one = one.unwrap();
    let (other, _) = listener.accept().unwrap();
    for end in [&one, &other] {
        end.set_nodelay(true).unwrap();
        end.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    [one, other]
}

fn socket(network: &Network, site: &str) -> UdpSocket {
    let address = (network.address(site), 0);
    network.at(site, || UdpSocket::bind(address)).unwrap()
}

/// Sends a datagram from one socket to another, and panics unless it comes.
#[track_caller]
fn passes(from: &UdpSocket, to: &UdpSocket) {
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    from.send_to(b"datagram", to.local_addr().unwrap()).unwrap();
    to.recv(&mut [0; 16]).unwrap();
}

/// Sends a datagram from one socket to another, and panics if it comes.
#[track_caller]
fn is_stopped(from: &UdpSocket, to: &UdpSocket) {
    to.set_read_timeout(Some(SOON)).unwrap();
    from.send_to(b"datagram", to.local_addr().unwrap()).unwrap();
    to.recv(&mut [0; 16]).unwrap_err();
}

/// How long a byte takes there and back.
fn round_trip(one: &mut TcpStream, other: &mut TcpStream) -> Duration {
    let started = Instant::now();
    let mut byte = [7];
    one.write_all(&byte).unwrap();
    other.read_exact(&mut byte).unwrap();
    other.write_all(&byte).unwrap();
    one.read_exact(&mut byte).unwrap();
    started.elapsed()
}

/// Sends `bytes` bytes and returns how long it took until all had come, unchanged.
fn transfer(one: &mut TcpStream, other: &mut TcpStream, bytes: usize) -> Duration {
    let mut random = Random::announced("transfer");
    let sent: Vec<u8> = (0..bytes).map(|_| random.number() as u8).collect();
    let mut received = vec![0; bytes];
    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| one.write_all(&sent).unwrap());
        other.read_exact(&mut received).unwrap();
    });
    assert!(received == sent, "what came is not what was sent");
    started.elapsed()
}

#[test]
fn a_delay_counts_in_each_direction() {
    let network = Network::new(&["a", "b"]);
    let [mut one, mut other] = connect(&network);
    let without = (0..10).map(|_| round_trip(&mut one, &mut other)).min();
    assert!(without < Some(Duration::from_millis(40)), "{without:?}");

    network.set_both("a", "b", Link::delayed(Duration::from_millis(40)));
    let with = round_trip(&mut one, &mut other);
    assert!(with >= Duration::from_millis(80), "{with:?}");
    let started = Instant::now();
    let [mut one, mut other] = connect(&network);
    assert!(started.elapsed() >= Duration::from_millis(80));

    // Many packets are on their way at once: 40 MB in turns of 64 KB would take 50 s.
    let took = transfer(&mut one, &mut other, 40_000_000);
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_cut_of_one_direction_stops_it_alone_and_heals() {
    let network = Network::new(&["a", "b", "c"]);
    let [a, b, c] = ["a", "b", "c"].map(|site| socket(&network, site));
    passes(&a, &b);
    let [mut one, mut other] = connect(&network);
    round_trip(&mut one, &mut other);

    network.set("a", "b", Link::cut());
    is_stopped(&a, &b);
    passes(&b, &a);
    passes(&a, &c);
    passes(&c, &b);
    one.write_all(b"late").unwrap();
    other.set_read_timeout(Some(SOON)).unwrap();
    other.read_exact(&mut [0; 4]).unwrap_err();

    network.set("a", "b", Link::default());
    passes(&a, &b);
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut late = [0; 4];
    other.read_exact(&mut late).unwrap();
    assert_eq!(&late, b"late");
}

#[test]
fn a_cut_stops_what_is_on_its_way() {
    let network = Network::new(&["a", "b"]);
    let [a, b] = ["a", "b"].map(|site| socket(&network, site));
    let delay = Duration::from_secs(2);
    network.set("a", "b", Link::delayed(delay));
    a.send_to(b"datagram", b.local_addr().unwrap()).unwrap();
    network.set("a", "b", Link::cut());
    b.set_read_timeout(Some(delay + SOON)).unwrap();
    b.recv(&mut [0; 16]).unwrap_err();
    assert_eq!(network.lost_packets(), 1);
}

#[test]
fn lost_packets_are_sent_again() {
    let network = Network::with_packets(&["a", "b"], 1_500);
    let [mut one, mut other] = connect(&network);
    let link = Link {
        loss: 0.01,
        ..Link::default()
    };
    network.set_all(link);
    transfer(&mut one, &mut other, 5_000_000);
    // Of about 3,500 packets.
    assert!(network.lost_packets() > 5, "{}", network.lost_packets());
}

#[test]
fn a_rate_holds_transfers_back() {
    let network = Network::with_packets(&["a", "b"], 1_500);
    let [mut one, mut other] = connect(&network);
    let link = Link {
        bytes_per_s: Some(1_000_000),
        ..Link::default()
    };
    network.set("a", "b", link);
    let took = transfer(&mut one, &mut other, 1_000_000);
    assert!(took > Duration::from_millis(700), "{took:?}");
    let back = transfer(&mut other, &mut one, 1_000_000);
    assert!(back < took, "{back:?} against {took:?}");
}

#[test]
fn programs_run_at_a_site_and_end_with_the_network() {
    let network = Network::new(&["a"]);
    let answer = network.command("a", "ip").args(["-br", "addr"]).output();
    let answer = String::from_utf8(answer.unwrap().stdout).unwrap();
    assert!(answer.contains("10.77.1.1/16"), "{answer}");

    let mut left = network.command("a", "sleep").arg("600").spawn().unwrap();
    let path = network.control();
    assert!(path.exists());
    drop(network);
    assert!(!left.wait().unwrap().success());
    assert!(!path.exists());
}
