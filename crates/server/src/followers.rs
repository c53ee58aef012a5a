//! The following searches of one connection. Each rests until there is news, and has its turn when
//! the client has taken the earlier output. One that has sent a part of a message has every turn
//! until the rest is sent, and no other output is sent meanwhile.

use std::collections::VecDeque;

use protocol::MessageId;

/// The following searches of a connection. Most connections have none, and then this owns no
/// memory.
pub struct Followers<F> {
    present: Option<Box<Present<F>>>,
}

struct Present<F> {
    queue: VecDeque<Entry<F>>,
    /// Whether the first of them has sent a part of a message.
    inside: bool,
    /// Responses of other operations, held until the message is complete.
    aside: Vec<u8>,
    /// Whether all end once none is inside a message.
    ending: bool,
}

struct Entry<F> {
    id: MessageId,
    follower: F,
    /// Whether there may be news.
    behind: bool,
}

impl<F> Default for Followers<F> {
    fn default() -> Self {
        Followers { present: None }
    }
}

impl<F> Followers<F> {
    /// Adds a search, which has everything to send.
    pub fn add(&mut self, id: MessageId, follower: F) {
        self.present().put(id, follower, true);
    }

    /// Records news for a search, if it still exists.
    pub fn news(&mut self, id: MessageId) {
        if let Some(present) = &mut self.present {
            for entry in present.queue.iter_mut().filter(|it| it.id == id) {
                entry.behind = true;
            }
        }
    }

    /// Whether there is a search with this message id.
    pub fn has(&self, id: MessageId) -> bool {
        let present = self.present.as_ref();
        present.is_some_and(|it| it.queue.iter().any(|it| it.id == id))
    }

    /// Removes the search with this message id; `None` if there is none.
    pub fn remove(&mut self, id: MessageId) -> Option<F> {
        let queue = &mut self.present.as_mut()?.queue;
        let at = queue.iter().position(|it| it.id == id)?;
        let removed = queue.remove(at).map(|it| it.follower);
        if queue.is_empty() {
            self.clear();
        }
        removed
    }

    /// Takes out the search whose turn is next, to be returned by [`give_back`](Self::give_back)
    /// unless it has ended.
    pub fn take_turn(&mut self) -> Option<(MessageId, F)> {
        let present = self.present.as_mut()?;
        let at = present.queue.iter().position(|it| it.behind)?;
        present.inside = false;
        present.queue.remove(at).map(|it| (it.id, it.follower))
    }

    /// Returns the search taken by [`Followers::take_turn`], behind the others.
    pub fn give_back(&mut self, id: MessageId, follower: F, behind: bool) {
        let present = self.present();
        if !present.ending {
            present.put(id, follower, behind);
        }
    }

    /// Returns a search that is inside a message, in front of the others.
    pub fn give_back_inside(&mut self, id: MessageId, follower: F) {
        let present = self.present();
        present.inside = true;
        present.queue.push_front(Entry {
            id,
            follower,
            behind: true,
        });
    }

    /// Whether one of them is inside a message.
    pub fn is_inside(&self) -> bool {
        self.present.as_ref().is_some_and(|it| it.inside)
    }

    /// Buffer for responses of other operations while one of them is inside a message.
    pub fn aside(&mut self) -> &mut Vec<u8> {
        &mut self.present().aside
    }

    /// Whether one of them has news.
    pub fn are_behind(&self) -> bool {
        let present = self.present.as_ref();
        present.is_some_and(|it| it.queue.iter().any(|it| it.behind))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.present.as_ref().is_none_or(|it| it.queue.is_empty())
    }

    /// Drops all of them.
    pub fn clear(&mut self) {
        self.present = None;
    }

    /// Drops all of them; one that is inside a message is dropped when the message is complete.
    pub fn end(&mut self) {
        match &mut self.present {
            Some(present) if present.inside => {
                present.queue.truncate(1);
                present.ending = true;
            }
            _ => self.clear(),
        }
    }

    fn present(&mut self) -> &mut Present<F> {
        self.present.get_or_insert_with(|| {
            Box::new(Present {
                queue: VecDeque::new(),
                inside: false,
                aside: Vec::new(),
                ending: false,
            })
        })
    }
}

impl<F> Present<F> {
    fn put(&mut self, id: MessageId, follower: F, behind: bool) {
        self.queue.push_back(Entry {
            id,
            follower,
            behind,
        });
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
        assert!(followers.has(1) && !followers.has(9));
        assert_eq!(followers.remove(1), Some('a'));
        assert_eq!(followers.remove(1), None);
        assert!(!followers.has(1));
        assert!(followers.is_empty());
    }

    #[test]
    fn who_is_inside_a_message_is_the_next() {
        let mut followers = Followers::default();
        followers.add(1, 'a');
        followers.add(2, 'b');
        let (id, first) = followers.take_turn().unwrap();
        followers.give_back_inside(id, first);
        assert!(followers.is_inside());
        followers.aside().push(b'r');
        let (id, first) = followers.take_turn().unwrap();
        assert_eq!((id, first, followers.is_inside()), (1, 'a', false));
        followers.give_back_inside(id, first);
        followers.end();
        assert!(followers.is_inside());
        let (id, first) = followers.take_turn().unwrap();
        assert_eq!((id, first), (1, 'a'));
        followers.give_back(id, first, true);
        assert_eq!(followers.take_turn(), None);
        assert_eq!(followers.aside(), b"r");
    }
}
