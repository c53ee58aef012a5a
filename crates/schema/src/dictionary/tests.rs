//! Numbers are given in order, forever, and equally in equal histories.

use std::sync::Arc;

use super::*;
use crate::definition::DefinitionKind;
use crate::definition_parse::parse_definition;
use crate::schema::Schema;

fn numbered(schema: Schema, texts: &[&str]) -> (Schema, Vec<DictionaryRow>) {
    let mut all = Vec::new();
    let mut schema = schema;
    for text in texts {
        let description = schema.describe(text).unwrap();
        let (next, number, rows) = schema.with_number(&description).unwrap();
        assert_eq!(next.number(&description), Some(number));
        schema = next;
        all.extend(rows);
    }
    (schema, all)
}

fn texts(schema: &Schema, numbers: &[AttributeNumber]) -> Vec<String> {
    numbers
        .iter()
        .map(|number| schema.known(*number).unwrap().text.clone())
        .collect()
}

const SEVERAL: [&str; 8] = [
    "cn;lang-de",
    "SN",
    "commonName",
    "cn;lang-de-AT",
    "name",
    "givenName;lang-en;x-a",
    "cn;x-a",
    "entryUUID",
];

#[test]
fn numbers_follow_first_use_with_the_base_first() {
    let (schema, rows) = numbered(Schema::standard(), &SEVERAL);
    let given: Vec<_> = rows
        .iter()
        .map(|row| (row.number.0, row.text.as_str()))
        .collect();
    let expected = [
        (1, "cn"),
        (2, "cn;lang-de"),
        (3, "sn"),
        (4, "cn;lang-de-at"),
        (5, "name"),
        (6, "givenName"),
        (7, "givenName;lang-en;x-a"),
        (8, "cn;x-a"),
        (9, "entryUUID"),
    ];
    assert_eq!(given, expected);
    assert_eq!(schema.dictionary_rows(), rows);
    let known = schema.known(AttributeNumber(7)).unwrap();
    assert_eq!((known.base, known.operational), (AttributeNumber(6), false));
    assert_eq!(known.options, ["lang-en", "x-a"]);
    assert!(schema.known(AttributeNumber(9)).unwrap().operational);
    assert!(schema.known(AttributeNumber(0)).is_none());
    assert!(schema.known(AttributeNumber(10)).is_none());
}

#[test]
fn equal_histories_and_stored_rows_give_equal_dictionaries() {
    let (schema, rows) = numbered(Schema::standard(), &SEVERAL);
    let (again, same_rows) = numbered(Schema::standard(), &SEVERAL);
    assert_eq!(rows, same_rows);
    let mut shuffled = rows.clone();
    shuffled.reverse();
    let read = Schema::standard().with_dictionary(&shuffled).unwrap();
    for other in [&again, &read] {
        assert_eq!(other.dictionary_rows(), rows);
        assert!(other.known_attributes().eq(schema.known_attributes()));
        for (id, _) in schema.attribute_types() {
            assert_eq!(other.numbers_of(id), schema.numbers_of(id));
        }
    }
    let (_, number, rows) = read.with_number(&read.describe("l").unwrap()).unwrap();
    assert_eq!((number.0, rows.len()), (10, 1));
}

#[test]
fn subtypes_and_options_are_covered() {
    let (schema, _) = numbered(Schema::standard(), &SEVERAL);
    let name = schema.attribute_type("name").unwrap();
    let numbers: Vec<u16> = schema
        .numbers_of(name)
        .iter()
        .map(|number| number.0)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(
        schema
            .numbers_of(schema.attribute_type("mail").unwrap())
            .is_empty()
    );
    for (asked, selected) in [
        ("cn", vec!["cn", "cn;lang-de", "cn;lang-de-at", "cn;x-a"]),
        ("cn;lang-de", vec!["cn;lang-de"]),
        ("cn;lang-de-", vec!["cn;lang-de", "cn;lang-de-at"]),
        ("cn;lang-", vec!["cn;lang-de", "cn;lang-de-at"]),
        ("name;x-a", vec!["givenName;lang-en;x-a", "cn;x-a"]),
        ("name;x-a;lang-", vec!["givenName;lang-en;x-a"]),
        ("sn;range=0-9", vec!["sn"]),
        ("sn;lang-de", vec![]),
        ("mail", vec![]),
    ] {
        let description = schema.describe(asked).unwrap();
        assert_eq!(
            texts(&schema, &schema.selected_numbers(&description)),
            selected,
            "{asked}"
        );
    }
}

#[test]
fn rows_of_later_definitions_wait_for_them() {
    let plate = parse_definition(
        DefinitionKind::AttributeType,
        "( 1.2.3.9 NAME 'plate' SUP name )",
    )
    .unwrap();
    let rows: Vec<_> = [(1, "cn"), (2, "plate"), (3, "plate;x-a"), (4, "sn")]
        .map(|(number, text)| DictionaryRow {
            number: AttributeNumber(number),
            text: text.to_string(),
        })
        .into();
    let schema = Schema::standard().with_dictionary(&rows).unwrap();
    assert_eq!(schema.unresolved_rows().len(), 2);
    assert_eq!(schema.known(AttributeNumber(2)), None);
    assert_eq!(schema.dictionary_rows(), rows);
    let (_, number, _) = schema.with_number(&schema.describe("l").unwrap()).unwrap();
    assert_eq!(number, AttributeNumber(5));
    let schema = schema.extended(&[plate]).unwrap();
    assert!(schema.unresolved_rows().is_empty());
    let known = schema.known(AttributeNumber(3)).unwrap();
    assert_eq!(
        (known.text.as_str(), known.base),
        ("plate;x-a", AttributeNumber(2))
    );
    let name = schema.attribute_type("name").unwrap();
    assert_eq!(schema.numbers_of(name).len(), 4);
}

#[test]
fn contradicting_rows_are_refused() {
    for rows in [
        vec![(1, "cn"), (1, "sn")],
        vec![(1, "cn"), (2, "commonName")],
        vec![(1, "cn;lang-de"), (2, "cn")],
        vec![(0, "cn")],
        vec![(1, "cn"), (2, "cn;lang-")],
        vec![(1, "not a description")],
    ] {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(number, text)| DictionaryRow {
                number: AttributeNumber(number),
                text: text.to_string(),
            })
            .collect();
        let result = Schema::standard().with_dictionary(&rows);
        assert!(
            matches!(result, Err(SchemaError::Dictionary { .. })),
            "{rows:?}"
        );
    }
}

#[test]
fn a_selection_gets_no_number_and_the_last_number_is_the_last() {
    let schema = Schema::standard();
    for text in ["cn;lang-", "member;range=0-9"] {
        let refused = schema.with_number(&schema.describe(text).unwrap());
        assert!(
            matches!(refused, Err(SchemaError::Contradiction { .. })),
            "{text}"
        );
    }
    let last = DictionaryRow {
        number: AttributeNumber(u16::MAX),
        text: "cn".to_string(),
    };
    let full = schema.with_dictionary(&[last]).unwrap();
    let refused = full.with_number(&full.describe("sn").unwrap());
    assert!(matches!(refused, Err(SchemaError::Full { .. })));
}

#[test]
fn numbers_are_added_in_place() {
    let mut schema = Schema::standard();
    let one = schema.describe("userPassword;x-0").unwrap();
    let (number, rows) = schema.add_number(&one).unwrap();
    assert_eq!((number.0, rows.len()), (2, 2));
    let (place, shared) = (Arc::as_ptr(&schema.dictionary), schema.clone());
    // Other schemas keep their numbers.
    let other = schema.describe("userPassword;x-1").unwrap();
    schema.add_number(&other).unwrap();
    assert_eq!(shared.number(&other), None);
    assert_eq!(place, Arc::as_ptr(&shared.dictionary));
    drop(shared);
    let place = Arc::as_ptr(&schema.dictionary);
    for x in 2..1_000 {
        let one = schema.describe(&format!("userPassword;x-{x}")).unwrap();
        assert_eq!(schema.add_number(&one).unwrap().0.0, x + 2);
    }
    assert_eq!(place, Arc::as_ptr(&schema.dictionary), "copied");
}

#[test]
fn a_description_gets_all_its_numbers_or_none() {
    let row = DictionaryRow {
        number: AttributeNumber(u16::MAX - 1),
        text: "cn".to_owned(),
    };
    let mut schema = Schema::standard().with_dictionary(&[row]).unwrap();
    let two = schema.describe("sn;x-1").unwrap();
    let refused = schema.add_number(&two);
    assert!(
        matches!(refused, Err(SchemaError::Full { .. })),
        "{refused:?}"
    );
    let base = schema.describe("sn").unwrap();
    assert_eq!(schema.number(&base), None);
    assert_eq!(schema.add_number(&base).unwrap().0.0, u16::MAX);
}
