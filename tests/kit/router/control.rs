//! The control file: what packets meet from one site to another.
//!
//! One direction a line: the two sites, or `*` for any, then what differs from a perfect link. The
//! last line that fits a direction counts. Empty lines and those that begin with `#` are skipped.
//!
//! ```text
//! a b delay_ms=40 loss=0.01 bytes_per_s=1000000
//! b a cut
//! * c delay_ms=150
//! ```

use std::fmt;
use std::time::Duration;

/// What packets meet in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Link {
    /// Time between sending and arrival.
    pub delay: Duration,
    /// Share of packets that are lost, from 0 to 1.
    pub loss: f64,
    /// Bytes that pass in a second; `None` for any number.
    pub bytes_per_s: Option<u64>,
    /// Whether nothing passes, what is on its way included.
    pub is_cut: bool,
}

impl Link {
    /// A link with this delay and no other fault.
    pub fn delayed(delay: Duration) -> Link {
        Link {
            delay,
            ..Link::default()
        }
    }

    /// A link that nothing passes.
    pub fn cut() -> Link {
        Link {
            is_cut: true,
            ..Link::default()
        }
    }
}

/// All lines of a control file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq)]
struct Rule {
    from: String,
    to: String,
    link: Link,
}

impl Rules {
    /// Parses a control file. The error names the line and what was expected.
    pub fn parse(text: &str) -> Result<Rules, String> {
        let mut rules = Rules::default();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let rule =
                Rule::parse(line).map_err(|error| format!("line {}: {error}", number + 1))?;
            rules.0.push(rule);
        }
        Ok(rules)
    }

    /// What packets between two sites meet.
    pub fn link(&self, from: &str, to: &str) -> Link {
        let fits = |rule: &&Rule| [(&rule.from, from), (&rule.to, to)].iter().all(fits_name);
        let rule = self.0.iter().rfind(fits);
        rule.map(|it| it.link).unwrap_or_default()
    }

    /// Adds a line, in place of those for exactly this direction.
    pub fn set(&mut self, from: String, to: String, link: Link) {
        self.0.retain(|it| it.from != from || it.to != to);
        self.0.push(Rule { from, to, link });
    }
}

fn fits_name((pattern, name): &(&String, &str)) -> bool {
    *pattern == "*" || *pattern == name
}

impl Rule {
    fn parse(line: &str) -> Result<Rule, String> {
        let mut words = line.split_whitespace();
        let (Some(from), Some(to)) = (words.next(), words.next()) else {
            return Err(format!("expected two sites, got {line:?}"));
        };
        let mut link = Link::default();
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let wrong = || format!("expected a number behind {name}=, got {value:?}");
            match name {
                "cut" if value.is_empty() => link.is_cut = true,
                "delay_ms" => {
                    link.delay = Duration::from_millis(value.parse().map_err(|_| wrong())?);
                }
                "loss" => link.loss = value.parse().map_err(|_| wrong())?,
                "bytes_per_s" => link.bytes_per_s = Some(value.parse().map_err(|_| wrong())?),
                _ => {
                    return Err(format!(
                        "expected delay_ms, loss, bytes_per_s or cut, got {word}"
                    ));
                }
            }
        }
        Ok(Rule {
            from: from.to_owned(),
            to: to.to_owned(),
            link,
        })
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Rule { from, to, link } in &self.0 {
            write!(f, "{from} {to}")?;
            if !link.delay.is_zero() {
                write!(f, " delay_ms={}", link.delay.as_millis())?;
            }
            if link.loss > 0.0 {
                write!(f, " loss={}", link.loss)?;
            }
            if let Some(rate) = link.bytes_per_s {
                write!(f, " bytes_per_s={rate}")?;
            }
            if link.is_cut {
                write!(f, " cut")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_fits_counts() {
        let text = "# all\n* * delay_ms=10\na b delay_ms=40 loss=0.01 bytes_per_s=7\n\nb * cut\n";
        let rules = Rules::parse(text).unwrap();
        let slow = Link {
            delay: Duration::from_millis(40),
            loss: 0.01,
            bytes_per_s: Some(7),
            is_cut: false,
        };
        assert_eq!(rules.link("a", "b"), slow);
        assert_eq!(rules.link("b", "a"), Link::cut());
        let elsewhere = Link::delayed(Duration::from_millis(10));
        assert_eq!(rules.link("a", "c"), elsewhere);
        assert_eq!(Rules::parse(&rules.to_string()).unwrap(), rules);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let of = |text: &str| Rules::parse(text).unwrap_err();
        assert_eq!(of("\na"), "line 2: expected two sites, got \"a\"");
        assert_eq!(
            of("a b loss=x"),
            "line 1: expected a number behind loss=, got \"x\""
        );
        assert_eq!(
            of("a b down"),
            "line 1: expected delay_ms, loss, bytes_per_s or cut, got down"
        );
    }
}
