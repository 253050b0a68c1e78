"""Which methods of a class are operations of its service."""

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
