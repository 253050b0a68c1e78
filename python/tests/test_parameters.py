"""Wrong parameters: what is raised names them as the program does, and says what to do."""

import json
import pickle
import warnings

import numpy
import pytest

from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing
from motet.comm import World
from motet.hmm import CategoricalHMM, GaussianHMM
from motet.manifold import AnnealedMDS
from motet.mixture import GaussianMixture
from motet.ports import Dispatcher, Port, choice, interleave, join, receive, receive_several

EVERY = (DeterministicAnnealing, KMeans, PairwiseAnnealing, GaussianMixture, GaussianHMM)
EVERY += (CategoricalHMM, AnnealedMDS)

WRONG = {
    "n_clusters": [0, -1, 2.0, 2.5, "3", True, 2**70],
    "n_components": [0, -1, 2.0, None, "3", True, 2**70],
    "n_init": [0, -1, 2.7, "x", None],
    "max_iter": [0, -1, 2.5, None],
    "n_iter": [0, -1, 2.5],
    "search": [-1, 2.5, None],
    "max_clusters": [0, -2, 1e3],
    "random_state": [-1, 2**64, 1.5, "a", True],
    "n_jobs": [0, "a", 2.5, 10**12],
    "cooling": [0.05, 0.0, 1, float("nan"), "a", None],
    "t_min": [-1.0, float("nan"), float("inf"), "a"],
    "tol": [-1.0, float("nan"), float("inf"), "a", None],
    "reg_covar": [-1.0, float("nan"), None],
    "min_covar": [-1.0, 0.0, float("nan")],
    "checkpoint_every": [-1, float("nan"), "a"],
    "init": ["best", 3, numpy.zeros((3, 2))],
    "covariance_type": ["x", 3],
    "callback": [3],
    "metric": ["x", None],
    "method": ["x", None],
}

CASES = [
    (kind, name, value)
    for kind in EVERY
    for name in kind().get_params()
    for value in WRONG.get(name, ())
]


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_a_wrong_parameter_is_named(groups, kind, name, value):
    rows = groups[::10]
    if kind is CategoricalHMM:
        rows = numpy.arange(30) % 3
    count = "n_clusters" if "n_clusters" in kind().get_params() else "n_components"
    with pytest.raises((TypeError, ValueError)) as raised:
        kind(**{count: 2, name: value}).fit(rows)
    said = str(raised.value)
    assert said.startswith(f"{name} is ") or f"{name}={value}" in said, said
    # Never a range without words, nor what a field is called in another language.
    assert "must be" in said or "should be" in said, said
    assert "`" not in said and "convert" not in said, said


def test_what_parameters_may_be_is_taken(groups):
    rows = groups[::10]
    for state in (numpy.random, numpy.random.RandomState(1), numpy.random.default_rng(1), 2**63):
        KMeans(numpy.int64(2), random_state=state).fit(rows)
    DeterministicAnnealing(None, t_min=numpy.float32(50.0), search=0).fit(rows)
    PairwiseAnnealing(2, t_min=0).fit(rows)
    numpy.random.seed(3)
    one = KMeans(5, init="random", random_state=numpy.random).fit(groups)
    other = KMeans(5, init="random", random_state=numpy.random.RandomState(3)).fit(groups)
    assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()


def test_what_was_unpickled_or_read_from_json_can_be_fitted(groups):
    fitted = KMeans(2).fit(groups)
    for again in (
        pickle.loads(pickle.dumps(KMeans(2))),
        KMeans(2, n_init=json.loads('"auto"')),
        KMeans(2, n_init=numpy.str_("auto")),
    ):
        assert again.fit(groups).labels_.tolist() == fitted.labels_.tolist()


def test_ranks_and_threads_are_counted_from_0():
    for make, name in [
        (lambda: World.threads(-1), "ranks"),
        (lambda: World.threads(2.5), "ranks"),
        (lambda: World.threads(2).limit(0), "messages"),
        (lambda: Dispatcher(-1), "threads"),
        (lambda: Dispatcher("a"), "threads"),
        (lambda: Port().times(-1), "count"),
        (lambda: Port().times(0), "count"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"^{name} is "):
            make()


def test_what_is_no_port_queue_or_arbiter_is_told_with_what_to_write():
    port, dispatcher = Port(), Dispatcher()
    once = receive(port, print, once=True)
    for make, words in [
        (lambda: receive("port", print), "a Port is expected, not str"),
        (lambda: receive_several(port.times(2), 2, print), "not Part: only a join"),
        (lambda: join(port, print), r"join\(\[port, other\]"),
        (lambda: join([port, "other"], print), "a Port is expected, not str"),
        (lambda: choice([once]), r"an Arbiter is expected, not list: write choice\(\*branches\)"),
        (lambda: interleave(exclusive=once), r"exclusive=\[arbiter\]"),
        (lambda: once.activate(dispatcher), r"write dispatcher\.queue\(\)"),
        (lambda: once.activate("queue"), "a DispatcherQueue is expected, not str"),
    ]:
        with pytest.raises(TypeError, match=words):
            make()
    # Nothing has been taken by that.
    assert choice(once).activate(dispatcher.queue()).is_active
    dispatcher.close()


def test_few_different_rows_are_told_in_the_words_of_the_model():
    same = numpy.ones((10, 2))
    with pytest.raises(ValueError) as raised:
        GaussianMixture(3).fit(same)
    assert str(raised.value) == (
        "there are 1 different rows, fewer than n_components=3: give n_components=1 or less"
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        GaussianHMM(3).fit(same)
    (said,) = {str(one.message) for one in told}
    assert "n_components=3" in said and "clusters" not in said and "states" in said
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_components=3"):
        GaussianHMM(3).fit(same[:2])
