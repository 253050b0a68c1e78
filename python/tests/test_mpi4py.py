import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import motet
from motet.comm import World
from motet.mpi4py import MPI, rc

NEEDS_MPI = pytest.mark.skipif("MOTET_MPI" not in os.environ, reason="MOTET_MPI names no library")


def of_three(main):
    return World.threads(3).run(main)


def test_sem_g463_comm_world_is_that_of_the_calling_rank():
    def main(own):
        comm = MPI.COMM_WORLD
        assert (comm.rank, comm.size) == (own.rank, own.size)
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        came, status = numpy.empty(3), MPI.Status()
        request = comm.Irecv(came, source=left, tag=5)
        comm.Send(numpy.full(3, comm.rank, dtype=float), dest=right, tag=5)
        request.Wait(status)
        assert (status.source, status.tag, status.Get_count(MPI.DOUBLE)) == (left, 5, 3)
        assert came.tolist() == [left] * 3
        assert MPI.COMM_SELF.allgather(comm.rank) == [comm.rank]
        assert MPI.COMM_SELF.group.Translate_ranks([0], comm.group) == [comm.rank]
        row = comm.Split(comm.rank // 2)
        total = row.allreduce(comm.rank, op=MPI.SUM)
        row.Free()
        assert not row
        return total, comm.scan("abc"[comm.rank]), comm.allreduce(comm.rank, lambda a, b: a - b)

    assert of_three(main) == [(1, "a", -3), (1, "ab", -3), (2, "abc", -3)]


def test_sem_g463_collectives_may_be_started_and_described():
    def main(_):
        comm = MPI.COMM_WORLD
        numbers, totals = numpy.arange(4) + comm.rank, numpy.empty(4, dtype=int)
        request = comm.Iallreduce(numbers, totals, MPI.MAX)
        comm.Barrier()
        request.Wait()
        assert totals.tolist() == [2, 3, 4, 5]
        again = comm.Bcast_init(totals, root=1)
        for turn in range(3):
            if comm.rank == 1:
                totals[:] = turn
            again.Start()
            again.Wait()
            assert totals.tolist() == [turn] * 4
        again.Free()
        places = numpy.zeros(2, dtype=[("value", "d"), ("index", "i")])
        places["value"], places["index"] = [comm.rank, -comm.rank], comm.rank
        first = numpy.empty(24, dtype="u1")
        mine = numpy.zeros(2, dtype=numpy.dtype([("value", "d"), ("index", "i")], align=True))
        mine["value"], mine["index"] = places["value"], places["index"]
        first = numpy.zeros_like(mine)
        comm.Allreduce([mine, 2, MPI.DOUBLE_INT], [first, 2, MPI.DOUBLE_INT], MPI.MINLOC)
        return first["value"].tolist(), first["index"].tolist()

    assert of_three(main) == [([0, -2], [0, 2])] * 3


def test_derived_datatypes_leave_gaps():
    def main(_):
        comm = MPI.COMM_SELF
        column = MPI.DOUBLE.Create_vector(3, 1, 4).Commit()
        table = numpy.arange(12.0).reshape(3, 4)
        came = numpy.zeros((3, 4))
        request = comm.Irecv([came, 1, column], source=0)
        comm.Send([table, 1, column], dest=0)
        request.Wait()
        assert came[:, 0].tolist() == [0, 4, 8] and not came[:, 1:].any()
        assert (column.size, column.extent) == (24, 72)
        with pytest.raises(ValueError, match="do not fit"):
            comm.Send([table, 4, column], dest=0)

    World.threads(1).run(main)


def test_what_is_packed_lies_in_its_buffer():
    comm, numbers, packed = MPI.COMM_SELF, numpy.arange(2.0), bytearray(32)
    assert MPI.DOUBLE.Pack(numbers, packed, 8, comm) == 24
    came = numpy.zeros(2)
    assert MPI.DOUBLE.Unpack(packed, 8, came, comm) == 24 and came.tolist() == [0, 1]
    for position in (-16, -1, 17, 40):
        for call in (
            lambda at=position: MPI.DOUBLE.Pack(numbers, packed, at, comm),
            lambda at=position: MPI.DOUBLE.Unpack(packed, at, came, comm),
        ):
            with pytest.raises(MPI.Exception, match=f"16 bytes from {position} on") as raised:
                call()
            assert raised.value == MPI.ERR_TRUNCATE
    with pytest.raises(MPI.Exception, match="extent of the datatype is 0"):
        MPI.DOUBLE.Create_contiguous(0).Pack(numbers, packed, 0, comm)


def test_sem_g531_ranks_that_combine_different_lengths_are_told():
    own = MPI.Op.Create(lambda a, b, _: None)
    for kind in ("f8", "i2", "f2"):
        for op in (MPI.SUM, own):
            for name in ("Reduce", "Scan", "Exscan"):

                def main(comm, kind=kind, op=op, name=name):
                    # An array of one would be as good as one of two for numpy.
                    numbers = numpy.ones(1 + comm.rank, kind)
                    getattr(comm, name)(numbers, numpy.empty_like(numbers), op)
                    comm.Barrier()

                ranks = 3 if name == "Exscan" else 2
                with pytest.raises(ValueError, match="bytes are not combined"):
                    World.threads(ranks).run(main)
    own.Free()


def test_datatypes_have_attributes():
    told = []
    key = MPI.Datatype.Create_keyval(
        copy_fn=lambda datatype, key, value: value + 1,
        delete_fn=lambda datatype, key, value: told.append(value),
    )
    one = MPI.INT.Create_contiguous(2)
    assert one.Get_attr(key) is None
    one.Set_attr(key, 5)
    copy = one.Dup()
    assert (one.Get_attr(key), copy.Get_attr(key)) == (5, 6)
    copy.Free()
    one.free()
    assert told == [6, 5] and not one
    MPI.Datatype.Free_keyval(key)


def test_sem_g464_what_is_lacking_says_what_it_is():
    with pytest.raises(NotImplementedError, match=r"processes share.*Win\.Allocate"):
        MPI.Win.Allocate_shared(8)
    with pytest.raises(NotImplementedError, match=r"without memory.*Win\.Create"):
        MPI.Win.Create_dynamic()
    with pytest.raises(NotImplementedError, match="data representations"):
        MPI.Register_datarep("mine", None, None, lambda datatype: 1)
    with pytest.raises(NotImplementedError, match=r"intercommunicators.*Split"):
        MPI.COMM_WORLD.Create_intercomm(0, MPI.COMM_WORLD, 1)
    with pytest.raises(NotImplementedError, match="motet run"):
        MPI.COMM_SELF.Spawn("program")
    comm, datatype = MPI.COMM_SELF, MPI.DOUBLE
    for name in ("Pack_external", "Unpack_external", "Create_f90_real", "Get_contents"):
        with pytest.raises(NotImplementedError, match="motet has no .*; (use|name)"):
            getattr(datatype, name)(1, 2)
    for name in ("Shrink", "Revoke", "Psend_init"):
        with pytest.raises(NotImplementedError, match="motet has no .*; (use|a process)"):
            getattr(comm, name)()
    with pytest.raises(NotImplementedError, match="partitions"):
        MPI.Prequest().Pready(0)
    with pytest.raises(NotImplementedError, match="T_INIT"):
        _ = MPI.T_INIT
    with pytest.raises(AttributeError):
        _ = MPI.no_such_name
    with pytest.raises(TypeError, match="no option"):
        rc(no_such_option=1)


def test_wrong_arguments_are_errors_of_mpi():
    def main(_):
        comm = MPI.COMM_WORLD
        for call, wrong in [
            (lambda: comm.Send(b"1", dest=3), MPI.ERR_RANK),
            (lambda: comm.send(1, dest=-7), MPI.ERR_RANK),
            (lambda: comm.send(1, dest=0, tag=-7), MPI.ERR_TAG),
            (lambda: comm.bcast(1, root=3), MPI.ERR_ROOT),
            (lambda: MPI.COMM_NULL.Get_rank(), MPI.ERR_COMM),
            (lambda: MPI.Request().Cancel(), MPI.ERR_REQUEST),
            (lambda: MPI.INT.Create_subarray([4], [3], [3]), MPI.ERR_ARG),
            (lambda: MPI.INT.Create_subarray([4, 4], [4, 1], [0, -1]), MPI.ERR_ARG),
            (lambda: MPI.INT.Create_subarray([4], [-1], [2]), MPI.ERR_ARG),
        ]:
            with pytest.raises(MPI.Exception) as raised:
                call()
            assert raised.value.Get_error_class() == wrong
        comm.Isend(b"12345", dest=comm.rank)
        with pytest.raises(MPI.Exception) as raised:
            comm.Recv(bytearray(2), source=comm.rank)
        assert raised.value == MPI.ERR_TRUNCATE
        assert comm.recv.__self__ is comm and comm.Iprobe(source=comm.rank)
        with pytest.raises(BufferError, match="read-only"):
            comm.Irecv(b"12")
        with pytest.raises(BufferError, match="contiguous"):
            comm.Send(numpy.zeros((4, 4))[::2, ::2], dest=0)
        with pytest.raises(ValueError, match="objects|memory of its own"):
            comm.Send(numpy.array([{}]), dest=0)
        part = MPI.INT.Create_subarray([4], [3], [1])
        assert (part.size, part.extent) == (12, 16)

    of_three(main)


def test_an_operator_of_the_program_may_raise():
    def main(_):
        def wrong(a, b, datatype):
            raise KeyError("as it was told")

        operator = MPI.Op.Create(wrong)
        try:
            with pytest.raises(KeyError, match="as it was told"):
                MPI.COMM_WORLD.Allreduce(numpy.ones(2), numpy.ones(2), operator)
        finally:
            operator.Free()

    # Where one rank combines for the others, only that one hears of it.
    World.threads(2).run(lambda _: None)
    said = []

    def alone(_):
        operator = MPI.Op.Create(lambda a, b, datatype: said.append(len(a)))
        MPI.COMM_WORLD.Allreduce(numpy.ones(2), numpy.ones(2), operator)
        operator.Free()

    World.threads(2).run(alone)
    assert said and set(said) == {16}


def script(tmp_path, text):
    program = tmp_path / "script.py"
    program.write_text(text)
    return str(program)


def launched(program, count=2, library=None, python=sys.executable, **options):
    library = library or os.environ["MOTET_MPI"].split(os.pathsep)[0]
    line = [sys.executable, "-m", "motet", "run", "-t", "1", "-m", str(count)]
    line += ["--mpi-lib", library, "--quiet", "--", python, program]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, **options)


def test_sem_g466_a_script_alone_is_a_world_of_one(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "print(comm.rank, comm.size, comm.allreduce(5), MPI.Is_initialized())\n"
        "MPI.Finalize()\n"
        "print(MPI.Is_finalized())\n"
        "try: comm.barrier()\n"
        "except Exception as error: print(error)\n",
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["0 1 5 True", "True"]
    assert "finalized" in done.stdout.splitlines()[2]


@NEEDS_MPI
def test_sem_g466_a_script_runs_unchanged_on_processes(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "other = 1 - comm.rank\n"
        "came = comm.sendrecv('x' * (comm.rank + 1), dest=other, source=other)\n"
        "print(f'{comm.rank}:{len(came)}', flush=True)\n",
    )
    for library in os.environ["MOTET_MPI"].split(os.pathsep):
        done = launched(program, library=library)
        assert done.returncode == 0, done.stderr
        # The launcher may put lines of several processes into one.
        assert sorted(re.findall(r"\d:\d", done.stdout)) == ["0:2", "1:1"]


@NEEDS_MPI
def test_sem_g466_what_a_script_raises_ends_the_others(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "if comm.rank == 0:\n"
        "    raise KeyError('as it was told')\n"
        "comm.recv(source=0)\n",
    )
    done = launched(program)
    assert done.returncode != 0
    assert done.stderr.count("as it was told") >= 1, done.stderr


def test_sem_g466_ctrl_c_ends_a_script_that_waits(tmp_path):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "print('waits', MPI.COMM_WORLD.rank, flush=True)\n"
        "MPI.COMM_WORLD.recv()\n",
    )
    line = [sys.executable, program]
    run = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "waits 0\n"
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert run.returncode != 0 and "KeyboardInterrupt" in said


def test_a_thread_that_is_no_rank_is_told(tmp_path):
    def main(_):
        said = []

        def call():
            dup.barrier()

        dup = MPI.COMM_WORLD.Dup()

        def caught():
            try:
                call()
            except RuntimeError as error:
                said.append(str(error))

        other = threading.Thread(target=caught)
        other.start()
        other.join()
        return said

    (said,) = World.threads(1).run(main)
    assert "thread of its rank" in said[0]


REAL = os.path.join(os.path.dirname(__file__), "..", "..", "target", "mpi4py", "real")


@pytest.fixture(scope="module")
def real():
    """An interpreter with mpi4py itself, over MPICH's own library."""
    python = os.path.join(os.path.abspath(REAL), "bin", "python")
    wanted = "import mpi4py, sys; sys.exit(mpi4py.__version__ != '4.1.2')"
    there = os.path.exists(python) and subprocess.run([python, "-c", wanted]).returncode == 0
    if not there:
        subprocess.run([sys.executable, "-m", "venv", os.path.abspath(REAL)], check=False)
        line = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        line += ["mpi4py==4.1.2", "mpich==5.0.2"]
        got = subprocess.run(line, capture_output=True, text=True)
        if got.returncode != 0:
            pytest.skip(f"mpi4py cannot be installed: {got.stderr.strip()[-200:]}")
    return python


def beside(real):
    """The environment in which that interpreter has motet too."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@NEEDS_MPI
def test_sem_g465_motet_refuses_to_start_mpi_beside_mpi4py(tmp_path, real):
    for use in ("MPI.COMM_WORLD.Get_rank()", "__import__('motet.comm').comm.World.current()"):
        program = script(
            tmp_path,
            "from mpi4py import MPI as real\n"
            "assert not hasattr(real, '__motet__')\n"
            "import motet\n"
            "from motet.mpi4py import MPI\n"
            f"try: {use}\n"
            "except motet.MotetError as error: print('refused', error, flush=True)\n",
        )
        done = launched(program, python=real, env=beside(real))
        assert done.stdout.count("refused") == 2, done.stdout + done.stderr
        assert "from motet.mpi4py import MPI" in done.stdout
        assert "libmpi.so" in done.stdout


@NEEDS_MPI
def test_sem_g465_mpi4py_is_not_imported_beside_motets_mpi(tmp_path, real):
    program = script(
        tmp_path,
        "from motet.mpi4py import MPI\n"
        "MPI.COMM_WORLD.barrier()\n"
        "try: import mpi4py.MPI\n"
        "except ImportError as error: print('refused', error, flush=True)\n"
        "MPI.COMM_WORLD.barrier()\n",
    )
    (found,) = pathlib.Path(REAL).absolute().glob("lib/python3*/site-packages")
    env = {**os.environ, "PYTHONPATH": str(found)}
    done = launched(program, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("refused") == 2 and "motet has started MPI" in done.stdout


def test_versions_are_told():
    assert MPI.get_vendor()[0] == "motet"
    assert motet.__version__ in MPI.Get_library_version()
    assert MPI.Get_version() == (MPI.VERSION, MPI.SUBVERSION)


def test_sem_g463_numbers_in_another_byte_order_are_refused():
    order = ">" if sys.byteorder == "little" else "<"

    def main(own):
        foreign, here = numpy.ones(2, order + "f8"), numpy.zeros(2)
        calls = [
            lambda comm: comm.Allreduce(foreign, here),
            lambda comm: comm.Allreduce(here, foreign),
            lambda comm: comm.Send(foreign, dest=comm.rank),
            lambda comm: comm.Isend([foreign, 2], dest=comm.rank),
            lambda comm: comm.Bcast(foreign),
            lambda comm: comm.Allgatherv(here, [foreign, (1, 1)]),
            lambda comm: comm.Send(memoryview(foreign), dest=comm.rank),
        ]
        for call in calls:
            for comm in (own, MPI.COMM_WORLD):
                with pytest.raises(ValueError, match=r"x.astype\(x.dtype.newbyteorder"):
                    call(comm)
        # What is called bytes goes as it is, and so do objects.
        own.Allreduce(foreign.astype(foreign.dtype.newbyteorder("=")), here)
        came = numpy.empty_like(foreign)
        own.Sendrecv([foreign, MPI.BYTE], own.rank, recvbuf=[came, MPI.BYTE], source=own.rank)
        assert (came == foreign).all() and (own.bcast(foreign) == 1).all()
        return here.tolist()

    assert World.threads(2).run(main) == [[2, 2]] * 2


def test_ranks_receive_empty_messages_at_the_same_time():
    def main(comm):
        nothing, status = numpy.empty(0), MPI.Status()
        if comm.rank == 0:
            time.sleep(0.2)
            for rank in 1, 2:
                comm.Send([nothing, MPI.DOUBLE], dest=rank)
            return 0
        comm.Recv([nothing, MPI.DOUBLE], source=0, status=status)
        return status.Get_count(MPI.DOUBLE)

    assert of_three(main) == [0, 0, 0]


def test_topologies_take_arrays_of_numpy():
    def main(_):
        comm = MPI.COMM_WORLD
        left, right = (comm.rank - 1) % 3, (comm.rank + 1) % 3
        # One of them is rank 0 alone, and one weight is the number of UNWEIGHTED.
        weights = numpy.array([MPI.UNWEIGHTED]), numpy.array([7])
        edges = numpy.array([left]), numpy.array([right])
        ring = comm.Create_dist_graph_adjacent(*edges, *weights)
        assert ring.Get_dist_neighbors() == ([left], [right], ([MPI.UNWEIGHTED], [7]))
        assert ring.neighbor_allgather(comm.rank) == [left]
        both = numpy.array([left, right])
        pairs = comm.Create_dist_graph_adjacent(both, both, numpy.ones(2, int), both)
        assert pairs.neighbor_allgather(comm.rank) == [left, right]
        one = numpy.array([comm.rank]), numpy.int64(1)
        told = comm.Create_dist_graph(*one, numpy.array([right]), numpy.array([right]))
        assert told.Get_dist_neighbors() == ([left], [right], ([comm.rank], [right]))
        grid = comm.Create_cart(numpy.int64(3), periods=numpy.bool_(True))
        assert (grid.dims, grid.periods) == ([3], [True])
        return MPI.Compute_dims(6, numpy.int64(2))

    assert of_three(main) == [[3, 2]] * 3


def test_a_status_counts_the_numbers_of_derived_datatypes():
    status, three = MPI.Status(), MPI.INT.Create_contiguous(3)
    status.Set_elements(three, 6)
    assert (status.Get_elements(three), status.Get_count(three), status.count) == (6, 2, 24)
    status.Set_elements(three, 4)
    assert (status.Get_elements(three), status.Get_count(three)) == (4, MPI.UNDEFINED)
    mixed = MPI.Datatype.Create_struct([2, 1], [0, 8], [MPI.INT, MPI.DOUBLE])
    pair = mixed.Create_contiguous(2)
    for datatype in (mixed, pair):
        for count, nbytes in enumerate([0, 4, 8, 16, 20, 24, 32, 36]):
            status.Set_elements(datatype, count)
            assert (status.count, status.Get_elements(datatype)) == (nbytes, count)
    status.count = 12
    assert status.Get_elements(mixed) == MPI.UNDEFINED
    nested = MPI.Datatype.Create_struct([1, 1], [0, 16], [mixed, MPI.SHORT])
    status.count = 18
    assert (status.Get_count(nested), status.Get_elements(nested)) == (1, 4)
    status.count = 0
    assert status.Get_elements(MPI.INT.Create_contiguous(0)) == 0


def too_long(comm):
    """A receive whose message is longer than its room, and one that fits, which both are there."""
    short, fits = bytearray(2), bytearray(5)
    requests = [comm.Irecv(room, source=comm.rank) for room in (short, fits)]
    for _ in requests:
        comm.Send(b"12345", dest=comm.rank)
    return requests, fits


def test_a_request_that_has_failed_is_over():
    def main(_):
        comm = MPI.COMM_WORLD
        for call in (
            lambda requests: requests[0].Test(),
            lambda requests: requests[0].Get_status(),
            MPI.Request.Waitany,
            MPI.Request.Testsome,
            MPI.Request.Waitsome,
            MPI.Request.Testall,
        ):
            requests, fits = too_long(comm)
            with pytest.raises(MPI.Exception) as raised:
                call(requests)
            assert raised.value == MPI.ERR_TRUNCATE
            assert not requests[0] and requests[1]
            MPI.Request.Waitall(requests)
            assert fits == b"12345"

    of_three(main)


def test_a_request_that_has_failed_takes_nothing_of_the_next():
    def main(_):
        comm = MPI.COMM_WORLD
        apart, both, came = comm.Dup(), numpy.ones(2), bytearray(5)
        if comm.rank == 1:
            comm.Barrier()
            with pytest.raises(MPI.Exception, match="different collectives"):
                apart.Ialltoall(both, numpy.empty(2)).Wait()
            return True
        request = apart.Iallgather(both[:1], numpy.empty(2))
        comm.Barrier()
        with pytest.raises(MPI.Exception, match="different collectives"):
            while not request.Test():
                pass
        after = comm.Irecv(came, source=0)
        comm.Send(b"12345", dest=0)
        request.Wait()
        after.Wait()
        return came == b"12345"

    assert World.threads(2).run(main) == [True, True]


def test_a_wait_on_another_thread_leaves_the_request():
    def main(_):
        comm, came, said = MPI.COMM_WORLD, bytearray(5), []
        request = comm.Irecv(came, source=comm.rank)

        def wait():
            for call in request.Wait, request.Test, lambda: MPI.Request.Waitany([request]):
                try:
                    call()
                except RuntimeError as error:
                    said.append(str(error))

        other = threading.Thread(target=wait)
        other.start()
        other.join()
        comm.Send(b"12345", dest=comm.rank)
        request.Wait()
        return came == b"12345", len(said)

    assert World.threads(1).run(main) == [(True, 3)]


def test_a_scatter_needs_room_on_all_ranks_but_the_root():
    def main(_):
        comm, numbers, came = MPI.COMM_WORLD, numpy.arange(3.0), numpy.empty(1)
        if comm.rank != 0:
            for nothing in (None, MPI.IN_PLACE):
                for call in (comm.Scatter, comm.Scatterv, comm.Iscatter, comm.Scatter_init):
                    with pytest.raises(TypeError, match="a buffer or a list is expected"):
                        call(None, nothing)
        comm.Scatter(numbers, MPI.IN_PLACE if comm.rank == 0 else came)
        return came[0] if comm.rank else 0.0

    assert of_three(main) == [0, 1, 2]


def test_matrices_and_masked_arrays_are_buffers():
    def main(_):
        comm = MPI.COMM_SELF
        given, came = numpy.asmatrix(numpy.arange(4.0).reshape(2, 2)), numpy.asmatrix(numpy.eye(2))
        comm.Sendrecv(given, 0, recvbuf=[came, 4, MPI.DOUBLE], source=0)
        assert came.tolist() == [[0, 1], [2, 3]]
        masked = numpy.ma.masked_array(numpy.zeros(4), mask=[True, False, False, False])
        comm.Allreduce(given, masked)
        return masked.data.tolist(), masked.mask.tolist()

    found = World.threads(1).run(main)
    assert found == [([0, 1, 2, 3], [True, False, False, False])]


def test_complex_numbers_have_no_largest():
    def main(comm):
        numbers, totals = numpy.ones(2, complex), numpy.zeros(2, complex)
        for op in (MPI.MAX, MPI.MIN):
            with pytest.raises(MPI.Exception, match="no order"):
                comm.Allreduce(numbers, totals, op)
        comm.Allreduce(numbers, totals, MPI.SUM)
        return totals.tolist()

    assert World.threads(2).run(main) == [[2, 2]] * 2
