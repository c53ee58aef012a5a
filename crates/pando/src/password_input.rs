//! Passwords for commands: the first line of a file, or typed on the terminal.

use crate::report::Problem;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

/// The first line of `file`, or of standard input when `file` is `-`, without its line end.
pub fn first_line(file: &Path) -> Result<Vec<u8>, Problem> {
    let mut line = Vec::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().read_until(b'\n', &mut line)
    } else {
        std::fs::File::open(file)
            .and_then(|it| std::io::BufReader::new(it).read_until(b'\n', &mut line))
    };
    read.map_err(|error| Problem::file(file, error))?;
    while line
        .last()
        .is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
    {
        line.pop();
    }
    Ok(line)
}

/// Asks for a password on the terminal, twice, and shows nothing while it is typed. `prompt` says
/// whose password it is; `ways` names, for the error message, the ways to give the password without
/// a terminal.
///
/// # Errors
/// Standard input is no terminal, or the two passwords differ.
pub fn ask(prompt: &str, ways: &str) -> Result<Vec<u8>, Problem> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(Problem::usage(format_args!(
            "{prompt}: there is no terminal to ask on; {ways}"
        )));
    }
    let hidden = hide_input();
    let mut answers = Vec::new();
    for prompt in [prompt, "Again"] {
        let mut error = std::io::stderr().lock();
        write!(error, "{prompt}: ")?;
        error.flush()?;
        let mut line = String::new();
        input.lock().read_line(&mut line)?;
        writeln!(error)?;
        answers.push(line.trim_end_matches(['\r', '\n']).as_bytes().to_vec());
    }
    drop(hidden);
    if answers[0] != answers[1] {
        return Err(Problem::usage("the two passwords differ"));
    }
    Ok(answers.swap_remove(0))
}

/// Switches the terminal's echo off until the value returned is dropped.
fn hide_input() -> impl Drop {
    struct Hidden(Option<rustix::termios::Termios>);
    impl Drop for Hidden {
        fn drop(&mut self) {
            if let Some(before) = &self.0 {
                let now = rustix::termios::OptionalActions::Now;
                let _ = rustix::termios::tcsetattr(std::io::stdin(), now, before);
            }
        }
    }
    let before = rustix::termios::tcgetattr(std::io::stdin()).ok();
    if let Some(before) = &before {
        let mut silent = before.clone();
        silent.local_modes -= rustix::termios::LocalModes::ECHO;
        let now = rustix::termios::OptionalActions::Now;
        let _ = rustix::termios::tcsetattr(std::io::stdin(), now, &silent);
    }
    Hidden(before)
}
