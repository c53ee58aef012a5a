//! Backups of a served node during which the backup or the server is killed.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kit::process::{Running, until};
use kit::{EnoughAtEnd, Pando, Random, SUFFIX};

use super::indexes::write_on;
use super::writers::{Working, verify};

fn with_people(count: u32) -> Pando {
    let pando = Pando::init();
    let person = |n: u32| {
        format!("dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: Family {n}\n\n")
    };
    let people: String = (0..count).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando
}

fn backing_up(pando: &Pando, to: &str) -> Running {
    let mut command = Command::new(kit::pando::program());
    command.arg("backup").arg(pando.node()).arg(to);
    Running::start("pando backup", &mut command)
}

/// Checks that a backup has its name exactly when it is complete.
fn verify_or_unfinished(pando: &Pando, backup: &str) -> bool {
    if std::path::Path::new(backup).exists() {
        let verified = pando.run(&["verify", backup]).expect(0);
        verified.says("no problem found");
        return true;
    }
    // An unfinished backup cannot be restored.
    let partial = format!("{backup}.partial");
    if std::path::Path::new(&partial).exists() {
        let target = pando.folder.join("restored").to_string_lossy().into_owned();
        let restored = pando.run(&["restore", &partial, &target]);
        let whole = std::path::Path::new(&partial)
            .join("manifest.toml")
            .exists();
        assert!(whole || restored.status == 1, "{}", restored.out);
        std::fs::remove_dir_all(&target).unwrap_or_default();
    }
    false
}

#[test]
fn a_killed_backup_is_whole_or_recognised_as_unfinished() {
    let mut random = Random::announced("a_killed_backup_is_whole_or_recognised_as_unfinished");
    let mut pando = with_people(8_000);
    pando.serve();
    let (enough, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let (address, mut whole) = (pando.address(), 0);
    thread::scope(|scope| {
        let _ends = EnoughAtEnd(&enough);
        scope.spawn(|| write_on(address, &enough, &written));
        for round in 0..12 {
            let to = pando.folder.join(&format!("backup{round}"));
            let to = to.to_string_lossy().into_owned();
            let mut backup = backing_up(&pando, &to);
            let ticks = random.below(if round < 10 { 25 } else { 10_000 });
            until("the backup works or ends", || {
                (backup.processor_ticks() >= ticks || !backup.is_alive()).then_some(())
            });
            backup.kill();
            whole += u32::from(verify_or_unfinished(&pando, &to));
            // The next backup of the same name replaces the unfinished one.
            if round % 4 == 0 && !std::path::Path::new(&to).exists() {
                pando.run_on_node(&["backup"], &[&to]).expect(0);
                assert!(verify_or_unfinished(&pando, &to));
            }
            let before = written.load(Ordering::Relaxed);
            until("writes go on", || {
                (written.load(Ordering::Relaxed) > before).then_some(())
            });
        }
    });
    assert!(whole > 0, "no backup came to its end");
    pando.stop();
    pando.assert_clean();
}

#[test]
fn a_server_killed_during_a_backup_loses_nothing() {
    let mut random = Random::announced("a_server_killed_during_a_backup_loses_nothing");
    let mut pando = with_people(4_000);
    for round in 0..6 {
        pando.serve();
        let working = Working::begin(&pando, &mut random, round);
        let seen = working.acknowledgements.iter().take(20).count();
        assert_eq!(seen, 20, "the writers stopped before the crash");
        let to = pando.folder.join(&format!("backup{round}"));
        let to = to.to_string_lossy().into_owned();
        let mut backup = backing_up(&pando, &to);
        let ticks = random.below(20);
        until("the backup works or ends", || {
            (backup.processor_ticks() >= ticks || !backup.is_alive()).then_some(())
        });
        pando.kill();
        let accounts = working.end();
        // The backup goes on: its snapshot stays valid as long as no other process writes.
        backup.wait();
        verify_or_unfinished(&pando, &to);
        pando.assert_clean();
        pando.serve();
        let mut admin = pando.admin();
        for account in &accounts {
            verify(&mut admin, account);
        }
        pando.kill();
    }
}
