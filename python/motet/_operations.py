"""The operations of a class that is served, and what a call gives them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["UNIFORM", "arguments", "operations"]

_STATE = ("get", "replace", "patch", "patch_json")
UNIFORM = (*_STATE, "lookup", "save", "drop", "subscribe", "unsubscribe")
_BY_POSITION = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


def operations(kind: type) -> dict[str, tuple[str, bool]]:
    """Give the operations of a class: what they are for, and whether they change the state."""
    found = {}
    for name, method in inspect.getmembers(kind, callable):
        changes = _changes(kind, name)
        if changes is not None:
            found[name] = inspect.getdoc(method) or "", changes
    if not found:
        raise TypeError(f"{kind.__name__} has no operation: mark methods with @query or @update")
    for name in found:
        if name in UNIFORM:
            raise TypeError(f"{kind.__name__}.{name}: every service has an operation of that name")
        if name.startswith("_"):
            raise TypeError(
                f"{kind.__name__}.{name}: others call an operation by its name, which begins with "
                "no underscore"
            )
    return found


def _changes(kind: type, name: str) -> bool | None:
    """Whether a method may change the state; `None` if it is no operation.

    One that takes the place of an operation of a base class is what that is, unless it is marked.
    """
    for base in kind.__mro__:
        method = vars(base).get(name)
        # A static method and a method of the class may be marked below and above.
        for marked in (method, getattr(method, "__func__", None)):
            changes = getattr(marked, "_motet_changes", None)
            if changes is not None:
                return bool(changes)
    return None


def arguments(
    method: Callable[..., Any], body: Any, named: bool | None = None
) -> inspect.BoundArguments:
    """Bind what a call brings: an argument, or arguments by their names.

    `named` is which, where the caller has said it: then a name that the method has not is refused.
    A dictionary that is said to be one argument has the arguments of a method that takes several.
    Raises `TypeError` with the arguments of the method when the body does not fit them.
    """
    signature = inspect.signature(method)
    try:
        if named and isinstance(body, dict):
            return signature.bind(**body)
        if named is None:
            return _guessed(signature, body)
        try:
            return signature.bind(body)
        except TypeError:
            if not isinstance(body, dict):
                raise
            return signature.bind(**body)
    except TypeError as error:
        name = getattr(method, "__name__", "the operation")
        raise TypeError(f"the body does not fit {name}{signature}: {error}") from None


def _guessed(signature: inspect.Signature, body: Any) -> inspect.BoundArguments:
    """Bind a body of which nobody has said what it is, as that of a plain request.

    A dictionary with the name of an argument has arguments by their names.
    """
    taken = signature.parameters.values()
    places = [one for one in taken if one.kind in _BY_POSITION]
    needed = any(one.default is one.empty for one in places)
    several = any(one.kind is one.VAR_POSITIONAL for one in taken)
    any_name = any(one.kind is one.VAR_KEYWORD for one in taken)
    if isinstance(body, dict):
        known = bool(set(body) & set(signature.parameters)) or (any_name and not needed)
        if known or not (body or needed) or not (places or several):
            return signature.bind(**body)
    return signature.bind() if body is None else signature.bind(body)
