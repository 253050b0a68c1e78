"""scikit-learn's own checks, without exceptions."""

import gc
import pickle
import threading
import weakref

import numpy
import pytest

import motet
from motet.cluster import DeterministicAnnealing, KMeans, PairwiseAnnealing
from motet.hmm import CategoricalHMM, GaussianHMM
from motet.manifold import AnnealedMDS
from motet.mixture import GaussianMixture

estimator_checks = pytest.importorskip("sklearn.utils.estimator_checks")

ROWS = [
    DeterministicAnnealing(3),
    DeterministicAnnealing(None, max_clusters=3),
    KMeans(3),
    GaussianMixture(2),
    PairwiseAnnealing(3),
    PairwiseAnnealing(None, max_clusters=2),
    AnnealedMDS(),
    GaussianHMM(),
]


@estimator_checks.parametrize_with_checks(ROWS)
def test_sem_g447_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# A state depends on the rows around its own: their order and their cuts count.
ORDERED = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}
TWO_STATES = [
    pair
    for pair in estimator_checks.estimator_checks_generator(GaussianHMM(2))
    if getattr(pair[1], "func", pair[1]).__name__ not in ORDERED
]


@pytest.mark.parametrize(("estimator", "check"), TWO_STATES)
def test_sem_g447_several_states_pass_what_does_not_change_the_order(estimator, check):
    check(estimator)


def test_sem_g447_symbols_are_checked_as_scikit_learn_checks_one_column():
    method = CategoricalHMM(2)
    with pytest.warns(Warning, match="Can't test estimator"):
        estimator_checks.check_estimator(method)
    for check in (
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimators_overwrite_params,
        estimator_checks.check_estimators_fit_returns_self,
        estimator_checks.check_estimators_pickle,
        estimator_checks.check_fit_idempotent,
        estimator_checks.check_fit_score_takes_y,
        estimator_checks.check_estimators_unfitted,
    ):
        check(type(method).__name__, method)


ALL = [*ROWS, CategoricalHMM(2)]


def data(method, groups):
    """Rows, or symbols, for a fit."""
    return (groups[:, 0] > 3).astype(int) if isinstance(method, CategoricalHMM) else groups


def fresh(method, **params):
    return type(method)(**{**method.get_params(), **params})


def named(method):
    return type(method).__name__ + ("" if getattr(method, "n_clusters", 1) else "-chosen")


@pytest.mark.parametrize("method", ALL, ids=named)
def test_sem_g444_any_fit_is_heard_of_and_stopped(groups, method):
    heard = []
    rows = data(method, groups[::3])
    fresh(method, callback=heard.append).fit(rows)
    done = [now["done"] for now in heard]
    assert heard and done == sorted(done) and 0 <= done[0] and done[-1] <= 1
    with pytest.raises(motet.Cancelled):
        fresh(method, callback=lambda _: False).fit(rows)
    with pytest.raises(ZeroDivisionError):
        fresh(method, callback=lambda _: 1 // 0).fit(rows)


@pytest.mark.parametrize("method", ALL, ids=named)
def test_an_estimator_that_has_been_heard_of_is_freed(groups, method):
    found = fresh(method, callback=lambda _: None).fit(data(method, groups[::3]))
    gone = weakref.ref(found)
    del found
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("method", ALL, ids=named)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(groups, method):
    rows = data(method, groups[::3])
    # Of other columns, or of another length where there is one column.
    others = numpy.hstack([rows, rows]) if rows.ndim == 2 else rows[:-10]

    def wrong(_):
        raise ZeroDivisionError

    for estimator in (fresh(method), fresh(method).fit(rows)):
        before = dict(vars(estimator))
        with pytest.raises(ZeroDivisionError):
            estimator.set_params(callback=wrong).fit(others)
        assert estimator.callback is wrong
        estimator.set_params(callback=None)
        with pytest.raises(ValueError):
            estimator.fit(others[:0])
        after = vars(estimator)
        assert after.keys() == before.keys()
        assert all(after[name] is before[name] for name in before)
        if hasattr(estimator, "predict") and "n_features_in_" in before:
            assert len(estimator.predict(rows)) == len(rows)


@pytest.mark.parametrize("method", ALL, ids=named)
def test_rows_of_other_numbers_and_in_other_memory_are_the_same_rows(groups, method):
    rows = data(method, groups[::6].round()).astype(float)
    fixed = rows.copy()
    fixed.flags.writeable = False
    plain = fresh(method).fit(rows)
    names = ("labels_", "embedding_", "means_", "transmat_")
    name = next(name for name in names if hasattr(plain, name))
    for given in (
        fixed,
        numpy.asfortranarray(rows),
        numpy.repeat(rows, 2, axis=0)[::2],
        rows[::-1].copy()[::-1],
        rows.astype(numpy.float16),
        rows.astype(numpy.int8),
    ):
        found = fresh(method).fit(given)
        numpy.testing.assert_array_equal(getattr(found, name), getattr(plain, name))


@pytest.mark.parametrize("method", ALL, ids=named)
def test_any_fit_shows_a_bar(groups, method, capfd):
    pytest.importorskip("tqdm")
    fresh(method, verbose=1).fit(data(method, groups[::3]))
    assert type(method).__name__ in capfd.readouterr().err
    # Where nothing is fitted there is none.
    for wrong in ({"n_jobs": 0}, {"callback": 3}, {"checkpoint": 3.5}):
        with pytest.raises((TypeError, ValueError)):
            fresh(method, verbose=1, **wrong).fit(data(method, groups[::3]))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("method", ALL, ids=named)
def test_sem_g472_any_fit_says_where_its_time_went(groups, method):
    rows = data(method, groups[::3])
    found = fresh(method, profile=True, n_jobs=2).fit(rows)
    told = found.profile_
    assert told.seconds > 0 and len(told.ranks) in (1, 2)
    for thread, *times in told.ranks:
        assert 0 <= thread < told.threads and 0 < sum(times) <= told.seconds * 1.001
    for rank, call, site, longer, saved in told.imbalances(1e-6):
        assert rank < len(told.ranks) and longer > 0 and 0 < saved <= told.seconds
        assert call or not site
    assert told.imbalances(1.0) == []
    assert "computing" in str(told) and "Profile of" in repr(told)
    assert str(pickle.loads(pickle.dumps(found)).profile_) == str(told)
    assert not hasattr(fresh(method).fit(rows), "profile_")
    assert not hasattr(found.set_params(profile=False).fit(rows), "profile_")


@pytest.mark.parametrize("method", ALL, ids=named)
def test_sem_g473_notebooks_show_what_was_found(groups, method):
    for shown in (fresh(method), fresh(method).fit(data(method, groups[::3]))):
        told = shown._repr_html_()
        assert ("<table>" in told) == hasattr(shown, "n_features_in_")
        # Notebooks ask for this one first.
        assert shown._repr_mimebundle_() == {"text/plain": repr(shown), "text/html": told}


LONG = [
    (DeterministicAnnealing(60), 400_000),
    (DeterministicAnnealing(None), 400_000),
    (KMeans(60, n_init=1000, tol=0.0), 100_000),
    (PairwiseAnnealing(60), 2_500),
    (GaussianMixture(30, tol=0.0, n_init=100), 100_000),
    (GaussianHMM(16, tol=0.0, n_iter=100_000), 10_000),
    (CategoricalHMM(16, tol=0.0, n_iter=100_000), 100_000),
    (AnnealedMDS(6, tol=1e-15, max_iter=1_000_000), 1_500),
]


@pytest.mark.parametrize(("method", "rows"), LONG, ids=lambda one: named(one) if one else "")
def test_sem_g446_ctrl_c_stops_any_fit(method, rows):
    import os
    import signal

    X = numpy.random.default_rng(1).normal(size=(rows, 8))
    if isinstance(method, CategoricalHMM):
        X = (X[:, 0] > 0).astype(int)
    interrupted = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    # By itself the fit takes many times as long.
    with pytest.raises(KeyboardInterrupt):
        interrupted.start()
        fresh(method, n_jobs=-1).fit(X)
    interrupted.join()


def test_sem_g444_a_fit_whose_callback_fails_at_the_end_leaves_the_estimator_as_it_was(groups):
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has them")

    class Fails:
        def __init__(self, hook):
            self.hook = hook

        def tell(self, hook):
            if hook == self.hook:
                raise ZeroDivisionError

        def setup(self, estimator, context):
            self.tell("setup")

        def teardown(self, estimator, context):
            self.tell("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.tell("begin")

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            if context.parent is None:
                self.tell("end")
            return False

    for hook in ("begin", "end"):
        estimator = KMeans(3).set_callbacks(Fails(hook))
        before = dict(vars(estimator))
        with pytest.raises(ZeroDivisionError):
            estimator.fit(groups)
        assert vars(estimator) == before


def test_sem_g445_callbacks_of_scikit_learn_hear_of_each_hundredth_and_may_end_the_fit():
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has them")
    from sklearn.base import clone

    class Counts:
        def __init__(self, most: int) -> None:
            self.most, self.told = most, []

        def setup(self, estimator, context):
            self.told.append("setup")

        def teardown(self, estimator, context):
            self.told.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            if context.parent is None:
                self.told.append("begin")

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            if context.parent is None:
                self.told.append("end")
                return False
            assert context.task_name == "hundredth"
            assert 0 < metadata["done"] <= 1
            self.told.append(context.task_id)
            return context.task_id >= self.most

    X = numpy.random.default_rng(3).normal(size=(400, 2)) + numpy.repeat([[0, 0], [9, 9]], 200, 0)
    plain = DeterministicAnnealing(2).fit(X)
    all_of_it = Counts(1000)
    heard = DeterministicAnnealing(2).set_callbacks(all_of_it).fit(X)
    numpy.testing.assert_array_equal(heard.labels_, plain.labels_)
    assert all_of_it.told[:2] == ["setup", "begin"]
    assert all_of_it.told[-2:] == ["end", "teardown"]
    steps = all_of_it.told[2:-2]
    assert len(steps) > 10
    assert steps == list(range(len(steps)))
    stops = Counts(5)
    with pytest.raises(motet.Cancelled):
        clone(DeterministicAnnealing(2)).set_callbacks(stops).fit(X)
    assert stops.told[-1] == "teardown"
