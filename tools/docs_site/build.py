#!/usr/bin/env python3
"""Builds the site of the project's pages and of the API reference, and checks its links; `./dev docs` calls it.

A warning of Sphinx or a link that leads nowhere makes the exit status 1.
"""

import argparse
import html.parser
import os
import pathlib
import shutil
import sys
import tempfile
import urllib.parse

SETTINGS = pathlib.Path(__file__).resolve().parent
ROOT = SETTINGS.parent.parent


class Page(html.parser.HTMLParser):
    """What a page links, and which anchors it has."""

    def __init__(self, path):
        super().__init__()
        self.links = []
        self.anchors = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def broken_links(site):
    """Each link within the site that leads nowhere: the page and the link."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            file = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(target.path))) if target.path else path
            anchors = pages[file].anchors if file in pages else {"", target.fragment}
            if not file.is_file() or urllib.parse.unquote(target.fragment) not in anchors:
                yield path.relative_to(site), link


def run_sphinx(builder, output, doctrees):
    from sphinx.cmd.build import build_main
    return build_main(["-b", builder, "-c", str(SETTINGS), "-d", str(doctrees), "--quiet", "--fail-on-warning",
                       "--keep-going", str(ROOT), str(output)])


def build(output, external):
    """Builds the site, and returns whether it has no fault. The site replaces what was in the folder before."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f"{output.name}.part.") as folder:
        site, doctrees = pathlib.Path(folder, "site"), pathlib.Path(folder, "doctrees")
        if run_sphinx("html", site, doctrees):
            return False
        shutil.copy(site / "README.html", site / "index.html")
        faults = list(broken_links(site))
        for page, link in faults:
            print(f"{page}: the link {link} leads nowhere", file=sys.stderr)
        if faults or (external and run_sphinx("linkcheck", pathlib.Path(folder, "linkcheck"), doctrees)):
            return False
        shutil.rmtree(output, ignore_errors=True)
        site.rename(output)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/docs", help="folder of the site")
    parser.add_argument("--external", action="store_true", help="also check the links to other sites")
    arguments = parser.parse_args()
    return 0 if build(arguments.output.resolve(), arguments.external) else 1


if __name__ == "__main__":
    sys.exit(main())
