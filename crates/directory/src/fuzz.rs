//! Fuzz bodies: any bytes may come, nothing panics, and what decodes encodes to something that
//! decodes to the same. The fuzz targets are one call each.

use crate::commit::Record;
use crate::record::{decode, encode};
use schema::Schema;

/// Records of the log.
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
