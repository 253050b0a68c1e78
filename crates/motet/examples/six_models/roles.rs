//! What each node of the program does. How the nodes are linked is not known here.

use motet::comm::OUTSIDE;
use motet::mesh::{Node, Overlay, OverlayConfig, Qos, Request, Sample, Server};
use motet::mining::{Control, KMeans, Points};
use motet::search::Search;
use motet::sim::{Sim, Simulation};
use motet::timer::{self, Deadline};
use motet::{Communicator, Deliver, Dispatcher, Local, Port, Receive, World};
use motet_problems::Tour;
use motet_service::{Service, State, contract, data};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The nodes that measure.
pub(crate) const SENSORS: u32 = 2;
/// The readings of each.
const READINGS: u32 = 60;
/// The places that are served.
const STOPS: usize = 6;
const TAG: u32 = 7;

/// Where something was seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reading {
    place: [f64; 2],
}

/// What the program makes of all readings.
#[data]
#[derive(Default, PartialEq)]
pub(crate) struct Plan {
    /// Where the trucks stop, in the order of the first coordinate.
    pub stops: Vec<[f64; 2]>,
    /// The length of the shortest round trip, in km.
    pub kilometres: u32,
    /// How long a truck waits at a stop on average, in minutes.
    pub wait: f64,
}

/// Publish-subscribe: measures, and publishes what it sees. Late subscribers get it too.
pub(crate) async fn sensor(node: &Node, number: u32) -> Outcome<()> {
    let key = format!("sensor/{}/reading", node.name());
    let readings = node.topic::<Reading>(&key, Qos::acknowledged(READINGS).retaining(READINGS))?;
    for n in 0..READINGS {
        // Around six towns, by turns of the golden angle.
        let (town, turn) = (
            f64::from(n % 6),
            f64::from(n * SENSORS + number) * 2.399_963,
        );
        let (x, y) = (10.0 + 3.0 * town, 40.0 + (town * 2.3).sin() * 5.0);
        let far = 0.4 * (f64::from(n) / f64::from(READINGS)).sqrt();
        let place = [x + far * turn.cos(), y + far * turn.sin()];
        readings.publish_wait(Reading { place }).await?;
    }
    let plan = viewer(node).await?;
    assert_eq!(plan.stops.len(), STOPS);
    Ok(())
}

/// Overlay: learns the plan from the members that hold it, compares it with what the service shows,
/// and says that it knows.
pub(crate) async fn viewer(node: &Node) -> Outcome<Plan> {
    let overlay = Overlay::join(node, "plans", OverlayConfig::default())?;
    let news = overlay.room::<String>("news", 16)?;
    let plan = loop {
        if let Some(plan) = overlay.get::<Plan>("plan/best").await? {
            break plan;
        }
        // The news may have come before this member did.
        let _ = news.port().recv().within(Duration::from_millis(100)).await;
    };
    let shown: Plan = node.call("board", &()).await?;
    assert_eq!(shown, plan, "the board shows what the overlay has");
    overlay.say("knows");
    // The centre ends the program.
    while overlay
        .presence()
        .iter()
        .any(|member| member.status != "knows")
    {
        timer::sleep(Duration::from_millis(20)).await;
    }
    Ok(plan)
}

/// Services: keeps the plan and shows it.
#[contract(uri = "example:board/1", state = Plan)]
trait Board {
    #[update]
    fn set(&mut self, plan: Plan);
}

#[derive(Service)]
#[service(contract = Board)]
struct PlanBoard {
    #[state]
    plan: State<Plan>,
}

impl Board for PlanBoard {
    fn set(&mut self, plan: Plan) {
        self.plan.set(plan);
    }
}

/// Ranks: collect the readings, cluster them, and search the shortest way.
async fn find(comm: &Communicator, node: &Node) -> Outcome<(Vec<[f64; 2]>, u32)> {
    let mut places = None;
    if comm.rank() == 0 {
        let _delivery = node.deliver::<Reading>("sensor/*/reading", comm, TAG, 32)?;
        let mut seen = BTreeMap::new();
        while seen.len() < (SENSORS * READINGS) as usize {
            let Local(sample) = comm.recv::<Local<Sample<Reading>>>(OUTSIDE, TAG).await?;
            seen.insert((sample.publisher().clone(), sample.number), sample.place);
        }
        places = Some(seen.into_values().collect::<Vec<_>>().concat());
    }
    let places = comm.broadcast(0, places).await?;
    let points = Points::new(places, 2)?;
    let method = KMeans {
        clusters: STOPS,
        restarts: 5,
        ..KMeans::default()
    };
    let found = method.fit(comm, &points, &Control::default()).await?;
    let stops: Vec<[f64; 2]> = found.centres.chunks(2).map(|c| [c[0], c[1]]).collect();
    let cities: Vec<(f64, f64)> = stops.iter().map(|&[x, y]| (y, x)).collect();
    let best = Search::default()
        .minimise(comm, &Tour::geographic(&cities))
        .await?;
    let way = best.result.expect("there is a way through all stops");
    Ok((stops, way.value))
}

/// Simulation: three trucks on the way, and one crew that unloads them.
fn predict(stops: usize, kilometres: u32) -> Outcome<f64> {
    let simulation = Simulation::new(2026);
    let crew = simulation.resource("crew", 1);
    let leg = u64::from(kilometres) / stops as u64;
    for truck in 0..3 {
        let crew = crew.clone();
        simulation.spawn("truck", async move |sim: Sim| {
            sim.sleep(5 * truck).await;
            for _ in 0..stops {
                sim.sleep(leg + sim.between(0, 20)).await;
                let _unloads = crew.request().await;
                sim.sleep(30).await;
            }
        });
    }
    simulation.run()?;
    Ok(crew.waits().mean())
}

/// Message-driven: requests of other nodes that come to a port are answered out of the service's
/// state.
fn answer(node: &Node, board: BoardClient, dispatcher: &Dispatcher) -> Outcome<Server> {
    let asked = Port::<Request<(), Plan>>::new();
    let server = node.serve("board", &asked)?;
    let show = move |request: Request<(), Plan>| {
        let board = board.clone();
        async move {
            match board.get().await {
                Ok(plan) => request.answer(&plan),
                Err(fault) => request.refuse(fault.to_string()),
            }
        }
    };
    let queue = dispatcher.queue(motet::QueueConfig::named("board"));
    Receive::persistent_async(&asked, show).activate(&queue)?;
    Ok(server)
}

/// Clusters what is published, plans, predicts, shows and shares. Returns when `others` members
/// know the plan.
pub(crate) fn centre(node: &Node, dispatcher: &Dispatcher, others: usize) -> Outcome<Plan> {
    let services = motet_service::Node::builder("centre")
        .register::<PlanBoard>()
        .start(dispatcher)?;
    let overlay = Overlay::join(node, "plans", OverlayConfig::default())?;
    let news = overlay.room::<String>("news", 16)?;
    let found = World::threads(4).run(async |comm| find(&comm, node).await)?;
    let (stops, kilometres) = found.into_iter().next().expect("there are four ranks");
    let wait = predict(STOPS, kilometres)?;
    let plan = Plan {
        stops,
        kilometres,
        wait,
    };
    motet::wait_blocking(async {
        services
            .load(["[[service]]\ntype = \"plan-board\"\nat = \"/board\"\n"])
            .await?;
        let board: BoardClient = services.client("/board")?;
        board.set(plan.clone()).await?;
        let server = answer(node, board, dispatcher)?;
        overlay.put("plan/best", &plan).await?;
        news.say_wait("there is a plan".to_owned()).await?;
        let knows = || {
            let there = overlay.presence().into_iter();
            there.filter(|member| member.status == "knows").count()
        };
        while knows() < others {
            timer::sleep(Duration::from_millis(20)).await;
        }
        overlay.say("knows");
        // They leave first: they read this last word.
        for _ in 0..100 {
            if overlay.presence().is_empty() {
                break;
            }
            timer::sleep(Duration::from_millis(20)).await;
        }
        drop(server);
        services.shutdown().await;
        Outcome::Ok(())
    })??;
    Ok(plan)
}
