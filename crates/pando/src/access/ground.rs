//! What rules are understood with: a schema and its secrets. Files of rules are read and checked
//! with it.

use crate::channel::Channel;
use crate::cli::AccessCheck;
use crate::report::{Problem, note, say};
use crate::schema::stored::published;
use policy::Secrets;
use policy::access::analysis::Finding;
use policy::access::compile::RuleSet;
use policy::access::error::Position;
use policy::access::parse::{RuleText, parse};
use protocol::counted;
use schema::{Schema, TypeId};
use std::io::Read;
use std::path::Path;

/// A schema, and which of its attribute types are secret.
#[derive(Debug)]
pub struct Ground {
    /// The schema.
    pub schema: Schema,
    /// Its secret attribute types.
    pub secrets: Secrets,
}

impl Ground {
    /// The schema and the secrets of a node, or the standard ones without a folder.
    pub fn of_folder(dir: Option<&Path>) -> Result<Ground, Problem> {
        match dir {
            Some(dir) => Ground::of(&mut Channel::open(dir)?),
            None => Ok(Ground::with(Schema::standard(), &[])),
        }
    }

    /// The schema and the secrets of a node.
    pub fn of(channel: &mut Channel) -> Result<Ground, Problem> {
        let schema = published(channel)?;
        let named = channel.values("cn=config", "pandoSecretAttribute")?;
        let named = named.iter().filter_map(|it| schema.attribute_type(it));
        let named: Vec<TypeId> = named.collect();
        Ok(Ground::with(schema, &named))
    }

    fn with(schema: Schema, named: &[TypeId]) -> Ground {
        let secrets = Secrets::of(&schema, named);
        Ground { schema, secrets }
    }
}

/// A file of rules that has been read.
#[derive(Debug)]
pub struct RuleFile {
    /// Name of the file, for messages.
    pub name: String,
    /// The rules with their places.
    pub text: RuleText,
}

impl RuleFile {
    /// Reads a file; `-` is standard input.
    pub fn read(path: &Path) -> Result<RuleFile, Problem> {
        let (name, text) = match path == Path::new("-") {
            true => {
                let mut text = String::new();
                let read = std::io::stdin().lock().read_to_string(&mut text);
                read.map_err(|error| Problem::file(path, error))?;
                ("standard input".to_owned(), text)
            }
            false => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| Problem::file(path, error))?;
                (path.display().to_string(), text)
            }
        };
        RuleFile::of_text(&name, &text)
    }

    /// Reads a text under a name for messages.
    pub fn of_text(name: &str, text: &str) -> Result<RuleFile, Problem> {
        let text = parse(text).map_err(|error| Problem::failed(error.in_file(name)))?;
        Ok(RuleFile {
            name: name.to_owned(),
            text,
        })
    }

    /// Compiles the rules; every rule that means nothing under the schema is reported.
    pub fn compile(&self, ground: &Ground) -> Result<RuleSet, Problem> {
        let Ground { schema, secrets } = ground;
        let rules = &self.text.rules;
        let of_set = match RuleSet::compile(schema, secrets, rules) {
            Ok(set) => return Ok(set),
            Err(error) => error,
        };
        let mut wrong = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            let alone = RuleSet::compile(schema, secrets, std::slice::from_ref(rule));
            if let Err(mut error) = alone {
                error.rule = number;
                wrong.push(error);
            }
        }
        if wrong.is_empty() {
            // Each rule by itself is right, but not its place among the others.
            wrong.push(of_set);
        }
        for error in wrong {
            let error = error.in_text(&self.text).in_file(&self.name);
            note(format_args!("pando: {error}"));
        }
        Err(Problem::Reported)
    }

    /// A finding as a line, with its place in the file.
    pub fn place(&self, finding: &Finding) -> String {
        let place = |rule: &str, clause: Option<&str>| -> Option<Position> {
            let number = self.text.rules.iter().position(|it| it.name == rule)?;
            let (rule, places) = (&self.text.rules[number], &self.text.places[number]);
            match clause {
                None => Some(places.rule),
                // The first of equal clauses is not the one that is never asked.
                Some(clause) => {
                    let at = rule
                        .clauses
                        .iter()
                        .rposition(|it| it.to_string() == clause)?;
                    places.clauses.get(at).copied()
                }
            }
        };
        let position = match finding {
            Finding::DeadRule { rule } => place(rule, None),
            Finding::DeadClause { rule, clause } => place(rule, Some(clause)),
            Finding::OpenSecrets { .. } => None,
        };
        match position {
            Some(it) => format!("{}:{}:{}: {finding}", self.name, it.line, it.column),
            None => format!("{}: {finding}", self.name),
        }
    }

    /// Prints what is suspicious, on standard error; returns whether something is.
    pub fn note_findings(&self, findings: &[Finding]) -> bool {
        for finding in findings {
            note(format_args!("pando: {}", self.place(finding)));
        }
        !findings.is_empty()
    }
}

/// Reads a file of rules and prints what is wrong or suspicious.
pub fn check(it: &AccessCheck) -> Result<(), Problem> {
    let file = RuleFile::read(&it.file)?;
    let ground = Ground::of_folder(it.schema.as_deref())?;
    let set = file.compile(&ground)?;
    if file.note_findings(&set.findings(&ground.secrets)) {
        return Err(Problem::Reported);
    }
    let count = file.text.rules.len() as u64;
    say(format_args!("{}: {}", file.name, counted(count, "rule")))
}
