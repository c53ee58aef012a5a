//! Streams of add requests: generated, exported, imported from files and from FIFOs at once.

use super::{Answer, Shell};
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::process::Command;

const TEMPLATE: &str = "define suffix=dc=example,dc=com\n\
    define Count=3000\n\n\
    branch: ou=People,[suffix]\nsubordinateTemplate: person:[Count]\n\n\
    template: person\nrdnAttr: uid\nobjectClass: inetOrgPerson\n\
    uid: user.<sequential:1>\ncn: <first> <last>\nsn: <random:alpha:8>\n";

fn shell() -> Shell {
    let shell = Shell::with_node();
    shell.folder.write("people.template", TEMPLATE);
    shell
}

fn entries(shell: &Shell) -> usize {
    let exported: Answer = shell.pando(&["export", "node"]).expect(0);
    exported.entries().len()
}

#[test]
fn generated_streams_are_imported() {
    for format in ["ber", "bare-ber"] {
        let shell = shell();
        let generate = ["generate", "people.template", "--format", format];
        let parts = ["-o", "1.ber", "-o", "2.ber", "-o", "3.ber"];
        shell.pando(&[&generate[..], &parts].concat()).expect(0);
        shell
            .pando(&[
                "import",
                "node",
                "1.ber",
                "2.ber",
                "3.ber",
                "--at-once",
                "3",
            ])
            .expect(0)
            .says("3,001 entries imported");
        assert_eq!(entries(&shell), 3002);
    }
}

#[test]
fn the_parts_of_a_template_are_the_whole() {
    let shell = shell();
    let generate = ["generate", "people.template"];
    let parts = [
        "-o", "1.ldif", "-o", "2.ldif", "-o", "3.ldif", "--from", "5",
    ];
    shell.pando(&[&generate[..], &parts].concat()).expect(0);
    let part = |name| std::fs::read_to_string(shell.folder.join(name)).expect("readable");
    let joined = ["1.ldif", "2.ldif", "3.ldif"].map(part).concat();
    let whole = shell
        .pando(&[&generate[..], &["--from", "5"]].concat())
        .expect(0)
        .out;
    assert!(joined == whole);
}

#[test]
fn exported_streams_are_imported() {
    let one = shell();
    one.pando(&["import", "node", "--template", "people.template"])
        .expect(0);
    one.pando(&["export", "node", "--format", "ber", "-o", "all.ber.zst"])
        .expect(0);
    let other = shell();
    let stream = one.folder.join("all.ber.zst");
    other
        .pando(&["import", "node", &stream.to_string_lossy()])
        .expect(0);
    let export = |shell: &Shell| shell.pando(&["export", "node"]).expect(0).out;
    assert_eq!(export(&other), export(&one));
}

#[test]
fn four_fifos_are_read_at_once() {
    let shell = shell();
    let fifos = ["1", "2", "3", "4"];
    let made = Command::new("mkfifo")
        .args(fifos)
        .current_dir(shell.folder.path())
        .status();
    assert!(made.expect("mkfifo").success());
    let generate = ["generate", "people.template", "--format", "ber"];
    let outputs = fifos.map(|fifo| ["-o", fifo]).concat();
    let generate = [&generate[..], &outputs].concat();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| shell.pando(&generate).expect(0));
        let import = [&["import", "node"][..], &fifos].concat();
        shell
            .pando(&import)
            .expect(0)
            .says("3,001 entries imported");
        writing.join().expect("generated");
    });
    assert_eq!(entries(&shell), 3002);
    shell.pando(&["check", "node"]).expect(0);
}

#[test]
fn sockets_are_connected_to_beside_standard_input() {
    let shell = shell();
    let generated = |from: &str, to: &str| {
        let part = ["--format", "ber", "--from", from, "--to", to, "-o", "part"];
        shell
            .pando(&[&["generate", "people.template"][..], &part].concat())
            .expect(0);
        std::fs::read(shell.folder.join("part")).expect("generated")
    };
    // Entries of the first source are not below those of a later one, whichever is faster.
    let parts = [generated("1", "1000"), generated("1000", "3001")];
    let unit = "dn: ou=People,dc=example,dc=com\nobjectClass: organizationalUnit\nou: People\n";
    let listeners = ["one", "two"]
        .map(|name| UnixListener::bind(shell.folder.join(name)).expect("nobody has it"));
    std::thread::scope(|scope| {
        for (listener, part) in listeners.iter().zip(&parts) {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("it connects");
                stream.write_all(part).expect("it reads");
            });
        }
        shell
            .pando_with_input(&["import", "node", "one", "-", "two"], unit)
            .expect(0)
            .says("3,001 entries imported");
    });
    assert_eq!(entries(&shell), 3002);
    let help = shell.pando(&["help", "import"]).expect(0);
    for part in ["FIFOs", "Unix sockets", "standard input"] {
        assert!(help.out.contains(part), "{part}");
    }
}

#[test]
fn a_stream_that_breaks_off_is_told() {
    let shell = shell();
    let generate = [
        "generate",
        "people.template",
        "--format",
        "ber",
        "--to",
        "100",
    ];
    shell
        .pando(&[&generate[..], &["-o", "all.ber"]].concat())
        .expect(0);
    let whole = std::fs::read(shell.folder.join("all.ber")).expect("readable");
    std::fs::write(shell.folder.join("cut.ber"), &whole[..whole.len() - 7]).expect("written");
    shell
        .pando(&["import", "node", "cut.ber"])
        .expect(1)
        .says("99 entries imported")
        .says("cut.ber, request 100 at byte ")
        .says("got the end; this input is not read any further");
    assert_eq!(entries(&shell), 100);
}
