import pickle

import numpy
import pytest

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


def test_wrong_sequences_are_named():
    with pytest.raises(ValueError, match="lengths add up to 7"):
        GaussianHMM(2).fit(numpy.arange(8.0), [3, 4])
    with pytest.raises(ValueError, match="whole numbers"):
        CategoricalHMM(2).fit([0.5, 1.0])
    with pytest.raises(ValueError, match="positive"):
        GaussianHMM(0).fit([0.5, 1.0])
    with pytest.raises(Exception, match="fit"):
        GaussianHMM(2).score([0.5])
