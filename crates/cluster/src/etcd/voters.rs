//! Which nodes run a voter of etcd, and the next change on the way there.
//!
//! One voter of one or two nodes: with two, losing either would stop writes, so the second would
//! only add a way to fail. Three from the third node on and five from the fifth on: one or two may
//! fail. More than five would only cost the leader bandwidth.

/// A node that may run a voter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Name that its member has or would have.
    pub name: String,
    /// URL of its member for other members.
    pub peer_url: String,
}

/// A member of the etcd cluster, as etcd lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// etcd's identifier of it.
    pub id: u64,
    /// Its name; empty until it has been started once.
    pub name: String,
    /// Its URL for other members.
    pub peer_url: String,
    /// Its URL for clients; `None` until it has been started once.
    pub client_url: Option<String>,
    /// Whether it has no vote yet.
    pub is_learner: bool,
    /// Whether it answers.
    pub answers: bool,
}

/// A change of the etcd cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// This node adds its member as a learner and starts it.
    Add(Candidate),
    /// The learner with this identifier gets a vote, once it holds what the others hold.
    Promote(u64),
    /// The member with this identifier is removed.
    Remove(u64),
}

/// Number of voters of a cluster of so many nodes.
pub fn voters_wanted(nodes: usize) -> usize {
    match nodes {
        0 => 0,
        1 | 2 => 1,
        3 | 4 => 3,
        _ => 5,
    }
}

/// Nodes that should run a voter, of all `nodes` in the order of joining: the first ones.
pub fn wanted(nodes: &[Candidate]) -> &[Candidate] {
    &nodes[..voters_wanted(nodes.len())]
}

/// The next change towards the wanted voters; `None` if there is nothing to change. All nodes find
/// the same one. `nodes` are in the order of joining.
///
/// A dead member goes before a new one comes, a living one after: so a further failure in between
/// is survived wherever it can be.
pub fn next_step(nodes: &[Candidate], members: &[Seen]) -> Option<Step> {
    let wanted = wanted(nodes);
    let is_wanted = |member: &Seen| wanted.iter().any(|it| is_of(member, it));
    let surplus = || members.iter().filter(|it| !is_wanted(it));
    let is_useless = |member: &&Seen| member.is_learner || !member.answers;
    if let Some(useless) = surplus().find(is_useless) {
        return remove(useless, members);
    }
    if let Some(learner) = members.iter().find(|it| it.is_learner) {
        return Some(Step::Promote(learner.id));
    }
    let is_member = |node: &&Candidate| members.iter().any(|it| is_of(it, node));
    if let Some(missing) = wanted.iter().find(|node| !is_member(node)) {
        return Some(Step::Add(missing.clone()));
    }
    surplus().next().and_then(|it| remove(it, members))
}

/// Whether the member is that of the node.
pub fn is_of(member: &Seen, node: &Candidate) -> bool {
    let is_named = member.name.is_empty() || member.name == node.name;
    member.peer_url == node.peer_url && is_named
}

/// A cluster keeps its last voter.
fn remove(member: &Seen, members: &[Seen]) -> Option<Step> {
    let mut others = members.iter().filter(|it| it.id != member.id);
    others
        .any(|it| !it.is_learner)
        .then_some(Step::Remove(member.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> Candidate {
        Candidate {
            name: format!("n{number}"),
            peer_url: format!("https://h{number}:1"),
        }
    }

    fn nodes(numbers: &[u64]) -> Vec<Candidate> {
        numbers.iter().map(|it| node(*it)).collect()
    }

    fn voter(number: u64) -> Seen {
        Seen {
            id: number,
            name: format!("n{number}"),
            peer_url: format!("https://h{number}:1"),
            client_url: None,
            is_learner: false,
            answers: true,
        }
    }

    fn voters(numbers: &[u64]) -> Vec<Seen> {
        numbers.iter().map(|it| voter(*it)).collect()
    }

    #[test]
    fn voters_grow_with_the_third_and_the_fifth_node() {
        let wanted: Vec<usize> = (0..8).map(voters_wanted).collect();
        assert_eq!(wanted, [0, 1, 1, 3, 3, 5, 5, 5]);
        for count in 1..9 {
            let all: Vec<u64> = (1..=count).collect();
            let now = voters(&all[..voters_wanted(all.len())]);
            assert_eq!(next_step(&nodes(&all), &now), None, "{count} nodes");
        }
    }

    #[test]
    fn growing_goes_by_learners_one_after_another() {
        let nodes = nodes(&[1, 2, 3]);
        let mut members = voters(&[1]);
        let mut steps = Vec::new();
        while let Some(step) = next_step(&nodes, &members) {
            match &step {
                Step::Add(node) => members.push(Seen {
                    name: String::new(),
                    is_learner: true,
                    ..voter(node.name[1..].parse().unwrap())
                }),
                Step::Promote(id) => {
                    let member = members.iter_mut().find(|it| it.id == *id).unwrap();
                    member.is_learner = false;
                }
                Step::Remove(_) => panic!("nobody has left"),
            }
            steps.push(step);
        }
        let expected = [
            Step::Add(node(2)),
            Step::Promote(2),
            Step::Add(node(3)),
            Step::Promote(3),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_dead_member_goes_before_its_successor_comes() {
        let mut members = voters(&[1, 2, 3]);
        let nodes = nodes(&[1, 3, 4]);
        members[1].answers = false;
        assert_eq!(next_step(&nodes, &members), Some(Step::Remove(2)));
        members.remove(1);
        assert_eq!(next_step(&nodes, &members), Some(Step::Add(node(4))));
    }

    #[test]
    fn a_living_member_goes_after_its_successor_has_come() {
        let mut members = voters(&[1, 2, 3]);
        let nodes = nodes(&[1, 3, 4]);
        assert_eq!(next_step(&nodes, &members), Some(Step::Add(node(4))));
        members.push(voter(4));
        assert_eq!(next_step(&nodes, &members), Some(Step::Remove(2)));
    }

    #[test]
    fn a_dead_member_of_a_wanted_node_stays() {
        let mut members = voters(&[1, 2, 3]);
        members[2].answers = false;
        assert_eq!(next_step(&nodes(&[1, 2, 3]), &members), None);
    }

    #[test]
    fn an_abandoned_learner_makes_room() {
        let mut members = voters(&[1, 2]);
        members[1].is_learner = true;
        members[1].name = String::new();
        assert_eq!(next_step(&nodes(&[1]), &members), Some(Step::Remove(2)));
    }

    #[test]
    fn a_new_node_at_an_old_address_is_another_member() {
        let mut members = voters(&[1, 2, 3]);
        members[2].name = "before".to_owned();
        members[2].answers = false;
        assert_eq!(
            next_step(&nodes(&[1, 2, 3]), &members),
            Some(Step::Remove(3))
        );
    }

    #[test]
    fn the_last_voter_stays() {
        let mut members = voters(&[1]);
        members[0].answers = false;
        assert_eq!(next_step(&[], &members), None);
    }

    #[test]
    fn two_nodes_left_of_three_keep_one_voter() {
        let mut members = voters(&[1, 2, 3]);
        members[0].answers = false;
        let nodes = nodes(&[2, 3]);
        assert_eq!(next_step(&nodes, &members), Some(Step::Remove(1)));
        members.remove(0);
        assert_eq!(next_step(&nodes, &members), Some(Step::Remove(3)));
    }
}
