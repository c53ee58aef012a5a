//! `ldapsearch -E` and `-e`: controls of searches and binds as sent by Debian's tools.

use kit::tools::Tools;
use kit::{ADMIN, Entry, Pando, SUFFIX, Subject};
use protocol::control::SessionTracking;
use protocol::{OwnedControl, Scope, oid};

use super::{ADA, EDSGER, GRACE, code};

/// Adds a group with ada, grace and a member that does not exist.
fn with_group() -> Subject {
    let subject = Subject::with_people();
    let members = [ADA, GRACE, "uid=gone,ou=People,dc=example,dc=com"];
    let group = Entry::of(
        &format!("cn=pioneers,ou=Groups,{SUFFIX}"),
        &[("objectClass", &["groupOfNames"]), ("member", &members)],
    );
    subject.add(&[group]);
    subject
}

/// Returns standard output with its comments, where the tool shows response controls.
fn commented(tools: &Tools, args: &[&str]) -> String {
    let mut all = vec!["-o", "ldif_wrap=no", "-b", SUFFIX];
    all.extend(args);
    tools.run("ldapsearch", &all, "").expect(code::SUCCESS).out
}

#[test]
fn matched_values() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let out = commented(
        &tools,
        &[
            "-E",
            "!mv=(description=The*)",
            "(uid=edsger)",
            "description",
            "sn",
        ],
    );
    assert!(out.contains("description: The humble programmer"), "{out}");
    assert!(!out.contains("Goto considered"), "{out}");
    assert!(!out.contains("sn: edsger"), "{out}");
}

#[test]
fn sorting_and_views() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let order = |control: &[&str]| {
        let mut args = vec!["-b", SUFFIX];
        args.extend(control);
        args.extend(["(objectClass=person)", "1.1"]);
        let found = tools.search(&args).expect(code::SUCCESS).entries();
        found.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(order(&["-E", "!sss=sn"]), [ADA, EDSGER, GRACE]);
    assert_eq!(order(&["-E", "!sss=-sn/cn"]), [GRACE, EDSGER, ADA]);
    let numbers = ["-E", "!sss=employeeNumber:caseExactOrderingMatch"];
    assert_eq!(order(&numbers), [ADA, GRACE, EDSGER]);
    let paged = ["-E", "!sss=sn", "-E", "!pr=1/noprompt"];
    assert_eq!(order(&paged), [ADA, EDSGER, GRACE]);
    // The tool requests the window behind this one, at the end of the list.
    let view = [
        "-b",
        SUFFIX,
        "-E",
        "!sss=sn",
        "-E",
        "!vlv=0/0:f",
        "(cn=*)",
        "1.1",
    ];
    let out = tools.run("ldapsearch", &view, "").out;
    assert!(out.contains(GRACE) && !out.contains(EDSGER), "{out}");
    assert!(out.contains("pos=3 count=3"), "{out}");
    tools
        .search(&["-b", SUFFIX, "-E", "!sss=noSuchAttribute", "(uid=*)"])
        .expect(code::UNAVAILABLE_CRITICAL_EXTENSION);
    let no_sort = tools.search(&["-b", SUFFIX, "-E", "!vlv=0/0/1/0", "(uid=*)"]);
    assert!(no_sort.status != code::SUCCESS, "{no_sort:?}");
}

#[test]
fn subentries() {
    let subject = Subject::with_people();
    let area = Entry::of(
        &format!("cn=area,{SUFFIX}"),
        &[
            ("objectClass", &["top", "subentry"]),
            ("subtreeSpecification", &["{}"]),
        ],
    );
    subject.add(&[area]);
    let tools = subject.tools();
    let names = |control: &[&str], base: &str, scope: &str| {
        let mut args = vec!["-b", base, "-s", scope];
        args.extend(control);
        args.extend(["(objectClass=*)", "1.1"]);
        tools.search(&args).expect(code::SUCCESS).entries().len()
    };
    assert_eq!(names(&[], SUFFIX, "sub"), 6);
    assert_eq!(names(&["-E", "!subentries=true"], SUFFIX, "sub"), 1);
    assert_eq!(names(&["-E", "!subentries=false"], SUFFIX, "sub"), 6);
    assert_eq!(names(&[], "cn=area,dc=example,dc=com", "base"), 1);
}

#[test]
fn dereference() {
    let subject = with_group();
    let tools = subject.tools();
    let args = ["-E", "!deref=member:uid,sn", "(cn=pioneers)", "cn"];
    let out = commented(&tools, &args);
    for expected in [ADA, GRACE, "uid=gone", "<uid=ada>", "<sn=grace>"] {
        assert!(out.contains(expected), "{expected} in {out}");
    }
}

#[test]
fn current_reads_and_account_usability() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let out = commented(&tools, &["-E", "!dontUseCopy", "(uid=ada)", "1.1"]);
    assert!(out.contains(ADA), "{out}");
    let out = commented(&tools, &["-E", "!accountUsability", "(uid=ada)", "1.1"]);
    assert!(out.contains("1.3.6.1.4.1.42.2.27.9.5.8"), "{out}");
    let out = commented(&tools, &["-E", "!accountUsability", "(uid=edsger)", "1.1"]);
    assert!(out.contains(EDSGER), "{out}");
    assert!(!out.contains("1.3.6.1.4.1.42.2.27.9.5.8"), "{out}");
}

/// Returns the control for a subject, as sent by clients of 389 Directory Server.
fn rights_of(identity: &str) -> String {
    format!("!1.3.6.1.4.1.42.2.27.9.5.2=:{identity}")
}

#[test]
fn effective_rights() {
    let subject = Subject::with_people();
    let admin = subject.tools();
    let ask = |tools: &Tools, whose: &str, attributes: &[&str]| {
        let control = rights_of(whose);
        let args = [
            "-o",
            "ldif_wrap=no",
            "-b",
            SUFFIX,
            "-E",
            &control,
            "(uid=ada)",
        ];
        tools.search(&[&args[..], attributes].concat())
    };
    let of_ada = format!("dn:{ADA}");
    let out = ask(&admin, &of_ada, &["cn"]).expect(code::SUCCESS).out;
    assert!(out.contains("\ncn: ada\n"), "{out}");
    assert!(out.contains("\nentryLevelRights: v\n"), "{out}");
    for rights in ["uid:rsc", "sn:rsc", "userPassword:cwo"] {
        assert!(out.contains(rights), "{rights} in {out}");
    }
    let out = ask(&admin, &format!("dn:{GRACE}"), &["1.1"])
        .expect(code::SUCCESS)
        .out;
    assert!(
        out.contains("userPassword:none") && !out.contains("\ncn:"),
        "{out}"
    );
    let out = ask(&admin, &format!("dn:{ADMIN}"), &["1.1"])
        .expect(code::SUCCESS)
        .out;
    assert!(out.contains("\nentryLevelRights: vadn\n"), "{out}");

    // The control has the rules, as sent by Sun, OpenDJ and the UnboundID SDK.
    let out = ask(&admin, &of_ada, &["aclRights", "aclRightsInfo"])
        .expect(code::SUCCESS)
        .out;
    for line in [
        "aclRights;entryLevel: add:0,delete:0,read:1,write:0,proxy:1",
        "aclRights;attributeLevel;sn: search:1,read:1,compare:1,write:0,selfwrite_add:0,\
         selfwrite_delete:0,proxy:1",
        "aclRightsInfo;logs;attributeLevel;write;userPassword: allowed by rule \"own password\"",
        "aclRightsInfo;logs;entryLevel;delete: denied by rule \"not writable\"",
    ] {
        assert!(out.contains(&format!("\n{line}\n")), "{line} in {out}");
    }

    // The values of `member` are links, which are not stored in the entry row.
    let group = format!("dn: cn=staff,{SUFFIX}\nobjectClass: groupOfNames\nmember: {ADA}\n");
    admin.add(&group).expect(code::SUCCESS);
    let rights = rights_of(&of_ada);
    let args = ["-o", "ldif_wrap=no", "-b", SUFFIX, "-E", &rights];
    let out = admin.search(&[&args[..], &["(cn=staff)", "1.1"]].concat());
    let out = out.expect(code::SUCCESS).out;
    assert!(out.contains("member:rsc"), "{out}");

    // Users may ask about themselves.
    let ada = Tools::bound(&subject.url(), ADA, "ada");
    let out = ask(&ada, &of_ada, &["1.1"]).expect(code::SUCCESS).out;
    assert!(
        out.contains("uid:rsc") && !out.contains("userPassword"),
        "{out}"
    );
    ask(&ada, &format!("dn:{GRACE}"), &["1.1"]).expect(code::INSUFFICIENT_ACCESS_RIGHTS);
    ask(&ada, "dn:uid=nobody", &["1.1"]).expect(code::INSUFFICIENT_ACCESS_RIGHTS);
    let junk = [
        "-b",
        SUFFIX,
        "-E",
        "!1.3.6.1.4.1.42.2.27.9.5.2=:junk",
        "(uid=ada)",
    ];
    ada.search(&junk).expect(code::PROTOCOL_ERROR);
}

#[test]
fn the_authorization_identity_comes_with_the_bind() {
    let subject = Subject::with_people();
    let ada = Tools::bound(&subject.url(), &ADA.to_uppercase(), "ada");
    let answer = ada
        .run("ldapwhoami", &["-e", "!bauthzid", "-v"], "")
        .expect(code::SUCCESS);
    answer.says(ADA);
}

#[test]
fn session_tracking() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let args = [
        "-e",
        "sessiontracking=ada",
        "-b",
        SUFFIX,
        "(uid=ada)",
        "1.1",
    ];
    let found = tools.search(&args).expect(code::SUCCESS).entries();
    assert_eq!(found.len(), 1);
}

/// The log quotes a client's session tracking text: it cannot look like a line of the server's.
#[test]
fn tracked_sessions_stand_in_the_log() {
    let mut pando = Pando::init();
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n\n[log]\nlevel = \"info\"\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("written");
    pando.serve_as_configured();
    let session = SessionTracking {
        source_address: "192.0.2.1",
        source_name: "app.example.com",
        format: "1.3.6.1.4.1.21008.108.63.1.3",
        identifier: "ada\nERROR forged",
    };
    let control = OwnedControl::with_value(oid::SESSION_TRACKING, true, |out| session.encode(out));
    let (scope, all) = (Scope::BaseObject, "(objectClass=*)");
    let mut admin = pando.admin();
    let found = admin.search_with(SUFFIX, scope, all, &["1.1"], &[control], |_| {});
    found.outcome.expect_success();
    pando.process().wait_for("session tracked", |line| {
        let whole = [
            "session tracked",
            "192.0.2.1",
            "app.example.com",
            "ERROR forged",
            ADMIN,
        ];
        whole.iter().all(|it| line.contains(it)).then_some(())
    });
}

#[test]
fn critical_controls_out_of_place_change_nothing() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let unavailable = code::UNAVAILABLE_CRITICAL_EXTENSION;
    tools
        .search(&["-b", SUFFIX, "-E", "!1.2.3.4", "(uid=ada)"])
        .expect(unavailable);
    tools
        .search(&["-b", SUFFIX, "-E", "1.2.3.4", "(uid=ada)", "1.1"])
        .expect(code::SUCCESS)
        .says(ADA);
}
