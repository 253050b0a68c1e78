"""What `import mpi4py` gets in the conformance run: motet's names.

The parts of mpi4py that are Python alone come from its sources, which `MPI4PY_SOURCE` names.
"""

import os

from motet.mpi4py import get_config, rc

__all__ = ["MPI", "get_config", "rc"]  # noqa: F822
__version__ = "4.1.2"
__path__.append(os.path.join(os.environ["MPI4PY_SOURCE"], "src", "mpi4py"))
