//! Files, FIFOs, sockets and standard input as a source.

use super::lanes::Lanes;
use super::open::STANDARD_INPUT;
use super::{Format, Piece, Source};
use crate::meter::Meter;
use state::stop::Failure;
use std::io;
use std::path::{Path, PathBuf};

/// Several inputs. Files are read in order, or `at_once` of them in turns, so that the order of the
/// entries depends on the files only. FIFOs, Unix sockets (which are connected to) and standard
/// input (`-`) are all read at once, as their bytes arrive. gzip and zstd are recognised by their
/// first bytes.
pub struct Files {
    paths: Vec<PathBuf>,
    format: Format,
    at_once: usize,
    lanes: Option<Lanes>,
}

impl Files {
    /// The inputs at these paths. All have this format, unless it is detected for each of them.
    pub fn new(paths: Vec<PathBuf>, format: Format) -> Files {
        Files {
            paths,
            format,
            at_once: 1,
            lanes: None,
        }
    }

    /// Sets the number of files read at once.
    pub fn at_once(mut self, files: usize) -> Files {
        self.at_once = files.max(1);
        self
    }

    /// Checks at the start that the inputs exist, instead of failing after hours.
    fn start(&self) -> Result<Lanes, Failure> {
        let (mut files, mut streams) = (Vec::new(), Vec::new());
        for path in &self.paths {
            if path == Path::new(STANDARD_INPUT) {
                streams.push(path.clone());
                continue;
            }
            let failed = |error| Failure::file(format!("reading {}", path.display()), error);
            let metadata = std::fs::metadata(path).map_err(failed)?;
            if metadata.is_dir() {
                return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            match metadata.is_file() {
                true => files.push(path.clone()),
                false => streams.push(path.clone()),
            }
        }
        let count = self.at_once.min(files.len());
        let mut in_turn = vec![Vec::new(); count];
        for (at, path) in files.into_iter().enumerate() {
            in_turn[at % count].push(path);
        }
        Ok(Lanes::start(in_turn, streams, self.format))
    }
}

impl Source for Files {
    fn next(&mut self, meter: &Meter) -> Result<Option<Piece>, Failure> {
        let lanes = match &mut self.lanes {
            Some(lanes) => lanes,
            None => {
                let lanes = self.start()?;
                self.lanes.insert(lanes)
            }
        };
        let next = lanes.next(meter)?;
        Ok(next.map(|(piece, taken)| {
            meter.add_bytes(taken);
            piece
        }))
    }

    fn repeatable(&self) -> Result<String, String> {
        let mut text = format!("{:?}, {} at once\n", self.format, self.at_once);
        for path in &self.paths {
            let again = "cannot be read again from its beginning, as a file can";
            if path == Path::new(STANDARD_INPUT) {
                return Err(format!("standard input {again}"));
            }
            let metadata = std::fs::metadata(path);
            let metadata = metadata.map_err(|error| format!("{}: {error}", path.display()))?;
            if !metadata.is_file() {
                return Err(format!("{} {again}", path.display()));
            }
            let (bytes, changed) = (metadata.len(), metadata.modified());
            text.push_str(&format!("{}, {bytes} bytes, {changed:?}\n", path.display()));
        }
        Ok(text)
    }
}
