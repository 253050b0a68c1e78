//! Machines with cables between them, as namespaces of the network, and a member of an overlay on
//! each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const NODES: usize = 12;

/// So long a machine may be missed, and the others may make copies anew.
const HEALS: Duration = Duration::from_secs(60);

/// What takes longer is told.
const SLOW: Duration = Duration::from_millis(100);

/// A machine waits for its cables, and then runs the member.
const WAITS: &str = r#"ip link set lo up; echo ready; read go; exec "$@""#;

struct Machine {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

pub(crate) struct Machines {
    graph: &'static str,
    machines: Vec<Machine>,
    /// Each cable, with whether it is in.
    cables: BTreeMap<(usize, usize), bool>,
    killed: BTreeSet<usize>,
    /// What each has heard in the room.
    heard: Vec<BTreeSet<String>>,
}

impl Machines {
    pub(crate) fn start(
        graph: &'static str,
        cables: &BTreeSet<(usize, usize)>,
        key: &Path,
    ) -> Machines {
        let address = |at: usize, end: usize| format!("10.79.{at}.{}", end + 1);
        let known = |node: usize| {
            let cables = cables.iter().enumerate();
            let neighbours = cables.filter_map(move |(at, &(a, b))| match node {
                _ if node == a => Some(address(at, 1)),
                _ if node == b => Some(address(at, 0)),
                _ => None,
            });
            neighbours.map(|address| format!("{address}:7460"))
        };
        let machines = (0..NODES).map(|node| Machine::start(node, key, known(node)));
        let mut machines: Vec<Machine> = machines.collect();
        for (at, &(a, b)) in cables.iter().enumerate() {
            let (first, second) = (machines[a].child.id(), machines[b].child.id());
            shell(&format!(
                "ip link add name e{at} netns {first} type veth peer name e{at} netns {second}"
            ));
            for (end, process) in [first, second].into_iter().enumerate() {
                let address = address(at, end);
                shell(&format!(
                    "nsenter -t {process} -n ip addr add {address}/30 dev e{at} && \
                     nsenter -t {process} -n ip link set e{at} up"
                ));
            }
        }
        machines.iter_mut().for_each(|machine| machine.write("go"));
        Machines {
            graph,
            machines,
            cables: cables.iter().map(|&cable| (cable, true)).collect(),
            killed: BTreeSet::new(),
            heard: vec![BTreeSet::new(); NODES],
        }
    }

    /// What a member answers.
    #[track_caller]
    pub(crate) fn ask(&mut self, node: usize, line: &str) -> String {
        self.machines[node].write(line);
        self.machines[node].next()
    }

    /// Takes cables out.
    pub(crate) fn cut(&mut self, cables: &[(usize, usize)]) {
        for cable in cables {
            self.set(*cable, false);
        }
    }

    /// Puts all cables in.
    pub(crate) fn mend(&mut self) {
        let cables: Vec<_> = self.cables.keys().copied().collect();
        cables.into_iter().for_each(|cable| self.set(cable, true));
    }

    fn set(&mut self, cable: (usize, usize), is_in: bool) {
        let at = self
            .cables
            .keys()
            .position(|&other| other == cable)
            .unwrap();
        let process = self.machines[cable.0].child.id();
        let how = if is_in { "up" } else { "down" };
        shell(&format!("nsenter -t {process} -n ip link set e{at} {how}"));
        self.cables.insert(cable, is_in);
    }

    /// Ends machines at once: their cables are gone, and nobody is told.
    pub(crate) fn kill(&mut self, nodes: &BTreeSet<usize>) {
        for &node in nodes {
            self.machines[node].child.kill().unwrap();
        }
        for &node in nodes {
            self.machines[node].child.wait().unwrap();
        }
        self.killed.extend(nodes);
    }

    fn live(&self) -> Vec<usize> {
        (0..NODES)
            .filter(|node| !self.killed.contains(node))
            .collect()
    }

    /// The machines that are joined by cables, in parts.
    pub(crate) fn parts(&self) -> Vec<BTreeSet<usize>> {
        let mut part_of: Vec<usize> = (0..NODES).collect();
        for (&(a, b), _) in self.cables.iter().filter(|(_, is_in)| **is_in) {
            if !self.killed.contains(&a) && !self.killed.contains(&b) {
                let (from, to) = (part_of[a], part_of[b]);
                part_of
                    .iter_mut()
                    .filter(|part| **part == from)
                    .for_each(|part| *part = to);
            }
        }
        let mut parts = BTreeMap::<usize, BTreeSet<usize>>::new();
        for node in self.live() {
            parts.entry(part_of[node]).or_default().insert(node);
        }
        parts.into_values().collect()
    }

    /// Each knows the members of its part, and no others.
    #[track_caller]
    pub(crate) fn know_each_other(&mut self, when: &str) {
        self.until(when, |all| {
            all.all_say(|all, node| all.ask(node, "members"))
        });
    }

    /// `None`: each says the names of its part. Else who does not.
    fn all_say(&mut self, say: impl Fn(&mut Machines, usize) -> String) -> Option<String> {
        for part in self.parts() {
            let names = names(&part);
            for &node in &part {
                let said = say(self, node);
                if said != names {
                    return Some(format!("m{node:02} says {said:?}, not {names:?}"));
                }
            }
        }
        None
    }

    #[track_caller]
    fn until(&mut self, what: &str, mut wrong: impl FnMut(&mut Machines) -> Option<String>) {
        let begin = Instant::now();
        while let Some(why) = wrong(self) {
            assert!(begin.elapsed() < HEALS, "{}: {what}: {why}", self.graph);
            let _ = motet_sync::Parker::new().park_timeout(Duration::from_millis(20));
        }
        if begin.elapsed() > SLOW {
            eprintln!("{}: {what}: {} ms", self.graph, begin.elapsed().as_millis());
        }
    }

    /// What each says each of its part hears once.
    #[track_caller]
    pub(crate) fn talk(&mut self, topic: &str) {
        self.until("they are in the room", |all| {
            all.all_say(|all, node| all.ask(node, "present"))
        });
        for node in self.live() {
            let said = self.ask(node, &format!("say {topic}"));
            assert!(!said.starts_with("error"), "m{node:02}: {said}");
        }
        for part in self.parts() {
            self.hear(topic, &part, &part);
        }
    }

    /// Each of the listeners has heard each of the speakers on the topic, and nobody twice.
    #[track_caller]
    pub(crate) fn hear(
        &mut self,
        topic: &str,
        listeners: &BTreeSet<usize>,
        speakers: &BTreeSet<usize>,
    ) {
        let wanted = speakers.iter().map(|node| format!("m{node:02}:{topic}"));
        let wanted: BTreeSet<String> = wanted.collect();
        self.until("all hear all", |all| {
            listeners.iter().find_map(|&node| {
                for said in all.ask(node, "heard").split_whitespace() {
                    let is_new = all.heard[node].insert(said.to_owned());
                    assert!(is_new, "{}: m{node:02} hears {said} twice", all.graph);
                }
                let lacks: Vec<_> = wanted.difference(&all.heard[node]).collect();
                (!lacks.is_empty()).then(|| format!("m{node:02} has not heard {lacks:?}"))
            })
        });
    }

    /// Who holds each key, by what all say.
    pub(crate) fn holders(
        &mut self,
        keys: impl Iterator<Item = String>,
    ) -> Vec<(String, BTreeSet<String>)> {
        let holders = keys.map(|key| {
            let said = self.ask(0, &format!("holders {key}"));
            let holders = said.split_whitespace().map(str::to_owned).collect();
            (key, holders)
        });
        holders.collect()
    }

    /// All read this value.
    #[track_caller]
    pub(crate) fn all_get(&mut self, key: &str, value: &str) {
        self.until(&format!("all get {key}"), |all| {
            all.live()
                .into_iter()
                .find_map(|node| all.reads(node, key, value))
        });
    }

    fn reads(&mut self, node: usize, key: &str, value: &str) -> Option<String> {
        let got = self.ask(node, &format!("get {key}"));
        (got != value).then(|| format!("m{node:02} gets {got}, not {value}"))
    }

    /// All read the same value.
    #[track_caller]
    pub(crate) fn agree_on(&mut self, key: &str) {
        self.until(&format!("all agree on {key}"), |all| {
            let value = all.ask(0, &format!("get {key}"));
            if !value.starts_with("by") {
                return Some(value);
            }
            all.live()
                .into_iter()
                .find_map(|node| all.reads(node, key, &value))
        });
    }

    /// Those whose part has one of the holders read the value.
    #[track_caller]
    pub(crate) fn get_where_held(&mut self, key: &str, value: &str, holders: &BTreeSet<String>) {
        let parts = self.parts();
        let is_held = |part: &&BTreeSet<usize>| {
            part.iter()
                .any(|node| holders.contains(&format!("m{node:02}")))
        };
        let nodes: Vec<usize> = parts.iter().filter(is_held).flatten().copied().collect();
        self.until(&format!("{key} survives"), |all| {
            nodes.iter().find_map(|&node| all.reads(node, key, value))
        });
    }
}

impl Machine {
    fn start(node: usize, key: &Path, known: impl Iterator<Item = String>) -> Machine {
        let mut child = Command::new("unshare")
            .args(["--net", "sh", "-c", WAITS, "sh"])
            .arg(program())
            .arg(format!("m{node:02}"))
            .arg(key)
            .arg("0.0.0.0:7460")
            .args(known)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut machine = Machine {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        assert_eq!(machine.next(), "ready");
        machine
    }

    fn write(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    #[track_caller]
    fn next(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "a machine has ended");
        line.trim_end().to_owned()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn names(part: &BTreeSet<usize>) -> String {
    let names: Vec<String> = part.iter().map(|node| format!("m{node:02}")).collect();
    names.join(" ")
}

#[track_caller]
fn shell(script: &str) {
    let status = Command::new("sh").args(["-c", script]).status().unwrap();
    assert!(status.success(), "{script}");
}

fn program() -> PathBuf {
    let build = "cargo build --profile test -p motet-mesh-zenoh --examples";
    motet_testkit::example("overlay_member", build)
}
