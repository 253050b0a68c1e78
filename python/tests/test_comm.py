import os
import re
import subprocess
import sys
import threading
import time

import numpy
import pytest

import motet
from motet.comm import MAX, SUM, UNDEFINED, Status, World
from motet.mpi4py import MPI


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_sem_g448_objects_go_round(ranks):
    def main(comm):
        comm.barrier()
        everybody = comm.allgather(str(comm.rank))
        assert everybody == [str(rank) for rank in range(comm.size)]
        assert comm.bcast({"from": comm.rank}, root=comm.size - 1) == {"from": comm.size - 1}
        parts = comm.scatter(everybody if comm.rank == 0 else None)
        assert parts == str(comm.rank)
        assert comm.alltoall([(comm.rank, to) for to in range(comm.size)]) == [
            (rank, comm.rank) for rank in range(comm.size)
        ]
        assert comm.gather(comm.rank, root=0) == (list(range(comm.size)) if not comm.rank else None)
        assert comm.allreduce(str(comm.rank)) == "".join(everybody)
        assert comm.scan(1) == comm.rank + 1
        assert comm.allreduce(comm.rank, MAX) == comm.size - 1
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        return comm.sendrecv(comm.rank, dest=right, source=left)

    assert World.threads(ranks).run(main) == [(rank - 1) % ranks for rank in range(ranks)]


def test_messages_are_chosen_by_source_and_tag():
    def main(comm):
        if comm.rank == 0:
            status = Status()
            assert comm.recv(source=2, tag=7) == "from 2"
            assert comm.recv(tag=5, status=status) == "from 1"
            return status.Get_source(), status.Get_tag()
        comm.send(f"from {comm.rank}", dest=0, tag={1: 5, 2: 7}[comm.rank])
        return None

    assert World.threads(3).run(main)[0] == (1, 5)


def test_arrays_go_as_they_are():
    def main(comm):
        numbers, totals = numpy.full((2, 3), comm.rank + 1.0), numpy.empty((2, 3))
        comm.Allreduce(numbers, totals, SUM)
        assert (totals == 6).all()
        counts = numpy.zeros(2, dtype=numpy.int64)
        comm.Allreduce(numpy.array([comm.rank, -comm.rank]), counts, MAX)
        assert counts.tolist() == [2, 0]
        every = numpy.empty((3, 2), dtype=numpy.int32)
        comm.Allgather(numpy.array([comm.rank, 7], dtype=numpy.int32), every)
        assert every[:, 0].tolist() == [0, 1, 2]
        told = numpy.arange(4.0) if comm.rank == 1 else numpy.empty(4)
        comm.Bcast(told, root=1)
        assert told.tolist() == [0, 1, 2, 3]
        if comm.rank == 0:
            comm.Send(told, dest=2)
        if comm.rank == 2:
            came = numpy.empty(4)
            comm.Recv(came, source=0)
            assert came.tolist() == told.tolist()
            with pytest.raises(MPI.Exception, match="8 bytes have come for 0"):
                comm.Bcast(numpy.empty(0), root=2 - 1)
        elif comm.rank == 1:
            comm.Bcast(numpy.empty(1), root=1)
        else:
            comm.Bcast(numpy.empty(1), root=1)

    World.threads(3).run(main)


def test_parts_have_communicators_of_their_own():
    def main(comm):
        row = comm.Split(comm.rank // 2, key=-comm.rank)
        none = comm.Split(UNDEFINED if comm.rank else 0)
        same = comm.Dup()
        return row.rank, row.allreduce(comm.rank), none is None, same.size

    found = World.threads(4).run(main)
    assert found == [(1, 1, False, 4), (0, 1, True, 4), (1, 5, True, 4), (0, 5, True, 4)]


def test_sem_g449_what_a_rank_raises_ends_the_run_and_is_raised():
    def main(comm):
        if comm.rank == 1:
            raise KeyError("as it was told")
        comm.barrier()

    with pytest.raises(KeyError, match="as it was told"):
        World.threads(3).run(main)
    assert World.threads(2).run(lambda comm: comm.rank) == [0, 1]


def test_a_communicator_stays_on_its_thread():
    kept = []

    def main(comm):
        elsewhere = []

        def call():
            with pytest.raises(RuntimeError, match="thread of its rank"):
                comm.barrier()
            elsewhere.append(True)

        other = threading.Thread(target=call)
        other.start()
        other.join()
        kept.append(comm)
        return elsewhere

    assert World.threads(2).run(main) == [[True], [True]]
    with pytest.raises(RuntimeError, match="while that runs"):
        kept[0].barrier()


def test_wrong_ranks_and_calls_are_named():
    def main(comm):
        with pytest.raises(MPI.Exception, match="no rank 2"):
            comm.send(1, dest=2)
        with pytest.raises(ValueError, match="expecting 2 items, got 1"):
            comm.alltoall([1])
        if comm.rank == 0:
            comm.barrier()
        else:
            comm.allgather(1)

    with pytest.raises(motet.MotetError, match="barrier.*allgather|allgather.*barrier"):
        World.threads(2).run(main)
    with pytest.raises(ValueError, match="at most 65536"):
        World.threads(2**31 - 1)


def test_sem_g504_ranks_that_wait_for_each_other_are_told_with_their_places():
    def main(comm):
        if comm.rank < 2:
            comm.recv(source=1 - comm.rank, tag=7)

    with pytest.raises(motet.MotetError) as told:
        World.threads(3).run(main)
    said = str(told.value)
    assert "cannot go on: 0, 1" in said or "cannot go on: 0-1" in said, said
    assert "recv(source 1, tag 7)" in said and ".rs:" not in said, said
    for rank in (0, 1):
        assert f"rank {rank} is at {__file__}:" in said, said
    assert "rank 2 is at" not in said, said


def test_sem_g504_a_rank_that_computes_keeps_nobody_from_waiting():
    def main(comm):
        if comm.rank == 0:
            time.sleep(4)
            comm.send("late", dest=1)
            return None
        return comm.recv(source=0)

    assert World.threads(2).run(main) == [None, "late"]


def test_ctrl_c_ends_ranks_that_wait_for_each_other(tmp_path):
    program = tmp_path / "stuck.py"
    program.write_text(
        "from motet.comm import World\n"
        "print('waits', flush=True)\n"
        "World.threads(2).run(lambda comm: comm.recv())\n"
    )
    line = [sys.executable, str(program)]
    run = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "waits\n"
    time.sleep(0.3)
    run.send_signal(2)
    _, said = run.communicate(timeout=30)
    assert run.returncode != 0 and "KeyboardInterrupt" in said


@pytest.mark.skipif("MOTET_MPI" not in os.environ, reason="MOTET_MPI names no MPI library")
def test_sem_g450_the_same_program_runs_on_processes(tmp_path):
    program = tmp_path / "ranks.py"
    program.write_text(
        "import numpy\n"
        "from motet.comm import World\n"
        "def main(comm):\n"
        "    totals = numpy.empty(1000)\n"
        "    for turn in range(50):\n"
        "        comm.Allreduce(numpy.full(1000, comm.rank + 1.0), totals)\n"
        "    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size\n"
        "    came = comm.sendrecv('x' * 100000, dest=right, source=left)\n"
        "    return comm.rank, float(totals[0]), len(came), comm.allgather(comm.rank)\n"
        "world = World.current()\n"
        "found = world.run(main)\n"
        "print(f'{world.process[0]} {found}', flush=True)\n"
    )
    for library in os.environ["MOTET_MPI"].split(os.pathsep):
        line = [sys.executable, "-m", "motet", "run", "-t", "1", "-m", "3", "--mpi-lib", library]
        line += ["--quiet", "--", sys.executable, str(program)]
        run = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert run.returncode == 0, run.stderr
        # The launcher may put lines of several processes into one.
        found = re.findall(r"(\d) \[\((\d), 6.0, 100000, \[0, 1, 2\]\)\]", run.stdout)
        assert sorted(found) == [("0", "0"), ("1", "1"), ("2", "2")], run.stdout


def test_sem_g501_a_rank_sends_no_more_than_its_limit():
    def rejects(comm):
        if comm.rank == 0:
            for sent in range(3):
                comm.send(sent, dest=1)
            with pytest.raises(MPI.Exception, match=r'3 messages.*limit\(…, overflow="wait"\)'):
                comm.send(3, dest=1)
        comm.barrier()
        came = [comm.recv(source=0) for _ in range(3)] if comm.rank else None
        comm.barrier()
        if comm.rank == 0:
            comm.send("room", dest=1)
            return None
        return [*came, comm.recv()]

    def waits(comm):
        if comm.rank == 0:
            for sent in range(50):
                comm.send(sent, dest=1)
            return None
        return [comm.recv(source=0) for _ in range(50)]

    def begins(comm):
        numbers = numpy.arange(4.0)
        if comm.rank == 0:
            for sent in range(20):
                comm.Send(numbers + sent, dest=1)
            begun = [comm.isend(sent, dest=1) for sent in range(20)]
            comm.barrier()
            for request in begun:
                request.wait()
            return None
        came = numpy.empty(4)
        for sent in range(20):
            comm.Recv(came, source=0)
            assert (came == numbers + sent).all()
        comm.barrier()
        return [comm.recv(source=0) for _ in range(20)]

    world = World.threads(2)
    assert world.limit(3).run(rejects) == [None, [0, 1, 2, "room"]]
    assert world.limit(3, overflow="wait").run(waits) == [None, list(range(50))]
    assert world.run(begins) == [None, list(range(20))]
    with pytest.raises(ValueError, match="messages is 0"):
        world.limit(0)
    with pytest.raises(ValueError, match="'reject' or 'wait'"):
        world.limit(1, overflow="drop")


def test_sem_g501_what_does_not_wait_for_room_is_sent_at_once():
    def exchanges(comm):
        other, came = 1 - comm.rank, numpy.empty(4)
        numbers = numpy.arange(4.0) + comm.rank
        comm.send("first", dest=other)
        comm.Sendrecv(numbers, dest=other, sendtag=1, recvbuf=came, source=other, recvtag=1)
        assert (came == numpy.arange(4.0) + other).all()
        came[:] = -1
        begun = comm.Isendrecv(
            numbers, dest=other, sendtag=2, recvbuf=came, source=other, recvtag=2
        )
        begun.Wait()
        assert (came == numpy.arange(4.0) + other).all()
        assert comm.sendrecv(comm.rank, dest=other, sendtag=3, source=other, recvtag=3) == other
        return comm.recv(source=other, tag=0)

    def in_order(comm):
        if comm.rank == 0:
            comm.send(0, dest=1)
            begun = comm.isend(1, dest=1)
            comm.barrier()
            comm.send(2, dest=1)
            return begun.wait()
        came = [comm.recv(source=0)]
        comm.barrier()
        return [*came, comm.recv(source=0), comm.recv(source=0)]

    world = World.threads(2).limit(1, overflow="wait")
    assert world.run(exchanges) == ["first", "first"]
    assert world.run(in_order) == [None, [0, 1, 2]]


COMPUTES = """
import os, signal, threading
from motet.comm import World

begun = threading.Barrier(3)

def main(comm):
    begun.wait(60)
    if comm.rank == 0:
        comm.recv(source=1)
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass

for turn in range(2):
    try:
        World.threads(3).run(main)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_sem_g449_ctrl_c_ends_ranks_that_compute_in_python():
    done = subprocess.run(
        [sys.executable, "-c", COMPUTES], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout == "interrupted\n" * 2, done.stderr


def test_a_main_that_is_no_function_of_a_rank_is_told():
    async def main(comm):
        return comm.rank

    for wrong, words in [(main, "main is async"), (3, "main is 3: it must be a function")]:
        with pytest.raises(TypeError, match=words):
            World.threads(1).run(wrong)
