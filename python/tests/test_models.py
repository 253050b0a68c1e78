import pickle
import tracemalloc
import warnings

import numpy
import pytest

from motet import _motet
from motet.hmm import CategoricalHMM, GaussianHMM
from motet.mixture import GaussianMixture


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures_agree_with_scikit_learn(groups, kind):
    mixture = pytest.importorskip("sklearn.mixture")
    found = GaussianMixture(3, covariance_type=kind, tol=1e-6).fit(groups)
    theirs = mixture.GaussianMixture(3, covariance_type=kind, tol=1e-6, random_state=0, n_init=5)
    theirs.fit(groups)
    assert found.score(groups) == pytest.approx(theirs.score(groups), rel=1e-4)
    assert found.covariances_.shape == theirs.covariances_.shape
    assert found.bic(groups) == pytest.approx(theirs.bic(groups), rel=1e-4)
    assert found.aic(groups) == pytest.approx(theirs.aic(groups), rel=1e-4)
    assert numpy.allclose(found.predict_proba(groups).sum(axis=1), 1)
    assert (found.predict(groups) == found.labels_).all()
    assert found.score(groups) == pytest.approx(found.lower_bound_)
    again = pickle.loads(pickle.dumps(found))
    assert again.score(groups) == found.score(groups)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_what_a_mixture_has_found_stays_of_its_kind(groups, kind):
    found = GaussianMixture(3, covariance_type=kind).fit(groups)
    before = found.bic(groups), found.precisions_, found.precisions_cholesky_
    found.set_params(covariance_type="full" if kind == "diag" else "diag", n_components=4)
    assert found.bic(groups) == before[0]
    numpy.testing.assert_array_equal(found.precisions_, before[1])
    numpy.testing.assert_array_equal(found.precisions_cholesky_, before[2])
    assert found.fit(groups).precisions_.shape != before[1].shape


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_precisions_invert_covariances_as_those_of_scikit_learn(groups, kind):
    theirs = pytest.importorskip("sklearn.mixture").GaussianMixture(3, covariance_type=kind)
    found = GaussianMixture(3, covariance_type=kind).fit(groups)
    theirs.weights_, theirs.means_, theirs.covariances_ = (
        found.weights_,
        found.means_,
        found.covariances_,
    )
    theirs.precisions_cholesky_ = found.precisions_cholesky_
    # It computes with them what we compute with the covariances.
    assert numpy.allclose(theirs.score_samples(groups), found.score_samples(groups))
    assert found.precisions_.shape == found.covariances_.shape
    if kind in ("full", "tied"):
        ones = numpy.broadcast_to(numpy.eye(groups.shape[1]), found.covariances_.shape)
        assert numpy.allclose(found.precisions_ @ found.covariances_, ones)
    else:
        assert numpy.allclose(found.precisions_ * found.covariances_, 1)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_mixture_draws_rows_of_its_own_kind(groups, kind):
    found = GaussianMixture(3, covariance_type=kind, random_state=7).fit(groups)
    rows, labels = found.sample(60000)
    again, _ = found.sample(60000)
    assert rows.tobytes() == again.tobytes() and (numpy.diff(labels) >= 0).all()
    assert numpy.bincount(labels) / 60000 == pytest.approx(found.weights_, abs=0.01)
    for place, mean in enumerate(found.means_):
        own = rows[labels == place]
        shape = found.covariances_ if kind == "tied" else found.covariances_[place]
        if kind in ("diag", "spherical"):
            shape = numpy.eye(len(mean)) * shape
        scale = numpy.sqrt(numpy.diag(shape))
        assert numpy.abs((own.mean(axis=0) - mean) / scale).max() < 0.05
        away = numpy.cov(own.T) - shape
        assert numpy.abs(away / numpy.outer(scale, scale)).max() < 0.05
    with pytest.raises(ValueError, match="n_samples is 0"):
        found.sample(0)


def test_a_mixture_that_has_not_converged_says_so(groups):
    with pytest.warns(UserWarning, match="not converged in max_iter=2 steps"):
        assert not GaussianMixture(3, max_iter=2, tol=0.0).fit(groups).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert GaussianMixture(3).fit(groups).converged_


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_a_mixture_of_many_columns_that_do_not_vary_together_keeps_no_matrix(kind):
    rows = numpy.random.default_rng(1).normal(size=(20, 1500))
    rows[:10] += 3
    tracemalloc.start()
    try:
        found = GaussianMixture(2, covariance_type=kind).fit(rows)
        assert found.predict_proba(rows).shape == (20, 2)
        assert found.sample(20)[0].shape == rows.shape
        assert found.precisions_.size in (2, 2 * 1500)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # One matrix has 18 MB.
    assert most < 15_000_000


def chains():
    """Give a fitted model of each kind, and its sequence."""
    shown = numpy.repeat([0, 1, 0, 1, 1, 0, 1], 40)
    rows = numpy.column_stack([shown * 5.0, -shown]) + numpy.tile(
        [[0.1, 0.2], [-0.1, 0.4]], (140, 1)
    )
    yield GaussianHMM(2).fit(rows), rows, 1 + 2 + 8
    yield CategoricalHMM(2).fit(shown), shown, 1 + 2 + 2


def test_models_of_sequences_are_judged_as_by_hmmlearn():
    for model, shown, free in chains():
        score = model.score(shown)
        assert model.aic(shown) == pytest.approx(2 * free - 2 * score)
        assert model.bic(shown) == pytest.approx(free * numpy.log(len(shown)) - 2 * score)
        shares = model.get_stationary_distribution()
        assert numpy.allclose(shares @ model.transmat_, shares) and shares.sum() == pytest.approx(1)


def test_models_of_sequences_draw_what_they_show():
    for model, _, _ in chains():
        rows, states = model.sample(40000, random_state=3)
        again, _ = model.sample(40000, random_state=3)
        assert rows.tobytes() == again.tobytes() and rows.shape == (40000, model.n_features_in_)
        shares = model.get_stationary_distribution()
        # States last long: few changes, so much chance.
        assert numpy.bincount(states) / len(states) == pytest.approx(shares, abs=0.1)
        for state in range(2):
            left = states[1:][states[:-1] == state]
            assert numpy.bincount(left, minlength=2) / len(left) == pytest.approx(
                model.transmat_[state], abs=0.01
            )
            own = rows[states == state]
            if isinstance(model, GaussianHMM):
                assert numpy.allclose(own.mean(axis=0), model.means_[state], atol=0.05)
                assert numpy.allclose(own.var(axis=0), model.covars_[state], rtol=0.1)
            else:
                seen = numpy.bincount(own[:, 0], minlength=2) / len(own)
                assert seen == pytest.approx(model.emissionprob_[state], abs=0.01)
        assert model.sample(1, random_state=3, currstate=1)[1].tolist() == [1]
        with pytest.raises(ValueError, match="from 0 to 1"):
            model.sample(1, currstate=2)
        with pytest.raises(TypeError, match="currstate is 0.5"):
            model.sample(1, currstate=0.5)


class Last(numpy.random.RandomState):
    """Draws the largest number below 1."""

    def random_sample(self, size=None):
        return numpy.full(size, 1 - 2.0**-53)


def test_what_has_no_share_is_never_drawn():
    model = CategoricalHMM(2).fit(numpy.arange(30) % 3)
    # Their sum is below 1 by rounding.
    tenths = numpy.array([0.1] * 10 + [0.0])
    assert numpy.cumsum(tenths)[-1] < 1
    model.startprob_, model.transmat_ = tenths, numpy.tile(tenths, (11, 1))
    model.emissionprob_ = numpy.tile(tenths, (11, 1))
    rows, states = model.sample(3, random_state=Last(0))
    assert states.tolist() == [9, 9, 9] and rows[:, 0].tolist() == [9, 9, 9]
    # Numbers that are set by hand may be lists.
    model.startprob_ = tenths.tolist()
    assert model.sample(3, random_state=Last(0))[1].tolist() == [9, 9, 9]


def test_mixtures_have_the_same_bits_on_any_jobs(groups):
    one, two = (GaussianMixture(3, n_jobs=jobs).fit(groups) for jobs in [1, 2])
    assert one.means_.tobytes() == two.means_.tobytes()
    with pytest.raises(ValueError, match="covariance_type"):
        GaussianMixture(3, covariance_type="round").fit(groups)


def walk(states=3, places=400, sequences=4):
    random = numpy.random.default_rng(3)
    hidden = numpy.cumsum(random.random(places * sequences) < 0.1) % states
    return hidden, [places] * sequences


def test_gaussian_states_are_found():
    hidden, lengths = walk()
    shown = 4.0 * hidden + numpy.random.default_rng(4).normal(size=len(hidden))
    shown = shown.reshape(-1, 1)
    found = GaussianHMM(3).fit(shown, lengths)
    assert found.means_[:, 0] == pytest.approx([0, 4, 8], abs=0.3)
    assert (found.predict(shown, lengths) == hidden).mean() > 0.95
    assert (numpy.diff(found.trace_) >= 0).all() and found.converged_
    chances = found.predict_proba(shown, lengths)
    assert chances.shape == (len(hidden), 3) and numpy.allclose(chances.sum(axis=1), 1)
    again = pickle.loads(pickle.dumps(found))
    assert again.score(shown, lengths) == found.score(shown, lengths)
    assert found.score(shown, lengths) == pytest.approx(found.score_sequences(shown, lengths).sum())


def test_scores_agree_with_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    hidden, lengths = walk()
    found = CategoricalHMM(3).fit(hidden, lengths)
    theirs = hmm.CategoricalHMM(3)
    theirs.startprob_, theirs.transmat_ = found.startprob_, found.transmat_
    theirs.emissionprob_ = found.emissionprob_
    column = hidden[:, None]
    assert found.score(hidden, lengths) == pytest.approx(theirs.score(column, lengths), rel=1e-9)
    ours, path = found.decode(hidden, lengths)
    other, _ = theirs.decode(column, lengths)
    assert ours == pytest.approx(other, rel=1e-9) and len(path) == len(hidden)


def test_sem_g471_lengths_may_be_the_second_argument_and_a_y_does_not_count():
    hidden, lengths = walk()
    by_name = CategoricalHMM(2).fit(hidden, lengths=lengths)
    by_place = CategoricalHMM(2).fit(hidden, lengths)
    assert by_name.transmat_.tobytes() == by_place.transmat_.tobytes()
    whole = CategoricalHMM(2).fit(hidden)
    assert whole.transmat_.tobytes() != by_name.transmat_.tobytes()
    for y in (hidden, hidden.astype(str), hidden * 0.5):
        assert CategoricalHMM(2).fit(hidden, y).transmat_.tobytes() == whole.transmat_.tobytes()
    assert by_name.score(hidden, lengths) == by_name.score(hidden, lengths=lengths)
    for wrong in (lengths[:-1], [len(hidden) + 1], [0.5, 0.5]):
        with pytest.raises(ValueError, match="the lengths"):
            by_name.score(hidden, wrong)
    with pytest.raises(ValueError, match="at least one row"):
        by_name.score(hidden, lengths=[0, len(hidden)])


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_sem_g471_models_of_sequences_are_copied_kept_and_shown(kind):
    hidden, lengths = walk(places=60)
    shown = hidden if kind == "categorical" else 4.0 * hidden.reshape(-1, 1)
    method = {"gaussian": GaussianHMM, "categorical": CategoricalHMM}[kind](3, n_iter=7)
    assert "<table>" not in method._repr_html_()
    clone = pytest.importorskip("sklearn.base").clone(method)
    assert clone.get_params() == method.get_params() and clone.n_iter == 7
    one, two = method.fit(shown, lengths), clone.set_params(n_jobs=2).fit(shown, lengths)
    again = pickle.loads(pickle.dumps(one))
    for other in (two, again):
        assert other.transmat_.tobytes() == one.transmat_.tobytes()
        assert other.score(shown, lengths) == one.score(shown, lengths)
        assert (other.predict(shown, lengths) == one.predict(shown, lengths)).all()
        chances = other.predict_proba(shown, lengths)
        assert chances.tobytes() == one.predict_proba(shown, lengths).tobytes()
    assert one._repr_html_().count("<tr>") == 4
    assert one.n_features_in_ == 1 and 1 <= one.n_iter_ <= 7


def test_wrong_sequences_are_named():
    numbers = numpy.arange(8.0)
    column = numbers.reshape(-1, 1)
    for wrong, words in [
        (lambda: GaussianHMM(2).fit(column, [3, 4]), "lengths add up to 7"),
        (lambda: GaussianHMM(2).fit(column, lengths=[3, 4]), "lengths add up to 7"),
        # What is a sum of 8 in 64 bits is none.
        (lambda: GaussianHMM(2).fit(column, lengths=[2**63, 2**63, 8]), "lengths add up to 18"),
        (lambda: GaussianHMM(2).fit(column, lengths=[3.7, 4.3]), "lengths hold 3.7"),
        (lambda: GaussianHMM(2).fit(column, lengths=[numpy.nan, 4]), "lengths hold nan"),
        (lambda: GaussianHMM(2).fit(column, lengths=[[4, 4]]), "lengths hold .4, 4."),
        (lambda: GaussianHMM(2).fit(numbers), "1D|1 dimensions"),
        (lambda: GaussianHMM(0).fit(column), "positive"),
        (lambda: CategoricalHMM(10**9).fit([0, 1]), "n_samples=2 should be >= n_components"),
        (lambda: GaussianHMM(2).fit([[0.5], [numpy.nan]]), "NaN"),
        (lambda: CategoricalHMM(2).fit([0.5, 1.0]), "whole numbers"),
        (lambda: CategoricalHMM(2).fit([0, -1]), "row 1 of X is -1"),
        (lambda: CategoricalHMM(2).fit([0, 2**40]), "below 2"),
        (lambda: CategoricalHMM(2).fit([[0, 1], [1, 1]]), "one column"),
        (lambda: GaussianHMM(2).score(column), "fit"),
        (lambda: GaussianHMM(2).aic(column), "fit"),
        (lambda: GaussianHMM(2).bic(column), "fit"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
    for wrong in (8, "44"):
        with pytest.raises(TypeError, match=f"lengths is {wrong!r}: it must be a list"):
            GaussianHMM(2).fit(column, lengths=wrong)
    # What can be read once is enough.
    alike = [GaussianHMM(2).fit(column, lengths=given) for given in ([4, 4], iter([4, 4]))]
    alike.append(GaussianHMM(2).fit(column, iter([4, 4])))
    assert len({found.transmat_.tobytes() for found in alike}) == 1
    found = CategoricalHMM(2).fit([0, 1, 0, 1])
    with pytest.raises(ValueError, match="holds 7"):
        found.score([0, 7])


def test_matrices_are_read_row_after_row_whatever_their_order_in_memory():
    steps, means = numpy.array([[0.9, 0.1], [0.3, 0.7]]), numpy.array([[0.0, 1.0], [2.0, 3.0]])
    for order in (numpy.ascontiguousarray, numpy.asfortranarray, lambda of: of.repeat(2, 0)[::2]):
        model = _motet.Markov.gaussian([0.5, 0.5], order(steps), order(means), numpy.ones((2, 2)))
        numpy.testing.assert_array_equal(model.transitions, steps)
        numpy.testing.assert_array_equal(model.emissions[0], means)


def test_sem_g617_a_copy_of_rows_without_room_is_an_error_and_no_abort():
    # One row, seen so often: its copy would take 2^50 bytes.
    means = numpy.broadcast_to(numpy.ones(4), (1 << 45, 4))
    steps = numpy.full((2, 2), 0.5)
    with pytest.raises(MemoryError, match=f"a copy of the rows would take {1 << 50} bytes"):
        _motet.Markov.gaussian([0.5, 0.5], steps, means, numpy.ones((2, 4)))


def test_sem_g617_matrices_without_room_are_an_error_and_no_abort():
    rows = numpy.ones((1, 1 << 22))
    with pytest.raises(MemoryError, match="covariances of so many columns would take [0-9]{15} by"):
        GaussianMixture(1).fit(rows)
