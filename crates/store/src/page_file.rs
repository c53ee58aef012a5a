//! The database file read as plain file: its pages are checked before LMDB walks over them.
//!
//! LMDB trusts its pages. A page missing at the end of a truncated file, or with offsets outside of
//! itself, ends the process with a signal. Here each page is read into memory, and every offset is
//! compared with the page's bounds, so no file makes this crash.
//!
//! Invariant: LMDB walks over a file without problems here without a fault: every reachable page
//! lies within the file, is of the expected kind, and has its nodes within its bounds.
//! [`crate::check()`] compares the content of rows.

mod entries;
mod page;

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::data_folder::DATABASE_FILE;
use crate::error::Error;
use crate::journal::checkpoint;
use crate::page_layout::{
    DEPTH_MAX, HEADER_BYTES, META_AT, META_BYTES, META_FREE_TREE_AT, META_LAST_PAGE_AT, META_MAGIC,
    META_MAIN_TREE_AT, META_PAGE_SIZE_AT, META_TRANSACTION_AT, NO_PAGE, NODE_ITEMS, NODE_OVERFLOW,
    NODE_TREE, PAGE_BRANCH, PAGE_FIXED_ITEMS, PAGE_INNER, PAGE_LEAF, PAGE_OVERFLOW, TREE_BYTES,
    u16_at, u32_at, u64_at,
};
use crate::state::{STATE_KEY, State};
use entries::Entries;
use page::{Node, Page, inner_is_sound};

/// Problems kept as text; further ones are only counted.
const PROBLEMS_MAX: usize = 100;
/// More pages than a file system has room for, and few enough that bytes can be counted in 64 bits.
const PAGES_MAX: u64 = 1 << 44;
/// The flag bits that give the kind of a page.
const KINDS: u16 = PAGE_BRANCH | PAGE_LEAF | PAGE_OVERFLOW | PAGE_FIXED_ITEMS | PAGE_INNER;

/// Problems of the pages of a file; none in a file that can be read safely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageProblems {
    /// The first problems, as text for people.
    pub words: Vec<String>,
    /// Number of all problems.
    pub count: u64,
    /// Number of sound entries. Only counted when there are problems.
    pub entries: u64,
}

impl PageProblems {
    fn add(&mut self, problem: impl FnOnce() -> String) {
        self.count += 1;
        if self.words.len() < PROBLEMS_MAX {
            self.words.push(problem());
        }
    }
}

/// Checks the pages of a folder's database, in the state that the next start begins with, or in
/// that of a transaction whose snapshot the caller holds. If there are problems, the checksums of
/// all reachable entries are compared.
///
/// # Errors
/// [`Error::DamagedFile`] when the file has no state to check, or an error of the operating system.
pub(crate) fn examine(folder: &Path, transaction: Option<u64>) -> Result<PageProblems, Error> {
    let file = PageFile::open_as(folder, transaction.map_or(Which::Next, Which::Of))?;
    let mut walk = Walk::new(&file);
    walk.tree("free pages", &file.free, 0)?;
    walk.tables()?;
    let mut problems = walk.problems;
    if problems.count > 0 {
        compare_entries(&file, &mut problems)?;
    }
    Ok(problems)
}

/// Compares the reachable entries with their checksums, and adds problems of theirs.
fn compare_entries(file: &PageFile, problems: &mut PageProblems) -> Result<(), Error> {
    let mut walk = Walk::new(file);
    walk.entries = Some(Entries::default());
    // The first walk has reported the problems of pages.
    walk.tables()?;
    let entries = walk.entries.unwrap_or_default();
    for damaged in &entries.damaged {
        problems.add(|| match damaged {
            Some(id) => format!("entry {id} is damaged: its checksum does not fit what is stored"),
            None => "an entry is damaged: its id cannot be read".to_owned(),
        });
    }
    problems.entries = entries.sound;
    let state = file.value("meta", STATE_KEY);
    let Some(Ok(state)) = state.map(|it| State::decode(&it)) else {
        problems.add(|| "the number of entries cannot be read".to_owned());
        return Ok(());
    };
    let met = entries.sound + entries.damaged.len() as u64;
    if met != state.entries {
        let counted = state.entries;
        problems.add(|| format!("the state counts {counted} entries, {met} can be reached"));
    }
    Ok(())
}

/// Refuses a database file that is empty, not LMDB's, or shorter than its pages need. Costs nothing
/// for a file of the length that it states.
///
/// # Errors
/// [`Error::DamagedFile`], or an error of the operating system.
pub(crate) fn refuse_truncated(folder: &Path) -> Result<(), Error> {
    let file = PageFile::open_as(folder, Which::Next)?;
    if file.length / file.page_bytes > file.last_page {
        return Ok(());
    }
    // The last pages may have been freed before they were ever written.
    let mut walk = Walk::new(&file);
    walk.keeps_free = true;
    walk.tree("free pages", &file.free, 0)?;
    let missing = file.length / file.page_bytes..file.last_page.saturating_add(1);
    let missed = missing.clone().find(|page| !walk.free.contains(page));
    if missed.is_none() && walk.problems.count == 0 {
        return Ok(());
    }
    Err(file.damaged(format!(
        "it has {} bytes instead of {}: its end is missing",
        file.length,
        missing.end.saturating_mul(file.page_bytes)
    )))
}

/// Returns the value of a key in a table, in the newest state that the file names; `None` when it
/// cannot be read: after a power cut that state may lead to pages that were never written.
pub(crate) fn newest_value(folder: &Path, table: &str, key: &[u8]) -> Option<Vec<u8>> {
    value_in(folder, Which::Newest, table, key)
}

/// Returns the value of a key in a table, in the state that the next start begins with.
pub(crate) fn next_value(folder: &Path, table: &str, key: &[u8]) -> Option<Vec<u8>> {
    value_in(folder, Which::Next, table, key)
}

fn value_in(folder: &Path, which: Which, table: &str, key: &[u8]) -> Option<Vec<u8>> {
    let file = PageFile::open_as(folder, which).ok()?;
    file.value(table, key)
}

impl PageFile {
    /// Returns the value of a key in a table, if it can be read and stands in its leaf.
    fn value(&self, table: &str, key: &[u8]) -> Option<Vec<u8>> {
        let mut walk = Walk::new(self);
        let record = walk.value(TABLE_OF_TABLES, &self.main, table.as_bytes());
        let tree = TreeRecord::decode(&record.ok()??)?;
        walk.value(table, &tree, key).ok()?
    }
}

/// Selects a state of a file.
#[derive(Debug, Clone, Copy)]
enum Which {
    /// The state that the next start begins with.
    Next,
    /// The newest state.
    Newest,
    /// The state of a transaction.
    Of(u64),
}

/// A file, opened at one of its states.
#[derive(Debug)]
struct PageFile {
    path: PathBuf,
    file: File,
    /// Length of the file and of a page, in bytes.
    length: u64,
    page_bytes: u64,
    last_page: u64,
    free: TreeRecord,
    main: TreeRecord,
}

/// LMDB's record of a tree.
#[derive(Debug, Clone, Copy)]
struct TreeRecord {
    root: u64,
    depth: u16,
}

impl TreeRecord {
    fn decode(bytes: &[u8]) -> Option<TreeRecord> {
        let bytes = bytes.get(..TREE_BYTES)?;
        Some(TreeRecord {
            depth: u16_at(bytes, 6)?,
            root: u64_at(bytes, 40)?,
        })
    }
}

impl PageFile {
    fn open_as(folder: &Path, which: Which) -> Result<PageFile, Error> {
        let path = folder.join(DATABASE_FILE);
        let file = File::open(&path).map_err(Error::system("opening the database file"))?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(Error::system("reading a file's size"))?;
        let damaged = |detail: &str| Error::DamagedFile {
            file: path.clone(),
            detail: detail.to_owned(),
        };
        let length = metadata.len();
        if length == 0 {
            return Err(damaged("it is empty"));
        }
        let none = "it does not begin with a meta page of LMDB";
        let first = read_meta(&file, 0);
        // The second meta page has the page size as well, but its offset depends on it.
        let page_bytes = first.map(|it| page_size(&it)).unwrap_or(Some(4096));
        let page_bytes = page_bytes.ok_or_else(|| damaged(none))?;
        let second = read_meta(&file, page_bytes).filter(|it| page_size(it) == Some(page_bytes));
        let newest = || {
            let both = first.into_iter().chain(second);
            both.max_by_key(|it| u64_at(it, META_TRANSACTION_AT))
        };
        let meta = match which {
            Which::Of(wanted) => {
                let mut both = first.into_iter().chain(second);
                both.find(|it| u64_at(it, META_TRANSACTION_AT) == Some(wanted))
                    .ok_or_else(|| Error::conflict("the state to check has been overwritten"))?
            }
            Which::Newest => newest().ok_or_else(|| damaged(none))?,
            Which::Next => {
                let of_checkpoint = checkpoint::meta(folder).unwrap_or_default();
                of_checkpoint.or_else(newest).ok_or_else(|| damaged(none))?
            }
        };
        let tree = |at: usize| TreeRecord::decode(meta.get(at..).unwrap_or_default());
        let trees = tree(META_FREE_TREE_AT).zip(tree(META_MAIN_TREE_AT));
        let (free, main) = trees.ok_or_else(|| damaged(none))?;
        let last_page = u64_at(&meta, META_LAST_PAGE_AT).filter(|it| *it < PAGES_MAX);
        Ok(PageFile {
            last_page: last_page
                .ok_or_else(|| damaged("it names more pages than a file can have"))?,
            path,
            file,
            length,
            page_bytes,
            free,
            main,
        })
    }

    /// Number of pages of the state that are in the file.
    fn pages(&self) -> u64 {
        (self.length / self.page_bytes).min(self.last_page.saturating_add(1))
    }

    fn damaged(&self, detail: String) -> Error {
        Error::DamagedFile {
            file: self.path.clone(),
            detail,
        }
    }
}

/// A walk over all pages of a state, with the problems met.
struct Walk<'f> {
    file: &'f PageFile,
    problems: PageProblems,
    /// Entries met; `None` unless they are compared.
    entries: Option<Entries>,
    /// One bit for each page that was met.
    met: Vec<u64>,
    /// Pages of the free list, if they are collected.
    free: HashSet<u64>,
    keeps_free: bool,
    /// Name and tree of each table met in the table of tables.
    tables: Vec<(String, TreeRecord)>,
}

impl<'f> Walk<'f> {
    fn new(file: &'f PageFile) -> Walk<'f> {
        Walk {
            file,
            problems: PageProblems::default(),
            entries: None,
            met: Vec::new(),
            free: HashSet::new(),
            keeps_free: false,
            tables: Vec::new(),
        }
    }

    /// Walks over the table of tables and each table.
    fn tables(&mut self) -> Result<(), Error> {
        self.tree(TABLE_OF_TABLES, &self.file.main.clone(), 0)?;
        for (name, tree) in std::mem::take(&mut self.tables) {
            self.tree(&name, &tree, 0)?;
        }
        Ok(())
    }

    /// Looks up the value of a key, if it stands in its leaf.
    fn value(
        &mut self,
        table: &str,
        tree: &TreeRecord,
        wanted: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut number = tree.root;
        for _ in 0..DEPTH_MAX {
            let Some(page) = self.page(table, number)? else {
                return Ok(None);
            };
            let key = |at| page.node(at).map_or(&[][..], |(_, key)| key);
            if page.flags() & PAGE_BRANCH == 0 {
                let nodes = (0..page.count()).filter_map(|at| page.leaf_node(at));
                let mut found =
                    nodes.filter(|it| it.key == wanted && it.flags & NODE_OVERFLOW == 0);
                return Ok(found.next().map(|it| it.data.to_vec()));
            }
            // The first child of a branch page holds everything below its second key.
            let behind = (1..page.count())
                .take_while(|at| key(*at) <= wanted)
                .count();
            match page.children().and_then(|it| it.get(behind).copied()) {
                Some(child) => number = child,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Walks over a tree. `inside` counts the enclosing trees: the items of a key may form one.
    fn tree(&mut self, table: &str, tree: &TreeRecord, inside: usize) -> Result<(), Error> {
        if tree.root == NO_PAGE {
            return Ok(());
        }
        let mut waiting = vec![(tree.root, 1_usize)];
        while let Some((number, level)) = waiting.pop() {
            let Some(page) = self.page(table, number)? else {
                continue;
            };
            let is_branch = page.flags() & PAGE_BRANCH != 0;
            if level > DEPTH_MAX || is_branch != (level < usize::from(tree.depth)) {
                let depth = tree.depth;
                self.add(
                    table,
                    number,
                    format!("is at level {level} of a tree of {depth}"),
                );
                continue;
            }
            match is_branch {
                true => match page.children() {
                    Some(children) => {
                        waiting.extend(children.into_iter().rev().map(|it| (it, level + 1)));
                    }
                    None => self.add(table, number, "has nodes outside of itself".to_owned()),
                },
                false => self.leaf(table, &page, inside)?,
            }
        }
        Ok(())
    }

    fn leaf(&mut self, table: &str, page: &Page, inside: usize) -> Result<(), Error> {
        if page.flags() & PAGE_FIXED_ITEMS != 0 {
            if page.fixed_items().is_none() {
                self.add(table, page.number, "has items outside of itself".to_owned());
            }
            return Ok(());
        }
        for at in 0..page.count() {
            let Some(node) = page.leaf_node(at) else {
                self.add(table, page.number, "has nodes outside of itself".to_owned());
                return Ok(());
            };
            let data = match node.flags {
                NODE_OVERFLOW => self.overflow(table, page.number, &node)?,
                0 => Some(node.data.to_vec()),
                NODE_ITEMS if inner_is_sound(node.data) => None,
                NODE_TREE if table == TABLE_OF_TABLES => {
                    let name = String::from_utf8_lossy(node.key).into_owned();
                    let tree = TreeRecord::decode(node.data);
                    self.tables.extend(tree.map(|tree| (name, tree)));
                    None
                }
                flags if flags == NODE_ITEMS | NODE_TREE && inside == 0 => {
                    match TreeRecord::decode(node.data) {
                        Some(tree) => self.tree(table, &tree, 1)?,
                        None => self.add(
                            table,
                            page.number,
                            "has an incomplete record of a tree".to_owned(),
                        ),
                    }
                    None
                }
                _ => {
                    self.add(table, page.number, "has a row of no known kind".to_owned());
                    return Ok(());
                }
            };
            let Some(data) = data else {
                continue;
            };
            if let Some(entries) = &mut self.entries
                && table == ENTRY_TABLE
            {
                entries.meet(node.key, &data);
            }
            if self.keeps_free {
                // A row of the free list is a count, and as many page numbers.
                let numbers = data.chunks_exact(8).skip(1).filter_map(|it| u64_at(it, 0));
                self.free.extend(numbers);
            }
        }
        Ok(())
    }

    /// Checks the pages of a large value. Returns the value if it is wanted.
    fn overflow(
        &mut self,
        table: &str,
        of: u64,
        node: &Node<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let first = u64_at(node.data, 0).unwrap_or(NO_PAGE);
        let bytes = HEADER_BYTES as u64 + node.length as u64;
        let pages = bytes.div_ceil(self.file.page_bytes);
        let end = first.checked_add(pages);
        let end = end.filter(|end| first >= 2 && *end <= self.file.pages());
        let Some(end) = end else {
            self.add(
                table,
                of,
                format!("leads to page {first}, which is not in the file"),
            );
            return Ok(None);
        };
        let mut header = [0; HEADER_BYTES];
        self.read(&mut header, first * self.file.page_bytes)?;
        let held = u32_at(&header, 12).map_or(0, u64::from);
        let sound = u64_at(&header, 0) == Some(first)
            && u16_at(&header, 10).is_some_and(|it| it & KINDS == PAGE_OVERFLOW)
            && held >= pages;
        if !sound {
            self.add(
                table,
                first,
                "is not the large value it should be".to_owned(),
            );
            return Ok(None);
        }
        for page in first..end {
            self.meet(table, page);
        }
        if !self.keeps_free && (self.entries.is_none() || table != ENTRY_TABLE) {
            return Ok(None);
        }
        let mut value = vec![0; node.length];
        self.read(
            &mut value,
            first * self.file.page_bytes + HEADER_BYTES as u64,
        )?;
        Ok(Some(value))
    }

    /// Reads a page of a tree; `None` if it is none.
    fn page(&mut self, table: &str, number: u64) -> Result<Option<Page>, Error> {
        let page_bytes = self.file.page_bytes;
        if number < 2 || number >= self.file.pages() {
            self.add(table, number, "is not in the file".to_owned());
            return Ok(None);
        }
        let mut bytes = vec![0; page_bytes as usize];
        self.read(&mut bytes, number * page_bytes)?;
        let page = Page { number, bytes };
        let kind = page.flags() & KINDS;
        let known = matches!(kind, PAGE_BRANCH | PAGE_LEAF) || kind == PAGE_LEAF | PAGE_FIXED_ITEMS;
        if !known || u64_at(&page.bytes, 0) != Some(number) || !page.bounds_hold() {
            self.add(table, number, "is not a page of a tree".to_owned());
            return Ok(None);
        }
        Ok(self.meet(table, number).then_some(page))
    }

    /// Notes that a page was met; `false` if it was met before.
    fn meet(&mut self, table: &str, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.met.len() <= word {
            self.met.resize(word + 1, 0);
        }
        let first = self.met[word] & bit == 0;
        self.met[word] |= bit;
        if !first {
            self.add(table, number, "is used twice".to_owned());
        }
        first
    }

    fn read(&self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        let read = self.file.file.read_exact_at(bytes, at);
        read.map_err(Error::system("reading the database file"))
    }

    fn add(&mut self, table: &str, number: u64, problem: String) {
        self.problems
            .add(|| format!("table {table}: page {number} {problem}"));
    }
}

/// Name of the table of entries.
const ENTRY_TABLE: &str = "entry";
/// Name of the table of tables in problems.
const TABLE_OF_TABLES: &str = "of tables";

/// Reads the meta record of the page at this byte offset, if it is one.
fn read_meta(file: &File, page: u64) -> Option<[u8; META_BYTES]> {
    let mut meta = [0; META_BYTES];
    file.read_exact_at(&mut meta, page + META_AT).ok()?;
    meta.starts_with(&META_MAGIC.to_ne_bytes()).then_some(meta)
}

fn page_size(meta: &[u8; META_BYTES]) -> Option<u64> {
    let bytes = u32_at(meta, META_PAGE_SIZE_AT)?;
    let usual = bytes.is_power_of_two() && (512..=65_536).contains(&bytes);
    usual.then_some(u64::from(bytes))
}
