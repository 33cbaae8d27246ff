"""Sphinx's settings for the site that `./dev docs` builds. The project's root is the folder of the sources."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# tools/ comes last, because it has a profile.py, as Python has.
sys.path += [str(ROOT / "tools/docs_site"), str(ROOT / "examples/python"), str(ROOT / "tools")]
import chart_style  # noqa: E402
from documents import documents  # noqa: E402
from headers import Markup  # noqa: E402

project = "hopper-gemm"
copyright = "the authors of hopper-gemm; MIT licence"  # noqa: A001: Sphinx's name
release = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
html_title = f"hopper-gemm {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "headers", "code_pages"]
root_doc = "README"
include_patterns = [page.relative_to(ROOT).as_posix() for page in documents()] + ["docs/api/*.rst"]
exclude_patterns = ["build", ".deps", ".git"]
myst_heading_anchors = 6
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_theme_options = {
    "top_of_page_buttons": ["view"],
    "dark_css_variables": {"color-background-primary": chart_style.DARK[chart_style.BACKGROUND]},
}
html_favicon = "icon.svg"
html_static_path = ["site.css", "site.js"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_domain_indices = False
linkcheck_ignore = [r"(?!https?:)"]  # build.py checks all other links
linkcheck_timeout = 20

# The sidebar: the pages in the order in which they are best read, by the page that lists them.
SIDEBAR = {
    "README": """
The library: docs/usage, examples/README, docs/matmul, docs/library
How it works: docs/primer, docs/worklog-simt, docs/worklog-ampere, docs/worklog, docs/sass, PTX wrappers <ptx/README>, src/emulator/README
Measurements: docs/results, docs/comparison, profiles/h200/README, profiles/h100/README, profiles/experiments
Contributing: docs/hacking, CONTRIBUTING, CHANGELOG
Reference: docs/glossary, docs/api/cpp, docs/api/c, docs/api/python
""",
    "profiles/h200/README": "Profiles: profiles/h200/overview*, profiles/h200/v*, profiles/h200/ampere*, profiles/h200/simt*",
}


def add_sidebar(_app, page, text):
    """Markdown pages name no part of the sidebar, because GitHub would show it as text."""
    for line in SIDEBAR.get(page, "").strip().splitlines():
        caption, _, names = line.partition(": ")
        entries = "\n".join(re.sub(r"([\w/*-]+>?)$", r"/\1", name) for name in names.split(", "))
        text[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{entries}\n```\n"


def mark_up(_app, _what, _name, _object, _options, lines):
    """Docstrings of Python are plain prose, like comments in headers."""
    lines[:] = Markup({}, "python").lines(lines)


def setup(app):
    app.connect("source-read", add_sidebar)
    app.connect("autodoc-process-docstring", mark_up)
