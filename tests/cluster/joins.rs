//! Nodes join a cluster that is written to all the time: three at once, and one whose donor dies.

use crate::nodes::{cluster, conclude, founder_of, free_address};
use crate::writers::while_written;
use kit::process::until;
use kit::{Folder, Pando, SUFFIX};
use std::thread;

/// Entries of a directory that takes some time to copy.
const PEOPLE: usize = 12_000;
/// Characters of a description.
const TEXT: usize = 3_000;

/// A file of people with long descriptions.
fn people(folder: &Folder) -> String {
    let text = "x".repeat(TEXT);
    let person = |number: usize| {
        format!(
            "dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{number}\nsn: p\n\
             description: {number} {text}\n\n"
        )
    };
    let people: String = (0..PEOPLE).map(person).collect();
    let file = folder.write("people.ldif", people);
    file.to_string_lossy().into_owned()
}

fn token(node: &Pando) -> String {
    node.run_on_node(&["cluster", "token"], &[]).expect(0).out
}

#[test]
fn three_nodes_join_at_once() {
    let mut nodes = cluster(1);
    let lines = [0, 1, 2].map(|_| token(&nodes[0]));
    let joined: Vec<Pando> = while_written(&nodes, || {
        thread::scope(|scope| {
            let join = |line: &String| {
                let line = line.clone();
                scope.spawn(move || {
                    let mut node = Pando::join(&line, &free_address());
                    node.serve();
                    node
                })
            };
            let joining = lines.each_ref().map(join);
            joining.map(|it| it.join().expect("a node")).into()
        })
    });
    nodes.extend(joined);
    while_written(&nodes, || ());
    conclude(&mut nodes);
}

#[test]
fn a_joiner_whose_donor_dies_goes_on() {
    let folder = Folder::new();
    let mut nodes = vec![founder_of(&people(&folder))];
    let line = token(&nodes[0]);
    let mut donor = Pando::join(&line, &free_address());
    donor.serve();
    let line = token(&donor);
    let joiner = Pando::to_be();
    let copy = joiner.node().join("data.partial");
    let address = free_address();
    let mut joiner = while_written(&nodes, || {
        let joining = thread::spawn(move || {
            let first = joiner.enter(&line, &address);
            // It waited for the donor, or says how to go on: by the same line.
            if first.status != 0 {
                joiner.enter(&line, &address).expect(0);
            }
            joiner
        });
        until("a copy", || copy.exists().then_some(()));
        donor.kill();
        donor.serve();
        joining.join().expect("a node")
    });
    joiner.serve();
    nodes.extend([donor, joiner]);
    while_written(&nodes, || ());
    conclude(&mut nodes);
}
