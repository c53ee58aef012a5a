//! Tests of the outputs.

use protocol::{DecodeLimits, Message, Request};

use super::piece::PIECE_BYTES;
use super::*;
use crate::template::{Defines, Template};

const TEMPLATE: &str = "
branch: dc=com
subordinateTemplate: User:1000

template: User
rdnAttr: uid
objectClass: top
objectClass: account
uid: user.<sequential:1>
userPassword: <random:alpha:6>
photo:: <random:base64:300>
description: a (b)*
";

fn generator(text: &str) -> Generator {
    Generator::new(Template::parse(text, &Defines::new()).unwrap(), 3)
}

fn written(generator: &Generator, format: Format, threads: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut last = 0;
    let outputs = Outputs {
        entries: Some((format, &mut out)),
        ..Outputs::default()
    };
    let total = generator.total_entries();
    write_range(generator, 0, total, threads, outputs, &mut |written| {
        last = written
    })
    .unwrap();
    assert_eq!(last, total);
    out
}

#[test]
fn threads_do_not_change_the_output() {
    let generator = generator(TEMPLATE);
    for format in [
        Format::Ldif { fold_columns: 76 },
        Format::BerMessages,
        Format::BerRequests,
    ] {
        let one = written(&generator, format, 1);
        assert_eq!(one, written(&generator, format, 3), "{format:?}");
    }
}

#[test]
fn ldif_reads_back() {
    let text = written(&generator(TEMPLATE), Format::Ldif { fold_columns: 76 }, 2);
    assert!(text.starts_with(b"dn: dc=com\nobjectClass: top\n"));
    let mut reader = protocol::ldif::LdifReader::new(&text[..]);
    let mut entries = 0;
    while let Some(record) = reader.next_record() {
        record.unwrap();
        entries += 1;
    }
    assert_eq!(entries, 1_001);
}

#[test]
fn ber_messages_decode_as_add_requests() {
    let bytes = written(&generator(TEMPLATE), Format::BerMessages, 2);
    let bare = written(&generator(TEMPLATE), Format::BerRequests, 2);
    let mut rest = &bytes[..];
    let mut bare_rest = &bare[..];
    for index in 0..1_001 {
        let length = protocol::frame(rest, 1 << 20).unwrap().unwrap();
        let message = Message::decode(&rest[..length], &DecodeLimits::default()).unwrap();
        assert_eq!(message.id, index + 1);
        let Request::Add(request) = &message.request else {
            panic!("{message:?}")
        };
        if index > 0 {
            assert_eq!(request.entry, format!("uid=user.{index},dc=com"));
            let counts: Vec<_> = request
                .attributes
                .iter()
                .map(|it| (it.description, it.values.iter().count()))
                .collect();
            let expected = [
                ("objectClass", 2),
                ("uid", 1),
                ("userPassword", 1),
                ("photo", 1),
                ("description", 1),
            ];
            assert_eq!(counts, expected);
        }
        let start = length - bare_element(bare_rest);
        assert_eq!(rest[start..length], bare_rest[..length - start]);
        bare_rest = &bare_rest[length - start..];
        rest = &rest[length..];
    }
    assert!(rest.is_empty() && bare_rest.is_empty());
}

fn bare_element(bytes: &[u8]) -> usize {
    let (_, content) = ber::Reader::new(bytes).element().unwrap();
    ber::header_length(content.len()) + content.len()
}

use protocol::ber;

#[test]
fn lists_name_every_entry() {
    let generator = generator(TEMPLATE);
    let (mut names, mut binds, mut logins, mut filters) = Default::default();
    let outputs = Outputs {
        entries: None,
        names: Some(&mut names),
        binds: Some(&mut binds),
        logins: Some(("UID".to_owned(), &mut logins)),
        filters: Some(("description".to_owned(), FilterKind::Initial, &mut filters)),
    };
    write_range(&generator, 0, 3, 2, outputs, &mut |_| {}).unwrap();
    let lines = |bytes: &Vec<u8>| -> Vec<String> {
        std::str::from_utf8(bytes)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        lines(&names),
        ["dc=com", "uid=user.1,dc=com", "uid=user.2,dc=com"]
    );
    let [first, second] = &lines(&binds)[..] else {
        panic!("{binds:?}")
    };
    assert!(first.starts_with("uid=user.1,dc=com\t") && second.len() == first.len());
    assert!(lines(&logins)[1].starts_with("user.2\t"));
    assert_eq!(
        lines(&filters),
        ["(description=a \\28*)", "(description=a \\28*)"]
    );
}

#[test]
fn huge_groups_pass_in_pieces() {
    let generator = generator("branch: cn=g\nmember: uid=user.<loop:1:200000>,dc=com\n");
    for format in [Format::Ldif { fold_columns: 0 }, Format::BerMessages] {
        let mut largest = Largest::default();
        let outputs = Outputs {
            entries: Some((format, &mut largest)),
            ..Outputs::default()
        };
        write_range(&generator, 0, 1, 1, outputs, &mut |_| {}).unwrap();
        assert!(
            largest.sum > 4_000_000 && largest.write < 2 * PIECE_BYTES,
            "{largest:?}"
        );
    }
}

#[derive(Debug, Default)]
struct Largest {
    sum: usize,
    write: usize,
}

impl Write for Largest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sum += bytes.len();
        self.write = self.write.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failing_writer_stops_all_threads() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let generator = generator(TEMPLATE);
    let outputs = Outputs {
        entries: Some((Format::BerMessages, &mut Full)),
        ..Outputs::default()
    };
    let error = write_range(&generator, 0, 1_001, 3, outputs, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn an_impossible_entry_is_reported() {
    let generator = generator("branch: dc=com\nx:: <random:alpha:3>!\n");
    let mut out = Vec::new();
    let outputs = Outputs {
        names: Some(&mut out),
        ..Outputs::default()
    };
    let error = write_range(&generator, 0, 1, 1, outputs, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("template line 2"), "{error}");
}
