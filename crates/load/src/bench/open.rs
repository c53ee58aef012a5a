//! Opens the connections of a run before it begins.

use protocol::counted;

use super::connect::{ANSWER_TIME_MAX, NotBound, OpenFiles, raise_file_limit};
use super::member::{Link, Member};
use super::target::Targets;
use super::{BenchError, JobKind, Options};

/// The virtual clients of each thread, connected and bound.
pub(crate) struct Opened {
    /// Virtual clients by thread.
    pub members: Vec<Vec<Member>>,
    /// Number of virtual clients.
    pub count: usize,
    /// Reason why there are fewer connections than requested.
    pub fewer: Option<String>,
}

/// Opens the requested number of connections, or as many as this process and the server allow.
pub(crate) fn open(
    options: &Options,
    targets: &Targets,
    threads: usize,
) -> Result<Opened, BenchError> {
    let (asked, files) = (options.connections, raise_file_limit());
    let possible = possible(options, files);
    let mut why = files
        .filter(|_| possible < asked)
        .map(|OpenFiles { limit, .. }| format!("a process may open {limit} files"));
    if possible == 0 {
        let why = why.unwrap_or_default();
        return Err(BenchError::new(format!("no connection is possible: {why}")));
    }
    let mut members: Vec<Vec<Member>> = (0..threads).map(|_| Vec::new()).collect();
    let mut count = 0;
    for number in 0..possible {
        match member(options, targets, number) {
            Ok(member) => {
                members[number % threads].push(member);
                count += 1;
            }
            // The server is full; the open connections can still be measured.
            Err(NotBound::Refused(said)) if number >= threads => {
                why = Some(format!("the server said {said}"));
                break;
            }
            Err(NotBound::Refused(said)) => return Err(BenchError::new(said)),
            Err(NotBound::Failed(error)) => return Err(error),
        }
    }
    let fewer = |why| {
        format!(
            "{} instead of {asked}: {why}",
            counted(count as u64, "connection")
        )
    };
    Ok(Opened {
        members,
        count,
        fewer: why.map(fewer),
    })
}

/// Number of connections for which this process may open files, at most the requested number.
fn possible(options: &Options, files: Option<OpenFiles>) -> usize {
    let Some(OpenFiles { left, .. }) = files else {
        return options.connections;
    };
    let each = usize::from(searches_or_writes(options)) + usize::from(binds(options));
    options.connections.min(left / each.max(1))
}

/// Requests in flight for each connection: bind-only jobs are never pipelined.
pub(crate) fn depth(options: &Options) -> usize {
    if searches_or_writes(options) {
        options.depth
    } else {
        1
    }
}

/// Returns whether a virtual client has a connection for operations other than binds.
fn searches_or_writes(options: &Options) -> bool {
    options.mix.has(|kind| kind != JobKind::Bind)
}

/// Returns whether a virtual client has a connection for binds.
fn binds(options: &Options) -> bool {
    options
        .mix
        .has(|kind| matches!(kind, JobKind::Bind | JobKind::Auth))
}

/// Opens the connections of the virtual client with this number.
fn member(options: &Options, targets: &Targets, number: usize) -> Result<Member, NotBound> {
    let main = match searches_or_writes(options) {
        true => Some(link(options, targets, number, true)?),
        false => None,
    };
    let binder = match binds(options) {
        true => Some(link(options, targets, number + options.connections, false)?),
        false => None,
    };
    Ok(Member::new(main, binder, depth(options)))
}

/// Opens a connection to the server whose turn it is, or with failover to the first one after it
/// that can be connected to.
fn link(
    options: &Options,
    targets: &Targets,
    number: usize,
    bound: bool,
) -> Result<Link, NotBound> {
    let count = targets.count();
    let tries = if options.failover { count } else { 1 };
    let mut step = 0;
    loop {
        let target = (number % options.connections + step) % count;
        step += 1;
        match targets.open(target, number, bound, ANSWER_TIME_MAX) {
            Err(_) if step < tries => {}
            opened => return opened.map(|stream| Link::new(stream, target)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Mix;

    #[test]
    fn connections_are_as_many_as_there_are_files_for() {
        let files = |left| Some(OpenFiles { limit: 1024, left });
        let count = |mix: &str, asked: usize, files| {
            let mut options = Options::new("ldap://127.0.0.1", Mix::parse(mix).unwrap());
            options.connections = asked;
            possible(&options, files)
        };
        assert_eq!(count("search", 100, files(1000)), 100);
        assert_eq!(count("search", 2000, files(1000)), 1000);
        assert_eq!(count("bind", 2000, files(1000)), 1000);
        assert_eq!(count("mixed", 2000, files(1000)), 500);
        assert_eq!(count("auth", 2000, None), 2000);
    }
}
