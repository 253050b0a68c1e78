"""mpi4py's names: communicators, requests, topologies, and what is wrong or lacking."""

import sys
import threading
import time

import numpy
import pytest

import motet
from motet.comm import World
from motet.mpi4py import MPI, rc


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


def test_sem_g463_what_a_rank_notes_of_comm_world_is_its_own():
    def main(_):
        comm = MPI.COMM_WORLD
        keys = comm.allgather(MPI.Comm.Create_keyval())
        assert len(set(keys)) == comm.size
        if comm.rank == 0:
            comm.Set_attr(keys[0], "of rank 0")
            comm.Set_name("first")
        comm.Barrier()
        seen, tags = (comm.Get_attr(keys[0]), comm.Get_name()), []
        for _ in range(2):
            # What libraries of mpi4py ask for: a communicator beside this one.
            beside, tag = MPI._commctx_intra(comm)
            tags.append((tag, beside.allreduce(1)))
        return seen, tags

    found = of_three(main)
    others = (None, "MPI_COMM_WORLD")
    assert [seen for seen, _ in found] == [("of rank 0", "first"), others, others]
    assert [tags for _, tags in found] == [[(0, 3), (1, 3)]] * 3
    assert MPI.COMM_WORLD.Get_name() == "MPI_COMM_WORLD"


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
    for name in ("Get_remote_group", "Get_remote_size", "Merge", "remote_size", "remote_group"):
        with pytest.raises(NotImplementedError, match=r"intercommunicators.*Split"):
            getattr(MPI.Intercomm(), name)()
    with pytest.raises(NotImplementedError, match="partitions"):
        MPI.Prequest().Pready(0)
    with pytest.raises(NotImplementedError, match="T_INIT"):
        _ = MPI.T_INIT
    assert not hasattr(MPI, "T_INIT") and getattr(MPI, "T_INIT", 7) == 7
    assert {"DOUBLE", "ERR_RANK", "COMM_WORLD", "INT64_T"} <= set(dir(MPI))
    with pytest.raises(AttributeError):
        _ = MPI.no_such_name
    with pytest.raises(TypeError, match="no option"):
        rc(no_such_option=1)


def test_some_ranks_may_be_in_no_part_of_a_split():
    def main(_):
        comm = MPI.COMM_WORLD
        is_out = comm.rank == 1
        made = [
            comm.Split(MPI.UNDEFINED if is_out else 7, -comm.rank),
            comm.Split_type(MPI.UNDEFINED if is_out else MPI.COMM_TYPE_SHARED, -comm.rank),
        ]
        return [part.allgather(comm.rank) if part else part == MPI.COMM_NULL for part in made]

    assert of_three(main) == [[[2, 0]] * 2, [True] * 2, [[2, 0]] * 2]


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
            # The number of an operator of the program, which has none.
            (lambda: MPI.Op.fromint(-1), MPI.ERR_OP),
            (lambda: MPI.Op.fromint(100), MPI.ERR_OP),
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

    World.threads(2).run(main)
    said = []

    def alone(_):
        operator = MPI.Op.Create(lambda a, b, datatype: said.append(len(a)))
        MPI.COMM_WORLD.Allreduce(numpy.ones(2), numpy.ones(2), operator)
        operator.Free()

    World.threads(2).run(alone)
    assert said and set(said) == {16}


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


def test_versions_are_told():
    assert MPI.get_vendor()[0] == "motet"
    assert motet.__version__ in MPI.Get_library_version()
    assert MPI.Get_version() == (MPI.VERSION, MPI.SUBVERSION)


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


def test_sem_g525_a_receive_whose_request_was_freed_fills_its_buffer(monkeypatch):
    unheard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unheard.append(told.exc_value))

    def main(_):
        comm, came, short = MPI.COMM_WORLD, bytearray(5), bytearray(2)
        if comm.rank == 1:
            comm.Barrier()
            comm.Send(b"12345", dest=0, tag=3)
            comm.Send(b"12345", dest=0, tag=4)
            comm.send("after", dest=0)
            return came
        comm.Irecv(came, source=1, tag=3).Free()
        comm.Irecv(short, source=1, tag=4).Free()
        comm.Barrier()
        assert comm.recv(source=1) == "after"
        return came

    assert World.threads(2).run(main)[0] == b"12345"
    # Of the one that does not fit nobody else can be told.
    assert [error == MPI.ERR_TRUNCATE for error in unheard] == [True]


def test_sem_g525_a_wait_or_free_on_another_thread_leaves_the_request():
    def main(_):
        comm, came, said = MPI.COMM_WORLD, bytearray(5), []
        request = comm.Irecv(came, source=comm.rank)

        def wait():
            some = [request]
            for call in request.Wait, request.Test, request.Free, lambda: MPI.Request.Waitany(some):
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

    assert World.threads(1).run(main) == [(True, 4)]


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
