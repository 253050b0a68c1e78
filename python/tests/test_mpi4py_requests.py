"""mpi4py's names: requests that nobody keeps, and operators that raise."""

import weakref

import numpy

import motet
from motet.comm import World
from motet.mpi4py import MPI


def test_sem_g525_a_receive_whose_request_nobody_keeps_fills_its_buffer():
    def main(_):
        comm, came = MPI.COMM_WORLD, bytearray(5)
        if comm.rank == 1:
            comm.Barrier()
            comm.Send(b"12345", dest=0, tag=3)
            comm.send("after", dest=0)
            return came
        comm.Irecv(came, source=1, tag=3)
        comm.Barrier()
        assert comm.recv(source=1) == "after"
        return came

    assert World.threads(2).run(main)[0] == b"12345"


def test_a_call_whose_request_nobody_keeps_ends_and_keeps_nothing():
    def main(_):
        comm = MPI.COMM_WORLD

        def add(a, b, _):
            b[:] = (numpy.frombuffer(a, "f8") + numpy.frombuffer(b, "f8")).tobytes()

        gone, totals = weakref.ref(add), numpy.zeros(1)
        operator = MPI.Op.Create(add)
        comm.Iallreduce(numpy.full(1, comm.rank + 1.0), totals, operator)
        operator.Free()
        del add, operator
        # A rank that waits for others looks what has ended of what nobody keeps.
        for _ in range(3):
            comm.Barrier()
        return totals[0], gone() is None

    assert World.threads(2).run(main) == [(3.0, True)] * 2


class Wrong(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def test_what_an_operator_of_objects_raises_is_raised_on_all_who_would_use_its_result():
    def main(_):
        comm, told = MPI.COMM_WORLD, []

        def fails(a, b):
            return 1 // 0

        def cannot_be_sent(a, b):
            raise Wrong(a, b)

        def caught(call, op):
            try:
                return call(comm.rank + 1, op=op)
            except (ZeroDivisionError, Wrong, motet.MotetError) as error:
                return type(error).__name__

        told = [caught(call, fails) for call in (comm.allreduce, comm.reduce, comm.scan)]
        told.append(caught(comm.allreduce, cannot_be_sent) in ("Wrong", "MotetError"))
        # The ranks are in step.
        return [*told, comm.allreduce(1)]

    found = World.threads(3).run(main)
    failed = "ZeroDivisionError"
    assert [told[0] for told in found] == [failed] * 3
    assert found[0][1] == failed and [told[2] for told in found[1:]] == [failed] * 2
    assert [told[3:] for told in found] == [[True, 3]] * 3


def test_sem_g518_what_an_operator_of_buffers_raises_is_raised_on_all_who_would_use_its_result():
    def main(_):
        comm = MPI.COMM_WORLD

        def fails(a, b, _):
            return 1 // 0

        def add(a, b, _):
            b[:] = (numpy.frombuffer(a, "u1") + numpy.frombuffer(b, "u1")).tobytes()

        failing, adding = MPI.Op.Create(fails), MPI.Op.Create(add)
        numbers = numpy.ones(3)

        def raises(call, places=3):
            try:
                call(numbers, numpy.zeros(places), op=failing)
            except ZeroDivisionError:
                return True
            return False

        def started(*buffers, op):
            comm.Iallreduce(*buffers, op=op).Wait()

        raised = [raises(call) for call in (comm.Allreduce, started, comm.Reduce, comm.Scan)]
        raised += [raises(comm.Exscan), raises(comm.Reduce_scatter_block, 1)]
        # The ranks are in step, and any bytes may be combined.
        totals = numpy.zeros(3, "u1")
        comm.Allreduce(numpy.array([1, 0, 2], "u1"), totals, adding)
        failing.Free()
        adding.Free()
        return raised, totals.tolist()

    found = World.threads(3).run(main)
    assert [totals for _, totals in found] == [[3, 0, 6]] * 3
    everywhere, at_root, scanned, before, parts = zip(
        *((told[:2], *told[2:]) for told, _ in found), strict=True
    )
    assert everywhere == ([True, True],) * 3 and parts == (True,) * 3
    assert at_root[0] and scanned[1:] == (True, True) and before[2]


def test_sem_g518_whatever_an_operator_raises_is_raised_on_all_who_would_use_its_result():
    class Speechless(Exception):
        def __str__(self):
            raise ValueError("no words")

    def main(_):
        comm = MPI.COMM_WORLD

        def raised(error):
            def fails(a, b, _=None):
                raise error

            operator = MPI.Op.Create(fails)
            try:
                comm.Allreduce(numpy.ones(3), numpy.zeros(3), operator)
            except BaseException as caught:
                return type(caught).__name__
            finally:
                operator.Free()

        return [raised(error) for error in (Speechless(), SystemExit(3), KeyboardInterrupt())]

    for found in World.threads(3).run(main):
        assert found[0] in ("Speechless", "MotetError")
        assert found[1:] == ["SystemExit", "KeyboardInterrupt"]
