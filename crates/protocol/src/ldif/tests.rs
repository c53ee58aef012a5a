//! Tests of LDIF.

use std::borrow::Cow;
use std::io::{self, BufReader, Cursor, Read};

use super::*;
use crate::request::ChangeOperation;
use proptest::prelude::*;

/// Each record as debug text of its parts on one line, or its error.
fn shown(text: &str) -> Vec<String> {
    let mut reader = LdifReader::new(text.as_bytes());
    let mut shown = Vec::new();
    while let Some(record) = reader.next_record() {
        shown.push(record.map_or_else(|error| error.to_string(), |record| line(&record)));
    }
    shown
}

fn line(record: &LdifRecord<'_>) -> String {
    let mut out = Vec::new();
    LdifWriter::new(0).put_record(&mut out, record);
    String::from_utf8(out)
        .unwrap()
        .trim_end()
        .replace('\n', " | ")
}

#[track_caller]
fn fails(record: &str, error: &str) {
    assert_eq!(shown(record), [error], "{record:?}");
}

/// RFC 2849, examples 1 and 2.
#[test]
fn content_with_folding_and_several_entries() {
    let text = "version: 1\n\
        dn: cn=Barbara Jensen, ou=Product Development, dc=airius, dc=com\n\
        objectclass: top\nuid: bjensen\ntelephonenumber: +1 408 555 1212\n\
        description:Babs is a big sailing fan, and travels extensively in sea\n \
        rch of perfect sailing conditions.\n title:Product Manager, Rod and Reel Division\n\
        \n# a comment\n folded: too\ndn: cn=Bjorn Jensen, dc=airius, dc=com\ncn: Bjorn Jensen\n";
    assert_eq!(
        shown(text),
        [
            "dn: cn=Barbara Jensen, ou=Product Development, dc=airius, dc=com | objectclass: top | \
             uid: bjensen | telephonenumber: +1 408 555 1212 | description: Babs is a big sailing \
             fan, and travels extensively in search of perfect sailing conditions.title:Product \
             Manager, Rod and Reel Division",
            "dn: cn=Bjorn Jensen, dc=airius, dc=com | cn: Bjorn Jensen",
        ]
    );
}

/// RFC 2849, example 6, and `increment` (RFC 4525 §6).
#[test]
fn changes_of_every_kind() {
    let text = "version: 1\n# Add\ndn: cn=Fiona\nchangetype: add\ncn: Fiona\nsn:: SmVuc2Vu\n\n\
        dn: cn=Robert\ncontrol: 1.2.840.113556.1.4.805 true\nchangetype: delete\n\n\
        dn: cn=Paul\nchangetype: MODRDN\nnewrdn: cn=Paula\ndeleteoldrdn: 1\n\n\
        dn: ou=PD\nchangetype: moddn\nnewrdn: ou=PD\ndeleteoldrdn: 0\nnewsuperior: ou=A\n\n\
        dn: cn=Paula\nchangetype: modify\nadd: address\naddress: 1\nAddress: 2\n-\n\
        delete: description\n-\nreplace: phone\nphone: 1\n-\ndelete: fax\nfax: 9\n-\n\
        increment: uidNumber\nuidNumber: 1\n";
    assert_eq!(
        shown(text),
        [
            "dn: cn=Fiona | changetype: add | cn: Fiona | sn: Jensen",
            "dn: cn=Robert | control: 1.2.840.113556.1.4.805 true | changetype: delete",
            "dn: cn=Paul | changetype: modrdn | newrdn: cn=Paula | deleteoldrdn: 1",
            "dn: ou=PD | changetype: modrdn | newrdn: ou=PD | deleteoldrdn: 0 | newsuperior: ou=A",
            "dn: cn=Paula | changetype: modify | add: address | address: 1 | address: 2 | - | \
             delete: description | - | replace: phone | phone: 1 | - | delete: fax | fax: 9 | - | \
             increment: uidNumber | uidNumber: 1 | -",
        ]
    );
}

#[test]
fn controls_with_values() {
    let text = "dn: a\ncontrol: 1.2\ncontrol: 1.3 TRUE: v w\ncontrol: 1.4:: AAE=\ncontrol: 1.5:\n\
        changetype: delete\n";
    let mut scratch = LdifScratch::new();
    let record = parse_record(text.as_bytes(), 1, &mut scratch).unwrap();
    let control = |oid, critical, value: Option<&'static [u8]>| LdifControl {
        oid,
        critical,
        value: value.map(Cow::Borrowed),
    };
    let controls = vec![
        control("1.2", false, None),
        control("1.3", true, Some(b"v w")),
        control("1.4", false, Some(b"\0\x01")),
        control("1.5", false, Some(b"")),
    ];
    assert_eq!(record, LdifRecord::Delete { dn: "a", controls });
}

#[test]
fn line_ends_and_values_of_every_kind() {
    let text = b"dn: a\r\nplain: x\r\nempty:\r\nspaces:   y \r\nfold: a\r\n b\r\n\r\n c\r\n";
    let mut scratch = LdifScratch::new();
    let records: Vec<_> = split_records(text, 5)
        .map(|it| (it.line, it.text.len()))
        .collect();
    assert_eq!(records, [(5, 51), (12, 4)]);
    let record = parse_record(&text[..51], 5, &mut scratch).unwrap();
    let values: [LdifAttribute; 4] = [
        ("plain", Cow::Borrowed(b"x")),
        ("empty", Cow::Borrowed(b"")),
        ("spaces", Cow::Borrowed(b"y ")),
        ("fold", Cow::Borrowed(b"ab")),
    ];
    assert_eq!(
        record,
        LdifRecord::Entry {
            dn: "a",
            attributes: values.to_vec()
        }
    );
}

#[test]
fn names_descriptions_and_base64_may_be_folded() {
    let text = "d\n n:: w\n 7w=\nuser\n Certificate;bin\n ary:: AA\n EC\nsn: \n x\n";
    assert_eq!(
        shown(text),
        ["dn:: w7w= | userCertificate;binary:: AAEC | sn: x"]
    );
}

#[test]
fn a_bad_record_does_not_stop_the_next() {
    let text =
        "dn: a\ncn: 1\n\ndn: b\ncn: x\nno colon\n\n\n\ncn: c\n\ndn: d\ncn:: !\n\ndn: e\ncn: 5";
    assert_eq!(
        shown(text),
        [
            "dn: a | cn: 1",
            "line 6: expected an attribute description and ':', got 'no colon'",
            "line 10: expected 'dn:', got 'cn:'",
            "line 13: expected base64 in groups of four, got 1 characters",
            "dn: e | cn: 5",
        ]
    );
}

#[test]
fn errors_say_where_and_what() {
    fails(
        "version: 2\ndn: a\ncn: b",
        "line 1: expected LDIF version 1, got '2'",
    );
    fails("version: 2\n", "line 1: expected LDIF version 1, got '2'");
    fails(
        "dn: a",
        "line 1: expected at least one attribute value, got the end of the record",
    );
    fails(
        "dn:: /w==\ncn: a",
        "line 1: expected UTF-8 as 'dn', got other bytes",
    );
    fails(
        "dn: a\ncn: b\n-\n",
        "line 3: expected an attribute value, got '-'",
    );
    fails(
        " x\ndn: a\ncn: b",
        "line 1: expected an attribute description and ':', got ' x'",
    );
    fails(
        "dn: a\ncn:: w7\n x4w*==\n",
        "line 2: expected a base64 character, got '*'",
    );
    fails(
        "dn: a\ncn:< file:///etc/passwd",
        "line 2: expected a value, got the URL 'file:///etc/passwd', which may not be read",
    );
    fails(
        "dn: a\n# c\nchangetype: move\n",
        "line 3: expected add, delete, modify, modrdn or moddn, got 'move'",
    );
    fails(
        "dn: a\ncontrol: 1.2\ncn: b",
        "line 3: expected 'changetype:' after the controls, got 'cn:'",
    );
    fails(
        "dn: a\ncontrol: x yes\nchangetype: delete",
        "line 2: expected an OID and 'true' or 'false' as control, got 'x yes'",
    );
    fails(
        "dn: a\ncontrol: 1.2:< file:///x\nchangetype: delete",
        "line 2: expected the control's value itself, got a URL",
    );
    fails(
        "dn: a\nchangetype: delete\ncn: b",
        "line 3: expected the end of the record after 'changetype: delete', got 'cn:'",
    );
}

#[test]
fn errors_in_changes_say_where_and_what() {
    let modify = "dn: a\nchangetype: modify\n";
    fails(
        &format!("{modify}remove: cn\n"),
        "line 3: expected 'add:', 'delete:', 'replace:' or 'increment:', got 'remove:'",
    );
    fails(
        &format!("{modify}add: cn\ncn: b\nsn: c\n-\n"),
        "line 5: expected 'cn:' or '-', got 'sn:'",
    );
    fails(
        &format!("{modify}add: c n\n"),
        "line 3: expected an attribute description after 'add:'",
    );
    let rename = "dn: a\nchangetype: modrdn\nnewrdn: b\n";
    fails(
        rename,
        "line 3: expected 'deleteoldrdn:', got the end of the record",
    );
    fails(
        &format!("{rename}deleteoldrdn: yes\n"),
        "line 4: expected 0 or 1 as 'deleteoldrdn', got 'yes'",
    );
    fails(
        &format!("{rename}deleteoldrdn: 1\ncn: x\n"),
        "line 5: expected the end of the record after the new name, got 'cn:'",
    );
}

#[test]
fn only_content_is_a_record() {
    for text in [
        "",
        "\n\n",
        "version: 1\n",
        "# a\n b\n\n#c",
        "version: 1\n\n# x\n\r\n",
        "\r\n",
    ] {
        assert_eq!(shown(text), [""; 0], "{text:?}");
    }
    assert_eq!(shown("version: 1\n\n#c\ndn: a\nb: c\n"), ["dn: a | b: c"]);
    assert_eq!(shown("version: 1\ndn: a\nb: c\n"), ["dn: a | b: c"]);
}

#[test]
fn a_byte_order_mark_may_stand_first_and_nowhere_else() {
    let one = ["dn: a | b: c"];
    for text in [
        "dn: a\nb: c\n",
        "\n\ndn: a\nb: c",
        "version: 1\n\ndn: a\nb: c\n",
    ] {
        let marked = format!("\u{FEFF}{text}");
        assert_eq!(shown(&marked), one, "{text:?}");
        for buffer in 1..8 {
            let source = BufReader::with_capacity(buffer, marked.as_bytes());
            let mut reader = LdifReader::new(source);
            assert_eq!(line(&reader.next_record().unwrap().unwrap()), one[0]);
            assert!(reader.next_record().is_none());
        }
        let chunk = LdifChunks::new(marked.as_bytes(), 1 << 10).next_chunk();
        let chunk = chunk.unwrap().unwrap();
        let mut records = split_records(&chunk.text, chunk.first_line);
        let record = records.next().unwrap();
        assert!(parse_record(record.text, record.line, &mut LdifScratch::new()).is_ok());
    }
    assert_eq!(shown("\u{FEFF}"), [""; 0]);
    for text in ["\u{FEFF}\u{FEFF}dn: a\nb: c\n", "\n\u{FEFF}dn: a\nb: c\n"] {
        let source = BufReader::with_capacity(2, text.as_bytes());
        assert!(LdifReader::new(source).next_record().unwrap().is_err());
    }
    let later = "dn: a\nb: c\n\n\u{FEFF}dn: a\nb: c\n";
    assert_eq!(split_records(later.as_bytes(), 1).count(), 2);
    let mut reader = LdifReader::new(later.as_bytes());
    assert!(reader.next_record().unwrap().is_ok() && reader.next_record().unwrap().is_err());
}

#[test]
fn spaces_may_follow_keywords() {
    for change in ["add \nb: c", "delete  ", "modify \nadd: b \nb: c\n-"] {
        let trimmed = change.replace(" \n", "\n");
        let record = |change: &str| shown(&format!("version: 1 \ndn: a\nchangetype: {change}\n"));
        assert_eq!(record(change), record(trimmed.trim_end()), "{change}");
    }
}

#[test]
fn values_behind_urls_are_asked_for() {
    let scratch = LdifScratch::with_urls(Box::new(|url, out| match url {
        "file:///a" => {
            out.extend_from_slice(b"\0a");
            Ok(())
        }
        _ => Err(format!("expected file:///a, got {url}")),
    }));
    let text = b"dn: a\nb:< file:///a\nc:: Yw==\n\ndn: a\nb:<file:///x".as_slice();
    let mut reader = LdifReader::with_scratch(text, scratch);
    assert_eq!(
        line(&reader.next_record().unwrap().unwrap()),
        "dn: a | b:: AGE= | c: c"
    );
    let error = reader.next_record().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 6: expected file:///a, got file:///x"
    );
}

#[test]
fn the_reader_knows_the_line_of_a_record_that_it_refuses() {
    let mut reader = LdifReader::new("dn: a\nb: c\n\n\nbad\nworse\n\ndn: d\ne: f".as_bytes());
    assert!(reader.next_record().unwrap().is_ok());
    assert!(reader.next_record().unwrap().is_err());
    assert_eq!(reader.record_line(), 5);
    assert!(reader.next_record().unwrap().is_ok());
    assert!(reader.next_record().is_none());
    assert!(reader.next_record().is_none());
}

#[test]
fn long_records_are_passed_over() {
    let long = "x: 0123456789\n".repeat(100);
    for buffer in 1..40 {
        let text = format!("dn: a\nb: c\n\ndn: long\n{long}\n# end\n\ndn: d\ne: f\n");
        let source = BufReader::with_capacity(buffer, text.as_bytes());
        let mut reader = LdifReader::new(source).record_bytes_max(100);
        assert_eq!(
            line(&reader.next_record().unwrap().unwrap()),
            "dn: a | b: c"
        );
        let error = reader.next_record().unwrap().unwrap_err();
        let message = "line 4: expected a record of at most 100 bytes, got a longer one";
        assert_eq!((error.to_string().as_str(), error.fatal), (message, false));
        assert_eq!(
            line(&reader.next_record().unwrap().unwrap()),
            "dn: d | e: f"
        );
        assert_eq!(reader.record_line(), 108);
        assert!(reader.next_record().is_none());
    }
}

/// Gives its text, then fails.
struct Broken<'a>(&'a [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("gone")),
            count => Ok(count),
        }
    }
}

#[test]
fn failing_input_is_not_the_end_of_the_input() {
    let text = b"dn: a\nb: c\n\ndn: d\ne: f\n";
    let mut reader = LdifReader::new(BufReader::new(Broken(text)));
    assert!(reader.next_record().unwrap().is_ok());
    let error = reader.next_record().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 4: expected more input, got an error: gone"
    );
    assert!(error.fatal && reader.next_record().is_none());

    let mut chunks = LdifChunks::new(Broken(text), 14);
    assert_eq!(
        chunks.next_chunk().unwrap().unwrap().text,
        b"dn: a\nb: c\n\n"
    );
    assert!(chunks.next_chunk().unwrap_err().fatal);
}

#[test]
fn chunks_hold_whole_records() {
    let text = "dn: a\nb: c\n\r\ndn: d\ne: f\n\ndn: g\nlong: 0123456789\n\n\ndn: i\nj: k";
    let whole: Vec<_> = split_records(text.as_bytes(), 1).collect();
    assert_eq!(whole.len(), 4);
    for bytes in 1..80 {
        let mut chunks = LdifChunks::new(text.as_bytes(), bytes);
        let mut joined = Vec::new();
        let mut records = Vec::new();
        while let Some(chunk) = chunks.next_chunk().unwrap() {
            for record in split_records(&chunk.text, chunk.first_line) {
                records.push((record.line, record.text.to_vec()));
            }
            joined.extend_from_slice(&chunk.text);
        }
        assert_eq!(joined, text.as_bytes());
        let expected: Vec<_> = whole.iter().map(|it| (it.line, it.text.to_vec())).collect();
        // The last record of a chunk may keep its own line end.
        assert_eq!(records, expected, "chunks of {bytes}");
    }
    let endless = Cursor::new(vec![b'x'; 10_000]);
    let mut chunks = LdifChunks::new(endless, 10).record_bytes_max(1_000);
    let error = chunks.next_chunk().unwrap_err();
    assert_eq!(
        (error.fatal, error.to_string()),
        (
            true,
            "line 1: expected records of at most 1000 bytes".to_owned()
        )
    );
}

#[test]
fn boundaries_are_behind_blank_lines() {
    assert_eq!(last_boundary(b"a\n\nb\n"), Some(3));
    assert_eq!(last_boundary(b"a\n\nb\n\n"), Some(6));
    assert_eq!(last_boundary(b"a\r\n\r\nb\r\n"), Some(5));
    assert_eq!(last_boundary(b"a\n\n\n"), Some(4));
    assert_eq!(last_boundary(b"a\n\r\n"), Some(4));
    assert_eq!(last_boundary(b"a\nb\n \n"), None);
    assert_eq!(last_boundary(b"\n"), None);
    assert_eq!(last_boundary(b""), None);
}

fn written(fold_columns: usize, attribute: &str, value: &[u8]) -> String {
    let mut out = Vec::new();
    LdifWriter::new(fold_columns).put_value(&mut out, attribute, value);
    String::from_utf8(out).unwrap()
}

/// RFC 2849, `SAFE-STRING` and note 8.
#[test]
fn writes_base64_only_where_it_must() {
    for safe in ["x", "a b", "a:b", "a<b", "-", "#x", "\t"] {
        assert_eq!(written(0, "a", safe.as_bytes()), format!("a: {safe}\n"));
    }
    assert_eq!(written(0, "a", b""), "a:\n");
    for value in [" x", ":x", "<x", "x ", " ", "ü", "a\nb", "a\rb", "a\0b"] {
        let text = written(0, "a", value.as_bytes());
        assert!(text.starts_with("a:: "), "{value:?} gives {text:?}");
        assert_eq!(
            shown(&format!("dn: x\n{text}"))[0],
            format!("dn: x | {}", text.trim_end())
        );
    }
    let late = [b"x".repeat(200).as_slice(), b"\n"].concat();
    assert!(written(0, "a", &late).starts_with("a:: "));
}

#[test]
fn folds_at_the_column_asked_for() {
    assert_eq!(written(6, "a", b"123"), "a: 123\n");
    assert_eq!(written(6, "a", b"1234"), "a: 123\n 4\n");
    assert_eq!(written(6, "a", b"12345678"), "a: 123\n 45678\n");
    assert_eq!(written(6, "a", b"123456789"), "a: 123\n 45678\n 9\n");
    assert_eq!(written(1, "a", b"1"), "a:\n  \n 1\n");
    let long = written(76, "a", &[7; 1000]);
    assert!(long.lines().rev().skip(1).all(|line| line.len() == 76));
    assert_eq!(written(76, "a", &[0; 1000]).lines().count(), 18);
}

#[test]
fn writes_the_head_of_a_file() {
    let mut out = Vec::new();
    let writer = LdifWriter::default();
    writer.put_version(&mut out);
    writer.put_comment(&mut out, "one\ntwo");
    writer.put_dn(&mut out, "dc=x");
    writer.put_value(&mut out, "dc", b"x");
    writer.end_record(&mut out);
    assert_eq!(out, b"version: 1\n\n# one\n# two\ndn: dc=x\ndc: x\n\n");
}

type OwnedAttributes = Vec<(String, Vec<u8>)>;

fn any_attributes() -> impl Strategy<Value = OwnedAttributes> {
    let value = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        "[ -~]{0,200}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(("[a-z]{1,12}(;[a-z]{1,4})?", value), 1..6)
}

fn borrowed(attributes: &OwnedAttributes) -> Vec<LdifAttribute<'_>> {
    attributes
        .iter()
        .map(|(name, value)| (name.as_str(), Cow::Borrowed(&value[..])))
        .collect()
}

proptest! {
    #[test]
    fn reads_what_it_writes(
        dn in ".{0,100}",
        attributes in any_attributes(),
        columns in 0_usize..100,
        crlf: bool,
    ) {
        let values = |_| vec![Cow::Borrowed(attributes[0].1.as_slice())];
        let change = |operation| LdifChange {
            operation,
            attribute: &attributes[0].0,
            values: values(operation),
        };
        let operations = [ChangeOperation::Add, ChangeOperation::Increment];
        let controls = vec![LdifControl {
            oid: "1.2.3",
            critical: crlf,
            value: Some(Cow::Borrowed(&attributes[0].1)),
        }];
        let dn = dn.as_str();
        let records = [
            LdifRecord::Add { dn, controls: Vec::new(), attributes: borrowed(&attributes) },
            LdifRecord::Modify { dn, controls, changes: operations.map(change).to_vec() },
            LdifRecord::Entry { dn, attributes: borrowed(&attributes) },
        ];
        let mut text = Vec::new();
        for record in &records {
            LdifWriter::new(columns).put_record(&mut text, record);
        }
        if crlf {
            text = text.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
        }
        let mut reader = LdifReader::new(BufReader::with_capacity(64, text.as_slice()));
        for record in &records {
            let read = reader.next_record().expect("as many records as written");
            prop_assert_eq!(read.as_ref(), Ok(record));
        }
        prop_assert!(reader.next_record().is_none());
    }
}
