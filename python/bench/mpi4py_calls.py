"""Times the calls of mpi4py's names between two processes: over motet, or over mpi4py itself.

    motet run -t 1 -m 2 --mpi-lib LIB -- python python/bench/mpi4py_calls.py motet
    mpiexec -n 2 python python/bench/mpi4py_calls.py mpi4py

Both over the same MPICH. For each call: the least and the median of bursts, in microseconds a call.
A round trip counts as one.
"""

import statistics
import sys

import numpy

if sys.argv[1] == "motet":
    from motet.mpi4py import MPI
else:
    from mpi4py import MPI

BURSTS, CALLS = 60, 300


def round_trip(comm, buf):
    """Send an array there and back."""
    if comm.rank == 0:
        comm.Send(buf, 1)
        comm.Recv(buf, 1)
    else:
        comm.Recv(buf, 0)
        comm.Send(buf, 0)


def objects(comm, obj):
    """Send an object there and back."""
    if comm.rank == 0:
        comm.send(obj, 1)
        comm.recv(source=1)
    else:
        comm.recv(source=0)
        comm.send(obj, 0)


def main():
    """Time each call."""
    comm = MPI.COMM_WORLD
    other = 1 - comm.rank
    small, came, large = numpy.zeros(1), numpy.zeros(1), numpy.zeros(1 << 17)
    cases = {
        "Send/Recv 8 B": (CALLS, lambda: round_trip(comm, small)),
        "Send/Recv 1 MiB": (20, lambda: round_trip(comm, large)),
        "Sendrecv 8 B": (CALLS, lambda: comm.Sendrecv(small, other, 0, came, other, 0)),
        "Allreduce 8 B": (CALLS, lambda: comm.Allreduce(small, came)),
        "Barrier": (CALLS, comm.Barrier),
        "send/recv float": (CALLS, lambda: objects(comm, 1.5)),
        "sendrecv float": (CALLS, lambda: comm.sendrecv(1.5, dest=other, source=other)),
        "bcast float": (CALLS, lambda: comm.bcast(1.5, root=0)),
        "allreduce float": (CALLS, lambda: comm.allreduce(1.5)),
    }
    for name, (calls, call) in cases.items():
        times = []
        for _ in range(BURSTS):
            comm.Barrier()
            begun = MPI.Wtime()
            for _ in range(calls):
                call()
            times.append((MPI.Wtime() - begun) / calls * 1e6)
        if comm.rank == 0:
            print(f"{name:18} {min(times):8.2f} {statistics.median(times):8.2f}", flush=True)


main()
