import json
import pickle
import subprocess
import sys

import numpy
import pytest

import motet
from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing


@pytest.mark.parametrize("method", [DeterministicAnnealing(3), KMeans(3, random_state=1)])
def test_groups_are_found(groups, method):
    found = method.fit(groups)
    assert sorted(found.sizes_) == [50, 100, 150]
    assert found.labels_.dtype == numpy.int32 and found.labels_.shape == (300,)
    assert (numpy.diff(found.cluster_centers_[:, 0]) > 0).all()
    assert (found.predict(groups) == found.labels_).all()
    square = found.transform(groups).min(axis=1) ** 2
    assert square.sum() == pytest.approx(found.inertia_)
    assert found.score(groups) == pytest.approx(-found.inertia_)
    assert found.masses_.sum() == pytest.approx(1)


def test_a_temperature_finds_the_number_of_clusters(groups):
    found = DeterministicAnnealing(None, t_min=4.0).fit(groups)
    assert len(found.cluster_centers_) == 3
    assert found.trace_["clusters"][0] == 1
    assert (numpy.diff(found.trace_["temperature"]) < 0).all()
    assert found.trace_.flags.writeable and found.trace_["iterations"].min() >= 1
    assert found.choice_ is None


def test_sem_g474_the_rows_are_asked_how_many_clusters_there_are(groups, tmp_path):
    found = DeterministicAnnealing(None, max_clusters=6).fit(groups[::2])
    assert sorted(found.sizes_) == [25, 50, 75]
    choice = found.choice_
    assert choice.clusters == 3 and choice.lasts > 3 and len(choice.appear) >= 3
    assert choice.lasts == choice.appear[1] / choice.appear[2]
    asked = DeterministicAnnealing(3).fit(groups[::2])
    assert asked.choice_ is None
    assert asked.cluster_centers_.tobytes() == found.cluster_centers_.tobytes()
    for same in (
        DeterministicAnnealing(None, max_clusters=6, n_jobs=3).fit(groups[::2]),
        pickle.loads(pickle.dumps(found)),
    ):
        assert same.choice_ == choice
        assert same.cluster_centers_.tobytes() == found.cluster_centers_.tobytes()
    # The program says the same.
    table = tmp_path / "rows.csv"
    numpy.savetxt(table, groups[::2], delimiter=",", fmt="%.17g", header="x,y", comments="")
    line = [sys.executable, "-m", "motet", "cluster", str(table), "--at-most", "6"]
    run = subprocess.run(
        [*line, "--out", "out", "--quiet", "--json"], check=True, cwd=tmp_path, capture_output=True
    )
    assert json.loads(run.stdout)["choice"] == choice._asdict() | {"appear": list(choice.appear)}
    centres = numpy.genfromtxt(tmp_path / "out/centres.csv", delimiter=",", names=True)
    theirs = sorted(zip(centres["x"], centres["y"], strict=True))
    assert theirs == [tuple(row) for row in found.cluster_centers_]


def test_sem_g474_one_heap_is_one_cluster_and_a_choice_among_none_is_refused(groups):
    for method in (DeterministicAnnealing, PairwiseAnnealing):
        one = method(None, max_clusters=4).fit(groups[:30])
        assert one.sizes_.tolist() == [30]
        assert one.choice_.clusters == one.choice_.lasts == 1
        with pytest.raises(ValueError, match="clusters"):
            method(None, max_clusters=0).fit(groups)


def test_sem_g474_the_pairs_are_asked_how_many_clusters_there_are():
    corner = numpy.arange(60)
    rows = numpy.column_stack([corner % 2 * 10.0, corner // 2 % 2 * 11.0])
    rows += numpy.column_stack([corner * 37 % 101, corner * 71 % 101]) / 50.0
    pairs = ((rows[:, None] - rows) ** 2).sum(axis=2)
    found = PairwiseAnnealing(None, metric="precomputed", max_clusters=5).fit(pairs)
    assert found.choice_.clusters == 4 and found.sizes_.tolist() == [15] * 4
    again = PairwiseAnnealing(None, metric="precomputed", max_clusters=5, n_jobs=2).fit(pairs)
    assert again.choice_ == found.choice_ and (again.labels_ == found.labels_).all()
    asked = PairwiseAnnealing(4, metric="precomputed").fit(pairs)
    assert asked.choice_ is None and asked.cost_ == found.cost_
    weighted = PairwiseAnnealing(None, metric="precomputed", max_clusters=5)
    weighted.fit(pairs, sample_weight=numpy.where(corner % 2 == 0, 0.0, 1.0))
    assert weighted.choice_.clusters == 2


def test_sem_g443_any_number_of_jobs_gives_the_same_bits(groups):
    for method in [DeterministicAnnealing, KMeans]:
        one = method(5, n_jobs=1).fit(groups)
        for jobs in [2, 3, -1]:
            other = method(5, n_jobs=jobs).fit(groups)
            assert (one.labels_ == other.labels_).all()
            assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()
            assert one.inertia_ == other.inertia_


def test_arrays_of_any_layout_and_kind(groups):
    found = DeterministicAnnealing(3).fit(groups)
    for same in [numpy.asfortranarray(groups), numpy.repeat(groups, 2, axis=0)[::2]]:
        again = DeterministicAnnealing(3).fit(same)
        assert again.cluster_centers_.tobytes() == found.cluster_centers_.tobytes()
    coarse = DeterministicAnnealing(3).fit(groups.astype(numpy.float32))
    assert numpy.allclose(coarse.cluster_centers_, found.cluster_centers_, atol=1e-5)
    assert (DeterministicAnnealing(3).fit(groups.tolist()).labels_ == found.labels_).all()


def test_weights_count(groups):
    weights = numpy.ones(len(groups))
    weights[:50] = 0
    found = DeterministicAnnealing(2).fit(groups, sample_weight=weights)
    assert found.masses_ == pytest.approx([0.6, 0.4])


def test_sem_g444_a_callback_hears_and_stops(groups):
    heard = []
    DeterministicAnnealing(3, callback=heard.append).fit(groups)
    done = [now["done"] for now in heard]
    assert done == sorted(done) and heard[-1]["clusters"] == 3
    with pytest.raises(motet.Cancelled):
        DeterministicAnnealing(3, callback=lambda _: False).fit(groups)

    def fails(_):
        raise RuntimeError("as it was told")

    with pytest.raises(RuntimeError, match="as it was told"):
        DeterministicAnnealing(3, callback=fails).fit(groups)


def test_a_pickle_of_another_version_is_refused(groups):
    own = motet.__version__.encode()
    for method in (KMeans(3), PairwiseAnnealing(3)):
        kept = pickle.dumps(method.fit(groups[::3]))
        other = own[:-1] + (b"x" if own[-1:] != b"x" else b"y")
        with pytest.raises(ValueError, match="was pickled by motet .*fit again"):
            pickle.loads(kept.replace(own, other))


def test_pickles_keep_everything(groups):
    found = DeterministicAnnealing(3).fit(groups)
    again = pickle.loads(pickle.dumps(found))
    assert (again.predict(groups) == found.labels_).all()
    assert again.cluster_centers_.tobytes() == found.cluster_centers_.tobytes()


def test_results_are_shown_as_html(groups):
    method = DeterministicAnnealing(3)
    assert "table" not in method._repr_html_()
    assert method.fit(groups)._repr_html_().count("<tr>") == 4


def test_verbose_shows_a_bar(groups, capfd):
    pytest.importorskip("tqdm")
    DeterministicAnnealing(3, verbose=1).fit(groups)
    assert "100%" in capfd.readouterr().err


def test_k_means_tells_the_iterations_of_the_run_that_counts(groups):
    found = KMeans(3, init="random", n_init=20, max_iter=3, tol=0).fit(groups)
    assert 1 <= found.n_iter_ <= 3


def test_k_means_begins_with_the_centres_that_are_given(groups):
    cluster = pytest.importorskip("sklearn.cluster")
    first = groups[[3, 140, 260]] + 1.5
    found = KMeans(3, init=first, tol=0).fit(groups)
    theirs = cluster.KMeans(3, init=first, n_init=1, tol=0).fit(groups)
    assert found.inertia_ == pytest.approx(theirs.inertia_)
    assert found.n_iter_ == theirs.n_iter_
    again = KMeans(3, init=found.cluster_centers_.tolist(), n_init=4).fit(groups)
    assert (again.cluster_centers_ == found.cluster_centers_).all()
    for wrong in (first[:2], first[:, :1], [1, 2], [["a", "b"]] * 3, first * numpy.nan, len):
        with pytest.raises((TypeError, ValueError), match="^init is .*must be"):
            KMeans(3, init=wrong).fit(groups)
    with pytest.raises(ValueError, match="init.*so far"):
        KMeans(3, init=first * 1e300).fit(groups)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (DeterministicAnnealing(0), "positive"),
        (DeterministicAnnealing(301), "n_samples=300"),
        (DeterministicAnnealing(2, cooling=1.5), "cooling"),
        (DeterministicAnnealing(2, n_jobs=0), "n_jobs"),
        (KMeans(2, init="best"), "k-means"),
        (KMeans(2, tol=-1.0), "tol is -1.0"),
    ],
)
def test_wrong_parameters_are_named(groups, method, words):
    with pytest.raises(ValueError, match=words):
        method.fit(groups)


def test_wrong_rows_are_named(groups):
    groups[7, 1] = numpy.nan
    with pytest.raises(ValueError, match="NaN"):
        KMeans(2).fit(groups)
    found = KMeans(2).fit(groups[:7])
    with pytest.raises(ValueError, match="features|columns"):
        found.predict([[1.0, 2.0, 3.0]])
    with pytest.raises(Exception, match="fit"):
        KMeans(2).predict([[1.0, 2.0]])
    with pytest.warns(UserWarning, match="2 different rows"):
        assert len(KMeans(4).fit([[0.0], [1.0], [0.0], [1.0]]).cluster_centers_) == 2


@pytest.mark.parametrize("kind", ["f8", ">f8"])
def test_rows_are_finite_whatever_their_sum_is(kind):
    rows = numpy.array([[1e308], [1.7e308], [-1.7e308], [1.7e308], [1e308]], dtype=kind)
    assert KMeans(2).fit(rows).labels_.tolist() == [1, 1, 0, 1, 1]
    for wrong in ([numpy.inf], [numpy.inf, -numpy.inf], [numpy.nan]):
        rows[: len(wrong), 0] = wrong
        with numpy.errstate(all="ignore"), pytest.raises(ValueError, match="NaN|infinity"):
            KMeans(2).fit(rows)


def test_sem_g458_dissimilarities_suffice(groups):
    groups = groups[::5]
    pairs = ((groups[:, None] - groups) ** 2).sum(axis=2)
    found = PairwiseAnnealing(3, metric="precomputed").fit(pairs)
    assert sorted(found.sizes_) == [10, 20, 30]
    assert (found.labels_[found.medoid_indices_] == [0, 1, 2]).all()
    assert found.cost_ == pytest.approx((found.masses_ * found.mean_costs_).sum())
    assert found.trace_["clusters"][-1] == 3 and found.n_iter_ > 0
    for same in (
        PairwiseAnnealing(3).fit(groups),
        PairwiseAnnealing(3, metric="precomputed", n_jobs=2).fit(numpy.asfortranarray(pairs)),
        pickle.loads(pickle.dumps(found)),
    ):
        assert (same.labels_ == found.labels_).all()
        assert same.cost_ == pytest.approx(found.cost_, rel=1e-12)
    assert found._repr_html_().count("<tr>") == 4
    by_temperature = PairwiseAnnealing(None, metric="precomputed", t_min=5.0).fit(pairs)
    assert 2 <= len(by_temperature.sizes_) < 10
    for wrong, words in [
        (PairwiseAnnealing(3, metric="precomputed"), "square"),
        (PairwiseAnnealing(3, metric="cosine"), "metric is 'cosine'"),
        (PairwiseAnnealing(None, t_min=-1.0), "t_min"),
        (PairwiseAnnealing(61), "n_clusters=61"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong.fit(groups)


def test_fewer_clusters_of_pairs_than_were_asked_for_are_told():
    rows = numpy.repeat([[0.0, 0.0], [1.0, 1.0]], [5, 4], axis=0)
    with pytest.warns(UserWarning, match="there are 2 clusters, fewer than n_clusters=3"):
        assert PairwiseAnnealing(3).fit(rows).sizes_.tolist() == [5, 4]
    with pytest.warns(UserWarning, match="there are 1 clusters, fewer than n_clusters=2"):
        PairwiseAnnealing(2, metric="precomputed").fit(numpy.zeros((3, 3)))
    with pytest.raises(ValueError, match="X has squared distances beyond all numbers"):
        PairwiseAnnealing(2).fit(rows * 1e200)


def test_sem_g444_false_alone_stops_a_fit(groups):
    for goes_on in (None, 0, "", [], numpy.zeros(2), numpy.True_):
        KMeans(3, callback=lambda _, answer=goes_on: answer).fit(groups)
    for stops in (False, numpy.False_):
        with pytest.raises(motet.Cancelled):
            KMeans(3, callback=lambda _, answer=stops: answer).fit(groups)
