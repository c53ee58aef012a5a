//! Compiling a template: resolves inheritance, attributes, tags and counts.

use std::collections::BTreeMap;

use super::error::{TemplateError, error};
use super::lists;
use super::model::{Child, DEPTH_MAX, Definition, Group, Line, Part, Plan};
use super::options::ParseOptions;
use super::parse::{Source, SourceDefinition, SourceLine, ValueForm};
use super::tag::{self, Scope};
use crate::random::{key_of, mix};

pub(crate) fn plan(source: Source, options: &ParseOptions) -> Result<Plan, TemplateError> {
    let mut names = BTreeMap::new();
    for (position, definition) in source.definitions.iter().enumerate() {
        if !definition.is_branch {
            names.insert(definition.name.to_ascii_lowercase(), position);
        }
    }
    let resolver = Resolver {
        source: &source.definitions,
        names,
        options,
    };
    let definitions = (0..source.definitions.len())
        .map(|position| resolver.definition(position))
        .collect::<Result<Vec<_>, _>>()?;
    let branches = (0..definitions.len())
        .filter(|&at| definitions[at].is_branch)
        .collect();
    let mut plan = Plan {
        definitions,
        branches,
        occurrences: Vec::new(),
        total: 0,
        unused_defines: source.unused_defines,
        known_names: source.known_names,
    };
    count(&mut plan)?;
    Ok(plan)
}

/// Adds a branch for every missing superior, before the first branch below it.
pub(crate) fn add_suffix_entries(plan: &mut Plan, suffixes: &[&str]) -> Result<(), TemplateError> {
    let allowed = suffixes
        .iter()
        .map(|suffix| name_key(suffix, 0))
        .collect::<Result<Vec<_>, _>>()?;
    let within = |key: &[String]| allowed.is_empty() || allowed.iter().any(|it| key.ends_with(it));
    let mut present = Vec::new();
    let mut position = 0;
    while position < plan.branches.len() {
        let branch = &plan.definitions[plan.branches[position]];
        let (name, line) = (branch.name.clone(), branch.line);
        let key = name_key(&name, line)?;
        for up in (1..key.len()).rev() {
            if !within(&key[up..]) || present.contains(&key[up..].to_vec()) {
                continue;
            }
            present.push(key[up..].to_vec());
            let ancestor = ancestor(&name, up).to_owned();
            if later_branch(plan, position, &key[up..])? {
                continue;
            }
            let source = branch_source(ancestor, line);
            let resolver = Resolver {
                source: &[source],
                names: BTreeMap::new(),
                options: &ParseOptions::default(),
            };
            let added = resolver.definition(0)?;
            plan.definitions.push(added);
            plan.branches.insert(position, plan.definitions.len() - 1);
            position += 1;
        }
        present.push(key);
        position += 1;
    }
    count(plan)
}

/// If a branch further down has this name, that branch is moved to the front: superiors come first.
fn later_branch(plan: &mut Plan, position: usize, key: &[String]) -> Result<bool, TemplateError> {
    for later in position + 1..plan.branches.len() {
        let definition = &plan.definitions[plan.branches[later]];
        if name_key(&definition.name, definition.line)? == key {
            return Err(error(
                definition.line,
                format!(
                    "expected the branch {:?} before its children",
                    definition.name
                ),
            ));
        }
    }
    Ok(false)
}

fn branch_source(name: String, line: u64) -> SourceDefinition {
    SourceDefinition {
        name,
        is_branch: true,
        line,
        extends: None,
        rdn: None,
        children: Vec::new(),
        lines: Vec::new(),
    }
}

struct Resolver<'a> {
    source: &'a [SourceDefinition],
    /// Names of templates in lower case.
    names: BTreeMap<String, usize>,
    options: &'a ParseOptions,
}

impl Resolver<'_> {
    fn definition(&self, position: usize) -> Result<Definition, TemplateError> {
        let own = &self.source[position];
        let ancestry = self.ancestry(position)?;
        let mut definition = Definition {
            name: own.name.clone(),
            is_branch: own.is_branch,
            line: own.line,
            key: key_of(&own.name.to_ascii_lowercase()),
            groups: Vec::new(),
            lines: Vec::new(),
            rdn: Vec::new(),
            rdn_complete_after: 0,
            children: Vec::new(),
            subtree: 0,
            counts_globally: false,
        };
        if own.is_branch {
            for implied in implied_lines(own, &ancestry)? {
                self.line(&implied, &mut definition)?;
            }
        }
        for source in &ancestry {
            for line in &source.lines {
                self.line(line, &mut definition)?;
            }
            for child in &source.children {
                let child = self.child(child, &definition.children)?;
                definition.children.push(child);
            }
        }
        if !own.is_branch {
            resolve_rdn(&ancestry, &mut definition)?;
        }
        if self.options.slamd_counters {
            share_counters(&mut definition);
        }
        definition.counts_globally = definition
            .lines
            .iter()
            .any(|line| line.parts.iter().any(counts_globally));
        Ok(definition)
    }

    /// Returns the definitions whose lines a definition inherits, the most distant first, and the
    /// definition itself last.
    fn ancestry(&self, position: usize) -> Result<Vec<&SourceDefinition>, TemplateError> {
        let mut chain = vec![&self.source[position]];
        while let Some((line, name)) = &chain[chain.len() - 1].extends {
            let Some(&parent) = self.names.get(&name.to_ascii_lowercase()) else {
                return Err(error(
                    *line,
                    format!("there is no template {name:?} to extend"),
                ));
            };
            if chain
                .iter()
                .any(|it| std::ptr::eq(*it, &self.source[parent]))
            {
                return Err(error(*line, format!("{name:?} extends itself")));
            }
            chain.push(&self.source[parent]);
        }
        chain.reverse();
        Ok(chain)
    }

    fn child(
        &self,
        source: &super::parse::SourceChild,
        earlier: &[Child],
    ) -> Result<Child, TemplateError> {
        let Some(&definition) = self.names.get(&source.template.to_ascii_lowercase()) else {
            let message = format!("there is no template {:?}", source.template);
            return Err(error(source.line, message));
        };
        let run = earlier
            .iter()
            .filter(|child| child.definition == definition)
            .count() as u64;
        let key = mix(key_of(&source.template.to_ascii_lowercase()), run);
        Ok(Child {
            definition,
            count: source.count.unwrap_or(1),
            key,
        })
    }

    fn line(&self, source: &SourceLine, definition: &mut Definition) -> Result<(), TemplateError> {
        let at = |message: String| error(source.number, message);
        let scope = Scope {
            groups: &definition.groups,
            options: self.options,
        };
        let (mut parsed, mut base64) = match source.form {
            ValueForm::Url => (self.url_value(&source.text).map_err(at)?, false),
            form => (
                tag::parse(&source.text, &scope).map_err(at)?,
                form == ValueForm::Base64,
            ),
        };
        if base64 && parsed.repeat.is_some() {
            return Err(at(
                "expected <loop> in a plain value, not after '::'".to_owned()
            ));
        }
        if base64 {
            base64 = !decode_early(&mut parsed.parts).map_err(at)?;
        }
        let same = |it: &Group| it.description.eq_ignore_ascii_case(&source.description);
        let group = definition.groups.iter().position(same).unwrap_or_else(|| {
            let description = source.description.clone();
            definition.groups.push(Group {
                description,
                line: source.number,
            });
            definition.groups.len() - 1
        });
        definition.lines.push(Line {
            number: source.number,
            group,
            base64,
            conditions: parsed.conditions,
            parts: parsed.parts,
            repeat: parsed.repeat,
        });
        Ok(())
    }

    /// Returns the octets of a local file (`attr:< file:///path`).
    fn url_value(&self, url: &str) -> Result<tag::Parsed, String> {
        if !self.options.file_urls {
            let why = "files are read only when asked for (--file-urls)";
            return Err(format!("expected a value, found the URL {url:?}: {why}"));
        }
        let head = url.get(..5).unwrap_or_default();
        if !head.eq_ignore_ascii_case("file:") {
            return Err(format!("expected a file: URL, found {url:?}"));
        }
        let path = url[5..].strip_prefix("//").unwrap_or(&url[5..]);
        let octets = lists::octets(path, self.options)?;
        Ok(tag::Parsed {
            parts: vec![Part::Text(octets)],
            ..tag::Parsed::default()
        })
    }
}

/// Decodes base64 now, or leaves out its encoding. Returns true when the parts give octets.
fn decode_early(parts: &mut [Part]) -> Result<bool, String> {
    let [part] = parts else { return Ok(false) };
    match part {
        Part::Text(text) => {
            let mut octets = Vec::new();
            protocol::base64::decode_into(&mut octets, text)
                .map_err(|error| format!("expected base64 after '::': {error}"))?;
            *text = octets;
            Ok(true)
        }
        Part::Base64Characters { least, most } => {
            *part = Part::Octets {
                least: *least,
                most: *most,
            };
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Adds the implicit lines of a branch: object classes for the type of its RDN, and RDN values.
fn implied_lines(
    branch: &SourceDefinition,
    ancestry: &[&SourceDefinition],
) -> Result<Vec<SourceLine>, TemplateError> {
    let name = protocol::name::parse_name(&branch.name)
        .map_err(|problem| error(branch.line, format!("expected a DN: {problem}")))?;
    let Some(rdn) = name.rdns.first() else {
        return Err(error(branch.line, "expected a DN with at least one RDN"));
    };
    let kind = rdn.values.first().attribute.to_ascii_lowercase();
    let given = |line: &SourceLine| line.description.eq_ignore_ascii_case("objectClass");
    let classes: &[&str] = match kind.as_str() {
        "dc" | "domaincomponent" => &["top", "domain"],
        "o" | "organizationname" => &["top", "organization"],
        "ou" | "organizationalunitname" => &["top", "organizationalUnit"],
        "c" | "countryname" => &["top", "country"],
        "l" | "localityname" => &["top", "locality"],
        // extensibleObject is auxiliary, so a structural class is needed beside it.
        "cn" if !ancestry.iter().any(|it| it.lines.iter().any(given)) => {
            &["top", "applicationProcess", "extensibleObject"]
        }
        _ => &["top", "extensibleObject"],
    };
    let line = |description: &str, text: String| SourceLine {
        number: 0,
        description: description.to_owned(),
        form: ValueForm::Text,
        text,
    };
    let mut lines: Vec<_> = classes
        .iter()
        .map(|class| line("objectClass", (*class).to_owned()))
        .collect();
    for value in rdn.values.iter() {
        let text = String::from_utf8(value.value.to_vec())
            .map_err(|_| error(branch.line, "expected an RDN that is text"))?;
        lines.push(line(value.attribute, escape_tags(&text)));
    }
    Ok(lines)
}

fn escape_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '<' | '>' | '{' | '}' | '[' | ']') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn resolve_rdn(
    ancestry: &[&SourceDefinition],
    definition: &mut Definition,
) -> Result<(), TemplateError> {
    let (line, names) = match ancestry.iter().rev().find_map(|source| source.rdn.as_ref()) {
        Some((line, names)) => (*line, names.clone()),
        None => (definition.line, vec!["cn".to_owned()]),
    };
    for name in &names {
        let same = |it: &Group| it.description.eq_ignore_ascii_case(name);
        let Some(group) = definition.groups.iter().position(same) else {
            return Err(error(
                line,
                format!("expected a line for the RDN attribute {name}"),
            ));
        };
        definition.rdn.push(group);
        let first = definition.lines.iter().position(|it| it.group == group);
        let first = first.expect("a group exists because a line made it");
        if definition.lines[first].repeat.is_some() {
            return Err(error(
                line,
                format!("the RDN attribute {name} cannot come from a <loop>"),
            ));
        }
        definition.rdn_complete_after = definition.rdn_complete_after.max(first);
    }
    for source in &definition.lines[..=definition.rdn_complete_after] {
        if source.parts.iter().any(needs_own_name) {
            return Err(error(
                source.number,
                format!(
                    "expected <dn> and <rdn> below the RDN attribute {}",
                    names.join("+")
                ),
            ));
        }
    }
    Ok(())
}

fn needs_own_name(part: &Part) -> bool {
    match part {
        Part::Rdn | Part::Dn { .. } => true,
        Part::Base64(parts) => parts.iter().any(needs_own_name),
        _ => false,
    }
}

fn counts_globally(part: &Part) -> bool {
    match part {
        Part::Sequential { within_parent, .. } => !within_parent,
        Part::FileLine { sequential, .. } => *sequential,
        Part::Base64(parts) => parts.iter().any(counts_globally),
        _ => false,
    }
}

/// Numbers tags as SLAMD does: the tags of one attribute take turns, from the first one's start.
fn share_counters(definition: &mut Definition) {
    for group in 0..definition.groups.len() {
        let mut counters: Vec<(&mut i64, &mut i64)> = Vec::new();
        for line in definition
            .lines
            .iter_mut()
            .filter(|line| line.group == group)
        {
            for part in &mut line.parts {
                if let Part::Sequential { start, step, .. } = part {
                    counters.push((start, step));
                }
            }
        }
        let count = counters.len() as i64;
        let first = counters.first().map_or(0, |(start, _)| **start);
        for (turn, (start, step)) in (0..).zip(counters) {
            *start = first.wrapping_add(turn);
            *step = count;
        }
    }
}

/// Computes sizes of subtrees, numbers of occurrences and the total.
fn count(plan: &mut Plan) -> Result<(), TemplateError> {
    let size = plan.definitions.len();
    let mut done = vec![None; size];
    for position in 0..size {
        occurrences(&plan.definitions, position, DEPTH_MAX, &mut done)?;
    }
    plan.occurrences = done.into_iter().map(Option::unwrap_or_default).collect();
    let too_many = |line| error(line, "expected fewer than 2^63 entries");
    let mut total = 0u64;
    for position in 0..size {
        let line = plan.definitions[position].line;
        let sum = plan.occurrences[position]
            .iter()
            .try_fold(0u64, |sum, &it| sum.checked_add(it));
        plan.definitions[position].subtree = sum.ok_or_else(|| too_many(line))?;
        if plan.definitions[position].is_branch {
            total = total
                .checked_add(plan.definitions[position].subtree)
                .filter(|&total| total <= i64::MAX as u64)
                .ok_or_else(|| too_many(line))?;
        }
    }
    plan.total = total;
    Ok(())
}

fn occurrences(
    definitions: &[Definition],
    position: usize,
    depth: usize,
    done: &mut Vec<Option<Vec<u64>>>,
) -> Result<(), TemplateError> {
    if done[position].is_some() {
        return Ok(());
    }
    let definition = &definitions[position];
    let Some(depth) = depth.checked_sub(1) else {
        let message = format!(
            "{:?} is its own descendant, or nested too deep",
            definition.name
        );
        return Err(error(definition.line, message));
    };
    let mut sums = vec![0u64; definitions.len()];
    sums[position] = 1;
    for child in &definition.children {
        occurrences(definitions, child.definition, depth, done)?;
        let below = done[child.definition]
            .as_ref()
            .expect("counted by the call above");
        for (sum, &entries) in sums.iter_mut().zip(below) {
            *sum = entries
                .checked_mul(child.count)
                .and_then(|entries| sum.checked_add(entries))
                .ok_or_else(|| error(definition.line, "expected fewer than 2^63 entries"))?;
        }
    }
    done[position] = Some(sums);
    Ok(())
}

/// Splits a DN into comparable texts of RDNs, leaf first: enough to see that two branches are
/// equal.
fn name_key(name: &str, line: u64) -> Result<Vec<String>, TemplateError> {
    let name = protocol::name::parse_name(name)
        .map_err(|problem| error(line, format!("expected a DN: {problem}")))?;
    let value = |it: &protocol::name::AttributeValue<'_>| {
        let text = String::from_utf8_lossy(&it.value).trim().to_lowercase();
        format!("{}={text}", it.attribute.to_ascii_lowercase())
    };
    let rdn = |it: &protocol::name::Rdn<'_>| {
        let mut values: Vec<_> = it.values.iter().map(value).collect();
        values.sort();
        values.join("+")
    };
    Ok(name.rdns.iter().map(rdn).collect())
}

/// Returns the first `count` RDNs of a DN.
pub(crate) fn leading(name: &str, count: usize) -> &str {
    match count.checked_sub(1).and_then(|last| commas(name).nth(last)) {
        Some(at) => &name[..at],
        None => name,
    }
}

/// Returns the last `count` RDNs of a DN.
pub(crate) fn trailing(name: &str, count: usize) -> &str {
    match commas(name).count().checked_sub(count) {
        Some(skipped) => ancestor(name, skipped + 1),
        None => name,
    }
}

/// Returns a DN without its first `levels` RDNs.
pub(crate) fn ancestor(name: &str, levels: usize) -> &str {
    match levels.checked_sub(1).map(|last| commas(name).nth(last)) {
        Some(Some(at)) => name[at + 1..].trim_start(),
        Some(None) => "",
        None => name,
    }
}

/// Returns the positions of the commas between RDNs.
fn commas(name: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = name.as_bytes();
    let mut quoted = false;
    let mut escaped = false;
    (0..bytes.len()).filter(move |&at| {
        let byte = bytes[at];
        if escaped {
            escaped = false;
            return false;
        }
        match byte {
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
        !quoted && matches!(byte, b',' | b';')
    })
}
