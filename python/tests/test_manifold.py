import pickle

import numpy
import pytest

import motet
from motet.manifold import AnnealedMDS


@pytest.mark.parametrize("method", ["annealed", "majorised", "classical"])
def test_sem_g459_places_have_the_distances_of_the_rows(groups, method):
    rows = numpy.column_stack([groups[::6], numpy.full(50, 3.0)])
    distances = numpy.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
    found = AnnealedMDS(method=method).fit(rows)
    places = found.embedding_
    assert places.shape == (50, 2) and places.mean(axis=0) == pytest.approx(0, abs=1e-9)
    apart = numpy.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    assert numpy.abs(apart - distances).max() < 1e-2
    assert found.stress_ == pytest.approx(((apart - distances) ** 2).sum() / 2, abs=1e-9)
    assert found.n_iter_ >= 1 and len(found.eigenvalues_) == 2
    for again in (
        AnnealedMDS(method=method, n_jobs=2).fit(rows),
        AnnealedMDS(method=method, metric="precomputed").fit(numpy.asfortranarray(distances)),
        pickle.loads(pickle.dumps(found)),
    ):
        assert again.embedding_ == pytest.approx(places, abs=1e-9)
    again = AnnealedMDS(method=method, n_jobs=2).fit_transform(rows)
    assert again.tobytes() == places.tobytes()
    assert "<td>50</td>" in found._repr_html_()


@pytest.mark.parametrize("method", ["annealed", "majorised", "classical"])
@pytest.mark.parametrize("scale", [2.0**-600, 2.0**450])
def test_rows_of_any_scale_have_the_same_places(groups, method, scale):
    plain = AnnealedMDS(method=method).fit(groups[::10])
    found = AnnealedMDS(method=method).fit(groups[::10] * scale)
    assert found.embedding_.tobytes() == (plain.embedding_ * scale).tobytes()
    # One column is constant, and far away.
    beside = numpy.column_stack([groups[::10] * scale, numpy.full(30, 1e300)])
    again = AnnealedMDS(method=method).fit(beside)
    assert again.embedding_.tobytes() == found.embedding_.tobytes()


def test_a_callback_stops_a_scaling(groups):
    with pytest.raises(motet.Cancelled):
        AnnealedMDS(callback=lambda _: False).fit(groups)


def test_wrong_input_is_named(groups):
    for wrong, words in [
        (AnnealedMDS(metric="precomputed"), "square"),
        (AnnealedMDS(metric="cosine"), "metric is 'cosine'"),
        (AnnealedMDS(method="guess"), "method is"),
        (AnnealedMDS(0), "n_components is 0"),
        (AnnealedMDS(10**9), "n_components=1000000000 should be <= n_samples=300"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong.fit(groups)
    with pytest.raises(ValueError, match="n_samples=1"):
        AnnealedMDS().fit(groups[:1])
