//! Cookies of content synchronisation, in the form that OpenLDAP's consumers and providers use:
//! `rid=001,csn=20261121090203.000042Z#000001#000#000000`.
//!
//! A consumer takes `csn` for the state it has: it stores it as `contextCSN` and skips messages
//! whose cookie is not newer. So a cookie is the change sequence number of the last change sent.

use super::Moment;

/// State of the client's copy, as its cookie tells it.
#[derive(Debug, PartialEq, Eq)]
pub enum Held {
    /// An empty copy.
    Nothing,
    /// The content at this moment.
    Moment(Moment),
    /// A state that this server never had.
    Unknown,
}

/// Parses a cookie into the state and the consumer's replica number, which is repeated in new
/// cookies.
pub fn parse(cookie: Option<&[u8]>) -> (Held, u16) {
    let Some(cookie) = cookie.filter(|it| !it.is_empty()) else {
        return (Held::Nothing, 0);
    };
    let Ok(text) = std::str::from_utf8(cookie) else {
        return (Held::Unknown, 0);
    };
    let (mut held, mut rid) = (Held::Nothing, 0);
    for part in text.trim_end_matches('\0').split(',') {
        match part.split_once('=') {
            Some(("rid", number)) => match number.parse() {
                Ok(number @ 0..=999) => rid = number,
                _ => return (Held::Unknown, 0),
            },
            // A consumer of several providers sends one number for each, separated by semicolons.
            Some(("csn", numbers)) if !numbers.is_empty() => {
                held = numbers
                    .split(';')
                    .find_map(Moment::from_csn)
                    .map_or(Held::Unknown, Held::Moment);
            }
            Some(("csn" | "sid" | "delcsn", _)) => {}
            _ => return (Held::Unknown, rid),
        }
    }
    (held, rid)
}

/// The cookie for the content at a moment.
pub fn print(rid: u16, moment: Moment) -> String {
    format!("rid={rid:03},csn={}", moment.to_csn())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_of_openldap_are_understood() {
        let moment = Moment {
            time_us: 1_795_251_723_000_042,
            counter: 1,
        };
        let cookie = print(7, moment);
        assert_eq!(
            cookie,
            "rid=007,csn=20261121090203.000042Z#000001#000#000000"
        );
        let parsed = |text: &str| parse(Some(text.as_bytes()));
        assert_eq!(parsed(&cookie), (Held::Moment(moment), 7));
        let two = "rid=001,sid=002,csn=20201121090203.000042Z#000001#002#000000;\
                   20261121090203.000042Z#000001#000#000000";
        assert_eq!(parsed(two), (Held::Moment(moment), 1));
        assert_eq!(parse(None), (Held::Nothing, 0));
        assert_eq!(parsed(""), (Held::Nothing, 0));
        assert_eq!(parsed("rid=012"), (Held::Nothing, 12));
        assert_eq!(parsed("rid=012,csn="), (Held::Nothing, 12));
        for junk in [
            "junk",
            "rid=x",
            "rid=-1,csn=",
            "csn=junk",
            "csn=20261121090203.000042Z#000001#00g#000000",
            "csn=20261121090203.000042Z#000001#001#000000",
        ] {
            assert_eq!(parsed(junk).0, Held::Unknown, "{junk}");
        }
        assert_eq!(parse(Some(&[0xff, 0xfe])).0, Held::Unknown);
    }
}
