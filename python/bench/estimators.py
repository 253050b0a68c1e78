"""Times the estimators beside scikit-learn, hmmlearn and the program `motet`.

    python python/bench/estimators.py

scikit-learn and hmmlearn must be installed. For each case: the least and the median of both sides
in milliseconds, taken in turn, and the ratio of the least, motet's over the peer's. The seconds of
the program are those that it says its run took: without reading the table. At the end what an
import takes, and a fit from Ctrl-C to its end.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy
import sklearn.cluster
import sklearn.datasets
import threadpoolctl
from hmmlearn.hmm import GaussianHMM as Hmmlearn

from motet.cluster import DeterministicAnnealing, KMeans
from motet.hmm import GaussianHMM


def seconds(call):
    """Give the time that a call takes, or what it says itself."""
    begun = time.perf_counter()
    said = call()
    return said if isinstance(said, float) else time.perf_counter() - begun


def beside(name, ours, theirs, rounds):
    """Time two calls in turn, and print both."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    own, peer = ([1e3 * t for t in side] for side in zip(*pairs, strict=True))
    print(
        f"{name:<50} {min(own):9.3f} {statistics.median(own):9.3f}"
        f" {min(peer):9.3f} {statistics.median(peer):9.3f} {min(own) / min(peer):7.3f}",
        flush=True,
    )


def program(file, jobs):
    """Cluster a table by the program; its seconds."""
    line = ["motet", "cluster", file, "-k", "30", "-t", str(jobs)]
    said = subprocess.run(line, check=True, capture_output=True, text=True)
    return float(re.search(r"run time +([0-9.]+) s", said.stdout + said.stderr)[1])


def small():
    """Iris: 150 rows of 4 columns."""
    X = sklearn.datasets.load_iris().data
    for jobs in (1, 2):
        with threadpoolctl.threadpool_limits(jobs):
            peer = sklearn.cluster.KMeans(3, n_init=1, random_state=0)
            of = f"150 x 4, K = 3, n_jobs {jobs}, and KMeans"
            for own in (KMeans(3, n_init=1, n_jobs=jobs), DeterministicAnnealing(3, n_jobs=jobs)):
                name = f"{type(own).__name__} {of}"
                beside(name, lambda own=own: own.fit(X), lambda peer=peer: peer.fit(X), 200)


def large():
    """200,000 rows of 2 columns, and the program."""
    random = numpy.random.default_rng(2)
    centers = random.uniform(0, 100, size=(30, 2))
    X = centers[random.integers(30, size=200_000)] + random.normal(size=(200_000, 2))
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "rows.csv")
        numpy.savetxt(file, X, delimiter=",", header="x,y", comments="")
        for jobs in (1, 2):
            own = DeterministicAnnealing(30, n_jobs=jobs)
            name = f"annealing 200,000 x 2, K = 30, n_jobs {jobs}, and motet"
            beside(name, lambda own=own: own.fit(X), lambda j=jobs: program(file, j), 9)


def markov():
    """5,000 places of 3 states, ten steps, and hmmlearn."""
    random = numpy.random.default_rng(3)
    X = random.normal(size=(5000, 2)) + 2 * (numpy.arange(5000) // 50 % 3)[:, None]

    def peer():
        Hmmlearn(3, n_iter=10, tol=-numpy.inf, random_state=0).fit(X)

    for jobs in (1, 2):
        own = GaussianHMM(3, n_iter=10, tol=0, n_jobs=jobs).fit(X)
        assert own.n_iter_ == 10, own.n_iter_
        name = f"GaussianHMM 5,000 x 2, 10 steps, n_jobs {jobs}"
        beside(name, lambda own=own: own.fit(X), peer, 20)


def started(line):
    """Run a line in a Python of its own."""
    subprocess.run([sys.executable, "-c", line], check=True)


def interrupted(X):
    """Stop a fit that takes minutes; the seconds from the signal to its exception."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    try:
        threading.Timer(0.3, send).start()
        KMeans(30, tol=0.0, n_init=10_000, n_jobs=-1).fit(X)
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    raise RuntimeError("the fit has ended before it was interrupted")


def around():
    """Import motet beside numpy alone; stop fits."""
    lines = [partial(started, f"import {names}") for names in ("numpy, motet", "numpy")]
    beside("an interpreter that imports numpy and motet, and numpy", *lines, 20)
    X = numpy.random.default_rng(1).normal(size=(100_000, 8))
    taken = [1e3 * interrupted(X) for _ in range(9)]
    name = "from Ctrl-C to the end of a fit"
    print(f"{name:<50} {min(taken):9.3f} {statistics.median(taken):9.3f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sides = ("least", "median", "least", "median", "ratio")
    print(f"{'':<50} {sides[0]:>9} {sides[1]:>9} {sides[2]:>9} {sides[3]:>9} {sides[4]:>7}")
    small()
    large()
    markov()
    around()
