//! Imports that are killed: all or nothing, and on from the checkpoint.

use kit::{Pando, Random, SUFFIX, people};

#[test]
fn crash_during_an_import_leaves_all_or_nothing() {
    let mut random = Random::announced("crash_during_an_import_leaves_all_or_nothing");
    let pando = Pando::init();
    let before = pando.export();
    let people: String = (0..40_000)
        .map(|number| {
            let mut person = people::person(&format!("p{number}"));
            person.name = format!("uid=p{number},{SUFFIX}");
            kit::ldif::print(&person)
        })
        .collect();
    let file = pando.folder.write("people.ldif", people);
    for _ in 0..5 {
        let mut command = std::process::Command::new(kit::pando::program());
        command.arg("import").arg(pando.node()).arg(&file);
        let mut import = kit::process::Running::start("pando import", &mut command);
        // Some moment of its work: the processor time it has used is the clock.
        let ticks = random.below(30);
        kit::process::until("the import works or ends", || {
            (import.processor_ticks() >= ticks || !import.is_alive()).then_some(())
        });
        import.kill();
        pando.assert_clean();
        let now = pando.export();
        if now != before {
            assert_eq!(
                kit::ldif::parse(&now).len(),
                40_001,
                "neither all nor nothing"
            );
            return;
        }
    }
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    assert_eq!(kit::ldif::parse(&pando.export()).len(), 40_001);
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
    let options = ["--resume", "--checkpoint", "0.1", "--memory", "1M"];
    for _ in 0..5 {
        let mut command = std::process::Command::new(kit::pando::program());
        command.arg("import").arg(pando.node()).args(options);
        command.arg("--template").arg(&template);
        let mut import = kit::process::Running::start("pando import", &mut command);
        let ticks = random.below(60);
        kit::process::until("the import works or ends", || {
            (import.processor_ticks() >= ticks || !import.is_alive()).then_some(())
        });
        import.kill();
    }
    let template = template.to_string_lossy();
    let arguments = [&options[..], &["--template", &template]].concat();
    // Unless one of them has come to its end already, when all entries are there.
    let last = pando.run_on_node(&["import"], &arguments);
    assert!(last.status <= 1, "{}", last.err);
    pando.assert_clean();
    assert_eq!(kit::ldif::parse(&pando.export()).len(), 60_002);
}
