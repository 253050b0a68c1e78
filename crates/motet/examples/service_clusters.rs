//! A mashup of three services, put together by a manifest. There is a source of points, and a
//! clustering that runs on ranks as a job. A map is drawn anew when the clustering has found
//! something.
//!
//! ```text
//!  /source ◄── get ── /clustering (job: K-means on ranks) ── notification ──► /map ── get ──► /source
//! ```
//!
//! The source is made up: four towns. Another manifest has another source, a table of places where
//! people were counted: `service_clusters indiana.csv`, or that of the folder `MOTET_DATA`.
//! `examples/data/README.md` says what such a table has.

use motet::World;
use motet::mining::{Control, KMeans, Points};
use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::system::{JobClient, JobStatus};
use motet_service::{Cx, Fault, Node, Notification, Service, State, Subscribe, contract, data};
use std::env;
use std::path::{Path, PathBuf};

/// Points of the plane.
#[data]
#[derive(Default)]
struct Places {
    /// Where they are read, if they are.
    file: PathBuf,
    points: Vec<[f64; 2]>,
}

#[contract(uri = "example:source/1", state = Places)]
trait Source {
    /// Has at most so many points from now on.
    #[update]
    fn fill(&mut self, most: u32) -> Result<usize, Fault>;
}

#[derive(Service)]
#[service(contract = Source)]
struct FourTowns {
    #[state]
    places: State<Places>,
}

impl Source for FourTowns {
    fn fill(&mut self, most: u32) -> Result<usize, Fault> {
        let each = most / 4;
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
        Ok(self.places.points.len())
    }
}

/// Places of a table, where people were counted.
#[derive(Service)]
#[service(contract = Source)]
struct Census {
    #[state]
    places: State<Places>,
}

impl Source for Census {
    fn fill(&mut self, most: u32) -> Result<usize, Fault> {
        let file = &self.places.file;
        let wrong = |why: String| Fault::failed(format!("{}: {why}", file.display()));
        let table = std::fs::read_to_string(file).map_err(|why| wrong(why.to_string()))?;
        let all = places_of(&table).map_err(wrong)?;
        // As many of each part of the table.
        let every = all.len().div_ceil(most.max(1) as usize).max(1);
        self.places.points = all.into_iter().step_by(every).collect();
        Ok(self.places.points.len())
    }
}

/// The places of a table with a line of names, on a plane in degrees of latitude. Those are left
/// out where nobody was counted.
fn places_of(table: &str) -> Result<Vec<[f64; 2]>, String> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| names.iter().position(|it| *it == name);
    let (Some(lon), Some(lat)) = (column("lon"), column("lat")) else {
        return Err("the first line has no lon and lat".to_owned());
    };
    let people = column("pop");
    let mut places = Vec::new();
    for (at, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |column: usize| -> Result<f64, String> {
            let field = fields.get(column).copied().unwrap_or_default();
            let number = field.parse().map_err(|_| format!("{field:?} is no number"));
            number.map_err(|why| format!("line {}: {why}", at + 2))
        };
        if people.map(number).transpose()? != Some(0.0) {
            places.push([number(lon)?, number(lat)?]);
        }
    }
    // A degree of longitude is shorter the farther from the equator it is.
    let middle = places.iter().map(|place| place[1]).sum::<f64>() / places.len().max(1) as f64;
    let shrink = middle.to_radians().cos();
    places.iter_mut().for_each(|place| place[0] *= shrink);
    Ok(places)
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
        let bounds = [0, 1].map(|axis| {
            let along = places.points.iter().map(|point| point[axis]);
            along.fold((f64::MAX, f64::MIN), |(low, high), v| {
                (low.min(v), high.max(v))
            })
        });
        let mut draw = |at: [f64; 2], letter: char| {
            let [x, y] = [0, 1].map(|axis| {
                let (low, high) = bounds[axis];
                let part = (at[axis] - low) / (high - low).max(f64::MIN_POSITIVE);
                (part.clamp(0.0, 1.0) * (SIDE - 1) as f64).round() as usize
            });
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
async fn clustered(
    node: &Node,
    clusters: usize,
    ranks: usize,
) -> Result<(Found, Vec<String>), Fault> {
    let map: MapsClient = node.client("/map")?;
    let drawn = map.subscribe(Subscribe::all()).await?;
    let clustering: ClusteringClient = node.client("/clustering")?;
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

/// Has the points of a source clustered on one rank and on two: how many there are, and what was
/// found.
fn mashed_up(manifest: &str, most: u32, clusters: usize) -> (usize, Found, Vec<String>) {
    let dispatcher = Dispatcher::new(2);
    let node = Node::builder("clusters")
        .register::<FourTowns>()
        .register::<Census>()
        .register::<RankClustering>()
        .register::<TextMap>()
        .cores(2)
        .start(&dispatcher)
        .expect("the dispatcher takes tasks");
    let run = async {
        let loaded = node.load([manifest]).await?;
        assert!(loaded.iter().all(|one| one.fault.is_none()), "{loaded:?}");
        let source: SourceClient = node.client("/source")?;
        let points = source.fill(most).await?;
        let (found, lines) = clustered(&node, clusters, 1).await?;
        let (again, same) = clustered(&node, clusters, 2).await?;
        assert_eq!(
            (&again, &same),
            (&found, &lines),
            "the same bits on two ranks"
        );
        node.shutdown().await;
        Ok::<_, Fault>((points, found, lines))
    };
    wait_blocking(run).expect("it may block").expect("no fault")
}

/// A table that was named, or that of the folder of data, if there is one.
fn table() -> Option<PathBuf> {
    let named = env::args_os().nth(1).map(PathBuf::from);
    named.or_else(|| {
        let folder = env::var_os("MOTET_DATA")?;
        let table = Path::new(&folder).join("gis-blockgroups-2020/indiana.csv");
        table.is_file().then_some(table)
    })
}

fn four_towns() {
    let (points, found, lines) = mashed_up(MANIFEST, 200, 4);
    println!("{}", lines.join("\n"));
    assert_eq!((points, found.labels.len()), (200, 200));
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

fn main() {
    four_towns();
    let places = places_of("geoid,pop,lon,lat\n1,7,2,60\n2,0,9,60\n").expect("it is a table");
    assert!(places.len() == 1 && (places[0][0] - 1.0).abs() < 1e-12);
    let wrong = places_of("lon,lat\n1,north\n").expect_err("north is no number");
    assert_eq!(wrong, "line 2: \"north\" is no number");
    if let Some(table) = table() {
        let file = table.display().to_string();
        let state =
            format!("four-towns\"\nstate = {{ value = {{ file = {file:?}, points = [] }} }}");
        let manifest = MANIFEST
            .replace("four-towns\"", &state)
            .replace("four-towns", "census");
        let (points, found, lines) = mashed_up(&manifest, 20_000, 8);
        println!("{points} places of {file}\n{}", lines.join("\n"));
        assert_eq!((found.labels.len(), found.centres.len()), (points, 8));
        assert!(points > 8);
    }
}
