"""`mpi4py.MPI` is motet's."""

import sys

from motet.mpi4py import MPI

sys.modules[__name__] = MPI
