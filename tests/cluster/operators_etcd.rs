//! A cluster whose log is in an etcd that the operator runs, with nodes on disks and in memory.

use crate::importing::{await_generation, file_of};
use crate::nodes::{
    add_when_possible, conclude, free_address, joined, require_equal, status, write,
};
use kit::process::Running;
use kit::{Folder, Pando, SUFFIX, etcd, tools};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

fn openssl(folder: &Path, args: &str) {
    let mut command = Command::new("openssl");
    command.args(args.split_whitespace()).current_dir(folder);
    tools::run_command(&mut command, "").expect(0);
}

/// An etcd with an authority of its own, which asks its clients for certificates.
struct OperatorsEtcd {
    folder: Folder,
    url: String,
    process: Option<Running>,
}

impl OperatorsEtcd {
    fn start() -> OperatorsEtcd {
        let folder = Folder::new();
        let path = folder.join("");
        let made = "req -x509 -newkey rsa:2048 -nodes -days 2";
        openssl(
            &path,
            &format!("{made} -subj /CN=authority -keyout ca.key -out ca.pem"),
        );
        let leaf = "-CA ca.pem -CAkey ca.key -addext basicConstraints=critical,CA:FALSE \
                    -addext subjectAltName=IP:127.0.0.1 \
                    -addext extendedKeyUsage=serverAuth,clientAuth";
        openssl(
            &path,
            &format!("{made} {leaf} -subj /CN=etcd -keyout etcd.key -out etcd.pem"),
        );
        let mut it = OperatorsEtcd {
            folder,
            url: format!("https://{}", free_address()),
            process: None,
        };
        it.run();
        it
    }

    fn run(&mut self) {
        let address: SocketAddr = self.url["https://".len()..].parse().expect("an address");
        let peers = format!("http://127.0.0.1:{}", address.port() + 1);
        let mut command = Command::new(etcd::program());
        command.current_dir(self.folder.join("")).args([
            "--name=operators",
            "--data-dir=data",
            &format!("--listen-client-urls={}", self.url),
            &format!("--advertise-client-urls={}", self.url),
            &format!("--listen-peer-urls={peers}"),
            &format!("--initial-advertise-peer-urls={peers}"),
            &format!("--initial-cluster=operators={peers}"),
            "--cert-file=etcd.pem",
            "--key-file=etcd.key",
            "--trusted-ca-file=ca.pem",
            "--client-cert-auth",
        ]);
        let mut process = Running::start("etcd", &mut command);
        process.wait_for("etcd serves", |line| {
            line.contains("ready to serve client requests")
                .then_some(())
        });
        self.process = Some(process);
    }

    fn process(&mut self) -> &mut Running {
        self.process.as_mut().expect("it runs")
    }

    /// A node whose cluster uses this etcd, served.
    fn founder(&self) -> Pando {
        let mut node = Pando::init();
        let file = |name: &str| self.folder.join(name).display().to_string();
        let init = node.run_on_node(
            &["cluster", "init"],
            &[
                "--address",
                &free_address(),
                "--etcd",
                &self.url,
                "--etcd-ca",
                &file("ca.pem"),
                "--etcd-cert",
                &file("etcd.pem"),
                "--etcd-key",
                &file("etcd.key"),
            ],
        );
        init.expect(0);
        node.serve();
        node
    }
}

#[test]
fn a_cluster_uses_an_etcd_of_its_operator() {
    let mut etcd = OperatorsEtcd::start();
    let first = etcd.founder();
    let (second, third) = (joined(&first), joined(&first));
    let mut nodes = [first, second, third];
    for (number, node) in nodes.iter().enumerate() {
        assert!(!node.node().join("etcd").exists(), "no etcd of its own");
        write(&mut node.admin(), number);
    }
    require_equal(&nodes);
    // Killed, and later started again: the nodes go on by themselves.
    etcd.process().kill();
    etcd.run();
    add_when_possible(&nodes[1], "afterwards");
    nodes[2].kill();
    add_when_possible(&nodes[0], "meanwhile");
    nodes[2].serve();
    require_equal(&nodes);
    conclude(&mut nodes);
}

#[test]
fn an_import_reaches_nodes_in_memory_and_an_etcd_of_the_operator() {
    let etcd = OperatorsEtcd::start();
    let first = etcd.founder();
    let second = joined(&first);
    let mut volatile = joined(&first);
    volatile.stop();
    let settings = "[cluster]\nvolatile = true\n";
    fs::write(volatile.node().join("pando.toml"), settings).expect("our own folder");
    volatile.serve();
    let mut nodes = vec![first, second, volatile];
    add_when_possible(&nodes[2], "before");
    let file = file_of(&nodes[0], "imported", 200);
    nodes[0].stop();
    let said = nodes[0].run_on_node(&["import"], &[&file, "--new-generation"]);
    said.expect(0).says("200 entries imported");
    nodes[0].serve();
    for node in &mut nodes[1..] {
        node.await_address();
        await_generation(node, 2);
    }
    for (number, node) in nodes.iter().enumerate() {
        add_when_possible(node, &format!("after{number}"));
        let imported = node.admin().read(&format!("uid=imported199,{SUFFIX}"));
        assert!(imported.is_some());
    }
    require_equal(&nodes);
    assert_eq!(status(&nodes[2])["generation"], 2);
    let data = fs::canonicalize(nodes[2].node().join("data")).expect("a link to the data");
    for node in &mut nodes {
        node.stop();
    }
    fs::remove_dir_all(data.parent().expect("its folder")).expect("ours");
}
