import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing
from motet.hmm import GaussianHMM
from motet.manifold import AnnealedMDS
from motet.mixture import GaussianMixture

pytest.importorskip("matplotlib").use("agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from motet import plot  # noqa: E402


@pytest.fixture
def ax():
    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


@pytest.mark.parametrize(
    "method", [DeterministicAnnealing(3), KMeans(3), GaussianMixture(3), PairwiseAnnealing(3)]
)
def test_sem_g470_clusters_are_drawn(groups, method, ax):
    few = groups[::3]
    method.fit(few)
    assert plot.clusters(method, few, ax=ax) is ax
    rows, middles = ax.collections
    assert len(rows.get_offsets()) == 100 and len(middles.get_offsets()) == 3
    # More columns than two are drawn by those of largest variance.
    wide = numpy.column_stack([few, few[:, :1] * 0.1])
    assert isinstance(plot.clusters(type(method)(3).fit(wide), wide, ax=ax), Axes)
    line = few[:, :1]
    assert isinstance(plot.clusters(type(method)(3).fit(line), line, ax=ax), Axes)
    with pytest.raises(ValueError, match="100 rows"):
        plot.clusters(method, groups)
    with pytest.raises(ValueError, match="fit it first"):
        plot.clusters(type(method)(3), few)


def test_sem_g470_clusters_of_pairs_are_drawn_at_their_places(groups, ax):
    few = groups[::6]
    distances = numpy.sqrt(((few[:, None] - few) ** 2).sum(axis=2))
    found = PairwiseAnnealing(3, metric="precomputed").fit(distances)
    places = AnnealedMDS(metric="precomputed").fit_transform(distances)
    assert len(plot.clusters(found, places, ax=ax).collections[1].get_offsets()) == 3


@pytest.mark.parametrize(
    ("method", "label"),
    [
        (DeterministicAnnealing(3), "clusters"),
        (PairwiseAnnealing(3), "clusters"),
        (AnnealedMDS(), "stress"),
        (GaussianMixture(3), "ln p"),
        (GaussianHMM(3), "ln p"),
    ],
)
def test_sem_g470_traces_are_drawn(groups, method, label, ax):
    method.fit(groups[::6])
    assert plot.trace(method, ax=ax).get_ylabel() == label
    assert len(ax.lines) == 1
    with pytest.raises(ValueError, match="no trace_"):
        plot.trace(KMeans(3).fit(groups), ax=ax)


def test_sem_g470_profiles_are_drawn(groups, ax):
    method = DeterministicAnnealing(3, n_jobs=2, profile=True).fit(numpy.tile(groups, (20, 1)))
    assert plot.profile(method, ax=ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "computing",
        "messaging",
        "waiting",
    ]
    assert len(ax.patches) == 6
    assert plot.profile(method.profile_, ax=ax) is ax
    with pytest.raises(ValueError, match="profile=True"):
        plot.profile(KMeans(3).fit(groups), ax=ax)


def test_sem_g470_axes_are_made_where_none_are_given(groups):
    figure = plot.clusters(KMeans(3).fit(groups), groups).figure
    pyplot.close(figure)
    # Nobody pays for matplotlib who draws nothing.
    said = "import sys, motet.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", said], check=True)


def test_what_has_no_clusters_is_told_so_and_not_that_it_is_not_fitted(groups, ax):
    found = GaussianHMM(2).fit(groups)
    with pytest.raises(ValueError, match=r"makes none; .*GaussianHMM.predict\(X\)"):
        plot.clusters(found, groups, ax=ax)
    with pytest.raises(ValueError, match="fit it first"):
        plot.clusters(KMeans(2), groups, ax=ax)
    # A prediction is no step of a fit.
    with pytest.raises(ValueError, match="makes none$"):
        plot.trace(KMeans(2).fit(groups), ax=ax)


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_python_of_a_readme_runs_as_it_stands(page, tmp_path, monkeypatch):
    root = Path(__file__).parents[2]
    text = (root / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    # A folder with the data of the clone, and not with the sources of the package.
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, page, "exec"), {})
    pyplot.close("all")
    assert page != "README.md" or (tmp_path / "places.png").stat().st_size > 10_000
