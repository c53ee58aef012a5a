//! An import that was interrupted goes on from its last checkpoint, and the result is that of one
//! that was not.

mod node;

use directory::{Directory, Failure, Options};
use node::Node;
use protocol::ldif::LdifChunk;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use transfer::Meter;
use transfer::import::{Content, Files, Format, ImportOptions, Piece, Source, can_resume, import};

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

/// Result of an import: the entries without their operational attributes, and the rejects.
fn left(node: &Node) -> (String, String) {
    node.check();
    let (out, _) = node.export_with(&transfer::export::ExportOptions {
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

/// Naming contexts with units that come after what is below them: they are made, and replaced when
/// all else is written. There is enough between them that no two share a page.
fn scattered() -> Pieces {
    let filler = "x".repeat(1500);
    let mut records = Vec::new();
    for context in 0..60 {
        let unit = format!("ou=late,dc=c{context}");
        records.push(format!("dn: cn=first,{unit}\nobjectClass: device\n\n"));
        records.push(format!(
            "dn: {unit}\nobjectClass: organizationalUnit\nl: replaced\n\n"
        ));
        for device in 0..6 {
            records.push(format!(
                "dn: cn=d{device},{unit}\nobjectClass: device\ndescription: {filler}\n\n"
            ));
        }
    }
    Pieces {
        records,
        next: 0,
        fails_at: usize::MAX,
    }
}

/// A node with all of them.
fn with_scattered() -> Node {
    let node = Node::new("dc=example,dc=com", true);
    let done = import(
        &node.data(),
        Box::new(scattered()),
        &node.options(),
        &Meter::default(),
    );
    let done = done.expect("imported");
    assert_eq!((done.contexts.len(), done.entries), (60, 480), "{done:?}");
    node
}

/// Puts something else in the place of the old database's file.
struct Blocks {
    source: Pieces,
    data: PathBuf,
}

impl Source for Blocks {
    fn next(&mut self, meter: &Meter) -> Result<Option<Piece>, Failure> {
        let file = self.data.join("pando.mdb");
        if file.is_file() {
            std::fs::rename(&file, self.data.join("moved")).expect("moved");
            std::fs::create_dir(&file).expect("made");
        }
        self.source.next(meter)
    }

    fn repeatable(&self) -> Result<String, String> {
        self.source.repeatable()
    }
}

#[test]
fn until_the_new_database_is_in_place_an_import_can_go_on() {
    let whole = with_scattered();
    let node = Node::new("dc=example,dc=com", true);
    let (data, source) = (node.data(), scattered());
    let blocks = Blocks {
        source,
        data: data.clone(),
    };
    let run = import(&data, Box::new(blocks), &options(&node), &Meter::default());
    assert!(matches!(run, Err(Failure::File { .. })), "{run:?}");
    assert!(can_resume(&data));
    let file = data.join("pando.mdb");
    std::fs::remove_dir(&file).expect("removed");
    std::fs::rename(data.join("moved"), &file).expect("moved back");
    let again = import(
        &data,
        Box::new(scattered()),
        &options(&node),
        &Meter::default(),
    );
    assert_eq!(again.expect("imported").entries, 480);
    assert!(left(&node) == left(&whole));
}

#[test]
fn an_end_that_is_cancelled_can_be_gone_on_with() {
    let whole = with_scattered();
    let node = Node::new("dc=example,dc=com", true);
    let go_on = |meter: &Meter| import(&node.data(), Box::new(scattered()), &options(&node), meter);
    let meter = Meter::default();
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| go_on(&meter));
        while !meter.finishing() && !run.is_finished() {
            std::thread::yield_now();
        }
        meter.cancel();
        run.join().expect("no panic")
    });
    match run {
        // The import had ended before the cancellation.
        Ok(_) => assert!(!can_resume(&node.data())),
        Err(failure) => {
            assert!(matches!(failure, Failure::Cancelled), "{failure}");
            assert!(can_resume(&node.data()));
            go_on(&Meter::default()).expect("imported");
        }
    }
    assert!(left(&node) == left(&whole));
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
fn an_import_whose_database_is_in_place_has_ended() {
    let node = Node::new("dc=example,dc=com", true);
    let run = || import(&node.data(), source(5), &options(&node), &Meter::default());
    run().expect_err("interrupted");
    // State after a crash behind the rename.
    std::fs::remove_file(node.data().join("import/pando.mdb")).expect("removed");
    let error = run().expect_err("at its end");
    assert!(error.to_string().contains("come to its end"), "{error}");
    assert!(!can_resume(&node.data()));
}

#[test]
fn what_is_given_up_leaves_nothing_elsewhere() {
    let node = Node::new("dc=example,dc=com", true);
    let elsewhere = node.folder.path().join("elsewhere");
    let with = ImportOptions {
        temporary: Some(elsewhere.clone()),
        ..options(&node)
    };
    let run = |fails_at, options: &ImportOptions| {
        import(&node.data(), source(fails_at), options, &Meter::default())
    };
    let count = || std::fs::read_dir(&elsewhere).expect("a folder").count();
    // Another import's, of a process with the same id.
    std::fs::create_dir(&elsewhere).expect("made");
    let other = elsewhere.join(format!("pando-import-{}-0", std::process::id()));
    std::fs::create_dir(&other).expect("made");
    run(5, &with).expect_err("interrupted");
    run(6, &with).expect_err("interrupted again");
    assert_eq!(count(), 2);
    let anew = ImportOptions {
        resume: false,
        ..node.options()
    };
    run(3, &anew).expect_err("interrupted");
    assert!(other.is_dir() && count() == 1);
    run(5, &with).expect_err("interrupted");
    assert_eq!(count(), 2);
    let opened = Directory::open(&node.data(), &Options::default()).expect("opens");
    opened.shutdown();
    assert!(other.is_dir() && count() == 1);
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
    // A server may change the directory, so opening it gives up the import.
    let opened = Directory::open(&node.data(), &Options::default()).expect("opens");
    opened.shutdown();
    drop(opened);
    assert!(!can_resume(&node.data()));
    assert!(run(source(usize::MAX), &good).expect("begun anew").entries > 50);
}
