//! `pando migrate` from Debian's slapd: copy, follow through every interruption, compare.

mod accounts;
mod follow;
mod interruptions;
mod kinds;
mod left_behind;
mod mistakes;
mod policies;
mod report;
mod secure;

use kit::process::{Running, until};
use kit::tools::Answer;
use kit::{ADMIN, Client, Entry, Folder, PASSWORD, Pando, SUFFIX, Slapd, people};
use protocol::{OwnedControl, Scope, oid};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The old server's own schema: a type with a supertype, one with an unknown syntax, one that the
/// node defines differently, one of a secret, and a class that uses them.
const SCHEMA: &str = "\
attributetype ( 1.3.6.1.4.1.4203.666.99.1 NAME 'badgeNumber' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.4203.666.99.2 NAME 'badgeColour' SUP name )
attributetype ( 1.3.6.1.4.1.4203.666.99.3 NAME 'badgeSecret'
  SYNTAX 1.3.6.1.4.1.4203.666.11.10.2.1 )
attributetype ( 1.3.6.1.4.1.4203.666.99.4 NAME 'sudoOrder' EQUALITY caseIgnoreMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.4203.666.99.6 NAME 'badgePassword' EQUALITY caseExactMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
objectclass ( 1.3.6.1.4.1.4203.666.99.5 NAME 'badgeHolder' SUP top AUXILIARY
  MAY ( badgeNumber $ badgeColour $ badgeSecret $ sudoOrder $ badgePassword ) )
";

/// Both servers, and the files of the command.
pub struct Move {
    /// The old server.
    pub old: Slapd,
    /// The node.
    pub pando: Pando,
    /// Folder with the old server's own schema.
    _folder: Folder,
}

impl Move {
    /// Starts an old server with some people and further lines of configuration, and an empty node.
    pub fn new(further: &str, people: usize) -> Move {
        let folder = Folder::new();
        let schema = folder.write("own.schema", SCHEMA);
        let schemas: [&Path; 1] = [&schema];
        let old = Slapd::provider(&schemas, further);
        let moved = Move {
            old,
            pando: Pando::init(),
            _folder: folder,
        };
        moved.pando.folder.write("password", PASSWORD);
        let mut admin = moved.old_admin();
        for entry in people::sample() {
            admin.add(&entry).expect_success();
        }
        for number in 0..people {
            let mut entry = people::person(&format!("extra{number}"));
            entry.push("objectClass", b"badgeHolder".to_vec());
            entry.push("badgeNumber", number.to_string().into_bytes());
            entry.push("badgeColour", b"red".to_vec());
            admin.add(&entry).expect_success();
        }
        moved
    }

    /// Connects to the old server as its administrator.
    pub fn old_admin(&self) -> Client {
        let mut client = self.old.client();
        client.bind(ADMIN, PASSWORD).expect_success();
        client
    }

    fn arguments(&self, args: &[&str]) -> Vec<String> {
        let url = format!("ldap://{}", self.old.address());
        let bind = ["--from", &url, "-D", ADMIN, "-y", "password"];
        bind.iter().chain(args).map(|it| (*it).to_owned()).collect()
    }

    /// Runs the command to its end.
    pub fn run(&self, args: &[&str]) -> Answer {
        let args = self.arguments(args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.pando.run_on_node(&["migrate"], &args)
    }

    /// Starts the command beside the test.
    pub fn start(&self) -> Running {
        let mut command = Command::new(kit::pando::program());
        command
            .current_dir(self.pando.folder.path())
            .arg("migrate")
            .arg(self.pando.node())
            .args(self.arguments(&[]));
        Running::start("pando migrate", &mut command)
    }

    /// Waits until the node equals the old server.
    #[track_caller]
    pub fn converges(&self, command: &Running) {
        let (mut there, mut here) = (Vec::new(), Vec::new());
        let deadline = Instant::now() + kit::PATIENCE;
        let kept_back = Duration::from_secs(5);
        until("the node is like the old server, or time is up", || {
            there = tree(&mut self.old_admin());
            here = tree(&mut self.pando.admin());
            (there == here || Instant::now() + kept_back > deadline).then_some(())
        });
        assert_same(&there, &here, &command.log());
    }

    /// Checks that both servers are equal.
    #[track_caller]
    pub fn assert_same(&self) {
        let (there, here) = (tree(&mut self.old_admin()), tree(&mut self.pando.admin()));
        assert_same(&there, &here, "");
    }
}

/// Returns all entries with every attribute that a migration keeps, sorted by name.
pub fn tree(client: &mut Client) -> Vec<Entry> {
    let select = [
        "*",
        "entryUUID",
        "createTimestamp",
        "creatorsName",
        "modifyTimestamp",
        "modifiersName",
    ];
    let all = Scope::WholeSubtree;
    let referrals = [OwnedControl::new(oid::MANAGE_DSA_IT, true)];
    let found = client.search_with(SUFFIX, all, "(objectClass=*)", &select, &referrals, |_| {});
    kit::ldif::in_order(found.entries)
}

/// Panics with the differences.
#[track_caller]
pub fn assert_same(there: &[Entry], here: &[Entry], log: &str) {
    let only = |these: &[Entry], others: &[Entry]| -> String {
        let missing = these.iter().filter(|it| !others.contains(it));
        missing.take(5).map(kit::ldif::print).collect()
    };
    assert!(
        there == here,
        "the old server has\n{}the node has\n{}{log}",
        only(there, here),
        only(here, there)
    );
}

/// Returns the name of a person.
pub fn person(uid: &str) -> String {
    format!("uid={uid},ou=People,{SUFFIX}")
}
