//! The log of operations: only failed binds, or one line for each operation.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use kit::client::Modification;
use kit::process::until;
use kit::{Client, PASSWORD, Pando, SUFFIX, people};
use protocol::{
    Authentication, BindRequest, Filter, Request, ResultCode, Scope, SearchRequest, parse_filter,
    write_request,
};

/// Serves a node with the sample people and this `log` setting.
fn served(log: &str) -> Pando {
    let mut pando = Pando::init();
    set(&pando, log);
    pando.serve_as_configured();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    pando
}

fn set(pando: &Pando, log: &str) {
    let settings = format!("listen = [\"ldap://127.0.0.1:0\"]\n[log]\n{log}\n");
    fs::write(pando.node().join("pando.toml"), settings).expect("written");
}

/// Waits for a line of the log with all of `parts`, and returns the first.
fn line(pando: &mut Pando, parts: &[&str]) -> String {
    until(&format!("a line with {parts:?}"), || {
        let log = pando.process().log();
        let found = log
            .lines()
            .find(|it| parts.iter().all(|part| it.contains(part)));
        found.map(str::to_owned)
    })
}

/// The value of a numeric field in a line.
fn number(line: &str, field: &str) -> u64 {
    let value = line.split_once(&format!(" {field}="));
    let value = value.and_then(|(_, rest)| rest.split(' ').next());
    let number = value.and_then(|it| it.parse().ok());
    number.unwrap_or_else(|| panic!("no number {field} in {line}"))
}

fn ada() -> String {
    format!("uid=ada,ou=People,{SUFFIX}")
}

#[test]
fn each_operation_is_a_line_when_asked_for() {
    let mut pando = served("operations = true");
    let tools = pando.tools();
    tools
        .search(&["-b", SUFFIX, "(&(uid=ada)(objectClass=person))", "cn"])
        .expect(0);
    let said = line(&mut pando, &["operation=\"search\"", "(uid=ada)"]);
    for part in [
        "answered",
        "identity=\"cn=admin,",
        "connection=",
        "address=127.0.0.1",
        &format!("dn=\"{SUFFIX}\""),
        "scope=\"sub\"",
        "filter=\"(&(uid=ada)(objectClass=person))\"",
        "result=success (0)",
        "entries=1",
        "examined=1",
        "index=\"",
        "equality index of uid",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (queue, execution) = (number(&said, "queue_us"), number(&said, "execution_us"));
    assert!(execution > 0, "{said}");
    assert!(queue + execution <= number(&said, "time_us"), "{said}");
    let mut admin = pando.admin();
    admin.delete(&format!("uid=nobody,{SUFFIX}"));
    line(
        &mut pando,
        &["operation=\"delete\"", "uid=nobody", "noSuchObject (32)"],
    );
    pando.tools().run("ldapwhoami", &[], "").expect(0);
    line(
        &mut pando,
        &[
            "operation=\"extended\"",
            "1.3.6.1.4.1.4203.1.11.3",
            "success",
        ],
    );
    line(
        &mut pando,
        &["operation=\"bind\"", "mechanism=\"simple\"", "success"],
    );
    line(&mut pando, &["operation=\"add\"", &ada(), "success"]);
    line(&mut pando, &["operation=\"unbind\""]);
    let renamed = format!(
        "dn: {}\nchangetype: modify\nreplace: title\ntitle: Countess\n-\nadd: userPassword\n\
         userPassword: hunter22\n\n",
        ada()
    );
    pando.tools().modify(&renamed).expect(0);
    let said = line(
        &mut pando,
        &["operation=\"modify\"", "replace title, add userPassword"],
    );
    assert!(said.contains("result=success (0)"), "{said}");
    assert!(pando.stop().success());
    pando.assert_clean();
}

#[test]
fn refusals_name_the_access_rule_and_its_clause() {
    let mut pando = served("operations = true");
    let mut text = Vec::new();
    let rule = b"rule staff\non everything\nfor all, userPassword\nlet anonymous authenticate\n\
                 let users read, authenticate\n";
    protocol::base64::encode_into(&mut text, rule);
    let rules = format!(
        "dn: cn=access,cn=config\nobjectClass: pandoConfig\ncn: access\n\n\
         dn: cn=staff,cn=access,cn=config\nobjectClass: pandoAccessRule\ncn: staff\n\
         pandoAccessOrder: 1\npandoAccessText:: {}\n",
        String::from_utf8_lossy(&text)
    );
    pando.tools().add(&rules).expect(0);
    let mut client = pando.client();
    client.bind(&ada(), "ada").expect_success();
    let refused = client.modify(&ada(), &[Modification::replace("title", &["x"])]);
    let code = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
    assert_eq!(refused.code, code, "{refused}");
    let told = "(rule \"staff\" clause 2)";
    assert!(refused.diagnostic.ends_with(told), "{refused}");
    let said = line(
        &mut pando,
        &["operation=\"modify\"", "insufficientAccessRights"],
    );
    assert!(
        said.contains("denied=\"rule \\\"staff\\\" clause 2\""),
        "{said}"
    );
    let missing = client.modify("uid=nobody,dc=example,dc=com", &[]);
    assert_eq!(missing.code, code, "{missing}");
    let said = line(
        &mut pando,
        &["operation=\"modify\"", "uid=nobody", "Rights"],
    );
    assert!(said.contains("denied="), "{said}");
}

#[test]
fn times_of_waiting_and_examined_entries_are_told_apart() {
    let mut pando = served("operations = true");
    let mut client = pando.client();
    // The bind waits for the check of the password, and the search behind it waits for the bind.
    let bind = Request::Bind(BindRequest {
        version: 3,
        name: &ada(),
        authentication: Authentication::Simple(b"ada"),
    });
    let filter = parse_filter("(!(uid=ada))").expect("a filter");
    let filter = Filter::decode(&mut protocol::ber::Reader::new(&filter), 10).expect("a filter");
    let search = Request::Search(SearchRequest::new(SUFFIX, Scope::WholeSubtree, filter));
    let mut bytes = Vec::new();
    for (id, request) in [(1, &bind), (2, &search)] {
        write_request(&mut bytes, id, request, &[]);
    }
    client.send_raw(&bytes).expect("the server takes it");
    for id in [1, 2] {
        let found = client.try_finish(id).expect("the server answers");
        found.outcome.expect_success();
    }
    let said = line(&mut pando, &["operation=\"bind\"", &ada()]);
    let waited = number(&said, "time_us") - number(&said, "execution_us");
    let searched = line(&mut pando, &["(!(uid=ada))"]);
    assert!(
        number(&searched, "queue_us") > waited / 2,
        "{said} {searched}"
    );
    assert!(
        number(&searched, "examined") > number(&searched, "entries"),
        "{searched}"
    );
}

#[test]
fn values_of_secret_attributes_are_not_logged() {
    let mut pando = served("operations = true\nlevel = \"trace\"");
    let secret = "hunter2hunter2";
    let mut admin = pando.admin();
    for filter in [
        format!("(userPassword={secret})"),
        format!("(&(uid=x1)(|(userPassword;x=*{secret}*)(!(2.5.4.35>={secret}))))"),
        format!("(&(uid=x2)(userPassword:caseExactMatch:={secret}))"),
        format!("(&(uid=x3)(sambaNTPassword~={secret}))"),
    ] {
        admin.search(SUFFIX, Scope::WholeSubtree, &filter, &["cn"]);
    }
    admin.search(
        &format!("userPassword={secret},{SUFFIX}"),
        Scope::BaseObject,
        "(cn=*)",
        &[],
    );
    admin.compare(&ada(), "userPassword", secret);
    pando.client().bind(&ada(), secret);
    pando
        .tools()
        .run("ldappasswd", &["-s", secret, &ada()], "")
        .expect(0);
    admin.delete("cn=last");
    line(&mut pando, &["cn=last"]);
    let log = pando.process().log();
    assert!(!log.contains(secret), "{log}");
    assert!(log.contains("(userPassword=[hidden])"), "{log}");
    assert!(log.contains("selected=\"cn\""), "{log}");
}

#[test]
fn failed_binds_are_logged_always_and_not_without_end() {
    let mut pando = served("");
    let tools = kit::tools::Tools::bound(&pando.url(), &ada(), "wrong");
    tools.run("ldapwhoami", &[], "").expect(49);
    let said = line(&mut pando, &["bind failed", &ada()]);
    assert!(
        said.contains("WARN") && said.contains("address=127.0.0.1"),
        "{said}"
    );
    assert!(said.contains("invalidCredentials (49)"), "{said}");
    for _ in 0..300 {
        pando.client().bind("uid=no,dc=one", "wrong");
    }
    // A line after the flood gives the number of lines left out.
    until("the number of lines left out", || {
        pando.client().bind("uid=no,dc=one", "wrong");
        pando.process().log().contains("left_out=").then_some(())
    });
    let log = pando.process().log();
    assert!(!log.contains("answered"), "{log}");
}

#[test]
fn a_reload_begins_and_ends_it() {
    let mut pando = served("level = \"info\"");
    let ask = |pando: &Pando, name: &str| {
        pando
            .client()
            .search(SUFFIX, Scope::BaseObject, &format!("(cn={name})"), &[]);
    };
    ask(&pando, "before");
    set(&pando, "operations = true\nlevel = \"info\"");
    pando
        .run_on_node(&["reload"], &[])
        .expect(0)
        .says("changed: log.operations");
    ask(&pando, "during");
    line(&mut pando, &["(cn=during)"]);
    set(&pando, "level = \"info\"");
    pando.run_on_node(&["reload"], &[]).expect(0);
    ask(&pando, "after");
    set(&pando, "level = \"debug\"");
    pando.run_on_node(&["reload"], &[]).expect(0);
    ask(&pando, "debugged");
    line(&mut pando, &["(cn=debugged)"]);
    line(&mut pando, &["DEBUG", "disconnected"]);
    let log = pando.process().log();
    assert!(
        !log.contains("(cn=before)") && !log.contains("(cn=after)"),
        "{log}"
    );
}

#[test]
fn who_does_not_read_the_log_holds_nobody_up() {
    let pando = Pando::init();
    set(&pando, "operations = true");
    let mut command = Command::new(kit::pando::program());
    command.arg("serve").arg(pando.node());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("pando starts");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let mut said = String::new();
    let address = loop {
        assert!(log.read_line(&mut said).expect("readable") > 0, "{said}");
        let at = said.split_once("listening on ldap://");
        if let Some(address) =
            at.and_then(|(_, rest)| rest.trim_end().trim_end_matches('/').parse().ok())
        {
            break address;
        }
    };
    // There are more lines than fit into the pipe and the queue, and no process reads them.
    let mut client = Client::connect(address);
    for _ in 0..6_000 {
        let found = client.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["1.1"]);
        assert_eq!(found.outcome.code, ResultCode::SUCCESS);
    }
    assert!(client.bind(kit::ADMIN, PASSWORD).code == ResultCode::SUCCESS);
    drop(client);
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        log.read_to_string(&mut rest).expect("text");
        rest
    });
    let mut stop = Command::new("kill");
    stop.arg(child.id().to_string());
    assert!(stop.status().expect("kill runs").success());
    assert!(child.wait().expect("it ends").success());
    let rest = reader.join().expect("read");
    assert!(rest.contains("log lines left out"), "{} octets", rest.len());
}
