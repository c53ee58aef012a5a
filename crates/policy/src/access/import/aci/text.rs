//! The text of an instruction: `(target="…")(targetattr="…")(version 3.0; acl "…"; allow (…) …;)`.

/// An instruction.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// What stands before the version, in its order.
    pub(super) parts: Vec<Comparison>,
    pub(super) permissions: Vec<Permission>,
}

/// A comparison of a keyword with a text in quotation marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    /// The keyword, in lower case.
    pub(super) keyword: String,
    /// `=`, `!=`, `>=`, …
    pub(super) operator: String,
    pub(super) value: String,
}

/// What an instruction allows or denies, and to whom.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Permission {
    pub(super) denies: bool,
    /// Words for rights, in lower case.
    pub(super) rights: Vec<String>,
    pub(super) bind: Bind,
}

/// A bind rule: for whom a permission is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bind {
    One(Comparison),
    Not(Box<Bind>),
    And(Vec<Bind>),
    Or(Vec<Bind>),
}

/// Nesting of parentheses and `not` in a bind rule at most. It becomes a subject, which nests a
/// little deeper.
const DEPTH_MAX: u8 = 24;

impl Instruction {
    /// Reads an instruction; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Instruction> {
        let mut reader = Reader { rest: text };
        let mut parts = Vec::new();
        loop {
            reader.take("(")?;
            if reader.take("version").is_some() {
                break;
            }
            parts.push(reader.comparison()?);
            reader.take(")")?;
        }
        reader.take("3.0")?;
        reader.take(";")?;
        reader.take("acl")?;
        reader.quoted()?;
        reader.take(";")?;
        let mut permissions = Vec::new();
        while reader.take(")").is_none() {
            permissions.push(reader.permission()?);
            reader.take(";")?;
        }
        let whole = reader.rest.trim().is_empty() && !permissions.is_empty();
        whole.then_some(Instruction { parts, permissions })
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// Takes a sign or a word, in any case.
    fn take(&mut self, word: &str) -> Option<()> {
        let rest = self.rest.trim_start();
        let found = rest.get(..word.len())?.eq_ignore_ascii_case(word);
        let after = &rest[word.len().min(rest.len())..];
        let is_word = word.ends_with(|it: char| it.is_ascii_alphabetic());
        let goes_on = is_word && after.starts_with(|it: char| it.is_ascii_alphanumeric());
        (found && !goes_on).then(|| self.rest = after)
    }

    fn word(&mut self) -> Option<String> {
        let rest = self.rest.trim_start();
        let ends = |it: char| !(it.is_ascii_alphanumeric() || matches!(it, '_' | '-'));
        let length = rest.find(ends).unwrap_or(rest.len());
        self.rest = &rest[length..];
        (length > 0).then(|| rest[..length].to_ascii_lowercase())
    }

    fn quoted(&mut self) -> Option<&'t str> {
        let (text, after) = self.rest.trim_start().strip_prefix('"')?.split_once('"')?;
        self.rest = after;
        Some(text)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let keyword = self.word()?;
        let rest = self.rest.trim_start();
        let length = rest.find(|it| !matches!(it, '=' | '!' | '<' | '>'))?;
        let operator = rest[..length].to_owned();
        self.rest = &rest[length..];
        let value = self.quoted()?.trim().to_owned();
        let known = matches!(operator.as_str(), "=" | "!=" | "<" | ">" | "<=" | ">=");
        known.then_some(Comparison {
            keyword,
            operator,
            value,
        })
    }

    fn permission(&mut self) -> Option<Permission> {
        let denies = self.take("deny").is_some();
        if !denies {
            self.take("allow")?;
        }
        self.take("(")?;
        let mut rights = vec![self.word()?];
        while self.take(",").is_some() {
            rights.push(self.word()?);
        }
        self.take(")")?;
        let bind = self.bind(DEPTH_MAX)?;
        Some(Permission {
            denies,
            rights,
            bind,
        })
    }

    fn bind(&mut self, depth_max: u8) -> Option<Bind> {
        let mut any = Vec::new();
        loop {
            let mut all = vec![self.unit(depth_max)?];
            while self.take("and").is_some() {
                all.push(self.unit(depth_max)?);
            }
            any.push(match all.len() {
                1 => all.remove(0),
                _ => Bind::And(all),
            });
            if self.take("or").is_none() {
                break;
            }
        }
        Some(match any.len() {
            1 => any.remove(0),
            _ => Bind::Or(any),
        })
    }

    fn unit(&mut self, depth_max: u8) -> Option<Bind> {
        let depth_max = depth_max.checked_sub(1)?;
        if self.take("not").is_some() {
            return Some(Bind::Not(Box::new(self.unit(depth_max)?)));
        }
        if self.take("(").is_none() {
            return Some(Bind::One(self.comparison()?));
        }
        let inner = self.bind(depth_max)?;
        self.take(")")?;
        Some(inner)
    }
}
