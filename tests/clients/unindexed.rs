//! Searches that no index helps: how many of them a subject may have at a time.

use kit::{Pando, SUFFIX};
use protocol::{ResultCode, Scope};

const PEOPLE: u32 = 6_000;

/// Long texts, so that no socket takes all of an answer.
fn people() -> String {
    let text = "x".repeat(3_000);
    let person = |n: u32| {
        format!(
            "dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: p{n}\n\
             description: {text}\n\n"
        )
    };
    (0..PEOPLE).map(person).collect()
}

#[test]
fn a_subject_has_so_many_at_a_time() {
    let mut pando = Pando::init();
    let file = pando.folder.write("people.ldif", people());
    let args = [file.to_string_lossy().into_owned()];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    pando.run_on_node(&["import"], &args).expect(0);
    let settings = pando.node().join("pando.toml");
    let limits = "[limits]\nsize_entries_max = 0\n\n[anonymous_limits]\nsize_entries_max = 0\n\
                  unindexed_searches_max = 1\n";
    std::fs::write(&settings, limits).expect("our own file");
    pando.serve();
    let (mut slow, mut other) = (pando.client(), pando.client());
    // Not read yet: it stays where the socket is full.
    let begun = slow.send_search(SUFFIX, Scope::WholeSubtree, "(sn=p*)", &[], &[], |_| ());
    slow.receive();
    let find = |client: &mut kit::Client| {
        let found = client.search(SUFFIX, Scope::WholeSubtree, "(&(sn=p7)(l=x))", &["1.1"]);
        (found.outcome.code, found.outcome.diagnostic)
    };
    let (code, diagnostic) = find(&mut other);
    assert_eq!(code, ResultCode::BUSY, "{diagnostic}");
    for part in [
        "limit of 1 ",
        "unindexed_searches_max",
        "anonymous clients",
        "pando index add DIR sn equality",
    ] {
        assert!(diagnostic.contains(part), "{part} in {diagnostic}");
    }
    // What an index finds is not concerned, nor are others.
    let found = other.search(SUFFIX, Scope::WholeSubtree, "(uid=p7)", &["1.1"]);
    assert_eq!(found.entries.len(), 1);
    assert_eq!(find(&mut pando.admin()).0, ResultCode::SUCCESS);
    let all = slow.try_finish(begun).expect("the server answers");
    assert_eq!(all.outcome.code, ResultCode::SUCCESS);
    assert_eq!(all.entries.len() as u32 + 1, PEOPLE);
    assert_eq!(find(&mut other).0, ResultCode::SUCCESS);
    // A client that goes away gives its place back.
    slow.send_search(SUFFIX, Scope::WholeSubtree, "(sn=p*)", &[], &[], |_| ());
    slow.receive();
    drop(slow);
    kit::process::until("there is room again", || {
        (find(&mut other).0 == ResultCode::SUCCESS).then_some(())
    });
}
