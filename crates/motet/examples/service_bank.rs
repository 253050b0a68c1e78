//! A bank whose process is killed in the middle of its work. What was answered is there, and what
//! is asked for again with the same key is done once.
//!
//! The program starts itself as the process that is killed.

use motet_dispatch::Dispatcher;
use motet_service::{
    Create, Fault, IntoFault, Node, Persist, Redb, Service, State, contract, data,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The accounts, in cents.
#[data]
#[derive(Default)]
struct Accounts {
    cents: BTreeMap<String, u64>,
}

#[data]
struct Transfer {
    from: String,
    to: String,
    cents: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, IntoFault)]
enum BankFault {
    #[fault(UnknownEntry)]
    NoAccount(String),
    #[fault(PreconditionFailed)]
    TooPoor { has: u64 },
    /// The account would have more than a number holds.
    #[fault(InsufficientResources)]
    Full(String),
}

#[contract(uri = "example:bank/1", state = Accounts)]
trait Bank {
    /// How much an account has.
    #[query]
    fn balance(&self, account: String) -> Result<u64, BankFault>;
    /// Opens an account.
    #[insert]
    fn open(&mut self, account: String);
    /// Moves money; answers with what is left.
    #[update(rollback)]
    fn transfer(&mut self, transfer: Transfer) -> Result<u64, BankFault>;
}

#[derive(Service)]
#[service(contract = Bank)]
struct SavingsBank {
    #[state]
    accounts: State<Accounts>,
}

impl Bank for SavingsBank {
    fn balance(&self, account: String) -> Result<u64, BankFault> {
        let cents = self.accounts.cents.get(&account);
        cents.copied().ok_or(BankFault::NoAccount(account))
    }

    fn open(&mut self, account: String) {
        self.accounts.cents.entry(account).or_insert(1000);
    }

    fn transfer(&mut self, transfer: Transfer) -> Result<u64, BankFault> {
        let Transfer { from, to, cents } = transfer;
        let has = self.balance(from.clone())?;
        let left = has.checked_sub(cents).ok_or(BankFault::TooPoor { has })?;
        self.accounts.cents.insert(from, left);
        // A fault after a change: it is rolled back.
        let target = self.balance(to.clone())?.checked_add(cents);
        let target = target.ok_or_else(|| BankFault::Full(to.clone()))?;
        self.accounts.cents.insert(to, target);
        Ok(left)
    }
}

const TRANSFERS: u64 = 40;

fn main() -> Result<(), Fault> {
    if let Some(file) = std::env::args().nth(1) {
        work(Path::new(&file), |line| println!("{line}"))?;
        loop {
            std::thread::park();
        }
    }
    let file = std::env::temp_dir().join(format!("motet-bank-{}.redb", std::process::id()));
    let mut answered = 0;
    for kill_after in [1, 4, 9] {
        answered = killed(&file, answered, kill_after);
    }
    let (ann, bob) = work(&file, |_| {})?;
    drop(std::fs::remove_file(&file));
    println!(
        "killed three times, the last time after {answered} answers: ann has {ann}, bob has {bob}"
    );
    assert!(answered >= 14, "{answered}");
    assert_eq!(
        (ann, bob),
        (1000 - 10 * TRANSFERS, 1000 + 10 * TRANSFERS),
        "each was done once"
    );
    Ok(())
}

/// Starts the bank in a process of its own, and kills it (SIGKILL) when it has answered so many
/// transfers anew. How many it has answered in all.
fn killed(file: &Path, answered: u64, kill_after: u64) -> u64 {
    let program = std::env::current_exe().expect("the program has a file");
    let mut command = Command::new(program);
    let bank = command.arg(file).stdout(Stdio::piped()).spawn();
    let mut bank = bank.expect("the program starts");
    let lines = BufReader::new(bank.stdout.take().expect("it was piped")).lines();
    let mut last = answered;
    for line in lines.map_while(Result::ok) {
        let number = |of: &str| {
            line.strip_prefix(of)
                .and_then(|rest| rest.parse::<u64>().ok())
        };
        if let Some(done) = number("stored ") {
            // One that was not answered may be there or not; those that were answered are.
            assert!(
                (answered..=answered + 1).contains(&done),
                "{done} of {answered}"
            );
        }
        if let Some(done) = number("answered ") {
            last = last.max(done);
            if last >= TRANSFERS.min(answered + kill_after) {
                // It may be dead already.
                drop(bank.kill());
            }
        }
    }
    let ended = bank.wait().expect("it was started");
    assert!(!ended.success(), "it was killed");
    last
}

/// Asks for all transfers, whatever was done before. What the two accounts have then.
fn work(file: &Path, tell: impl Fn(&str)) -> Result<(u64, u64), Fault> {
    let dispatcher = Dispatcher::new(2);
    let builder = Node::builder("bank").register::<SavingsBank>();
    let node = builder.store(Redb::open(file)?).start(&dispatcher)?;
    let working = async {
        let create = Create::<SavingsBank>::of()
            .at("/bank")
            .persist(Persist::Each);
        let bank = node.create(create).await?;
        for name in ["ann", "bob"] {
            bank.open(name.to_owned()).await?;
        }
        let done = (1000 - bank.balance("ann".to_owned()).await?) / 10;
        tell(&format!("stored {done}"));
        for number in 1..=TRANSFERS {
            let (from, to) = ("ann".to_owned(), "bob".to_owned());
            let transfer = Transfer {
                from,
                to,
                cents: 10,
            };
            bank.transfer(transfer)
                .key(&format!("transfer {number}"))
                .await?;
            tell(&format!("answered {number}"));
        }
        let nobody = Transfer {
            from: "ann".to_owned(),
            to: "eve".to_owned(),
            cents: 10,
        };
        let fault = bank.transfer(nobody).await.expect_err("eve has no account");
        assert_eq!(fault.domain(), Some(BankFault::NoAccount("eve".to_owned())));
        Ok((
            bank.balance("ann".to_owned()).await?,
            bank.balance("bob".to_owned()).await?,
        ))
    };
    motet_ports::wait_blocking(working).expect("this thread runs no task")
}
