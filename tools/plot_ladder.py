#!/usr/bin/env python3
"""Draws a chart of each ladder, as SVG beside the CSV file that it is from: hopper.svg, ampere.svg, simt.svg.

    tools/plot_ladder.py [--profiles profiles/h200] [LADDER...]

A bar is the speed of a version in bursts; lines are cuBLAS and what else was measured in the same rounds: CUTLASS, the
wgmma ceiling, the library's own choice. GPU, commit, shape and date stand beside them. A ladder whose CSV is not there
is left out, unless it was named. What must not be published is refused, see tools/ladder_results.py. Run again on the
same data with the same matplotlib, it writes the same files. `./dev plots` installs that matplotlib and runs this.
"""

import argparse
import dataclasses
import pathlib
import sys

import ladder_results
from ladder_results import BASELINE, CEILING, CUTLASS, LADDERS, ResultsError, speed_text

# What a line is called, and how it is drawn; the baseline is called what it is on its ladder.
LINES = {
    BASELINE: ("", "-"),
    CUTLASS: ("CUTLASS", "--"),
    "best": ("the library's choice", "-."),
    CEILING: ("wgmma ceiling", ":"),
}

BAR_COLOR = "#5b84b1"
INK = "#24292f"
MUTED = "#57606a"
GRID = "#d8dee4"

WIDTH = 9.0  # of a chart, in inches
BAR_HEIGHT = 0.33
LEVEL = 0.19  # the height of a line's label
COLUMNS = (50, 104)  # where those of numbers end, in points right of the axes
CHARACTER = 0.0125  # the width of one in a label, of the axes'


@dataclasses.dataclass(frozen=True)
class Bar:
    label: str
    tflops: float
    percent: str  # of cuBLAS


@dataclasses.dataclass(frozen=True)
class Line:
    label: str
    tflops: float
    style: str


@dataclasses.dataclass(frozen=True)
class Chart:
    title: str
    baseline: str
    caption: str
    bars: tuple
    lines: tuple

    @property
    def limit(self):
        """Where the axis ends."""
        return 1.04 * max(item.tflops for item in (*self.bars, *self.lines))


def caption_of(row):
    return (f"In bursts, median of {row['rounds']} interleaved rounds, {row['data']} inputs\n"
            f"{row['gpu']} ({row['sm_count']} SMs), CUDA {row['cuda']}, commit {row['commit']}, {row['date'][:10]}")


def chart_of(ladder, by_mode):
    """What is drawn of the results that ladder_results.read_results gave."""
    rows = by_mode["burst"]
    first = next(iter(rows.values()))
    bars = tuple(Bar(f"{version}  {row['name']}", float(row["tflops"]),
                     f"{float(row['percent_of_cublas']):.1f} %" if row["percent_of_cublas"] else "")
                 for version, row in rows.items() if ladder.holds(version))
    if not bars:
        raise ResultsError(f"no version of the {ladder.name} ladder was measured at {ladder.shape}")
    lines = []
    for version, (name, style) in LINES.items():
        if version in rows:
            tflops = float(rows[version]["tflops"])
            lines.append(Line(f"{name or ladder.baseline} {speed_text(tflops)}", tflops, style))
    lines = tuple(sorted(lines, key=lambda line: line.tflops))
    title = f"The {ladder.title} ladder: {ladder.type}, {ladder.shape}, {first['gpu']}"
    return Chart(title, ladder.baseline, caption_of(first), bars, lines)


def label_levels(positions, widths):
    """A level for each label, 0 the lowest, so that they meet neither each other nor the lines that lead to them. A
    label ends at the position of its line. Both are parts of the axes' width, the positions in ascending order."""
    levels = []
    for position, width in zip(positions, widths):
        below = [level for level, other in zip(levels, positions) if other > position - width]
        levels.append(max(below, default=-1) + 1)
    return levels


def draw(chart, path):
    # Here, so that what is drawn can be tested where matplotlib is not installed.
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot

    # Text as outlines: the chart looks the same everywhere. The salt makes the file's identifiers the same every time.
    matplotlib.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "hopper-gemm", "font.family": "DejaVu Sans",
                                "font.size": 9, "text.color": INK, "axes.edgecolor": MUTED, "xtick.color": MUTED})
    levels = label_levels([line.tflops / chart.limit for line in chart.lines],
                          [CHARACTER * (len(line.label) + 2) for line in chart.lines])
    # In inches, from the bottom: caption and axis, bars, labels of the lines, title.
    bottom, bars, top = 0.85, BAR_HEIGHT * len(chart.bars), 0.5 + LEVEL * (max(levels, default=0) + 1)
    height = bottom + bars + top
    figure = pyplot.figure(figsize=(WIDTH, height), facecolor="white")
    axes = figure.add_axes((0.205, bottom / height, 0.61, bars / height))

    positions = range(len(chart.bars))
    axes.barh(positions, [bar.tflops for bar in chart.bars], height=0.72, color=BAR_COLOR, zorder=2)
    axes.set_xlim(0, chart.limit)
    axes.set_ylim(len(chart.bars) - 0.4, -0.6)
    axes.set_yticks(positions, [bar.label for bar in chart.bars], color=INK)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)

    for position, bar in zip(positions, chart.bars):
        for column, text in zip(COLUMNS, (speed_text(bar.tflops), bar.percent)):
            axes.annotate(text, (1, position), xycoords=axes.get_yaxis_transform(), xytext=(column, 0),
                          textcoords="offset points", ha="right", va="center")
    for column, text in zip(COLUMNS, ("TFLOP/s", "% of\n" + chart.baseline.replace(" ", "\n"))):
        axes.annotate(text, (1, 1), xycoords="axes fraction", xytext=(column, 4), textcoords="offset points",
                      ha="right", va="bottom", color=MUTED)

    for line, level in zip(chart.lines, levels):
        axes.plot([line.tflops] * 2, [0, 1 + (LEVEL * (level + 1) - 0.02) / bars], color=INK, linewidth=1.1,
                  linestyle=line.style, transform=axes.get_xaxis_transform(), clip_on=False, zorder=3)
        axes.annotate(line.label, (line.tflops, 1), xycoords=axes.get_xaxis_transform(),
                      xytext=(-4, 72 * LEVEL * level + 3), textcoords="offset points", ha="right", va="bottom")

    figure.text(0.02, 1 - 0.13 / height, chart.title, fontsize=11, va="top")
    figure.text(0.02, 0.12 / height, chart.caption, fontsize=8, va="bottom", color=MUTED, linespacing=1.4)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None, "Title": chart.title})
    pyplot.close(figure)


def selected(names):
    known = {ladder.name: ladder for ladder in LADDERS}
    for name in names:
        if name not in known:
            raise ResultsError(f"there is no ladder '{name}', only {', '.join(known)}")
    return [known[name] for name in names] or LADDERS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ladders", nargs="*", metavar="LADDER", help="hopper, ampere or simt (default: all measured)")
    parser.add_argument("--profiles", type=pathlib.Path, default=ladder_results.DEFAULT_FOLDER,
                        help="the folder of the CSV files (default: profiles/h200)")
    arguments = parser.parse_args()
    try:
        charts = {}
        for ladder in selected(arguments.ladders):
            path = arguments.profiles / ladder.file
            if arguments.ladders or path.exists():
                charts[arguments.profiles / f"{ladder.name}.svg"] = chart_of(ladder,
                                                                             ladder_results.read_results(path, ladder))
        if not charts:
            raise ResultsError(f"there is no CSV file of a ladder in {arguments.profiles}")
        for path, chart in charts.items():
            draw(chart, path)
            print(path)
    except ImportError as error:
        print(f"plot_ladder.py: a chart needs matplotlib ({error}); ./dev plots installs it", file=sys.stderr)
        return 2
    except (OSError, ResultsError) as error:
        print(f"plot_ladder.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
