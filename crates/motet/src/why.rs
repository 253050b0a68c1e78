//! Reports about a program that runs: who waits for whom, on standard error, when somebody asks.

use motet_comm::{RunWatch, World};
use motet_sync::thread;
use std::io::{self, Write};
use std::time::Duration;

/// Prints who waits for whom in the runs of this world ([`World::watch`]) on standard error. It
/// does so every so often, if a time is given. On Unix it also does so once for each `SIGUSR1` that
/// this process gets. From now on, until the process ends.
///
/// Over several processes each of them calls this, and process 0 prints one report for all. It does
/// so whichever got the signal, and however many did within a second. Ranks that compute need not
/// help. Where nobody asks it costs a thread that sleeps, two in process 0.
/// [`World::current`](crate::Current::current) does it by itself, every `MOTET_WHY` seconds if that
/// is set.
///
/// # Errors
/// When a thread cannot be started, or the signal cannot be caught.
///
/// ```
/// use motet::{World, tell_why};
///
/// let world = World::threads(2);
/// tell_why(&world, None)?;
/// // Now `kill -USR1` with the number of this process says where the ranks are.
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn tell_why(world: &World, every: Option<Duration>) -> io::Result<()> {
    pass_signals_on(world.watch())?;
    if world.process().0 == 0 {
        let watch = world.watch();
        thread::spawn_named("why", move || {
            loop {
                let asked = watch.wait_asked(every);
                tell(&watch, asked);
            }
        })?;
    }
    Ok(())
}

/// Prints a report; that there is nothing to tell only if somebody has asked.
fn tell(watch: &RunWatch, asked: bool) {
    let text = match watch.why() {
        Some(graph) => format!("motet: {graph}"),
        None if asked => "motet: no ranks run now".to_owned(),
        None => return,
    };
    // Where nobody reads it, nothing is lost.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// From now on the signal asks for a report.
#[cfg(unix)]
fn pass_signals_on(watch: RunWatch) -> io::Result<()> {
    use signal_hook::consts::SIGUSR1;
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGUSR1])?;
    thread::spawn_named("why-signals", move || {
        signals.forever().for_each(|_| watch.ask());
    })?;
    Ok(())
}

/// There are no such signals here.
#[cfg(not(unix))]
fn pass_signals_on(_: RunWatch) -> io::Result<()> {
    Ok(())
}
