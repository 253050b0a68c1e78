"""How the documentation is built: `python -m sphinx -E -W docs target/site`, with motet there."""

import gzip
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import motet

project = "motet"
author = copyright = "the authors of motet"
version = release = motet.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinxcontrib.programoutput",
]
exclude_patterns = ["_made"]
html_theme = "furo"
html_title = "motet"

# Headings have the anchors that the links between the pages mean.
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
napoleon_use_ivar = True
napoleon_use_rtype = False

plot_formats = [("png", 144)]
plot_html_show_formats = False
plot_html_show_source_link = False

# Examples wait for what may never come: rather an error than a build that does not end.
doctest_test_doctest_blocks = ""

# What the program writes while the pages are read.
MADE = Path(__file__).parent / "_made"
MADE.mkdir(exist_ok=True)
html_extra_path = ["_made"]
programoutput_prompt_template = "$ {command}\n{output}"


def _make(_app):
    """Write a table, and run the program whose files the pages show."""
    everywhere = Path(__file__).parent.parent / "examples" / "data" / "places.csv.gz"
    with gzip.open(everywhere, "rt") as lines:
        head, *rows = lines
    (MADE / "places.csv").write_text("".join([head, *rows[::40]]))
    line = ["motet", "cluster", "places.csv", "--geo", "lat,lon", "-k", "8", "--out", "map"]
    subprocess.run([*line, "--quiet"], cwd=MADE, check=True, stdout=subprocess.DEVNULL)


def _read(_app, _name, text):
    """Links to pages that are no part of the site lead to the files; Rust has no options here."""
    text[0] = re.sub(r"\]\(((?:\.\./)+[^)#]*\.md)(?:#[^)]*)?\)", _link, text[0])
    text[0] = re.sub(r"^```rust,\w+$", "```rust", text[0], flags=re.MULTILINE)


def _link(found):
    path = found[1]
    return found[0] if path.startswith("../docs/") else f"](path:{path})"


def _skip(_app, _kind, name, _member, skip, _options):
    """What scikit-learn gives every estimator is described there."""
    theirs = name in ("get_metadata_routing", "set_output") or name.endswith("_request")
    return True if theirs else skip


def setup(app):
    """Begin with the program of this environment on the path."""
    scripts = sysconfig.get_path("scripts")
    os.environ["PATH"] = os.pathsep.join([scripts, os.environ["PATH"]])
    app.connect("builder-inited", _make)
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _skip)
