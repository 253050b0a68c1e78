"""Frames of pandas, polars and pyarrow, and what else gives columns, into every estimator."""

import importlib
import subprocess
import sys

import numpy
import pytest

from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing
from motet.hmm import CategoricalHMM, GaussianHMM
from motet.manifold import AnnealedMDS
from motet.mixture import GaussianMixture

ESTIMATORS = [
    DeterministicAnnealing(3),
    KMeans(3),
    PairwiseAnnealing(3),
    GaussianMixture(3),
    GaussianHMM(2),
    AnnealedMDS(),
]


class Stream:
    """Columns by Arrow's C stream, and by nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, CategoricalHMM(2)], ids=repr)
def test_masked_values_are_refused(groups, estimator):
    rows = groups[::10, 0] > 3 if isinstance(estimator, CategoricalHMM) else groups[::10]
    rows = numpy.ma.masked_array(rows.astype(float), mask=False)
    plain = state(type(estimator)(**estimator.get_params()).fit(rows.data))
    assert state(type(estimator)(**estimator.get_params()).fit(rows)) == plain
    rows[3] = numpy.ma.masked
    with pytest.raises(ValueError, match="X has [12] masked values"):
        estimator.fit(rows)


def test_masked_weights_and_centres_are_refused(groups):
    weights = numpy.ma.masked_array(numpy.ones(len(groups)), mask=groups[:, 0] > 3)
    with pytest.raises(ValueError, match="sample_weight has .* masked values"):
        KMeans(3).fit(groups, sample_weight=weights)
    init = numpy.ma.masked_array(groups[:3], mask=[[True, False]] * 3)
    with pytest.raises(ValueError, match="init has 3 masked values"):
        KMeans(3, init=init).fit(groups)


def frame(kind, columns):
    """`columns`, by name, as a frame of this kind."""
    if kind == "pandas":
        return importlib.import_module("pandas").DataFrame(columns)
    if kind == "polars":
        return importlib.import_module("polars").DataFrame(columns)
    table = importlib.import_module("pyarrow").table(columns)
    return Stream(table) if kind == "stream" else table


@pytest.fixture(params=["pandas", "polars", "pyarrow", "stream"])
def kind(request):
    pytest.importorskip("pyarrow" if request.param == "stream" else request.param)
    return request.param


def state(estimator):
    """The numbers that a fit has found."""
    found = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    return {
        name: value.tobytes() if isinstance(value, numpy.ndarray) else value
        for name, value in found.items()
        if not name.startswith("_") and name != "feature_names_in_"
    }


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_sem_g467_frames_give_what_arrays_give(groups, kind, estimator):
    few = groups[::6]
    named = frame(kind, {"east": few[:, 0], "north": few[:, 1]})
    found = type(estimator)(**estimator.get_params()).fit(named)
    assert list(found.feature_names_in_) == ["east", "north"] and found.n_features_in_ == 2
    again = type(estimator)(**estimator.get_params()).fit(few)
    assert not hasattr(again, "feature_names_in_")
    assert state(found) == state(again)
    if hasattr(found, "predict"):
        assert (found.predict(named) == again.predict(few)).all()
        other = frame(kind, {"north": few[:, 1], "east": few[:, 0]})
        with pytest.raises(ValueError, match="(?s)feature names|columns"):
            found.predict(other)


def test_sem_g467_symbols_come_from_a_column(kind):
    symbols = numpy.repeat([0, 1, 2, 0, 1], 20)
    found = CategoricalHMM(2).fit(frame(kind, {"symbol": symbols}))
    again = CategoricalHMM(2).fit(symbols)
    assert state(found) == state(again)
    assert list(found.feature_names_in_) == ["symbol"]
    with pytest.raises(ValueError, match="one column"):
        CategoricalHMM(2).fit(frame(kind, {"a": symbols, "b": symbols}))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_sem_g467_symbols_come_from_a_series(library):
    symbols = numpy.repeat([0, 1, 2, 0, 1], 20)
    series = pytest.importorskip(library).Series(symbols.tolist())
    found, again = CategoricalHMM(2).fit(series), CategoricalHMM(2).fit(symbols)
    assert state(found) == state(again)
    assert (found.predict(series) == again.predict(symbols)).all()


def test_sem_g467_a_missing_or_a_foreign_value_is_named(kind):
    with pytest.raises(ValueError, match="NaN"):
        KMeans(1).fit(frame(kind, {"x": [1.0, None, 3.0], "y": [1.0, 2.0, 3.0]}))
    with pytest.raises(ValueError, match="could not convert string to float"):
        KMeans(1).fit(frame(kind, {"x": [1.0, 2.0], "y": ["a", "b"]}))


def test_sem_g468_outputs_are_frames_where_they_are_asked_for(groups):
    pytest.importorskip("sklearn")
    for library in ("pandas", "polars"):
        module = pytest.importorskip(library)
        for estimator, name in [
            (KMeans(3), "kmeans"),
            (DeterministicAnnealing(3), "deterministicannealing"),
            (AnnealedMDS(3), "annealedmds"),
        ]:
            shown = estimator.set_output(transform=library).fit_transform(groups[::6])
            assert isinstance(shown, module.DataFrame) and len(shown) == 50
            assert list(shown.columns) == [f"{name}{place}" for place in range(3)]


@pytest.mark.parametrize("method", [DeterministicAnnealing(3), KMeans(3), AnnealedMDS()])
def test_sem_g468_float32_stays_float32(groups, method):
    narrow = groups[::6].astype(numpy.float32)
    assert method.fit_transform(narrow).dtype == numpy.float32
    assert method.fit_transform(groups[::6]).dtype == numpy.float64


WITHOUT = """
import sys
for name in ("sklearn", "pyarrow", "tqdm", "joblib", "matplotlib", "pandas"):
    sys.modules[name] = None
import numpy
from motet._base import SKLEARN, NotFittedError
from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing
from motet.hmm import CategoricalHMM, GaussianHMM
from motet.manifold import AnnealedMDS
from motet.mixture import GaussianMixture

assert not SKLEARN
rows = numpy.repeat([[0.0, 0.0], [9.0, 1.0]], 20, axis=0)
rows += numpy.linspace(0.0, 0.1, 40)[:, None]
for estimator in [DeterministicAnnealing(2), KMeans(2), PairwiseAnnealing(2), GaussianMixture(2),
                  GaussianHMM(2), AnnealedMDS(verbose=1)]:
    again = type(estimator)(**estimator.get_params())
    again.set_params(n_jobs=2)
    assert "n_jobs=2" in repr(again)
    again.fit(rows)
    assert again.n_features_in_ == 2 and "<table>" in again._repr_html_()
CategoricalHMM(2).fit(numpy.repeat([0, 1], 20))
assert KMeans(2).fit_predict(rows).tolist() == [0] * 20 + [1] * 20
assert KMeans(2).fit_transform(rows).shape == (40, 2)

class Frame:
    def __init__(self, columns, numbers):
        self.columns, self.numbers = columns, numbers
    def __array__(self, dtype=None, copy=None):
        return self.numbers

named = KMeans(2).fit(Frame(["x", "y"], rows))
twice = named.score(rows, sample_weight=2), named.score(rows, sample_weight=[2] * 40)
assert twice[0] == twice[1] < named.score(rows) < 0
assert named.feature_names_in_.tolist() == ["x", "y"]

class Stream:
    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError

holed = rows.copy()
holed[3, 1] = numpy.nan
for call, kind, words in [
    (lambda: KMeans(2).fit(holed), ValueError, "row 3, column 1 of X is nan"),
    (lambda: KMeans(2).fit(rows[:0]), ValueError, "at least one row"),
    (lambda: KMeans(2).fit(rows[0]), ValueError, "1 dimensions"),
    (lambda: KMeans(2).fit(rows * 1j), ValueError, "Complex"),
    (lambda: KMeans(2).fit(Stream()), TypeError, "install pyarrow"),
    (lambda: named.predict(rows[:, :1]), ValueError, "1 columns"),
    (lambda: named.predict(Frame(["y", "x"], rows)), ValueError, "at the fit"),
    (lambda: KMeans(2).predict(rows), NotFittedError, "call fit"),
    (lambda: named.score(rows, sample_weight=[2.0]), ValueError, "shape (1,)"),
    (lambda: named.score(rows, sample_weight=numpy.ones((40, 1))), ValueError, "shape (40, 1)"),
    (lambda: named.score(rows, sample_weight=-rows[:, 0] - 1), ValueError, "row 0 of sample_wei"),
    (lambda: KMeans(2).fit(rows, sample_weight=holed[:, 1]), ValueError, "row 3 of sample_weight"),
    (lambda: KMeans(2).set_params(k=3), ValueError, "no parameter 'k'"),
]:
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
"""


def test_sem_g469_numpy_is_all_that_is_needed():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, timeout=120)


OLD = """
import sklearn.utils.validation
sklearn.__version__ = "1.5.2"
del sklearn.utils.validation.validate_data
try:
    import motet.cluster
except ImportError as error:
    print(error)
"""


def test_a_scikit_learn_that_is_too_old_is_told():
    pytest.importorskip("sklearn")
    line = [sys.executable, "-c", OLD]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    assert "1.6 or newer" in done.stdout and "there is 1.5.2: pip install" in done.stdout
