"""Fits that are killed and go on."""

import pickle
import signal
import subprocess
import sys

import numpy
import pytest

import motet
from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing
from motet.hmm import CategoricalHMM, GaussianHMM
from motet.manifold import AnnealedMDS
from motet.mixture import GaussianMixture

ALL = {
    "annealing": DeterministicAnnealing(4),
    "annealing-chosen": DeterministicAnnealing(None, max_clusters=4),
    "kmeans": KMeans(4, n_init=6),
    "mixture": GaussianMixture(3, tol=1e-9),
    "pairwise": PairwiseAnnealing(4),
    "pairwise-chosen": PairwiseAnnealing(None, max_clusters=6),
    "numbers": GaussianHMM(3, tol=1e-6),
    "symbols": CategoricalHMM(3, tol=1e-6),
    "places": AnnealedMDS(),
}

# Each fit has a process of its own, which ends by SIGKILL at its fourth step, or when it has kept
# something: the first places of a scaling take several steps.
KILLED = """
import os, pathlib, pickle, signal, sys
folder = pathlib.Path(sys.argv[1])
for name, (method, rows) in pickle.loads((folder / "fits").read_bytes()).items():
    process = os.fork()
    if process == 0:
        heard = []

        def fourth(now):
            heard.append(now)
            if len(heard) >= 4 and list((folder / name).glob("*.checkpoint")):
                os.kill(os.getpid(), signal.SIGKILL)

        method.set_params(checkpoint=folder / name, checkpoint_every=0, callback=fourth)
        method.fit(rows)
        os._exit(0)
    print(name, os.WTERMSIG(os.waitpid(process, 0)[1]))
"""

FOUND = ["labels_", "cluster_centers_", "trace_", "means_", "transmat_", "emissionprob_"]
FOUND += ["covars_", "covariances_", "embedding_", "medoid_indices_", "inertia_", "n_iter_"]


def data(method, rows):
    return (rows[:, 0] > 0.3).astype(int) if isinstance(method, CategoricalHMM) else rows


def fresh(method, **params):
    return type(method)(**{**method.get_params(), **params})


def same(one, other):
    there = [name for name in FOUND if hasattr(one, name)]
    assert there
    assert getattr(one, "choice_", None) == getattr(other, "choice_", None)
    for name in there:
        numpy.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.fixture(scope="module")
def rows():
    random = numpy.random.default_rng(7)
    return random.normal(size=(90, 2)) + numpy.repeat([[0, 0], [3, 0], [1, 3]], 30, 0)


@pytest.fixture(scope="module")
def killed(rows, tmp_path_factory):
    """The folder in which all fits have been killed."""
    folder = tmp_path_factory.mktemp("killed")
    fits = {name: (method, data(method, rows)) for name, method in ALL.items()}
    (folder / "fits").write_bytes(pickle.dumps(fits))
    line = [sys.executable, "-c", KILLED, str(folder)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    ends = dict(line.split() for line in done.stdout.splitlines())
    assert ends == dict.fromkeys(ALL, str(int(signal.SIGKILL)))
    return folder


@pytest.mark.parametrize("name", ALL)
def test_sem_g498_a_fit_that_is_killed_goes_on_to_the_same_bits(rows, killed, name):
    method, steps, left = ALL[name], [], []
    X, folder = data(method, rows), killed / name
    assert list(folder.glob("*.checkpoint"))
    # Nothing of it is taken by other rows or other parameters; it stays as it is.
    other = {"cooling": 0.7} if hasattr(method, "cooling") else {"tol": 0.5}
    for rest, params in ((X[:-1], {}), (X, other)):
        with pytest.raises(motet.MotetError, match="other data, other options.*remove it"):
            fresh(method, checkpoint=str(folder), **params).fit(rest)
    whole = fresh(method, callback=steps.append).fit(X)
    on = fresh(method, checkpoint=str(folder), callback=left.append, n_jobs=2).fit(X)
    same(on, whole)
    assert len(left) < len(steps)
    # Nobody needs it any more.
    assert not list(folder.glob("*.checkpoint"))
    same(fresh(method, checkpoint=folder, **other).fit(X), fresh(method, **other).fit(X))


def test_sem_g498_fewer_rows_than_clusters_have_checkpoints_too(tmp_path):
    X = numpy.repeat([[0.0], [1.0], [5.0]], 4, 0)
    for method in (DeterministicAnnealing(8), KMeans(8)):
        with pytest.warns(Warning, match="3 different rows"):
            found = fresh(method, checkpoint=tmp_path, checkpoint_every=0).fit(X)
        assert len(found.sizes_) == 3
        assert not list(tmp_path.glob("*.checkpoint"))


def test_sem_g498_a_fit_that_is_stopped_leaves_its_checkpoint(rows, tmp_path):
    def second(now, heard=[]):  # noqa: B006
        heard.append(now)
        return len(heard) < 2

    method = DeterministicAnnealing(4, checkpoint=tmp_path, checkpoint_every=0)
    with pytest.raises(motet.Cancelled):
        fresh(method, callback=second).fit(rows)
    assert [path.name for path in tmp_path.iterdir()] == ["DeterministicAnnealing.checkpoint"]
    same(method.fit(rows), DeterministicAnnealing(4).fit(rows))


def test_what_is_no_folder_is_refused(rows, tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(ValueError, match=r"checkpoint is '.*file': it is a file"):
        KMeans(3, checkpoint=taken, checkpoint_every=0).fit(rows)
    assert taken.is_file()
    # Said at the begin, also where the fit would end before it keeps anything.
    for wrong in (taken / "below", str(tmp_path / "a\0b"), "/proc/none"):
        with pytest.raises(ValueError, match="nothing can be kept there: .*: name another folder"):
            KMeans(3, checkpoint=wrong).fit(rows)
    (tmp_path / "KMeans.checkpoint").write_text("not one of motet's")
    with pytest.raises(motet.MotetError, match=r"damaged: remove it"):
        KMeans(3, checkpoint=tmp_path).fit(rows)
    with pytest.raises(TypeError, match="checkpoint is 3"):
        KMeans(3, checkpoint=3).fit(rows)
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="checkpoint_every"):
            KMeans(3, checkpoint=tmp_path, checkpoint_every=seconds).fit(rows)
