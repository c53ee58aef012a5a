//! The voters of etcd, and the cost of the next failure, in words.

use crate::peer::Voter;

/// The voters of etcd: a majority of them, the quorum, has to answer for writes to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quorum {
    /// Number of voters; 0 as long as no member of etcd was reached.
    pub voters: usize,
    /// Number of voters that answer.
    pub answering: usize,
}

/// Place of the voters, as far as words about them depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// Nodes of the cluster, of which there are so many, run etcd.
    Nodes(usize),
    /// An operator runs etcd.
    Operator,
}

impl Quorum {
    /// Counts the voters among members of etcd.
    pub fn of(members: &[Voter]) -> Quorum {
        let voters = members.iter().filter(|it| !it.is_learner);
        Quorum {
            voters: voters.clone().count(),
            answering: voters.filter(|it| it.answers).count(),
        }
    }

    /// Number of voters that must answer for writes to go on.
    pub fn needed(&self) -> usize {
        self.voters / 2 + 1
    }

    /// Number of voters that may fail at once, now, before writes stop; `None` if there is no
    /// quorum.
    pub fn spare(&self) -> Option<usize> {
        self.answering.checked_sub(self.needed())
    }

    /// Says what the next failure would cost, in one line.
    pub fn outlook(&self, home: Home) -> String {
        let Quorum { voters, answering } = *self;
        let needed = self.needed();
        let silent = voters - answering;
        match (self.spare(), home) {
            (_, _) if voters == 0 => {
                "no member of etcd has been reached yet: no node takes writes \
                 without one, and reads go on"
                    .to_owned()
            }
            (None, _) => format!(
                "no node takes writes: {answering} of {voters} voters of etcd answer, and {needed} \
                 are needed; reads go on; start the others again"
            ),
            (Some(_), Home::Nodes(1)) => {
                "if this machine fails, the directory is away until it is \
                 back: let more nodes join"
                    .to_owned()
            }
            (Some(0), Home::Nodes(_)) if voters == 1 => "if the machine with the one voter fails, \
                 writes stop until it is back, and reads go on; with a third node, any one may fail"
                .to_owned(),
            (Some(0), Home::Operator) if voters == 1 => "if the one member of etcd fails, writes \
                 stop until it is back, and reads go on"
                .to_owned(),
            (Some(0), _) if silent == 0 => format!(
                "if one of the {voters} voters fails, writes stop until it is back, and reads go on"
            ),
            (Some(0), _) => format!(
                "{silent} of {voters} voters do not answer: if one more fails, writes stop until \
                 one is back, and reads go on; start them again, or remove their nodes"
            ),
            (Some(spare), _) => format!(
                "{spare} of {voters} voters may fail: writes go on after some seconds; if more \
                 fail, writes stop until one is back, and reads go on"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quorum(voters: usize, answering: usize) -> Quorum {
        Quorum { voters, answering }
    }

    #[test]
    fn learners_have_no_vote() {
        let member = |is_learner, answers| Voter {
            name: "n".to_owned(),
            url: None,
            is_learner,
            answers,
        };
        let members = [
            member(false, true),
            member(false, false),
            member(true, true),
        ];
        assert_eq!(Quorum::of(&members), quorum(2, 1));
    }

    #[test]
    fn a_majority_is_needed() {
        let spare = |voters, answering| quorum(voters, answering).spare();
        assert_eq!(spare(1, 1), Some(0));
        assert_eq!(spare(2, 2), Some(0));
        assert_eq!(spare(2, 1), None);
        assert_eq!(spare(3, 3), Some(1));
        assert_eq!(spare(3, 2), Some(0));
        assert_eq!(spare(3, 1), None);
        assert_eq!(spare(5, 5), Some(2));
        assert_eq!(spare(0, 0), None);
    }

    #[test]
    fn the_cost_of_the_next_failure_is_told() {
        let said = |voters, answering, home| quorum(voters, answering).outlook(home);
        let nodes = Home::Nodes;
        for (text, words) in [
            (said(0, 0, nodes(1)), "no member of etcd has been reached"),
            (said(1, 1, nodes(1)), "let more nodes join"),
            (said(1, 1, nodes(2)), "with a third node"),
            (
                said(1, 1, Home::Operator),
                "if the one member of etcd fails",
            ),
            (said(3, 3, nodes(3)), "1 of 3 voters may fail"),
            (said(5, 5, nodes(7)), "2 of 5 voters may fail"),
            (
                said(3, 2, nodes(3)),
                "1 of 3 voters do not answer: if one more",
            ),
            (
                said(3, 1, nodes(3)),
                "1 of 3 voters of etcd answer, and 2 are needed",
            ),
        ] {
            assert!(text.contains(words), "{text}");
        }
    }
}
