//! Fuzz bodies: no bytes cause a panic, and a decoded value encodes to bytes that decode to an
//! equal value.

pub use crate::history::fuzz::row as history_row;

use crate::record::{LoggedContent, LoggedHead, decode, encode, encode_logged, encode_writes};
use crate::write::Record;
use schema::Schema;

/// Decodes records of the log.
pub fn record(bytes: &[u8]) {
    let schema = Schema::standard();
    let Ok(decoded) = decode(bytes, &schema) else {
        return;
    };
    let record = Record {
        position: decoded.position,
        time_us: decoded.time_us,
        units: decoded.writes.units(),
    };
    let mut encoded = Vec::new();
    match decoded.logged {
        None => encode(&record, decoded.digest, &schema, &mut encoded),
        Some(logged) => {
            let head = LoggedHead {
                position: decoded.position,
                time_us: decoded.time_us,
                digest: decoded.digest,
                logged,
            };
            let mut writes = Vec::new();
            encode_writes(&record.units, &schema, &mut writes);
            let content = match &decoded.part {
                Some(part) => LoggedContent::Part {
                    index: part.index,
                    bytes: &part.bytes,
                },
                None => LoggedContent::Writes(&writes),
            };
            encode_logged(&head, content, &mut encoded);
        }
    }
    let again = decode(&encoded, &schema).expect("it was just encoded");
    assert_eq!((again.logged, &again.part), (decoded.logged, &decoded.part));
    assert_eq!(
        format!("{:?}", again.writes.units()),
        format!("{:?}", decoded.writes.units()),
        "{}",
        bytes.escape_ascii()
    );
}
