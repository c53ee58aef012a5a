//! The searches of one connection that stay: each is at rest until there is news for it, and has
//! its turn when the client has taken what was said before. One that has sent a part of a message
//! has every turn until the rest is sent, and nobody else says anything meanwhile.

use std::collections::VecDeque;

use protocol::MessageId;

/// The searches that stay. There are none on most connections, and then this owns nothing.
pub struct Followers<F> {
    present: Option<Box<Present<F>>>,
}

struct Present<F> {
    queue: VecDeque<Entry<F>>,
    /// The first of them has sent a part of a message.
    inside: bool,
    /// Responses that came to be meanwhile.
    aside: Vec<u8>,
    /// None of them has another turn once it is not inside a message.
    ending: bool,
}

struct Entry<F> {
    id: MessageId,
    follower: F,
    /// There may be something to tell.
    behind: bool,
}

impl<F> Default for Followers<F> {
    fn default() -> Self {
        Followers { present: None }
    }
}

impl<F> Followers<F> {
    /// Another one, with everything to tell.
    pub fn add(&mut self, id: MessageId, follower: F) {
        self.present().put(id, follower, true);
    }

    /// There is news for a search, if it is still there.
    pub fn news(&mut self, id: MessageId) {
        if let Some(present) = &mut self.present {
            for entry in present.queue.iter_mut().filter(|it| it.id == id) {
                entry.behind = true;
            }
        }
    }

    /// Whether there is a search of this message id.
    pub fn has(&self, id: MessageId) -> bool {
        let present = self.present.as_ref();
        present.is_some_and(|it| it.queue.iter().any(|it| it.id == id))
    }

    /// Takes the search of this message id out.
    pub fn remove(&mut self, id: MessageId) -> Option<F> {
        let queue = &mut self.present.as_mut()?.queue;
        let at = queue.iter().position(|it| it.id == id)?;
        let removed = queue.remove(at).map(|it| it.follower);
        if queue.is_empty() {
            self.clear();
        }
        removed
    }

    /// Takes the next one out whose turn it is. It is to be given back, unless it has ended.
    pub fn take_turn(&mut self) -> Option<(MessageId, F)> {
        let present = self.present.as_mut()?;
        let at = present.queue.iter().position(|it| it.behind)?;
        present.inside = false;
        present.queue.remove(at).map(|it| (it.id, it.follower))
    }

    /// Gives back what [`Followers::take_turn`] took out; others come before it.
    pub fn give_back(&mut self, id: MessageId, follower: F, behind: bool) {
        let present = self.present();
        if !present.ending {
            present.put(id, follower, behind);
        }
    }

    /// The same for one that has sent a part of a message: it is the next again.
    pub fn give_back_inside(&mut self, id: MessageId, follower: F) {
        let present = self.present();
        present.inside = true;
        present.queue.push_front(Entry {
            id,
            follower,
            behind: true,
        });
    }

    /// Whether one of them has sent a part of a message.
    pub fn is_inside(&self) -> bool {
        self.present.as_ref().is_some_and(|it| it.inside)
    }

    /// Where responses go that come to be while one of them is inside a message.
    pub fn aside(&mut self) -> &mut Vec<u8> {
        &mut self.present().aside
    }

    /// Whether one of them has something to tell.
    pub fn are_behind(&self) -> bool {
        let present = self.present.as_ref();
        present.is_some_and(|it| it.queue.iter().any(|it| it.behind))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.present.as_ref().is_none_or(|it| it.queue.is_empty())
    }

    /// Gives all of them up.
    pub fn clear(&mut self) {
        self.present = None;
    }

    /// Gives all of them up; one that is inside a message when the message is sent.
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
