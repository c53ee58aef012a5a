//! An import that was interrupted goes on from its last checkpoint, and the result is that of one
//! that was not.

mod node;

use directory::import::{
    Content, Files, Format, ImportOptions, Meter, Piece, Source, can_resume, import,
};
use directory::{Directory, Failure, Options};
use node::Node;
use protocol::ldif::LdifChunk;
use std::sync::Arc;
use std::time::Duration;

/// Records in pieces of a few, up to one that cannot be read.
struct Pieces {
    records: Vec<String>,
    next: usize,
    fails_at: usize,
}

const RECORDS: usize = 7;

impl Source for Pieces {
    fn next(&mut self, _: &Meter) -> Result<Option<Piece>, Failure> {
        if self.next >= self.fails_at {
            return Err(Failure::Input("interrupted".to_owned()));
        }
        let Some(records) = self.records.chunks(RECORDS).nth(self.next) else {
            return Ok(None);
        };
        let first_line = (self.next * RECORDS) as u64 * 10 + 1;
        self.next += 1;
        let text = records.concat().into_bytes();
        Ok(Some(Piece {
            origin: Arc::from("pieces"),
            content: Content::Ldif(LdifChunk { first_line, text }),
        }))
    }

    fn repeatable(&self) -> Result<String, String> {
        Ok("pieces".to_owned())
    }
}

/// People, some of them bad, twice there, before their superiors or in another naming context.
fn records() -> Vec<String> {
    let mut records = vec![
        "dn: dc=example,dc=com\nobjectClass: domain\nl: replaced\n\n".to_owned(),
        "dn: cn=deep,cn=late,dc=example,dc=com\nobjectClass: device\n\n".to_owned(),
    ];
    for person in 0..80 {
        let (unit, more) = match person % 10 {
            3 => ("ou=late", "mail: late@example.com\n"),
            5 => ("ou=people", "telephoneNumber;x-other: 1\n"),
            7 => ("ou=people", "noSuchType: x\n"),
            _ => ("ou=people", ""),
        };
        let number = if person % 10 == 9 { person - 1 } else { person };
        records.push(format!(
            "dn: cn=p{number},{unit},dc=example,dc=com\nobjectClass: inetOrgPerson\nsn: \
             {person}\n{more}\n"
        ));
        if person == 2 {
            records.push(
                "dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\n\n".into(),
            );
        }
        if person % 20 == 11 {
            let unit = if person < 40 { "ou=people" } else { "ou=late" };
            records.push(format!(
                "dn: cn=group{person},{unit},dc=example,dc=com\nobjectClass: groupOfNames\n\
                 member: cn=p0,ou=people,dc=example,dc=com\n\
                 member: cn=p72,ou=people,dc=example,dc=com\n\
                 member: cn=p3,ou=late,dc=example,dc=com\nmember: cn=nobody\n\n"
            ));
        }
        if person % 20 == 10 {
            // Members that have come, that come later, and one that never does.
            let members: String = [person - 10, person + 9, person + 10, 999]
                .map(|it| format!("member: cn=p{it},ou=people,dc=example,dc=com\n"))
                .concat();
            records.push(format!(
                "dn: cn=group{person},ou=people,dc=example,dc=com\nobjectClass: \
                 groupOfNames\n{members}\n"
            ));
        }
        if person == 40 {
            records.push("dn: cn=x,ou=new,dc=org\nobjectClass: device\n\n".into());
            records.push("dn: ou=new,dc=org\nobjectClass: organizationalUnit\n\n".into());
        }
    }
    records.push("dn: ou=late,dc=example,dc=com\nobjectClass: organizationalUnit\n\n".into());
    records.push("dn: cn=late,dc=example,dc=com\nobjectClass: device\n\n".into());
    records
}

fn options(node: &Node) -> ImportOptions {
    ImportOptions {
        checkpoint: Some(Duration::from_nanos(1)),
        resume: true,
        memory: 1 << 20,
        ..node.options()
    }
}

fn source(fails_at: usize) -> Box<Pieces> {
    Box::new(Pieces {
        records: records(),
        next: 0,
        fails_at,
    })
}

/// What an import left: the entries without what is new each time, and the rejects.
fn left(node: &Node) -> (String, String) {
    node.check();
    let (out, _) = node.export_with(&directory::export::ExportOptions {
        operational: false,
        ..Default::default()
    });
    (String::from_utf8(out).expect("text"), node.rejects())
}

#[test]
fn an_interrupted_import_ends_as_another() {
    let whole = Node::new("dc=example,dc=com", true);
    let plain = whole.options();
    let all = import(&whole.data(), source(usize::MAX), &plain, &Meter::default());
    let all = all.expect("imported");
    assert!(all.rejected > 8 && all.contexts == ["dc=org"], "{all:?}");
    let before = Node::new("dc=example,dc=com", true).export();
    for stops in [vec![1], vec![5], vec![11], vec![2, 3, 4, 9], vec![6, 6, 12]] {
        let node = Node::new("dc=example,dc=com", true);
        for fails_at in &stops {
            let run = import(
                &node.data(),
                source(*fails_at),
                &options(&node),
                &Meter::default(),
            );
            assert!(matches!(run, Err(Failure::Input(_))), "{run:?}");
            assert!(can_resume(&node.data()), "{stops:?}");
        }
        let run = import(
            &node.data(),
            source(usize::MAX),
            &options(&node),
            &Meter::default(),
        );
        let run = run.expect("imported");
        assert!(!can_resume(&node.data()));
        assert_eq!(
            (run.entries, run.rejected, run.created, run.total),
            (all.entries, all.rejected, all.created, all.total)
        );
        assert!(left(&node) == left(&whole), "{stops:?}");
    }
    // Until then the old database is what there is.
    let node = Node::new("dc=example,dc=com", true);
    let run = import(&node.data(), source(9), &options(&node), &Meter::default());
    assert!(run.is_err());
    assert_eq!(node.export().lines().count(), before.lines().count());
}

#[test]
fn files_go_on_where_they_were() {
    let text = node::people(20_000);
    let import_from = |node: &Node, cancel_at: u64| {
        let file = node.folder.path().join("input.ldif");
        let source = Cancels {
            files: Files::new(vec![file], Format::Ldif),
            pieces: cancel_at,
        };
        import(
            &node.data(),
            Box::new(source),
            &options(node),
            &Meter::default(),
        )
    };
    let node = Node::new("dc=example,dc=com", true);
    node.file("input.ldif", text.as_bytes());
    for pieces in [1, 2, 4] {
        let run = import_from(&node, pieces);
        assert!(matches!(run, Err(Failure::Cancelled)), "{run:?}");
    }
    let run = import_from(&node, u64::MAX).expect("imported");
    assert_eq!(
        (run.entries, run.rejected),
        (20_001, 0),
        "{}",
        node.rejects()
    );
    node.check();
}

struct Cancels {
    files: Files,
    pieces: u64,
}

impl Source for Cancels {
    fn next(&mut self, meter: &Meter) -> Result<Option<Piece>, Failure> {
        if self.pieces == 0 {
            meter.cancel();
        }
        self.pieces = self.pieces.saturating_sub(1);
        meter.check()?;
        self.files.next(meter)
    }

    fn repeatable(&self) -> Result<String, String> {
        self.files.repeatable()
    }
}

#[test]
fn only_the_same_import_goes_on() {
    let node = Node::new("dc=example,dc=com", true);
    let run = |source: Box<dyn Source>, options: &ImportOptions| {
        import(&node.data(), source, options, &Meter::default())
    };
    let good = options(&node);
    run(source(5), &good).expect_err("interrupted");
    let unchecked = ImportOptions {
        check_schema: false,
        ..good.clone()
    };
    let error = run(source(usize::MAX), &unchecked).expect_err("other options");
    assert!(error.to_string().contains("another one"), "{error}");
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    let pipe = Box::new(Files::new(vec![path.into()], Format::Ldif));
    let error = run(pipe, &good).expect_err("a pipe");
    assert!(
        error.to_string().contains("cannot be read again"),
        "{error}"
    );
    assert!(can_resume(&node.data()));
    // Damage is noticed.
    let file = node.data().join("import/import-checkpoint");
    let mut bytes = std::fs::read(&file).expect("readable");
    bytes[40] ^= 1;
    std::fs::write(&file, &bytes).expect("written");
    let error = run(source(usize::MAX), &good).expect_err("damaged");
    assert!(error.to_string().contains("damaged"), "{error}");
    // Whoever serves the directory may change it, so what was begun is given up.
    let opened = Directory::open(&node.data(), &Options::default()).expect("opens");
    opened.shutdown();
    drop(opened);
    assert!(!can_resume(&node.data()));
    assert!(run(source(usize::MAX), &good).expect("begun anew").entries > 50);
}
