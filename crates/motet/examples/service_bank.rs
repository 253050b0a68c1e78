//! A bank whose process ends in the middle of its work: what was answered is there, and what is
//! asked for again with the same key is done once.
//!
//! The program starts itself as the process that is going to fail.

use motet_dispatch::Dispatcher;
use motet_service::{
    Create, Fault, IntoFault, Node, Persist, Redb, Service, State, contract, data,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, abort};

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
        let target = self.balance(to.clone())?;
        self.accounts.cents.insert(to, target + cents);
        Ok(left)
    }
}

const TRANSFERS: u64 = 10;

fn main() -> Result<(), Fault> {
    let file = std::env::temp_dir().join("motet-service-bank.redb");
    if let Some(number) = std::env::args().nth(1) {
        let until = number
            .parse()
            .expect("how many transfers are done before the end");
        work(&file, until)?;
        abort();
    }
    // What an earlier run may have left.
    drop(std::fs::remove_file(&file));
    for until in [0, 3, 7] {
        let program = std::env::current_exe().expect("the program has a file");
        let ended = Command::new(program).arg(until.to_string()).output();
        assert!(
            !ended.expect("the program starts").status.success(),
            "it was to fail"
        );
    }
    let (ann, bob) = work(&file, TRANSFERS)?;
    drop(std::fs::remove_file(&file));
    println!("ann has {ann}, bob has {bob}");
    assert_eq!(
        (ann, bob),
        (1000 - 10 * TRANSFERS, 1000 + 10 * TRANSFERS),
        "each was done once"
    );
    Ok(())
}

/// Asks for all transfers up to a number, whatever was done before. What the two accounts have
/// then.
fn work(file: &Path, until: u64) -> Result<(u64, u64), Fault> {
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
        for number in 0..until {
            let (from, to) = ("ann".to_owned(), "bob".to_owned());
            let transfer = Transfer {
                from,
                to,
                cents: 10,
            };
            bank.transfer(transfer)
                .key(&format!("transfer {number}"))
                .await?;
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
