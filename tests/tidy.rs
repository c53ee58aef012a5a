//! The house rules of STYLE.md that a machine can check, as tests.
//!
//! A file that must break a rule gets a line in `EXCEPTIONS` with the reason, so that every
//! exception is visible in review.

#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/modules.rs"]
mod modules;
#[path = "tidy/packages.rs"]
mod packages;
#[path = "tidy/sources.rs"]
mod sources;
#[path = "tidy/tree.rs"]
mod tree;

/// Exceptions: rule, path below the repository or `path:function`, and reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "banned-call",
    "tests/tidy/sources.rs",
    "the list of banned calls has to spell them",
)];

/// Collects violations, so that one run reports all.
struct Findings {
    rule: &'static str,
    lines: Vec<String>,
}

impl Findings {
    fn of(rule: &'static str) -> Self {
        Findings {
            rule,
            lines: Vec::new(),
        }
    }

    /// Notes a violation at `place` unless it has an exception.
    fn add(&mut self, place: &str, what: impl AsRef<str>) {
        let excused = EXCEPTIONS.iter().any(|(rule, at, _)| {
            *rule == self.rule && (*at == place || place.starts_with(&format!("{at}:")))
        });
        if !excused {
            self.lines.push(format!("{place}: {}", what.as_ref()));
        }
    }

    fn report(self) {
        assert!(
            self.lines.is_empty(),
            "{} finding(s) of rule {}:\n  {}",
            self.lines.len(),
            self.rule,
            self.lines.join("\n  ")
        );
    }
}

#[test]
fn exceptions_name_files_that_exist() {
    let mut findings = Findings::of("exceptions");
    for (rule, place, reason) in EXCEPTIONS {
        let path = place.split(':').next().unwrap_or(place);
        if !tree::root().join(path).exists() {
            findings.add(path, format!("exception to {rule} for a file that is gone"));
        }
        if reason.is_empty() {
            findings.add(path, format!("exception to {rule} without a reason"));
        }
    }
    findings.report();
}
