//! Who claims the log of a durable topic of another.

use super::{Limited, data, few_rights, hello, open};
use crate::{LogConfig, MeshRights, Node, Qos, SubscribeConfig};
use motet_dispatch::QueueConfig;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn sem_g562_who_claims_the_log_of_another_under_its_key_takes_nothing_of_it() {
    for (seed, rights) in [few_rights(), MeshRights::all()].into_iter().enumerate() {
        let limited = Limited::new(seed as u64, few_rights());
        let victim = limited.node("victim");
        let name = format!("motet-hostile-claim-{}-{seed}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let log = crate::log::new_id(&limited.replay.clock(), &directory);
        let config = SubscribeConfig::default();
        let samples = victim.subscribe::<u32>("**", &config).expect("a pattern");
        let came = || -> Vec<_> {
            let came = std::iter::from_fn(|| samples.port().test());
            let came = came.filter(|sample| sample.publisher().as_str() == "camera");
            came.map(|sample| (sample.number, sample.gap)).collect()
        };
        let settle = || limited.replay.run_for(Duration::from_secs(1));
        let camera = || {
            let carrier = limited.network.carrier_with("camera", rights.clone());
            let queue = Arc::new(limited.replay.queue(QueueConfig::named("camera")));
            Node::join(&carrier, 1, queue)
        };
        let (kept, depth) = (LogConfig::in_directory(&directory), Qos::durable(4));
        let node = camera();
        let topic = node.durable_topic::<u32>("a/x", depth, &kept);
        let topic = topic.expect("a durable topic");
        settle();
        topic.publish(1).expect("a sample on the disk");
        settle();
        assert_eq!(came(), [(1, None)]);
        limited.network.kill("camera");
        drop((topic, node));
        limited.replay.run();
        // All before this number would be accepted.
        let claims = [open(1, "a/x", Some(log)), data(1, u64::MAX - 1)];
        limited.sends("victim", [hello()].into_iter().chain(claims));
        let node = camera();
        let topic = node.durable_topic::<u32>("a/x", depth, &kept);
        let topic = topic.expect("a durable topic");
        settle();
        topic.publish(2).expect("a sample on the disk");
        settle();
        assert_eq!(came(), [(2, None)]);
        drop((topic, node));
        std::fs::remove_dir_all(directory).expect("a directory");
    }
}
