//! CPU per generated Appendix C entry: made only, as LDIF, as BER.

use std::io::{self, Write};
use std::time::Instant;

use load::output::{Format, Outputs, write_range};
use load::template::{Defines, GenerateError, Generator, Template};

const TEMPLATE: &str = include_str!("../../../examples/oid-appendix-c.template");

fn main() -> io::Result<()> {
    let count = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(200_000);
    let mut defines = Defines::new();
    defines.set("NumUsers", &count.to_string());
    let template = Template::parse(TEMPLATE, &defines).map_err(io::Error::other)?;
    let generator = Generator::new(template, 0);
    let mut out = io::stdout().lock();
    for _ in 0..3 {
        let mut octets = 0;
        let begin = Instant::now();
        let made: Result<(), GenerateError> = generator.generate_range(0, count, |entry| {
            for attribute in entry.attributes() {
                attribute
                    .slices()
                    .into_iter()
                    .flatten()
                    .for_each(|value| octets += value.len());
            }
            Ok(())
        });
        made.map_err(io::Error::other)?;
        let us = |begin: Instant| begin.elapsed().as_secs_f64() * 1e6 / count as f64;
        write!(
            out,
            "made {:.2} us/entry ({} octets each)",
            us(begin),
            octets as u64 / count
        )?;
        for format in [Format::Ldif { fold_columns: 0 }, Format::BerMessages] {
            let begin = Instant::now();
            let mut sink = io::sink();
            let outputs = Outputs {
                entries: Some((format, &mut sink)),
                ..Outputs::default()
            };
            write_range(&generator, 0, count, 1, outputs, &mut |_| {})?;
            write!(out, ", {format:?} {:.2}", us(begin))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
