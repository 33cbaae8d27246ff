#!/usr/bin/env python3
"""Writes the code that pages quote into the pages, so that a page shows today's source.

    tools/quote_code.py [--check] [PAGE...]

A page names its quote in a comment, and the tool writes the code between that comment and the next one:

    <!-- code: src/device/pipeline.cuh producer_drain_uniform -->
    <!-- end of code -->

The name is a function's or a type's. The tool quotes its definition without the comment above it. Two texts in quotes,
such as `"wgmma_fence();" "wgmma_commit_group();"`, quote the lines from the only one that holds the first text to the
next one that holds the second.

Without pages, the tool takes all of the project's. With --check it writes nothing, and the exit status is 1 if a page
is out of date. It is an error if a name or a text is not there, or is there twice.
"""

import argparse
import pathlib
import re
import sys

from documents import ROOT, documents

BEGIN = re.compile(r"^<!-- code: (\S+) (.+?) -->$")
END = "<!-- end of code -->"
FENCE = "```"
BETWEEN = re.compile(r'"(.+)" "(.+)"')


class QuoteError(Exception):
    pass


def definition_end(lines, start):
    """The last line of the definition that begins there, or None if no definition begins there."""
    depth = 0
    for i in range(start, len(lines)):
        code = re.sub(r"//.*", "", lines[i])
        for character in code:
            if character == ";" and depth == 0:
                return None
            if character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth == 0:
                    return i
    return None


def declaration_start(lines, line):
    """The first line of the declaration that the line is part of. It may begin with template parameters."""
    while line > 0 and lines[line - 1].strip() and not re.search(r"[;{}:]\s*$|^\s*//|^\s*#", lines[line - 1]):
        line -= 1
    return line


def by_name(lines, name):
    uses = re.compile(rf"\b{re.escape(name)}\b\s*\(|\b(?:struct|class)\s+(?:\w+\(\d+\)\s+)?{re.escape(name)}\b")
    calls = re.compile(rf"(?:[=.]\s*(?:template )?|\breturn\b.*){re.escape(name)}\b")
    found = set()
    for i, line in enumerate(lines):
        if uses.search(re.sub(r"//.*", "", line)) and not calls.search(line):
            start = declaration_start(lines, i)
            end = definition_end(lines, start)
            if end is not None:
                found.add((start, end))
    return found


def between(lines, first, last):
    found = set()
    for i, line in enumerate(lines):
        if first in line:
            end = next((j for j in range(i, len(lines)) if last in lines[j]), None)
            if end is not None:
                found.add((i, end))
    return found


def quoted(path, what):
    """The lines of code that a page's comment asks for."""
    file = ROOT / path
    if not file.is_file():
        raise QuoteError(f"there is no file {path}")
    lines = file.read_text(encoding="utf-8").splitlines()
    texts = BETWEEN.fullmatch(what)
    found = between(lines, *texts.groups()) if texts else by_name(lines, what)
    if len(found) != 1:
        raise QuoteError(f"{path} has {what} {len(found)} times instead of once")
    start, end = found.pop()
    return dedent(lines[start:end + 1])


def dedent(lines):
    """The lines without the indentation that they share. Lines of the preprocessor have none and do not count."""
    indented = [line for line in lines if line and not line.startswith("#")]
    shared = min((len(line) - len(line.lstrip()) for line in indented), default=0)
    return "\n".join(line if line.startswith("#") else line[shared:] for line in lines)


def with_quotes(text, page):
    """The page with the code that it asks for."""
    written = []
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        written.append(line)
        begin = BEGIN.match(line)
        if not begin:
            continue
        try:
            written += [f"{FENCE}cpp", quoted(*begin.groups()), FENCE, END]
        except QuoteError as error:
            raise QuoteError(f"{page}:{number}: {error}") from error
        below = next((old for _, old in lines if old == END or BEGIN.match(old)), None)
        if below != END:
            raise QuoteError(f"{page}:{number}: there is no {END} below")
    return "\n".join(written) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is out of date")
    arguments = parser.parse_args()
    stale = []
    try:
        for page in arguments.pages or documents():
            before = page.read_text(encoding="utf-8")
            if "<!-- code: " not in before:
                continue
            after = with_quotes(before, page)
            if after != before:
                stale.append(str(page))
                if not arguments.check:
                    page.write_text(after, encoding="utf-8")
    except (OSError, UnicodeDecodeError, QuoteError) as error:
        print(f"quote_code.py: {error}", file=sys.stderr)
        return 2
    if arguments.check and stale:
        print(f"quote_code.py: these pages do not show today's code: {', '.join(stale)}; run tools/quote_code.py",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
