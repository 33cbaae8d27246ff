#!/usr/bin/env python3
"""Counts the lines that change from each version of the Hopper ladder to the next.

usage: ladder_diff.py [--check] [--most 120]
  --check  exit 1 if two neighbours differ in more than --most lines and the later one's header does not say why, in a
           line that begins `// Diff:`

A line counts when it is added or removed; the header above the first #include, and the number of the version, do not.
"""

import argparse
import difflib
import pathlib
import re
import sys

LADDER = pathlib.Path(__file__).resolve().parent.parent / "src/kernels/hopper"


def split_header(path):
    """The file's header and its other lines, with the version's own number taken out of them."""
    text = path.read_text(encoding="utf-8")
    start = text.index("#include")
    return text[:start], re.sub(r"\bv\d\d\b", "vNN", text[start:]).splitlines()


def changed_lines(before, after):
    return sum(line.startswith(("+", "-")) for line in difflib.ndiff(before, after))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail on a step that is too large and not explained")
    parser.add_argument("--most", type=int, default=120, help="lines that a step may change (default: 120)")
    parser.add_argument("--ladder", type=pathlib.Path, default=LADDER, help="folder of the versions")
    arguments = parser.parse_args()

    versions = sorted(arguments.ladder.glob("v[0-9][0-9]_*.cu"))
    if len(versions) < 2:
        sys.exit(f"{arguments.ladder} holds {len(versions)} versions, and a step takes two")
    too_large = []
    for path, next_path in zip(versions, versions[1:]):
        _, before = split_header(path)
        header, after = split_header(next_path)
        changed = changed_lines(before, after)
        explained = "\n// Diff:" in header
        print(f"{path.stem} -> {next_path.stem}: {changed} lines{', explained' if explained else ''}")
        if changed > arguments.most and not explained:
            too_large.append(next_path.name)
    if arguments.check and too_large:
        sys.exit(f"more than {arguments.most} changed lines, and no `// Diff:` line that says why: {', '.join(too_large)}")


if __name__ == "__main__":
    main()
