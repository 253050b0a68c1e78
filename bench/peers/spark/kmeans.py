"""Times iterations of K-means as an iterative MapReduce on Spark, on points of another program.

Protocol, on standard input and output; numbers are raw little-endian doubles:
  here:  "ready VERSION" or "absent REASON"
  there: "points POINTS COLUMNS", then the points, row after row
  there: "rdd CLUSTERS STEPS" or "mllib CLUSTERS STEPS", then the first centres
  here:  the seconds of a step, and the sum of the last centres' coordinates
  both lines as often as it likes; steps are made on the points that came last

MOTET_SPARK_THREADS is the number of Spark's threads, and of the parts of the points.
"""

import os
import sys
import time

# Nobody but this program reads what Spark says on standard output.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

try:
    import numpy
    import pyspark
except ImportError as error:
    print("absent", error, file=answers, flush=True)
    sys.exit()

THREADS = int(os.environ["MOTET_SPARK_THREADS"])


def doubles(count, columns):
    data = sys.stdin.buffer.read(8 * count * columns)
    return numpy.frombuffer(data, dtype="<f8").reshape(count, columns).copy()


def part(block, centres):
    """What a part of the points tells: for each cluster the sum of its points and their number."""
    distances = (centres * centres).sum(axis=1) - 2.0 * block @ centres.T
    nearest = distances.argmin(axis=1)
    count = numpy.bincount(nearest, minlength=len(centres))
    sums = [numpy.bincount(nearest, column, len(centres)) for column in block.T]
    return numpy.column_stack([*sums, count])


def moved(total, centres):
    count = total[:, -1:]
    return numpy.where(count > 0, total[:, :-1] / numpy.maximum(count, 1), centres)


def by_rdd(blocks, centres, steps):
    """A map over the parts, which Spark keeps in memory, and a reduction in each step."""

    def run(centres, steps):
        for _ in range(steps):
            now = centres
            total = blocks.map(lambda block: part(block, now)).reduce(lambda a, b: a + b)
            centres = moved(total, centres)
        return centres

    run(centres, 1)
    started = time.perf_counter()
    last = run(centres, steps)
    return (time.perf_counter() - started) / steps, last


def by_mllib(vectors, centres, steps):
    """The same by Spark's own library: what each step but the first takes."""
    from pyspark.mllib.clustering import KMeans, KMeansModel

    def run(steps):
        started = time.perf_counter()
        model = KMeans.train(
            vectors,
            len(centres),
            maxIterations=steps,
            epsilon=0.0,
            initialModel=KMeansModel(list(centres)),
        )
        return time.perf_counter() - started, numpy.array(model.clusterCenters)

    one, _ = run(1)
    all_, last = run(steps)
    return (all_ - one) / (steps - 1), last


def main():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A map has one thread: Spark has as many maps at once as threads.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        context = pyspark.SparkContext(
            conf=pyspark.SparkConf()
            .setMaster(f"local[{THREADS}]")
            .setAppName("motet-bench")
            .set("spark.ui.enabled", "false")
            .set("spark.ui.showConsoleProgress", "false")
            .set("spark.driver.memory", "2g")
            .set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.driver.host", "127.0.0.1")
        )
        context.setLogLevel("OFF")
    except Exception as error:
        print("absent Spark does not start:", str(error).split("\n")[0], file=answers, flush=True)
        sys.exit()
    print("ready", pyspark.__version__, file=answers, flush=True)
    blocks = vectors = None
    for line in iter(sys.stdin.buffer.readline, b""):
        kind, first, second = line.split()
        first, second = int(first), int(second)
        if kind == b"points":
            points = doubles(first, second)
            for old in filter(None, (blocks, vectors)):
                old.unpersist()
            split = numpy.array_split(points, THREADS)
            blocks = context.parallelize(split, THREADS).cache()
            blocks.count()
            vectors = blocks.flatMap(list).cache()
            vectors.count()
        else:
            centres = doubles(first, points.shape[1])
            run = by_rdd if kind == b"rdd" else by_mllib
            data = blocks if kind == b"rdd" else vectors
            seconds, last = run(data, centres, second)
            print(seconds, last.sum(), file=answers, flush=True)


main()
