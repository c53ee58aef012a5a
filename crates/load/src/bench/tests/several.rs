//! Tests of load jobs against several servers.

use super::*;

/// A job against these servers, on two connections to each.
fn against(servers: &[&Small], mix: &str) -> Options {
    let mut options = options(servers[0], mix);
    options.urls = servers.iter().map(|it| it.url.clone()).collect();
    options.connections = 2 * servers.len();
    options.bind_as = Some(("cn=admin".to_owned(), "secret".to_owned()));
    options
}

fn below(base: &str) -> Option<Converge> {
    Some(Converge {
        base: Some(base.to_owned()),
        within: Duration::from_millis(1),
    })
}

#[test]
fn connections_are_spread_over_the_servers() {
    let servers = [(); 3].map(|()| Small::start(Manner::default()));
    let [one, two, three] = &servers;
    let report = run_quietly(&against(&[one, two, three], "modify"));
    assert!(report.is_clean(), "{}", report.text());
    for server in &servers {
        assert_eq!(server.count("bind"), 2);
    }
    let done: u64 = servers.iter().map(|it| it.count("modify")).sum();
    assert_eq!((done, report.outcomes.accepted), (40, 40));
    assert!(report.outcomes.all_done() && !report.text().contains("outcomes"));
}

#[test]
fn a_connection_that_ends_is_made_to_the_next_server() {
    let closing = Small::start(Manner {
        close_after: Some(6),
        ..Manner::default()
    });
    let lasting = Small::start(Manner::default());
    let mut options = against(&[&closing, &lasting], "modify");
    options.failover = true;
    options.operations = Some(400);
    let report = run_quietly(&options);
    let outcomes = &report.outcomes;
    assert_eq!(
        (report.operations, outcomes.done + outcomes.unknown),
        (400, 400),
        "{}",
        report.text()
    );
    assert_eq!(report.reconnections, 2, "{}", report.text());
    assert!(outcomes.unknown > 0 && outcomes.unknown <= 2 * 4);
    assert_eq!(report.failures, outcomes.unknown);
    assert!(
        report
            .text()
            .contains("ended and made again: 2 connections")
    );
    // The binds of its own connections, and those of the connections that came over.
    assert_eq!(lasting.count("bind"), 2 + 2);
}

#[test]
fn an_open_loop_waits_for_connections_and_keeps_its_operations() {
    let closing = Small::start(Manner {
        close_after: Some(3),
        ..Manner::default()
    });
    let lasting = Small::start(Manner::default());
    let mut options = against(&[&closing, &lasting], "modify");
    options.failover = true;
    options.rate = Some(2_000.0);
    options.operations = Some(100);
    let report = run_quietly(&options);
    assert_eq!(report.operations, 100, "{}", report.text());
    assert_eq!(report.reconnections, 2, "{}", report.text());
}

#[test]
fn a_server_that_cannot_be_connected_to_is_passed_over() {
    let there = Small::start(Manner::default());
    let mut options = against(&[&there], "modify");
    options.urls.insert(0, "ldap://127.0.0.1:1".to_owned());
    let refused = run(&options, &mut |_| {}).unwrap_err();
    assert!(refused.message.contains("ldap://127.0.0.1:1"), "{refused}");
    options.failover = true;
    let report = run_quietly(&options);
    assert!(report.is_clean(), "{}", report.text());
    assert_eq!(there.count("bind"), 2);
}

#[test]
fn refusals_are_counted_by_result_code() {
    let server = Small::start(Manner {
        code: 51,
        ..Manner::default()
    });
    let report = run_quietly(&options(&server, "modify"));
    assert_eq!(report.outcomes.refused["busy (51)"], 40);
    assert_eq!((report.outcomes.done, report.outcomes.unknown), (0, 0));
    let said = "outcomes: 0 done, 40 refused: 40 busy (51); 0 operations with unknown fate";
    assert!(report.text().contains(said), "{}", report.text());
    assert!(report.html().contains(said));
}

#[test]
fn answers_that_never_came_are_unknown() {
    let server = Small::start(Manner {
        silent_after: Some(5),
        ..Manner::default()
    });
    let mut options = options(&server, "modify");
    options.duration = Some(Duration::from_millis(500));
    options.operations = None;
    options.drain = Duration::from_millis(50);
    let report = run_quietly(&options);
    let outcomes = &report.outcomes;
    assert_eq!((outcomes.done, outcomes.unknown), (3 * 5, 3 * 4));
    assert!(report.longest_gap_s > 0.2, "{}", report.longest_gap_s);
}

#[test]
fn equal_servers_have_converged_and_others_have_not() {
    let entries = |entries| {
        Small::start(Manner {
            entries,
            ..Manner::default()
        })
    };
    let (one, same, other) = (entries(2), entries(2), entries(3));
    let mut equal = against(&[&one, &same], "modify");
    equal.converge = below("dc=com");
    let report = run_quietly(&equal);
    assert!(report.is_clean(), "{}", report.text());
    let converged = report.converged.clone().unwrap();
    assert!(converged.equal && converged.rate > 0.0);
    assert_eq!(
        (
            converged.servers,
            converged.entries,
            converged.equal_after_s
        ),
        (2, 2, 0.0)
    );
    assert!(report.text().contains("converged: "), "{}", report.text());
    let mut differing = against(&[&one, &other], "modify");
    differing.converge = below("dc=com");
    let report = run_quietly(&differing);
    assert!(!report.is_clean());
    assert!(
        report.text().contains("1 entry differ from"),
        "{}",
        report.text()
    );
    differing.converge = Some(Converge {
        base: None,
        ..below("").unwrap()
    });
    let report = run_quietly(&differing);
    let reason = report.converged.unwrap().reason.unwrap();
    assert!(reason.contains("naming contexts"), "{reason}");
    let mut alone = against(&[&one], "modify");
    alone.converge = below("dc=com");
    let refused = run(&alone, &mut |_| {}).unwrap_err();
    assert!(refused.message.contains("at least two URLs"), "{refused}");
}
