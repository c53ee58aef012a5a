//! Progress of work that is divided into slices, between which other requests have their turn.

/// Result of one slice of some work. It is returned by functions that can pause: each keeps what it
/// has done so far in the state that it was given, or in the [`Walks`](crate::view::Walks) of its
/// view, and continues there when it is called again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a slice may have ended before the work was done"]
pub enum Progress<T> {
    /// The work is done and has this result.
    Done(T),
    /// The slice is over: the next slice calls the function again.
    Yield,
}

impl<T> Progress<T> {
    /// Changes the result of finished work.
    #[inline]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Progress<U> {
        match self {
            Progress::Done(result) => Progress::Done(change(result)),
            Progress::Yield => Progress::Yield,
        }
    }
}

/// Takes the result out of a [`Progress`], or returns `Ok(Progress::Yield)` from the function, as
/// `std::task::ready!` returns `Poll::Pending`.
#[macro_export]
macro_rules! done {
    ($progress:expr) => {
        match $progress {
            $crate::progress::Progress::Done(result) => result,
            $crate::progress::Progress::Yield => {
                return ::core::result::Result::Ok($crate::progress::Progress::Yield);
            }
        }
    };
}
