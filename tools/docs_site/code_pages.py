"""Gives each source file that a page links a page of the site, with colored code, so that the link leads there.

In reStructuredText the role `code-file` makes such a link.
"""

import pathlib
import posixpath

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

logger = logging.getLogger(__name__)

LANGUAGES = {".cuh": "cuda", ".hpp": "cpp", ".h": "c", ".inc": "cpp", ".in": "c"}
DATA = {".csv", ".json", ".svg"}  # the browser shows or saves these as they are


def files_of(env):
    """The files that pages link, by page."""
    if not hasattr(env, "code_files"):
        env.code_files = {}
    return env.code_files


def link_to(env, path):
    """The address of a file's page as the page that is being read sees it. Notes that the file needs one."""
    files_of(env).setdefault(env.docname, set()).add(path)
    return posixpath.relpath(f"code/{path}.html", posixpath.dirname(env.docname) or ".")


def path_in_project(env, target):
    root = pathlib.Path(env.srcdir)
    path = (root / posixpath.dirname(env.docname) / target).resolve()
    return path.relative_to(root).as_posix() if root in path.parents else None


class CodeLinks(SphinxTransform):
    """Lets links to source files lead to their pages. A link to a folder becomes text, because a site has no folders."""

    default_priority = 5

    def apply(self, **_options):
        for node in list(self.document.findall(addnodes.download_reference)):
            path = path_in_project(self.env, node["reftarget"])
            if path and pathlib.PurePath(path).suffix not in DATA:
                node.replace_self(nodes.reference("", "", *node.children, refuri=link_to(self.env, path)))
        for node in list(self.document.findall(addnodes.pending_xref)):
            path = path_in_project(self.env, node["reftarget"])
            if path and (pathlib.Path(self.env.srcdir) / path).is_dir():
                node.replace_self(node.children)


class CodeFile(SphinxRole):
    def run(self):
        if not (pathlib.Path(self.env.srcdir) / self.text).is_file():
            logger.warning("there is no file %s", self.text, location=self.get_location())
        uri = link_to(self.env, self.text)
        return [nodes.reference("", "", nodes.literal(self.rawtext, self.text), refuri=uri)], []


def language_of(path):
    suffix = pathlib.PurePath(path).suffix
    if suffix in LANGUAGES:
        return LANGUAGES[suffix]
    try:
        return get_lexer_for_filename(path).aliases[0]
    except ClassNotFound:
        return "text"


def code_pages(app):
    """Each page: its name, what the template needs, and the template."""
    for path in sorted(set().union(*files_of(app.env).values())):
        text = (pathlib.Path(app.srcdir) / path).read_text(encoding="utf-8")
        body = app.builder.highlighter.highlight_block(text, language_of(path))
        yield f"code/{path}", {"title": path, "body": f"<h1><code>{path}</code></h1>{body}"}, "page.html"


def forget(_app, env, name):
    files_of(env).pop(name, None)


def setup(app):
    app.add_transform(CodeLinks)
    app.add_role("code-file", CodeFile())
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", code_pages)
    return {"parallel_read_safe": False}
