"""Estimates π on all ranks of all processes."""

import numpy

from motet.comm import World


def main(comm):
    """Add the share of this rank to those of the others."""
    n = 1_000_000
    x = (numpy.arange(comm.rank, n, comm.size) + 0.5) / n
    pi = comm.allreduce(float((4 / (1 + x * x)).sum())) / n
    if comm.rank == 0:
        print(f"{comm.size} ranks say {pi:.6f}")


World.current().run(main)
