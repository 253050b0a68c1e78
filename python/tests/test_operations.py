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
