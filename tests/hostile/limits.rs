//! Every limit is reached once, and its counter below `cn=Limits,cn=monitor` tells so.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::time::{Duration, Instant};

use kit::client::Event;
use kit::following::{ALL, Asked, sync};
use kit::process::until;
use kit::{Client, Entry, Pando, SUFFIX};
use protocol::control::{PagedResults, SortKey, SortRequest, SyncMode};
use protocol::extended::RefreshRequest;
use protocol::{DeleteRequest, OwnedControl, Request, Scope, oid};

use crate::slow;

/// Provokes a limit. May be called again if it did not succeed.
type Provoke = fn(&mut World);

/// A limit, the settings to read before it is provoked, if any, and how to provoke it.
type Case = (&'static str, Option<&'static str>, Provoke);

/// A node of which every limit can be reached.
struct World {
    pando: Pando,
    /// Reads the counters.
    admin: Client,
    /// The counters at the begin of the case.
    before: BTreeMap<String, u64>,
}

/// Limits of one subject, each with the value that the person of this name has.
const PERSONAL: [(&str, u32); 7] = [
    ("size_entries_max", 3),
    ("time_s_max", 1),
    ("candidates_max", 5),
    ("unindexed_searches_max", 1),
    ("page_entries_max", 2),
    ("paged_entries_max", 3),
    ("sort_entries_max", 2),
];

const SETTINGS: &str = "listen = [\"ldap://127.0.0.1:0\"]
[passwords]
scheme = \"{SSHA}\"
[anonymous_limits]
followers_max = 1
[administrator_limits]
pending_operations_max = 1
transactions_open_max = 1
transaction_updates_max = 1
transaction_bytes_max = 1000
[dynamic_entries]
ttl_default_s = 60
ttl_max_s = 3600
[database]
spool_mib_max = 1
[connections]
message_bytes_max = 8000000
anonymous_message_bytes_max = 1000000
memory_mib_max = 5
memory_each_mib_max = 2
wrong_passwords_max = 1
";

/// Entries that take more than all buffers of a connection are below it.
const LONG: &str = "ou=long,dc=example,dc=com";
/// Further entries: more than a search may look at before it counts as one that no index helps.
const SHORT_ENTRIES: u32 = 4_500;
/// Entries below [`LONG`], and bytes of each.
const LONG_ENTRIES: (usize, usize) = (40, 300_000);

/// In this order: settings that are read again hold for what follows.
const CASES: [Case; 26] = [
    ("connections.message_bytes_max", None, |it| {
        it.begin_message(true, 9_000_000, 0);
    }),
    ("connections.anonymous_message_bytes_max", None, |it| {
        it.begin_message(false, 2_000_000, 0);
    }),
    ("connections.wrong_passwords_max", None, |it| {
        let name = format!("cn=nobody,{SUFFIX}");
        (0..3).for_each(|at| drop(it.pando.client().bind(&name, &format!("wrong{at}"))));
    }),
    ("connections.memory_each_mib_max", None, |it| {
        it.begin_message(true, 7_000_000, 3_000_000);
    }),
    ("connections.memory_mib_max", None, |it| {
        let mut crowd: Vec<Client> = (0..5)
            .map(|_| it.begin_message(true, 7_000_000, 0))
            .collect();
        let part = [0; 50_000];
        it.wait_for(&["connections.memory_mib_max"], || {
            // The server closes one of them in the end.
            crowd.iter_mut().for_each(|it| drop(it.send_raw(&part)));
        });
    }),
    ("limits.size_entries_max", None, |it| {
        it.search("size_entries_max", &[]);
    }),
    ("limits.time_s_max", None, |it| {
        let mut slow = it.reader("time_s_max");
        let begun = Instant::now();
        until("more than a second is over", || {
            (begun.elapsed() > Duration::from_secs(2)).then_some(())
        });
        while !matches!(slow.receive(), (_, Event::Done(_))) {}
    }),
    ("limits.candidates_max", None, |it| {
        it.search("candidates_max", &[])
    }),
    ("limits.unindexed_searches_max", None, |it| {
        let _first = it.reader("unindexed_searches_max");
        it.search("unindexed_searches_max", &[]);
    }),
    ("limits.pending_operations_max", None, |it| {
        // Some come while others are being written.
        let mut admin = it.pando.admin();
        let unit = kit::people::unit("pending");
        for _ in 0..20 {
            admin.try_send_add(&unit, &[]).expect("sent");
        }
        (0..20).for_each(|_| drop(admin.receive()));
    }),
    ("limits.page_entries_max", None, |it| {
        it.search("page_entries_max", &[page(10, &[])]);
    }),
    ("limits.paged_entries_max", None, |it| {
        it.search("paged_entries_max", &[page(10, &[])]);
    }),
    ("limits.sort_entries_max", None, |it| {
        let key = SortKey {
            attribute: "sn",
            ordering_rule: Some("caseIgnoreOrderingMatch"),
            reverse: false,
        };
        let value = SortRequest { keys: vec![key] };
        let sort = OwnedControl::with_value(oid::SORT_REQUEST, true, |out| value.encode(out));
        it.search("sort_entries_max", &[sort]);
    }),
    ("limits.followers_max", None, |it| {
        let mut client = it.pando.client();
        let control = sync(SyncMode::RefreshAndPersist, None, false);
        let asked = Asked {
            filter: "(objectClass=domain)",
            ..ALL
        };
        asked.follow(&mut client, None);
        asked.send(&mut client, &control);
        client.receive();
    }),
    ("limits.transactions_open_max", None, |it| {
        let mut admin = it.pando.admin();
        (0..2).for_each(|_| drop(admin.extended(oid::START_TRANSACTION, None)));
    }),
    ("limits.transaction_updates_max", None, |it| {
        it.transaction(&["a", "b"])
    }),
    ("limits.transaction_bytes_max", None, |it| {
        it.transaction(&["a".repeat(2_000).as_str()])
    }),
    ("dynamic_entries.ttl_max_s", None, |it| {
        let mut value = Vec::new();
        let request = RefreshRequest {
            entry: SUFFIX,
            ttl_s: 7_200,
        };
        request.encode(&mut value);
        drop(it.pando.admin().extended(oid::REFRESH, Some(&value)));
    }),
    ("database.spool_mib_max", None, |it| {
        let (name, scope) = (format!("cn=many,{SUFFIX}"), Scope::BaseObject);
        it.pando
            .client()
            .search(&name, scope, "(cn=*)", &["member"]);
    }),
    (
        "connections.idle_timeout_s",
        Some("idle_timeout_s = 1"),
        |it| {
            let mut idle = it.pando.client();
            idle.who_am_i();
            assert!(idle.is_closed_by_server());
        },
    ),
    (
        "connections.message_timeout_s",
        Some("message_timeout_s = 1"),
        |it| {
            let mut half = it.begin_message(true, 7_000_000, 100);
            assert!(half.is_closed_by_server());
        },
    ),
    (
        "connections.receive_bytes_per_s_min",
        Some("message_timeout_s = 3\nreceive_bytes_per_s_min = 4000000000"),
        |it| {
            let mut half = it.begin_message(true, 7_000_000, 100);
            slow::send_until_closed(&mut half);
        },
    ),
    (
        "connections.write_timeout_s",
        Some("write_timeout_s = 1"),
        |it| {
            let _deaf = it.reader("sort_entries_max");
            it.wait_for(&["connections.write_timeout_s"], || {});
        },
    ),
    (
        "connections.send_bytes_per_s_min",
        Some("write_timeout_s = 3\nsend_bytes_per_s_min = 4000000000"),
        |it| {
            let mut slow = it.reader("sort_entries_max");
            // On a machine that stalls for seconds it is cut for taking none.
            let limits = [
                "connections.send_bytes_per_s_min",
                "connections.write_timeout_s",
            ];
            it.wait_for(&limits, || drop(slow.stream().read(&mut [0; 512])));
        },
    ),
    (
        "connections.per_address_max",
        Some("per_address_max = 2"),
        |it| {
            let address = it.pando.address();
            let mut crowd: Vec<Client> = (0..3)
                .map(|_| Client::connect_from([127, 0, 0, 2], address))
                .collect();
            assert!(crowd[2].is_closed_by_server());
        },
    ),
    // Last: the counters are read on a connection of before.
    ("connections.total_max", Some("total_max = 1"), |it| {
        assert!(it.pando.client().is_closed_by_server());
    }),
];

/// Limits that others reach: `overload`, and a test of the crate that checks passwords.
const ELSEWHERE: [&str; 2] = ["connections.queue_delay_ms_max", "waiting password checks"];

impl World {
    fn start() -> World {
        let mut pando = Pando::init();
        let long = "x".repeat(LONG_ENTRIES.1);
        let mut ldif = format!("dn: {LONG}\nobjectClass: organizationalUnit\nou: long\n\n");
        let mut person = |name: &str, description: &str| {
            let class = "objectClass: person\nsn: p";
            write!(ldif, "dn: {name}\n{class}\ndescription: {description}\n\n").expect("text");
        };
        (0..SHORT_ENTRIES).for_each(|at| person(&format!("cn=p{at},{SUFFIX}"), "short"));
        (0..LONG_ENTRIES.0).for_each(|at| person(&format!("cn=l{at},{LONG}"), &long));
        write!(ldif, "dn: cn=many,{SUFFIX}\nobjectClass: groupOfNames\n").expect("text");
        let members =
            (0..40_000).map(|at| format!("member: cn=a rather long name {at},{SUFFIX}\n"));
        ldif.extend(members);
        let file = pando.folder.write("all.ldif", ldif);
        let file = file.to_string_lossy().into_owned();
        pando.run_on_node(&["import"], &[&file]).expect(0);
        configure(&pando, "");
        pando.serve_as_configured();
        let mut admin = pando.admin();
        for (limit, _) in PERSONAL {
            let attributes: &[(&str, &[&str])] = &[
                ("objectClass", &["person"]),
                ("sn", &["p"]),
                ("userPassword", &[limit]),
            ];
            let person = Entry::of(&format!("cn={limit},{SUFFIX}"), attributes);
            admin.add(&person).expect_success();
        }
        // A client that follows the directory is never idle.
        let nothing = Asked {
            filter: "(cn=nothing)",
            ..ALL
        };
        nothing.follow(&mut admin, None);
        let before = BTreeMap::new();
        World {
            pando,
            admin,
            before,
        }
    }

    /// Has the server read other settings of connections, beside those of the start.
    fn set(&mut self, connections: &str) {
        configure(&self.pando, connections);
        self.pando.run_on_node(&["reload"], &[]).expect(0);
    }

    /// The counters of all limits.
    fn counters(&mut self) -> BTreeMap<String, u64> {
        let (base, scope) = ("cn=Limits,cn=monitor", Scope::SingleLevel);
        let select = ["cn", "monitorCounter"];
        let found = self.admin.search(base, scope, "(cn=*)", &select);
        let number = |it: &Entry| it.text("monitorCounter").parse().expect("a number");
        let entries = found.entries.iter();
        entries
            .map(|it| (it.text("cn").to_owned(), number(it)))
            .collect()
    }

    /// Whether the limit was reached since the case began.
    fn is_reached(&mut self, limit: &str) -> bool {
        self.counters()[limit] > self.before[limit]
    }

    /// Does something again and again until one of the limits is reached once more.
    fn wait_for(&mut self, limits: &[&str], mut meanwhile: impl FnMut()) {
        until("the limit is reached", || {
            meanwhile();
            let reached = limits.iter().any(|it| self.is_reached(it));
            reached.then_some(())
        });
    }

    /// A connection bound as the person with this limit.
    fn person(&self, limit: &str) -> Client {
        let mut client = slow::with_small_buffer(self.pando.address());
        let name = format!("cn={limit},{SUFFIX}");
        client.bind(&name, limit).expect_success();
        client
    }

    /// Searches for all persons, which no index finds, as the person with this limit; then for the
    /// next page, if there is one.
    fn search(&mut self, limit: &str, controls: &[OwnedControl]) {
        let mut client = self.person(limit);
        let (scope, filter) = (Scope::WholeSubtree, "(description=short)");
        let found = client.search_with(SUFFIX, scope, filter, &["1.1"], controls, |_| {});
        if let Some(value) = found.outcome.control(oid::PAGED_RESULTS) {
            let first = PagedResults::decode(value).expect("it decodes");
            let next = [page(10, first.cookie)];
            client.search_with(SUFFIX, scope, filter, &["1.1"], &next, |_| {});
        }
    }

    /// A client that has asked, by a filter that no index helps, for more than the buffers hold, as
    /// the person with this limit, and reads none of it.
    fn reader(&self, limit: &str) -> Client {
        let mut client = self.person(limit);
        let (scope, filter) = (Scope::WholeSubtree, "(description=xxx*)");
        client.send_search(SUFFIX, scope, filter, &[], &[], |_| {});
        client
    }

    /// Sends the beginning of a message of `length` bytes, with `sent` bytes of its content.
    fn begin_message(&self, as_admin: bool, length: u32, sent: usize) -> Client {
        let mut client = match as_admin {
            true => self.pando.admin(),
            false => self.pando.client(),
        };
        // The server may close the connection meanwhile.
        let _ = client.send_raw(&slow::beginning(length, sent));
        client
    }

    /// Deletes entries in a transaction.
    fn transaction(&self, names: &[&str]) {
        let mut admin = self.pando.admin();
        let started = admin.extended(oid::START_TRANSACTION, None);
        let identifier = started.value.expect("an identifier");
        for name in names {
            let part = OwnedControl {
                oid: oid::TRANSACTION_SPECIFICATION.into(),
                critical: true,
                value: Some(identifier.clone()),
            };
            let entry = &format!("cn={name},{SUFFIX}");
            admin.call(&Request::Delete(DeleteRequest { entry }), &[part]);
        }
    }
}

fn configure(pando: &Pando, connections: &str) {
    let mut text = format!("{SETTINGS}{connections}\n");
    for (limit, value) in PERSONAL {
        let subject = format!("[[subject_limits]]\nentry = \"cn={limit},{SUFFIX}\"");
        write!(text, "{subject}\n{limit} = {value}\n").expect("text");
    }
    std::fs::write(pando.node().join("pando.toml"), text).expect("our own folder");
}

fn page(size: u32, cookie: &[u8]) -> OwnedControl {
    let value = PagedResults { size, cookie };
    OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| value.encode(out))
}

#[test]
fn every_limit_is_counted() {
    let mut world = World::start();
    let shown: Vec<String> = world.counters().into_keys().collect();
    let mut known: Vec<&str> = CASES.iter().map(|it| it.0).chain(ELSEWHERE).collect();
    known.sort_unstable();
    assert_eq!(shown, known, "each limit has a counter, and a case here");
    for (limit, settings, provoke) in CASES {
        settings.into_iter().for_each(|it| world.set(it));
        until(limit, || {
            world.before = world.counters();
            provoke(&mut world);
            world.is_reached(limit).then_some(())
        });
    }
}
