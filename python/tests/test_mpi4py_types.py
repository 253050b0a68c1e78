"""mpi4py's names: datatypes, and what lies in buffers."""

import sys
import time

import numpy
import pytest

from motet.comm import World
from motet.mpi4py import MPI


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


def test_sem_g518_ranks_that_combine_different_lengths_are_told():
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


def test_letters_are_not_added():
    def main(comm):
        letters, came = numpy.array([b"a", b"b"]), numpy.zeros(2, "S1")
        for op in (MPI.SUM, MPI.MAX, MPI.LAND, MPI.BXOR):
            with pytest.raises(MPI.Exception, match="not defined") as raised:
                MPI.COMM_WORLD.Allreduce(letters, came, op)
            assert raised.value == MPI.ERR_OP
        MPI.COMM_WORLD.Allreduce(letters, came, MPI.REPLACE)
        return came.tolist()

    assert World.threads(2).run(main) == [[b"a", b"b"]] * 2


def test_complex_numbers_have_no_largest():
    def main(comm):
        numbers, totals = numpy.ones(2, complex), numpy.zeros(2, complex)
        for op in (MPI.MAX, MPI.MIN):
            with pytest.raises(MPI.Exception, match="no order"):
                comm.Allreduce(numbers, totals, op)
        comm.Allreduce(numbers, totals, MPI.SUM)
        return totals.tolist()

    assert World.threads(2).run(main) == [[2, 2]] * 2


def test_what_does_not_fit_is_told_in_bytes_and_without_places_in_the_extension():
    def main(_):
        comm, numbers = MPI.COMM_WORLD, numpy.ones(5)
        apart = comm.Dup()
        if comm.rank == 0:
            comm.Send(numbers, dest=1)
        else:
            with pytest.raises(MPI.Exception, match="has 40 bytes, and there is room for 16"):
                comm.Recv(numpy.ones(2), source=0)
            # It stays there.
            comm.Recv(numbers, source=0)
        with pytest.raises(MPI.Exception, match="different collectives") as raised:
            apart.Allreduce(numbers[comm.rank :], numpy.empty(5 - comm.rank))
        said = str(raised.value)
        return ".rs" in said, "5 elements" in said and "4 elements" in said

    assert World.threads(2).run(main) == [(False, True)] * 2


def test_numbers_that_mpi_has_not_are_told_with_what_to_give():
    for kind in ([("a", "f8"), ("b", "i4")], "U3", "M8[s]"):
        with pytest.raises(KeyError, match=r"give the bytes as \[x, MPI.BYTE\]"):
            MPI.COMM_SELF.Send(numpy.zeros(2, kind), dest=0)
    rows, came = (
        numpy.ones(2, [("a", "f8"), ("b", "i4")]),
        numpy.zeros(2, [("a", "f8"), ("b", "i4")]),
    )
    MPI.COMM_SELF.Sendrecv([rows, MPI.BYTE], 0, recvbuf=[came, MPI.BYTE], source=0)
    assert (came == rows).all()


def test_an_array_that_another_rank_receives_into_is_told():
    shared = numpy.zeros(4)

    def main(_):
        comm = MPI.COMM_WORLD
        if comm.rank == 1:
            comm.Recv(shared, source=0, tag=1)
            return shared.tolist()
        for call in (
            lambda: comm.Send(shared, dest=1, tag=2),
            lambda: comm.Recv(shared, source=0, tag=3),
        ):
            with pytest.raises(BufferError, match="in use by a call of another rank"):
                # Until the other rank has begun.
                while True:
                    comm.Send(numpy.empty(4), dest=0, tag=3)
                    call()
                    time.sleep(0.001)
        comm.Send(numpy.ones(4), dest=1, tag=1)
        return None

    assert World.threads(2).run(main)[1] == [1, 1, 1, 1]
