//! Fuzz bodies: for any input bytes nothing panics, and a decoded value encodes to bytes that
//! decode to an equal value. Each fuzz target calls one of them.

pub use state::fuzz::{history_row, record};

use crate::operation::follow::cookie;
use crate::operation::follow::cookie::Held;
use spool::cookie::CookieKey;
use state::history::Moment;
use state::rules::range::NumberRange;
use state::time;

/// Cookies of content synchronisation and change sequence numbers: one of this server prints as it
/// was read.
pub fn sync_cookie(bytes: &[u8]) {
    if let (Held::Moment(moment), rid) = cookie::parse(Some(bytes)) {
        let printed = cookie::print(rid, moment);
        let again = cookie::parse(Some(printed.as_bytes()));
        assert_eq!(again, (Held::Moment(moment), rid), "{printed}");
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(moment) = Moment::from_csn(text) {
        assert_eq!(Moment::from_csn(&moment.to_csn()), Some(moment));
    }
}

/// Cookies of paged results and of views: only signed ones are read, with the signed content.
pub fn paging_cookie(bytes: &[u8]) {
    let key = CookieKey::from_bytes([7; 32]);
    for cookie in [bytes.to_vec(), key.sign(bytes.to_vec())] {
        // A page's fingerprint is the last field before the tag; other cookies have it further up.
        for at in [1, 17, 19] {
            let of = cookie.get(at..at + 8).and_then(|it| it.try_into().ok());
            let of = of.map_or(0, u64::from_be_bytes);
            if let Ok(position) = key.open(&cookie, of) {
                assert_eq!(key.seal(&position), cookie);
            }
            if let Ok(position) = key.open_sorted(&cookie, of) {
                assert_eq!(key.seal_sorted(&position, of), cookie);
            }
            if let Some(list) = key.open_context(&cookie, of) {
                assert_eq!(key.seal_context(of, list), cookie);
            }
        }
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
    fn the_corpora_of_cookies() {
        run("sync_cookie", super::sync_cookie);
        run("paging_cookie", super::paging_cookie);
    }

    #[test]
    fn the_corpus_of_words() {
        run("words", super::words);
    }

    #[test]
    fn the_corpus_of_the_history() {
        run("history_row", super::history_row);
    }
}
