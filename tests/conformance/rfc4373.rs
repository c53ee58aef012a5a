//! RFC 4373: bulk update (LBURP).

use protocol::ber::{self, Reader};

use crate::prelude::*;

const NEEDS: [Need; 3] = [
    Need::Extension(oid::START_BULK_UPDATE),
    Need::Extension(oid::BULK_UPDATE),
    Need::Extension(oid::END_BULK_UPDATE),
];

pub(crate) fn clauses(book: &mut Book) {
    streams(book);
    failures(book);
    mistakes(book);
}

fn begin(it: &mut Case<'_>) -> Result<Outcome, Finding> {
    let value = sequence(&[octets(oid::INCREMENTAL_UPDATE_STYLE)]);
    it.extended(oid::START_BULK_UPDATE, Some(&value))
}

fn update(it: &mut Case<'_>, number: i64, operations: &[Vec<u8>]) -> Result<Outcome, Finding> {
    let list: Vec<Vec<u8>> = operations
        .iter()
        .map(|operation| sequence(std::slice::from_ref(operation)))
        .collect();
    let value = sequence(&[integer(number), sequence(&list)]);
    it.extended(oid::BULK_UPDATE, Some(&value))
}

fn end(it: &mut Case<'_>, number: i64) -> Result<Outcome, Finding> {
    let value = sequence(&[integer(number)]);
    it.extended(oid::END_BULK_UPDATE, Some(&value))
}

/// Encodes the add request of a unit below home.
fn add_of(it: &mut Case<'_>, name: &str) -> Result<Vec<u8>, Finding> {
    let dn = format!("ou={name},{}", it.home()?);
    let attribute = |kind: &str, value: &str| {
        let values = constructed(ber::SET, &[octets(value)]);
        sequence(&[octets(kind), values])
    };
    let attributes = [
        attribute("objectClass", "organizationalUnit"),
        attribute("ou", name),
    ];
    Ok(constructed(0x68, &[octets(dn), sequence(&attributes)]))
}

fn delete_of(it: &mut Case<'_>, name: &str) -> Result<Vec<u8>, Finding> {
    let dn = format!("ou={name},{}", it.home()?);
    Ok(tagged(0x4A, dn))
}

fn streams(book: &mut Book) {
    let mut section = book.section_needing("rfc4373", "5", &NEEDS);
    section.clause(
        "start-says-how-many-fit",
        "The response to the start holds the greatest number of updates in a request.",
        |it| {
            let outcome = begin(it)?.ok()?;
            let value = outcome.value.unwrap_or_default();
            match Reader::new(&value).integer(ber::INTEGER) {
                Ok(most) if most > 0 => Ok(()),
                other => Finding::wrong("a number above 0", format_args!("{other:?}")),
            }
        },
    );
    section.clause(
        "updates-in-their-order",
        "The updates of a request are applied in their order.",
        |it| {
            begin(it)?.ok()?;
            let operations = [
                add_of(it, "a")?,
                add_of(it, "b")?,
                delete_of(it, "a")?,
                add_of(it, "c")?,
            ];
            update(it, 1, &operations)?.ok()?;
            end(it, 2)?.ok()?;
            it.finds("(|(ou=a)(ou=b)(ou=c))", "b c")
        },
    );
    section.clause(
        "requests-in-their-order",
        "The requests of a stream are applied by their numbers.",
        |it| {
            begin(it)?.ok()?;
            let add = add_of(it, "a")?;
            update(it, 1, &[add])?.ok()?;
            let delete = delete_of(it, "a")?;
            update(it, 2, &[delete])?.ok()?;
            end(it, 3)?.ok()?;
            it.finds("(ou=a)", "")
        },
    );
    section.clause(
        "a-stream-may-be-empty",
        "A stream may end without an update.",
        |it| {
            begin(it)?.ok()?;
            end(it, 1)?.ok().map(|_| ())
        },
    );
}

fn failures(book: &mut Book) {
    let mut section = book.section_needing("rfc4373", "5.4.1", &NEEDS);
    section.clause(
        "what-failed-is-listed",
        "A request with updates that failed answers other, with their places and results.",
        |it| {
            begin(it)?.ok()?;
            let operations = [add_of(it, "a")?, delete_of(it, "nothing")?];
            let outcome = update(it, 1, &operations)?.is(ResultCode::OTHER)?;
            let value = outcome.value.unwrap_or_default();
            let place = Reader::new(&value)
                .nested(ber::SEQUENCE)
                .and_then(|mut list| list.nested(ber::SEQUENCE)?.integer(ber::INTEGER));
            match place {
                Ok(2) => Ok(()),
                other => Finding::wrong("the second update", format_args!("{other:?}")),
            }
        },
    );
    section.clause(
        "the-others-stand",
        "The updates beside one that failed are applied.",
        |it| {
            begin(it)?.ok()?;
            let operations = [
                add_of(it, "a")?,
                delete_of(it, "nothing")?,
                add_of(it, "b")?,
            ];
            update(it, 1, &operations)?.is(ResultCode::OTHER)?;
            end(it, 2)?.ok()?;
            it.finds("(|(ou=a)(ou=b))", "a b")
        },
    );
}

fn mistakes(book: &mut Book) {
    let mut section = book.section_needing("rfc4373", "4", &NEEDS);
    section.clause(
        "update-without-a-start",
        "An update before the start is refused, and nothing happens.",
        |it| {
            let add = add_of(it, "a")?;
            update(it, 1, &[add])?.refused()?;
            it.finds("(ou=a)", "")
        },
    );
    section.clause(
        "unknown-style",
        "A start with a style nobody knows is refused.",
        |it| {
            let value = sequence(&[octets("1.2.3.4")]);
            let outcome = it.extended(oid::START_BULK_UPDATE, Some(&value))?;
            outcome.refused().map(|_| ())
        },
    );
    section.clause(
        "number-out-of-turn",
        "A number that is not the next one is refused.",
        |it| {
            begin(it)?.ok()?;
            let add = add_of(it, "a")?;
            update(it, 0, &[add])?.refused().map(|_| ())
        },
    );
    section.clause(
        "junk-is-a-protocol-error",
        "A request that cannot be read is protocolError.",
        |it| {
            let outcome = it.extended(oid::START_BULK_UPDATE, Some(&[4, 1, b'x']))?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}
