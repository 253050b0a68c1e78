//! What a subscriber of the tracing crate sees: a span around each run.

use crate::support::{go, with_queue};
use motet_dispatch::{Causality, Enqueue, Inline, spawn};
use motet_testkit::Log;
use std::fmt;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{set_global_default, with_default};
use tracing::{Event, Metadata, Subscriber};

/// Writes the fields of each span of the project into a log.
#[derive(Clone)]
struct Collector(Log<Fields>);

/// Name and text of each field, in order.
type Fields = Vec<(&'static str, String)>;

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("motet")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        struct Reader(Fields);
        impl Visit for Reader {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                self.0.push((field.name(), format!("{value:?}")));
            }
        }
        let mut reader = Reader(vec![("span", span.metadata().name().to_owned())]);
        span.record(&mut reader);
        self.0.push(reader.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn field<'a>(fields: &'a Fields, name: &str) -> &'a str {
    let found = fields.iter().find(|(field, _)| *field == name);
    &found.expect("the span has the field").1
}

#[test]
fn a_span_names_queue_kind_and_causalities() {
    let log = Log::new();
    let it = Causality::new("order 17");
    with_default(Collector(log.clone()), || {
        let queue = Inline::new("traced");
        it.run(|| go(&queue, || ()));
        spawn(&queue.handle(), async {}).unwrap();
    });
    let spans = log.take();
    assert_eq!(spans.len(), 2);
    assert!(spans.iter().all(|span| field(span, "span") == "run"));
    assert!(
        spans
            .iter()
            .all(|span| field(span, "queue") == "\"traced\"")
    );
    let causalities = [&spans[0], &spans[1]].map(|span| field(span, "causalities"));
    assert_eq!(
        causalities,
        [&format!("{{{}: \"order 17\"}}", it.id()), "{}"]
    );
    assert!(
        spans
            .iter()
            .all(|span| field(span, "kind").contains("a_span_names"))
    );
}

#[test]
fn workers_open_a_span_for_each_task_and_each_poll() {
    let log = Log::new();
    // The only one of this program; the threads of a dispatcher know no other.
    set_global_default(Collector(log.clone())).unwrap();
    with_queue(2, |dispatcher, queue| {
        for _ in 0..10 {
            go(&queue, || ());
        }
        dispatcher.wait_idle();
    });
    let ours = |span: &Fields| field(span, "kind").contains("workers_open_a_span");
    assert_eq!(log.take().iter().filter(|span| ours(span)).count(), 10);
}
