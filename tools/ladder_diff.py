#!/usr/bin/env python3
"""Counts the lines that change from each version of a ladder to the next.

usage: ladder_diff.py [--check] [--most 120] [--ladder FOLDER]...
  --check  exit 1 if two neighbours differ in more than --most lines and the later one's header does not say why, in a
           line that begins `// Diff:`

A line counts when it is added or removed; the header above the first #include, and the number of the version, do not.
"""

import argparse
import difflib
import pathlib
import re
import sys

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "src/ladder"
LADDERS = [KERNELS / name for name in ("hopper", "ampere", "simt")]


def split_header(path):
    """The file's header and its other lines, with the version's own number taken out of them."""
    text = path.read_text(encoding="utf-8")
    start = text.index("#include")
    return text[:start], re.sub(r"\bv\d+\b", "vN", text[start:]).splitlines()


def changed_lines(before, after):
    return sum(line.startswith(("+", "-")) for line in difflib.ndiff(before, after))


def versions_in(ladder):
    """The files with the kernels of a ladder, in the order of their versions: the .cuh where that holds the kernel."""
    files = {}
    for path in sorted(ladder.glob("v[0-9]*_*.cu*"), key=lambda path: path.suffix):
        number = re.match(r"v(\d+)_", path.name)
        if number and "gemm_kernel(" in path.read_text(encoding="utf-8"):
            files[int(number[1])] = path
    return [files[number] for number in sorted(files)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail on a step that is too large and not explained")
    parser.add_argument("--most", type=int, default=120, help="lines that a step may change (default: 120)")
    parser.add_argument("--ladder", type=pathlib.Path, action="append", help="folder of the versions (default: each)")
    arguments = parser.parse_args()

    too_large = []
    for ladder in arguments.ladder or LADDERS:
        versions = versions_in(ladder)
        if len(versions) < 2:
            sys.exit(f"{ladder} holds {len(versions)} versions, and a step takes two")
        for path, next_path in zip(versions, versions[1:]):
            _, before = split_header(path)
            header, after = split_header(next_path)
            changed = changed_lines(before, after)
            explained = "\n// Diff:" in header
            print(f"{ladder.name}: {path.stem} -> {next_path.stem}: {changed} lines{', explained' if explained else ''}")
            if changed > arguments.most and not explained:
                too_large.append(f"{ladder.name}/{next_path.name}")
    if arguments.check and too_large:
        sys.exit(f"more than {arguments.most} changed lines, and no `// Diff:` line that says why: {', '.join(too_large)}")


if __name__ == "__main__":
    main()
