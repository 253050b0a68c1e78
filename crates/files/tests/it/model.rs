//! Random views, against an array that one thread keeps.

use crate::network::processes;
use motet_comm::{Communicator, Layout, World};
use motet_files::{Draft, FileError, Stored, View};
use motet_testkit::{Random, patience, within};
use std::path::{Path, PathBuf};

/// How the elements of a file are dealt: the owner of each of a tile's, the tile again and again.
struct Deal {
    start: u64,
    tile: Vec<usize>,
}

impl Deal {
    fn draw(random: &mut Random, size: usize) -> Deal {
        let start = random.below(5) as u64;
        let mut tile = Vec::new();
        // Each has a part, some several.
        for turn in 0..size + random.below(4) {
            let rank = if turn < size {
                turn
            } else {
                random.below(size)
            };
            tile.extend(vec![rank; 1 + random.below(6)]);
        }
        Deal { start, tile }
    }

    fn view(&self, rank: usize) -> Result<View, FileError> {
        let own = |at: &usize| self.tile[*at] == rank;
        let starts: Vec<usize> = (0..self.tile.len()).filter(own).collect();
        let layout = Layout::indexed_blocks(1, &starts)?.resized(self.tile.len())?;
        View::new(self.start, layout)
    }

    /// Where the elements of a rank lie, one by one.
    fn places(&self, rank: usize) -> impl Iterator<Item = usize> {
        let all = (0..).map(|at| (at + self.start as usize, self.tile[at % self.tile.len()]));
        all.filter(move |(_, owner)| *owner == rank)
            .map(|(at, _)| at)
    }
}

async fn round(comm: &Communicator, folder: &Path, seed: u64) -> Result<(), FileError> {
    let (rank, size) = (comm.rank(), comm.size());
    // All ranks draw the same.
    let mut random = Random::new(seed);
    let path = folder.join(format!("file-{seed}-{size}"));
    let mut model: Vec<u32> = Vec::new();
    for turn in 0..3 {
        let mut draft = match turn {
            0 => Draft::create(comm, &path).await?,
            _ => Draft::change(comm, &path).await?,
        };
        for _ in 0..3 {
            let deal = Deal::draw(&mut random, size);
            draft.set_view(deal.view(rank)?);
            let (alone, base) = (random.below(4) == 0, random.below(1000) as u32);
            for owner in 0..size {
                let (offset, length) = (random.below(20), random.below(60));
                let numbers: Vec<u32> = (0..length as u32).map(|at| base + at).collect();
                let places = deal.places(owner).skip(offset).take(length);
                for (place, &number) in places.zip(&numbers) {
                    model.resize(model.len().max(place + 1), 0);
                    model[place] = number;
                }
                match (owner == rank, alone) {
                    (true, true) => draft.write_at(offset as u64, &numbers)?,
                    (true, false) => draft.write_at_all(offset as u64, &numbers).await?,
                    (false, true) => {}
                    (false, false) => draft.write_at_all(0, &[]).await?,
                }
            }
            comm.barrier().await?;
        }
        draft.commit_without_sync().await?;
        let mut file = Stored::<u32>::open(comm, &path).await?;
        assert_eq!(file.len(), model.len() as u64, "seed {seed}");
        let mut all = vec![0; model.len()];
        file.read_at_all(0, &mut all).await?;
        assert_eq!(all, model, "seed {seed}");
        let deal = Deal::draw(&mut random, size);
        let places: Vec<usize> = deal
            .places(rank)
            .take_while(|at| *at < model.len())
            .collect();
        file.set_view(deal.view(rank)?);
        let offset = places.len().min(2);
        let mut mine = vec![0; places.len() - offset];
        file.read_at_all(offset as u64, &mut mine).await?;
        assert!(
            mine.iter()
                .zip(&places[offset..])
                .all(|(it, at)| *it == model[*at])
        );
        mine.fill(0);
        file.read_at(offset as u64, &mut mine)?;
        assert!(
            mine.iter()
                .zip(&places[offset..])
                .all(|(it, at)| *it == model[*at])
        );
    }
    Ok(())
}

#[test]
fn sem_g356_what_ranks_write_by_views_is_where_the_views_say() {
    within(patience(), || {
        let folder = tempfile::tempdir().unwrap();
        let body = |folder: PathBuf, seeds: u64| {
            async move |comm: Communicator| -> Result<(), FileError> {
                for seed in 0..seeds {
                    round(&comm, &folder, seed).await?;
                }
                Ok(())
            }
        };
        for world in [1, 2, 3, 8]
            .map(World::threads)
            .into_iter()
            .chain([World::solo()])
        {
            world.run(body(folder.path().to_owned(), 4)).unwrap();
        }
        for (count, ranks) in [(2, 1), (2, 2), (3, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().to_owned();
            processes(count, move |end| {
                World::over(end, ranks).run(body(path.clone(), 2)).unwrap();
            });
        }
    });
}
