"""Pi from random points: rank 0 hands out tasks, the other ranks work."""

from mpi4py import MPI
import numpy as np

READY, DONE, WORK, STOP = 1, 2, 3, 4
BINS = 10


def points(seed, count):
    """Points of the unit square, the same wherever they are made."""
    state = seed
    for _ in range(count):
        pair = []
        for _ in range(2):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            pair.append((state >> 33) / 2**31)
        yield pair


def master(comm, tasks):
    """Hands out the tasks, and adds up what comes back."""
    inside, stopped = 0, 0
    status = MPI.Status()
    while stopped < comm.Get_size() - 1:
        comm.Probe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        worker = status.Get_source()
        if status.Get_tag() == DONE:
            result = comm.recv(source=worker, tag=DONE)
            inside += result["inside"]
            continue
        comm.recv(source=worker, tag=READY)
        if tasks:
            comm.send(tasks.pop(), dest=worker, tag=WORK)
        else:
            comm.send(None, dest=worker, tag=STOP)
            stopped += 1
    return inside


def work(comm, count, bins):
    """Asks for tasks until there are none; how many there were."""
    done = 0
    status = MPI.Status()
    while True:
        comm.send(None, dest=0, tag=READY)
        task = comm.recv(source=0, tag=MPI.ANY_TAG, status=status)
        if status.Get_tag() == STOP:
            return done
        inside = 0
        for x, y in points(task["seed"], count):
            square = x * x + y * y
            bins[int(square * BINS / 2)] += 1
            inside += square < 1
        comm.send({"task": task["number"], "inside": inside}, dest=0, tag=DONE)
        done += 1


comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
if size < 2:
    raise SystemExit("one rank hands out, so there must be two at least")
settings = comm.bcast({"count": 1000, "tasks": 40} if rank == 0 else None, root=0)

bins = np.zeros(BINS, dtype=np.int64)  # how many points at which distance
inside, done = 0, 0
if rank == 0:
    inside = master(comm, [{"number": i, "seed": 7 * i} for i in range(settings["tasks"])])
else:
    done = work(comm, settings["count"], bins)

total = np.zeros(BINS, dtype=np.int64)
comm.Reduce(bins, total, op=MPI.SUM, root=0)
shares = comm.gather(done, root=0)
if rank == 0:
    all_points = settings["count"] * settings["tasks"]
    print(f"{inside} of {all_points} points inside: pi is about {4 * inside / all_points:.4f}")
    print("by distance:", total.tolist())
    assert total.sum() == all_points and sum(shares) == settings["tasks"]
