#!/usr/bin/env python3
"""Writes the library's table of tuned configurations from what `matmul tune best --json` measured.

usage: generate_tuned_table.py [--check] [FILE...]
  --check  write nothing; exit 1 if the committed table differs from what would be written

FILE: profiles/h200/library_tuned*.json unless given; of a shape in several, what was measured last counts. The table is
src/gemm/heuristics/tuned_h200.inc. Of configurations of the family mma_sync nothing is written: the table is the
wgmma back end's. Nor is anything of a column-major A: the table is for a row-major one.
"""

import argparse
import json
import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TABLE = REPOSITORY / "src" / "gemm" / "heuristics" / "tuned_h200.inc"
MAJOR_OF_B = {"col": "K", "row": "MN"}


def lines_of(files):
    """The table's lines, in the order of the files; of a problem that comes twice the later measurement counts."""
    problems = {}
    for file in files:
        for entry in json.loads(file.read_text()):
            # A file of row-major A alone may not name A's layout.
            if entry["version"] != "best" or entry.get("a", "row") != "row":
                continue
            problem = entry["m"], entry["n"], entry["k"], MAJOR_OF_B[entry["b"]]
            if problem not in problems or problems[problem]["date"] < entry["date"]:
                problems[problem] = entry
    for (m, n, k, major), entry in problems.items():
        if not entry["config"].startswith("mma_sync_"):
            yield f'    {{{{{m}, {n}, {k}}}, OperandMajor::{major}, "{entry["config"]}"}},\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    files = arguments.files or sorted((REPOSITORY / "profiles" / "h200").glob("library_tuned*.json"))
    if not files:
        sys.exit("generate_tuned_table.py: there is no profiles/h200/library_tuned*.json; "
                 "`matmul tune best --suite library --json profiles/h200/library_tuned.json` writes one")
    text = "".join(lines_of(files))
    if not arguments.check:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        sys.exit(f"{TABLE.relative_to(REPOSITORY)} is not what the measurements say: run tools/generate_tuned_table.py")


if __name__ == "__main__":
    main()
