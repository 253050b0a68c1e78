//! Messages from one layout into another.

use motet_comm::{CommError, Layout, World};
use motet_testkit::{patience, within};

#[test]
fn sem_g362_a_message_goes_from_one_layout_into_another() {
    within(patience(), || {
        for world in [World::threads(2), World::ports(2)] {
            let got = world.run(async |comm| -> Result<_, CommError> {
                let (rank, other) = (comm.rank(), 1 - comm.rank());
                let mut matrix: Vec<u32> = (0..6).map(|at| at + 10 * rank as u32).collect();
                let column = Layout::subarray(&[2, 3], &[2, 1], &[0, rank])?;
                comm.send_layout(other, 3, &matrix, &column).await?;
                let row = Layout::subarray(&[2, 3], &[1, 2], &[1, 0])?;
                let status = comm.recv_layout(&mut matrix, &row, other, 3).await?;
                assert_eq!((status.source, status.tag), (other, 3));
                let wrong = comm.recv_layout(&mut matrix[..2], &row, other, 3).await;
                assert!(wrong.unwrap_err().to_string().contains("array of 2"));
                Ok(matrix)
            });
            assert_eq!(got.unwrap(), [[0, 1, 2, 11, 14, 5], [10, 11, 12, 0, 3, 15]]);
        }
    });
}
