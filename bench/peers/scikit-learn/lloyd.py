"""Times scikit-learn's own Lloyd step, on points that another program sends.

Protocol, on standard input and output; numbers are raw little-endian doubles:
  here:  "ready VERSION" or "absent REASON"
  there: "POINTS COLUMNS", then the points, row after row
  there: "CLUSTERS THREADS STEPS", then the first centres    (as often as it likes)
  here:  the seconds that the steps took

A step is one call of the function that KMeans.fit calls in every iteration, with the limit on
BLAS threads that KMeans.fit sets. What the fit does besides (checks, copies, comparing labels) is
left out, so the figure is the best that the peer can show.
"""

import sys
import time

try:
    import numpy
    import sklearn
    from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense
    from threadpoolctl import threadpool_limits
except ImportError as error:
    print("absent", error, flush=True)
    sys.exit()


def rows(count, columns):
    data = sys.stdin.buffer.read(8 * count * columns)
    return numpy.frombuffer(data, dtype="<f8").reshape(count, columns).copy()


def seconds(points, centres, threads, steps):
    count, clusters = len(points), len(centres)
    old, new = centres, numpy.zeros_like(centres)
    weights, labels = numpy.ones(count), numpy.full(count, -1, dtype=numpy.int32)
    in_clusters, shifts = numpy.zeros(clusters), numpy.zeros(clusters)

    def step(old, new):
        lloyd_iter_chunked_dense(
            points, weights, old, new, in_clusters, labels, shifts, threads
        )

    with threadpool_limits(limits=1, user_api="blas"):
        step(old, new)
        started = time.perf_counter()
        for _ in range(steps):
            step(old, new)
            old, new = new, old
        return time.perf_counter() - started


def main():
    print("ready", sklearn.__version__, flush=True)
    points = rows(*map(int, sys.stdin.buffer.readline().split()))
    for line in iter(sys.stdin.buffer.readline, b""):
        clusters, threads, steps = map(int, line.split())
        print(seconds(points, rows(clusters, points.shape[1]), threads, steps), flush=True)


main()
