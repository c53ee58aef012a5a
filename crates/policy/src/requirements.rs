//! Conditions on every request, in the words of slapd's `require`: how a client must have
//! authenticated, and how its connection must be protected.

use std::fmt;

/// Conditions that every request must meet but those that a client needs in order to meet them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requirements(u8);

/// One condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// A bind came first, of nobody perhaps.
    Bind,
    /// The client has authenticated.
    Authentication,
    /// The client has authenticated by SASL.
    Sasl,
    /// The client has authenticated by SASL, or over a protected connection.
    Strong,
    /// The connection is protected: by TLS, or because it stays on this machine.
    Protection,
}

/// How a client came to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Approach {
    /// Whether its last bind succeeded, also one of nobody.
    pub has_bound: bool,
    /// Whether the identity that the request acts as, and the client itself, are somebody.
    pub is_authenticated: bool,
    /// Whether the last bind was one of SASL.
    pub by_sasl: bool,
    /// Whether nobody can read the connection on the way.
    pub is_protected: bool,
}

/// The words for conditions. The version of the protocol is always 3 here, so that its word is a
/// condition that each request meets.
const WORDS: [(&str, u8); 6] = [
    ("bind", Requirement::Bind.bit()),
    ("LDAPv3", 0),
    ("authc", Requirement::Authentication.bit()),
    ("SASL", Requirement::Sasl.bit()),
    ("strong", Requirement::Strong.bit()),
    ("tls", Requirement::Protection.bit()),
];

/// The conditions in the order in which they are checked: who has to protect the connection first
/// is told so first.
const ALL: [Requirement; 5] = [
    Requirement::Protection,
    Requirement::Bind,
    Requirement::Authentication,
    Requirement::Strong,
    Requirement::Sasl,
];

impl Requirement {
    const fn bit(self) -> u8 {
        1 << self as u8
    }

    fn is_met(self, by: &Approach) -> bool {
        match self {
            Requirement::Bind => by.has_bound,
            Requirement::Authentication => by.is_authenticated,
            Requirement::Sasl => by.is_authenticated && by.by_sasl,
            Requirement::Strong => by.is_authenticated && (by.by_sasl || by.is_protected),
            Requirement::Protection => by.is_protected,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Requirement::Bind => "bind required: this directory answers nothing before a bind",
            Requirement::Authentication => {
                "authentication required: this directory answers nothing without a bind"
            }
            Requirement::Sasl => {
                "authentication by SASL required: this directory answers nothing without it"
            }
            Requirement::Strong => {
                "stronger authentication required: by SASL, or over a protected connection"
            }
            Requirement::Protection => {
                "TLS required: this directory answers nothing on unprotected connections; use \
                 StartTLS or ldaps://"
            }
        })
    }
}

impl Requirements {
    /// Authentication of every request.
    pub const AUTHENTICATION: Requirements = Requirements(Requirement::Authentication.bit());

    /// Reads words. `none` stands alone and is no condition.
    ///
    /// # Errors
    /// A text that says which word is not known, or stands beside `none`.
    pub fn read<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Requirements, String> {
        let (mut bits, mut count, mut none) = (0, 0, false);
        for word in words {
            count += 1;
            if word.eq_ignore_ascii_case("none") {
                none = true;
                continue;
            }
            let known = WORDS.iter().find(|it| it.0.eq_ignore_ascii_case(word));
            let Some((_, bit)) = known else {
                return Err(format!(
                    "expected bind, authc, LDAPv3, SASL, strong, tls or none, got {word}"
                ));
            };
            bits |= bit;
        }
        match none && count > 1 {
            true => Err("expected none alone, got other words beside it".to_owned()),
            false => Ok(Requirements(bits)),
        }
    }

    /// All conditions of both.
    pub fn and(self, other: Requirements) -> Requirements {
        Requirements(self.0 | other.0)
    }

    /// Whether there are no conditions.
    #[inline]
    pub fn are_none(self) -> bool {
        self.0 == 0
    }

    /// The first condition that is not met; `None` if all are.
    pub fn unmet(self, by: &Approach) -> Option<Requirement> {
        let asked = ALL.into_iter().filter(|it| self.0 & it.bit() != 0);
        asked.into_iter().find(|it| !it.is_met(by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_slapd() {
        let read = |words: &[&str]| Requirements::read(words.iter().copied());
        assert!(read(&[]).unwrap().are_none() && read(&["None"]).unwrap().are_none());
        assert!(read(&["ldapv3"]).unwrap().are_none());
        assert_eq!(read(&["AUTHC"]), Ok(Requirements::AUTHENTICATION));
        let wrong = read(&["authc", "krbv4"]).unwrap_err();
        assert!(wrong.ends_with("got krbv4"), "{wrong}");
        assert!(read(&["none", "tls"]).is_err());
    }

    #[test]
    fn each_condition_is_met_by_what_it_asks_for() {
        let nobody = Approach::default();
        let simple = Approach {
            has_bound: true,
            is_authenticated: true,
            ..nobody
        };
        let protected = Approach {
            is_protected: true,
            ..simple
        };
        let by_sasl = Approach {
            by_sasl: true,
            ..simple
        };
        let unbound = Approach {
            is_protected: true,
            ..nobody
        };
        let anonymous = Approach {
            is_authenticated: false,
            ..by_sasl
        };
        let all = [nobody, unbound, anonymous, simple, protected, by_sasl];
        for (word, met) in [
            ("LDAPv3", [true, true, true, true, true, true]),
            ("bind", [false, false, true, true, true, true]),
            ("authc", [false, false, false, true, true, true]),
            ("strong", [false, false, false, false, true, true]),
            ("SASL", [false, false, false, false, false, true]),
            ("tls", [false, true, false, false, true, false]),
        ] {
            let asked = Requirements::read([word]).unwrap();
            assert_eq!(all.map(|it| asked.unmet(&it).is_none()), met, "{word}");
        }
        let both = Requirements::read(["authc", "tls"]).unwrap();
        assert_eq!(both.unmet(&nobody), Some(Requirement::Protection));
        assert_eq!(both.unmet(&unbound), Some(Requirement::Authentication));
    }
}
