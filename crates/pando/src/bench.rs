//! `pando bench`: loads a server and measures it.

use crate::cli::{Bench, BenchScope};
use crate::password_input::first_line;
use crate::report::{Problem, note, say};
use load::bench::{AddSource, Converge, Mix, Options, Scope, SearchJob};
use load::template::{Defines, Generator, Template};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// Runs the job and prints the report; exit status 1 if a response was not as expected.
pub fn bench(it: &Bench) -> Result<(), Problem> {
    let options = options(it)?;
    let live = std::io::stderr().is_terminal();
    let report = load::bench::run(&options, &mut |second| {
        if live {
            note(format_args!(
                "{:>4} s {:>10} operations/s  p50 {:>8.0} µs  p99 {:>8.0} µs  {} failed",
                second.second, second.operations, second.p50_us, second.p99_us, second.failures
            ));
        }
    })
    .map_err(Problem::failed)?;
    say(report.text())?;
    if let Some(path) = &it.json {
        write(path, &report.json())?;
    }
    if let Some(path) = &it.html {
        write(path, &report.html())?;
    }
    if report.is_clean() {
        return Ok(());
    }
    Err(Problem::failed(
        "not every answer was as expected: see the report",
    ))
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    std::fs::write(path, text).map_err(|error| Problem::file(path, error))
}

fn options(it: &Bench) -> Result<Options, Problem> {
    let mix = Mix::parse(&it.job).map_err(Problem::usage)?;
    let expect_entries = match it.expect_entries.as_str() {
        "any" => None,
        text => Some(text.parse().map_err(|_| {
            Problem::usage(format_args!(
                "--expect-entries: expected a number or any, got {text}"
            ))
        })?),
    };
    let mut options = Options::new("", mix);
    options.urls.clone_from(&it.url);
    options.failover = it.failover;
    if it.converge {
        options.converge = Some(Converge {
            base: it.converge_base.clone(),
            within: seconds("--converge-within", it.converge_within)?,
        });
    }
    options.search = SearchJob {
        base: it.base.clone(),
        scope: match it.scope {
            BenchScope::Base => Scope::Base,
            BenchScope::One => Scope::One,
            BenchScope::Sub => Scope::Subtree,
        },
        filter: it.filter.clone(),
        attributes: it.attributes.clone(),
        expect_entries,
    };
    options.dn.clone_from(&it.dn);
    options.attribute.clone_from(&it.attribute);
    options.value.clone_from(&it.value);
    options.expect_compare = it.expect_compare;
    options.password.clone_from(&it.password);
    options.binds_file.clone_from(&it.binds_file);
    options.add = add_source(it)?;
    options.new_rdn.clone_from(&it.new_rdn);
    options.new_superior.clone_from(&it.new_superior);
    if let (Some(dn), Some(file)) = (&it.bind_dn, &it.bind_password_file) {
        let password = String::from_utf8(first_line(file)?)
            .map_err(|_| Problem::file(file, "expected a password in UTF-8"))?;
        options.bind_as = Some((dn.clone(), password));
    }
    options.connections = it.connections;
    options.depth = it.pipeline;
    options.queue_length = it.queue_length;
    options.threads = it.threads;
    options.rate = it.rate;
    options.duration = Some(seconds("--seconds", it.seconds)?);
    options.warm_up = seconds("--warm-up", it.warm_up)?;
    options.operations = it.operations;
    options.server_pid = it.pid;
    options.watched_file = it.file.clone();
    options.seed = it.seed;
    Ok(options)
}

fn seconds(flag: &str, value: f64) -> Result<Duration, Problem> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| Problem::usage(format_args!("{flag}: expected seconds, got {value}")))
}

fn add_source(it: &Bench) -> Result<AddSource, Problem> {
    let Some(path) = &it.add_template else {
        let mut attributes = Vec::new();
        for text in &it.add {
            let Some((name, value)) = text.split_once('=') else {
                return Err(Problem::usage(format_args!(
                    "--add {text}: expected NAME=VALUE"
                )));
            };
            attributes.push((name.to_owned(), value.to_owned()));
        }
        return Ok(AddSource::Patterns {
            dn: it.dn.clone(),
            attributes,
        });
    };
    let text = std::fs::read_to_string(path).map_err(|error| Problem::file(path, error))?;
    let mut defines = Defines::new();
    for define in &it.define {
        defines.add(define).map_err(Problem::usage)?;
    }
    let template = Template::parse(&text, &defines).map_err(|error| Problem::file(path, error))?;
    let generator = Generator::new(template, it.seed);
    let to = generator.total_entries();
    Ok(AddSource::Template {
        generator,
        from: 0,
        to,
    })
}
