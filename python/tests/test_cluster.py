import os
import pickle
import signal
import threading

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
    with pytest.raises(ValueError, match="t_min"):
        DeterministicAnnealing(None).fit(groups)


def test_sem_g801_any_number_of_jobs_gives_the_same_bits(groups):
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


def test_sem_g802_a_callback_hears_and_stops(groups):
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


def test_sem_g803_ctrl_c_stops_a_fit():
    rows = numpy.random.default_rng(1).normal(size=(400_000, 8))
    interrupted = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    # By itself the fit takes many times as long.
    with pytest.raises(KeyboardInterrupt):
        interrupted.start()
        DeterministicAnnealing(60, n_jobs=-1).fit(rows)
    interrupted.join()


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


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (DeterministicAnnealing(0), "positive"),
        (DeterministicAnnealing(301), "n_samples=300"),
        (DeterministicAnnealing(2, cooling=1.5), "cooling"),
        (DeterministicAnnealing(2, n_jobs=0), "n_jobs"),
        (KMeans(2, init="best"), "k-means"),
        (KMeans(2, tol=-1.0), "tolerance"),
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


def test_sem_g815_dissimilarities_suffice(groups):
    pairs = ((groups[:, None] - groups) ** 2).sum(axis=2)
    found = PairwiseAnnealing(3, metric="precomputed").fit(pairs)
    assert sorted(found.sizes_) == [50, 100, 150]
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
        (PairwiseAnnealing(None), "t_min"),
        (PairwiseAnnealing(301), "n_clusters=301"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong.fit(groups)
