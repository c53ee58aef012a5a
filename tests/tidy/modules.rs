//! Rules about modules: the uses between files of a crate, which must not form long circles.
//!
//! An edge is a path in a file (`use` or in code) that leads to another file of the crate, followed
//! through re-exports. A parent's re-export of its children's names (`pub use child::Name`) is no
//! edge, nor is anything in code that only tests compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

use crate::Findings;
use crate::tree;

/// Length of the longest circle that needs no reason: a type, its builder, and its reader.
const CIRCLE_MAX: usize = 3;

/// Marks around the part of ARCHITECTURE.md that this test writes.
const BEGIN: &str = "<!-- floors: made by tests/tidy/modules.rs -->\n";
const END: &str = "<!-- end of floors -->\n";
/// Environment variable that makes the test rewrite that part.
const REWRITE: &str = "PANDO_TEST_REWRITE";

/// Path of a module below its crate: `["view", "walks"]`; empty for the crate itself.
type Module = Vec<String>;
/// The modules used by the file of each module.
type Edges = BTreeMap<Module, BTreeSet<Module>>;

/// One file of a crate.
#[derive(Default)]
struct Source {
    /// Paths in the file.
    paths: Vec<Vec<String>>,
    /// Paths that the file re-exports, with the names under which it does.
    handed_on: Vec<(String, Vec<String>)>,
    children: Vec<(String, PathBuf)>,
}

impl Source {
    fn read(file: &Path) -> Source {
        let text =
            fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut source = Source::default();
        let name = file.file_stem().and_then(|it| it.to_str());
        let folder = file.parent().expect("a file lies in a folder");
        let below = match name {
            Some("lib" | "main" | "mod") | None => folder.to_path_buf(),
            Some(name) => folder.join(name),
        };
        for item in &parsed.items {
            if let Item::Mod(child) = item
                && child.content.is_none()
                && !is_for_tests(&child.attrs)
            {
                let name = child.ident.to_string();
                let beside = below.join(format!("{name}.rs"));
                let inside = below.join(&name).join("mod.rs");
                let file = if beside.exists() { beside } else { inside };
                source.children.push((name, file));
            }
        }
        source.visit_file(&parsed);
        source
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut leaves = Vec::new();
        expand(&item.tree, &mut Vec::new(), &mut leaves);
        if !matches!(item.vis, Visibility::Inherited) {
            self.handed_on.extend(leaves.iter().cloned());
        }
        self.paths.extend(leaves.into_iter().map(|(_, path)| path));
    }

    /// Removes the paths in `pub(super)` and `pub(in …)`, which are no uses.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|it| it.ident.to_string());
        self.paths.push(names.collect());
        syn::visit::visit_path(self, path);
    }
}

/// Returns whether only tests compile an item.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        let condition = it.meta.require_list().ok();
        it.path().is_ident("cfg") && condition.is_some_and(|it| it.tokens.to_string() == "test")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(ItemMod { attrs, .. }) | Item::Use(ItemUse { attrs, .. }) => attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        _ => &[],
    }
}

/// Appends the names that a `use` imports, with their paths, to `leaves`.
fn expand(tree: &UseTree, before: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    match tree {
        UseTree::Path(it) => {
            before.push(it.ident.to_string());
            expand(&it.tree, before, leaves);
            before.pop();
        }
        UseTree::Group(it) => it.items.iter().for_each(|it| expand(it, before, leaves)),
        UseTree::Name(it) => {
            let path = [&before[..], &[it.ident.to_string()]].concat();
            leaves.push((it.ident.to_string(), path));
        }
        UseTree::Rename(it) => {
            let path = [&before[..], &[it.ident.to_string()]].concat();
            leaves.push((it.rename.to_string(), path));
        }
        UseTree::Glob(_) => leaves.push(("*".to_owned(), before.clone())),
    }
}

/// All files of a crate.
struct Package {
    sources: BTreeMap<Module, Source>,
    /// The modules of re-exported names, by re-exporting module and name.
    handed_on: BTreeMap<(Module, String), Module>,
}

impl Package {
    fn read(name: &str) -> Package {
        let folder = tree::root().join("crates").join(name).join("src");
        let lib = folder.join("lib.rs");
        let first = if lib.exists() {
            lib
        } else {
            folder.join("main.rs")
        };
        let mut sources = BTreeMap::new();
        let mut todo = vec![(Module::new(), first)];
        while let Some((module, file)) = todo.pop() {
            let source = Source::read(&file);
            for (child, file) in &source.children {
                todo.push((
                    [&module[..], std::slice::from_ref(child)].concat(),
                    file.clone(),
                ));
            }
            sources.insert(module, source);
        }
        let mut package = Package {
            sources,
            handed_on: BTreeMap::new(),
        };
        // A name may be re-exported more than once.
        for _ in 0..3 {
            let mut all = BTreeMap::new();
            for (module, source) in &package.sources {
                for (name, path) in &source.handed_on {
                    if let Some(to) = package.resolve(module, path) {
                        all.insert((module.clone(), name.clone()), to);
                    }
                }
            }
            package.handed_on = all;
        }
        package
    }

    /// Returns the module that a path in a module leads to; `None` for other crates and local
    /// names.
    fn resolve(&self, from: &Module, path: &[String]) -> Option<Module> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from.clone(), path),
            first => {
                let child = [&from[..], &[first.to_owned()]].concat();
                self.sources
                    .contains_key(&child)
                    .then_some((child, &path[1..]))?
            }
        };
        while let Some((first, after)) = rest.split_first()
            && first == "super"
        {
            at.pop();
            rest = after;
        }
        while let Some((first, after)) = rest.split_first() {
            let child = [&at[..], std::slice::from_ref(first)].concat();
            if !self.sources.contains_key(&child) {
                let handed_on = self.handed_on.get(&(at.clone(), first.clone()));
                return Some(handed_on.cloned().unwrap_or(at));
            }
            (at, rest) = (child, after);
        }
        Some(at)
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (module, source) in &self.sources {
            let handed: BTreeSet<&Vec<String>> = source.handed_on.iter().map(|it| &it.1).collect();
            let used = source.paths.iter().filter_map(|path| {
                let to = self.resolve(module, path)?;
                let of_child = handed.contains(path) && to.starts_with(module);
                (to != *module && !of_child).then_some(to)
            });
            edges.insert(module.clone(), used.collect());
        }
        edges
    }
}

/// Returns the circles of modules, each with the modules that it reaches and that reach it; a
/// module in no circle stands alone.
fn circles(edges: &Edges) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = edges
        .keys()
        .map(|from| (from, reach(edges, from)))
        .collect();
    let mut left: BTreeSet<&Module> = edges.keys().collect();
    let mut found = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut circle = BTreeSet::from([first.clone()]);
        for other in &reached[first] {
            if reached[*other].contains(first) && left.remove(*other) {
                circle.insert((*other).clone());
            }
        }
        found.push(circle);
    }
    found
}

fn reach<'e>(edges: &'e Edges, from: &Module) -> BTreeSet<&'e Module> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(at) = todo.pop() {
        for next in edges.get(at).into_iter().flatten() {
            if seen.insert(next) {
                todo.push(next);
            }
        }
    }
    seen
}

/// The crates of the product.
fn crates() -> Vec<String> {
    let folder = fs::read_dir(tree::root().join("crates")).expect("the crates");
    let names = folder.map(|it| it.expect("a folder").file_name());
    let mut names: Vec<String> = names.map(|it| it.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn modules_form_no_long_circles() {
    let mut findings = Findings::of("circles");
    for name in crates() {
        let circles = circles(&Package::read(&name).edges());
        for circle in circles.iter().filter(|it| it.len() > CIRCLE_MAX) {
            let files: Vec<String> = circle.iter().map(|it| it.join("::")).collect();
            findings.add(
                &name,
                format!("{} files: {}", files.len(), files.join(", ")),
            );
        }
    }
    findings.report();
}

/// Returns the files of a crate by floors: each uses only files of lower floors.
fn floors(name: &str) -> String {
    let mut edges = Package::read(name).edges();
    edges.remove(&Module::new());
    edges.values_mut().for_each(|it| {
        it.remove(&Module::new());
    });
    by_floors(name, &edges)
}

/// Returns the crates by floors: each uses only crates of lower floors.
fn floors_of_crates() -> String {
    let names = crates();
    let mut edges = Edges::new();
    for name in &names {
        let manifest = tree::read(&format!("crates/{name}/Cargo.toml"));
        let (_, rest) = manifest.split_once("[dependencies]").unwrap_or_default();
        let own = rest.split("\n[").next().unwrap_or_default();
        let used = own.lines().filter_map(|it| it.split('.').next());
        let used = used.filter(|it| names.iter().any(|name| name == it));
        edges.insert(
            vec![name.clone()],
            used.map(|it| vec![it.to_owned()]).collect(),
        );
    }
    by_floors("crates", &edges)
}

fn by_floors(name: &str, edges: &Edges) -> String {
    let mut left = circles(edges);
    let (mut below, mut text) = (BTreeSet::new(), format!("**{name}**\n\n```text\n"));
    for floor in 1.. {
        let stands = |circle: &BTreeSet<Module>| {
            let mut used = circle.iter().flat_map(|it| &edges[it]);
            used.all(|it| circle.contains(it) || below.contains(it))
        };
        let (now, later): (Vec<_>, Vec<_>) = left.into_iter().partition(|it| stands(it));
        let names = now.iter().map(|circle| {
            let names: Vec<String> = circle.iter().map(|it| it.join("::")).collect();
            match names.as_slice() {
                [one] => one.clone(),
                several => format!("({})", several.join(" ")),
            }
        });
        let line = format!("{floor:>2}  {}", names.collect::<Vec<_>>().join(" "));
        text += &wrapped(&line);
        below.extend(now.into_iter().flatten());
        left = later;
        if left.is_empty() {
            break;
        }
    }
    text + "```\n"
}

/// Wraps a line at 96 characters, with later lines indented.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for word in line.split_inclusive(' ') {
        if width > 0 && width + word.trim_end().len() > 96 {
            text.truncate(text.trim_end().len());
            text += "\n    ";
            width = 4;
        }
        text += word;
        width += word.len();
    }
    text + "\n"
}

#[test]
fn the_floors_in_the_document_are_those_of_the_code() {
    let mut made = vec![floors_of_crates()];
    made.extend(crates().iter().map(|it| floors(it)));
    let made = format!("\n{}\n", made.join("\n"));
    let text = tree::read("ARCHITECTURE.md");
    let (before, rest) = text.split_once(BEGIN).expect("a place for the floors");
    let (found, after) = rest.split_once(END).expect("an end of the floors");
    if std::env::var_os(REWRITE).is_some() {
        let text = [before, BEGIN, &made, END, after].concat();
        fs::write(tree::root().join("ARCHITECTURE.md"), text).expect("written");
        return;
    }
    assert!(
        found == made,
        "ARCHITECTURE.md does not have the floors of the code; {REWRITE}=1 cargo test -p \
         pando-tests --test tidy writes them:\n{made}"
    );
}
