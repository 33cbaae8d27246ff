#!/usr/bin/env python3
"""Writes the library's tables of tuned configurations from the files of `matmul tune best --json`.

usage: generate_tuned_table.py [--check]
  --check  write nothing; exit 1 if a committed table differs from what would be written

Each GPU has a table, src/gemm/heuristics/tuned_h200.inc for example, from profiles/h200/library_tuned*.json. If several
files have a shape, the last measurement counts. The tables belong to the wgmma back end, so they have no configurations of
the family mma_sync. They are for the product alone and a row-major A.
"""

import argparse
import json
import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
GPUS = "h100", "h200"
MAJOR_OF_B = {"col": "K", "row": "MN"}


def entries_of(file):
    """The configurations of a file. Earlier versions of matmul wrote an array, in which each has the date of its run."""
    content = json.loads(file.read_text())
    if isinstance(content, list):
        return content
    if (content["format"], content["version"]) != ("hopper-gemm tuning", 1):
        sys.exit(f"generate_tuned_table.py: {file} has the format {content['format']!r} of version {content['version']}, "
                 "but this tool reads 'hopper-gemm tuning' of version 1")
    return [{"date": content["date"], **entry} for entry in content["configs"]]


def is_product_alone(entry):
    """Whether it has no operation beside the product. A file that has only products may lack these fields."""
    plain = {"a": "row", "out": entry["type"], "bias": "none", "activation": "none", "gated": False, "batch": 1}
    return all(entry.get(field, value) == value for field, value in plain.items())


def lines_of(files):
    """The table's lines, in the order of the files. If a problem comes twice, the later measurement counts."""
    problems = {}
    for file in files:
        for entry in entries_of(file):
            if entry["version"] != "best" or not is_product_alone(entry):
                continue
            problem = entry["m"], entry["n"], entry["k"], MAJOR_OF_B[entry["b"]]
            if problem not in problems or problems[problem]["date"] < entry["date"]:
                problems[problem] = entry
    for (m, n, k, major), entry in problems.items():
        if not entry["config"].startswith("mma_sync_"):
            yield f'    {{{{{m}, {n}, {k}}}, OperandMajor::{major}, "{entry["config"]}"}},\n'


def table_of(gpu):
    """The path of a GPU's table, and what it must hold."""
    files = sorted((REPOSITORY / "profiles" / gpu).glob("library_tuned*.json"))
    if not files:
        sys.exit(f"generate_tuned_table.py: there is no profiles/{gpu}/library_tuned*.json; "
                 f"type `./matmul tune best --suite library --json profiles/{gpu}/library_tuned.json` to write one")
    return REPOSITORY / "src" / "gemm" / "heuristics" / f"tuned_{gpu}.inc", "".join(lines_of(files))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    for path, text in map(table_of, GPUS):
        if not arguments.check:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.relative_to(REPOSITORY)} is not the table of these measurements; "
                     "run tools/generate_tuned_table.py")


if __name__ == "__main__":
    main()
