//! Fuzz bodies: no bytes cause a panic, and a decoded value encodes to bytes that decode to an
//! equal value.

pub use crate::history::fuzz::row as history_row;

use crate::record::{decode, encode};
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
        units: decoded.units(),
    };
    let mut encoded = Vec::new();
    encode(&record, decoded.digest, &schema, &mut encoded);
    let again = decode(&encoded, &schema).expect("it was just encoded");
    assert_eq!(
        format!("{:?}", again.units()),
        format!("{:?}", decoded.units()),
        "{}",
        bytes.escape_ascii()
    );
}
