//! A mashup of three services, put together by a manifest. There is a source of points, and a
//! clustering that runs on ranks as a job. A map is drawn anew when the clustering has found
//! something.
//!
//! ```text
//!  /source ◄── get ── /clustering (job: K-means on ranks) ── notification ──► /map ── get ──► /source
//! ```

use motet::World;
use motet::mining::{Control, KMeans, Points};
use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::system::{JobClient, JobStatus};
use motet_service::{Cx, Fault, Node, Notification, Service, State, Subscribe, contract, data};

/// Points of the plane.
#[data]
#[derive(Default)]
struct Places {
    points: Vec<[f64; 2]>,
}

#[contract(uri = "example:source/1", state = Places)]
trait Source {
    /// So many points around each of four places.
    #[update]
    fn scatter(&mut self, each: u32) -> usize;
}

#[derive(Service)]
#[service(contract = Source)]
struct FourTowns {
    #[state]
    places: State<Places>,
}

impl Source for FourTowns {
    fn scatter(&mut self, each: u32) -> usize {
        let towns = [[2.0, 2.0], [3.0, 8.0], [8.0, 3.0], [7.0, 7.0]];
        // Sunflower seeds: as far from each other as can be.
        let around = |n: u32| {
            let (turn, far) = (f64::from(n) * 2.399_963, f64::from(n) / f64::from(each));
            [far.sqrt() * turn.cos(), far.sqrt() * turn.sin()]
        };
        let all = towns.iter().flat_map(|town| {
            (0..each).map(move |n| [town[0] + around(n)[0], town[1] + around(n)[1]])
        });
        self.places.points = all.collect();
        self.places.points.len()
    }
}

/// What a clustering has found.
#[data]
#[derive(Default, PartialEq)]
struct Found {
    centres: Vec<[f64; 2]>,
    /// The cluster of each point.
    labels: Vec<u32>,
}

/// What is wanted.
#[data]
struct Wanted {
    clusters: usize,
    ranks: usize,
}

#[contract(uri = "example:clustering/1", state = Found)]
trait Clustering {
    /// Clusters the points of `/source`, on ranks.
    #[submit(job)]
    async fn cluster(cx: Cx, wanted: Wanted) -> Result<Found, Fault>;
    /// Keeps what a job has found.
    #[update]
    fn keep(&mut self, found: Found);
}

#[derive(Service)]
#[service(contract = Clustering)]
struct RankClustering {
    #[state]
    found: State<Found>,
}

impl Clustering for RankClustering {
    async fn cluster(cx: Cx, wanted: Wanted) -> Result<Found, Fault> {
        let places = cx.client::<SourceClient>("/source")?.get().await?;
        let points = Points::new(places.points.concat(), 2)
            .map_err(|error| Fault::failed(format!("the points of /source: {error}")))?;
        cx.progress(0.1, "the points are here");
        let method = KMeans {
            clusters: wanted.clusters,
            restarts: 10,
            ..KMeans::default()
        };
        let ranks = cx.ranks(World::threads(wanted.ranks)).profile();
        let parts =
            ranks.run(async move |comm| method.fit(&comm, &points, &Control::default()).await);
        let parts = parts.await?;
        let mut found = Found {
            centres: parts[0].centres.chunks(2).map(|c| [c[0], c[1]]).collect(),
            labels: Vec::new(),
        };
        // Each rank labels its share of the rows.
        for part in parts {
            found.labels.extend(part.labels);
        }
        cx.own::<ClusteringClient>()?.keep(found.clone()).await?;
        Ok(found)
    }

    fn keep(&mut self, found: Found) {
        self.found.set(found);
    }
}

/// A map: a letter for the cluster of each field, capital where its centre is.
#[data]
#[derive(Default)]
struct Map {
    lines: Vec<String>,
    drawn: u64,
}

#[contract(uri = "example:map/1", state = Map)]
trait Maps {
    /// The clustering has found something.
    #[notified]
    async fn found(&mut self, by: Notification<ClusteringContract>) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Maps, start = begin)]
struct TextMap {
    #[state]
    map: State<Map>,
    #[partner(policy = UseExisting)]
    source: SourceClient,
    #[partner(policy = UseExisting)]
    clustering: ClusteringClient,
}

const SIDE: usize = 11;

impl TextMap {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        let all = Subscribe::all();
        cx.subscribe::<MapsClient, _>(&self.clustering, all, MapsRequest::Found)
            .await
    }
}

impl Maps for TextMap {
    async fn found(&mut self, by: Notification<ClusteringContract>) -> Result<(), Fault> {
        let Some(ClusteringRequest::Keep(found)) = by.operation() else {
            return Ok(());
        };
        let places = self.source.get().await?;
        let mut fields = vec![vec!['.'; SIDE]; SIDE];
        let mut draw = |at: [f64; 2], letter: char| {
            let [x, y] = at.map(|v| v.clamp(0.0, (SIDE - 1) as f64).round() as usize);
            fields[SIDE - 1 - y][x] = letter;
        };
        let letter = |cluster: usize| char::from(b'a' + cluster as u8 % 26);
        for (point, cluster) in places.points.iter().zip(&found.labels) {
            draw(*point, letter(*cluster as usize));
        }
        for (cluster, centre) in found.centres.iter().enumerate() {
            draw(*centre, letter(cluster).to_ascii_uppercase());
        }
        self.map.lines = fields.into_iter().map(String::from_iter).collect();
        self.map.drawn += 1;
        Ok(())
    }
}

const MANIFEST: &str = r#"
[[service]]
type = "text-map"
at = "/map"
partners = { source = "/source", clustering = "/clustering" }

[[service]]
type = "rank-clustering"
at = "/clustering"

[[service]]
type = "four-towns"
at = "/source"
"#;

/// Has the points clustered on so many ranks, and waits for the map.
async fn clustered(node: &Node, ranks: usize) -> Result<(Found, Vec<String>), Fault> {
    let map: MapsClient = node.client("/map")?;
    let drawn = map.subscribe(Subscribe::all()).await?;
    let clustering: ClusteringClient = node.client("/clustering")?;
    let clusters = 4;
    let job = clustering.cluster(Wanted { clusters, ranks }).await?;
    let job: JobClient = node.client(&job.path)?;
    let told = job.subscribe(Subscribe::all().sync()).await?;
    while matches!(
        job.get().await?.status,
        JobStatus::Running | JobStatus::WaitsForCores
    ) {
        told.recv().await;
    }
    let ended = job.get().await?;
    assert_eq!(ended.status, JobStatus::Done, "{:?}", ended.fault);
    let profile = ended.profile.as_ref().expect("it was asked for");
    assert_eq!(profile["ranks"].as_array().map(Vec::len), Some(ranks));
    drawn.recv().await;
    let found = clustering.get().await?;
    Ok((Found::clone(&found), map.get().await?.lines.clone()))
}

fn main() {
    let dispatcher = Dispatcher::new(2);
    let node = Node::builder("clusters")
        .register::<FourTowns>()
        .register::<RankClustering>()
        .register::<TextMap>()
        .cores(2)
        .start(&dispatcher)
        .expect("the dispatcher takes tasks");
    let run = async {
        let loaded = node.load([MANIFEST]).await?;
        assert!(loaded.iter().all(|one| one.fault.is_none()), "{loaded:?}");
        let source: SourceClient = node.client("/source")?;
        assert_eq!(source.scatter(50).await?, 200);
        let (found, lines) = clustered(&node, 1).await?;
        let (again, same) = clustered(&node, 2).await?;
        assert_eq!(
            (&again, &same),
            (&found, &lines),
            "the same bits on two ranks"
        );
        node.shutdown().await;
        Ok::<_, Fault>((found, lines))
    };
    let (found, lines) = wait_blocking(run).expect("it may block").expect("no fault");
    println!("{}", lines.join("\n"));
    assert_eq!(found.labels.len(), 200);
    for (town, centre) in [[2.0, 2.0], [3.0, 8.0], [7.0, 7.0], [8.0, 3.0]]
        .iter()
        .zip(&found.centres)
    {
        let far = (town[0] - centre[0]).hypot(town[1] - centre[1]);
        assert!(far < 0.2, "{town:?} {centre:?}");
    }
    let capitals = lines
        .concat()
        .chars()
        .filter(char::is_ascii_uppercase)
        .count();
    assert_eq!(capitals, 4);
}
