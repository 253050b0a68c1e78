//! Services that drive a robot through a room, in virtual time. They are a world, a drive, a
//! bumper, a laser, and an explorer that joins what bumper and laser say: the module `robot` of the
//! crate `motet-service`, which `motet serve` serves, too. The same seed gives the same way;
//! another manifest gives another drive.

use motet_dispatch::{Replay, spawn};
use motet_ports::Port;
use motet_service::Node;
use motet_service::robot::{self, Arena, Diary, ExplorerClient, MANIFEST, SIDE, SimulatedClient};
use std::time::Duration;

/// Where the robot was after each second, for a minute.
fn explore(seed: u64, drive: &str) -> (Vec<(f64, f64)>, Diary) {
    let replay = Replay::new(seed);
    let builder = robot::register(Node::builder("robot"));
    let node = builder.start(&replay).expect("the replay takes tasks");
    let way = Port::new();
    let (tell, robot) = (way.clone(), node.clone());
    let manifest = MANIFEST.replace("sim-drive", drive);
    let exploring = async move {
        let loaded = robot.load([manifest]).await.expect("it is a manifest");
        assert!(loaded.iter().all(|one| one.fault.is_none()), "{loaded:?}");
        let world: SimulatedClient = robot.client("/world").expect("it was loaded");
        let explorer: ExplorerClient = robot.client("/explorer").expect("it was loaded");
        explorer.explore(true).await.expect("it answers");
        for _ in 0..60 {
            motet_ports::timer::sleep(Duration::from_secs(1)).await;
            let room = world.get().await.expect("it answers");
            tell.post((room.x, room.y))
                .expect("the port takes everything");
        }
    };
    spawn(&node.queue(), exploring).expect("the queue takes tasks");
    replay.run_for(Duration::from_secs(70));
    let (diary, told) = (node.clone(), Port::new());
    let tell = told.clone();
    let asking = async move {
        let explorer: ExplorerClient = diary.client("/explorer").expect("it was loaded");
        tell.post((*explorer.get().await.expect("it answers").state).clone())
            .expect("as above");
    };
    spawn(&node.queue(), asking).expect("the queue takes tasks");
    replay.run_for(Duration::from_secs(1));
    (way.items(), told.test().expect("it was told"))
}

fn main() {
    let (way, diary) = explore(7, "sim-drive");
    println!(
        "after a minute at {:?}; {} looks, {} turns",
        way.last(),
        diary.sensed,
        diary.turns
    );
    assert_eq!(way.len(), 60);
    assert!(diary.sensed > 500 && diary.turns > 0, "{diary:?}");
    assert_eq!(Arena::default().beams().len(), 360);
    assert!(
        way.iter()
            .all(|(x, y)| (0.0..=SIDE).contains(x) && (0.0..=SIDE).contains(y))
    );
    let bits = |way: &[(f64, f64)]| -> Vec<_> {
        way.iter()
            .map(|(x, y)| (x.to_bits(), y.to_bits()))
            .collect()
    };
    assert_eq!(
        bits(&way),
        bits(&explore(7, "sim-drive").0),
        "the same way from the same seed"
    );
    // Nothing but the manifest is another: the explorer does not know which drive it has.
    let (gentle, diary) = explore(7, "gentle-drive");
    let length = |way: &[(f64, f64)]| -> f64 {
        let steps = way.windows(2);
        steps
            .map(|s| (s[1].0 - s[0].0).hypot(s[1].1 - s[0].1))
            .sum()
    };
    let (fast, slow) = (length(&way), length(&gentle));
    println!("the way of the drive is {fast:.1} long, that of the gentle drive {slow:.1}");
    assert!(diary.sensed > 500 && slow > 5.0 && slow < 0.7 * fast);
}
