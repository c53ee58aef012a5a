//! The searches of one connection that stay: each is at rest until there is news for it, and has
//! its turn when the client has taken what was said before.

use std::collections::VecDeque;

use protocol::MessageId;

/// The searches that stay. Empty on most connections, and then it owns nothing.
pub struct Followers<F> {
    all: VecDeque<Entry<F>>,
}

struct Entry<F> {
    id: MessageId,
    follower: F,
    /// There may be something to tell.
    behind: bool,
}

impl<F> Default for Followers<F> {
    fn default() -> Self {
        Followers {
            all: VecDeque::new(),
        }
    }
}

impl<F> Followers<F> {
    /// Another one, with everything to tell.
    pub fn add(&mut self, id: MessageId, follower: F) {
        let behind = true;
        self.all.push_back(Entry {
            id,
            follower,
            behind,
        });
    }

    /// There is news for a search, if it is still there.
    pub fn news(&mut self, id: MessageId) {
        for entry in self.all.iter_mut().filter(|it| it.id == id) {
            entry.behind = true;
        }
    }

    /// Takes the search of this message id out.
    pub fn remove(&mut self, id: MessageId) -> Option<F> {
        let at = self.all.iter().position(|it| it.id == id)?;
        self.all.remove(at).map(|it| it.follower)
    }

    /// Takes the next one out whose turn it is.
    pub fn take_turn(&mut self) -> Option<(MessageId, F)> {
        let at = self.all.iter().position(|it| it.behind)?;
        self.all.remove(at).map(|it| (it.id, it.follower))
    }

    /// Gives back what [`Followers::take_turn`] took out; others come before it.
    pub fn give_back(&mut self, id: MessageId, follower: F, behind: bool) {
        self.all.push_back(Entry {
            id,
            follower,
            behind,
        });
    }

    /// Whether one of them has something to tell.
    pub fn are_behind(&self) -> bool {
        self.all.iter().any(|it| it.behind)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Gives all of them up.
    pub fn clear(&mut self) {
        self.all = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round_among_those_with_news() {
        let mut followers = Followers::default();
        assert!(followers.is_empty() && !followers.are_behind());
        followers.add(1, 'a');
        followers.add(2, 'b');
        let (id, first) = followers.take_turn().unwrap();
        assert_eq!((id, first), (1, 'a'));
        followers.give_back(id, first, true);
        let (id, second) = followers.take_turn().unwrap();
        assert_eq!((id, second), (2, 'b'));
        followers.give_back(id, second, false);
        assert_eq!(followers.take_turn(), Some((1, 'a')));
        followers.give_back(1, 'a', false);
        assert!(!followers.are_behind() && followers.take_turn().is_none());
        followers.news(2);
        followers.news(9);
        assert_eq!(followers.take_turn(), Some((2, 'b')));
        assert_eq!(followers.remove(1), Some('a'));
        assert_eq!(followers.remove(1), None);
        assert!(followers.is_empty());
    }
}
