//! Locks that 389 Directory Server and OpenDJ keep in attributes of their own. Another Pando plays
//! the old server: its schema calls these attributes operational, as theirs do.

use super::person;
use kit::client::Modification;
use kit::tools::Answer;
use kit::{ADMIN, Entry, PASSWORD, Pando, SUFFIX, people};
use protocol::{ResultCode, Scope};

/// Attribute types as both servers publish them.
const TYPES: &str = "\
attributetype ( 2.16.840.1.113730.3.1.610 NAME 'nsAccountLock'
  EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE
  USAGE directoryOperation )
attributetype ( 2.16.840.1.113730.3.1.93 NAME 'passwordRetryCount'
  EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE
  USAGE directoryOperation )
attributetype ( 1.3.6.1.4.1.26027.1.1.166 NAME 'ds-pwp-account-disabled'
  EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 SINGLE-VALUE
  USAGE directoryOperation )
";

/// Both servers.
struct Pair {
    old: Pando,
    new: Pando,
}

impl Pair {
    fn new() -> Pair {
        let mut old = Pando::init();
        old.folder.write("types.schema", TYPES);
        old.run_on_node(&["schema", "add"], &["types.schema"])
            .expect(0);
        old.serve();
        let mut admin = old.admin();
        for entry in people::sample() {
            admin.add(&entry).expect_success();
        }
        let new = Pando::init();
        new.folder.write("password", PASSWORD);
        Pair { old, new }
    }

    fn run(&self, args: &[&str]) -> Answer {
        let url = self.old.url();
        let bind = ["--from", &url, "-D", ADMIN, "-y", "password", "--once"];
        let args: Vec<&str> = bind.iter().chain(args).copied().collect();
        self.new.run_on_node(&["migrate"], &args)
    }
}

/// Changes an account on the old server.
fn change(pair: &Pair, uid: &str, name: &str, value: &str) {
    let change = [Modification::replace(name, &[value])];
    let mut admin = pair.old.admin();
    admin.modify(&person(uid), &change).expect_success();
}

/// Gives a server a default policy that has no rules.
fn set_policy(pando: &Pando) {
    let mut admin = pando.admin();
    let policy = format!("cn=default,{SUFFIX}");
    let settings: &[(&str, &[&str])] = &[
        ("objectClass", &["device", "pwdPolicy"]),
        ("cn", &["default"]),
        ("pwdAttribute", &["userPassword"]),
    ];
    admin.add(&Entry::of(&policy, settings)).expect_success();
    let named = [Modification::replace("pandoPasswordPolicy", &[&policy])];
    admin.modify("cn=config", &named).expect_success();
}

fn locks(pair: &Pair, uid: &str) -> Vec<String> {
    let mut admin = pair.new.admin();
    let wanted = ["pwdAccountLockedTime", "nsAccountLock"];
    let found = admin.search(&person(uid), Scope::BaseObject, "(objectClass=*)", &wanted);
    let entry = found.only();
    assert!(entry.texts("nsAccountLock").is_empty(), "{entry:?}");
    entry.texts("pwdAccountLockedTime")
}

#[test]
fn accounts_that_are_locked_there_are_locked_here() {
    let mut pair = Pair::new();
    for uid in ["ada", "grace"] {
        change(&pair, uid, "userPassword", "right");
    }
    change(&pair, "ada", "nsAccountLock", "true");
    change(&pair, "ada", "passwordRetryCount", "2");
    change(&pair, "grace", "ds-pwp-account-disabled", "TRUE");
    // Without a policy the locks would not hold.
    pair.run(&[])
        .expect(1)
        .says("nsAccountLock, 1 entry: carried as pwdAccountLockedTime 000001010000Z")
        .says("ds-pwp-account-disabled, 1 entry: carried")
        .says("passwordRetryCount, 1 entry: impossible")
        .says("expected pandoPasswordPolicy in cn=config, found none");
    pair.new.serve();
    for uid in ["ada", "grace"] {
        assert_eq!(locks(&pair, uid), ["000001010000Z"], "{uid}");
    }
    // Policies are entries of the old server.
    set_policy(&pair.old);
    pair.run(&[]).expect(0);
    for uid in ["ada", "grace"] {
        let refused = pair.new.client().bind(&person(uid), "right");
        refused.expect(ResultCode::INVALID_CREDENTIALS);
    }
    // An account that the old server unlocks is unlocked here.
    change(&pair, "ada", "nsAccountLock", "false");
    let report = pair.run(&["--report", "-"]).expect(0);
    assert!(report.out.contains("0 of them different"), "{}", report.out);
    assert!(locks(&pair, "ada").is_empty());
    let accepted = pair.new.client().bind(&person("ada"), "right");
    accepted.expect_success();
    assert_eq!(locks(&pair, "grace"), ["000001010000Z"]);
}
