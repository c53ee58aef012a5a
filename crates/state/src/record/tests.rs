//! Tests of records that are encoded, cut, and damaged.

use super::fields::{field, put_field};
use super::*;
use crate::grant::Grant;
use crate::write::{Addition, Change, Given, Modification, Renaming, WriteOptions};
use policy::quality::AskedLists;
use policy::{Attempt, AttemptKind};
use proptest::prelude::*;
use protocol::ChangeOperation;
use schema::{Name, ResolvedRdn};

const ATTRIBUTES: [&str; 6] = [
    "cn",
    "description;lang-de",
    "userCertificate;binary",
    "member",
    "jpegPhoto",
    "sn;lang-en;x-test",
];

fn schema() -> Schema {
    Schema::standard()
}

fn describe(text: &str) -> Result<Description, DescribeError> {
    schema().describe(text)
}

fn given() -> impl Strategy<Value = Given> {
    let values = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..5);
    (0..ATTRIBUTES.len(), values).prop_map(|(at, values)| Given {
        description: schema().describe(ATTRIBUTES[at]).expect("standard"),
        values,
    })
}

fn rdn() -> impl Strategy<Value = ResolvedRdn> {
    "[a-z]{1,20}".prop_map(|value| {
        let text = format!("cn={value}+sn={value}x");
        schema().resolve_rdn(&text).expect("an RDN")
    })
}

fn name() -> impl Strategy<Value = Name> {
    "[a-z]{1,20}".prop_map(|value| {
        let text = format!("cn={value},ou=a\\,b,dc=example");
        schema().resolve_name(&text).expect("a name")
    })
}

fn change() -> impl Strategy<Value = Change> {
    let operation = prop_oneof![
        Just(ChangeOperation::Add),
        Just(ChangeOperation::Delete),
        Just(ChangeOperation::Replace),
        Just(ChangeOperation::Increment),
    ];
    let modification =
        (operation, given()).prop_map(|(operation, given)| Modification { operation, given });
    let addition = (
        "\\PC{0,40}",
        rdn(),
        proptest::collection::vec(given(), 0..4),
        any::<[u8; 16]>(),
    );
    let renaming = (
        "\\PC{0,40}",
        rdn(),
        any::<bool>(),
        proptest::option::of(name()),
    );
    prop_oneof![
        proptest::collection::vec(modification, 0..4).prop_map(Change::Modify),
        addition.prop_map(|(rdn_spelled, rdn, attributes, uuid)| {
            Change::Add(Addition {
                rdn_spelled,
                rdn,
                attributes,
                uuid,
            })
        }),
        renaming.prop_map(|(rdn_spelled, rdn, delete_old_rdn, new_superior)| {
            Change::Rename(Renaming {
                rdn_spelled,
                rdn,
                delete_old_rdn,
                new_superior,
            })
        }),
        Just(Change::Delete),
        any::<u32>().prop_map(Change::Reclaim),
        any::<u32>().prop_map(Change::Level),
        proptest::collection::vec(attempt(), 0..5).prop_map(Change::Attempts),
    ]
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let kinds = [
        AttemptKind::Failed,
        AttemptKind::Succeeded,
        AttemptKind::Grace,
    ];
    let fields = (proptest::sample::select(kinds.to_vec()), any::<u64>());
    fields.prop_map(|(kind, time_us)| Attempt { kind, time_us })
}

fn options() -> impl Strategy<Value = WriteOptions> {
    let bytes = || proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20));
    let flags = any::<[bool; 6]>();
    let seen = proptest::option::of(any::<u64>());
    let fields = (flags, bytes(), bytes(), bytes(), seen);
    fields.prop_map(
        |(flags, assertion, pre_read, post_read, seen)| WriteOptions {
            administrator: flags[0],
            assertion,
            pre_read,
            post_read,
            no_operation: false,
            permissive: flags[1],
            relaxed: flags[2],
            tree: flags[3],
            counts_passwords: flags[4],
            rehashes: flags[5],
            seen,
            former: None,
            hashing: None,
            lists: AskedLists::default(),
        },
    )
}

fn write() -> impl Strategy<Value = Write> {
    let fields = (
        "\\PC{0,30}",
        name(),
        "\\PC{0,50}",
        any::<bool>(),
        proptest::option::of(options().prop_map(Box::new)),
        change(),
    );
    fields.prop_map(
        |(by, name, spelled, manage_dsa_it, options, change)| Write {
            grant: Grant::recorded(by, name),
            spelled,
            manage_dsa_it,
            options,
            change,
        },
    )
}

fn encoded(writes: &[Write]) -> Vec<u8> {
    encoded_units(writes.chunks(1).collect())
}

fn encoded_units(units: Vec<Unit<'_>>) -> Vec<u8> {
    let record = Record {
        position: 0x0102_0304_0506,
        time_us: 1_795_251_723_000_042,
        units,
    };
    let mut out = Vec::new();
    encode(&record, u128::MAX - 5, &schema(), &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_was_encoded_decodes_to_the_same(writes in proptest::collection::vec(write(), 0..5)) {
        let bytes = encoded(&writes);
        let decoded = decode(&bytes, &schema()).expect("it was encoded");
        prop_assert_eq!(position_of(&bytes), Some(0x0102_0304_0506));
        prop_assert_eq!(decoded.position, 0x0102_0304_0506);
        prop_assert_eq!(decoded.time_us, 1_795_251_723_000_042);
        prop_assert_eq!(decoded.digest, u128::MAX - 5);
        // `Debug` prints every field, also ones added after this test was written.
        prop_assert_eq!(format!("{:?}", decoded.writes.all), format!("{writes:?}"));
    }

    #[test]
    fn what_belongs_together_stays_together(
        writes in proptest::collection::vec(write(), 0..12),
        length in 1_usize..5,
    ) {
        let units: Vec<Unit<'_>> = writes.chunks(length).collect();
        let bytes = encoded_units(units.clone());
        let decoded = decode(&bytes, &schema()).expect("it was encoded");
        prop_assert_eq!(format!("{:?}", decoded.writes.units()), format!("{units:?}"));
        crate::fuzz::record(&bytes);
    }

    #[test]
    fn cut_bytes_are_an_error(
        writes in proptest::collection::vec(write(), 1..3),
        cut in 1_usize..200,
    ) {
        let bytes = encoded(&writes);
        let end = bytes.len().saturating_sub(cut);
        prop_assert!(decode(&bytes[..end], &schema()).is_err());
    }

    /// The fuzz body on arbitrary bytes.
    #[test]
    fn junk_is_an_error_or_decodes_to_something_that_encodes(
        writes in proptest::collection::vec(write(), 1..3),
        at in any::<prop::sample::Index>(),
        junk in proptest::collection::vec(any::<u8>(), 1..12),
    ) {
        let mut bytes = encoded(&writes);
        let at = at.index(bytes.len());
        let end = (at + junk.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&junk[..end - at]);
        crate::fuzz::record(&bytes);
        crate::fuzz::record(&junk);
    }
}

#[test]
fn a_field_of_a_later_build_is_refused() {
    let schema = schema();
    let name = schema.resolve_name("cn=a,dc=b").expect("a name");
    let mut write = Vec::new();
    put_field(&mut write, field::NAME, name.bytes());
    put_field(&mut write, field::DELETE, &[]);
    assert!(take_write(&write, &describe).is_ok());
    put_field(&mut write, 200, b"new");
    let error = take_write(&write, &describe).expect_err("an unknown field");
    assert_eq!(error, "field 200 is of a later build");
    let error = decode(&[9], &schema).expect_err("an unknown version");
    assert!(error.contains("version 9"), "{error}");
}

#[test]
fn what_is_reclaimed_has_no_name() {
    let write = |name: &[u8], most: &[u8]| {
        let mut out = Vec::new();
        put_field(&mut out, field::NAME, name);
        put_field(&mut out, field::RECLAIM, most);
        take_write(&out, &describe).map(|(it, _)| it)
    };
    let read = write(&[], &[1, 2, 0, 0]).expect("a whole one");
    assert!(matches!(read.change, Change::Reclaim(513)));
    let error = write(&[], &[1, 2]).expect_err("half a number");
    assert_eq!(error, "expected a number of 4 bytes, got 2");
    let mut other = Vec::new();
    put_field(&mut other, field::DELETE, &[]);
    let error = take_write(&other, &describe).expect_err("a delete of nothing");
    assert!(error.contains("got the root"), "{error}");
}

#[test]
fn a_level_of_a_later_program_is_noticed_before_the_record_is_executed() {
    let read = |level: u32| {
        let mut out = Vec::new();
        put_field(&mut out, field::LEVEL, &level.to_le_bytes());
        let (write, _) = take_write(&out, &describe).expect("a whole one");
        DecodedWrites {
            all: vec![write],
            lengths: vec![1],
        }
    };
    assert!(read(level::HIGHEST).require_known_level().is_ok());
    assert!(
        read(0).require_known_level().is_ok(),
        "refused when executed"
    );
    let later = read(level::HIGHEST + 1).require_known_level();
    assert!(matches!(later, Err(Failure::Level(it)) if it.level == level::HIGHEST + 1));
}

#[test]
fn units_that_are_none_are_refused() {
    let schema = schema();
    let name = schema.resolve_name("cn=a,dc=b").expect("a name");
    let record = |together: &[Option<usize>]| {
        let mut out = encoded(&[]);
        // The last byte is the number of writes.
        out.pop();
        put_count(&mut out, together.len());
        for length in together {
            sized(&mut out, |out| {
                if let Some(length) = length {
                    put_together(out, *length);
                }
                put_field(out, field::NAME, name.bytes());
                put_field(out, field::DELETE, &[]);
            });
        }
        decode(&out, &schema).map(|it| it.writes.units().len())
    };
    assert_eq!(record(&[Some(2), None, None]), Ok(2));
    for (junk, expected) in [
        (&[Some(0)][..], "2 or more"),
        (&[Some(1)], "2 or more"),
        (&[Some(3), None], "up to 3, got 2"),
        (&[Some(usize::MAX >> 1), None], "got 2"),
        (&[Some(3), Some(2), None], "inside of another"),
    ] {
        let error = record(junk).expect_err("no unit");
        assert!(error.contains(expected), "{error}");
    }
}
