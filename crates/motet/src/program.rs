//! Several programs that are one world: which of them this process runs, and whose ranks are whose.

use crate::CurrentError;
use crate::current::said;
use motet_comm::{CommError, Communicator};
use std::env;
use std::future::Future;
use std::path::PathBuf;

/// Which of the programs of a coupled run this process runs.
///
/// `motet run -m 1 ./ocean : -m 2 ./air` starts two programs whose ranks are one world, and tells
/// each process which it runs. Under another launcher programs are told apart by the names of their
/// files.
///
/// ```
/// use motet::{CommError, Current, CurrentError, Program, World};
///
/// let program = Program::current()?;
/// let world = World::current()?;
/// let ranks = world.run(async |comm| -> Result<_, CommError> {
///     let programs = program.split(&comm).await?;
///     // A program's own messages and collectives, and the ranks of each by their numbers in `comm`.
///     let all = programs.own().allgather(comm.rank()).await?;
///     Ok(all == programs.ranks(programs.number()))
/// });
/// assert!(ranks.unwrap().into_iter().all(|equal| equal));
/// # Ok::<(), CurrentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// Its place in the line that started the run, from 0.
    pub number: usize,
    /// Its name: that of its file, without what follows the last dot.
    pub name: String,
}

/// The programs of a coupled run, as one rank sees them.
#[derive(Debug)]
pub struct Programs {
    own: Communicator,
    number: usize,
    all: Vec<(Program, Vec<usize>)>,
}

/// The environment variable by which `motet run` tells a process which of several programs it runs.
pub const PROGRAM: &str = "MOTET_PROGRAM";
/// The one by which it tells the name of that.
pub const PROGRAM_NAME: &str = "MOTET_PROGRAM_NAME";

impl Program {
    /// The program that this process runs: as `MOTET_PROGRAM` and `MOTET_PROGRAM_NAME` say, which
    /// `motet run` sets; without them number 0 with the name of its file.
    ///
    /// # Errors
    /// [`CurrentError::Program`] when `MOTET_PROGRAM` is no number.
    pub fn current() -> Result<Program, CurrentError> {
        Program::of(said(PROGRAM).as_deref(), said(PROGRAM_NAME))
    }

    fn of(number: Option<&str>, name: Option<String>) -> Result<Program, CurrentError> {
        let number = match number {
            None => 0,
            Some(text) => {
                let number = text.trim().parse();
                number.map_err(|_| CurrentError::Program(text.to_owned()))?
            }
        };
        Ok(Program {
            number,
            name: name.unwrap_or_else(own_name),
        })
    }

    /// Gives the ranks of each program a communicator of their own (MPI_COMM_SPLIT by MPI_APPNUM),
    /// in the order of their ranks in `comm`. All ranks of `comm` call it together, each with its
    /// program.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective.
    #[track_caller]
    pub fn split<'c>(
        &self,
        comm: &'c Communicator,
    ) -> impl Future<Output = Result<Programs, CommError>> + use<'c> {
        let own = self.clone();
        let gathered = comm.allgather((own.number, own.name.clone()));
        async move {
            let of_ranks = gathered.await?.into_iter();
            let of_ranks: Vec<Program> = of_ranks
                .map(|(number, name)| Program { number, name })
                .collect();
            let mut programs = of_ranks.clone();
            programs.sort_unstable();
            programs.dedup();
            let all = programs.into_iter().map(|program| {
                let ranks = (0..of_ranks.len()).filter(|&rank| of_ranks[rank] == program);
                let ranks = ranks.collect();
                (program, ranks)
            });
            let all: Vec<(Program, Vec<usize>)> = all.collect();
            let number = all.iter().position(|(program, _)| *program == own);
            let part = comm.split(number, 0).await?;
            Ok(Programs {
                own: part.expect("every rank has a program"),
                number: number.expect("its own is among them"),
                all,
            })
        }
    }
}

impl Programs {
    /// The communicator of the ranks of this rank's program.
    #[must_use]
    pub fn own(&self) -> &Communicator {
        &self.own
    }

    /// The number of this rank's program, from 0: its place among those that have ranks here.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// How many programs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The name of a program; `None` when there are not so many.
    #[must_use]
    pub fn name(&self, number: usize) -> Option<&str> {
        let (program, _) = self.all.get(number)?;
        Some(&program.name)
    }

    /// The number of the first program of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        let names = |(program, _): &(Program, Vec<usize>)| program.name == name;
        self.all.iter().position(names)
    }

    /// The ranks of a program in the communicator that was split, in the order of their ranks in
    /// their own. There are none when there are not so many programs.
    #[must_use]
    pub fn ranks(&self, number: usize) -> &[usize] {
        self.all.get(number).map_or(&[], |(_, ranks)| ranks)
    }
}

/// The name of the file that runs.
fn own_name() -> String {
    let file = env::current_exe()
        .ok()
        .or_else(|| env::args_os().next().map(PathBuf::from));
    let stem = file.as_ref().and_then(|file| file.file_stem());
    stem.unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_comm::World;

    #[test]
    fn sem_g307_a_program_is_what_the_launcher_says_or_its_file() {
        let said = Program::of(Some(" 2 "), Some("air".to_owned())).unwrap();
        assert_eq!((said.number, &*said.name), (2, "air"));
        let alone = Program::of(None, None).unwrap();
        assert_eq!((alone.number, alone.name), (0, own_name()));
        assert!(own_name().starts_with("motet"), "{}", own_name());
        let error = Program::of(Some("air"), None).unwrap_err().to_string();
        assert!(error.contains("MOTET_PROGRAM is \"air\""), "{error}");
    }

    #[test]
    fn sem_g307_ranks_of_each_program_have_a_communicator_and_know_the_others() {
        // Programs of two nodes: their ranks are not beside each other. Two have one name.
        let programs = [
            (0, "ocean"),
            (1, "air"),
            (3, "air"),
            (0, "ocean"),
            (1, "air"),
            (0, "ocean"),
        ];
        let ranks = [&[0, 3, 5][..], &[1, 4], &[2]];
        World::threads(6)
            .run(async |comm| -> Result<(), CommError> {
                let (number, name) = programs[comm.rank()];
                let name = name.to_owned();
                let split = Program { number, name }.split(&comm).await?;
                assert_eq!((split.count(), split.find("air")), (3, Some(1)));
                assert_eq!((split.name(2), split.name(3)), (Some("air"), None));
                assert_eq!(split.find("ice"), None);
                for (number, ranks) in ranks.iter().enumerate() {
                    assert_eq!(split.ranks(number), *ranks);
                }
                assert_eq!(split.ranks(3), [0; 0]);
                let mine = ranks[split.number()];
                assert_eq!(mine[split.own().rank()], comm.rank());
                assert_eq!(split.own().allgather(comm.rank()).await?, mine);
                Ok(())
            })
            .unwrap();
    }
}
