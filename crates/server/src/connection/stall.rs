//! Reasons for which the next message of a connection is not looked at.

/// State of the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// It may be executed.
    None,
    /// It waits until no operation is unfinished.
    Waits,
    /// A held read was postponed: all waits until no operation is unfinished, then the read is
    /// executed again. The directory remembers one postponed request of a session alone.
    ReadPostponed,
    /// The message was postponed, and waits until no operation is unfinished.
    Postponed,
    /// The message was postponed, and is executed before anything else.
    Resumes,
}

impl Stall {
    /// Whether the next message of the input is not to be executed.
    pub fn holds(self) -> bool {
        matches!(self, Stall::Waits | Stall::ReadPostponed | Stall::Postponed)
    }

    /// Whether held reads are not to be executed. A message that waits lets the reads requested
    /// before it go on.
    pub fn holds_reads(self) -> bool {
        !matches!(self, Stall::None | Stall::Waits)
    }

    /// The state after the last unfinished operation has ended.
    pub fn over(self) -> Stall {
        match self {
            Stall::Postponed | Stall::Resumes => Stall::Resumes,
            Stall::None | Stall::Waits | Stall::ReadPostponed => Stall::None,
        }
    }
}
