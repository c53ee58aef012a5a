//! Tests of the entry row.

use proptest::prelude::*;
use schema::{AttributeNumber, NumberSet};

use super::*;

fn values(values: &[Vec<u8>]) -> impl Iterator<Item = &[u8]> + Clone {
    values.iter().map(Vec::as_slice)
}

#[test]
fn the_header_is_as_documented() {
    // docs/formats/database.md, "Entry".
    let mut builder = EntryBuilder::new(EntryId(0x0102), "cn=x", 0x0304);
    builder.operational(AttributeNumber(9), "entryCSN", values(&[b"v".to_vec()]));
    builder.user(
        AttributeNumber(3),
        "cn",
        values(&[b"x".to_vec(), b"yy".to_vec()]),
    );
    let mut row = Vec::new();
    builder.finish(&mut row);
    assert_eq!(row[..8], [2, 0, 2, 0, 4, 0, 0, 0]);
    assert_eq!(row[8..24], [2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0]);
    let attributes = 44 + 4 + 12;
    let user = b"\x30\x0d\x04\x02cn\x31\x07\x04\x01x\x04\x02yy";
    let operational = attributes + user.len();
    assert_eq!(
        row[40..48],
        [operational as u8, 0, 0, 0, b'c', b'n', b'=', b'x']
    );
    assert_eq!(row[48..52], [3, 0, 9, 0]);
    assert_eq!(
        row[52..60],
        [attributes as u8, 0, 0, 0, operational as u8, 0, 0, 0]
    );
    assert_eq!(&row[attributes..operational], user);
    assert_eq!(
        &row[operational..],
        b"\x30\x0f\x04\x08entryCSN\x31\x03\x04\x01v"
    );
}

#[test]
fn the_digest_leaves_out_parent_and_position() {
    let row = |parent, rdn: &str, position, value: &[u8]| {
        let mut builder = EntryBuilder::new(EntryId(parent), rdn, position);
        builder.user(AttributeNumber(1), "cn", std::iter::once(value));
        let mut out = Vec::new();
        builder.finish(&mut out);
        EntryView::new(&out)
            .map(|it| (it.digest(), it.computed_digest()))
            .ok()
    };
    let one = row(1, "cn=x", 1, b"x");
    assert_eq!(one.map(|it| it.0), one.map(|it| it.1));
    assert_eq!(one, row(2, "cn=x", 9, b"x"));
    assert_ne!(one, row(1, "cn=X", 1, b"x"));
    assert_ne!(one, row(1, "cn=x", 1, b"y"));
}

#[test]
fn an_appendix_c_entry_fits_a_page() {
    // 2.4 KB of values in 19 user attributes, and 8 operational ones.
    let mut builder = EntryBuilder::new(EntryId(2), "uid=user.1234567", 1);
    for number in 0..19 {
        let value = vec![b'x'; 2400 / 19];
        builder.user(
            AttributeNumber(number),
            "attributeNameOf19c",
            values(&[value]),
        );
    }
    for number in 20..28 {
        let value = vec![b'x'; 36];
        builder.operational(
            AttributeNumber(number),
            "subschemaSubentry",
            values(&[value]),
        );
    }
    let mut row = Vec::new();
    builder.finish(&mut row);
    assert!(row.len() <= 4096 - 16, "{}", row.len());
}

proptest! {
    #[test]
    fn what_is_put_in_comes_out(
        rdn in "[a-z]{1,8}=[ -~]{0,40}",
        user in prop::collection::vec(prop::collection::vec(any::<Vec<u8>>(), 0..4), 0..6),
        operational in prop::collection::vec(prop::collection::vec(any::<Vec<u8>>(), 0..4), 0..6),
        without in prop::collection::vec(prop_oneof![0..7u16, 99..103u16], 0..4),
    ) {
        let mut builder = EntryBuilder::new(EntryId(5), &rdn, 6);
        for (at, it) in user.iter().enumerate() {
            builder.user(AttributeNumber(at as u16), "cn", values(it));
        }
        for (at, it) in operational.iter().enumerate() {
            builder.operational(AttributeNumber(100 + at as u16), "cn", values(it));
        }
        let mut row = Vec::new();
        builder.finish(&mut row);
        let view = EntryView::new(&row).expect("a row just made");
        prop_assert_eq!(view.rdn(), &rdn);
        prop_assert_eq!((view.parent(), view.position()), (EntryId(5), 6));
        prop_assert_eq!(view.attribute_count(), user.len() + operational.len());
        let both = [view.user_attributes(), view.operational_attributes()].concat();
        let all: Vec<u8> = view.attributes().flat_map(|it| it.encoded.to_vec()).collect();
        prop_assert_eq!(both, all);
        for (at, it) in user.iter().enumerate() {
            let found = view.attribute(AttributeNumber(at as u16)).expect("it was put in");
            prop_assert!(found.values().iter().eq(values(it)));
        }
        for (at, it) in operational.iter().enumerate() {
            let found = view.attribute(AttributeNumber(100 + at as u16)).expect("it was put in");
            prop_assert!(found.values().iter().eq(values(it)));
        }
        prop_assert!(view.attribute(AttributeNumber(99)).is_none());
        let without: NumberSet = without.into_iter().map(AttributeNumber).collect();
        let shown = |it: &StoredAttribute<'_>| it.number.0 < 99 && !without.contains(it.number);
        let some = view.attributes().filter(shown);
        let some: Vec<u8> = some.flat_map(|it| it.encoded.to_vec()).collect();
        let mut written = b"before".to_vec();
        view.write_user_attributes(&without, &mut written);
        prop_assert_eq!(written, [&b"before"[..], &some].concat());
    }

    #[test]
    fn damaged_rows_do_no_harm(
        mut row in prop::collection::vec(any::<u8>(), 0..200),
        lengths in any::<[u8; 3]>(),
    ) {
        // Plausible lengths reach more than the first test.
        if row.len() > 44 {
            row[..8].copy_from_slice(&[1, 0, lengths[0] % 8, 0, lengths[1] % 16, 0, 0, 0]);
            row[40..44].copy_from_slice(&[lengths[2], 0, 0, 0]);
        }
        if let Ok(view) = EntryView::new(&row) {
            let _ = (view.rdn(), view.digest(), view.computed_digest(), view.parent());
            for attribute in view.attributes() {
                let _ = attribute.values().iter().count();
            }
            let _ = view.user_attributes().len() + view.operational_attributes().len();
            let all: NumberSet = view.attributes().map(|it| it.number).collect();
            view.write_user_attributes(&all, &mut Vec::new());
        }
    }
}
