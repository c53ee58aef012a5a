//! Results as Markdown, with the machine and the commands.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use load::bench::Report;

use crate::row::{Goal, Row};
use crate::subject::Subject;

/// Sums over the rounds of one row and one server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    operations: f64,
    seconds: f64,
    cpu_us: f64,
    failures: u64,
    p99_us: f64,
}

impl Sum {
    /// Adds a round.
    pub fn add(&mut self, report: &Report) {
        self.operations += report.operations as f64;
        self.seconds += report.elapsed_s;
        self.cpu_us += report.server.map_or(0.0, |server| server.cpu_us);
        self.failures += report.failures + report.lost;
        self.p99_us = self.p99_us.max(report.latency.p99_us);
    }

    /// Operations each second.
    pub fn rate(&self) -> f64 {
        self.operations / self.seconds
    }

    /// The worst p99 of a round, in microseconds.
    pub fn p99_us(&self) -> f64 {
        self.p99_us
    }

    /// The server's CPU for each operation, in microseconds.
    pub fn cpu(&self) -> f64 {
        self.cpu_us / self.operations
    }
}

/// Results of one row, by server.
pub type Results = [Option<Sum>; 3];

/// Where a server stands in [`Results`].
pub fn position(subject: Subject) -> usize {
    match subject {
        Subject::Slapd => 0,
        Subject::Pando => 1,
        Subject::Null => 2,
    }
}

/// The head of the table of rows.
pub const HEAD: &str = "\
| work | connections x in flight | slapd ops/s | slapd us | Pando ops/s | Pando us | null us \
| slapd / null | Pando / null | CPU slapd / Pando | rate Pando / slapd | must reach | reached |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// One line of the table.
pub fn line(row: &Row, results: &Results) -> String {
    let [slapd, pando, null] = results;
    let number = |value: Option<f64>, digits: usize| match value {
        Some(value) if value.is_finite() => format!("{value:.digits$}"),
        _ => "-".to_owned(),
    };
    let ratio = |one: Option<f64>, two: Option<f64>| one.zip(two).map(|(one, two)| one / two);
    let rate = |sum: &Option<Sum>| sum.map(|sum| sum.rate());
    let cpu = |sum: &Option<Sum>| sum.map(|sum| sum.cpu());
    let cpu_ratio = ratio(cpu(slapd), cpu(pando));
    let rate_ratio = ratio(rate(pando), rate(slapd));
    let at_least = |value: Option<f64>, goal: f64| value.is_some_and(|value| value >= goal);
    let (goal, reached) = match row.goal {
        Goal::Cpu(cpu) => (format!("CPU 1/{cpu}"), at_least(cpu_ratio, cpu)),
        Goal::Rate(rate) => (format!("rate {rate} x"), at_least(rate_ratio, rate)),
        Goal::Both { rate, cpu } => (
            format!("rate {rate} x, CPU 1/{cpu}"),
            at_least(rate_ratio, rate) && at_least(cpu_ratio, cpu),
        ),
    };
    let failures: u64 = results.iter().flatten().map(|sum| sum.failures).sum();
    let reached = match (failures, pando) {
        (0, None) => "-".to_owned(),
        (0, Some(_)) => if reached { "yes" } else { "no" }.to_owned(),
        _ => format!("{failures} wrong answers"),
    };
    format!(
        "| {} | {} x {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {goal} | {reached} |",
        row.name,
        row.connections,
        row.depth,
        number(rate(slapd), 0),
        number(cpu(slapd), 2),
        number(rate(pando), 0),
        number(cpu(pando), 2),
        number(cpu(null), 2),
        number(ratio(cpu(slapd), cpu(null)), 1),
        number(ratio(cpu(pando), cpu(null)), 1),
        number(cpu_ratio, 1),
        number(rate_ratio, 1),
    )
}

/// Whole-database figures: what, slapd, Pando, what must be reached.
pub fn plain_line(what: &str, slapd: Option<f64>, pando: Option<f64>, goal: &str) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    let ratio = slapd.zip(pando).map(|(slapd, pando)| slapd / pando);
    let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    format!(
        "| {what} | {} | {} | {ratio} | {goal} |",
        number(slapd),
        number(pando)
    )
}

/// Which machine, programs and revision, and how `program` was called.
pub fn facts(program: &str, pando: Option<&Path>) -> io::Result<String> {
    let mut out = String::new();
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or_default();
    let cores = cpu
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let memory = fs::read_to_string("/proc/meminfo")?;
    let memory = memory.lines().next().unwrap_or_default();
    let uname = rustix::system::uname();
    let mut fact = |name: &str, text: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "- {name}: {}", text.trim());
    };
    fact(
        "processor",
        &format!("{cores} x {}", model.trim_start_matches([' ', '\t', ':'])),
    );
    fact("memory", memory.trim_start_matches("MemTotal:"));
    fact("kernel", &uname.release().to_string_lossy());
    fact(
        "slapd",
        &first_line(Command::new("/usr/sbin/slapd").arg("-VV")),
    );
    if let Some(pando) = pando {
        fact("pando", &first_line(Command::new(pando).arg("--version")));
    }
    fact(
        "revision",
        &first_line(Command::new("git").args(["rev-parse", "--short=12", "HEAD"])),
    );
    let words: Vec<String> = std::env::args().skip(1).collect();
    fact("command", &format!("{program} {}", words.join(" ")));
    Ok(out)
}

/// The first line a command prints, on whichever output; empty when it cannot be run.
fn first_line(command: &mut Command) -> String {
    let Ok(output) = command.output() else {
        return String::new();
    };
    let text = if output.stdout.is_empty() {
        output.stderr
    } else {
        output.stdout
    };
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// Today as `YYYY-MM-DD`, by the system's clock and zone.
pub fn today() -> String {
    first_line(Command::new("date").arg("+%F"))
}
