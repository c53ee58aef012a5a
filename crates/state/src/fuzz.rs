//! Fuzz bodies: no bytes cause a panic, and a decoded value encodes to bytes that decode to an
//! equal value.

pub use crate::history::fuzz::row as history_row;

use crate::history::Moment;
use crate::history::sync_cookie::{self, Held};
use crate::record::{LoggedContent, LoggedHead, decode, encode, encode_logged, encode_writes};
use crate::rules::range::NumberRange;
use crate::time;
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

/// Cookies of content synchronisation and change sequence numbers: one of this server prints as it
/// was read.
pub fn sync_cookie(bytes: &[u8]) {
    if let (Held::Moment(moment), rid) = sync_cookie::parse(Some(bytes)) {
        let printed = sync_cookie::print(rid, moment);
        let again = sync_cookie::parse(Some(printed.as_bytes()));
        assert_eq!(again, (Held::Moment(moment), rid), "{printed}");
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(moment) = Moment::from_csn(text) {
        assert_eq!(Moment::from_csn(&moment.to_csn()), Some(moment));
    }
}

/// Short texts from people and other servers: times, UUIDs, ranges of numbers.
pub fn words(bytes: &[u8]) {
    // A day that the calendar does not have (30 February) is the following one. Years after 9999
    // have five digits.
    const END_OF_9999_US: u64 = 253_402_300_800_000_000;
    if let Some(micros) = time::micros_of(bytes).filter(|it| *it < END_OF_9999_US) {
        let printed = time::exact_time(micros);
        assert_eq!(time::micros_of(printed.as_bytes()), Some(micros));
    }
    if let Some(uuid) = time::parse_uuid(bytes) {
        let printed = time::uuid_text(&uuid);
        assert_eq!(time::parse_uuid(printed.as_bytes()), Some(uuid));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(range) = text.parse::<NumberRange>() {
        assert_eq!(range.to_string().parse(), Ok(range));
    }
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

    #[test]
    fn the_corpus_of_records() {
        run("record", super::record);
    }

    #[test]
    fn the_corpus_of_the_history() {
        run("history_row", super::history_row);
    }

    #[test]
    fn the_corpus_of_synchronisation_cookies() {
        run("sync_cookie", super::sync_cookie);
    }

    #[test]
    fn the_corpus_of_words() {
        run("words", super::words);
    }
}
