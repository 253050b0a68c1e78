"""Windows with mpi4py's names."""

import os
import subprocess
import sys
import textwrap

import numpy
import pytest

from motet.comm import World
from motet.mpi4py import MPI

TOO_MUCH = """
import resource
from motet.mpi4py import MPI
MPI.COMM_WORLD.Get_size()
size = 1 << 30
with open("/proc/self/statm") as pages:
    used = int(pages.read().split()[0]) * resource.getpagesize()
# Room for the memory of the window, and for none of its copies.
resource.setrlimit(resource.RLIMIT_AS, (used + size + size // 2,) * 2)
try:
    MPI.Win.Allocate(size)
except MemoryError as error:
    print(error)
"""


def on(ranks, main):
    return World.threads(ranks).run(lambda _: main(MPI.COMM_WORLD))


def test_sem_g499_what_others_put_is_in_the_memory_of_a_rank_after_a_fence():
    def main(comm):
        memory = numpy.full(comm.size, -1, dtype="i4")
        win = MPI.Win.Create(memory, memory.itemsize, comm=comm)
        win.Fence()
        for rank in range(comm.size):
            win.Put(numpy.array([10 * comm.rank + rank], "i4"), rank, comm.rank)
        win.Fence()
        seen = memory.tolist()
        # What the rank itself stores is seen by others after the next one.
        memory[0] = 100 + comm.rank
        win.Fence()
        next_one = numpy.empty(1, "i4")
        win.Get(next_one, (comm.rank + 1) % comm.size)
        win.Fence()
        win.Free()
        return seen, int(next_one[0])

    found = on(3, main)
    assert [seen for seen, _ in found] == [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    assert [got for _, got in found] == [101, 102, 100]


def test_sem_g499_combinations_of_several_ranks_are_apart():
    def main(comm):
        win = MPI.Win.Allocate(16 if comm.rank == 0 else 0, 8, comm=comm)
        one, old, drawn = numpy.ones(1), numpy.empty(1), set()
        for _ in range(50):
            win.Fetch_and_op(one, old, 0, 0)
            drawn.add(int(old[0]))
            win.Accumulate([numpy.array([comm.rank + 0.5]), MPI.DOUBLE], 0, 1, MPI.MAX)
        win.Fence()
        memory = win.tomemory().view(float).tolist()
        win.Free()
        return drawn, memory

    found = on(3, main)
    drawn = [number for numbers, _ in found for number in numbers]
    assert sorted(drawn) == list(range(150))
    assert found[0][1] == [150.0, 2.5] and found[1][1] == []


def test_sem_g499_one_rank_swaps_and_locks_keep_others_away():
    def main(comm):
        win = MPI.Win.Create(numpy.array([-1, 0], "i8"), 8, comm=comm)
        old = numpy.empty(1, "i8")
        mine, none = numpy.array([comm.rank], "i8"), numpy.array([-1], "i8")
        win.Compare_and_swap(mine, none, old, 0)
        for _ in range(20):
            win.Lock(0)
            win.Get(old_count := numpy.empty(1, "i8"), 0, 1)
            win.Put(old_count + 1, 0, 1)
            win.Unlock(0)
        comm.Barrier()
        win.Lock(comm.rank, MPI.LOCK_SHARED)
        count = int(win.tomemory().view("i8")[1])
        win.Unlock(comm.rank)
        win.Free()
        return int(old[0]) == -1, count

    found = on(3, main)
    assert [was for was, _ in found].count(True) == 1
    assert found[0][1] == 60


def test_sem_g499_derived_datatypes_reach_every_second_number():
    def main(comm):
        memory = numpy.zeros(8)
        win = MPI.Win.Create(memory, 8, comm=comm)
        second = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
        win.Put(numpy.arange(1.0, 4.0), 0, (1, 1, second))
        got = numpy.zeros(6)
        win.Get([got, 1, second], 0, (1, 3, MPI.DOUBLE))
        win.Free()
        return memory.tolist(), got.tolist()

    assert on(1, main) == [([0, 1, 0, 2, 0, 3, 0, 0], [1, 0, 0, 0, 2, 0])]


def test_sem_g499_what_cannot_be_is_an_error_of_mpi():
    def raises(name, call, *arguments):
        with pytest.raises(MPI.Exception) as raised:
            call(*arguments)
        assert raised.value.Get_error_class() == getattr(MPI, name), raised.value
        return str(raised.value)

    def main(comm):
        win = MPI.Win.Create(bytearray(4), comm=comm)
        number = numpy.zeros(1)
        assert "has 4" in raises("ERR_RMA_RANGE", win.Put, number, 0)
        raises("ERR_RANK", win.Put, number, 7)
        raises("ERR_DISP", win.Get, number, 0, -1)
        assert "Lock first" in raises("ERR_RMA_SYNC", win.Unlock, 0)
        win.Lock(0)
        raises("ERR_RMA_SYNC", win.Lock, 0)
        raises("ERR_RMA_SYNC", win.Free)
        win.Unlock(0)
        own = MPI.Op.Create(lambda a, b, _: None)
        raises("ERR_OP", win.Accumulate, number, 0, 0, own)
        own.Free()
        for count in 0, 1:
            for access in win.Put, win.Get, win.Accumulate:
                with pytest.raises(ValueError, match=f"{4 * count} bytes for 8 at the origin"):
                    access(number, 0, (0, count, MPI.INT))
        win.Free()
        raises("ERR_WIN", win.Fence)
        for unsupported in (MPI.Win.Allocate_shared, MPI.Win.Create_dynamic):
            with pytest.raises(NotImplementedError, match=r"Win\.|window"):
                unsupported(8)
        assert MPI.WIN_NULL == MPI.Win()

    on(1, main)


ACROSS = """
    import numpy, sys
    from motet.mpi4py import MPI
    comm = MPI.COMM_WORLD
    memory = numpy.zeros(3)
    win = MPI.Win.Create(memory, 8, comm=comm)
    other = 1 - comm.rank
    win.Put(numpy.array([1.0 + comm.rank]), other)
    for _ in range(5):
        win.Accumulate(numpy.array([1.0]), 0, 1)
    win.Fence()
    assert memory.tolist() == [1.0 + other, 10.0 if comm.rank == 0 else 0.0, 0.0], memory
    file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Write_ordered(b"rank %d " % comm.rank)
    file.Close()
    # A window that nobody frees ends with the script.
"""


@pytest.mark.skipif("MOTET_MPI" not in os.environ, reason="MOTET_MPI names no MPI library")
def test_sem_g499_windows_and_files_of_two_processes(tmp_path):
    script, path = tmp_path / "script.py", tmp_path / "written"
    script.write_text(textwrap.dedent(ACROSS))
    line = [sys.executable, "-m", "motet", "run", "-t", "1", "-m", "2", "--quiet"]
    line += ["--mpi-lib", os.environ["MOTET_MPI"].split(os.pathsep)[0], "--"]
    line += [sys.executable, str(script), str(path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == b"rank 0 rank 1 "


def test_ranks_without_memory_end_their_windows_together():
    def main(comm):
        win = MPI.Win.Create(numpy.zeros(int(comm.rank == 0)), 8, comm=comm)
        win.Fence()
        win.Free()

    assert on(3, main) == [None] * 3


def test_an_access_beyond_a_window_is_told_in_bytes():
    def main(comm):
        win = MPI.Win.Create(numpy.zeros(4), 8, comm=comm)
        win.Fence()
        with pytest.raises(MPI.Exception, match="72 bytes from byte 8 on .* has 32 bytes"):
            win.Put(numpy.zeros(9), 0, 1)
            win.Fence()
        win.Free()

    on(1, main)


def test_sem_g545_a_result_without_room_is_told_before_anything_is_combined():
    def main(comm):
        memory = numpy.zeros(2, "i4")
        win = MPI.Win.Create(memory, memory.itemsize, comm=comm)
        with pytest.raises(MPI.Exception) as short:
            win.Get_accumulate(numpy.ones(2, "i4"), numpy.zeros(1, "i4"), 0)
        win.Free()
        return short.value.Get_error_class(), memory.tolist()

    assert on(1, main) == [(MPI.ERR_TRUNCATE, [0, 0])]


def test_sem_g551_an_epoch_ends_only_where_one_has_begun():
    def main(comm):
        win = MPI.Win.Create(bytearray(4), comm=comm)
        texts = []

        def refused(*calls):
            for call in calls:
                with pytest.raises(MPI.Exception) as raised:
                    call()
                assert raised.value.Get_error_class() == MPI.ERR_RMA_SYNC
                texts.append(str(raised.value))

        refused(win.Wait, win.Test, win.Complete)
        win.Post(MPI.GROUP_EMPTY)
        win.Start(MPI.GROUP_EMPTY)
        win.Complete()
        assert win.Wait()
        refused(win.Wait, win.Test, win.Complete)
        win.Free()
        return texts

    (texts,) = on(1, main)
    assert all("call Post first" in texts[at] for at in (0, 1, 3, 4)), texts
    assert "call Start first" in texts[2] and "call Start first" in texts[5], texts


def test_sem_g551_a_window_that_is_open_to_others_is_not_freed():
    def main(comm):
        memory = numpy.zeros(1, "i4")
        win = MPI.Win.Create(memory, memory.itemsize, comm=comm)
        other = comm.Get_group().Incl([1 - comm.rank])
        told = None
        if comm.rank == 0:
            win.Post(other)
            assert not win.Test()
            with pytest.raises(MPI.Exception) as open_still:
                win.Free()
            told = open_still.value.Get_error_class()
        comm.Barrier()
        if comm.rank == 1:
            win.Start(other)
            win.Put(numpy.array([7], "i4"), 0)
            win.Complete()
        else:
            win.Wait()
        win.Free()
        return told, memory.tolist()

    assert on(2, main) == [(MPI.ERR_RMA_SYNC, [7]), (None, [0])]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is that of Linux")
def test_sem_g617_a_window_without_room_is_an_error_and_no_abort():
    line = [sys.executable, "-c", TOO_MUCH]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"would take {1 << 30} bytes" in done.stdout
