#!/usr/bin/env python3
"""Writes the results table of README.md from a CSV file that `matmul all --mode both --csv` wrote.

The table stands between `<!-- results:begin -->` and `<!-- results:end -->`; everything else is left alone. It shows the
rows at 8192x8192x8192 of the ladder, of cuBLAS (version 0) and of the wgmma ceiling. Results that are not verified, not
of normal data, or not of a commit are refused. With --check nothing is written: the exit status is 1 when the README is
not what would be written.
"""

import argparse
import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- results:begin -->"
END = "<!-- results:end -->"
SHAPE = ("8192", "8192", "8192")
BASELINE = "0"
CEILING = "ceiling"
CUTLASS = "cutlass"
DEFAULT_CSV = ROOT / "profiles/h200/ladder.csv"


class TableError(Exception):
    """What is wrong with the input, as one sentence."""


def check_row(path, row):
    """Refuses what must not be published."""
    which = f"{path}: version {row['version']} at {row['m']}x{row['n']}x{row['k']} ({row['mode']})"
    if row["version"] != CEILING and row["verified"] != "yes":
        raise TableError(f"{which} is not verified but '{row['verified']}'")
    if row["data"] != "normal":
        raise TableError(f"{which} was measured on '{row['data']}' data instead of normal")
    if not row["commit"] or row["commit"] == "unknown" or row["commit"].endswith("-dirty"):
        raise TableError(f"{which} was measured at commit '{row['commit']}', which nobody else can check out")


def read_rows(path):
    """The measured rows of the CSV at SHAPE, as {mode: {version: row}} in the file's order."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    by_mode = {}
    for row in rows:
        check_row(path, row)
        if (row["m"], row["n"], row["k"]) == SHAPE and row["tflops"]:
            by_mode.setdefault(row["mode"], {})[row["version"]] = row
    if "burst" not in by_mode:
        raise TableError(f"{path} has no measured burst rows at {'x'.join(SHAPE)}")
    return by_mode


def percent(text):
    return f"{float(text):.1f} %" if text else ""


def gain(row, previous):
    """How much faster `row` is than `previous`, the version before it on the ladder."""
    if previous is None:
        return ""
    return f"{(float(row['tflops']) / float(previous['tflops']) - 1) * 100:+.1f} %"


def table_row(row, previous, sustained):
    """The cells of one version; `sustained` is its row in that mode, None if it has none."""
    cells = [row["version"], row["name"], row["idea"].replace("|", "\\|")]
    cells += [f"{float(row['tflops']):.0f}", percent(row["percent_of_cublas"]), gain(row, previous)]
    if sustained is not None:
        cells += [f"{float(sustained['tflops']):.0f}", percent(sustained["percent_of_cublas"])]
    return cells


def markdown_line(cells):
    return "| " + " | ".join(cells) + " |"


def header_sentence(row):
    return (
        f"Measured on one {row['gpu']} ({row['sm_count']} SMs) at commit {row['commit']} on {row['date'][:10]}, "
        f"CUDA {row['cuda']}" + (f", driver {row['driver']}" if row["driver"] else "") + ", at "
        f"{'x'.join(SHAPE)}, {row['data']} inputs, median of {row['rounds']} interleaved rounds, by "
        f"`build/release/{row['command']}`."
    )


def results_text(by_mode):
    """The generated part of the README, without the markers."""
    burst = by_mode["burst"]
    sustained = by_mode.get("sustained", {})
    titles = ["version", "name", "the one idea", "TFLOP/s (burst)", "% of cuBLAS", "gain over previous"]
    if sustained:
        titles += ["TFLOP/s (sustained)", "% of cuBLAS (sustained)"]
    alignment = ["---"] * 3 + ["---:"] * (len(titles) - 3)
    lines = [header_sentence(next(iter(burst.values()))), "", markdown_line(titles), markdown_line(alignment)]
    previous = None
    for version, row in burst.items():
        on_ladder = version not in (BASELINE, CEILING, CUTLASS)
        cells = table_row(row, previous if on_ladder else None, sustained.get(version))
        lines.append(markdown_line(cells + [""] * (len(titles) - len(cells))))
        if on_ladder:
            previous = row
    return "\n".join(lines)


def missing_text():
    path = DEFAULT_CSV.relative_to(ROOT)
    return f"No results yet: `./dev bench all --mode both --csv {path}` measures them on an H100 or H200."


def replace_results(readme, text):
    """`readme` with what stands between the markers replaced by `text`."""
    begin = readme.find(BEGIN)
    end = readme.find(END)
    if begin < 0 or end < begin:
        raise TableError(f"the README has no {BEGIN} followed by {END}")
    return readme[: begin + len(BEGIN)] + "\n" + text + "\n" + readme[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv", nargs="?", type=pathlib.Path, help="default: profiles/h200/ladder.csv, if it exists")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the README is out of date")
    arguments = parser.parse_args()
    path = arguments.csv or DEFAULT_CSV
    try:
        # A file that is not there is an error, unless nobody asked for it.
        nothing_yet = arguments.csv is None and not path.exists()
        text = missing_text() if nothing_yet else results_text(read_rows(path))
        before = arguments.readme.read_text(encoding="utf-8")
        after = replace_results(before, text)
    except (OSError, KeyError, ValueError, csv.Error, TableError) as error:
        reasons = {KeyError: f"{path} has no column {error}", ValueError: f"{path} cannot be read: {error}",
                   csv.Error: f"{path} is no CSV file: {error}"}
        reason = next((text for kind, text in reasons.items() if isinstance(error, kind)), error)
        print(f"generate_readme_table.py: {reason}", file=sys.stderr)
        return 2
    if arguments.check and before != after:
        print("generate_readme_table.py: the README's results are out of date; run tools/generate_readme_table.py",
              file=sys.stderr)
        return 1
    if before != after:
        arguments.readme.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
