//! RFC 4522: the binary option; and RFC 4523: the matching of certificates, which need it.

use protocol::ChangeOperation;
use protocol::ber::{INTEGER, OCTET_STRING, SEQUENCE, SET, put_octets};

use crate::prelude::*;

const BINARY: &str = "userCertificate;binary";

pub(crate) fn clauses(book: &mut Book) {
    transfer(book);
    descriptions(book);
    matching(book);
}

fn der(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    put_octets(&mut out, tag, &parts.concat());
    out
}

/// A certificate for `o=Subject` by `o=Root`, with only the mandatory fields.
fn certificate(serial: u8) -> Vec<u8> {
    let leaf = |tag: u8, content: &[u8]| der(tag, &[content.to_vec()]);
    // sha256WithRSAEncryption.
    let algorithm = || {
        der(
            SEQUENCE,
            &[leaf(0x06, b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b")],
        )
    };
    let name = |organization: &[u8]| {
        let pair = [leaf(0x06, b"\x55\x04\x0a"), leaf(0x0c, organization)];
        der(SEQUENCE, &[der(SET, &[der(SEQUENCE, &pair)])])
    };
    let time = |text: &[u8]| leaf(0x17, text);
    let body = [
        leaf(0xa0, &leaf(INTEGER, b"\x02")),
        leaf(INTEGER, &[serial]),
        algorithm(),
        name(b"Root"),
        der(SEQUENCE, &[time(b"260101000000Z"), time(b"360101000000Z")]),
        name(b"Subject"),
        der(SEQUENCE, &[algorithm(), leaf(0x03, b"\x00\x01")]),
    ];
    let extension = [
        leaf(0x06, b"\x55\x1d\x0e"),
        leaf(OCTET_STRING, &leaf(OCTET_STRING, b"\xab\xcd")),
    ];
    let extensions = leaf(0xa3, &der(SEQUENCE, &[der(SEQUENCE, &extension)]));
    let body = [body.concat(), extensions];
    der(
        SEQUENCE,
        &[der(SEQUENCE, &body), algorithm(), leaf(0x03, b"\x00\x01")],
    )
}

/// Adds Ada with a certificate.
fn ada(it: &mut Case<'_>) -> Result<String, Finding> {
    let ada = it.person("ada", &[])?;
    let add = Modification {
        operation: ChangeOperation::Add,
        attribute: BINARY.to_owned(),
        values: vec![certificate(5)],
    };
    it.modify(&ada, &[add])?.ok()?;
    Ok(ada)
}

fn transfer(book: &mut Book) {
    for (number, name, statement, select) in [
        (
            "5",
            "asked-with-the-option",
            "A value that needs the binary option is returned when asked for with it.",
            BINARY,
        ),
        (
            "3",
            "options-in-any-case",
            "The option may be written in any case.",
            "userCertificate;BINARY",
        ),
        (
            "5",
            "asked-without-the-option",
            "Asked for without the option, the attribute is returned with it all the same.",
            "userCertificate",
        ),
        (
            "6",
            "asked-with-all",
            "Asked for with all user attributes, it is returned with the option.",
            "*",
        ),
    ] {
        let mut section = book.section("rfc4522", number);
        section.clause(name, statement, move |it| {
            let ada = ada(it)?;
            let entry = it.get(&ada, &[select])?;
            equal(entry.values(BINARY), &[certificate(5)][..], BINARY)?;
            ensure(!entry.has("userCertificate"), "the option", "none")
        });
    }
}

fn descriptions(book: &mut Book) {
    let mut section = book.section("rfc4522", "3");
    section.clause(
        "values-are-not-changed",
        "A value comes back octet for octet.",
        |it| {
            let ada = ada(it)?;
            let replace = Modification {
                operation: ChangeOperation::Replace,
                attribute: BINARY.to_owned(),
                values: vec![certificate(6)],
            };
            it.modify(&ada, &[replace])?.ok()?;
            let entry = it.get(&ada, &[BINARY])?;
            equal(entry.values(BINARY), &[certificate(6)][..], BINARY)
        },
    );
    section.clause(
        "deleted-with-the-option",
        "The attribute is deleted by its description with the option.",
        |it| {
            let ada = ada(it)?;
            it.modify(&ada, &[Modification::delete(BINARY, &[])])?
                .ok()?;
            let entry = it.get(&ada, &["userCertificate"])?;
            ensure(!entry.has(BINARY), "no certificate", "one")
        },
    );
    section.clause(
        "found-with-the-option",
        "A filter finds the attribute by its description with the option.",
        |it| {
            ada(it)?;
            it.finds("(userCertificate;binary=*)", "ada")
        },
    );
    section.clause(
        "other-attributes-have-none",
        "An attribute that does not need the option is not returned with it.",
        |it| {
            let ada = it.person("ada", &[("description", "a person")])?;
            let entry = it.get(&ada, &["description;binary", "cn"])?;
            ensure(!entry.has("description;binary"), "no such attribute", "one")
        },
    );
}

fn matching(book: &mut Book) {
    let exact = Need::Rule("2.5.13.34");
    let mut section = book.section_needing("rfc4523", "3.1", &[exact]);
    section.clause(
        "serial-number-and-issuer",
        "certificateExactMatch is true for the serial number and issuer of the certificate.",
        |it| {
            ada(it)?;
            let filter = "(userCertificate={ serialNumber 5, issuer rdnSequence:\"o=root\" })";
            it.finds(filter, "ada")
        },
    );
    section.clause(
        "another-serial-number",
        "certificateExactMatch is false for another serial number.",
        |it| {
            ada(it)?;
            let filter = "(userCertificate={ serialNumber 6, issuer rdnSequence:\"o=root\" })";
            it.finds(filter, "")
        },
    );
    let parts = Need::Rule("2.5.13.35");
    let mut section = book.section_needing("rfc4523", "3.2", &[parts]);
    for (name, assertion, holds) in [
        ("subject", "subject rdnSequence:\"o=subject\"", true),
        ("another-subject", "subject rdnSequence:\"o=root\"", false),
        ("valid", "certificateValid utcTime:\"300101000000Z\"", true),
        (
            "not-valid-yet",
            "certificateValid utcTime:\"250101000000Z\"",
            false,
        ),
        ("key-identifier", "subjectKeyIdentifier 'ABCD'H", true),
        (
            "private-key-without-a-time-of-its-own",
            "privateKeyValid \"20300101000000Z\"",
            true,
        ),
        (
            "path-that-nothing-constrains",
            "pathToName rdnSequence:\"o=x\"",
            true,
        ),
        (
            "subject-within-constraints",
            "nameConstraints { permittedSubtrees { { base \
             directoryName:rdnSequence:\"o=subject\" } } }",
            true,
        ),
        (
            "subject-outside-constraints",
            "nameConstraints { excludedSubtrees { { base \
             directoryName:rdnSequence:\"o=subject\" } } }",
            false,
        ),
        (
            "all-parts",
            "serialNumber 5, subjectKeyIdentifier 'ABCE'H",
            false,
        ),
    ] {
        let statement = "certificateMatch is true when every asserted part is as asserted.";
        section.clause(name, statement, move |it| {
            ada(it)?;
            let filter = format!("(userCertificate:2.5.13.35:={{ {assertion} }})");
            it.finds(&filter, if holds { "ada" } else { "" })
        });
    }
}
