"""Attributes that are set by hand: what predicts uses them."""

import pickle

import numpy
import pytest

from motet.cluster import DeterministicAnnealing, KMeans
from motet.hmm import CategoricalHMM, GaussianHMM
from motet.mixture import GaussianMixture

EVEN = [[0.5, 0.5], [0.5, 0.5]]


def symbols():
    return numpy.random.default_rng(7).integers(0, 3, 300)


def by_hand(model, **parts):
    for name, value in parts.items():
        setattr(model, name, value)
    return model


def coins(**parts):
    known = {
        "startprob_": [0.25, 0.75],
        "transmat_": [[0.9, 0.1], [0.3, 0.7]],
        "emissionprob_": [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]],
    }
    return by_hand(CategoricalHMM(2), **{**known, **parts})


def heights(**parts):
    known = {
        "startprob_": [0.25, 0.75],
        "transmat_": [[0.9, 0.1], [0.3, 0.7]],
        "means_": [[0.0], [2.0]],
        "covars_": [[1.0], [0.5]],
    }
    return by_hand(GaussianHMM(2), **{**known, **parts})


def brute(model, shown):
    """p of a few symbols, summed over all ways of states."""
    start, steps = numpy.asarray(model.startprob_), numpy.asarray(model.transmat_)
    emitted = numpy.asarray(model.emissionprob_)
    chances = start * emitted[:, shown[0]]
    for symbol in shown[1:]:
        chances = (chances @ steps) * emitted[:, symbol]
    return float(numpy.log(chances.sum()))


def test_sem_g581_a_model_of_sequences_is_what_its_attributes_are():
    shown = symbols()
    found = CategoricalHMM(2).fit(shown)
    assert found.score(shown[:5]) == pytest.approx(brute(found, shown[:5]))
    fitted = found.score(shown)
    found.transmat_ = EVEN
    assert found.score(shown) != fitted
    assert found.score(shown[:5]) == pytest.approx(brute(found, shown[:5]))
    # Also in place, and after a pickle.
    found.emissionprob_[:] = [0.5, 0.25, 0.25]
    assert found.score(shown[:5]) == pytest.approx(brute(found, shown[:5]))
    again = pickle.loads(pickle.dumps(found))
    assert again.score(shown) == found.score(shown)
    normal = GaussianHMM(2).fit(shown[:, None].astype(float))
    before = normal.score(shown[:, None])
    normal.means_ = normal.means_ + 1.0
    assert pickle.loads(pickle.dumps(normal)).score(shown[:, None]) != before


def test_sem_g581_a_model_of_sequences_that_is_built_by_hand_needs_no_fit():
    shown, model = symbols()[:5], coins()
    assert model.score(shown) == pytest.approx(brute(model, shown))
    assert model.decode(shown)[1].tolist() == model.predict(shown).tolist()
    assert model.predict_proba(shown).sum(axis=1) == pytest.approx(numpy.ones(5))
    assert model.aic(shown) == pytest.approx(2 * (1 + 2 + 4) - 2 * model.score(shown))
    assert model.get_stationary_distribution() == pytest.approx([0.75, 0.25])
    assert "<table>" in model._repr_html_()
    rows = numpy.array([[0.0], [0.1], [2.0], [2.1]])
    assert heights().predict(rows).tolist() == [0, 0, 1, 1]
    missing = CategoricalHMM(2)
    missing.startprob_, missing.transmat_ = [0.5, 0.5], EVEN
    calls = (missing.score, missing.predict, missing.predict_proba, missing.score_sequences)
    for call in calls:
        with pytest.raises(ValueError, match="fit"):
            call([0, 1, 0])
    # Numbers of 32 bits add up to 1 but for their rounding.
    thirds = numpy.full((2, 3), 1 / 3, dtype=numpy.float32)
    assert coins(emissionprob_=thirds).score(shown) == pytest.approx(5 * numpy.log(1 / 3))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (coins(transmat_=[[0.5, 0.5], [0.5, 0.6]]), r"transmat_, row 1 is \[0.5, 0.6\]"),
        (coins(transmat_=[[0.5, 0.25, 0.25]] * 2), r"transmat_ is of shape \(2, 3\)"),
        (coins(transmat_=[[0.25] * 4]), r"transmat_ is of shape \(1, 4\)"),
        (coins(startprob_=[1.5, -0.5]), "startprob_ is"),
        (coins(startprob_=EVEN), "startprob_ is of shape"),
        (coins(startprob_=[float("nan"), 1.0]), "startprob_ is"),
        (coins(emissionprob_=[[1.0]]), "emissionprob_ is of shape"),
        (coins(emissionprob_="none"), "emissionprob_ is 'none'"),
        (heights(means_=[[0.0], [float("inf")]]), "means_ is inf at row 1, column 0"),
        (heights(covars_=[[1.0], [0.0]]), "covars_ is 0.0 at row 1, column 0"),
        (heights(covars_=[[[1.0]], [[1.0]]]), "covars_ is of shape"),
    ],
)
def test_sem_g581_attributes_that_are_no_model_are_named(model, words):
    shown = [[0], [1]]
    for call in (model.score, model.predict, model.predict_proba, model.bic):
        with pytest.raises(ValueError, match=words):
            call(shown)
    with pytest.raises(ValueError, match=words):
        model.sample(3)
    assert "<table>" not in model._repr_html_()


@pytest.mark.parametrize("method", [KMeans(3), DeterministicAnnealing(3)])
def test_sem_g581_clusters_are_those_of_the_centres(groups, method):
    found = method.fit(groups)
    before = found.predict(groups)
    places = [[100.0, 100.0], [0.0, 0.0]]
    found.cluster_centers_ = places
    wanted = numpy.linalg.norm(groups[:, None] - numpy.array(places), axis=2)
    # As many columns as a frame of distances has.
    assert found._n_features_out == 2
    for one in (found, pickle.loads(pickle.dumps(found))):
        assert one.transform(groups) == pytest.approx(wanted)
        assert (one.predict(groups) == wanted.argmin(axis=1)).all()
        assert one.score(groups) == pytest.approx(-(wanted.min(axis=1) ** 2).sum())
    # In place: the first and the last change their places.
    found.fit(groups)
    found.cluster_centers_[:] = found.cluster_centers_[::-1].copy()
    assert (found.predict(groups) == 2 - before).all()
    for wrong, words in [
        ([0.0, 1.0], "cluster_centers_ is of shape"),
        ([[0.0, float("nan")]], "cluster_centers_ is nan at row 0, column 1"),
        ([[0.0, 1.0, 2.0]], "X has 2 columns, and cluster_centers_ has 3"),
        ("none", "cluster_centers_ is 'none'"),
    ]:
        found.cluster_centers_ = wrong
        with pytest.raises(ValueError, match=words):
            found.predict(groups)


def test_clusters_of_centres_that_are_set_by_hand_need_no_fit():
    by_centres = by_hand(KMeans(2), cluster_centers_=numpy.array([[0.0, 0.0], [1e200, 0.0]]))
    assert by_centres.predict([[1.0, 1.0], [9e199, 0.0]]).tolist() == [0, 1]
    assert by_centres.transform([[3e199, 4e199]])[0, 0] == pytest.approx(5e199)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_sem_g581_a_mixture_is_what_its_attributes_are(groups, kind):
    found = GaussianMixture(3, covariance_type=kind).fit(groups)
    theirs = pytest.importorskip("sklearn.mixture").GaussianMixture(3, covariance_type=kind)
    theirs.fit(groups)
    before = found.score(groups)
    found.covariances_ = found.covariances_ * 4.0
    assert found.score(groups) != before
    theirs.weights_, theirs.means_ = found.weights_, found.means_
    theirs.covariances_, theirs.precisions_cholesky_ = (
        found.covariances_,
        found.precisions_cholesky_,
    )
    assert found.score(groups) == pytest.approx(theirs.score(groups))
    made = by_hand(
        GaussianMixture(3, covariance_type=kind),
        weights_=found.weights_.tolist(),
        means_=found.means_.tolist(),
        covariances_=found.covariances_.tolist(),
    )
    assert made.score(groups) == found.score(groups)
    assert made.bic(groups) == found.bic(groups) and made.sample(3)[0].shape == (3, 2)
    made.covariances_ = numpy.asarray(made.covariances_) * -1.0
    with pytest.raises(ValueError, match="covariances_"):
        made.score(groups)
    made.covariances_ = [[[[1.0]]]]
    with pytest.raises(ValueError, match="covariances_ is of shape"):
        made.score(groups)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights_", [0.9, 0.9]),
        ("weights_", [-1.0, 2.0]),
        ("weights_", [numpy.nan, 1.0]),
        ("weights_", [1.0]),
        ("means_", [[0.0, numpy.nan], [1.0, 1.0]]),
        ("covariances_", [[[1.0, 0.0], [0.5, 1.0]]] * 2),
        ("covariances_", [[[numpy.inf, 0.0], [0.0, 1.0]]] * 2),
    ],
)
def test_sem_g581_what_is_no_mixture_is_refused_by_its_attribute(name, value):
    parts = {
        "weights_": [0.5, 0.5],
        "means_": [[0.0, 0.0], [1.0, 1.0]],
        "covariances_": [numpy.eye(2)] * 2,
        name: value,
    }
    with pytest.raises(ValueError, match=name):
        by_hand(GaussianMixture(2), **parts).score([[0.0, 1.0]])


def masked(values):
    values = numpy.array(values, dtype=float)
    mask = numpy.arange(values.size).reshape(values.shape) == 1
    return numpy.ma.masked_array(values, mask=mask)


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (by_hand(KMeans(2), cluster_centers_=masked([[0.0, 9.0], [1.0, 1.0]])), [[0.0, 1.0]]),
        (coins(transmat_=masked([[0.5, 0.5], [0.5, 0.5]])), [[0], [1]]),
        (heights(means_=masked([[0.0], [2.0]])), [[0.0], [1.0]]),
        (heights(covars_=masked([[1.0], [2.0]])), [[0.0], [1.0]]),
    ],
    ids=["cluster_centers_", "transmat_", "means_", "covars_"],
)
def test_sem_g581_masked_values_are_no_model(request, model, rows):
    name = request.node.callspec.id
    for call in (model.predict, model.score):
        with pytest.raises(ValueError, match=f"{name} has 1 masked values"):
            call(rows)
    setattr(model, name, getattr(model, name).filled(0.5))
    assert len(model.predict(rows)) == len(rows)


@pytest.mark.parametrize("name", ["weights_", "means_", "covariances_"])
def test_sem_g581_masked_values_are_no_mixture(groups, name):
    found = GaussianMixture(2).fit(groups)
    setattr(found, name, masked(getattr(found, name)))
    for call in (found.score, found.predict):
        with pytest.raises(ValueError, match=f"{name} has 1 masked values"):
            call(groups)


def test_models_set_by_hand_are_shown(groups):
    shown = by_hand(KMeans(2), cluster_centers_=[[0.0, 0.0], [1.0, 1.0]])
    assert "KMeans" in shown._repr_html_()
    shown.fit(groups).cluster_centers_ = [[0.0, 0.0]]
    assert "KMeans" in shown._repr_html_()


def test_without_a_random_state_draws_differ_and_fits_repeat(groups):
    one, two = (GaussianMixture(3, n_init=3).fit(groups) for _ in range(2))
    assert one.means_.tobytes() == two.means_.tobytes()
    assert one.sample(8)[0].tobytes() != one.sample(8)[0].tobytes()
    assert heights().sample(8)[0].tobytes() != heights().sample(8)[0].tobytes()
    for drawn in (one.set_params(random_state=4), two.set_params(random_state=4)):
        assert drawn.sample(8)[0].tobytes() == one.sample(8)[0].tobytes()
