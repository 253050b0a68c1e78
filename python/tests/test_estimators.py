"""scikit-learn's own checks, without exceptions."""

import pytest

from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing
from motet.manifold import AnnealedMDS
from motet.mixture import GaussianMixture

estimator_checks = pytest.importorskip("sklearn.utils.estimator_checks")


@estimator_checks.parametrize_with_checks(
    [DeterministicAnnealing(3), KMeans(3), GaussianMixture(2), PairwiseAnnealing(3), AnnealedMDS()]
)
def test_sem_g804_scikit_learns_checks_pass(estimator, check):
    check(estimator)
