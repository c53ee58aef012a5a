//! Imports that are killed: all or nothing, resumed from the checkpoint.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use kit::process::{Running, until};
use kit::{Pando, Random, SUFFIX, people};

const ROUNDS: u64 = 8;

fn importing(pando: &Pando, arguments: &[&str]) -> Running {
    let mut command = Command::new(kit::pando::program());
    command.arg("import").arg(pando.node()).args(arguments);
    Running::start("pando import", &mut command)
}

/// Lets an import use so much processor time, which is the clock here, and kills it; returns the
/// time that it used.
fn kill_after(mut import: Running, ticks: u64) -> u64 {
    let mut used = 0;
    until("the import works or ends", || {
        used = used.max(import.processor_ticks());
        (used >= ticks || !import.is_alive()).then_some(())
    });
    import.kill();
    used
}

#[test]
fn crash_during_an_import_leaves_all_or_nothing() {
    let mut random = Random::announced("crash_during_an_import_leaves_all_or_nothing");
    let mut pando = Pando::init();
    let mut before = pando.export();
    let people: String = (0..40_000)
        .map(|number| {
            let mut person = people::person(&format!("p{number}"));
            person.name = format!("uid=p{number},{SUFFIX}");
            kit::ldif::print(&person)
        })
        .collect();
    let folder = kit::Folder::new();
    let file = folder.write("people.ldif", people);
    let file = file.to_string_lossy().into_owned();
    // The first run measures the whole import, which the others divide into parts.
    let whole = kill_after(importing(&Pando::init(), &[&file]), u64::MAX).max(1);
    let mut all = 0;
    for round in 0..ROUNDS {
        // The kill comes at some moment of this part of the work.
        let ticks = (whole * round + random.below(whole)) / ROUNDS;
        kill_after(importing(&pando, &[&file]), ticks);
        pando.assert_clean();
        let now = pando.export();
        if now != before {
            let count = kit::ldif::parse(&now).len();
            assert_eq!(count, 40_001, "neither all nor nothing");
            all += 1;
            pando = Pando::init();
            before = pando.export();
        }
    }
    eprintln!("{ROUNDS} crashes, {all} imports whole; one takes {whole} ticks");
    if pando.export() == before {
        pando.run_on_node(&["import"], &[&file]).expect(0);
    }
    assert_eq!(kit::ldif::parse(&pando.export()).len(), 40_001);
}

#[test]
fn crash_while_entries_are_added_leaves_all_or_nothing() {
    let mut random = Random::announced("crash_while_entries_are_added_leaves_all_or_nothing");
    let pando = Pando::init();
    let person = |name: &str| {
        let mut person = people::person(name);
        person.name = format!("uid={name},{SUFFIX}");
        kit::ldif::print(&person)
    };
    let all: String = (0..20_000).map(|it| person(&format!("p{it}"))).collect();
    let all = pando.folder.write("all.ldif", all);
    pando
        .run_on_node(&["import"], &[&all.to_string_lossy()])
        .expect(0);
    let before = pando.export();
    let database = pando.node().join("data").join("pando.mdb");
    let inode = || std::fs::metadata(&database).expect("there").ino();
    let place = inode();
    let mut whole = 0;
    for round in 0..ROUNDS {
        // The files are new each time, since those of a finished import are in use.
        let more: String = (0..600)
            .map(|it| person(&format!("r{round}-{it}")))
            .collect();
        let more = pando.folder.write("more.ldif", more);
        let there = kit::ldif::parse(&pando.export()).len();
        kill_after(
            importing(&pando, &[&more.to_string_lossy()]),
            random.below(40),
        );
        pando.assert_clean();
        match kit::ldif::parse(&pando.export()).len() - there {
            0 => {}
            600 => whole += 1,
            some => panic!("{some} of 600 entries were added"),
        }
    }
    assert_eq!(inode(), place, "the database is the one that was there");
    assert!(pando.export().starts_with(before.trim_end()));
    eprintln!("{ROUNDS} crashes, {whole} imports whole");
}

#[test]
fn a_killed_import_goes_on_from_its_checkpoint() {
    let mut random = Random::announced("a_killed_import_goes_on_from_its_checkpoint");
    let pando = Pando::init();
    let template = "define suffix=dc=example,dc=com\n\nbranch: ou=Many,[suffix]\n\
        subordinateTemplate: person:60000\n\ntemplate: person\nrdnAttr: uid\n\
        objectClass: inetOrgPerson\nuid: user.<sequential:1>\ncn: <first> <last>\n\
        sn: <random:alpha:8>\nmail: {uid}@example.com\n";
    let template = pando.folder.write("many.template", template);
    let template = template.to_string_lossy();
    let options = ["--checkpoint", "0.1", "--memory", "1M"];
    let begin = [&options[..], &["--template", &template]].concat();
    let resume = [&["--resume"], &begin[..]].concat();
    // An import that was killed before its first checkpoint begins anew.
    let checkpoint = pando.node().join("data/import/import-checkpoint");
    let arguments = || if checkpoint.exists() { &resume } else { &begin };
    for _ in 0..5 {
        kill_after(importing(&pando, arguments()), random.below(60));
    }
    // A run may have finished already: then all entries are there.
    let last = pando.run_on_node(&["import"], arguments());
    assert!(last.status <= 1, "{}", last.err);
    pando.assert_clean();
    assert_eq!(kit::ldif::parse(&pando.export()).len(), 60_002);
}
