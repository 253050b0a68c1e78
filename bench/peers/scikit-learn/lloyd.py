"""Times scikit-learn's own Lloyd step, on points that another program sends.

Protocol, on standard input and output; numbers are raw little-endian doubles:
  here:  "ready VERSION" or "absent REASON"
  there: "POINTS COLUMNS", then the points, row after row
  there: "CLUSTERS THREADS STEPS", then the first centres
  here:  the seconds that the steps took
  both lines as often as it likes; steps are made on the points that came last

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
    points = None
    for line in iter(sys.stdin.buffer.readline, b""):
        numbers = list(map(int, line.split()))
        if len(numbers) == 2:
            points = rows(*numbers)
        else:
            clusters, threads, steps = numbers
            centres = rows(clusters, points.shape[1])
            print(seconds(points, centres, threads, steps), flush=True)


main()
