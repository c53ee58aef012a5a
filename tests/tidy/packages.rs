//! Rules about packages: edges between our crates, and dependencies on others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Findings;
use crate::tree;

/// Our crates, each with those of our crates that it may use. A new edge needs a line here and an
/// ADR.
const EDGES: &[(&str, &[&str])] = &[
    ("pando-protocol", &[]),
    ("pando-schema", &["pando-protocol"]),
    ("pando-policy", &["pando-protocol", "pando-schema"]),
    // docs/adr/0079
    ("pando-sasl", &["pando-protocol", "pando-policy"]),
    ("pando-store", &["pando-protocol", "pando-schema"]),
    // docs/adr/0088: lines of the audit, which execution makes and nothing below it knows.
    ("pando-audit", &["pando-protocol"]),
    (
        "pando-state",
        &[
            "pando-audit",
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            "pando-store",
        ],
    ),
    // docs/adr/0092
    (
        "pando-answers",
        &[
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            // docs/adr/0098: who a bind names.
            "pando-sasl",
            "pando-store",
            "pando-state",
        ],
    ),
    // docs/adr/0093
    (
        "pando-shadow",
        &[
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            "pando-store",
            "pando-state",
        ],
    ),
    (
        "pando-spool",
        &[
            "pando-protocol",
            "pando-schema",
            // docs/adr/0092: limits of open transactions, and their subjects.
            "pando-policy",
            "pando-store",
            "pando-state",
        ],
    ),
    (
        "pando-replica",
        &[
            "pando-audit",
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            "pando-store",
            "pando-state",
        ],
    ),
    (
        "pando-transfer",
        &[
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            "pando-store",
            "pando-state",
            "pando-replica",
        ],
    ),
    (
        "pando-directory",
        &[
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            "pando-sasl",
            "pando-store",
            "pando-state",
            "pando-answers",
            "pando-shadow",
            "pando-spool",
            "pando-replica",
            // Its tests fill directories by imports and speak to them without connections.
            "pando-transfer",
            "pando-local",
        ],
    ),
    // docs/adr/0060: the log that it keeps is the directory's to follow, by the contract of
    // `replica`. Its files are for their owner alone, as `store` makes them.
    ("pando-cluster", &["pando-store", "pando-replica"]),
    ("pando-local", &["pando-protocol", "pando-directory"]),
    ("pando-load", &["pando-protocol"]),
    (
        "pando-server",
        &[
            "pando-protocol",
            "pando-policy",
            "pando-sasl",
            "pando-directory",
        ],
    ),
    (
        "pando",
        &[
            "pando-audit",
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            // docs/adr/0095: claims of a token, as the server sees them.
            "pando-sasl",
            "pando-store",
            "pando-replica",
            "pando-transfer",
            "pando-directory",
            "pando-cluster",
            "pando-local",
            "pando-load",
            "pando-server",
            // docs/adr/0010: our tests and `pando conformance` share one set of clauses.
            "pando-conformance",
        ],
    ),
    ("pando-conformance", &["pando-protocol"]),
    ("pando-tests", &["pando-protocol", "pando-conformance"]),
    // Its instruction counts cover the directory alone, without sockets, under rules imported from
    // slapd too; its etcd has the flags of the cluster's; the router of the tests joins its sites.
    (
        "pando-benches",
        &[
            "pando-protocol",
            "pando-schema",
            "pando-policy",
            "pando-replica",
            "pando-directory",
            "pando-cluster",
            "pando-local",
            "pando-load",
            "pando-tests",
        ],
    ),
];

/// Licences compatible with Apache-2.0 in one binary. An SPDX expression passes when one of its
/// alternatives consists of these only.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "OLDAP-2.8",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages with two versions in the lock file, each with the reason.
const DUPLICATES: &[(&str, &str)] = &[
    (
        "base64",
        "0.22 below tonic, which etcd's client speaks through, and in the cluster's tokens",
    ),
    ("hashbrown", "0.15 below petgraph, of prost's build"),
    ("itertools", "0.14 in prost's build, build time only"),
    (
        "getrandom",
        "0.2 below ring, which is in the lock file for platforms we do not build",
    ),
    (
        "nom",
        "7 below x509-parser, which rcgen reads certificates with; tests only",
    ),
    (
        "rand",
        "0.8 below phf_generator, a build-time dependency of rphonetic",
    ),
    ("rand_core", "0.6 below the same rand"),
    (
        "syn",
        "2 below two derive macros that have not moved on; build time only",
    ),
    ("untrusted", "0.7 below aws-lc-rs, 0.9 below rustls-webpki"),
    ("windows-sys", "0.52 below ring; not built on Linux"),
];

const PACKAGES_MAX: usize = 400;

#[test]
fn crates_use_only_crates_above_them() {
    let metadata = metadata();
    let ours = workspace_members(&metadata);
    let mut findings = Findings::of("edges");
    for package in packages(&metadata).filter(|package| ours.contains(name(package))) {
        let Some((_, allowed)) = EDGES.iter().find(|(of, _)| *of == name(package)) else {
            findings.add(name(package), "not in the list of edges");
            continue;
        };
        for dependency in dependencies(package).filter(|it| ours.contains(name(it))) {
            // Tests of a crate may use more crates, the crate itself may not.
            if dependency["kind"].is_null() && !allowed.contains(&name(dependency)) {
                findings.add(name(package), format!("may not use {}", name(dependency)));
            }
        }
    }
    findings.report();
}

#[test]
fn protocol_depends_on_nothing() {
    let metadata = metadata();
    let protocol = packages(&metadata)
        .find(|package| name(package) == "pando-protocol")
        .expect("the workspace has the crate protocol");
    let used: Vec<&str> = dependencies(protocol)
        .filter(|it| it["kind"].is_null())
        .map(name)
        .collect();
    assert!(
        used.is_empty(),
        "protocol must stand alone, but uses {used:?}"
    );
}

/// docs/adr/0005: operations get narrowed entries, never the store.
#[test]
fn operations_never_hold_the_store() {
    let ways_in = [
        "Store",
        "Reader",
        "Snapshot",
        "Batch",
        "EntryView",
        "BulkLoader",
    ];
    absent("access", "crates/directory/src/operation/", &ways_in);
}

/// docs/adr/0004: execution is a function of state and record; the progress of index builds is part
/// of neither (docs/adr/0032).
#[test]
fn execution_reads_nothing_else() {
    let sources = [
        "SystemTime",
        "Instant",
        "getrandom",
        "env",
        "thread",
        "process",
    ];
    absent("execution", "crates/state/src/", &sources);
    let indexes = ["is_ready", "index_states", "indexing", "limits"];
    absent("execution", "crates/state/src/execute/", &indexes);
}

/// Maximum lines of product code in one crate: lines that are neither blank, comments nor tests.
const PRODUCT_LINES_MAX: usize = 15_000;

#[test]
fn crates_hold_one_idea() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for file in tree::files(&[".rs"]) {
        let mut parts = file.path.split('/');
        let (Some("crates"), Some(name), Some("src")) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if !parts.any(|it| it.trim_end_matches(".rs").ends_with("tests")) {
            *lines.entry(name.to_owned()).or_default() += product_lines(&file.text);
        }
    }
    let mut findings = Findings::of("crate-size");
    for (name, lines) in lines
        .iter()
        .filter(|(_, lines)| **lines > PRODUCT_LINES_MAX)
    {
        findings.add(
            &format!("crates/{name}"),
            format!("{lines} lines of product code"),
        );
    }
    findings.report();
}

fn product_lines(text: &str) -> usize {
    let product = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let lines = product.lines().map(str::trim);
    lines
        .filter(|it| !it.is_empty() && !it.starts_with("//"))
        .count()
}

/// A dependency that no source names is compiled for nothing.
#[test]
fn direct_dependencies_are_used() {
    let metadata = metadata();
    let ours = workspace_members(&metadata);
    let files = tree::files(&[".rs"]);
    let all: Vec<&Value> = packages(&metadata).collect();
    let mut findings = Findings::of("unused-dependencies");
    for package in all.iter().filter(|package| ours.contains(name(package))) {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest
            .parent()
            .and_then(|it| it.strip_prefix(tree::root()).ok());
        let folder = format!("{}/", folder.expect("a folder of the repository").display());
        let sources = files.iter().filter(|it| it.path.starts_with(&folder));
        let words: BTreeSet<&str> = sources
            .flat_map(|it| it.text.split(|c: char| !c.is_alphanumeric() && c != '_'))
            .collect();
        for dependency in dependencies(package) {
            // A library may have another name than its package.
            let targets = all.iter().filter(|it| name(it) == name(dependency));
            let targets = targets.filter_map(|it| it["targets"].as_array()).flatten();
            let library = targets.filter(|it| it["kind"][0] != "custom-build");
            let library = library.filter_map(|it| it["name"].as_str()).next();
            let renamed = dependency["rename"].as_str();
            let spelled = renamed.or(library).unwrap_or(name(dependency));
            let spelled = spelled.replace('-', "_");
            if !words.contains(spelled.as_str()) {
                findings.add(name(package), format!("no source names {spelled}"));
            }
        }
    }
    findings.report();
}

/// Fails if one of the words stands in the code below a folder.
fn absent(rule: &'static str, folder: &str, words: &[&str]) {
    let mut findings = Findings::of(rule);
    let files = tree::files(&[".rs"]);
    let mut below = files
        .iter()
        .filter(|it| it.path.starts_with(folder))
        .peekable();
    if below.peek().is_none() {
        findings.add(folder, "no file is there: the rule looks at nothing");
    }
    for file in below {
        for (number, line) in file.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let mut named = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(word) = named.find(|word| words.contains(word)) {
                findings.add(
                    &format!("{}:{}", file.path, number + 1),
                    format!("names {word}"),
                );
            }
        }
    }
    findings.report();
}

#[test]
fn every_direct_dependency_has_a_row() {
    let metadata = metadata();
    let ours = workspace_members(&metadata);
    let page = tree::read("docs/reference/dependencies.md");
    let mut rows = BTreeSet::new();
    let mut findings = Findings::of("dependency-rows");
    let listed = page.lines();
    for row in listed.filter_map(|line| line.strip_prefix("| `")?.split('`').next()) {
        if !rows.insert(row) {
            findings.add(row, "listed twice in docs/reference/dependencies.md");
        }
    }
    let direct: BTreeSet<&str> = packages(&metadata)
        .filter(|package| ours.contains(name(package)))
        .flat_map(dependencies)
        .map(name)
        .filter(|name| !ours.contains(name))
        .collect();
    for missing in direct.difference(&rows) {
        findings.add(missing, "no row in docs/reference/dependencies.md");
    }
    for stale in rows.difference(&direct) {
        findings.add(
            stale,
            "row in docs/reference/dependencies.md, but nobody depends on it",
        );
    }
    findings.report();
}

#[test]
fn foreign_packages_are_free_and_from_the_registry() {
    let metadata = metadata();
    let ours = workspace_members(&metadata);
    let mut findings = Findings::of("licences");
    for package in packages(&metadata).filter(|package| !ours.contains(name(package))) {
        let licence = package["license"].as_str().unwrap_or("none");
        if !licence_is_allowed(licence) {
            findings.add(name(package), format!("licence {licence}"));
        }
        let source = package["source"].as_str().unwrap_or("a path");
        if source != "registry+https://github.com/rust-lang/crates.io-index" {
            findings.add(name(package), format!("comes from {source}"));
        }
    }
    findings.report();
}

#[test]
fn packages_are_few_and_single() {
    let lock = tree::read("Cargo.lock");
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            *versions.entry(name.trim_matches('"')).or_default() += 1;
        }
    }
    let total: usize = versions.values().sum();
    assert!(
        total <= PACKAGES_MAX,
        "{total} packages in Cargo.lock, limit {PACKAGES_MAX}"
    );
    let mut findings = Findings::of("duplicates");
    for (name, _) in versions.iter().filter(|(_, count)| **count > 1) {
        if !DUPLICATES.iter().any(|(known, _)| known == name) {
            findings.add(name, "in Cargo.lock in more than one version");
        }
    }
    for (known, reason) in DUPLICATES {
        if versions.get(known).is_none_or(|count| *count < 2) || reason.is_empty() {
            findings.add(
                known,
                "listed as a duplicate, but it is none or lacks a reason",
            );
        }
    }
    findings.report();
}

/// Returns whether one alternative of the expression consists of allowed licences only.
fn licence_is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain.split(" OR ").any(|alternative| {
        alternative
            .split(" AND ")
            .all(|licence| LICENCES.contains(&licence.trim()))
    })
}

fn metadata() -> Value {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(tree::root())
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .output()
        .expect("cargo runs these tests, so it can be started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

/// Returns the names of our own packages: those with a path.
fn workspace_members(metadata: &Value) -> BTreeSet<&str> {
    packages(metadata)
        .filter(|package| package["source"].is_null())
        .map(name)
        .collect()
}
