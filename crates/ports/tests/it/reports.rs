//! What ports say of themselves.

use crate::support::{Probe, Wakes, here, poll, port_with};
use motet_ports::{
    JoinedReceive, MultipleItemGather, MultipleItemReceive, Port, PortSet, Receive, SharedPortSet,
};

#[test]
fn sem_g263_a_port_remembers_where_it_was_made() {
    let line = line!() + 1;
    let ports = [Port::<u32>::new(), Port::default(), Port::named("third")];
    let set = PortSet::<(u32, u64)>::new();
    let defaults = PortSet::<(u32, u64)>::default();
    let shared = SharedPortSet::<(u32, u64)>::new();
    for (port, at) in [
        (&ports[0], line),
        (&ports[1], line),
        (&ports[2], line),
        (set.p0(), line + 1),
        (defaults.p0(), line + 2),
    ] {
        assert_eq!(
            (port.made_at().file(), port.made_at().line()),
            (file!(), at)
        );
    }
    assert_eq!(shared.shared_port().made_at().line(), line + 3);
}

#[test]
fn sem_g263_a_port_is_named_once() {
    let port = Port::<u32>::new();
    assert_eq!(port.name(), None);
    let twin = port.clone();
    assert!(port.set_name("orders"));
    assert!(!twin.set_name("parcels"));
    assert_eq!(twin.name(), Some("orders"));
    assert_eq!(port.name(), Some("orders"));
    assert!(
        format!("{port:?}").contains(r#"name: "orders", of: "u32""#),
        "{port:?}"
    );
}

#[test]
fn sem_g263_a_port_describes_what_it_holds_and_who_waits() {
    let (port, other) = (Port::named("p"), Port::<u32>::new());
    let queue = here();
    Receive::persistent(&port, |_: u32| ())
        .when(|n| *n > 10)
        .activate(&queue)
        .unwrap();
    MultipleItemReceive::once(&port, 3, |_| ())
        .activate(&queue)
        .unwrap();
    JoinedReceive::once((&port, &other), |_: (u32, u32)| ())
        .activate(&queue)
        .unwrap();
    Probe::rejecting().register(&port);
    port.post(1).unwrap();
    let said = port.to_string();
    let (head, receivers) = said.split_once("; ").unwrap();
    let made = port.made_at();
    assert_eq!(head, format!("port \"p\" of u32, made at {made}: 1 item"));
    assert_eq!(
        receivers,
        format!(
            "receive with a predicate, one-time receive of 3 items, one-time join with port {} of u32, \
             {}",
            other.id(),
            std::any::type_name::<Probe<u32>>()
        )
    );
    assert!(
        other
            .to_string()
            .ends_with("0 items; one-time join with port \"p\" of u32")
    );
}

#[test]
fn sem_g263_who_awaits_is_described_too() {
    let port = Port::<u32>::new();
    let (_, waker) = Wakes::new();
    let (mut recv, mut ready) = (port.recv(), port.ready());
    assert!(poll(&mut recv, &waker).is_pending());
    assert!(poll(&mut ready, &waker).is_pending());
    let said: Vec<_> = port
        .receivers()
        .iter()
        .map(|receiver| receiver.describe())
        .collect();
    assert_eq!(said, ["awaited receive", "awaited look"]);
}

#[test]
fn sem_g263_a_snapshot_of_receivers_can_be_used_to_unregister_them() {
    let port = port_with([1, 2]);
    let probe = Probe::rejecting();
    probe.register(&port);
    probe.register(&port);
    let snapshot = port.receivers();
    assert_eq!(snapshot.len(), 2, "registered twice, there twice");
    assert!(port.unregister(&snapshot[0]));
    assert_eq!((port.receiver_count(), snapshot.len()), (1, 2));
}

#[test]
fn sem_g263_joins_of_many_are_described() {
    let (p, q, r) = (
        Port::<u32>::named("p"),
        Port::<u32>::named("q"),
        Port::<u32>::named("r"),
    );
    let queue = here();
    JoinedReceive::persistent((&p, q.times(2), &r), |_| ())
        .activate(&queue)
        .unwrap();
    MultipleItemGather::once(3, (&r, &p), |_: (Vec<u32>, Vec<u32>)| ())
        .activate(&queue)
        .unwrap();
    MultipleItemReceive::once(&p, 2, |_| ())
        .when(|n| *n > 1)
        .activate(&queue)
        .unwrap();
    let said = p.to_string();
    assert_eq!(
        said.split_once("; ").unwrap().1,
        "join with port \"q\" of u32 and port \"r\" of u32, \
         one-time gather of 3 with port \"r\" of u32, one-time receive of 2 items with a guard"
    );
}
