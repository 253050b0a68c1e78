//! Under which causalities the handlers of samples run.

use crate::durable::{self, Folder};
use crate::nodes::{Net, waiting};
use motet_dispatch::{Causalities, Causality, Inline, QueueConfig};
use motet_mesh::{Qos, Sample, SubscribeConfig, Topic};
use motet_ports::{Port, Receive};
use motet_testkit::Log;
use std::time::Duration;

/// A sample, and what its handler runs under, innermost first.
fn line(sample: &Sample<u64>) -> String {
    let active = Causality::active();
    let names: Vec<_> = active.iter().map(Causality::name).collect();
    let state = Causality::check().map_or(" cancelled", |()| "");
    format!("{}: {}{state}", sample.value, names.join(" in "))
}

/// Writes down each sample that comes.
fn heard(net: &Net, port: &Port<Sample<u64>>) -> Log<String> {
    let log = Log::new();
    let lines = log.clone();
    Receive::persistent(port, move |sample: Sample<u64>| lines.push(line(&sample)))
        .activate(&net.replay.queue(QueueConfig::named("handler")))
        .unwrap();
    log
}

fn publish(topic: &Topic<u64>, value: u64) {
    topic.publish(value).unwrap();
}

#[test]
fn sem_g615_names_go_over_a_link_with_samples_and_cancels_do_not() {
    let net = Net::new(1);
    let (here, there) = (net.node("here", 1), net.node("there", 1));
    let samples = there.subscribe::<u64>("n", &waiting(64, 2)).unwrap();
    let topic = here.topic::<u64>("n", Qos::acknowledged(16)).unwrap();
    let told = heard(&net, samples.port());
    net.replay.run();
    let order = Causality::new("order 7");
    order.run(|| publish(&topic, 1));
    publish(&topic, 2);
    // No more are under way at a time.
    order.run(|| Causality::new("payment").run(|| publish(&topic, 3)));
    publish(&topic, 4);
    order.cancel("the customer has gone");
    net.replay.run();
    let lines = ["1: order 7", "2: ", "3: payment in order 7", "4: "];
    assert_eq!(told.take(), lines);
    // What is sent again has its names again.
    Causality::new("order 8").run(|| publish(&topic, 5));
    net.network.cut("here", "there");
    Causality::new("order 9").run(|| publish(&topic, 6));
    net.replay.run_for(Duration::from_millis(10));
    net.network.mend("here", "there");
    net.replay.run();
    assert_eq!(told.take(), ["5: order 8", "6: order 9"]);
}

#[test]
fn sem_g615_one_subscriber_of_a_reliable_topic_hears_the_names() {
    let net = Net::new(2);
    let (here, there) = (net.node("here", 1), net.node("there", 1));
    let samples = there
        .subscribe::<u64>("n", &SubscribeConfig::default())
        .unwrap();
    let topic = here.topic::<u64>("n", Qos::reliable(16)).unwrap();
    let told = heard(&net, samples.port());
    net.replay.run();
    Causality::new("order 7").run(|| publish(&topic, 1));
    publish(&topic, 2);
    net.replay.run();
    assert_eq!(told.take(), ["1: order 7", "2: "]);
}

#[test]
fn sem_g615_inside_a_node_they_are_the_publishers_own_whoever_brings_the_sample() {
    let net = Net::new(3);
    let node = net.node("a", 1);
    let samples = node
        .subscribe::<u64>("n", &SubscribeConfig::default())
        .unwrap();
    let topic = node.topic::<u64>("n", Qos::reliable(8)).unwrap();
    let (told, publishes) = (Log::new(), topic.clone());
    let log = told.clone();
    let handler = move |sample: Sample<u64>| {
        log.push(line(&sample));
        if *sample.value == 1 {
            // Who has published the first one brings these when it has been handled.
            Causality::new("payment").run(|| publish(&publishes, 2));
            Causalities::none().run(|| publish(&publishes, 3));
        }
    };
    Receive::persistent(samples.port(), handler)
        .activate(&Inline::new("here"))
        .unwrap();
    let order = Causality::new("order 7");
    order.run(|| publish(&topic, 1));
    order.cancel("the customer has gone");
    order.run(|| publish(&topic, 4));
    let lines = [
        "1: order 7",
        "2: payment in order 7",
        "3: ",
        "4: order 7 cancelled",
    ];
    assert_eq!(told.take(), lines);
}

#[test]
fn sem_g615_samples_that_wait_for_room_keep_their_own() {
    let net = Net::new(4);
    let node = net.node("a", 1);
    let samples = node.subscribe::<u64>("n", &waiting(1, 8)).unwrap();
    let topic = node.topic::<u64>("n", Qos::reliable(8)).unwrap();
    let [one, other] = ["order 7", "order 8"].map(Causality::new);
    // The first one is in the port, and a task waits with the second one.
    publish(&topic, 1);
    one.run(|| publish(&topic, 2));
    publish(&topic, 3);
    other.run(|| publish(&topic, 4));
    let told = heard(&net, samples.port());
    net.replay.run();
    // Handlers run in the order of the seed.
    let mut told = told.take();
    told.sort();
    assert_eq!(told, ["1: ", "2: order 7", "3: ", "4: order 8"]);
}

#[test]
fn sem_g615_what_comes_again_is_under_none() {
    let (net, folder) = (Net::new(5), Folder::new());
    let (here, there) = (net.node("here", 1), net.node("there", 1));
    let config = SubscribeConfig::default();
    let live = there.subscribe::<u64>("kept", &config).unwrap();
    let kept = here
        .topic::<u64>("kept", Qos::latest(4).retaining(2))
        .unwrap();
    let logged = durable::topic(&here, &folder);
    let of_log = [&here, &there].map(|node| node.subscribe::<u64>("n", &config).unwrap());
    net.replay.run();
    let order = Causality::new("order 7");
    order.run(|| {
        publish(&kept, 1);
        publish(&logged, 1);
    });
    let told = heard(&net, live.port());
    net.replay.run();
    assert_eq!(told.take(), ["1: order 7"]);
    let asks = Causality::new("asks");
    let late =
        asks.run(|| [&here, &there].map(|node| node.subscribe::<u64>("kept", &config).unwrap()));
    net.replay.run();
    for samples in late.iter().chain(&of_log) {
        let told = heard(&net, samples.port());
        net.replay.run();
        assert_eq!(told.take(), ["1: "]);
    }
}

#[test]
fn sem_g615_who_takes_samples_in_a_loop_is_under_those_of_the_last() {
    let net = Net::new(6);
    let (here, there) = (net.node("here", 1), net.node("there", 1));
    let samples = there
        .subscribe::<u64>("n", &SubscribeConfig::default())
        .unwrap();
    let topic = here.topic::<u64>("n", Qos::reliable(16)).unwrap();
    let (told, port) = (Log::new(), samples.port().clone());
    let log = told.clone();
    let takes = async move {
        while let Ok(sample) = port.recv().or_closed().await {
            log.push(line(&sample));
        }
    };
    motet_dispatch::spawn(&net.queue("takes"), takes).unwrap();
    net.replay.run();
    for value in 1..=3 {
        Causality::new(&format!("order {value}")).run(|| publish(&topic, value));
    }
    net.replay.run();
    assert_eq!(told.take(), ["1: order 1", "2: order 2", "3: order 3"]);
}

#[test]
fn a_publisher_that_is_cancelled_holds_no_subscription_up() {
    let net = Net::new(7);
    let node = net.node("a", 1);
    let samples = node.subscribe::<u64>("n", &waiting(1, 8)).unwrap();
    let topic = node.topic::<u64>("n", Qos::reliable(8)).unwrap();
    publish(&topic, 1);
    let order = Causality::new("order 7").skipping_unstarted();
    order.cancel("the customer has gone");
    // A task of the node waits with this one until the port has room.
    order.run(|| publish(&topic, 2));
    publish(&topic, 3);
    let mut values = Vec::new();
    while let Some(sample) = samples.port().test() {
        values.push(*sample.value);
        net.replay.run();
    }
    assert_eq!(values, [1, 2, 3]);
}
