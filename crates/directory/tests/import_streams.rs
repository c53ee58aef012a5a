//! Where entries come from: files and pipes, one after the other or at once, as LDIF or as add
//! requests, told apart by their first bytes.

mod node;

use node::{Node, dns, people};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use transfer::Meter;
use transfer::import::{Files, Format, Imported, import};

fn add_request(dn: &str, attributes: &[(&str, &str)], bare: bool) -> Vec<u8> {
    use protocol::ber::{put_integer, put_nested, put_octets};
    let mut message = Vec::new();
    let request = |out: &mut Vec<u8>| {
        put_nested(out, 0x68, |out| {
            put_octets(out, 0x04, dn.as_bytes());
            put_nested(out, 0x30, |out| {
                for (name, value) in attributes {
                    let values = std::iter::once(value.as_bytes());
                    protocol::put_partial_attribute(out, name, values);
                }
            });
        });
    };
    if bare {
        request(&mut message);
    } else {
        put_nested(&mut message, 0x30, |out| {
            put_integer(out, 0x02, 7);
            request(out);
        });
    }
    message
}

#[test]
fn streams_of_add_requests_are_imported() {
    for (format, bare) in [(Format::Ber, false), (Format::BareBer, true)] {
        let node = Node::new("dc=example,dc=com", true);
        let mut stream = Vec::new();
        for name in ["a", "b", "a"] {
            let dn = format!("cn={name},dc=example,dc=com");
            stream.extend(add_request(
                &dn,
                &[("objectClass", "device"), ("l", "here")],
                bare,
            ));
        }
        let bad = add_request("cn=c,dc=example,dc=com", &[("objectClass", "person")], bare);
        stream.extend(bad);
        let file = node.file("stream", &stream);
        let imported = node.import_files(vec![file], format).expect("imported");
        assert_eq!(
            (imported.entries, imported.rejected),
            (2, 2),
            "{}",
            node.rejects()
        );
        assert!(
            node.rejects().contains("request 3 at byte ")
                && node.rejects().contains(": an entry with this name"),
            "{}",
            node.rejects()
        );
        assert!(node.rejects().contains("l: here\n"));
        assert!(node.rejects().contains(": object class person requires"));
        node.check();
    }
}

/// A node that imports two streams, one of which breaks off after its first request.
fn import_broken(tail: &[u8]) -> (Node, Imported) {
    let node = Node::new("dc=example,dc=com", true);
    let device = |dn: &str| add_request(dn, &[("objectClass", "device")], false);
    let one = device("cn=one,dc=example,dc=com");
    let broken = node.file("broken", &[&one, tail].concat());
    let whole = node.file("whole", &device("cn=two,dc=example,dc=com"));
    let done = node.import_files(vec![broken, whole], Format::Detect);
    let imported = done.expect("imported");
    node.check();
    let expected = format!("broken, request 2 at byte {}: ", one.len());
    assert!(node.rejects().contains(&expected), "{}", node.rejects());
    (node, imported)
}

#[test]
fn a_stream_that_breaks_ends_and_the_others_go_on() {
    let cut = &add_request("cn=three,dc=example,dc=com", &[("l", "x")], false)[..20];
    for (tail, reason) in [
        (cut, "expected a whole request, got the end"),
        (b"dn: cn=x".as_slice(), "expected the tag 30, got 64"),
        (&[0x30, 0x80, 0, 0], "expected a definite length"),
    ] {
        let (node, imported) = import_broken(tail);
        assert_eq!((imported.entries, imported.rejected), (2, 1));
        let [broken] = imported.broken.as_slice() else {
            panic!("{:?}", imported.broken);
        };
        assert!(broken.contains(reason), "{broken}");
        // Comments are folded.
        let rejects = node.rejects().replace("\n# ", "").replace("\n ", "");
        assert!(rejects.contains("not read any further"), "{rejects}");
    }
}

#[test]
fn other_requests_are_rejected_and_passed_over() {
    let delete = [0x30, 6, 2, 1, 1, 0x4a, 1, b'x'];
    let rest = add_request(
        "cn=x,dc=example,dc=com",
        &[("objectClass", "device")],
        false,
    );
    let (node, imported) = import_broken(&[&delete[..], &rest].concat());
    assert_eq!((imported.entries, imported.rejected), (3, 1));
    assert_eq!(imported.broken, Vec::<String>::new());
    assert!(
        node.rejects().contains("got another one"),
        "{}",
        node.rejects()
    );
}

#[test]
fn formats_are_told_by_their_first_byte() {
    let node = Node::new("dc=example,dc=com", true);
    let device = |name: &str, bare| {
        let dn = format!("cn={name},dc=example,dc=com");
        add_request(&dn, &[("objectClass", "device")], bare)
    };
    let messages = node.file("messages", &device("a", false));
    let bare = node.file("bare", &device("b", true));
    let squeezed = zstd::encode_all(device("c", false).as_slice(), 1).expect("compressed");
    let squeezed = node.file("squeezed", &squeezed);
    let text = node.file(
        "text",
        b"\n\ndn: cn=d,dc=example,dc=com\nobjectClass: device\n",
    );
    let empty = node.file("empty", b"");
    let files = vec![messages, bare, squeezed, text, empty];
    let imported = node.import_files(files, Format::Detect).expect("imported");
    assert_eq!(
        (imported.entries, imported.rejected),
        (4, 0),
        "{}",
        node.rejects()
    );
}

#[test]
fn files_read_at_once_are_taken_in_turns() {
    // Two pieces in the first file, one in each of the others.
    let file = |node: &Node, number: usize, count: usize| {
        let pad = "x".repeat(1200);
        let mut text = String::new();
        for entry in 0..count {
            text.push_str(&format!(
                "dn: cn={number}.{entry},dc=example,dc=com\nobjectClass: device\nl: {pad}\n\n"
            ));
        }
        node.file(&format!("{number}.ldif"), text.as_bytes())
    };
    let order = |at_once: usize| {
        let node = Node::new("dc=example,dc=com", true);
        let files = vec![file(&node, 0, 1000), file(&node, 1, 10), file(&node, 2, 10)];
        let source = Box::new(Files::new(files, Format::Ldif).at_once(at_once));
        let done = import(&node.data(), source, &node.options(), &Meter::default());
        assert_eq!(done.expect("imported").entries, 1020);
        let exported = node.export();
        let mut order: Vec<String> = dns(&exported)[1..]
            .iter()
            .map(|it| it[3..4].to_owned())
            .collect();
        order.dedup();
        order.concat()
    };
    assert_eq!(
        (order(1), order(2), order(3)),
        ("012".into(), "0102".into(), "0120".into())
    );
}

#[test]
fn pipes_are_read_as_their_bytes_come() {
    let node = Node::new("dc=example,dc=com", true);
    let (first, second) = (
        std::io::pipe().expect("a pipe"),
        std::io::pipe().expect("a pipe"),
    );
    let path =
        |it: &std::io::PipeReader| PathBuf::from(format!("/proc/self/fd/{}", it.as_raw_fd()));
    let paths = vec![path(&first.0), path(&second.0)];
    let (mut one, mut two) = (first.1, second.1);
    // More than a pipe holds, and the second one first: whoever reads them in order waits for ever.
    let writing = std::thread::spawn(move || {
        let head = "dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\n";
        let rest = people(2000).split_off(head.len());
        two.write_all(rest.split_once("\n\n").expect("records").1.as_bytes())
            .expect("written");
        drop(two);
        one.write_all(head.as_bytes()).expect("written");
    });
    let imported = node.import_files(paths, Format::Ldif);
    writing.join().expect("written");
    assert_eq!(
        imported.expect("imported").entries,
        2001,
        "{}",
        node.rejects()
    );
    node.check();
}

#[test]
fn a_socket_is_connected_to() {
    let node = Node::new("dc=example,dc=com", true);
    let path = node.folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("bound");
    let requests: Vec<u8> = (0..100)
        .flat_map(|at| {
            let dn = format!("cn={at},dc=example,dc=com");
            add_request(&dn, &[("objectClass", "device")], false)
        })
        .collect();
    let writing = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.write_all(&requests).expect("written");
    });
    let imported = node.import_files(vec![path], Format::Detect);
    assert_eq!(imported.expect("imported").entries, 100);
    writing.join().expect("written");
}

#[test]
fn a_pipe_is_a_file() {
    let node = Node::new("dc=example,dc=com", true);
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
    // A few bytes at a time, as pipes deliver.
    let writing = std::thread::spawn(move || {
        for part in people(100).as_bytes().chunks(1000) {
            writer.write_all(part).expect("written");
        }
    });
    let imported = node.import_files(vec![path], Format::Ldif);
    writing.join().expect("written");
    assert_eq!(imported.expect("imported").entries, 101);
}
