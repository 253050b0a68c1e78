//! Similarity search as a service. There is a source of compounds as it was recorded. An index
//! answers which are the most similar to one of them by Tanimoto's coefficient of their
//! fingerprints. Each hit has a link to PubChem.
//!
//! ```text
//!  /source (64 compounds, recorded) ◄── get, and again when it has changed ── /index ◄── similar, by any number at once
//! ```
//!
//! The source is the NCI's screen against HIV; see `examples/data/README.md`. No network is used.

use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::{
    Create, Cx, Fault, FaultCode, Node, Notification, Service, State, Subscribe, contract, data,
};

/// What was recorded: row, scaffold, SMILES, and 1,024 bits of a Morgan fingerprint.
const RECORDED: &str = include_str!("../../../examples/data/compounds.tsv");

/// The words of a fingerprint.
const WORDS: usize = 16;

/// A compound.
#[data]
#[derive(PartialEq)]
struct Compound {
    row: u32,
    scaffold: u32,
    smiles: String,
    /// The fingerprint: two digits for each eight bits, low bits first.
    bits: String,
}

#[data]
#[derive(Default)]
struct Compounds {
    compounds: Vec<Compound>,
}

#[contract(uri = "example:compounds/1", state = Compounds)]
trait Source {
    /// Adds the compounds of a table; how many there are then.
    #[update(rollback)]
    fn add(&mut self, table: String) -> Result<usize, Fault>;
}

#[derive(Service)]
#[service(contract = Source)]
struct Recorded {
    #[state]
    compounds: State<Compounds>,
}

impl Source for Recorded {
    fn add(&mut self, table: String) -> Result<usize, Fault> {
        for (number, line) in table.lines().enumerate().skip(1) {
            let compound = compound_of(line).map_err(|why| {
                let reason = format!("line {} of the table: {why}", number + 1);
                Fault::new(FaultCode::MessageNotSupported, reason)
            })?;
            self.compounds.compounds.push(compound);
        }
        Ok(self.compounds.compounds.len())
    }
}

fn compound_of(line: &str) -> Result<Compound, String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [row, scaffold, smiles, bits] = fields[..] else {
        return Err(format!("it has {} fields, not 4", fields.len()));
    };
    fingerprint(bits)?;
    let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no number"));
    Ok(Compound {
        row: number(row)?,
        scaffold: number(scaffold)?,
        smiles: smiles.to_owned(),
        bits: bits.to_owned(),
    })
}

fn fingerprint(bits: &str) -> Result<[u64; WORDS], String> {
    let mut words = [0; WORDS];
    if bits.len() != WORDS * 16 || !bits.is_ascii() {
        return Err(format!("a fingerprint has {} digits", WORDS * 16));
    }
    for (at, word) in words.iter_mut().enumerate() {
        let digits = &bits[at * 16..at * 16 + 16];
        let big = u64::from_str_radix(digits, 16).map_err(|why| format!("{digits}: {why}"))?;
        *word = big.swap_bytes();
    }
    Ok(words)
}

/// What is looked for.
#[data]
struct Wanted {
    /// The row of a compound that is there.
    row: u32,
    /// At most so many.
    most: usize,
    /// At least so similar.
    least: f64,
}

/// A compound that is similar.
#[data]
#[derive(PartialEq)]
struct Hit {
    row: u32,
    scaffold: u32,
    smiles: String,
    /// Bits that both have over bits that one has.
    tanimoto: f64,
    link: String,
}

/// What the index is of.
#[data]
#[derive(Default)]
struct Indexed {
    compounds: usize,
    /// The version of the source.
    version: u64,
}

#[contract(uri = "example:similarity/1", state = Indexed)]
trait Similarity {
    /// The most similar compounds, best first; of equal ones that with the lower row.
    #[query]
    fn similar(&self, wanted: Wanted) -> Result<Vec<Hit>, Fault>;
    /// The source has changed.
    #[notified]
    async fn changed(&mut self, by: Notification<SourceContract>) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Similarity, start = begin)]
struct Index {
    #[state]
    indexed: State<Indexed>,
    #[partner(policy = UseExisting)]
    source: SourceClient,
    /// Made of what the source has: no part of the state.
    fingerprints: Vec<(Compound, [u64; WORDS])>,
}

impl Index {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        let all = Subscribe::all();
        cx.subscribe::<SimilarityClient, _>(&self.source, all, SimilarityRequest::Changed)
            .await?;
        self.read().await
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let source = self.source.get().await?;
        let bits = source.compounds.iter().map(|compound| {
            let bits = fingerprint(&compound.bits).map_err(Fault::failed)?;
            Ok((compound.clone(), bits))
        });
        self.fingerprints = bits.collect::<Result<_, Fault>>()?;
        let (compounds, version) = (self.fingerprints.len(), source.version);
        self.indexed.set(Indexed { compounds, version });
        Ok(())
    }
}

impl Similarity for Index {
    fn similar(&self, wanted: Wanted) -> Result<Vec<Hit>, Fault> {
        let mut of = self.fingerprints.iter();
        let (_, bits) = of.find(|(it, _)| it.row == wanted.row).ok_or_else(|| {
            Fault::unknown_entry(format!("there is no compound of row {}", wanted.row))
        })?;
        let alike = self
            .fingerprints
            .iter()
            .map(|(it, b)| (it, tanimoto(bits, b)));
        let mut alike: Vec<_> = alike
            .filter(|(_, tanimoto)| *tanimoto >= wanted.least)
            .collect();
        alike.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.row.cmp(&b.0.row)));
        let hits = alike.into_iter().take(wanted.most);
        Ok(hits
            .map(|(compound, tanimoto)| hit(compound, tanimoto))
            .collect())
    }

    async fn changed(&mut self, _: Notification<SourceContract>) -> Result<(), Fault> {
        self.read().await
    }
}

fn tanimoto(a: &[u64; WORDS], b: &[u64; WORDS]) -> f64 {
    let count = |of: fn(u64, u64) -> u64| -> u32 {
        a.iter().zip(b).map(|(a, b)| of(*a, *b).count_ones()).sum()
    };
    f64::from(count(|a, b| a & b)) / f64::from(count(|a, b| a | b).max(1))
}

fn hit(compound: &Compound, tanimoto: f64) -> Hit {
    let mut query = String::new();
    for byte in compound.smiles.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => query.push(char::from(byte)),
            false => query += &format!("%{byte:02X}"),
        }
    }
    Hit {
        row: compound.row,
        scaffold: compound.scaffold,
        smiles: compound.smiles.clone(),
        tanimoto,
        link: format!("https://pubchem.ncbi.nlm.nih.gov/#query={query}"),
    }
}

/// The most similar other compound of each, all asked for at once.
async fn nearest(index: &SimilarityClient, rows: &[u32]) -> Result<Vec<(Hit, Hit)>, Fault> {
    let (most, least) = (2, 0.0);
    let ask = |row: &u32| {
        index
            .similar(Wanted {
                row: *row,
                most,
                least,
            })
            .into_future()
    };
    let calls: Vec<_> = rows.iter().map(ask).collect();
    let mut pairs = Vec::new();
    for call in calls {
        let two: [Hit; 2] = call.await?.try_into().expect("there are two at least");
        let [own, other] = two;
        pairs.push((own, other));
    }
    Ok(pairs)
}

fn main() {
    let dispatcher = Dispatcher::new(2);
    let node = Node::builder("compounds")
        .register::<Recorded>()
        .register::<Index>();
    let node = node.start(&dispatcher).expect("the dispatcher takes tasks");
    let run = async {
        let source = node.create(Create::<Recorded>::of().at("/source")).await?;
        let index = node.create(Create::<Index>::of().at("/index")).await?;
        let wrong = source.add("head\n1\t2\tC".to_owned()).await.unwrap_err();
        assert!(wrong.reason().contains("line 2 of the table"), "{wrong}");
        let told = index.subscribe(Subscribe::all()).await?;
        let count = source.add(RECORDED.to_owned()).await?;
        // The index hears of it by itself.
        while index.get().await?.compounds < count {
            told.recv().await;
        }
        let rows: Vec<u32> = source
            .get()
            .await?
            .compounds
            .iter()
            .map(|it| it.row)
            .collect();
        let pairs = nearest(&index, &rows).await?;
        let wanted = Wanted {
            row: 99,
            most: 1,
            least: 0.0,
        };
        let absent = index.similar(wanted).await.unwrap_err();
        assert_eq!(absent.code(), FaultCode::UnknownEntry);
        node.shutdown().await;
        Ok::<_, Fault>(pairs)
    };
    let pairs = wait_blocking(run).expect("it may block").expect("no fault");
    let (own, other) = &pairs[0];
    println!("{} is most like {}", own.smiles, other.smiles);
    println!("  Tanimoto {:.3}; {}", other.tanimoto, other.link);
    assert_eq!(pairs.len(), 64);
    assert!(
        pairs
            .iter()
            .all(|(own, other)| own.tanimoto == 1.0 && other.tanimoto < 1.0)
    );
    let same = pairs
        .iter()
        .filter(|(own, other)| own.scaffold == other.scaffold);
    let same = same.count();
    println!("{same} of 64 compounds have their most similar one at the same scaffold");
    assert_eq!(same, 58);
}
