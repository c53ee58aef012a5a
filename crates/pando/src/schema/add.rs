//! `pando schema add` and `check`: adds the definitions of files, each judged separately.
//!
//! An entry below `cn=schema,cn=config` holds the new definitions of a file. Another file of that
//! name replaces definitions in it that it changes, and leaves the others.

use super::accept::{Accepted, Taken, accept};
use super::stored::{StoredDefinitions, published};
use crate::channel::Channel;
use crate::report::{Problem, note, say};
use schema::{Definition, MatchingRule, Schema, read_each_definition};
use std::path::{Path, PathBuf};

/// A file that was read.
struct Source {
    path: PathBuf,
    /// Name of the entry for its definitions.
    name: String,
    /// Number of definitions that add nothing to the schema.
    known: usize,
    added: usize,
    widened: usize,
    changed: usize,
}

/// A definition of a file.
struct Candidate {
    source: usize,
    line: usize,
    definition: Definition,
}

/// The attribute types and object classes of the files, and whether some text was no definition,
/// which has been printed.
struct Input {
    sources: Vec<Source>,
    candidates: Vec<Candidate>,
    is_damaged: bool,
}

/// Prints which definitions of the files the standard schema would accept.
pub fn check(files: &[PathBuf]) -> Result<(), Problem> {
    let mut input = read(files)?;
    let definitions = input.candidates.iter().map(|it| it.definition.clone());
    let accepted = accept(Schema::standard(), definitions);
    let refused = input.say_refused(&accepted);
    input.count(&accepted);
    for source in &input.sources {
        say(source.summary())?;
    }
    finish(refused)
}

/// Adds the definitions that the node's schema accepts; with `strict`, none unless it accepts all.
pub fn add(dir: &Path, files: &[PathBuf], strict: bool) -> Result<(), Problem> {
    let mut input = read(files)?;
    let mut channel = Channel::open(dir)?;
    let mut schema = published(&mut channel)?;
    let mut changes: Vec<Vec<(String, Definition)>> = Vec::new();
    for at in 0..input.sources.len() {
        let kept = StoredDefinitions::read(&mut channel, &input.sources[at].name)?;
        let changed = input.take_changed(at, &kept);
        for (_, definition) in &changed {
            // Conflicts with entries and with other files are reported by the server.
            if let Ok((larger, _)) = schema.extended_keeping(std::slice::from_ref(definition)) {
                schema = larger;
            }
        }
        input.sources[at].changed = changed.len();
        changes.push(changed);
    }
    let definitions = input.candidates.iter().map(|it| it.definition.clone());
    let accepted = accept(schema, definitions);
    let refused = input.say_refused(&accepted);
    if strict && refused {
        return Err(Problem::failed(
            "nothing was added, since --strict asks for all",
        ));
    }
    input.count(&accepted);
    for (source, changed) in input.sources.iter().zip(&changes) {
        StoredDefinitions::replace(&mut channel, &source.name, changed)
            .map_err(|problem| Problem::file(&source.path, problem.text()))?;
    }
    for run in accepted
        .taken
        .chunk_by(|a, b| input.source_of(a) == input.source_of(b))
    {
        let source = &input.sources[input.source_of(&run[0])];
        let definitions: Vec<&Definition> = run.iter().map(|it| &it.definition).collect();
        StoredDefinitions::add(&mut channel, &source.name, &definitions)
            .map_err(|problem| Problem::file(&source.path, problem.text()))?;
    }
    for source in &input.sources {
        say(source.summary())?;
    }
    finish(refused)
}

fn finish(refused: bool) -> Result<(), Problem> {
    match refused {
        true => Err(Problem::Reported),
        false => Ok(()),
    }
}

fn read(files: &[PathBuf]) -> Result<Input, Problem> {
    let mut input = Input {
        sources: Vec::new(),
        candidates: Vec::new(),
        is_damaged: false,
    };
    for path in files {
        let text = std::fs::read(path).map_err(|error| Problem::file(path, error))?;
        // Comments in old files are in Latin-1.
        let text = String::from_utf8_lossy(&text);
        let name = path.file_stem().unwrap_or_default();
        let (source, before) = (input.sources.len(), input.candidates.len());
        let mut mistakes = 0;
        for found in read_each_definition(&text) {
            match found {
                Ok((line, definition)) => match &definition {
                    Definition::AttributeType(_) | Definition::ObjectClass(_) => {
                        input.candidates.push(Candidate {
                            source,
                            line,
                            definition,
                        });
                    }
                    other => {
                        let kind = other.kind().attribute();
                        note(format_args!(
                            "{}:{line}: {kind} are not added: {}",
                            path.display(),
                            other.label()
                        ));
                    }
                },
                Err(error) => {
                    mistakes += 1;
                    let (line, message) = (error.line, error.message);
                    note(format_args!("pando: {}:{line}: {message}", path.display()));
                }
            }
        }
        if input.candidates.len() == before && mistakes == 0 {
            return Err(Problem::file(
                path,
                "expected attributetype or objectclass, found neither",
            ));
        }
        input.is_damaged |= mistakes > 0;
        input.sources.push(Source {
            path: path.clone(),
            name: name.to_string_lossy().into_owned(),
            known: 0,
            added: 0,
            widened: 0,
            changed: 0,
        });
    }
    Ok(input)
}

impl Input {
    fn source_of(&self, taken: &Taken) -> usize {
        self.candidates[taken.place].source
    }

    /// Removes definitions that are already stored for this file. Returns those whose text differs
    /// now, each with the stored text.
    fn take_changed(
        &mut self,
        source: usize,
        kept: &StoredDefinitions,
    ) -> Vec<(String, Definition)> {
        let mut changed: Vec<(String, Definition)> = Vec::new();
        let mut known = 0;
        self.candidates.retain(|candidate| {
            let definition = &candidate.definition;
            let stored = kept.find(definition).filter(|_| candidate.source == source);
            let Some((text, stored)) = stored else {
                return true;
            };
            if *stored == without_unknown_rules(definition) {
                known += 1;
                return false;
            }
            // Two definitions of one OID in a file are treated like definitions of two files.
            let first = !changed.iter().any(|(it, _)| it == text);
            if first {
                changed.push((text.clone(), without_unknown_rules(definition)));
            }
            !first
        });
        self.sources[source].known += known;
        changed
    }

    /// Prints definitions that are not accepted, or accepted without a rule; returns whether there
    /// are any of the first kind.
    fn say_refused(&self, accepted: &Accepted) -> bool {
        let place = |at: usize| {
            let candidate = &self.candidates[at];
            let path = self.sources[candidate.source].path.display();
            format!("{path}:{}", candidate.line)
        };
        for taken in &accepted.taken {
            for (role, name) in &taken.without {
                note(format_args!(
                    "{}: {} is taken without its {role} {name}, which is not known here",
                    place(taken.place),
                    taken.definition.label()
                ));
            }
        }
        for (at, error) in &accepted.refused {
            note(format_args!("pando: {}: {error}", place(*at)));
        }
        self.is_damaged || !accepted.refused.is_empty()
    }

    fn count(&mut self, accepted: &Accepted) {
        for candidate in &self.candidates {
            self.sources[candidate.source].known += 1;
        }
        for (at, _) in &accepted.refused {
            self.sources[self.candidates[*at].source].known -= 1;
        }
        for taken in &accepted.taken {
            let source = &mut self.sources[self.candidates[taken.place].source];
            source.known -= 1;
            match taken.widens {
                true => source.widened += 1,
                false => source.added += 1,
            }
        }
    }
}

impl Source {
    fn summary(&self) -> String {
        let parts: Vec<String> = [
            (self.added, "new"),
            (self.widened, "widened"),
            (self.changed, "changed"),
            (self.known, "known already"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
        let path = self.path.display();
        match self.added + self.widened + self.changed {
            0 => format!("{path}: nothing new"),
            _ => format!("{path}: definitions: {}", parts.join(", ")),
        }
    }
}

/// The definition as stored, without unknown matching rules.
fn without_unknown_rules(definition: &Definition) -> Definition {
    let mut definition = definition.clone();
    if let Definition::AttributeType(it) = &mut definition {
        for rule in [&mut it.equality, &mut it.ordering, &mut it.substring] {
            if rule
                .as_deref()
                .is_some_and(|it| MatchingRule::by_name(it).is_none())
            {
                *rule = None;
            }
        }
    }
    definition
}
