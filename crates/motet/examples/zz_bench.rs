use motet::{CommError, Current, World};
use std::time::Instant;
fn main() {
    let world = World::current().unwrap();
    let out = world
        .run(async |comm| -> Result<_, CommError> {
            let mut lines = Vec::new();
            let mut ring = comm.ring::<f64>().await?;
            for _ in 0..5 {
                let n = 20000;
                comm.barrier().await?;
                let s = Instant::now();
                for _ in 0..n {
                    ring.exchange(1.0, 2.0).await?;
                }
                lines.push(format!(
                    "exchange {:.3}",
                    s.elapsed().as_secs_f64() * 1e6 / n as f64
                ));
                let s = Instant::now();
                let o = 1 - comm.rank() % 2;
                if comm.size() == 2 {
                    for _ in 0..n {
                        comm.sendrecv(o, 1.0, o, 0).await?;
                    }
                }
                lines.push(format!(
                    "sendrecv {:.3}",
                    s.elapsed().as_secs_f64() * 1e6 / n as f64
                ));
                let s = Instant::now();
                for _ in 0..n {
                    comm.barrier().await?;
                }
                lines.push(format!(
                    "barrier {:.3}",
                    s.elapsed().as_secs_f64() * 1e6 / n as f64
                ));
                let s = Instant::now();
                for _ in 0..n {
                    comm.allreduce(1.0, |a, b| a + b).await?;
                }
                lines.push(format!(
                    "allreduce {:.3}",
                    s.elapsed().as_secs_f64() * 1e6 / n as f64
                ));
                let n = 500;
                let v = vec![1.0; 4096];
                let mut t = vec![0.0; 4096];
                let s = Instant::now();
                for _ in 0..n {
                    comm.allreduce_into(&v, &mut t, |a, b| a + b).await?;
                }
                lines.push(format!(
                    "allreduce4096 {:.3}",
                    s.elapsed().as_secs_f64() * 1e6 / n as f64
                ));
            }
            Ok(lines)
        })
        .unwrap();
    if world.process().0 == 0 {
        for l in &out[0] {
            print!("{l}; ");
        }
        println!();
    }
}
