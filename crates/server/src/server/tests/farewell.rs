//! Tests the last responses of a stopping server to clients that go on sending.

use super::*;

/// Every executed search is answered, however much more the client sends meanwhile.
#[test]
fn who_goes_on_sending_loses_no_answers() {
    let world = World::filled(
        |it| it.connections.stop_timeout = PATIENCE,
        |it| it.person("cn=b", 2000),
    );
    let mut client = world.connect_slowly();
    let mut sender = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        let mut sent = 0_u64;
        for id in 1.. {
            // Each response is longer than its request, so the client is always behind.
            match sender.write_all(&say::search(id, "cn=b")) {
                Ok(()) => sent += 1,
                Err(_) => return sent,
            }
        }
        sent
    });
    // The client reads nothing yet.
    world.wait_until(|it| it.entries_sent() > 500);
    let stopping = std::thread::scope(|scope| {
        let stopping = scope.spawn(|| world.server.stop());
        let mut answered = 0;
        let mut notices = 0;
        while notices == 0
            && let Some(word) = client.next()
        {
            match word {
                it if it.starts_with("entry") => answered += 1,
                it if it.starts_with("done") => {}
                it => {
                    assert!(it.starts_with("notice unavailable"), "{it}");
                    notices += 1;
                    client.stream.shutdown(Shutdown::Both).unwrap();
                }
            }
        }
        assert_eq!(notices, 1, "the last word is the notice");
        assert_eq!(answered, world.entries_sent());
        stopping.join()
    });
    stopping.unwrap();
    drop(client);
    assert!(sending.join().unwrap() > 100);
}

/// A silent client does not delay the stop of the server.
#[test]
fn silent_clients_are_seen_off_soon() {
    let world = World::new(|it| it.connections.stop_timeout = PATIENCE);
    let mut clients: Vec<_> = (0..20).map(|_| world.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(say::compare(1)), "compare 1 compareTrue");
    }
    let begun = Instant::now();
    world.server.stop();
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
}
