"""Results as notebooks show them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from motet._callbacks import CallbackSupportMixin

__all__ = ["Shown", "span"]


def span(values: Iterable[float]) -> str:
    """Numbers beside each other, the first of many."""
    values = list(values)
    told = ", ".join(f"{value:.4g}" for value in values[:8])
    return f"{told}, …" if len(values) > 8 else told


class Shown(CallbackSupportMixin):
    """An estimator that a notebook shows with a table of what it has found."""

    def _results(self) -> tuple[Sequence[str], Iterable[Sequence[Any]], str] | None:
        """The head and the rows of the table, and a line below; nothing before the fit."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        told = f"<pre>{html.escape(repr(self))}</pre>"
        results = self._results()
        if results is None:
            return told
        head, rows, foot = results
        lines = ["".join(f"<th>{html.escape(str(cell))}</th>" for cell in head)]
        lines += ["".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows]
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"{told}<table>{table}</table><p>{html.escape(foot)}</p>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        # scikit-learn's base has one too, and notebooks prefer it to `_repr_html_`.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
