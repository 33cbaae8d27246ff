"""Charts of other measurements than the ladders': squares.svg, roofline.svg and so on. tools/plot.py draws them.

- squares: speed over size, of some versions, the library and cuBLAS, from squares.csv.
- roofline: speed over arithmetic intensity, of each version that ladder.csv and a profile (v01.csv …) hold.
- other_rooflines: the same for the other two ladders, only from their profiles (ampere1.csv …, simt1.csv …).
- energy: energy per operation over speed, from the sustained rows of ladder.csv.
"""

import dataclasses
import itertools
import math
import statistics

import chart_style
import ladder_results
import profile  # tools/profile.py, not the standard library's
from chart_style import BACKGROUND, GRID, INK, MUTED, ORANGE, SERIES, LabelledPoint
from ladder_results import (
    BASELINE, BEST, CEILING, LADDERS, NotMeasuredError, ResultsError, positive, reading, speed_text)

HOPPER = LADDERS[0]
SQUARES_VERSIONS = ("1", "2", "4", "7", "11", "18", BEST, BASELINE)

# https://www.nvidia.com/en-us/data-center/h200/
DRAM_BANDWIDTHS = {"NVIDIA H200": 4.8}  # TB/s
PEAKS = {"NVIDIA H200": {"bf16": 989, "fp32": 67}}  # TFLOP/s, of bf16 without sparsity
SECTOR_BYTES = 32


def name_of(row):
    """A chart's name for a row's version."""
    names = {BASELINE: HOPPER.baseline, BEST: "the library", CEILING: "wgmma ceiling"}
    return names.get(row["version"]) or f"{row['version']} {row['name']}"


# --- Squares -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Curve:
    label: str
    points: tuple  # (size, TFLOP/s)


@dataclasses.dataclass(frozen=True)
class Squares:
    title: str
    caption: str
    panels: dict  # {mode: curves}


def read_squares(folder):
    by_mode = ladder_results.read_squares(folder / ladder_results.SQUARES_FILE, SQUARES_VERSIONS)
    panels = {mode: tuple(Curve(name_of(next(iter(by_version[version].values()))),
                                tuple((size, float(row["tflops"])) for size, row in by_version[version].items()))
                          for version in SQUARES_VERSIONS if version in by_version)
              for mode, by_version in by_mode.items()}
    by_size = next(iter(next(iter(by_mode.values())).values()))
    row = next(iter(by_size.values()))
    return Squares(f"Speed over size: {row.get('type', HOPPER.type)}, M = N = K, {row['gpu']}",
                   f"Each point is the {chart_style.rounds_text(row)}\n{chart_style.run_text(row)}", panels)


def draw_squares(chart, path):
    bottom, panel, between, top = chart_style.caption_height(chart.caption) + 0.5, 3.6, 0.75, 0.75
    figure = chart_style.new_figure(bottom + panel * len(chart.panels) + between * (len(chart.panels) - 1) + top)
    sizes = sorted({size for curves in chart.panels.values() for curve in curves for size, _ in curve.points})
    limit = 1.05 * max(speed for curves in chart.panels.values() for curve in curves for _, speed in curve.points)
    for i, (mode, curves) in enumerate(reversed(chart.panels.items())):
        axes = chart_style.add_axes(figure, 0.6, bottom + (panel + between) * i, 6.6, panel)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.set_xlim(sizes[0] / 1.1, sizes[-1] * 1.1)
        axes.set_ylim(0, limit)
        axes.set_xlabel("M = N = K")
        axes.set_title(f"TFLOP/s, {mode}", loc="left", fontsize=9, color=MUTED)
        axes.grid(axis="y")
        ends = chart_style.spread([curve.points[-1][1] for curve in curves], 0.055 * limit)
        for curve, color, end in zip(curves, (*SERIES[:len(curves) - 1], INK), ends):
            axes.plot(*zip(*curve.points), color=color, marker="o", markersize=4, linewidth=1.6,
                      linestyle="--" if curve.label == HOPPER.baseline else "-")
            size, speed = curve.points[-1]
            axes.annotate(f"{curve.label}  {speed_text(speed)}", (size, speed), xytext=(sizes[-1] * 1.17, end),
                          textcoords="data", va="center", color=color, annotation_clip=False,
                          arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.6, "relpos": (0, 0.5),
                                      "shrinkA": 1, "shrinkB": 3})
    chart_style.add_words(figure, chart.title, chart.caption)
    chart_style.save(figure, path, chart.title, chart)


# --- Roofline ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class RooflinePoint:
    version: str
    name: str
    tflops: float
    dram: float  # FLOP for each byte read from or written to DRAM, and so on
    l2: float  # read from L2
    sm: float  # delivered to the SMs


@dataclasses.dataclass(frozen=True)
class Roofline:
    title: str
    caption: str
    points: tuple
    bandwidth: float  # TB/s
    ceiling: float  # TFLOP/s


def read_profiles(folder, ladder):
    try:
        return profile.read_profiles(folder, ladder)
    except profile.ProfileError as error:
        raise ResultsError(str(error)) from error


def check_origins(profiles, folder, **expected_origin):
    """Refuses profiles of another GPU, shape and so on."""
    for origin, _ in profiles:
        for what, expected in expected_origin.items():
            if origin[what] != expected:
                raise ResultsError(f"the profile of version {origin['version']} in {folder} is for {what} "
                                   f"'{origin[what]}', not '{expected}'; profile all versions together")


def commits_text(profiles):
    """Commit and date of profiles. If there are several, also their versions."""
    runs = [(commit, [origin["version"] for origin, _ in run]) for commit, run in itertools.groupby(
        profiles, lambda entry: f"commit {entry[0]['commit']}, {entry[0]['date'][:10]}")]
    if len(runs) == 1:
        return runs[0][0]
    return "; ".join(f"{commit} ({' to '.join(dict.fromkeys((versions[0], versions[-1])))})"
                     for commit, versions in runs)


def known_of(gpu, table, what):
    if gpu not in table:
        raise NotMeasuredError(f"the roofline knows the {what} of {', '.join(table)} only, not of {gpu}")
    return table[gpu]


def figure_of(readings, metric, version):
    value = profile.convert(readings[metric], profile.FORMATS[metric][0])
    if not value:
        raise ResultsError(f"the profile of version {version} has no figure of {metric}")
    return value


def intensity(readings, metrics, origin):
    """FLOP per byte, for the sum of the bytes that the metrics count."""
    size = sum(figure_of(readings, metric, origin["version"]) *
               (SECTOR_BYTES if metric == profile.L2_SECTORS_READ else 1) for metric in metrics)
    return 2 * math.prod(int(extent) for extent in origin["shape"].split("x")) / size


DRAM_BYTES = (profile.DRAM_READ, profile.DRAM_WRITTEN)


def read_roofline(folder):
    profiles = read_profiles(folder, profile.HOPPER)
    rows = ladder_results.read_results(folder / HOPPER.file, HOPPER)["burst"]
    row = next(iter(rows.values()))
    profiles = [(origin, readings) for origin, readings in profiles if origin["version"] in rows]
    if not profiles or CEILING not in rows:
        raise NotMeasuredError(f"{folder} has no version's profile beside {HOPPER.file}, or that has no ceiling")
    bandwidth = known_of(row["gpu"], DRAM_BANDWIDTHS, "DRAM bandwidth")
    # The profiles may be of any commit, because bytes are counts. The speeds are of one run.
    check_origins(profiles, folder, gpu=row["gpu"], shape=HOPPER.shape)
    with reading(folder / HOPPER.file):
        ceiling = positive(rows[CEILING], "tflops")
        points = tuple(RooflinePoint(origin["version"], origin["name"], positive(rows[origin["version"]], "tflops"),
                                     intensity(readings, DRAM_BYTES, origin),
                                     intensity(readings, (profile.L2_SECTORS_READ,), origin),
                                     intensity(readings, (profile.L2_TO_SM,), origin))
                       for origin, readings in profiles)
    caption = (f"Bytes as ncu counts them during one launch: {commits_text(profiles)}\n"
               f"DRAM roof: {bandwidth} TB/s, {row['gpu']} data sheet\n"
               f"Speeds and wgmma ceiling in bursts, {chart_style.rounds_text(row)}\n{chart_style.run_text(row)}")
    return Roofline(f"Roofline: {HOPPER.type}, {HOPPER.shape}, {row['gpu']}", caption, points, bandwidth,
                    ceiling)


def draw_roof(axes, bandwidth, peak, peak_text):
    """Draws the slope of DRAM's bandwidth and names the roof. The axes must have their limits."""
    low = axes.get_xlim()[0]
    ridge = peak / bandwidth
    axes.plot((low, ridge), (low * bandwidth, peak), color=INK, linewidth=1.1)
    chart_style.write_along(axes, (low, low * bandwidth), (ridge, peak), f"DRAM {bandwidth} TB/s")
    axes.annotate(peak_text, (1, peak), xycoords=axes.get_yaxis_transform(), xytext=(0, 3),
                  textcoords="offset points", ha="right")


def draw_roofline(chart, path):
    bottom, panel, top = chart_style.caption_height(chart.caption) + 0.5, 4.4, 0.8
    figure = chart_style.new_figure(bottom + panel + top)
    speeds = [point.tflops for point in chart.points]
    places = {"from L2": (0.6, 2.4, (20, 50, 100, 200, 400)),
              "from and to DRAM": (3.35, 5.4, (50, 100, 200, 500, 1000, 2000))}
    panels = []
    for what, (left, width, ticks) in places.items():
        axes = chart_style.add_axes(figure, left, bottom, width, panel)
        chart_style.set_log_ticks(axes, "x", ticks)
        chart_style.set_log_ticks(axes, "y", (200, 300, 500, 1000))
        axes.set_xlim(ticks[0], ticks[-1])
        axes.set_ylim(0.7 * min(speeds), 1.2 * chart.ceiling)
        axes.set_xlabel(f"FLOP for each byte {what}")
        if panels:
            axes.tick_params(axis="y", labelleft=False)
        axes.grid()
        axes.axhline(chart.ceiling, color=INK, linewidth=1.1, linestyle=":")
        panels.append(axes)
    l2, dram = panels
    l2.set_title("TFLOP/s", loc="left", fontsize=9, color=MUTED)
    l2.scatter([point.l2 for point in chart.points], speeds, color=ORANGE, s=26, zorder=4, label="read from L2")
    l2.scatter([point.sm for point in chart.points], speeds, facecolor=BACKGROUND, edgecolor=ORANGE, s=26, zorder=3,
               label="delivered to the SMs")
    numbers = [LabelledPoint(point.l2, point.tflops, point.version) for point in chart.points]
    chart_style.label_points(l2, numbers, [(point.sm, point.tflops) for point in chart.points])
    l2.legend(loc="lower right", fontsize=8, frameon=False, handletextpad=0)

    draw_roof(dram, chart.bandwidth, chart.ceiling, f"wgmma ceiling {speed_text(chart.ceiling)}")
    names = [LabelledPoint(point.dram, point.tflops, f"{point.version} {point.name}") for point in chart.points]
    chart_style.scatter_with_zoom(dram, names, 1.15, (0.44, 0.08, 0.54, 0.4))
    chart_style.add_words(figure, chart.title, chart.caption)
    chart_style.save(figure, path, chart.title, chart)


# --- The other ladders' rooflines --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class RooflinePanel:
    title: str
    points: tuple  # FLOP for each byte from and to DRAM, TFLOP/s
    peak: float  # TFLOP/s


@dataclasses.dataclass(frozen=True)
class OtherRooflines:
    title: str
    caption: str
    panels: tuple
    bandwidth: float  # TB/s


def read_other_rooflines(folder):
    panels, lines = [], []
    for ladder, profiled in ((LADDERS[1], profile.AMPERE), (LADDERS[2], profile.SIMT)):
        profiles = read_profiles(folder, profiled)
        if not profiles:
            raise NotMeasuredError(f"{folder} has no profile of a version of the {ladder.name} ladder")
        first, _ = profiles[0]
        check_origins(profiles, folder, gpu=first["gpu"], shape=profiled.shape, commit=first["commit"])
        points = tuple(LabelledPoint(intensity(readings, DRAM_BYTES, origin),
                                     figure_of(readings, profile.BURST_SPEED, origin["version"]),
                                     f"{origin['version'].rpartition('.')[2]} {origin['name']}")
                       for origin, readings in profiles)
        peak = known_of(first["gpu"], PEAKS, "peak")[ladder.type]
        panels.append(RooflinePanel(f"{ladder.name}: {ladder.type}, {profiled.shape}", points, peak))
        lines.append(f"{ladder.name}: commit {first['commit']}, {first['date'][:10]}")
    bandwidth = known_of(first["gpu"], DRAM_BANDWIDTHS, "DRAM bandwidth")
    caption = (f"Bytes as ncu counts them during one launch; speeds in bursts, by matmul\n"
               f"Roofs: {first['gpu']} data sheet; bf16 is wgmma's, which mma.sync does not reach\n{'; '.join(lines)}")
    return OtherRooflines(f"Rooflines of the other ladders: {first['gpu']}", caption, tuple(panels), bandwidth)


def draw_other_rooflines(chart, path):
    bottom, height, top = chart_style.caption_height(chart.caption) + 0.5, 3.8, 0.8
    figure = chart_style.new_figure(bottom + height + top)
    for left, panel in zip((0.6, 5.05), chart.panels, strict=True):
        axes = chart_style.add_axes(figure, left, bottom, 3.75, height)
        # Room for the slope, left of its end.
        least = panel.peak / chart.bandwidth / 20
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick > least]
        chart_style.set_log_ticks(axes, "x", ticks)
        chart_style.set_log_ticks(axes, "y", (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000))
        axes.set_xlim(ticks[0], ticks[-1])
        axes.set_ylim(0.7 * min(point.y for point in panel.points), 1.5 * panel.peak)
        axes.set_xlabel("FLOP for each byte from and to DRAM")
        axes.set_title(f"TFLOP/s, {panel.title}", loc="left", fontsize=9, color=MUTED)
        axes.grid()
        axes.axhline(panel.peak, color=INK, linewidth=1.1, linestyle=":")
        draw_roof(axes, chart.bandwidth, panel.peak, f"data sheet {panel.peak}")
        chart_style.scatter(axes, panel.points, panel.points)
    chart_style.add_words(figure, chart.title, chart.caption)
    chart_style.save(figure, path, chart.title, chart)


# --- Energy ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Energy:
    title: str
    caption: str
    points: tuple
    watts: float  # the median


def read_energy(folder):
    path = folder / HOPPER.file
    rows = ladder_results.read_results(path, HOPPER).get("sustained", {})
    rows = [row for row in rows.values() if row["pj_per_flop"]]
    if not rows:
        raise NotMeasuredError(f"{path} has no sustained rows with an energy at {HOPPER.shape}")
    with reading(path):
        points = tuple(LabelledPoint(positive(row, "tflops"), positive(row, "pj_per_flop"), name_of(row))
                       for row in rows)
        watts = statistics.median(positive(row, "watts") for row in rows)
    row = rows[0]
    return Energy(f"Energy over speed: {HOPPER.type}, {HOPPER.shape}, {row['gpu']}",
                  f"Sustained, {chart_style.rounds_text(row)}; energy of the whole GPU, by NVML\n"
                  f"Line: {watts:.0f} W, the median power\n"
                  f"{chart_style.run_text(row)}", points, watts)


def draw_energy(chart, path):
    bottom, panel, top = chart_style.caption_height(chart.caption) + 0.5, 4.4, 0.75
    figure = chart_style.new_figure(bottom + panel + top)
    axes = chart_style.add_axes(figure, 0.6, bottom, 8.1, panel)
    speeds = [point.x for point in chart.points]
    limit = 1.12 * max(point.y for point in chart.points)
    axes.set_xlim(0.8 * min(speeds), 1.12 * max(speeds))
    axes.set_ylim(0, limit)
    axes.set_xlabel("TFLOP/s")
    axes.set_title("pJ/FLOP", loc="left", fontsize=9, color=MUTED)
    axes.grid()
    low, high = axes.get_xlim()
    curve = [low + (high - low) * i / 200 for i in range(201)]
    axes.plot(curve, [chart.watts / speed for speed in curve], color=GRID, linewidth=3, zorder=1)
    axes.annotate(f"{chart.watts:.0f} W", (curve[50], chart.watts / curve[50]), xytext=(6, 4),
                  textcoords="offset points", color=MUTED)
    chart_style.scatter_with_zoom(axes, chart.points, 1.08, (0.52, 0.53, 0.47, 0.41))
    chart_style.add_words(figure, chart.title, chart.caption)
    chart_style.save(figure, path, chart.title, chart)


PICTURES = {"squares": (read_squares, draw_squares), "roofline": (read_roofline, draw_roofline),
            "other_rooflines": (read_other_rooflines, draw_other_rooflines), "energy": (read_energy, draw_energy)}
