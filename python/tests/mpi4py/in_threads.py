"""Runs mpi4py's tests on the ranks of one process: each rank has the test modules for itself.

python in_threads.py RANKS FOLDER UNSUPPORTED MODULE …
"""

import fnmatch
import importlib
import io
import sys
import unittest

from motet.comm import World


def patterns(path):
    """The names of tests that are left out: a line may hold a part of a name."""
    with open(path, encoding="utf-8") as lines:
        return [f"*{line.strip()}*" for line in lines if line.strip()]


def tests_of(modules, left_out):
    """The tests of fresh copies of the modules."""
    for name in list(sys.modules):
        of_tests = name.startswith(("test_", "mpi4py.util")) or name in ("arrayimpl", "mpiunittest")
        if of_tests or name in ("mpitestutil", "dlpackimpl"):
            del sys.modules[name]

    def every(suite):
        for one in suite:
            if isinstance(one, unittest.TestSuite):
                yield from every(one)
            else:
                yield one

    suite = unittest.TestSuite()
    for name in modules:
        loaded = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))
        for test in every(loaded):
            if not any(fnmatch.fnmatchcase(test.id(), pattern) for pattern in left_out):
                suite.addTest(test)
    return suite


def main(comm, suites):
    """What one rank says of its tests."""
    said = io.StringIO()
    result = unittest.TextTestRunner(said, verbosity=1).run(suites[comm.rank])
    bad = result.failures + result.errors
    return result.testsRun, len(result.skipped), [str(test) for test, _ in bad], said.getvalue()


if __name__ == "__main__":
    ranks, folder, unsupported, *modules = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.modules["cupy"] = sys.modules["numba"] = None
    suites = [tests_of(modules, patterns(unsupported)) for _ in range(int(ranks))]
    found = World.threads(int(ranks)).run(main, suites)
    for run, skipped, failed, said in found:
        if failed:
            print(said, file=sys.stderr)
        print(f"ran {run} skipped {skipped} failed {len(failed)} {failed}")
    sys.exit(any(failed for _, _, failed, _ in found))
