//! A page as commands to type: in order, each with its printed output.

/// The blocks of a page and the mistakes in it.
#[derive(Default)]
pub struct Page {
    /// Blocks in the order of the page.
    pub steps: Vec<Step>,
    /// Line and text of each mistake in the page itself.
    pub mistakes: Vec<(usize, String)>,
}

/// A block of a page, or a comment in its source.
pub enum Step {
    /// Commands in a comment that prepare what the page assumes.
    Prepare(Block),
    /// A block visible to readers.
    Run(Block),
    /// A block that cannot be run here.
    LeftOut {
        /// Line of the block in the page, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

impl Step {
    /// Returns whether the block has commands.
    pub fn is_run(&self) -> bool {
        !matches!(self, Step::LeftOut { .. })
    }
}

/// Commands of one block.
pub struct Block {
    /// Commands in order.
    pub commands: Vec<Command>,
}

/// A command to type.
pub struct Command {
    /// Line of the command in the page, from 1.
    pub line: usize,
    /// The command without its prompt, with here documents and continued lines.
    pub text: String,
    /// The printed output below it.
    pub output: Vec<String>,
}

impl Command {
    /// Whether the page shows that the command fails.
    pub fn shows_a_failure(&self) -> bool {
        let begins = |line: &String| {
            ["pando: ", "ldap_", "result: "]
                .iter()
                .any(|it| line.starts_with(it))
        };
        self.output.iter().any(begins)
    }
}

/// The meaning of the comment before a block.
enum Marker {
    NotRun(String),
    /// Texts in the block, each with its replacement.
    RunWith(Vec<(String, String)>),
    /// The printed output is that of another server.
    OtherOutput,
}

/// Command that applies an `ldif` block.
const LDAPMODIFY: &str = "ldapmodify -a -x -H ldap://127.0.0.1:1389 \
     -D cn=admin,dc=example,dc=com -y password.txt <<'END-OF-BLOCK'";

impl Page {
    /// Parses a page in Markdown.
    pub fn parse(text: &str) -> Self {
        let mut page = Page::default();
        let mut marker = None;
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        while let Some((number, line)) = lines.next() {
            if let Some(comment) = line.trim().strip_prefix("<!--") {
                let mut comment = comment.to_owned();
                while !comment.contains("-->") {
                    let Some((_, more)) = lines.next() else { break };
                    comment = comment + "\n" + more;
                }
                marker = page.comment(number, comment.trim_end().trim_end_matches("-->"));
            } else if let Some(language) = line.trim().strip_prefix("```") {
                let indent = line.len() - line.trim_start().len();
                let content: Vec<&str> = lines
                    .by_ref()
                    .map(|(_, line)| line.get(indent..).unwrap_or(""))
                    .take_while(|line| !line.starts_with("```"))
                    .collect();
                page.block(number, language, &content, marker.take());
            } else if !line.trim().is_empty() && marker.take().is_some() {
                page.mistake(number, "a comment about a block stands before none");
            }
        }
        page
    }

    fn mistake(&mut self, line: usize, text: impl Into<String>) {
        self.mistakes.push((line, text.into()));
    }

    /// Parses a comment at line `line`; `None` when it does not concern the next block.
    fn comment(&mut self, line: usize, comment: &str) -> Option<Marker> {
        let comment = comment.trim();
        if let Some(commands) = comment.strip_prefix("first:") {
            let mut is_continued = false;
            let mut typed = Vec::new();
            for line in commands.trim().lines() {
                typed.push(format!("{}{line}", if is_continued { "" } else { "$ " }));
                is_continued = line.ends_with('\\');
            }
            let commands = self.console(line, &typed);
            self.steps.push(Step::Prepare(Block { commands }));
            None
        } else if let Some(reason) = comment.strip_prefix("not run:") {
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            if reason.is_empty() {
                self.mistake(line, "`not run:` without a reason");
            }
            Some(Marker::NotRun(reason))
        } else if let Some(pairs) = comment.strip_prefix("run with:") {
            let mut replaced = Vec::new();
            for pair in pairs.split(';') {
                match pair.split_once('→') {
                    Some((old, new)) => replaced.push((old.trim().into(), new.trim().into())),
                    None => self.mistake(line, "`run with:` expects OLD → NEW; …"),
                }
            }
            Some(Marker::RunWith(replaced))
        } else if let Some(reason) = comment.strip_prefix("other output:") {
            if reason.trim().is_empty() {
                self.mistake(line, "`other output:` without a reason");
            }
            Some(Marker::OtherOutput)
        } else {
            self.mistake(
                line,
                "expected `first:`, `not run:`, `run with:` or `other output:`",
            );
            None
        }
    }

    fn block(&mut self, line: usize, language: &str, content: &[&str], marker: Option<Marker>) {
        let is_run = matches!(language, "console" | "ldif");
        if language.is_empty() || language == "sh" {
            self.mistake(line, "expected the kind of the block, such as ```console");
        }
        let has_other_output = matches!(marker, Some(Marker::OtherOutput));
        let mut content: Vec<String> = content.iter().map(|&it| it.to_owned()).collect();
        match marker {
            Some(_) if !is_run => {
                self.mistake(
                    line,
                    "a comment about a block stands before one not run anyway",
                );
            }
            Some(Marker::NotRun(reason)) => {
                self.steps.push(Step::LeftOut { line, reason });
                return;
            }
            Some(Marker::RunWith(replaced)) => {
                for (old, new) in replaced {
                    if !content.iter().any(|it| it.contains(&old)) {
                        self.mistake(line, format!("`run with:` names {old:?}, not in the block"));
                    }
                    for text in &mut content {
                        *text = text.replace(&old, &new);
                    }
                }
            }
            Some(Marker::OtherOutput) | None => {}
        }
        let mut commands = match language {
            "console" => self.console(line, &content),
            "ldif" => vec![Command {
                line,
                text: format!("{LDAPMODIFY}\n{}\nEND-OF-BLOCK", content.join("\n")),
                output: Vec::new(),
            }],
            _ => return,
        };
        if has_other_output {
            commands.iter_mut().for_each(|it| it.output.clear());
        }
        self.steps.push(Step::Run(Block { commands }));
    }

    /// Parses commands behind `$ `, each with its output.
    fn console(&mut self, line: usize, content: &[String]) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        // The word that ends the here document of the current command; empty for a continued line.
        let mut open: Option<String> = None;
        for (text, line) in content.iter().zip(line + 1..) {
            if let Some(word) = open.take() {
                let command = commands.last_mut().expect("a command was begun");
                command.text = format!("{}\n{text}", command.text);
                open = match word.as_str() {
                    "" => still_open(text),
                    _ if text == &word => None,
                    _ => Some(word),
                };
            } else if let Some(typed) = text.strip_prefix("$ ") {
                open = still_open(typed);
                commands.push(Command {
                    line,
                    text: typed.to_owned(),
                    output: Vec::new(),
                });
            } else if let Some(command) = commands.last_mut() {
                command.output.push(text.clone());
            } else {
                self.mistake(line, "output before the first command of a `console` block");
            }
        }
        commands
    }
}

/// Returns how a command continues after this line: up to the word that ends its here document, or
/// to the next line (empty). `None` when the line is its end.
fn still_open(line: &str) -> Option<String> {
    if line.ends_with('\\') {
        return Some(String::new());
    }
    let (_, word) = line.split_once("<<")?;
    let word = word.split_whitespace().next()?;
    Some(word.trim_matches('\'').to_owned())
}
