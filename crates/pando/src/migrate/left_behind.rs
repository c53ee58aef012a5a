//! Lists functions of an OpenLDAP server that the node will not take over: access rules, limits,
//! restrictions and overlays. Each is named, so that no attribute that the old server hides becomes
//! public on the node unnoticed.
//!
//! They are read from the old server's `cn=config`, or from a file: `slapd.conf`, the folder
//! `slapd.d`, or output of `slapcat -n0`.

use super::remote::{Remote, everything};
use super::trouble::Trouble;
use crate::report::{Problem, note};
use protocol::ldif::{LdifReader, LdifRecord};
use protocol::{Filter, ResultCode, Scope};
use std::path::{Path, PathBuf};

const CONFIG: &str = "cn=config";
/// Maximum depth of included files.
const INCLUDE_DEPTH_MAX: u8 = 8;

/// Directives: their names in `slapd.conf` and `cn=config`, and nouns in singular and plural.
const DIRECTIVES: [(&str, &str, [&str; 2]); 9] = [
    ("access", "olcAccess", ["access rule", "access rules"]),
    ("limits", "olcLimits", ["limit", "limits"]),
    ("sizelimit", "olcSizeLimit", ["limit", "limits"]),
    ("timelimit", "olcTimeLimit", ["limit", "limits"]),
    ("require", "olcRequires", ["restriction", "restrictions"]),
    ("security", "olcSecurity", ["restriction", "restrictions"]),
    ("restrict", "olcRestrict", ["restriction", "restrictions"]),
    ("disallow", "olcDisallows", ["restriction", "restrictions"]),
    ("overlay", "olcOverlay", ["overlay", "overlays"]),
];

/// Overlays whose function the node has at least in part, with a text that says how.
const OVERLAYS: [(&str, &str); 7] = [
    ("syncprov", "content synchronisation is built in"),
    ("memberof", "memberOf is computed here"),
    (
        "refint",
        "Pando updates references to deleted and renamed entries",
    ),
    ("unique", "set up a rule: docs/guides/rules.md"),
    (
        "ppolicy",
        "policies are entries; the default one comes with --once, or set pandoPasswordPolicy",
    ),
    ("dynlist", "dynamic groups (groupOfURLs) are built in"),
    ("dds", "dynamic entries are built in"),
];

/// One directive of the old server.
#[derive(Debug, PartialEq, Eq)]
struct Directive {
    /// The entry or file of the directive.
    place: String,
    /// Its index in [`DIRECTIVES`].
    kind: usize,
    text: String,
}

/// The directives found.
#[derive(Debug, Default)]
pub struct LeftBehind {
    directives: Vec<Directive>,
}

impl LeftBehind {
    /// Reads the configuration of the running server; `None` if it is not readable.
    pub fn of_server(remote: &mut Remote) -> Result<Option<LeftBehind>, Trouble> {
        let mut wanted: Vec<&str> = DIRECTIVES.iter().map(|it| it.1).collect();
        wanted.push("objectClass");
        let mut request = everything(CONFIG, Scope::WholeSubtree, &wanted);
        request.filter = Filter::Present("objectClass");
        let (entries, code) = remote.search(&request)?;
        if code != ResultCode::SUCCESS || entries.is_empty() {
            return Ok(None);
        }
        let mut found = LeftBehind::default();
        for entry in &entries {
            for (name, values) in &entry.attributes {
                for value in values {
                    found.note(&entry.dn, name, &String::from_utf8_lossy(value));
                }
            }
        }
        Ok(Some(found))
    }

    /// Reads a file or folder.
    pub fn of_path(path: &Path) -> Result<LeftBehind, Problem> {
        let mut found = LeftBehind::default();
        found.read(path, INCLUDE_DEPTH_MAX)?;
        Ok(found)
    }

    /// `depth` limits the recursion.
    fn read(&mut self, path: &Path, depth: u8) -> Result<(), Problem> {
        let failed = |error| Problem::file(path, error);
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Problem::file(path, "included too deeply"));
        };
        if path.is_dir() {
            let mut files: Vec<PathBuf> = Vec::new();
            for file in std::fs::read_dir(path).map_err(failed)? {
                files.push(file.map_err(failed)?.path());
            }
            files.retain(|it| it.is_dir() || it.extension().is_some_and(|it| it == "ldif"));
            files.sort();
            return files.iter().try_for_each(|it| self.read(it, depth));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        match text.lines().any(|line| line.starts_with("dn:")) {
            true => self.read_ldif(path, &text),
            false => self.read_directives(path, &text, depth),
        }
    }

    fn read_ldif(&mut self, path: &Path, text: &str) -> Result<(), Problem> {
        let mut reader = LdifReader::new(text.as_bytes());
        while let Some(record) = reader.next_record() {
            let record = record.map_err(|error| Problem::file(path, error))?;
            if let LdifRecord::Entry { dn, attributes } = record {
                for (name, value) in &attributes {
                    self.note(dn, name, &String::from_utf8_lossy(value));
                }
            }
        }
        Ok(())
    }

    /// In slapd.conf(5), a line that begins with a space continues the previous one.
    fn read_directives(&mut self, path: &Path, text: &str, depth: u8) -> Result<(), Problem> {
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines().filter(|it| !it.starts_with('#')) {
            match (line.starts_with([' ', '\t']), lines.last_mut()) {
                (true, Some(last)) => last.push_str(line),
                _ => lines.push(line.to_owned()),
            }
        }
        for line in &lines {
            let (keyword, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
            if keyword.eq_ignore_ascii_case("include") {
                let name = rest.trim().trim_matches('"');
                let included = path.parent().unwrap_or(Path::new("")).join(name);
                // Most unreadable files are schema files on another machine.
                if let Err(problem) = self.read(&included, depth) {
                    note(format_args!("not looked through: {}", problem.text()));
                }
            } else if let Some((_, name, _)) = DIRECTIVES
                .iter()
                .find(|it| it.0.eq_ignore_ascii_case(keyword))
            {
                self.note(&path.display().to_string(), name, rest);
            }
        }
        Ok(())
    }

    fn note(&mut self, place: &str, name: &str, text: &str) {
        let kind = DIRECTIVES
            .iter()
            .position(|it| it.1.eq_ignore_ascii_case(name));
        if let Some(kind) = kind {
            let (place, text) = (in_one_line(place), in_one_line(text));
            self.directives.push(Directive { place, kind, text });
        }
    }

    /// Prints each directive, and their number.
    pub fn say(&self) {
        for it in &self.directives {
            let (_, name, _) = DIRECTIVES[it.kind];
            let instead = match instead(name, &it.text) {
                Some(instead) => format!(" ({instead})"),
                None => String::new(),
            };
            let (place, text) = (&it.place, &it.text);
            note(format_args!(
                "not taken over: {place}: {name}: {text}{instead}"
            ));
        }
        let mut sums: Vec<([&str; 2], usize)> = Vec::new();
        for it in &self.directives {
            let (_, _, words) = DIRECTIVES[it.kind];
            match sums.iter_mut().find(|it| it.0 == words) {
                Some((_, count)) => *count += 1,
                None => sums.push((words, 1)),
            }
        }
        let sums: Vec<String> = sums
            .iter()
            .map(|(words, count)| format!("{count} {}", words[usize::from(*count != 1)]))
            .collect();
        if !sums.is_empty() {
            note(format_args!(
                "pando: the old server has {} that this node does not take over, listed above; \
                 here everybody reads everything but secret attributes, also without a bind: \
                 docs/reference/access.md",
                sums.join(", ")
            ));
        }
    }

    /// Attributes named in access rules, as spelled there, sorted.
    pub fn guarded(&self) -> Vec<String> {
        let rules = self.directives.iter();
        let rules = rules.filter(|it| DIRECTIVES[it.kind].1 == "olcAccess");
        let mut names: Vec<String> = rules.flat_map(|it| attributes_of(&it.text)).collect();
        names.sort_by_key(|it| it.to_ascii_lowercase());
        names.dedup_by(|one, other| one.eq_ignore_ascii_case(other));
        names
    }
}

/// The text without line breaks and terminal control characters.
fn in_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(char::is_control, "")
}

/// How the node does the work of an overlay; `None` if the node does not.
fn instead(directive: &str, text: &str) -> Option<&'static str> {
    if directive != "olcOverlay" {
        return None;
    }
    let overlay = text.rsplit('}').next()?.trim();
    let known = OVERLAYS
        .iter()
        .find(|it| it.0.eq_ignore_ascii_case(overlay));
    known.map(|it| it.1)
}

/// The attribute types in an access rule: the lists behind `attrs=` (slapd.access(5)). `entry` and
/// `children` are no attributes; `@class` and `!class` name none.
fn attributes_of(rule: &str) -> Vec<String> {
    let what = rule.split(" by ").next().unwrap_or_default();
    let lists = what.split_whitespace().filter_map(|word| {
        let (keyword, list) = word.split_once('=')?;
        let is_list = ["attrs", "attr"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(keyword));
        is_list.then_some(list)
    });
    let names = lists.flat_map(|it| it.trim_matches('"').split(','));
    names
        .filter(|it| !it.is_empty() && !it.starts_with(['@', '!']))
        .filter(|it| {
            !["entry", "children"]
                .iter()
                .any(|no| no.eq_ignore_ascii_case(it))
        })
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_attributes() {
        for (rule, names) in [
            (
                "{0}to attrs=userPassword,shadowLastChange by self write",
                &["userPassword", "shadowLastChange"][..],
            ),
            ("to * by * read", &[]),
            (
                "to dn.subtree=\"ou=x\" attrs=entry,children,@person,acmeSecret by * none",
                &["acmeSecret"],
            ),
            (
                "to dn=\"a=b\" attr=cn val=x by dn=\"c=d\" attrs=no read",
                &["cn"],
            ),
        ] {
            assert_eq!(attributes_of(rule), names, "{rule}");
        }
    }

    #[test]
    fn both_forms_of_a_configuration_say_the_same() {
        let path = Path::new("here");
        let (mut one, mut other) = (LeftBehind::default(), LeftBehind::default());
        let conf = "# access to x\nsizelimit 7\noverlay memberof\nloglevel 0\n\
                    Access to attrs=a,B\n\tby self write\n    by * none\n";
        one.read_directives(path, conf, 1).expect("it is read");
        let ldif = "version: 1\ndn: cn=config\nolcLogLevel: 0\nolcSizeLimit: 7\n\n\
                    dn: olcOverlay={0}memberof\nolcOverlay: memberof\n\n\
                    dn: olcDatabase={1}mdb\nolcAccess: to attrs=a,B by self write\n  by * none\n";
        other.read_ldif(path, ldif).expect("it is read");
        for found in [one, other] {
            let texts: Vec<&str> = found.directives.iter().map(|it| &*it.text).collect();
            let rule = "to attrs=a,B by self write by * none";
            assert_eq!(texts, ["7", "memberof", rule]);
            assert_eq!(found.guarded(), ["a", "B"]);
        }
    }
}
