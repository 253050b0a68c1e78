//! The long help of the experiments that are made of rows.

pub(super) const STAGES: &str = "\
What it costs to cut fixed work into stages at whose ends messages are exchanged.

Every computation does the same work in each run: in S stages it takes T(S), in one stage T(1). The \
overhead per stage is (T(S) - T(1) * ceil(P / threads)) / S; T(1) is measured in the same process, \
in turn with T(S), and so are the limits of the machine: R, a cache line to another core and back, \
and A, one allocation plus one push and pop on a deque.

Lists measure every combination, one row (with --json one object) for each.";

pub(super) const STAGES_TAIL: &str = "\
Patterns:
  pipeline             each computation sends one message to itself
  shift                each sends one to its right neighbour on a ring
  two-shifts           each sends two to its right neighbour, which needs both (spawned)
  exchange-two-shifts  a shift to the left, then one to the right (rendezvous)
  exchange             each sends one to each neighbour and waits for one from each

Examples:
  motet bench stages
      every pattern and mode with 20 units a stage on all cores
  motet bench stages --pattern exchange --mode rendezvous --parallel 2 --units 0 --stages 1000000
      messages alone

Fields of --json (times in µs): pattern, mode, parallel, threads, units, unit_us, stages,
  overhead_us, overhead_min_us, overhead_max_us, ideal_us, roundtrip_us (null on one core),
  spawn_us, runs";

pub(super) const CORE: &str = "\
What messages, joins and tasks cost, beside other runtimes that do the same.

Motet and its peers run in turn, round after round; the rows show medians, and ratios of rounds. \
Each row has a bar that is to hold: a limit, or a peer in the same run. The column cores has their clock, the \
sums that one does in a cycle while two work (fewer than at other times where others use the same core), what two do together, as \
times what one does alone (2 where they share nothing; little more than 1 where a virtual machine's two are threads of one), and the \
time of a cache line to another core and back.";

pub(super) const CORE_TAIL: &str = "\
Examples:
  motet bench core --quick
      every row, in less than a minute
  motet bench core --rows 'spawned shift;join' --json
      some rows, thoroughly
  motet bench core --soak
      ten minutes of load; --soak 30 takes half a minute

Fields of --json: row, unit, motet (the median), motet_range, limit (of the machine; null where none
  bounds the row), limit_name (R, a cache line to another core and back, or A, an allocation plus a
  push and pop), peers and ratios (motet over the peer) by name, absent (peers that could not run, and
  why), bar, holds (null without a bar), runs, disturbed (others had too much of the processors), roundtrip_us (of a cache line to another core and back),
  two_cores (what they do together, as times one), sums_per_cycle and clock_ghz, the worse of before and after the row; with --soak: posters, seconds, exclusive and concurrent
  (handlers), resident_bytes (after a tenth of the time), resident_bytes_most";

pub(super) const RANKS: &str = "\
What ranks cost that wait for each other, beside MPI.

Motet and its peers run in turn, round after round; the rows show medians, and ratios of rounds. \
The peers are C programs, built with each mpicc that is found and run at that library's best setting, \
and tokio's and Go's rings of messages. Rows 'over' a library run this program's own ranks on processes of it, \
where it has the standard ABI. Each row has a bar that is to hold. With --quick each peer runs \
once, in as many rounds as last 30 ms, and nothing is run before for nothing but motet.";

pub(super) const RANKS_TAIL: &str = "\
Examples:
  motet bench ranks --rows 'ranks exchange, P = 2'
      exchanges of two ranks, with 0, 1 and 20 units of work
  motet bench ranks --quick --mpi /opt/mpich,/opt/openmpi --json
      every row, with the libraries that are there

Fields of --json: as those of motet bench core";

pub(super) const SEARCH: &str = "\
What a node of a tree costs when ranks search it.

The trees are N queens and two of UTS, which nobody can split in advance. Motet and its peers run in turn, round after round; the rows show medians, and ratios of rounds. On one thread the bar is a plain recursion; on all it is rayon.";

pub(super) const SEARCH_TAIL: &str = "\
Examples:
  motet bench search --quick
      every row, in less than a minute
  motet bench search --rows UTS --json
      some rows, thoroughly

Fields of --json: as those of motet bench core";

pub(super) const SIM: &str = "\
What an event of a simulation costs.

PHOLD and a queue run in logical processes, beside one heap and one loop that does the same, and over ranks beside the \
sequential run. The gas station of SimPy runs in processes, beside SimPy. Motet and its peers run in turn, round after round; the rows show medians, and ratios of rounds.";

pub(super) const SIM_TAIL: &str = "\
Examples:
  motet bench sim --quick
      every row, in less than a minute
  motet bench sim --rows windows --json
      some rows, thoroughly

Fields of --json: as those of motet bench core";
