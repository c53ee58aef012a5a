//! `kill -9` at random moments: acknowledged writes are there, and no write is torn.

mod backups;
mod compaction;
mod groups;
mod imports;
mod indexes;
mod members;
mod writers;

use kit::{Pando, Random};
use writers::{Working, verify};

const ROUNDS: u64 = 50;

#[test]
fn acknowledged_writes_survive_kill_9() {
    let mut random = Random::announced("acknowledged_writes_survive_kill_9");
    let mut pando = Pando::init();
    let mut total = 0;
    for round in 0..ROUNDS {
        pando.serve();
        let working = Working::begin(&pando, &mut random, round);
        // The kill comes after some acknowledgement, while other writes are on their way.
        let moment = 1 + random.below(600);
        let seen = working
            .acknowledgements
            .iter()
            .take(moment as usize)
            .count();
        assert_eq!(seen as u64, moment, "the writers stopped before the crash");
        pando.kill();
        let accounts = working.end();
        total += accounts.iter().map(|it| it.acknowledged).sum::<usize>();

        pando.assert_clean();
        pando.serve();
        let mut admin = pando.admin();
        for account in &accounts {
            verify(&mut admin, account);
        }
        pando.kill();
    }
    eprintln!("{ROUNDS} crashes, {total} acknowledged writes, all of them found");
}
