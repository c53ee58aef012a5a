//! Tests of load jobs against a small server that records requests.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::request::tag as request_tag;
use protocol::{
    Authentication, ChangeOperation, DecodeLimits, LdapResult, Message, Request, ResultCode,
    ResultKind,
};

use super::*;
use crate::template::{Defines, Template};

mod several;

/// Behaviour of the test server towards its clients.
#[derive(Clone, Copy, Default)]
struct Manner {
    /// Result code of all operations except searches and binds.
    code: u16,
    /// Number of entries that a search finds.
    entries: usize,
    /// Number of requests on a connection after which the server stops answering.
    silent_after: Option<usize>,
    /// Number of connections after which the server refuses more.
    full_after: Option<usize>,
    /// Number of requests after which the server closes a connection.
    close_after: Option<usize>,
    /// Name of the returned entries instead of the base.
    other_name: bool,
}

/// Requests that the server has received.
#[derive(Default)]
struct Seen {
    operations: BTreeMap<&'static str, u64>,
    names: Vec<String>,
    identities: Vec<String>,
}

struct Small {
    url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Small {
    /// Serves on a free port until the test's process ends.
    fn start(manner: Manner) -> Small {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ldap://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let manner = Manner {
                    full_after: manner.full_after.filter(|limit| number >= *limit),
                    ..manner
                };
                let (stream, shared) = (stream.unwrap(), shared.clone());
                std::thread::spawn(move || serve(stream, manner, &shared));
            }
        });
        Small { url, seen }
    }

    fn count(&self, operation: &str) -> u64 {
        self.seen
            .lock()
            .unwrap()
            .operations
            .get(operation)
            .copied()
            .unwrap_or(0)
    }
}

fn serve(mut stream: TcpStream, manner: Manner, seen: &Mutex<Seen>) -> Option<()> {
    let mut input = Vec::new();
    let mut buffer = [0; 65_536];
    let mut requests = 0;
    let mut identity = String::new();
    loop {
        while let Some(length) = protocol::frame(&input, 1 << 20).unwrap() {
            requests += 1;
            if manner.close_after.is_some_and(|limit| requests > limit) {
                return None;
            }
            let mut out = Vec::new();
            if manner.full_after.is_some() {
                let full = LdapResult::new(ResultCode::UNAVAILABLE, "full");
                protocol::write_notice_of_disconnection(&mut out, &full);
                stream.write_all(&out).ok()?;
                return None;
            }
            let message = Message::decode(&input[..length], &DecodeLimits::default()).unwrap();
            if message
                .controls
                .iter()
                .any(|it| it.oid == protocol::oid::QUEUE_LENGTH)
            {
                let mut seen = seen.lock().unwrap();
                *seen.operations.entry("announced").or_default() += 1;
            }
            note(&message.request, &mut identity, &mut seen.lock().unwrap());
            if manner.silent_after.is_none_or(|limit| requests <= limit) {
                answer(&message, manner, &mut out);
            }
            stream.write_all(&out).ok()?;
            input.drain(..length);
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            count => input.extend_from_slice(&buffer[..count]),
        }
    }
}

fn note(request: &Request<'_>, identity: &mut String, seen: &mut Seen) {
    let (operation, name) = match request {
        Request::Bind(bind) => {
            let Authentication::Simple(password) = &bind.authentication else {
                panic!("{bind:?}")
            };
            *identity = bind.name.to_owned();
            assert!(bind.name.is_empty() || *password == b"secret");
            ("bind", bind.name)
        }
        Request::Search(search) => ("search", search.base),
        Request::Compare(compare) => ("compare", compare.entry),
        Request::Modify(modify) => match modify.changes.first().map(|it| it.operation) {
            Some(ChangeOperation::Add) => ("add-value", modify.object),
            Some(ChangeOperation::Delete) => ("delete-value", modify.object),
            _ => ("modify", modify.object),
        },
        Request::Add(add) => ("add", add.entry),
        Request::Delete(delete) => ("delete", delete.entry),
        Request::ModifyDn(modify_dn) => ("modify-dn", modify_dn.new_rdn),
        other => panic!("{other:?}"),
    };
    *seen.operations.entry(operation).or_default() += 1;
    seen.names.push(name.to_owned());
    seen.identities.push(identity.clone());
}

fn answer(message: &Message<'_>, manner: Manner, out: &mut Vec<u8>) {
    let tag = match &message.request {
        Request::Bind(_) => request_tag::BIND,
        Request::Search(search) => {
            let name = if manner.other_name {
                "cn=other"
            } else {
                search.base
            };
            for _ in 0..manner.entries {
                let mark = protocol::begin_search_entry(out, message.id, name.as_bytes());
                protocol::finish_search_entry(out, mark, &[]);
            }
            request_tag::SEARCH
        }
        Request::Compare(_) => request_tag::COMPARE,
        Request::Modify(_) => request_tag::MODIFY,
        Request::Add(_) => request_tag::ADD,
        Request::Delete(_) => request_tag::DELETE,
        _ => request_tag::MODIFY_DN,
    };
    let kind = ResultKind::of(tag).unwrap();
    let reads = matches!(kind, ResultKind::Bind | ResultKind::SearchDone);
    let code = if reads {
        ResultCode::SUCCESS
    } else {
        ResultCode(manner.code)
    };
    let result = LdapResult::new(code, if code.0 == 0 { "" } else { "as told" });
    protocol::write_result(out, message.id, kind, &result, &[]);
}

/// Runs forty operations of a job.
fn options(server: &Small, mix: &str) -> Options {
    let mut options = Options::new(&server.url, Mix::parse(mix).unwrap());
    options.connections = 3;
    options.depth = 4;
    options.threads = 2;
    options.duration = None;
    options.operations = Some(40);
    options.warm_up = Duration::ZERO;
    options.search.base = "uid=user.[1-9],dc=com".to_owned();
    options.search.scope = Scope::Base;
    options.dn = "uid=user.[1:1000],dc=com".to_owned();
    options.new_rdn = "uid=new.[ref:1]".to_owned();
    options.password = "secret".to_owned();
    options.add = AddSource::Patterns {
        dn: "uid=a.[1:1000],dc=com".to_owned(),
        attributes: vec![("sn".to_owned(), "[ref:1]".to_owned())],
    };
    options
}

fn run_quietly(options: &Options) -> Report {
    run(options, &mut |_| {}).unwrap()
}

#[test]
fn every_job_does_exactly_what_it_should() {
    for kind in JobKind::ALL {
        let code = if kind == JobKind::Compare { 6 } else { 0 };
        let server = Small::start(Manner {
            code,
            entries: 1,
            ..Manner::default()
        });
        let report = run_quietly(&options(&server, kind.name()));
        assert!(report.is_clean(), "{}", report.text());
        assert_eq!(
            (report.operations, report.jobs[0].operations),
            (40, 40),
            "{kind:?}"
        );
        if kind == JobKind::Auth {
            assert_eq!((server.count("search"), server.count("bind")), (40, 40));
        } else {
            assert_eq!(server.count(kind.name()), 40, "{kind:?}");
        }
    }
}

#[test]
fn sequences_are_used_once_over_all_threads() {
    let server = Small::start(Manner::default());
    run_quietly(&options(&server, "modify-dn"));
    let mut numbers: Vec<u32> = server
        .seen
        .lock()
        .unwrap()
        .names
        .iter()
        .map(|name| name.strip_prefix("uid=new.").unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
}

#[test]
fn a_sequence_that_ends_ends_the_run() {
    let server = Small::start(Manner::default());
    let mut options = options(&server, "delete");
    options.dn = "uid=[1:17]".to_owned();
    options.operations = None;
    options.duration = Some(Duration::from_secs(600));
    let report = run_quietly(&options);
    assert_eq!((report.operations, server.count("delete")), (17, 17));
    assert!(report.elapsed_s < 60.0, "{}", report.elapsed_s);
}

#[test]
fn adds_come_from_a_template() {
    let text = "branch: dc=com\nsubordinateTemplate: T:100\n\
                template: T\nrdnAttr: uid\nuid: <sequential>\n";
    let template = Template::parse(text, &Defines::new()).unwrap();
    let server = Small::start(Manner::default());
    let mut options = options(&server, "add");
    options.add = AddSource::Template {
        generator: Generator::new(template, 0),
        from: 1,
        to: 1_000,
    };
    options.operations = None;
    options.duration = Some(Duration::from_secs(600));
    assert_eq!(run_quietly(&options).operations, 100);
    let names: std::collections::BTreeSet<_> =
        server.seen.lock().unwrap().names.iter().cloned().collect();
    assert_eq!(names.len(), 100);
    assert!(names.contains("uid=99,dc=com"));
}

#[test]
fn binds_do_not_change_who_the_others_are() {
    let server = Small::start(Manner {
        entries: 1,
        ..Manner::default()
    });
    let mut options = options(&server, "auth=50,modify=50");
    options.bind_as = Some(("cn=admin".to_owned(), "secret".to_owned()));
    options.operations = Some(400);
    let report = run_quietly(&options);
    assert!(report.is_clean(), "{}", report.text());
    assert_eq!(report.operations, 400);
    assert_eq!(
        report.jobs.iter().map(|job| job.operations).sum::<u64>(),
        400
    );
    let seen = server.seen.lock().unwrap();
    let modifies = seen.operations["modify"] as usize;
    let as_admin = seen
        .identities
        .iter()
        .filter(|identity| *identity == "cn=admin")
        .count();
    // The requests are searches, modifies and the binds before the run.
    assert_eq!(as_admin, modifies + seen.operations["search"] as usize + 3);
    assert!((120..280).contains(&modifies), "{modifies}");
}

#[test]
fn binds_come_from_a_file() {
    let path = std::env::temp_dir().join(format!("pando-binds-{}", std::process::id()));
    std::fs::write(&path, "cn=one\tsecret\ncn=two\tsecret\n").unwrap();
    let server = Small::start(Manner::default());
    let mut options = options(&server, "bind");
    options.binds_file = Some(path.clone());
    let report = run_quietly(&options);
    assert!(
        report.is_clean()
            && server
                .seen
                .lock()
                .unwrap()
                .names
                .contains(&"cn=two".to_owned())
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn unexpected_answers_are_counted_and_named() {
    let server = Small::start(Manner {
        code: 50,
        entries: 2,
        ..Manner::default()
    });
    let report = run_quietly(&options(&server, "modify"));
    assert_eq!((report.failures, report.operations), (40, 40));
    assert_eq!(report.surprises[0].1, 40);
    assert!(
        report.surprises[0].0.contains("insufficientAccessRights"),
        "{:?}",
        report.surprises
    );
    assert!(
        report.surprises[0].0.contains("as told"),
        "{:?}",
        report.surprises
    );
    let report = run_quietly(&options(&server, "search"));
    assert_eq!(
        report.surprises,
        [("search: 2 entries found".to_owned(), 40)]
    );
    let report = run_quietly(&options(&server, "auth"));
    assert_eq!(report.surprises, [("auth: 2 entries found".to_owned(), 40)]);
    let report = run_quietly(&options(&server, "compare"));
    assert_eq!(report.failures, 40);
    let server = Small::start(Manner {
        entries: 1,
        other_name: true,
        ..Manner::default()
    });
    let report = run_quietly(&options(&server, "search"));
    assert_eq!(
        report.surprises,
        [("search: an entry of another name".to_owned(), 40)]
    );
}

#[test]
fn lost_answers_and_connections_end_the_run() {
    let server = Small::start(Manner {
        silent_after: Some(5),
        ..Manner::default()
    });
    let mut options = options(&server, "modify");
    options.duration = Some(Duration::from_millis(500));
    options.operations = None;
    options.drain = Duration::from_millis(50);
    let report = run_quietly(&options);
    assert_eq!((report.operations, report.lost), (3 * 5, 3 * 4));
    let server = Small::start(Manner {
        close_after: Some(5),
        ..Manner::default()
    });
    options.urls = vec![server.url.clone()];
    options.duration = Some(Duration::from_secs(600));
    let report = run_quietly(&options);
    assert_eq!(report.operations - report.failures, 3 * 5);
    assert!(
        report
            .surprises
            .iter()
            .any(|(what, _)| what.starts_with("connection lost"))
    );
}

#[test]
fn an_open_loop_keeps_its_rate_and_counts_waiting() {
    let server = Small::start(Manner {
        entries: 1,
        ..Manner::default()
    });
    let mut options = options(&server, "search");
    options.rate = Some(400.0);
    options.operations = None;
    options.duration = Some(Duration::from_millis(500));
    let report = run_quietly(&options);
    assert!(
        (100..=201).contains(&report.operations),
        "{}",
        report.text()
    );
    let silent = Small::start(Manner {
        silent_after: Some(1),
        ..Manner::default()
    });
    options.urls = vec![silent.url.clone()];
    options.drain = Duration::ZERO;
    let report = run_quietly(&options);
    let due = report.operations + report.lost + report.never_started;
    assert!(
        report.never_started > 100 && (195..=201).contains(&due),
        "{}",
        report.text()
    );
}

#[test]
fn seconds_and_reports_hold_what_was_measured() {
    let server = Small::start(Manner {
        code: 6,
        ..Manner::default()
    });
    let mut options = options(&server, "compare=1");
    options.expect_compare = Some(true);
    options.warm_up = Duration::from_millis(100);
    options.operations = None;
    options.duration = Some(Duration::from_millis(1_200));
    options.server_pid = Some(std::process::id());
    options.watched_file = std::env::current_exe().ok();
    let mut shown = Vec::new();
    let report = run(&options, &mut |second| shown.push(second.second)).unwrap();
    assert!(report.is_clean(), "{}", report.text());
    assert!(shown.ends_with(&[0, 1]), "{shown:?}");
    let measured = report.seconds.iter().filter(|second| !second.warm_up);
    assert_eq!(
        measured.map(|second| second.operations).sum::<u64>(),
        report.operations
    );
    assert!(report.server.unwrap().us_per_operation > 0.0 && report.client_us_per_operation > 0.0);
    assert!(report.latency.p50_us > 0.0 && report.latency.p50_us <= report.latency.max_us);
    assert!((report.elapsed_s - 1.2).abs() < 1e-6);
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["jobs"][0]["kind"], "compare");
    assert_eq!(json["operations"], report.operations);
    let html = report.html();
    assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    assert_eq!(html.matches("<svg").count(), 6);
    let last = report.seconds.last().unwrap();
    assert!(last.server_anonymous_bytes > 0 && last.file_bytes > 0);
    assert!(!html.contains("http") && !html.contains("NaN") && !html.contains("secret"));
}

#[test]
fn mixes_are_read_and_shown() {
    let mix = Mix::parse("mixed").unwrap();
    assert_eq!(mix.to_string(), "search=65,bind=16,compare=16,modify=3");
    assert_eq!(Mix::parse("Search").unwrap(), Mix::only(JobKind::Search));
    assert_eq!(
        Mix::parse("add=2.5, modify-dn=1%").unwrap().shares[1],
        (JobKind::ModifyDn, 1.0)
    );
    assert!(Mix::parse("fly").unwrap_err().message.contains("modify-dn"));
    assert!(Mix::parse("add=-1").is_err());
}

#[test]
fn a_full_server_is_measured_with_what_it_takes() {
    let server = Small::start(Manner {
        entries: 1,
        full_after: Some(4),
        ..Manner::default()
    });
    let mut options = options(&server, "search");
    options.connections = 10;
    options.bind_as = Some(("cn=admin".to_owned(), "secret".to_owned()));
    let report = run_quietly(&options);
    assert!(report.is_clean(), "{}", report.text());
    assert_eq!(report.connections, 4);
    let note = "4 connections instead of 10: the server said unavailable: full";
    assert_eq!(report.notes, [note]);
    assert!(report.text().contains(note) && report.html().contains(note));
}

#[test]
fn responses_are_waited_for_together() {
    let server = Small::start(Manner {
        entries: 1,
        ..Manner::default()
    });
    let mut options = options(&server, "search");
    options.queue_length = 4;
    let report = run_quietly(&options);
    assert!(report.is_clean(), "{}", report.text());
    assert_eq!(report.operations, 40);
    // The control comes with the first request of each connection, and every fourth after it.
    assert!(
        server.count("announced") >= 40 / 4,
        "{}",
        server.count("announced")
    );
}

#[test]
fn a_burst_is_over_when_all_are_answered() {
    let server = Small::start(Manner::default());
    assert!(burst(&server.url, 20).unwrap() > Duration::ZERO);
    let full = Small::start(Manner {
        full_after: Some(3),
        ..Manner::default()
    });
    assert_eq!(
        burst(&full.url, 5).unwrap_err().message,
        "unavailable: full"
    );
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let server = Small::start(Manner::default());
    let refused = |change: &dyn Fn(&mut Options), what: &str| {
        let mut options = options(&server, "search");
        change(&mut options);
        let error = run(&options, &mut |_| {}).unwrap_err();
        assert!(error.message.contains(what), "{error}");
    };
    refused(&|it| it.connections = 0, "at least one connection");
    refused(&|it| it.operations = None, "duration or a number");
    refused(&|it| it.rate = Some(0.0), "rate above 0");
    refused(&|it| it.queue_length = 5, "at most the 4 requests");
    refused(
        &|it| it.search.filter = "(uid=[1-2]".to_owned(),
        "expected a filter",
    );
    refused(&|it| it.search.base = "[".to_owned(), "expected ]");
    refused(
        &|it| it.urls = vec!["ldaps://127.0.0.1".to_owned()],
        "no TLS",
    );
    refused(
        &|it| it.urls = vec!["ldap://127.0.0.1:1".to_owned()],
        "connection 0",
    );
    refused(&|it| it.server_pid = Some(0), "no process");
    refused(
        &|it| it.mix = Mix { shares: Vec::new() },
        "at least one kind",
    );
}

#[test]
fn complicated_filters_are_written_with_escapes() {
    let server = Small::start(Manner {
        entries: 1,
        ..Manner::default()
    });
    let mut options = options(&server, "search");
    options.search.filter = "(&(objectClass=*)(|(cn=[random:3:()*])(uid>=[1-9])))".to_owned();
    let report = run_quietly(&options);
    assert!(report.is_clean(), "{}", report.text());
}
