#!/usr/bin/env python3
"""Writes the library's table of tuned configurations from the files of `matmul tune best --json`.

usage: generate_tuned_table.py [--check] [FILE...]
  --check  write nothing; exit 1 if the committed table differs from what would be written

FILE: profiles/h200/library_tuned*.json by default. If several files have a shape, the last measurement counts. The
table is src/gemm/heuristics/tuned_h200.inc. It belongs to the wgmma back end, so it has no configurations of the family
mma_sync. It is for a row-major A only.
"""

import argparse
import json
import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TABLE = REPOSITORY / "src" / "gemm" / "heuristics" / "tuned_h200.inc"
MAJOR_OF_B = {"col": "K", "row": "MN"}


def lines_of(files):
    """The table's lines, in the order of the files. If a problem comes twice, the later measurement counts."""
    problems = {}
    for file in files:
        for entry in json.loads(file.read_text()):
            # A file that has only row-major A may lack A's layout.
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
                 "type `./matmul tune best --suite library --json profiles/h200/library_tuned.json` to write one")
    text = "".join(lines_of(files))
    if not arguments.check:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        sys.exit(f"{TABLE.relative_to(REPOSITORY)} is not the table of these measurements; "
                 "run tools/generate_tuned_table.py")


if __name__ == "__main__":
    main()
