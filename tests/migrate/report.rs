//! A report shows differences, but no passwords.

use super::{Move, person};
use kit::client::Modification;
use kit::{SUFFIX, people};

#[test]
fn planted_differences_are_found() {
    let mut moved = Move::new("", 700);
    moved.run(&["--once"]).expect(0);
    moved.pando.serve();
    let mut admin = moved.pando.admin();
    admin.add(&people::unit("Planted")).expect_success();
    admin.delete(&person("extra600")).expect_success();
    let changes = [
        Modification::replace("sn", &["Planted"]),
        Modification::replace("userPassword", &["a new secret"]),
    ];
    admin.modify(&person("ada"), &changes).expect_success();
    let answer = moved.run(&["--once", "--report", "-"]).expect(1);
    for line in [
        &format!("dn: ou=Planted,{SUFFIX}"),
        "# only here",
        &format!("dn: {}", person("extra600")),
        "# only on the old server",
        &format!("dn: {}", person("ada")),
        "-sn: ada",
        "+sn: Planted",
        "# userPassword differs",
        "# 705 entries on both sides, 1 of them different; 1 only on the old server, 1 only here",
    ] {
        let count = answer.out.lines().filter(|it| *it == line).count();
        assert_eq!(count, 1, "{line}\n{}", answer.out);
    }
    for secret in ["a new secret", "userPassword:", "ARGON2", "argon2"] {
        assert!(!answer.out.contains(secret), "{}", answer.out);
    }
}

#[test]
fn a_copy_keeps_the_rejects_of_before() {
    let moved = Move::new("", 2);
    let change = Modification::add("sudoOrder", &["first"]);
    let mut old = moved.old_admin();
    old.modify(&person("extra1"), &[change]).expect_success();
    let before = moved.pando.node().join("pando-rejects.ldif");
    std::fs::write(&before, "# of an import\n").expect("the folder is there");
    let named = before.to_string_lossy();
    moved
        .run(&["--once", "--rejects", &named])
        .expect(2)
        .says("expected a new file");
    moved
        .run(&["--once"])
        .expect(1)
        .says("pando-rejects-2.ldif");
    let kept = std::fs::read_to_string(&before).expect("still there");
    assert_eq!(kept, "# of an import\n");
    let rejects = std::fs::read_to_string(moved.pando.node().join("pando-rejects-2.ldif"));
    let rejects = rejects.expect("the file is made");
    assert!(rejects.contains(&format!("dn: {}", person("extra1"))));
}

#[test]
fn what_the_node_refuses_is_named_and_stops_nothing() {
    let mut moved = Move::new("", 20);
    let mut old = moved.old_admin();
    // On the old server an order may be a word.
    let change = Modification::add("sudoOrder", &["first"]);
    old.modify(&person("extra1"), std::slice::from_ref(&change))
        .expect_success();
    let answer = moved.run(&["--once"]).expect(1);
    answer
        .says("sudoOrder (1.3.6.1.4.1.4203.666.99.4): the node has another definition")
        .says("1 entry rejected");
    moved.pando.serve();
    old.modify(&person("extra2"), &[change]).expect_success();
    let answer = moved.run(&["--once", "--report", "-"]).expect(1);
    let refused = format!("refused: {}", person("extra2"));
    let answer = answer.says(&refused).says("1 entry refused");
    assert!(answer.out.contains("-sudoOrder: first"), "{}", answer.out);
    let rejects = std::fs::read_to_string(moved.pando.node().join("pando-rejects.ldif"));
    let rejects = rejects.expect("the file is made");
    for uid in ["extra1", "extra2"] {
        assert!(
            rejects.contains(&format!("dn: {}", person(uid))),
            "{rejects}"
        );
    }
}
