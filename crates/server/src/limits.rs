//! Limits on the number of connections, as numbers and as text.

use std::fmt;

use crate::resources::OpenFiles;
use crate::settings::Connections;

/// Limits on the number of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum in total.
    pub total: usize,
    /// Maximum from one address; 0 for no limit.
    pub per_address: usize,
    /// Value of `connections.total_max`; 0 for no limit.
    asked: usize,
    open_files: OpenFiles,
}

impl ConnectionLimits {
    /// The limits in the settings, reduced to the number of files that may be open.
    pub fn new(settings: &Connections, open_files: OpenFiles) -> Self {
        let (asked, room) = (settings.total_max, open_files.room);
        ConnectionLimits {
            total: if asked == 0 { room } else { asked.min(room) },
            per_address: settings.per_address_max,
            asked,
            open_files,
        }
    }

    /// The limits in other settings, with an equal number of open files.
    pub fn with(&self, settings: &Connections) -> Self {
        ConnectionLimits::new(settings, self.open_files)
    }

    /// Maximum number of connections; `None` for no limit.
    pub fn most(&self) -> Option<usize> {
        (self.asked > 0 || self.open_files.limit.is_some()).then_some(self.total)
    }

    /// Whether open files allow fewer connections than `connections.total_max`.
    pub fn falls_short(&self) -> bool {
        self.asked > self.open_files.room
    }
}

/// The limits in words, printed at the start of the server.
impl fmt::Display for ConnectionLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.open_files.limit {
            None if self.asked == 0 => f.write_str("any number of connections at a time")?,
            Some(limit) if self.falls_short() => write!(
                f,
                "up to {} connections at a time, not {} as connections.total_max says: the limit \
                 of open files is {limit}; raise it (ulimit -Hn, or LimitNOFILE= in the service's \
                 unit)",
                self.total, self.asked
            )?,
            Some(limit) if self.asked == 0 => write!(
                f,
                "up to {} connections at a time (the limit of open files is {limit})",
                self.total
            )?,
            _ => write!(
                f,
                "up to {} connections at a time (connections.total_max)",
                self.total
            )?,
        }
        match self.per_address {
            0 => Ok(()),
            limit => write!(f, "; {limit} of them from one address"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn limits(total_max: usize, per_address_max: usize, room: usize) -> ConnectionLimits {
        let limit = Some(room as u64 + 72);
        of_files(total_max, per_address_max, OpenFiles { limit, room })
    }

    fn of_files(
        total_max: usize,
        per_address_max: usize,
        open_files: OpenFiles,
    ) -> ConnectionLimits {
        let settings = Connections {
            total_max,
            per_address_max,
            ..crate::settings::Config::parse(
                std::path::Path::new("."),
                "",
                &crate::Overrides::default(),
            )
            .unwrap()
            .connections
        };
        ConnectionLimits::new(&settings, open_files)
    }

    #[test]
    fn no_limit_is_no_number() {
        let (limit, room) = (None, usize::MAX - 72);
        let any = of_files(0, 0, OpenFiles { limit, room });
        assert_eq!(any.most(), None);
        assert_eq!(any.to_string(), "any number of connections at a time");
        assert_eq!(of_files(9, 0, OpenFiles { limit, room }).most(), Some(9));
        assert_eq!(limits(0, 0, 5).most(), Some(5));
    }

    #[test]
    fn limits_are_said_in_words() {
        let say = |total, each, room| limits(total, each, room).to_string();
        assert_eq!(
            say(0, 0, 19_928),
            "up to 19928 connections at a time (the limit of open files is 20000)"
        );
        assert_eq!(
            say(500, 20, 19_928),
            "up to 500 connections at a time (connections.total_max); 20 of them from one address"
        );
        assert_eq!(
            say(100_000, 0, 19_928),
            "up to 19928 connections at a time, not 100000 as connections.total_max says: the \
             limit of open files is 20000; raise it (ulimit -Hn, or LimitNOFILE= in the service's \
             unit)"
        );
        assert!(limits(100_000, 0, 19_928).falls_short());
    }
}
