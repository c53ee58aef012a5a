//! Fuzz body: any bytes are refused as a cookie, or encode to the same bytes when they were read.

use crate::cookie::CookieKey;

/// Cookies of paged results and of views: only signed ones are read, with the signed content.
pub fn paging_cookie(bytes: &[u8]) {
    let key = CookieKey::from_bytes([7; 32]);
    for cookie in [bytes.to_vec(), key.sign(bytes.to_vec())] {
        let whole = |made: Vec<u8>| match key.position_of(&cookie) {
            Some(position) => key.positioned(&made, position),
            None => made,
        };
        // A page's fingerprint is the last field before the tag; other cookies have it further up,
        // and a position stands before all.
        for at in [1, 17, 19, 10, 26, 28] {
            let of = cookie.get(at..at + 8).and_then(|it| it.try_into().ok());
            let of = of.map_or(0, u64::from_be_bytes);
            if let Ok(position) = key.open(&cookie, of) {
                assert_eq!(whole(key.seal(&position)), cookie);
            }
            if let Ok(position) = key.open_sorted(&cookie, of) {
                assert_eq!(whole(key.seal_sorted(&position, of)), cookie);
            }
            if let Some(list) = key.open_context(&cookie, of) {
                assert_eq!(whole(key.seal_context(of, list)), cookie);
            }
        }
    }
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_of_cookies() {
        super::damaged::run("paging_cookie", super::paging_cookie);
    }
}
