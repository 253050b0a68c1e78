"""Times OpenBLAS's product of two matrices of doubles, through numpy.

Protocol, on standard input and output, a line each:
  here:  "ready VERSION" or "absent REASON"
  there: "SIZE BUDGET"        (as often as it likes; the budget in us)
  here:  "US CHECKSUM"        the time of a product, and what it has computed

The number of threads is that of the variable OPENBLAS_NUM_THREADS, which is read once: a process for each number.
"""

import sys
import time

try:
    import numpy
except ImportError as error:
    print("absent", error, flush=True)
    sys.exit()


def library():
    """The name and version of the BLAS that numpy was built with."""
    blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return blas["name"], blas["version"]


def factors(size):
    row, column = numpy.indices((size, size))
    left = (row * 7 + column * 3) % 11 - 5.0
    right = (row * 5 + column * 13) % 7 - 3.0
    return left, right


def product(size, budget):
    left, right = factors(size)
    out = numpy.empty((size, size))
    rounds = 1
    while True:
        started = time.perf_counter()
        for _ in range(rounds):
            numpy.dot(left, right, out=out)
        us = (time.perf_counter() - started) * 1e6
        if rounds > 1 and us >= budget / 2:
            break
        rounds *= 2
    row, column = numpy.indices((size, size))
    checksum = numpy.sum(out * (row % 3 + 1) * (column % 5 + 1))
    # Its threads look for work for some 30 ms after the last product: who measures next must not meet them.
    time.sleep(0.05)
    return us / rounds, checksum


def main():
    name, version = library()
    if "openblas" not in name.lower():
        print("absent numpy's BLAS is", name, flush=True)
        return
    print("ready", version, flush=True)
    for line in sys.stdin:
        size, budget = map(int, line.split())
        us, checksum = product(size, budget)
        print(repr(us), repr(float(checksum)), flush=True)


main()
