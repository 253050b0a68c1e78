//! `motet flow`: workflows of a node's services.

use std::collections::BTreeMap;
use std::fs;
use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use clap::{Args, Subcommand};
use motet_http::{Peer, Watch};
use motet_ports::{BlockingError, wait_blocking, wait_blocking_for};
use motet_service::system::{JobClient, JobStatus};
use motet_service::workflow::{Begin, Done, Flow, Run, RunStatus, WorkflowsClient};
use motet_service::{Fault, FaultCode, JobRef};
use serde_json::json;

use crate::call::NodeArgs;
use crate::error::{CliError, InputError, OptionError};
use crate::serve::refused;
use crate::stdout::print;

/// Options of `motet flow`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Run workflows of services, and resume them",
    long_about = "Run workflows of services, and resume them.\n\nA workflow is a file (TOML or JSON) of \
                  steps, each of which calls an operation of a service of the node. The service \
                  /workflow of the node runs it and keeps what has been done: with motet serve --store \
                  it outlives the process, and motet flow resume goes on behind the last step that \
                  has ended.\n\nA step with for_each is called for each value of a list. When a step fails \
                  for good, the steps with an undo that had ended are undone, the last first, and the \
                  run has ended.",
    after_long_help = "A workflow:\n  [[step]]\n  name = \"points\"\n  call = \"/source:make\"\n  with = 50\n\n  \
                       [[step]]\n  name = \"towns\"\n  call = \"/clustering:cluster\"\n  with = { \
                       clusters = 4, ranks = 2 }\n  after = [\"points\"]\n\nFields of a step: name, call, with, \
                       for_each, at_once, after, when, timeout_ms, retry = { times, backoff_ms, on }, undo = \
                       { call, with, timeout_ms, retry }\n\nExamples:\n  motet flow run \
                       towns.toml\n  motet flow run towns.toml --name monday\n  motet flow watch monday\n  \
                       motet flow resume monday\n\nExit codes: 0 all steps have ended, 1 a step has failed \
                       or the run was interrupted, 2 a wrong file, name or option"
)]
pub struct FlowArgs {
    /// What to do.
    #[command(subcommand)]
    pub what: FlowCommand,
}

/// What is done with a workflow.
#[derive(Debug, Clone, Subcommand)]
pub enum FlowCommand {
    /// Run the workflow of a file, and print its steps as they end
    Run(FlowRunArgs),
    /// Print the steps of a run as they end
    Watch(FlowNameArgs),
    /// Go on with a run that was interrupted, or whose step has failed
    Resume(FlowNameArgs),
}

/// Options of `motet flow run`.
#[derive(Debug, Clone, Args)]
pub struct FlowRunArgs {
    /// The workflow
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Name of the run, of which there is one [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Where and how.
    #[command(flatten)]
    pub how: FlowHowArgs,
}

/// Options of `motet flow watch` and `resume`.
#[derive(Debug, Clone, Args)]
pub struct FlowNameArgs {
    /// The run: its name, or the file that it is named after
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Where and how.
    #[command(flatten)]
    pub how: FlowHowArgs,
}

/// Where the workflow service is, and how it is told of.
#[derive(Debug, Clone, Args)]
pub struct FlowHowArgs {
    /// The service that runs workflows
    #[arg(long, value_name = "PATH", default_value = "/workflow")]
    pub at: String,

    /// Print one JSON object for each step that has ended, and one for the run
    #[arg(long)]
    pub json: bool,

    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Runs, watches or resumes.
///
/// # Errors
/// A file that is no workflow; a run that is there already, or is not there; a step that has
/// failed; an interruption.
pub(crate) fn run(args: &FlowArgs) -> Result<(), CliError> {
    match &args.what {
        FlowCommand::Run(args) => {
            let flow = read(&args.file)?;
            check_name(args.name.as_deref())?;
            let name = args.name.clone().unwrap_or_else(|| name_of(&args.file));
            let mut told = Told::begin(&name, &args.how)?;
            if told.look()?.is_some() {
                let reason = format!(
                    "there is a run {name:?} already: motet flow resume {name} goes on with it, --name gives \
                     another name"
                );
                return Err(CliError::Service(reason));
            }
            let begin = Begin { name, flow };
            let job = now(async { told.flows.run(begin).await })?;
            told.follow(Some(&job))
        }
        FlowCommand::Watch(args) => {
            let mut told = Told::begin(&name_of(&args.run), &args.how)?;
            told.known()?;
            told.follow(None)
        }
        FlowCommand::Resume(args) => {
            let mut told = Told::begin(&name_of(&args.run), &args.how)?;
            told.known()?;
            let name = told.name.clone();
            let job = now(async { told.flows.resume(name).await })?;
            told.follow(Some(&job))
        }
    }
}

/// The workflow of a file.
fn read(file: &Path) -> Result<Flow, CliError> {
    let text = fs::read_to_string(file);
    let text = text.map_err(|source| InputError::opening(file.display().to_string(), source))?;
    let wrong = |why: &str| CliError::Service(format!("{}: {why}", file.display()));
    let flow = Flow::read(&text).map_err(|fault| wrong(fault.reason()))?;
    match flow.steps.is_empty() {
        false => Ok(flow),
        true => Err(wrong("it has no steps: write a [[step]] for each")),
    }
}

/// # Errors
/// A name that nobody could write.
fn check_name(name: Option<&str>) -> Result<(), OptionError> {
    match name.filter(|name| name.trim().is_empty()) {
        None => Ok(()),
        Some(name) => Err(OptionError::Value {
            option: "--name",
            value: format!("'{name}'"),
            advice: "give the run a name, or leave it out",
        }),
    }
}

/// The name of the run of a file: `towns` of `flows/towns.toml`.
fn name_of(file: &Path) -> String {
    let name = file.file_stem().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

/// What has been told of a run.
struct Told<'a> {
    name: String,
    how: &'a FlowHowArgs,
    peer: Peer,
    flows: WorkflowsClient,
    /// The steps as they were last told.
    steps: BTreeMap<String, Done>,
}

/// Without news the run is looked at so often.
const PAUSE: Duration = Duration::from_secs(2);

impl<'a> Told<'a> {
    fn begin(name: &str, how: &'a FlowHowArgs) -> Result<Self, CliError> {
        let peer = how.node.peer()?;
        Ok(Told {
            name: name.to_owned(),
            how,
            flows: peer.client(&how.at),
            peer,
            steps: BTreeMap::new(),
        })
    }

    /// The run, if it is there.
    fn look(&self) -> Result<Option<Run>, CliError> {
        match ask(async { self.flows.look(self.name.clone()).await })? {
            Ok(run) => Ok(Some(run)),
            Err(fault) if fault.code() == FaultCode::UnknownEntry => Ok(None),
            Err(fault) => Err(refused(&fault)),
        }
    }

    /// The run, which must be there.
    fn known(&self) -> Result<Run, CliError> {
        self.look()?.ok_or_else(|| {
            let (name, at) = (&self.name, &self.how.at);
            CliError::Service(format!(
                "there is no run {name:?} at {at}: motet call {at} shows those that there are"
            ))
        })
    }

    /// Tells of the steps until the run has ended, that of `job` if there is one.
    fn follow(&mut self, job: Option<&JobRef>) -> Result<(), CliError> {
        let watch = |path: &str| {
            let watch = self.peer.watch(path, None, true);
            watch.map_err(|fault| refused(&fault))
        };
        let mut watches = vec![watch(&self.how.at)?];
        if let Some(job) = job {
            watches.push(watch(&job.path)?);
        }
        loop {
            // What a watch says is that there is something to look at.
            match wait_blocking_for(next_of(&mut watches), PAUSE) {
                Ok(()) | Err(BlockingError::Elapsed) => {}
                Err(error) => return Err(CliError::Run(error.to_string())),
            }
            let fault = job.map(|job| self.end_of(job)).transpose()?;
            let run = self.look()?;
            if let Some(run) = &run {
                self.tell(run)?;
            }
            match (run, fault) {
                // The job has not ended.
                (_, Some(None)) => {}
                (Some(run), _) if !run.status.goes_on() => return self.end(&run),
                (Some(_), None) => {}
                // Another job carries it out.
                (Some(_), Some(Some(Some(fault)))) if fault.code() == FaultCode::DuplicateEntry => {
                    return Err(refused(&fault));
                }
                (Some(_), Some(Some(fault))) => {
                    let why = fault.map_or(String::new(), |fault| format!(": {fault}"));
                    let name = &self.name;
                    let reason = format!(
                        "{name} was given up{why}; motet flow resume {name} goes on with it"
                    );
                    return Err(CliError::Flow(reason));
                }
                (None, Some(Some(Some(fault)))) => return Err(refused(&fault)),
                // A run that has just come is looked at again.
                (None, _) => {
                    self.known()?;
                }
            }
        }
    }

    /// Whether a job has ended, and with which fault.
    fn end_of(&self, job: &JobRef) -> Result<Option<Option<Fault>>, CliError> {
        let client: JobClient = self.peer.client(&job.path);
        match ask(async { client.get().await })? {
            Ok(state) => {
                let runs = [JobStatus::Running, JobStatus::WaitsForCores];
                Ok((!runs.contains(&state.status)).then(|| state.fault.clone()))
            }
            // The node is another one than that which began it.
            Err(fault) if fault.code() == FaultCode::UnknownService => Ok(Some(None)),
            Err(fault) => {
                let name = &self.name;
                let reason = format!("{fault}; when the node is there, motet flow resume {name}");
                Err(CliError::Flow(reason))
            }
        }
    }

    /// Tells what has changed since.
    fn tell(&mut self, run: &Run) -> Result<(), CliError> {
        for (name, done) in &run.steps {
            let before = self.steps.get(name);
            if before.is_none_or(|before| words_of(before) != words_of(done)) {
                let line = match self.how.json {
                    true => json!({"step": name, "done": done}).to_string(),
                    false => format!("{name}: {}", words_of(done)),
                };
                print(|to| writeln!(to, "{line}"))?;
            }
        }
        self.steps.clone_from(&run.steps);
        Ok(())
    }

    /// How the run has ended.
    fn end(&self, run: &Run) -> Result<(), CliError> {
        let name = &self.name;
        let ended = run.steps.values().filter(|done| done.has_ended()).count();
        let all = run.flow.steps.len();
        if self.how.json {
            let line = json!({"run": name, "status": run.status, "steps": all, "ended": ended});
            print(|to| writeln!(to, "{line}"))?;
        }
        match run.status {
            RunStatus::Failed => Err(CliError::Flow(failed(name, run))),
            RunStatus::Undone => {
                let why = run.fault.as_ref().map_or("", Fault::reason);
                Err(CliError::Flow(format!(
                    "{name} was undone: {why}; motet flow run --name gives another run its name"
                )))
            }
            RunStatus::Interrupted => Err(CliError::Flow(format!(
                "{name} was interrupted when {ended} of {all} steps had ended; motet flow resume {name} goes on \
                 with it"
            ))),
            RunStatus::Done | RunStatus::Running | RunStatus::Undoing if self.how.json => Ok(()),
            RunStatus::Done | RunStatus::Running | RunStatus::Undoing => {
                print(|to| writeln!(to, "{name}: {ended} of {all} steps have ended"))
            }
        }
    }
}

/// How a run has failed.
fn failed(name: &str, run: &Run) -> String {
    let is_undo = run.fault.is_some();
    let mut steps = run.steps.iter();
    let failed = steps.find_map(|(step, done)| match is_undo {
        true => Some((step, done.undo.fault.as_ref()?)),
        false => (!done.has_ended()).then_some((step, done.fault.as_ref()?)),
    });
    let what = if is_undo { "undo of the step" } else { "step" };
    let told = match failed {
        Some((step, fault)) => format!("the {what} {step:?} of {name} failed: {fault}"),
        // What is not recorded has no fault there.
        None => format!("{name} failed: what became of a step could not be recorded"),
    };
    format!("{told}; motet flow resume {name} tries it again")
}

fn words_of(done: &Done) -> String {
    let tries = match done.faults {
        0 => String::new(),
        faults => format!(" after {faults} faults"),
    };
    let undo = &done.undo;
    let called = done.items.iter().filter(|item| item.out.is_some()).count();
    match (&done.out, &done.fault) {
        _ if undo.all => "undone".to_owned(),
        _ if undo.fault.is_some() => format!("its undo: fault {}", undo.faults),
        _ if undo.calls > 0 => format!("{} calls undone", undo.calls),
        (Some(_), _) => format!("done{tries}"),
        _ if done.left_out => "left out".to_owned(),
        (None, Some(fault)) => format!("fault {}: {fault}", done.faults),
        (None, None) if called > 0 => format!("{called} calls done"),
        (None, None) => "begun".to_owned(),
    }
}

/// The answer of a call, and its fault.
fn ask<T>(call: impl Future<Output = Result<T, Fault>>) -> Result<Result<T, Fault>, CliError> {
    wait_blocking(call).map_err(|error| CliError::Run(error.to_string()))
}

/// The answer of a call.
fn now<T>(call: impl Future<Output = Result<T, Fault>>) -> Result<T, CliError> {
    ask(call)?.map_err(|fault| refused(&fault))
}

/// Waits until one of them tells something. One that has ended is left out from then on.
async fn next_of(watches: &mut Vec<Watch>) {
    let ended = poll_fn(|cx| {
        for (at, watch) in watches.iter_mut().enumerate() {
            let next = pin!(watch.next());
            if let Poll::Ready(told) = next.poll(cx) {
                return Poll::Ready((at, matches!(told, None | Some(Err(_)))));
            }
        }
        Poll::Pending
    });
    if let (at, true) = ended.await {
        drop(watches.swap_remove(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_has_failed_names_the_step_if_that_is_recorded() {
        let flow = Flow::read("[[step]]\nname = 'go'\ncall = '/drive:go'\n").unwrap();
        let tried = Done {
            faults: 1,
            fault: Some(Fault::failed("no power")),
            ..Done::default()
        };
        let mut run = Run {
            flow,
            steps: BTreeMap::from([("go".to_owned(), tried)]),
            status: RunStatus::Failed,
            fault: None,
        };
        let told = failed("trip", &run);
        for words in ["the step \"go\" of trip failed: ", "no power; motet flow"] {
            assert!(told.contains(words), "{words}: {told}");
        }
        run.steps.clear();
        for undoes in [None, Some(Fault::failed("late"))] {
            run.fault = undoes;
            let told = failed("trip", &run);
            assert!(told.starts_with("trip failed: what became"), "{told}");
            assert!(
                told.ends_with("motet flow resume trip tries it again"),
                "{told}"
            );
        }
    }
}
