//! Similarity search as a service, over two sources of compounds as they were recorded: 19 records
//! of PubChem with its substructure keys, and 64 compounds of a screen with Morgan fingerprints.
//! An index of each answers which are the most similar to one of them by Tanimoto's coefficient of
//! their fingerprints. Each hit has a link to PubChem.
//!
//! ```text
//!  /pubchem (19 records)   ◄── get, and again when it has changed ── /pubchem-index ◄── similar
//!  /screen  (64 compounds) ◄── the same ──────────────────────────── /screen-index  ◄── similar
//! ```
//!
//! Where they are from is in `examples/data/README.md`. No network is used.

use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_service::{
    Create, Cx, Fault, FaultCode, Node, Notification, Service, State, Subscribe, contract, data,
};

/// Records of PubChem: number, formula, name, SMILES, and PubChem's 881 substructure keys.
const PUBCHEM: &str = include_str!("../../../examples/data/pubchem.tsv");
/// A screen: row, scaffold, SMILES, and 1,024 bits of a Morgan fingerprint.
const SCREEN: &str = include_str!("../../../examples/data/compounds.tsv");

/// A compound.
#[data]
#[derive(PartialEq)]
struct Compound {
    /// Its number in the source: PubChem's CID, or the row of a table.
    number: u32,
    /// Its name, or empty.
    name: String,
    /// The number of its ring scaffold, where the source has one.
    scaffold: Option<u32>,
    smiles: String,
    /// The fingerprint in hexadecimal digits.
    bits: String,
    /// What PubChem says of it.
    link: String,
}

#[data]
#[derive(Default)]
struct Compounds {
    compounds: Vec<Compound>,
}

#[contract(uri = "example:compounds/1", state = Compounds)]
trait Source {
    /// Adds the compounds of a table, whose first line names its columns; how many there are then.
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
        let wrong = |line: usize, why: String| {
            let reason = format!("line {line} of the table: {why}");
            Fault::new(FaultCode::MessageNotSupported, reason)
        };
        let mut lines = table.lines();
        let columns: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
        for (number, line) in (2..).zip(lines) {
            let compound = compound_of(&columns, line).map_err(|why| wrong(number, why))?;
            let first = self.compounds.compounds.first();
            if first.is_some_and(|first| first.bits.len() != compound.bits.len()) {
                let why = "its fingerprint is not as long as those before".to_owned();
                return Err(wrong(number, why));
            }
            self.compounds.compounds.push(compound);
        }
        Ok(self.compounds.compounds.len())
    }
}

fn compound_of(columns: &[&str], line: &str) -> Result<Compound, String> {
    let fields: Vec<&str> = line.split('\t').collect();
    if fields.len() != columns.len() {
        let (there, due) = (fields.len(), columns.len());
        return Err(format!("it has {there} fields, not {due}"));
    }
    let optional = |name: &str| {
        let at = columns.iter().position(|column| *column == name);
        at.map(|at| fields[at])
    };
    let field = |name: &str| optional(name).ok_or_else(|| format!("there is no column {name:?}"));
    let number = |text: &str| -> Result<u32, String> {
        text.parse().map_err(|_| format!("{text:?} is no number"))
    };
    let cid = optional("cid");
    let smiles = field("smiles")?;
    let bits = field("keys881").or_else(|_| field("morgan1024"))?;
    fingerprint(bits)?;
    Ok(Compound {
        number: number(cid.map_or_else(|| field("row"), Ok)?)?,
        name: optional("name").unwrap_or_default().to_owned(),
        scaffold: optional("scaffold").map(number).transpose()?,
        smiles: smiles.to_owned(),
        bits: bits.to_owned(),
        link: cid.map_or_else(|| link_by_structure(smiles), link_by_number),
    })
}

/// The page of a record.
fn link_by_number(cid: &str) -> String {
    format!("https://pubchem.ncbi.nlm.nih.gov/compound/{cid}")
}

/// The page that looks for a structure.
fn link_by_structure(smiles: &str) -> String {
    let mut query = String::new();
    for byte in smiles.bytes() {
        match byte.is_ascii_alphanumeric() {
            true => query.push(char::from(byte)),
            false => query += &format!("%{byte:02X}"),
        }
    }
    format!("https://pubchem.ncbi.nlm.nih.gov/#query={query}")
}

/// The bits of a fingerprint in words; the last is filled up with zeros.
fn fingerprint(bits: &str) -> Result<Vec<u64>, String> {
    if bits.is_empty() || !bits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("a fingerprint is one or more hexadecimal digits".to_owned());
    }
    let digit = |byte: &u8| u64::from(char::from(*byte).to_digit(16).unwrap_or_default());
    let word = |digits: &[u8]| digits.iter().fold(0, |word, byte| word << 4 | digit(byte));
    Ok(bits.as_bytes().chunks(16).map(word).collect())
}

/// What is looked for.
#[data]
struct Wanted {
    /// The number of a compound that is there.
    number: u32,
    /// At most so many.
    most: usize,
    /// At least so similar.
    least: f64,
}

/// A compound that is similar.
#[data]
#[derive(PartialEq)]
struct Hit {
    compound: Compound,
    /// Bits that both have over bits that one has.
    tanimoto: f64,
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
    /// The most similar compounds, best first; of equal ones that with the lower number.
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
    fingerprints: Vec<(Compound, Vec<u64>)>,
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
        let (_, bits) = of
            .find(|(it, _)| it.number == wanted.number)
            .ok_or_else(|| {
                Fault::unknown_entry(format!("there is no compound {}", wanted.number))
            })?;
        let alike = self
            .fingerprints
            .iter()
            .map(|(it, b)| (it, tanimoto(bits, b)));
        let mut alike: Vec<_> = alike
            .filter(|(_, tanimoto)| *tanimoto >= wanted.least)
            .collect();
        alike.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.number.cmp(&b.0.number)));
        let hits = alike.into_iter().take(wanted.most);
        let hit = |(compound, tanimoto): (&Compound, f64)| Hit {
            compound: compound.clone(),
            tanimoto,
        };
        Ok(hits.map(hit).collect())
    }

    async fn changed(&mut self, _: Notification<SourceContract>) -> Result<(), Fault> {
        self.read().await
    }
}

fn tanimoto(a: &[u64], b: &[u64]) -> f64 {
    let count = |of: fn(u64, u64) -> u64| -> u32 {
        a.iter().zip(b).map(|(a, b)| of(*a, *b).count_ones()).sum()
    };
    f64::from(count(|a, b| a & b)) / f64::from(count(|a, b| a | b).max(1))
}

/// A source of the table and an index that has heard of all of it.
async fn search_over(
    node: &Node,
    name: &str,
    table: &str,
) -> Result<(SourceClient, SimilarityClient), Fault> {
    let source = node.create(Create::<Recorded>::of().at(name)).await?;
    let index = Create::<Index>::of().at(&format!("{name}-index"));
    let index = node.create(index.partner("source", name)).await?;
    let wrong = source.add("row\tsmiles\tmorgan1024\n1\tC".to_owned()).await;
    let wrong = wrong.unwrap_err();
    assert!(wrong.reason().contains("line 2 of the table"), "{wrong}");
    let told = index.subscribe(Subscribe::all()).await?;
    let count = source.add(table.to_owned()).await?;
    // The index hears of it by itself.
    while index.get().await?.compounds < count {
        told.recv().await;
    }
    Ok((source, index))
}

/// The most similar other compound of each of a source, all asked for at once.
async fn nearest(
    source: &SourceClient,
    index: &SimilarityClient,
) -> Result<Vec<(Compound, Hit)>, Fault> {
    let compounds = source.get().await?.compounds.clone();
    let ask = |compound: &Compound| {
        let (number, most, least) = (compound.number, 2, 0.0);
        let wanted = Wanted {
            number,
            most,
            least,
        };
        index.similar(wanted).into_future()
    };
    let calls: Vec<_> = compounds.iter().map(ask).collect();
    let mut pairs = Vec::new();
    for (own, call) in compounds.into_iter().zip(calls) {
        let mut others = call.await?.into_iter();
        let other = others.find(|hit| hit.compound != own);
        pairs.push((own, other.expect("there are two at least")));
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
        let (pubchem, pubchem_index) = search_over(&node, "/pubchem", PUBCHEM).await?;
        let (screen, screen_index) = search_over(&node, "/screen", SCREEN).await?;
        let (number, most, least) = (99, 1, 0.0);
        let wanted = Wanted {
            number,
            most,
            least,
        };
        let absent = screen_index.similar(wanted).await.unwrap_err();
        assert_eq!(absent.code(), FaultCode::UnknownEntry);
        let of_pubchem = nearest(&pubchem, &pubchem_index).await?;
        let of_screen = nearest(&screen, &screen_index).await?;
        node.shutdown().await;
        Ok::<_, Fault>((of_pubchem, of_screen))
    };
    let (of_pubchem, of_screen) = wait_blocking(run).expect("it may block").expect("no fault");

    println!("{} records of PubChem", of_pubchem.len());
    for (own, other) in &of_pubchem {
        println!(
            "  {} is most like {}: {:.3}",
            own.number, other.compound.number, other.tanimoto
        );
    }
    let (own, other) = &of_pubchem[0];
    println!("{}\n  is most like {}", own.name, other.compound.name);
    println!("  {}", other.compound.link);
    // Mirror images have the same keys, and so has an ion of its molecule.
    let same = of_pubchem.iter().filter(|(_, other)| other.tanimoto == 1.0);
    let same: Vec<u32> = same.map(|(own, _)| own.number).collect();
    assert_eq!(same, [9_425_030, 9_425_031, 9_425_041, 9_425_042]);

    let (own, other) = &of_screen[0];
    println!("{} compounds of the screen", of_screen.len());
    println!("{} is most like {}", own.smiles, other.compound.smiles);
    println!("  Tanimoto {:.3}; {}", other.tanimoto, other.compound.link);
    let same = of_screen
        .iter()
        .filter(|(own, other)| own.scaffold == other.compound.scaffold);
    let same = same.count();
    println!("{same} of 64 have their most similar one at the same scaffold");
    assert_eq!((of_screen.len(), same), (64, 58));
}
