//! Compactions of a served node that are killed at any moment, under writes.

use std::process::Command;

use kit::process::{Running, until};
use kit::{Pando, Random, SUFFIX};

use super::writers::{Working, verify};

const ROUNDS: u64 = 14;

/// Makes a node with some thousand people, most of them deleted, so that room can be regained.
fn with_free_pages() -> Pando {
    let mut pando = Pando::init();
    let person = |n: u32| {
        let text = "x".repeat(2_000);
        format!(
            "dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: p{n}\n\
             description: {text}\n\n"
        )
    };
    let people: String = (0..3_000).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando.serve();
    let mut admin = pando.admin();
    for n in 0..2_500 {
        admin.delete(&format!("uid=p{n},{SUFFIX}")).expect_success();
    }
    pando.stop();
    pando
}

#[test]
fn a_compaction_of_a_served_node_survives_kill_9() {
    let mut random = Random::announced("a_compaction_of_a_served_node_survives_kill_9");
    let mut pando = with_free_pages();
    let (mut total, mut whole) = (0, 0);
    for round in 0..ROUNDS {
        pando.serve();
        let working = Working::begin(&pando, &mut random, round);
        let seen = working.acknowledgements.iter().take(20).count();
        assert_eq!(seen, 20, "the writers stopped before the crash");
        let mut command = Command::new(kit::pando::program());
        command.arg("compact").arg(pando.node());
        let mut compacting = Running::start("pando compact", &mut command);
        // The kill comes at some moment of the work, measured in the server's processor time.
        // Early moments are more likely. The last two rounds let the compaction finish.
        let before = pando.process().processor_ticks();
        let ticks = match round + 2 < ROUNDS {
            true => random.below(7) * random.below(7),
            false => u64::MAX,
        };
        until("the compaction is somewhere", || {
            let used = pando.process().processor_ticks() - before;
            (used >= ticks || !compacting.is_alive()).then_some(())
        });
        whole += u32::from(!compacting.is_alive());
        pando.kill();
        compacting.kill();
        let accounts = working.end();
        total += accounts.iter().map(|it| it.acknowledged).sum::<usize>();

        pando.assert_clean();
        pando.serve();
        assert!(!pando.node().join("data/compact").exists());
        let mut admin = pando.admin();
        for account in &accounts {
            verify(&mut admin, account);
        }
        assert!(admin.read(&format!("uid=p2700,{SUFFIX}")).is_some());
        pando.stop();
        pando.assert_clean();
    }
    assert!(whole > 0, "no compaction came to its end");
    eprintln!("{ROUNDS} crashes, {whole} whole compactions, {total} writes, all of them found");
}
