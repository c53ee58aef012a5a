//! Quality of new passwords: how many characters of which kind, how different from the old password
//! and from what is known of the user, and whether it stands in a list. Pure; lists are asked by a
//! trait, because they lie in files.

use std::collections::BTreeSet;
use std::fmt;
use std::io;

/// Octets of a value that a password is compared with at most: a longer one is no name that
/// somebody would take for a password, and comparing takes time with the product of the lengths.
const COMPARED_MAX: usize = 128;
/// Values that a password is compared with at most.
const COMPARED_VALUES_MAX: usize = 32;
/// Characters of a value from which on a password may not contain it.
const CONTAINED_FROM: usize = 4;

/// The rules of a policy for new passwords beside their length. A number of 0 means "not set".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quality {
    /// passwordMinDigits: decimal digits.
    pub min_digits: u64,
    /// passwordMinAlphas: letters.
    pub min_alphas: u64,
    /// passwordMinUppers: upper-case letters.
    pub min_uppers: u64,
    /// passwordMinLowers: lower-case letters.
    pub min_lowers: u64,
    /// passwordMinSpecials: characters of ASCII that are neither letters nor digits.
    pub min_specials: u64,
    /// passwordMin8bit: characters beyond ASCII.
    pub min_8bit: u64,
    /// passwordMaxRepeats: the most times that a character may follow itself, itself included.
    pub max_repeats: u64,
    /// passwordMinCategories: kinds among digits, upper-case and lower-case letters, specials and
    /// characters beyond ASCII.
    pub min_categories: u64,
    /// pandoPasswordMinDifference: characters to exchange, insert or delete on the way to the old
    /// password, and to values of the user's entry.
    pub min_difference: u64,
    /// The lists in which a password may not stand.
    pub lists: AskedLists,
}

/// The lists that a policy wants to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AskedLists {
    /// pandoPasswordDictionary: words.
    pub dictionary: bool,
    /// pandoPasswordBreached: passwords that became known elsewhere.
    pub breached: bool,
}

/// Lists of words and passwords, which lie in files of the node.
pub trait PasswordLists: Send + Sync {
    /// Whether a word, in lower case, is in the dictionary.
    ///
    /// # Errors
    /// There is no dictionary, or it cannot be read.
    fn has_word(&self, word: &str) -> io::Result<bool>;

    /// Whether the list of passwords that became known has this one, by the SHA-1 digest in
    /// upper-case hexadecimal.
    ///
    /// # Errors
    /// There is no list, or it cannot be read.
    fn has_digest(&self, digest: &str) -> io::Result<bool>;
}

/// No lists: a policy that asks for one lets no password pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLists;

impl PasswordLists for NoLists {
    fn has_word(&self, _word: &str) -> io::Result<bool> {
        Err(io::Error::other("passwords.dictionary names no file"))
    }

    fn has_digest(&self, _digest: &str) -> io::Result<bool> {
        Err(io::Error::other("passwords.breached names no file"))
    }
}

/// The reason why a password is too weak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weak(String);

impl fmt::Display for Weak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Quality {
    /// Sets an attribute of the policy. A value that is no number or boolean counts as not set.
    pub fn set(&mut self, attribute: &str, value: &str) {
        let number = || value.parse::<u64>().unwrap_or(0);
        let truth = || value.eq_ignore_ascii_case("TRUE");
        match attribute {
            "passwordMinDigits" => self.min_digits = number(),
            "passwordMinAlphas" => self.min_alphas = number(),
            "passwordMinUppers" => self.min_uppers = number(),
            "passwordMinLowers" => self.min_lowers = number(),
            "passwordMinSpecials" => self.min_specials = number(),
            "passwordMin8bit" => self.min_8bit = number(),
            "passwordMaxRepeats" => self.max_repeats = number(),
            "passwordMinCategories" => self.min_categories = number(),
            "pandoPasswordMinDifference" => self.min_difference = number(),
            "pandoPasswordDictionary" => self.lists.dictionary = truth(),
            "pandoPasswordBreached" => self.lists.breached = truth(),
            _ => {}
        }
    }

    /// Checks everything but the lists. `known` are the old password, if it is known, and values of
    /// the user's entry. Octets that are no text count as characters beyond ASCII.
    ///
    /// # Errors
    /// The rule that the password does not meet.
    pub fn check(&self, password: &[u8], known: &[&[u8]]) -> Result<(), Weak> {
        let text = String::from_utf8_lossy(password);
        let counts = Counts::of(&text);
        for (what, min, got) in [
            ("digits", self.min_digits, counts.digits),
            (
                "letters",
                self.min_alphas,
                counts.uppers + counts.lowers + counts.others,
            ),
            ("upper-case letters", self.min_uppers, counts.uppers),
            ("lower-case letters", self.min_lowers, counts.lowers),
            ("special characters", self.min_specials, counts.specials),
            ("characters beyond ASCII", self.min_8bit, counts.beyond),
            (
                "kinds of characters",
                self.min_categories,
                counts.categories(),
            ),
        ] {
            if got < min {
                let text = format!("expected a password with at least {min} {what}, got {got}");
                return Err(Weak(text));
            }
        }
        if self.max_repeats > 0 && counts.repeats > self.max_repeats {
            return Err(Weak(format!(
                "expected a password with the same character at most {} times in a row, got {}",
                self.max_repeats, counts.repeats
            )));
        }
        match self.min_difference {
            0 => Ok(()),
            min => differs(&text, known, min),
        }
    }
}

/// Numbers of characters of a password.
#[derive(Default)]
struct Counts {
    digits: u64,
    uppers: u64,
    lowers: u64,
    /// Letters without case.
    others: u64,
    specials: u64,
    /// Characters beyond ASCII, which may be letters as well.
    beyond: u64,
    /// The longest row of one character.
    repeats: u64,
}

impl Counts {
    fn of(text: &str) -> Counts {
        let mut counts = Counts::default();
        let (mut last, mut row) = (None, 0);
        for character in text.chars() {
            counts.digits += u64::from(character.is_ascii_digit());
            counts.uppers += u64::from(character.is_uppercase());
            counts.lowers += u64::from(character.is_lowercase());
            let has_case = character.is_uppercase() || character.is_lowercase();
            counts.others += u64::from(character.is_alphabetic() && !has_case);
            counts.specials +=
                u64::from(character.is_ascii() && !character.is_ascii_alphanumeric());
            counts.beyond += u64::from(!character.is_ascii());
            row = if last == Some(character) { row + 1 } else { 1 };
            last = Some(character);
            counts.repeats = counts.repeats.max(row);
        }
        counts
    }

    fn categories(&self) -> u64 {
        let all = [
            self.digits,
            self.uppers,
            self.lowers,
            self.specials,
            self.beyond,
        ];
        all.iter().filter(|it| **it > 0).count() as u64
    }
}

/// Refuses a password that is near to a known value, in any case, or contains it. The message does
/// not name the value: it may be of an attribute that the user may not read.
fn differs(password: &str, known: &[&[u8]], min: u64) -> Result<(), Weak> {
    let password = password.to_lowercase();
    let length = password.chars().count() as u64;
    for value in known.iter().take(COMPARED_VALUES_MAX) {
        let Some(value) = std::str::from_utf8(value)
            .ok()
            .filter(|it| it.len() <= COMPARED_MAX)
        else {
            continue;
        };
        let value = value.to_lowercase();
        let value_length = value.chars().count();
        if value_length >= CONTAINED_FROM && password.contains(&value) {
            let text = "expected a password without the old one, and without names of its user";
            return Err(Weak(text.to_owned()));
        }
        // The lengths alone differ by so much.
        if length.abs_diff(value_length as u64) < min {
            let distance = strsim::levenshtein(&password, &value) as u64;
            if distance < min {
                return Err(Weak(format!(
                    "expected a password that differs from the old one, and from names of its \
                     user, in at least {min} characters, got {distance}"
                )));
            }
        }
    }
    Ok(())
}

impl AskedLists {
    /// Whether no list is asked.
    pub fn is_none(self) -> bool {
        self == AskedLists::default()
    }

    /// Looks a password up in the lists: in the dictionary as it is, in lower case, and without
    /// what is no letter at its begin and end.
    ///
    /// # Errors
    /// A list cannot be read. Inside: the list that has the password.
    pub fn check(self, lists: &dyn PasswordLists, password: &[u8]) -> io::Result<Result<(), Weak>> {
        let weak = |text: &str| Ok(Err(Weak(text.to_owned())));
        if self.dictionary {
            let text = String::from_utf8_lossy(password).to_lowercase();
            let inner = text.trim_matches(|it: char| !it.is_alphabetic());
            let words: BTreeSet<&str> = BTreeSet::from([text.as_str(), inner]);
            for word in words.into_iter().filter(|it| !it.is_empty()) {
                if lists.has_word(word)? {
                    return weak("expected a password that is no word of the dictionary");
                }
            }
        }
        if self.breached && lists.has_digest(&crate::password::sha1_of(password))? {
            return weak("expected a password that is not known from breaches of other services");
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality(settings: &[(&str, &str)]) -> Quality {
        let mut quality = Quality::default();
        settings
            .iter()
            .for_each(|(name, value)| quality.set(name, value));
        quality
    }

    #[test]
    fn each_rule_says_what_it_expects() {
        for (name, value, good, bad, error) in [
            (
                "passwordMinDigits",
                "2",
                "a12",
                "a1",
                "at least 2 digits, got 1",
            ),
            (
                "passwordMinAlphas",
                "3",
                "aB字",
                "ab1",
                "at least 3 letters, got 2",
            ),
            (
                "passwordMinUppers",
                "1",
                "aÄ",
                "aä",
                "at least 1 upper-case letters, got 0",
            ),
            (
                "passwordMinLowers",
                "1",
                "Aß",
                "A1",
                "at least 1 lower-case letters, got 0",
            ),
            (
                "passwordMinSpecials",
                "2",
                "a-b c",
                "a-é",
                "at least 2 special characters, got 1",
            ),
            (
                "passwordMin8bit",
                "1",
                "é",
                "e",
                "at least 1 characters beyond ASCII, got 0",
            ),
            (
                "passwordMinCategories",
                "3",
                "aB1",
                "ab1",
                "at least 3 kinds of characters, got 2",
            ),
            (
                "passwordMaxRepeats",
                "2",
                "aabaa",
                "baaa",
                "at most 2 times in a row, got 3",
            ),
        ] {
            let quality = quality(&[(name, value)]);
            assert_eq!(quality.check(good.as_bytes(), &[]), Ok(()), "{name}");
            let weak = quality
                .check(bad.as_bytes(), &[])
                .expect_err(name)
                .to_string();
            assert!(weak.ends_with(error), "{weak}");
        }
        assert_eq!(quality(&[("passwordMinDigits", "x")]), Quality::default());
    }

    #[test]
    fn a_password_is_not_near_to_what_is_known() {
        let quality = quality(&[("pandoPasswordMinDifference", "3")]);
        let known: [&[u8]; 4] = [b"OldSecret1", b"ada", b"Lovelace", b"\xFF"];
        for (password, is_good) in [
            ("OldSecret1", false),
            ("oldsecret2", false),
            ("oldsecre", false),
            ("oldsecr", true),
            ("NewThing77", true),
            ("my-lovelace-7", false),
            ("ad", false),
            ("adaXYZ", true),
            ("", true),
        ] {
            let checked = quality.check(password.as_bytes(), &known);
            assert_eq!(checked.is_ok(), is_good, "{password}: {checked:?}");
        }
        let long = "x".repeat(100_000);
        assert!(quality.check(long.as_bytes(), &[long.as_bytes()]).is_ok());
    }

    struct Listed;

    impl PasswordLists for Listed {
        fn has_word(&self, word: &str) -> io::Result<bool> {
            Ok(word == "secret")
        }

        fn has_digest(&self, digest: &str) -> io::Result<bool> {
            Ok(digest == "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8")
        }
    }

    #[test]
    fn lists_are_asked_as_the_policy_wants() {
        let asked = |name: &str| quality(&[(name, "TRUE")]).lists;
        let (words, breached) = (
            asked("pandoPasswordDictionary"),
            asked("pandoPasswordBreached"),
        );
        let is_good = |asked: AskedLists, password: &str| {
            asked
                .check(&Listed, password.as_bytes())
                .expect("a list")
                .is_ok()
        };
        for word in ["secret", "SECRET", "12Secret!", "sEcret99"] {
            assert!(!is_good(words, word) && is_good(breached, word), "{word}");
        }
        assert!(is_good(words, "secrets") && is_good(words, "1234"));
        assert!(!is_good(breached, "password") && is_good(breached, "Password"));
        assert!(breached.check(&NoLists, b"x").is_err() && words.check(&NoLists, b"x").is_err());
        assert!(matches!(
            AskedLists::default().check(&NoLists, b"x"),
            Ok(Ok(()))
        ));
    }
}
