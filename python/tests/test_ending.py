"""How a job ends when one of its processes does, and what a process has that was forked."""

import os
import subprocess
import sys

import pytest

NEEDS_MPI = pytest.mark.skipif("MOTET_MPI" not in os.environ, reason="MOTET_MPI names no library")
NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

SCRIPT = """
import sys
from motet.mpi4py import MPI
comm = MPI.COMM_WORLD
"""
WORLD = """
import sys
from motet.comm import World
"""


def launched(tmp_path, text, count=2):
    program = tmp_path / "script.py"
    program.write_text(text)
    library = os.environ["MOTET_MPI"].split(os.pathsep)[0]
    line = [sys.executable, "-m", "motet", "run", "-t", "1", "-m", str(count)]
    line += ["--mpi-lib", library, "--quiet", "--", sys.executable, str(program)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


@NEEDS_MPI
@pytest.mark.parametrize("waits", ["comm.barrier()", "comm.recv(source=1)"])
@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("sys.exit(7)", ""),
        ("exit(7)", ""),
        ("sys.exit('as it was told')", "as it was told"),
        # Nobody is told of these: what is seen is that the others wait for a rank that has ended.
        ("raise SystemExit(7)", "1 of 2 ranks wait"),
        ("sys.exit(0)", "1 of 2 ranks wait"),
        ("pass", "1 of 2 ranks wait"),
    ],
)
def test_sem_g466_a_script_that_ends_while_others_wait_for_it_ends_the_job(
    tmp_path, waits, end, words
):
    done = launched(tmp_path, f"{SCRIPT}\nif comm.rank == 1: {end}\nelse: {waits}\n")
    # Which one hangs on the launcher, which ends the others at the first, or not.
    assert done.returncode != 0, done.stderr
    assert words in done.stderr
    assert words or "ranks wait" not in done.stderr, "the others were told"


@pytest.mark.parametrize(
    ("end", "status", "failure"),
    [
        ("exit(7)", 7, "SystemExit: 7"),
        ("quit('as it was told')", 1, "SystemExit: as it was told"),
        ("exit('7')", 1, "SystemExit: '7'"),
        ("exit()", 0, None),
        ("sys.exit(-1)", 255, "SystemExit: -1"),
    ],
)
def test_sem_g466_what_ends_a_script_is_noted_and_is_the_status_of_the_others(end, status, failure):
    text = (
        "import atexit, sys\n"
        "from motet import _ending\n"
        "atexit.register(lambda: print(_ending.failure(), flush=True))\n"
        "_ending.watch()\n"
        f"{end}\n"
    )
    line = [sys.executable, "-c", text]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (status, str(failure)), done.stderr
    if failure is None:
        return
    other = (
        "from motet import _ending\n"
        f"_ending.told({'the rank of process 1: ' + failure!r})\n"
        "_ending.end_at_once()\n"
    )
    done = subprocess.run([sys.executable, "-c", other], capture_output=True, timeout=60)
    assert done.returncode == status, done.stderr


@NEEDS_MPI
def test_sem_g516_scripts_that_wait_for_each_other_are_told(tmp_path):
    text = f"{SCRIPT}\ncomm.barrier()\ncomm.recv(source=1 - comm.rank, tag=7)\n"
    done = launched(tmp_path, text)
    assert done.returncode != 0, done.stderr
    assert "recv(source 1, tag 7)" in done.stderr and "cannot go on" in done.stderr, done.stderr
    assert "script.py" in done.stderr and ".rs:" not in done.stderr, done.stderr


@NEEDS_MPI
@pytest.mark.parametrize("ends", [0, 1])
def test_sem_g504_ranks_that_wait_for_one_of_another_process_that_has_ended_are_told(
    tmp_path, ends
):
    text = (
        f"{WORLD}\n"
        "def main(comm):\n"
        f"    if comm.rank != {ends}: comm.recv(source={ends}, tag=7)\n"
        "World.current().run(main)\n"
    )
    done = launched(tmp_path, text)
    assert done.returncode != 0, done.stderr
    assert f"recv(source {ends}, tag 7)" in done.stderr and ".rs:" not in done.stderr, done.stderr
    assert f"cannot go on: {1 - ends}" in done.stderr, done.stderr


def test_sem_g516_a_script_that_waits_for_itself_is_told(tmp_path):
    program = tmp_path / "script.py"
    program.write_text(f"{SCRIPT}\ncomm.recv(source=0)\n")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "cannot go on: 0" in done.stderr, done.stderr


@NEEDS_MPI
def test_sem_g466_a_script_may_end_by_exit(tmp_path):
    text = (
        f"{SCRIPT}\n"
        "try: sys.exit(3)\n"
        "except SystemExit: pass\n"
        "comm.barrier()\n"
        "print(comm.allreduce(1), flush=True)\n"
    )
    for end in ("", "sys.exit(0)\n", "sys.exit()\n"):
        done = launched(tmp_path, text + end)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("2") == 2


@NEEDS_MPI
def test_sem_g466_ranks_that_go_on_after_one_has_ended_are_left_alone(tmp_path):
    # Rank 2 ends at once; the others exchange for longer than it takes to look who waits.
    done = launched(
        tmp_path,
        f"{SCRIPT}\n"
        "import time\n"
        "other = 1 - comm.rank\n"
        "begun = time.monotonic()\n"
        "while comm.rank < 2:\n"
        "    later = comm.irecv(source=other, tag=1)\n"
        "    if comm.rank: time.sleep(0.7)\n"
        "    came = comm.sendrecv(time.monotonic() - begun > 2, dest=other, source=other)\n"
        "    comm.send(None, dest=other, tag=1)\n"
        "    later.wait()\n"
        "    if comm.rank == 0: comm.send(came, dest=1, tag=2)\n"
        "    if (came if comm.rank == 0 else comm.recv(source=0, tag=2)): break\n"
        "print(f'<{comm.rank}>', flush=True)\n",
        count=3,
    )
    assert done.returncode == 0, done.stderr
    assert all(f"<{rank}>" in done.stdout for rank in range(3))


@NEEDS_MPI
@pytest.mark.parametrize(
    "end", ["sys.exit(7)", "sys.exit(0)", "raise LookupError('as it was told')"]
)
def test_sem_g449_what_a_rank_raises_ends_the_ranks_of_other_processes(tmp_path, end):
    main = (
        f"def main(comm):\n    if comm.rank == 1: {end}\n    comm.barrier()\n    comm.barrier()\n"
    )
    done = launched(tmp_path, f"{WORLD}\n{main}World.current().run(main)\n")
    assert done.returncode != 0, done.stderr


@NEEDS_MPI
@pytest.mark.parametrize("runs", [0, 1])
def test_a_process_that_fails_between_runs_ends_the_job(tmp_path, runs):
    done = launched(
        tmp_path,
        f"{WORLD}\n"
        "world = World.current()\n"
        f"for _ in range({runs}): world.run(lambda comm: comm.barrier())\n"
        "if world.process[0] == 1: sys.exit(7)\n"
        "world.run(lambda comm: comm.barrier())\n",
    )
    assert done.returncode != 0, done.stderr
    assert "process 1 has ended with status 7" in done.stderr


@NEEDS_MPI
def test_a_process_forked_from_a_rank_is_none(tmp_path):
    done = launched(
        tmp_path,
        f"{SCRIPT}\n"
        "import os\n"
        "comm.barrier()\n"
        "if os.fork() == 0:\n"
        "    try: comm.barrier()\n"
        "    except Exception as error: print('<child>', error, flush=True)\n"
        "    sys.exit(0)\n"
        "assert os.wait()[1] == 0\n"
        "print(f'<{comm.allreduce(1)}>', flush=True)\n",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("was forked from a rank") == 2
    assert done.stdout.count("<2>") == 2


OBJECTS = """
import os, sys, warnings
warnings.simplefilter("ignore")
from motet.ports import Dispatcher, Port, receive
from motet.service import Node, connect, query, service

@service
class Till:
    def __init__(self): self.state = {}
    @query
    def euros(self): return 2

dispatcher, port = Dispatcher(2), Port()
queue = dispatcher.queue()
node = Node()
node.add("/till", Till())
peer = connect(node.url)
assert peer["/till"].euros().blocking() == 2
child = os.fork()
if child == 0:
    for use in (
        lambda: dispatcher.queue(),
        lambda: queue.enqueue(print),
        lambda: dispatcher.wait_idle(),
        lambda: receive(port, print).activate(queue),
        lambda: node.add("/other", Till()),
        lambda: peer["/till"].euros(),
    ):
        try: use()
        except Exception as error: print("refused:", error, flush=True)
    with dispatcher, node: pass
    END
assert os.waitpid(child, 0)[1] == 0
queue.enqueue(port.post, "goes on")
print(port.get_blocking(30), peer["/till"].euros().blocking(), flush=True)
"""


@NEEDS_FORK
@pytest.mark.parametrize("end", ["sys.exit(0)", "del dispatcher, queue, node, peer; sys.exit(0)"])
def test_a_process_that_was_forked_leaves_what_the_other_has_made(end):
    done = subprocess.run(
        [sys.executable, "-c", OBJECTS.replace("END", end)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 7 and lines[-1] == "goes on 2", lines
    assert all("has made this" in line and "forked" in line for line in lines[:-1]), lines


TIMERS = """
import os
from motet.ports import Dispatcher, Port, after, receive_several, sleep

def late(said):
    ports = [Port() for _ in range(3)]
    with Dispatcher() as dispatcher:
        queue, items = dispatcher.queue(), Port()
        async def slept():
            await sleep(0.001)
            ports[1].post(said)
        after(0.001, lambda: ports[0].post(said)).activate(queue)
        queue.enqueue(slept)
        receive_several(items, 2, ports[2].post, or_after=0.001).activate(queue)
        items.post(said)
        print([port.get_blocking(30) for port in ports], flush=True)

late("before")
with Dispatcher() as dispatcher:
    # Its end is told by the process that has set it, and by no other.
    after(0.5, lambda: print("once", flush=True)).activate(dispatcher.queue())
    child = os.fork()
    if child == 0:
        late("child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    late("after")
"""


@NEEDS_FORK
def test_a_process_that_was_forked_has_timers_of_its_own():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TIMERS], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for said in "before", "child", "after":
        assert str([said, said, [said]]) in lines, lines
    assert lines.count("once") <= 1, lines
