"""The chart of each ladder: hopper.svg, ampere.svg, simt.svg. tools/plot.py draws it.

A bar is the speed of a version in bursts. Lines show cuBLAS and what else was measured in the same rounds: CUTLASS, the
wgmma ceiling, and the library's own choice. GPU, commit, shape and date stand beside them.
"""

import dataclasses
import functools

import chart_style
import ladder_results
from chart_style import BLUE, GRID, INK, MUTED
from ladder_results import BASELINE, BEST, CEILING, CUTLASS, LADDERS, ResultsError, speed_text

# The name of a line and how it is drawn. The baseline has its ladder's name.
LINES = {
    BASELINE: ("", "-"),
    CUTLASS: ("CUTLASS", "--"),
    BEST: ("the library's choice", "-."),
    CEILING: ("wgmma ceiling", ":"),
}

BAR_HEIGHT = 0.33  # in inches, as all others unless they say something else
AXES_LEFT = 1.845
AXES_WIDTH = 5.49
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
        """The end of the axis."""
        return 1.04 * max(item.tflops for item in (*self.bars, *self.lines))


def chart_of(ladder, by_mode):
    """The part of ladder_results.read_results's results that the chart shows."""
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
    caption = f"In bursts, {chart_style.rounds_text(first)}\n{chart_style.run_text(first)}"
    return Chart(title, ladder.baseline, caption, bars, lines)


def read(ladder, folder):
    return chart_of(ladder, ladder_results.read_results(folder / ladder.file, ladder))


def label_levels(positions, widths):
    """A level for each label, 0 the lowest, so that labels meet neither each other nor the lines that lead to them. A
    label ends at the position of its line. Lengths and positions are parts of the axes' width; positions ascend."""
    levels = []
    for position, width in zip(positions, widths):
        below = [level for level, other in zip(levels, positions) if other > position - width]
        levels.append(max(below, default=-1) + 1)
    return levels


def draw(chart, path):
    levels = label_levels([line.tflops / chart.limit for line in chart.lines],
                          [CHARACTER * (len(line.label) + 2) for line in chart.lines])
    # From the bottom: caption and axis, bars, labels of the lines, title.
    bottom, bars, top = 0.85, BAR_HEIGHT * len(chart.bars), 0.5 + LEVEL * (max(levels, default=0) + 1)
    figure = chart_style.new_figure(bottom + bars + top)
    axes = chart_style.add_axes(figure, AXES_LEFT, bottom, AXES_WIDTH, bars)

    positions = range(len(chart.bars))
    axes.barh(positions, [bar.tflops for bar in chart.bars], height=0.72, color=BLUE, zorder=2)
    axes.set_xlim(0, chart.limit)
    axes.set_ylim(len(chart.bars) - 0.4, -0.6)
    axes.set_yticks(positions, [bar.label for bar in chart.bars], color=INK)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, zorder=0)
    axes.spines["left"].set_visible(False)

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

    chart_style.add_words(figure, chart.title, chart.caption)
    chart_style.save(figure, path, chart.title, chart)


PICTURES = {ladder.name: (functools.partial(read, ladder), draw) for ladder in LADDERS}
