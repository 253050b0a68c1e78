"""Which methods of a class are operations of its service."""

import numpy
import pytest

from motet.service import Fault, Node, connect, query, service, update


@service
class Scale:
    weights: dict = {}

    def __init__(self):
        self.state = {"grams": 0}

    @staticmethod
    @query
    def pounds(grams):
        return grams / 453.59237

    @query
    @classmethod
    def known(cls, name):
        return cls.weights.get(name)

    @classmethod
    @update
    def teach(cls, name, grams):
        cls.weights[name] = grams

    @query
    def path(self):
        return "to the scale"

    @staticmethod
    def hidden():
        return 0


def test_sem_g457_static_methods_and_those_of_a_class_are_operations_when_they_are_marked():
    with Node() as node:
        node.add("/scale", Scale())
        scale = connect(node.url)["/scale"]
        assert scale.pounds(453.59237).blocking(60) == 1
        scale.teach(name="pear", grams=200).blocking(60)
        assert scale.known("pear").blocking(60) == 200
        # What the handle has by itself is called by its name.
        assert scale.path == "/scale" and scale.call("path").blocking(60) == "to the scale"
        with pytest.raises(Fault, match="it has known, path, pounds, teach"):
            scale.hidden().blocking(60)


@service
class Counted:
    def __init__(self):
        self.state = {"sum": numpy.int64(0), "mean": numpy.float32(0.5)}

    @update
    def add(self, number):
        self.state["sum"] += number
        return self.state["sum"] > 3

    @query
    def all(self):
        return numpy.arange(3)


def test_numbers_of_numpy_are_numbers_in_bodies_states_and_answers():
    with Node() as node:
        node.add("/counted", Counted())
        counted = connect(node.url)["/counted"]
        assert counted.add(numpy.uint8(4)).blocking(60) is True
        assert counted.get().blocking(60).state == {"sum": 4, "mean": 0.5}
        with pytest.raises(TypeError, match=r"ndarray is not JSON.*x\.tolist\(\)"):
            counted.add(numpy.arange(3))
        with pytest.raises(Fault, match=r"x\.tolist\(\)"):
            counted.all().blocking(60)
        for wrong in (numpy.float64("nan"), numpy.float32("inf"), numpy.complex64(1), {1, 2}):
            with pytest.raises((TypeError, ValueError), match="JSON"):
                counted.add(wrong)


@service
class Base:
    """Operations of several shapes."""

    def __init__(self):
        self.state = {}

    @query
    def item(self, item):
        return item

    @query
    def fields(self, **fields):
        return fields

    @query
    def one_and_fields(self, one, **fields):
        return [one, fields]

    @query
    def optional(self, item="none"):
        return item

    @query
    def two(self, first, second):
        return [first, second]


class Derived(Base):
    """Marks an operation more, and changes one, without being marked itself."""

    @update
    def extra(self):
        return "extra"

    def optional(self, item="derived"):
        return item


def test_sem_g457_bodies_of_all_shapes_come_as_they_are():
    with Node() as node:
        node.add("/base", Base())
        base = connect(node.url)["/base"]
        for call, answer in [
            (lambda: base.item({}), {}),
            (lambda: base.item([]), []),
            (lambda: base.item(0), 0),
            (lambda: base.item({"other": 1}), {"other": 1}),
            (lambda: base.item(item=1), 1),
            (lambda: base.fields(a=1, b=2), {"a": 1, "b": 2}),
            (lambda: base.fields(), {}),
            (lambda: base.fields({}), {}),
            (lambda: base.one_and_fields(one=1, a=2), [1, {"a": 2}]),
            (lambda: base.one_and_fields({"a": 2}), [{"a": 2}, {}]),
            (lambda: base.optional({}), "none"),
            (lambda: base.two(first=1, second=2), [1, 2]),
        ]:
            assert call().blocking(60) == answer
        with pytest.raises(TypeError, match=r"two takes one body.*got 2 bodies.*two\(name=value"):
            base.two(1, 5)
        with pytest.raises(Fault, match=r"does not fit two\(first, second\)"):
            base.two(1).blocking(60)


def test_sem_g457_a_class_derived_from_a_service_has_its_own_operations_too():
    with Node() as node:
        node.add("/derived", Derived())
        derived = connect(node.url)["/derived"]
        assert derived.extra().blocking(60) == "extra"
        assert derived.item(3).blocking(60) == 3
        assert derived.optional().blocking(60) == "derived"
