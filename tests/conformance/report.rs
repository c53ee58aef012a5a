//! Verdicts of a run, as text for people and as JSON for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{Clause, Verdict};

/// The verdicts of a run.
#[derive(Debug)]
pub struct Report {
    server: String,
    is_openldap: bool,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    id: String,
    standard: &'static str,
    section: &'static str,
    text: String,
    /// The reason why slapd is known not to pass, where the server is slapd.
    known: Option<&'static str>,
    verdict: Verdict,
}

impl Report {
    /// Returns an empty report about a server.
    pub fn new(server: &str, is_openldap: bool) -> Self {
        Report {
            server: server.trim().to_owned(),
            is_openldap,
            lines: Vec::new(),
        }
    }

    /// Adds a verdict.
    pub fn add(&mut self, clause: &Clause, verdict: Verdict) {
        self.lines.push(Line {
            id: clause.id.clone(),
            standard: clause.standard,
            section: clause.section,
            text: clause.text.clone(),
            known: clause.slapd.filter(|_| self.is_openldap),
            verdict,
        });
    }

    /// Number of failed clauses.
    pub fn failed(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Failed { .. }))
    }

    /// Number of passed clauses.
    pub fn passed(&self) -> usize {
        self.count(|verdict| *verdict == Verdict::Passed)
    }

    fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        self.lines.iter().filter(|it| which(&it.verdict)).count()
    }

    /// Returns a table by standard, then each failure: clause, expected and actual behaviour. With
    /// `everything`, also the clauses that did not apply.
    pub fn text(&self, everything: bool) -> String {
        let mut out = String::new();
        let mut line = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        line(format!(
            "{:<44} {:>7} {:>7} {:>12}",
            "standard", "passed", "failed", "not offered"
        ));
        for (standard, title) in STANDARDS {
            let of: Vec<&Line> = self.of(standard).collect();
            if !of.is_empty() {
                line(row(&format!("{} {title}", spoken(standard)), &of));
            }
        }
        line(row("all", &self.lines.iter().collect::<Vec<_>>()));
        for it in &self.lines {
            let failed = failure(it);
            if !failed.is_empty() {
                line(failed);
            }
        }
        if everything {
            for it in &self.lines {
                if let Verdict::NotOffered(what) = &it.verdict {
                    line(format!("not offered: {}: {what}", it.id));
                }
            }
        }
        out.truncate(out.trim_end().len());
        out
    }

    fn of<'a>(&'a self, standard: &'a str) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().filter(move |it| it.standard == standard)
    }

    /// Returns the verdicts as JSON.
    pub fn json(&self) -> String {
        let clauses: Vec<Value> = self.lines.iter().map(as_json).collect();
        let all = json!({
            "server": self.server,
            "passed": self.passed(),
            "failed": self.failed(),
            "notOffered": self.count(|it| matches!(it, Verdict::NotOffered(_))),
            "clauses": clauses,
        });
        format!("{all:#}")
    }
}

fn row(name: &str, lines: &[&Line]) -> String {
    let (mut passed, mut failed, mut missing) = (0, 0, 0);
    for line in lines {
        match line.verdict {
            Verdict::Passed => passed += 1,
            Verdict::Failed { .. } => failed += 1,
            Verdict::NotOffered(_) => missing += 1,
        }
    }
    format!("{name:<44} {passed:>7} {failed:>7} {missing:>12}")
}

fn failure(line: &Line) -> String {
    let Verdict::Failed { expected, came } = &line.verdict else {
        return String::new();
    };
    let mut out = format!(
        "\nfailed: {}\n  {}\n  expected {expected}\n  came     {came}",
        line.id, line.text
    );
    if let Some(reason) = line.known {
        let _ = write!(out, "\n  known of slapd: {reason}");
    }
    out
}

fn as_json(line: &Line) -> Value {
    let mut it = json!({
        "clause": line.id,
        "standard": line.standard,
        "section": line.section,
        "text": line.text,
    });
    let mut put = |name: &str, value: &str| it[name] = json!(value);
    match &line.verdict {
        Verdict::Passed => put("verdict", "passed"),
        Verdict::NotOffered(what) => {
            put("verdict", "notOffered");
            put("missing", what);
        }
        Verdict::Failed { expected, came } => {
            put("verdict", "failed");
            put("expected", expected);
            put("came", came);
            if let Some(reason) = line.known {
                put("knownOfSlapd", reason);
            }
        }
    }
    it
}

/// Returns the name of a standard for people: `RFC 4511` for `rfc4511`.
fn spoken(standard: &str) -> String {
    match standard.strip_prefix("rfc") {
        Some(number) => format!("RFC {number}"),
        None => standard.to_owned(),
    }
}

/// Names of the standards with clauses, in the order of the report.
pub(crate) const STANDARDS: &[(&str, &str)] = &[
    ("rfc4511", "protocol"),
    ("rfc4512", "information models"),
    ("rfc4513", "authentication"),
    ("rfc4514", "distinguished names"),
    ("rfc4515", "search filters"),
    ("rfc4516", "URLs"),
    ("rfc4517", "syntaxes and matching rules"),
    ("rfc4518", "string preparation"),
    ("rfc4519", "schema for user applications"),
    ("rfc4522", "binary option"),
    ("rfc4523", "certificate schema and matching"),
    ("rfc4524", "COSINE schema"),
    ("rfc2798", "inetOrgPerson"),
    ("rfc4525", "modify-increment"),
    ("rfc4526", "absolute true and false"),
    ("rfc4527", "read entry controls"),
    ("rfc4528", "assertion control"),
    ("rfc4529", "attributes by object class"),
    ("rfc4530", "entryUUID"),
    ("rfc4532", "who am I?"),
    ("rfc4533", "content synchronization"),
    ("rfc2589", "dynamic entries"),
    ("rfc2696", "simple paged results"),
    ("rfc2891", "server side sorting"),
    ("rfc3062", "password modify"),
    ("rfc3296", "named referrals"),
    ("rfc3671", "collective attributes"),
    ("rfc3672", "subentries"),
    ("rfc3673", "all operational attributes"),
    ("rfc3829", "authorization identity"),
    ("rfc3866", "language tags"),
    ("rfc3876", "matched values"),
    ("rfc3909", "cancel"),
    ("rfc4370", "proxied authorization"),
    ("rfc4373", "bulk update"),
    ("rfc5020", "entryDN"),
    ("rfc5805", "transactions"),
    ("rfc6171", "don't use copy"),
    ("draft-vlv", "virtual list view"),
    ("draft-psearch", "persistent search"),
    ("draft-deref", "dereference"),
    ("draft-noop", "no-op"),
    ("draft-relax", "relax rules"),
    ("draft-treedelete", "tree delete"),
    ("draft-behera", "password policies"),
    ("draft-vchu", "expired and expiring passwords"),
    ("draft-session", "session tracking"),
    ("ms-permissive", "permissive modify"),
    ("ms-adts", "bit and in-chain rules"),
    ("openldap-rules", "rules for names"),
    ("opendj-rules", "rules for times"),
    ("opendj-etag", "etag"),
    ("sun-usability", "account usability"),
    ("sun-rights", "get effective rights"),
    ("ping-count", "matching entry count"),
    ("ping-unindexed", "unindexed searches"),
    ("ping-assured", "assured replication"),
    ("pando-position", "positions"),
    ("pando-queue", "queue length"),
    ("pando-explain", "explain"),
];
