#!/usr/bin/env python3
"""Counts the lines that change from each version of a ladder to the next.

usage: ladder_diff.py [--check] [--most 120] [--ladder FOLDER]...
  --check  exit 1 if two neighbours differ in more than --most lines and the later one's header does not say why, in a
           line that begins `// Diff:`

Each added and each removed line counts. The header above the first #include and the version's number do not count.
"""

import argparse
import difflib
import pathlib
import re
import sys

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "src/ladder"
LADDERS = [KERNELS / name for name in ("hopper", "ampere", "simt")]


def split_header(path):
    """The file's header and its other lines, without the version's own number."""
    text = path.read_text(encoding="utf-8")
    start = text.index("#include")
    return text[:start], re.sub(r"\bv\d+\b", "vN", text[start:]).splitlines()


def changed_lines(before, after):
    return sum(line.startswith(("+", "-")) for line in difflib.ndiff(before, after))


def versions_in(ladder):
    """The files with a ladder's kernels, in the order of their versions. If a .cuh holds the kernel, it is that
    file."""
    files = {}
    for path in sorted(ladder.glob("v[0-9]*_*.cu*"), key=lambda path: path.suffix):
        number = re.match(r"v(\d+)_", path.name)
        if number and "gemm_kernel(" in path.read_text(encoding="utf-8"):
            files[int(number[1])] = path
    return [files[number] for number in sorted(files)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true",
                        help="fail if a step is too large and its header does not say why")
    parser.add_argument("--most", type=int, default=120, help="the most lines that a step may change (default: 120)")
    parser.add_argument("--ladder", type=pathlib.Path, action="append",
                        help="folder of a ladder's versions; repeatable (default: every ladder)")
    arguments = parser.parse_args()

    too_large = []
    for ladder in arguments.ladder or LADDERS:
        versions = versions_in(ladder)
        if len(versions) < 2:
            sys.exit(f"{ladder} holds {len(versions)} versions, but a step needs two")
        for path, next_path in zip(versions, versions[1:]):
            _, before = split_header(path)
            header, after = split_header(next_path)
            changed = changed_lines(before, after)
            explained = "\n// Diff:" in header
            print(f"{ladder.name}: {path.stem} -> {next_path.stem}: {changed} lines{', explained' if explained else ''}")
            if changed > arguments.most and not explained:
                too_large.append(f"{ladder.name}/{next_path.name}")
    if arguments.check and too_large:
        sys.exit(f"these steps change more than {arguments.most} lines and have no `// Diff:` line that says why: "
                 f"{', '.join(too_large)}")


if __name__ == "__main__":
    main()
