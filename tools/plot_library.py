"""The chart library_epilogues.svg, the library's speed in percent of cuBLAS's with a line of points for each epilogue.

Each point is a problem of epilogues.csv, gated.csv or batches.csv. tools/plot.py draws it.
"""

import dataclasses
import statistics

import chart_style
import ladder_results
from chart_style import BLUE, GRID, INK, MUTED, ORANGE

# The keys are the columns of EPILOGUE_COLUMNS. Each file has products without an epilogue; the chart shows those of the
# first file.
EPILOGUES = {
    ("bf16", "none", "none", "false", "0.0"): "A·B",
    ("bf16", "column", "none", "false", "0.0"): "+ bias",
    ("bf16", "column", "relu", "false", "0.0"): "+ bias, ReLU",
    ("bf16", "column", "gelu_tanh", "false", "0.0"): "+ bias, GELU",
    ("bf16", "none", "none", "false", "1.0"): "+ C",
    ("fp32", "none", "none", "false", "0.0"): "fp32 output",
    ("bf16", "none", "silu", "true", "0.0"): "SwiGLU",
}
BATCHES = "batches"
FILES = ("epilogues.csv", "gated.csv", "batches.csv")


@dataclasses.dataclass(frozen=True)
class Line:
    label: str
    percents: tuple

    def mean(self):
        return statistics.geometric_mean(self.percents)


@dataclasses.dataclass(frozen=True)
class LibraryChart:
    title: str
    caption: str
    lines: tuple


def read(folder):
    lines = {}
    first = None
    for name in FILES:
        percents, row = ladder_results.read_suite(folder / name)
        first = first or row
        ladder_results.check_run(folder / name, row, first, ("gpu", "commit"))
        for epilogue, of_shapes in percents.items():
            label = BATCHES if name == "batches.csv" else EPILOGUES.get(epilogue)
            if label:
                lines.setdefault(label, Line(label, tuple(of_shapes.values())))
    return LibraryChart(
        f"Speed in percent of cuBLAS, with fused epilogues: {first['type']}, {first['gpu']}",
        "Each point is one problem, and the number is the geometric mean. cuBLAS fuses the same epilogue, or an elementwise\n"
        f"kernel follows it. {chart_style.rounds_text(first).capitalize()}\n{chart_style.run_text(first)}",
        tuple(lines.values()))


def draw(chart, path):
    bottom, pitch, top = chart_style.caption_height(chart.caption) + 0.55, 0.36, 0.5
    height = pitch * len(chart.lines)
    figure = chart_style.new_figure(bottom + height + top)
    axes = chart_style.add_axes(figure, 1.4, bottom, 6.6, height)
    values = [percent for line in chart.lines for percent in line.percents]
    axes.set_xlim(min(values) - 3, max(values) + 3)
    axes.set_ylim(len(chart.lines) - 0.5, -0.5)
    axes.set_yticks(range(len(chart.lines)), [line.label for line in chart.lines], color=INK)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("% of cuBLAS; to the right of the line the library is faster")
    axes.grid(axis="x")
    axes.axvline(100, color=ORANGE, linewidth=1.4)
    for y, line in enumerate(chart.lines):
        axes.axhline(y, color=GRID, linewidth=0.6)
        axes.scatter(line.percents, [y] * len(line.percents), color=BLUE, s=22, alpha=0.75, zorder=3)
        axes.plot([line.mean()] * 2, [y - 0.3, y + 0.3], color=INK, linewidth=2, zorder=4)
        axes.annotate(f"{line.mean():.1f} %", (1, y), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", va="center", color=INK, annotation_clip=False)
    axes.annotate("mean", (1, -0.5), xycoords=("axes fraction", "data"), xytext=(8, 2), textcoords="offset points",
                  color=MUTED, annotation_clip=False)
    chart_style.add_words(figure, chart.title, chart.caption)
    chart_style.save(figure, path, chart.title, chart)


PICTURES = {"library_epilogues": (read, draw)}
