#!/usr/bin/env python3
"""Writes the tables of docs/results.md from the CSV files that `matmul <ladder> --mode both --csv` wrote.

    tools/generate_results.py [--profiles profiles/h200] [--page docs/results.md] [--root .] [--check]

The tool writes a table for each ladder between `<!-- results:begin <ladder> -->` and `<!-- results:end <ladder> -->`,
and changes nothing else. The table of the Hopper ladder is from ladder.csv at 8192x8192x8192, the others are from
ampere.csv and simt.csv at 4096x4096x4096. A table shows the versions, cuBLAS (version 0) and what was measured beside
them, such as the wgmma ceiling or CUTLASS. A version links to its kernel in src/ladder, and its name to its profile
beside the CSV file. The ladder's chart stands above the table, if tools/plot.py has drawn one. If there is no CSV file,
a line says which command measures it.

Between the markers of `library` it writes the means of library.csv, which `matmul best --suite library` wrote, and all
shapes in a fold. Without that file it writes nothing there. It refuses rows that must not be published; see
tools/ladder_results.py.

With --check it writes nothing, and the exit status is 1 if the page is out of date.
"""

import argparse
import os
import pathlib
import statistics
import sys

import ladder_results
import profile  # tools/profile.py, not the standard library's
from ladder_results import BASELINE, BEST, CUTLASS, LADDERS, ROOT, ResultsError, speed_text


# If cuBLAS has no fast kernel for a problem, a mean over all problems says little about the others.
UNCOMMON_PERCENT = 200
LIBRARY = "library"
LAYOUTS = {"row": "row-major", "col": "column-major"}


def markers(name):
    return f"<!-- results:begin {name} -->", f"<!-- results:end {name} -->"


def percent(text):
    return f"{float(text):.1f} %" if text else ""


def percent_of(row, other):
    return f"{float(row['tflops']) / float(other['tflops']) * 100:.1f} %"


def gain(row, previous):
    """How much faster `row` is than `previous`, the version before it on the ladder."""
    if previous is None:
        return ""
    return f"{(float(row['tflops']) / float(previous['tflops']) - 1) * 100:+.1f} %"


def measured_cells(row, rows):
    """The speed of `row`, also in percent of cuBLAS's and, if CUTLASS was measured, of CUTLASS's."""
    cells = [speed_text(float(row["tflops"])), percent(row["percent_of_cublas"])]
    if CUTLASS in rows:
        cells.append(percent_of(row, rows[CUTLASS]))
    return cells


def markdown_line(cells):
    return "| " + " | ".join(cells) + " |"


def header_sentence(row, operands):
    return (
        f"Measured on one {row['gpu']} ({row['sm_count']} SMs) at commit {row['commit']} on {row['date'][:10]}, "
        f"CUDA {row['cuda']}" + (f", driver {row['driver']}" if row["driver"] else "") +
        f", {operands}, {row['data']} inputs, median of {row['rounds']} interleaved rounds, by "
        f"`./{row['command']}`."
    )


def table_lines(ladder, by_mode, link_of):
    """link_of: returns the cells of a version and of its name."""
    burst = by_mode["burst"]
    sustained = by_mode.get("sustained", {})
    titles = ["version", "name", "the one idea", "TFLOP/s (burst)", f"% of {ladder.baseline}"]
    if CUTLASS in burst:
        titles.append("% of CUTLASS")
    titles.append("gain over previous")
    if sustained:
        titles += ["TFLOP/s (sustained)", f"% of {ladder.baseline} (sustained)"]
    if CUTLASS in sustained:
        titles.append("% of CUTLASS (sustained)")
    alignment = ["---"] * 3 + ["---:"] * (len(titles) - 3)
    lines = [markdown_line(titles), markdown_line(alignment)]
    previous = None
    for version, row in burst.items():
        on_ladder = ladder.holds(version)
        cells = [*link_of(row), row["idea"].replace("|", "\\|"), *measured_cells(row, burst),
                 gain(row, previous if on_ladder else None)]
        if version in sustained:
            cells += measured_cells(sustained[version], sustained)
        lines.append(markdown_line(cells + [""] * (len(titles) - len(cells))))
        if on_ladder:
            previous = row
    first = next(iter(burst.values()))
    # Without that column the type is the ladder's only one.
    operands = f"at {ladder.shape}" + (f", {first['type']}" if "type" in first else "")
    return [*lines, "", header_sentence(first, operands)]


def link_to(path, page):
    """The path as the page writes it."""
    return pathlib.Path(os.path.relpath(path.resolve(), page.resolve().parent)).as_posix()


def source_of(version, ladder, root):
    """The file of the kernel below the root of the project, if it is there."""
    number = int(version.rpartition(".")[2])
    stem = f"v{number:02}" if ladder.name == "hopper" else f"v{number}"
    found = (root / "src/ladder" / ladder.name).glob(f"{stem}_*.cu*")
    # If there is a header, it holds the kernel.
    return max(found, key=lambda path: path.suffix, default=None)


def links_of(row, ladder, profiles, page, root):
    """The cells of the version and of its name."""
    version, name = row["version"], row["name"]
    if not ladder.holds(version):
        return version, name
    source = source_of(version, ladder, root)
    notes = profiles / f"{profile.file_stem(version)}.md"
    return (f"[{version}]({link_to(source, page)})" if source else version,
            f"[{name}]({link_to(notes, page)})" if notes.exists() else name)


def results_text(ladder, profiles, page, root):
    """The generated part of the page for one ladder, without the markers."""
    path = profiles / ladder.file
    if not path.exists():
        command = f"./dev bench {ladder.arguments} --mode both --csv {os.path.relpath(path, root)}"
        return f"Not measured yet: `{command}` does it, on {ladder.gpus}."
    lines = table_lines(ladder, ladder_results.read_results(path, ladder),
                        lambda row: links_of(row, ladder, profiles, page, root))
    chart = profiles / f"{ladder.name}.svg"
    if chart.exists():
        title = f"TFLOP/s of each version of the {ladder.name} ladder at {ladder.shape}"
        lines = [f"![{title}]({link_to(chart, page)})", "", *lines]
    return "\n".join(lines)


def microseconds(row):
    return f"{float(row['time_median_us']):.1f}"


def library_lines(by_shape):
    rows = [row for by_mode in by_shape.values() for by_version in by_mode.values() for row in by_version.values()]
    modes = sorted({row["mode"] for row in rows})
    titles = ["shape MxNxK", "configuration"]
    for mode in modes:
        titles += [f"us ({mode})", f"cuBLAS us ({mode})", f"% of cuBLAS ({mode})"]
    alignment = ["---"] * 2 + ["---:"] * (len(titles) - 2)
    # A file that has only row-major A may lack the column of A's layout.
    other_a = f"A {LAYOUTS['col']}, " if rows[0].get("a") == "col" else ""
    operands = f"{rows[0]['type']}, {other_a}B {LAYOUTS[rows[0]['b']]}"
    lines = [markdown_line(titles), markdown_line(alignment)]
    percents = {mode: [] for mode in modes}
    for shape, by_mode in by_shape.items():
        cells = [shape, by_mode["burst"][BEST].get("config", "")]
        for mode in modes:
            best = by_mode[mode][BEST]
            cells += [microseconds(best), microseconds(by_mode[mode][BASELINE]), percent(best["percent_of_cublas"])]
            percents[mode].append(float(best["percent_of_cublas"]))
        lines.append(markdown_line(cells))
    means = [mean_line(f"all {len(by_shape)} shapes", [percents[mode] for mode in modes])]
    common = [[value for value in percents[mode] if value <= UNCOMMON_PERCENT] for mode in modes]
    if all(common) and any(len(of_mode) < len(by_shape) for of_mode in common):
        means.insert(0, mean_line(f"without those above {UNCOMMON_PERCENT} %", common))
    title = "% of cuBLAS, geometric mean (minimum)"
    return [markdown_line([title, *modes]), markdown_line(["---"] + ["---:"] * len(modes)), *means, "", header_sentence(rows[0], operands), "",
            f"<details><summary>All {len(by_shape)} shapes</summary>", "", *lines, "", "</details>"]


def mean_line(title, percents):
    """The line that sums up. `percents` has a list for each mode."""
    return markdown_line([title, *(f"{statistics.geometric_mean(of_mode):.1f} % ({min(of_mode):.1f} %)"
                                   for of_mode in percents)])


def library_text(profiles):
    """The generated part of the page for the library, without the markers."""
    path = profiles / ladder_results.LIBRARY_FILE
    return "\n".join(library_lines(ladder_results.read_library_results(path))) if path.exists() else ""


def replace_results(page_text, name, text):
    """Replaces the part of `page_text` between the markers of that name by `text`."""
    begin_marker, end_marker = markers(name)
    begin = page_text.find(begin_marker)
    end = page_text.find(end_marker)
    if begin < 0 or end < begin:
        raise ResultsError(f"the page has no {begin_marker} followed by {end_marker}")
    return page_text[: begin + len(begin_marker)] + "\n" + (text + "\n" if text else "") + page_text[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiles", type=pathlib.Path, default=ladder_results.DEFAULT_FOLDER,
                        help="the folder of the CSV files (default: profiles/h200)")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/results.md")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="where src/ladder is")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is out of date")
    arguments = parser.parse_args()
    try:
        if not arguments.profiles.is_dir():
            raise ResultsError(f"there is no folder {arguments.profiles}")
        before = arguments.page.read_text(encoding="utf-8")
        after = before
        for ladder in LADDERS:
            after = replace_results(after, ladder.name, results_text(ladder, arguments.profiles, arguments.page, arguments.root))
        after = replace_results(after, LIBRARY, library_text(arguments.profiles))
    except (OSError, UnicodeDecodeError, ResultsError) as error:
        print(f"generate_results.py: {error}", file=sys.stderr)
        return 2
    if arguments.check and before != after:
        print(f"generate_results.py: {arguments.page} is out of date; run tools/generate_results.py",
              file=sys.stderr)
        return 1
    if before != after:
        arguments.page.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
