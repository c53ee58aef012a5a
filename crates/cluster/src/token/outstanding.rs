//! The tokens that a node has given out: `tokens.json` in the folder `cluster`.
//!
//! The file is the truth. It has the hashes of tokens, those that were used too until they end, and
//! is read and replaced under a lock on the folder, by the node and by `pando cluster token` alike.

use super::{Secret, Token};
use crate::identity::Identity;
use crate::trouble::Trouble;
use replica::partial::Partial;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Name of the file in the folder `cluster`.
const FILE: &str = "tokens.json";
/// Version of the file.
const VERSION: u32 = 1;
/// Most tokens at a time.
const TOKENS_MAX: usize = 1_000;

/// The tokens of a node.
#[derive(Debug, Clone)]
pub struct Outstanding {
    folder: PathBuf,
}

/// Why a token does not serve.
#[derive(Debug, thiserror::Error)]
pub enum TokenRefused {
    /// The node knows no such token.
    #[error(
        "this node has not given out the token; give --from the node that `pando cluster token` \
         named, or make a token here with `pando cluster token DIR`"
    )]
    Unknown,
    /// A node has joined with it.
    #[error("the token was used before; make another with `pando cluster token DIR`")]
    Used,
    /// It has ended.
    #[error("the token is older than an hour; make another with `pando cluster token DIR`")]
    Expired,
    /// The file cannot be read or written.
    #[error("{0}")]
    Failed(#[from] Trouble),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    tokens: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// SHA-256 of the secret, in hexadecimal digits.
    sha256: String,
    /// Seconds since 1970.
    expires: u64,
    used: bool,
}

impl Outstanding {
    /// The tokens of the node with this identity.
    pub fn of(identity: &Identity) -> Outstanding {
        Outstanding {
            folder: identity.folder.clone(),
        }
    }

    /// Adds a token. `now` is the time since 1970.
    ///
    /// # Errors
    /// The file cannot be read or written, or has very many tokens.
    pub fn add(&self, token: &Token, now: Duration) -> Result<(), Trouble> {
        let lock = self.lock()?;
        let mut content = self.read()?;
        content.tokens.retain(|it| it.expires > now.as_secs());
        if content.tokens.len() >= TOKENS_MAX {
            return Err(Trouble::Refused(format!(
                "{}: expected less than {TOKENS_MAX} tokens of the last hour; try again later",
                self.path().display()
            )));
        }
        content.tokens.push(Row {
            sha256: hex(&token.secret.hash()),
            expires: token.expires,
            used: false,
        });
        self.write(&content, &lock)
    }

    /// Takes a token, so that it serves no second time. `now` is the time since 1970.
    ///
    /// # Errors
    /// The token does not serve; nothing is changed.
    pub fn take(&self, secret: &Secret, now: Duration) -> Result<(), TokenRefused> {
        let lock = self.lock()?;
        let mut content = self.read()?;
        let hash = hex(&secret.hash());
        let row = content.tokens.iter_mut().find(|it| it.sha256 == hash);
        let row = row.ok_or(TokenRefused::Unknown)?;
        if row.used {
            return Err(TokenRefused::Used);
        }
        if now.as_secs() >= row.expires {
            return Err(TokenRefused::Expired);
        }
        row.used = true;
        Ok(self.write(&content, &lock)?)
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// Waits until no other process has the file, and keeps others from it.
    fn lock(&self) -> Result<File, Trouble> {
        let locked = File::open(&self.folder).and_then(|folder| {
            folder.lock()?;
            Ok(folder)
        });
        locked.map_err(Trouble::file(&self.folder))
    }

    fn read(&self) -> Result<Content, Trouble> {
        let path = self.path();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Content {
                    version: VERSION,
                    tokens: Vec::new(),
                });
            }
            text => text.map_err(Trouble::file(&path))?,
        };
        let wrong = |found: String| Trouble::Content {
            path: path.clone(),
            field: "content".to_owned(),
            expected: "tokens as `pando cluster token` writes them (removing the file ends all)"
                .to_owned(),
            found,
        };
        let content: Content = serde_json::from_str(&text).map_err(|it| wrong(it.to_string()))?;
        match content.version {
            VERSION => Ok(content),
            other => Err(wrong(format!("version {other}"))),
        }
    }

    /// Writes the file; the lock is held by the caller.
    fn write(&self, content: &Content, _lock: &File) -> Result<(), Trouble> {
        let text = serde_json::to_string_pretty(content)
            .map_err(|error| Trouble::internal("writing tokens", error))?;
        let partial = Partial::file(&self.path()).map_err(Trouble::of)?;
        let written = partial.content().write_all(text.as_bytes());
        written.map_err(Trouble::file(partial.path()))?;
        partial.take_name().map_err(Trouble::of)
    }
}

fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::VALID;
    use std::path::Path;
    use tempfile::TempDir;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn outstanding(folder: &Path) -> Outstanding {
        Outstanding {
            folder: folder.to_path_buf(),
        }
    }

    #[test]
    fn a_token_serves_once_and_for_an_hour() {
        let folder = TempDir::new().unwrap();
        let tokens = outstanding(folder.path());
        let (one, late) = (Token::new([1; 32], NOW), Token::new([1; 32], NOW));
        let unknown = tokens.take(&one.secret, NOW).unwrap_err();
        assert!(matches!(unknown, TokenRefused::Unknown));
        tokens.add(&one, NOW).unwrap();
        tokens.add(&late, NOW).unwrap();
        tokens.take(&one.secret, NOW).unwrap();
        let used = tokens.take(&one.secret, NOW).unwrap_err();
        assert!(matches!(used, TokenRefused::Used), "{used}");
        let expired = tokens.take(&late.secret, NOW + VALID).unwrap_err();
        assert!(matches!(expired, TokenRefused::Expired), "{expired}");
        // What has ended is forgotten with the next token.
        tokens
            .add(&Token::new([1; 32], NOW + VALID), NOW + VALID)
            .unwrap();
        assert_eq!(tokens.read().unwrap().tokens.len(), 1);
        let text = fs::read_to_string(tokens.path()).unwrap();
        assert!(!text.contains(&late.secret.reveal()), "{text}");
    }

    #[test]
    fn of_many_that_take_a_token_at_once_one_gets_it() {
        let folder = TempDir::new().unwrap();
        let tokens = outstanding(folder.path());
        let token = Token::new([1; 32], NOW);
        tokens.add(&token, NOW).unwrap();
        let taken = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| tokens.take(&token.secret, NOW).is_ok()))
                .collect();
            threads
                .into_iter()
                .map(|it| it.join().unwrap())
                .filter(|it| *it)
                .count()
        });
        assert_eq!(taken, 1);
    }

    #[test]
    fn a_file_of_something_else_is_named() {
        let folder = TempDir::new().unwrap();
        let tokens = outstanding(folder.path());
        fs::write(tokens.path(), "{\"version\":9,\"tokens\":[]}").unwrap();
        let token = Token::new([1; 32], NOW);
        let said = tokens.add(&token, NOW).unwrap_err().to_string();
        assert!(said.contains("tokens.json: content: expected"), "{said}");
        assert!(said.ends_with("got version 9"), "{said}");
    }
}
