//! `status` of served nodes, of stopped nodes, and of other servers.

use kit::{ADMIN, PASSWORD, Pando};
use serde_json::Value;

use super::one_line;

/// Returns the JSON that `pando status` prints.
fn status(pando: &Pando, args: &[&str], exit: i32) -> Value {
    let args = [&["status", "--format", "json"], args].concat();
    let answer = pando.run(&args).expect(exit);
    serde_json::from_str(&answer.out).expect("JSON")
}

#[test]
fn a_served_node_says_what_it_does() {
    let mut pando = super::node_with_people();
    pando.serve();
    let mut client = pando.admin();
    let found = client.search(
        "dc=example,dc=com",
        protocol::Scope::WholeSubtree,
        "(uid=ada)",
        &["cn"],
    );
    assert_eq!(found.entries.len(), 1);
    let text = pando.run_on_node(&["status"], &[]).expect(0);
    for part in [
        "serves",
        "Pando 0.",
        "operations",
        "search",
        "database",
        "ready",
    ] {
        assert!(text.out.contains(part), "{part} in {}", text.out);
    }
    let node = pando.node().to_string_lossy().into_owned();
    // Connections are the client's and that of the present command; the previous command's closes
    // soon.
    let json = kit::process::until("two connections and three binds are counted", || {
        let json = status(&pando, &[&node], 0);
        let binds = json["operations"]["bind"]["completed"].as_u64();
        (json["connections"]["current"] == 2 && binds >= Some(3)).then_some(json)
    });
    assert_eq!(json["served"], true);
    let listeners = json["connections"]["listeners"].as_array().expect("a list");
    assert_eq!(listeners.len(), 2);
    assert_eq!(listeners[0]["url"], format!("{}", pando.url()));
    assert_eq!(listeners[0]["current"], 1);
    let operations = &json["operations"];
    assert_eq!(operations["add"]["completed"], 0);
    let sent = json["statistics"]["bytes_sent"].as_u64().expect("a number");
    assert!(sent > 100, "{json}");
    assert_eq!(json["doing"], serde_json::json!([]));
    assert!(json["database"]["entries"].as_u64() > Some(10));
    assert!(json["indexes"].as_array().is_some_and(|it| it.len() > 5));
}

#[test]
fn writes_and_lost_clients_are_counted_to_the_end() {
    let pando = Pando::start();
    let node = pando.node().to_string_lossy().into_owned();
    let people = kit::people::unit("People");
    pando.admin().add(&people).expect_success();
    for round in 0..20 {
        let mut client = pando.admin();
        let entry = kit::people::person(&format!("p{round}"));
        // The client disconnects before it gets the answer.
        client.try_send_add(&entry, &[]).expect("sent");
    }
    kit::process::until("all operations have ended", || {
        let json = status(&pando, &[&node], 0);
        let add = &json["operations"]["add"];
        let ended = add["initiated"] == 21 && add["completed"] == 21;
        (ended && json["connections"]["current"] == 1).then_some(())
    });
    let json = status(&pando, &[&node], 0);
    assert_eq!(json["writes"]["committed"], 21);
    let commits = json["writes"]["commits"].as_u64().expect("a number");
    let sizes = json["writes"]["commit_sizes"].as_object().expect("sizes");
    let sum: u64 = sizes.values().filter_map(Value::as_u64).sum();
    assert_eq!(sum, commits);
}

#[test]
fn a_node_that_nobody_serves_says_so() {
    let mut pando = Pando::start();
    pando.stop();
    let node = pando.node().to_string_lossy().into_owned();
    let text = pando.run_on_node(&["status"], &[]).expect(3);
    assert!(text.out.contains("is not served"), "{}", text.out);
    assert!(text.out.contains("entries"), "{}", text.out);
    let json = status(&pando, &[&node], 3);
    assert_eq!(json["served"], false);
    assert!(json["database"]["entries"].as_u64() > Some(0));
    // After a crash the command changes no files.
    pando.serve();
    pando
        .admin()
        .add(&kit::people::unit("People"))
        .expect_success();
    pando.kill();
    let json = status(&pando, &[&node], 3);
    assert_eq!(json["unrecovered"], true);
    pando.assert_clean();
    let answer = pando.run(&["status", "nowhere"]);
    one_line(answer, 1, &["nowhere", "pando init"]);
    let answer = pando.run(&["status"]).expect(2);
    assert!(answer.err.contains("<DIR>"), "{}", answer.err);
}

#[test]
fn a_server_elsewhere_is_asked_by_url() {
    let mut pando = Pando::start();
    let url = pando.url();
    let json = status(&pando, &["--url", &url], 0);
    assert_eq!(json["server"]["answers"], true);
    assert_eq!(json.get("database"), None);
    let file = pando.folder.write("password", format!("{PASSWORD}\n"));
    let file = file.to_string_lossy().into_owned();
    let bound = ["--url", &url, "-D", ADMIN, "-y", &file];
    let json = status(&pando, &bound, 0);
    assert!(json["database"]["entries"].as_u64() > Some(0));
    let node = pando.node().to_string_lossy().into_owned();
    let both = status(&pando, &["--url", &url, &node], 0);
    assert_eq!(
        (&both["served"], &both["server"]["answers"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    pando.stop();
    let json = status(&pando, &["--url", &url], 3);
    assert_eq!(json["server"]["answers"], false);
}

#[test]
fn searches_are_explained_wherever_the_node_is() {
    let mut pando = super::node_with_people();
    let filter = "(&(uid=ada)(sn=*a))";
    let offline = pando.run_on_node(&["explain"], &[filter]).expect(0);
    for part in [
        "below dc=example,dc=com",
        "equality index of uid",
        "no index",
        "1 found",
    ] {
        assert!(offline.out.contains(part), "{part} in {}", offline.out);
    }
    pando.serve();
    let online = pando.run_on_node(&["explain"], &[filter]).expect(0);
    assert!(online.out.contains("1 found"), "{}", online.out);
    let file = pando.folder.write("password", format!("{PASSWORD}\n"));
    let file = file.to_string_lossy().into_owned();
    let url = pando.url();
    let args = [
        "explain", "--url", &url, "-D", ADMIN, "-y", &file, "--format", "json", filter,
    ];
    let json: Value = serde_json::from_str(&pando.run(&args).expect(0).out).expect("JSON");
    assert_eq!(json["matched"], 1);
    assert_eq!(json["regions"][0]["parts"][2]["filter"], "(sn=*a)");
    assert_eq!(json["regions"][0]["parts"][2]["found_by"], "");
    let people = "ou=People,dc=example,dc=com";
    let one = pando.run_on_node(&["explain"], &["-b", people, "-s", "one", "(sn=*)"]);
    let one = one.expect(0);
    assert!(one.out.contains("entries of the region"), "{}", one.out);
    let page = ["--sort", "-sn,cn", "--page", "1", "(sn=*)"];
    let page = pando.run_on_node(&["explain"], &page).expect(0);
    for part in ["sorted by sn", "1 found"] {
        assert!(page.out.contains(part), "{part} in {}", page.out);
    }
    let answer = pando.run_on_node(&["explain"], &["(cn=ada"]);
    one_line(answer, 2, &["filter"]);
    let answer = pando.run(&["explain", "--url", &url, filter]);
    one_line(answer, 2, &["--bind-dn"]);
    let answer = pando.run(&["explain", filter]);
    one_line(answer, 2, &["pando explain DIR"]);
    let answer = pando.run_on_node(&["explain"], &["-b", "dc=nowhere", "(cn=a)"]);
    one_line(answer, 1, &["noSuchObject"]);
}

#[test]
fn indexes_are_proposed_for_dear_searches() {
    let mut pando = Pando::init();
    let person = |n: u32| {
        format!(
            "dn: uid=p{n},{}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: Family {n}\n\n",
            kit::SUFFIX
        )
    };
    let people: String = (0..5_000).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    let answer = pando.run_on_node(&["index", "advise"], &[]);
    one_line(answer, 1, &["no process serves"]);
    pando.serve();
    let none = pando.run_on_node(&["index", "advise"], &[]).expect(0);
    assert!(none.out.contains("no expensive searches"), "{}", none.out);
    let mut client = pando.admin();
    for n in 0..3 {
        let filter = format!("(sn=Family {n})");
        let scope = protocol::Scope::WholeSubtree;
        let found = client.search(kit::SUFFIX, scope, &filter, &["1.1"]);
        assert_eq!(found.entries.len(), 1);
    }
    let advice = pando.run_on_node(&["index", "advise"], &[]).expect(0);
    for part in ["(sn=?)", "3 searches", "sn equality", "5,000 entries"] {
        assert!(advice.out.contains(part), "{part} in {}", advice.out);
    }
    let json = pando.run_on_node(&["index", "advise"], &["--format", "json"]);
    let json: Value = serde_json::from_str(&json.expect(0).out).expect("JSON");
    assert_eq!(json["searches"][0]["unindexed"], 3);
    assert_eq!(json["proposals"][0]["attribute"], "sn");
    assert!(json["proposals"][0]["bytes"].as_u64() > Some(50_000));
    // The proposed index helps.
    pando
        .run_on_node(&["index", "add"], &["sn", "equality"])
        .expect(0);
    kit::process::until("the index is ready", || {
        let status = pando.run_on_node(&["index", "status"], &[]).expect(0);
        let mut lines = status.out.lines();
        lines
            .any(|it| it.starts_with("sn ") && it.ends_with("ready"))
            .then_some(())
    });
    let plan = pando
        .run_on_node(&["explain"], &["(sn=Family 7)"])
        .expect(0);
    assert!(plan.out.contains("equality index of sn"), "{}", plan.out);
    let after = pando.run_on_node(&["index", "advise"], &[]).expect(0);
    assert!(after.out.contains("no index would help"), "{}", after.out);
}
