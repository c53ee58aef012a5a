//! Arguments of the subcommand `access`.

use super::Remote;
use clap::{ArgGroup, Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `pando access`
#[derive(Debug, Args)]
pub struct Access {
    /// Action on access rules
    #[command(subcommand)]
    pub action: AccessAction,
}

/// An action on access rules.
#[derive(Debug, Subcommand)]
pub enum AccessAction {
    /// Print the rules of a node or a server as one file
    Show(AccessShow),
    /// Replace all rules of a node or a server by those of a file, in one transaction
    Apply(AccessApply),
    /// Bring back the rules before the last apply or undo
    Undo(AccessNode),
    /// Let the rules of a file judge requests beside those in force, deciding nothing
    Shadow(AccessShadow),
    /// Show how often, and where, these rules decide differently from those in force
    Differences(AccessDifferences),
    /// Replace all rules by those that judge beside them, in one transaction
    Activate(AccessActivate),
    /// Read a file of rules and say what is wrong or suspicious in it, changing nothing
    Check(AccessCheck),
    /// Decide the questions of a file of tests by a file of rules
    Test(AccessTest),
    /// Say why a file of rules, a node or a server decides a question as it does
    Explain(AccessExplain),
    /// Show which rules and clauses depend on each entry, and how many steps a decision takes
    Cost(AccessCost),
    /// Carry access rules of slapd or of 389 Directory Server over
    Import(AccessImport),
}

/// The node or the server whose rules are meant.
#[derive(Debug, Args)]
pub struct AccessNode {
    /// The node's folder, unless --url is given
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
}

/// `pando access show`
#[derive(Debug, Args)]
pub struct AccessShow {
    /// The node or the server
    #[command(flatten)]
    pub node: AccessNode,
    /// The set to print; default and built-in need no folder
    #[arg(long, value_enum, default_value = "current")]
    pub set: RuleSource,
}

/// A set of access rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleSource {
    /// The rules that are applied
    Current,
    /// The rules that undo would bring back
    Former,
    /// The rules that judge beside the applied ones, by `pando access shadow`
    Candidate,
    /// The rules proposed for a new directory
    Default,
    /// The rules that decide while none are applied
    BuiltIn,
}

/// `pando access apply`
#[derive(Debug, Args)]
pub struct AccessApply {
    /// The node's folder, unless --url is given, then the file of rules (`-`: standard input)
    #[arg(value_names = ["DIR", "FILE"], num_args = 0..=2, value_hint = ValueHint::AnyPath)]
    pub what: Vec<PathBuf>,
    /// Apply the rules proposed for a new directory instead of a file
    #[arg(long, conflicts_with = "none")]
    pub default: bool,
    /// Remove all rules, so that the built-in ones decide again
    #[arg(long)]
    pub none: bool,
    /// Apply the rules also if they open secrets to anonymous clients, or remove rules within an
    /// area
    #[arg(long)]
    pub force: bool,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
}

/// `pando access shadow`
#[derive(Debug, Args)]
#[command(
    after_help = "Requests are judged behind their answers, so no answer changes. All nodes of a \
    cluster judge the requests of their own clients.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage."
)]
pub struct AccessShadow {
    /// The node's folder, unless --url is given, then the file of rules (`-`: standard input)
    #[arg(value_names = ["DIR", "FILE"], num_args = 0..=2, value_hint = ValueHint::AnyPath)]
    pub what: Vec<PathBuf>,
    /// Remove the rules that judge beside those in force
    #[arg(long)]
    pub off: bool,
    /// Judge for at most PERCENT of each serving thread's time; 100 judges every request
    #[arg(long, value_name = "PERCENT", default_value_t = 3,
        value_parser = clap::value_parser!(u8).range(1..=100))]
    pub share: u8,
    /// Take the rules also if they open secrets to anonymous clients
    #[arg(long)]
    pub force: bool,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
}

/// `pando access differences`
#[derive(Debug, Args)]
pub struct AccessDifferences {
    /// The node or the server
    #[command(flatten)]
    pub node: AccessNode,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `pando access activate`
#[derive(Debug, Args)]
pub struct AccessActivate {
    /// The node or the server
    #[command(flatten)]
    pub node: AccessNode,
    /// Activate the rules also if they open secrets to anonymous clients, or remove rules within
    /// an area
    #[arg(long)]
    pub force: bool,
}

/// `pando access check`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 nothing to say, 1 something is wrong or suspicious, 2 wrong usage."
)]
pub struct AccessCheck {
    /// The file of rules (`-`: standard input)
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Take the schema and the secrets of the node in DIR [default: the standard schema]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub schema: Option<PathBuf>,
}

/// `pando access test`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 every test passed, 1 a test failed or, with --strict, something \
    was reported, 2 wrong usage."
)]
pub struct AccessTest {
    /// The file of rules
    #[arg(value_hint = ValueHint::FilePath)]
    pub rules: PathBuf,
    /// The file of tests
    #[arg(value_hint = ValueHint::FilePath)]
    pub tests: PathBuf,
    /// Fail also if a rule is untested, can never decide, or opens secrets to anonymous clients
    #[arg(long)]
    pub strict: bool,
    /// Take the schema and the secrets of the node in DIR [default: the standard schema]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub schema: Option<PathBuf>,
}

/// `pando access explain`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: pando access explain rules 'anonymous, read, \"dc=example,dc=com\", \
    entry'\n\
    pando access explain --url ldap://HOST -D DN -y FILE '\"uid=ada,dc=com\", write, \
    \"uid=bob,dc=com\", mail'\n\
    A node or a server is asked with the rules in force, its groups and its entries; the question \
    needs a subject with the use \"explain\".\n\
    Exit status: 0 done, 1 failed, 2 wrong usage."
)]
pub struct AccessExplain {
    /// The file of rules or the folder of a node, unless --url is given, then the question: a line
    /// of a file of tests without the expected answer
    #[arg(value_names = ["RULES|DIR", "WHO, OPERATION, ENTRY, ATTRIBUTE"], num_args = 1..=2,
        required = true, value_hint = ValueHint::AnyPath)]
    pub what: Vec<String>,
    /// Take names, entries and members from this file of tests
    #[arg(long, value_name = "TESTS", value_hint = ValueHint::FilePath)]
    pub facts: Option<PathBuf>,
    /// Take the schema and the secrets of the node in DIR [default: the standard schema]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub schema: Option<PathBuf>,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
}

/// `pando access cost`
#[derive(Debug, Args)]
#[command(
    after_help = "A step is one look at a rule, a clause, a target, an assertion of a filter, or a \
    fact of an entry. Where no rule and no clause depends on each entry, a search decides once for \
    all entries directly below a name.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage."
)]
pub struct AccessCost {
    /// The file of rules (`-`: standard input) or the folder of a node, unless --url is given
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    pub what: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Take the schema and the secrets of the node in DIR [default: the standard schema]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub schema: Option<PathBuf>,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
}

/// `pando access import`
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("source").required(true)),
    after_help = "The report on standard error says for each clause whether it was carried, \
    approximated (it gives less here) or is impossible. The rules never give more than the other \
    server gave.\n\
    Exit status: 0 every clause was carried, 1 failed, 2 wrong usage, 3 a clause was approximated, \
    4 a clause is impossible."
)]
pub struct AccessImport {
    /// The access directives of this slapd.conf
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "source")]
    pub slapd: Option<PathBuf>,
    /// The olcAccess values in this LDIF, as `slapcat -n 0` writes it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "source")]
    pub olc: Option<PathBuf>,
    /// The aci values in this LDIF
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "source")]
    pub aci: Option<PathBuf>,
    /// The naming context of slapd's database, if the file names none; may be repeated
    #[arg(long, value_name = "DN", conflicts_with = "aci")]
    pub suffix: Vec<String>,
    /// Write the rules to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Take the schema and the secrets of the node in DIR [default: the standard schema]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub schema: Option<PathBuf>,
}
