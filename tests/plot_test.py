"""Tests of tools/plot.py: what it draws, the pictures that are committed, and, where matplotlib is, that it draws the
same twice.
"""

import collections
import csv
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
TOOL = TOOLS / "plot.py"

sys.path.insert(0, str(TOOLS))
import chart_style  # noqa: E402
import ladder_results  # noqa: E402
import plot_ampere  # noqa: E402
import plot_hopper  # noqa: E402
import plot_kernels  # noqa: E402
import plot_ladder  # noqa: E402
import plot_library  # noqa: E402
import plot_measurements  # noqa: E402
import plot_primer  # noqa: E402
import plot_schedules  # noqa: E402
import plot_shared_memory  # noqa: E402
import plot_simt  # noqa: E402
import plot_tile_orders  # noqa: E402
import profile  # noqa: E402
from chart_style import LabelledPoint  # noqa: E402
from fetched_matplotlib import needs_matplotlib  # noqa: E402
from ladder_results import NotMeasuredError, ResultsError  # noqa: E402

HOPPER, AMPERE, SIMT = ladder_results.LADDERS
DIAGRAMS = ROOT / "docs/images/diagrams.json"

# A search path without matplotlib: --check needs none.
NOWHERE = "/nonexistent"
# A package of that name that cannot be imported.
NO_MATPLOTLIB = 'raise ImportError("No module named matplotlib")\n'


def row(version, name, tflops, percent, **changes):
    return {"version": version, "name": name, "idea": "an idea", "type": "bf16", "m": "4096", "n": "4096", "k": "4096",
            "mode": "burst", "tflops": tflops, "percent_of_cublas": percent,
            "verified": "unchecked" if version == "ceiling" else "yes", "gpu": "NVIDIA H200", "sm_count": "132",
            "driver": "580.95.05", "cuda": "13.0", "commit": "0123abcdef", "data": "normal", "rounds": "7",
            "date": "2026-01-02T03:04:05Z", "command": "matmul ampere", "watts": "", "pj_per_flop": "", **changes}


def ampere_rows():
    return [row("0", "cublas", "800.0", "100.0"), row("ampere.1", "wmma", "200.04", "25.01"),
            row("ampere.2", "cp_async", "99.94", "12.49"), row("cutlass", "slow", "400.0", "50.0"),
            row("cutlass", "fast", "500.0", "62.5"), row("ceiling", "peak", "900.0", "112.5"),
            row("0", "cublas", "700.0", "100.0", mode="sustained"),
            row("ampere.2", "cp_async", "90.0", "12.86", mode="sustained")]


def square_row(version, size, tflops, **changes):
    return row(version, "library" if version == "best" else "a_name", tflops, "50.0",
               **{**dict.fromkeys("mnk", str(size)), **changes})


def squares_rows():
    return [square_row("0", 512, "200.0"), square_row("2", 512, "100.0"), square_row("3", 512, "110.0"),
            square_row("0", 256, "50.0"), square_row("2", 256, "20.0"), square_row("best", 256, "60.0"),
            square_row("0", 512, "190.0", mode="sustained"),
            square_row("0", 512, "190.0", n="1024")]


def ladder_rows():
    """Of the Hopper ladder, with a sustained row for each of burst."""
    speeds = {"0": "800.0", "1": "300.0", "2": "780.0", "3": "790.0", "ceiling": "900.0"}
    rows = [square_row(version, HOPPER.size, tflops) for version, tflops in speeds.items()]
    return rows + [{**burst, "mode": "sustained", "watts": "700.0", "pj_per_flop": f"{700 / float(burst['tflops']):.4f}"}
                   for burst in rows]


# --- What all pictures have in common ---


def luminance(color):
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(x, y):
    low, high = sorted((luminance(x), luminance(y)))
    return (high + 0.05) / (low + 0.05)


class ChartStyleTest(unittest.TestCase):
    def test_text_is_legible_on_light_and_on_dark_pages(self):
        pairs = [(color, chart_style.BACKGROUND)
                 for color in (chart_style.INK, chart_style.MUTED, chart_style.ORANGE, *chart_style.SERIES)]
        pairs += itertools.product((chart_style.INK, chart_style.MUTED), (chart_style.PALE_BLUE, chart_style.PALE_ORANGE))
        for text, ground in pairs:
            with self.subTest(text=text, ground=ground):
                self.assertGreaterEqual(contrast(text, ground), 4.5)
                self.assertGreaterEqual(contrast(chart_style.DARK[text], chart_style.DARK[ground]), 4.5)

    def test_every_color_is_replaced_on_dark_pages(self):
        style = chart_style.dark_style()
        for light, dark in chart_style.DARK.items():
            self.assertIn(f'[style*="fill: {light}"]{{fill:{dark} !important}}', style)
            self.assertIn(f'[style*="stroke: {light}"]{{stroke:{dark} !important}}', style)

    def test_labels_are_spread(self):
        for positions, expected in (([], []), ([5], [5]), ([1, 9], [1, 9]), ([5, 5], [4, 6]), ([6, 4, 20], [6, 4, 20]),
                                    ([5, 4], [5.5, 3.5]), ([4, 5, 5.5], [4.833 - 2, 4.833, 4.833 + 2])):
            with self.subTest(positions):
                for x, y in zip(chart_style.spread(positions, 2), expected, strict=True):
                    self.assertAlmostEqual(x, y, places=3)

    def test_labels_keep_off_points_and_each_other(self):
        points = [(100, 100), (108, 100), (100, 110), (112, 112), (60, 100)]
        texts = ["1 first", "2 second", "3 third", "4 fourth"]
        boxes = [(left, bottom, left + chart_style.CHARACTER * len(text), bottom + 11)
                 for (left, bottom), text in
                 zip(chart_style.place_labels(points[:4], texts, (0, 0, 300, 300), points[4:]), texts, strict=True)]
        for x, y in itertools.combinations(boxes, 2):
            self.assertEqual(chart_style.overlap(x, y), 0)
        for box, (x, y) in itertools.product(boxes, points):
            self.assertEqual(chart_style.overlap(box, (x - 3, y - 3, x + 3, y + 3)), 0)

    def test_labels_stay_inside(self):
        (left, _), = chart_style.place_labels([(295, 100)], ["a label"], (0, 0, 300, 300))
        self.assertLess(left, 260)

    def test_points_in_one_place_are_together(self):
        self.assertEqual(chart_style.coincident([(0, 0), (20, 0), (3, 0), (20, 4), (6, 0)]), [[0, 2, 4], [1, 3]])
        for labels, joint in ((["5"], "5"), (["5", "6"], "5, 6"), (["5", "6", "7"], "5–7"), (["5", "7", "8"], "5, 7, 8"),
                              (["cuBLAS", "7", "8"], "cuBLAS, 7, 8")):
            self.assertEqual(chart_style.joint_label(labels), joint)

    def test_crowd_is_what_has_two_neighbours(self):
        points = [LabelledPoint(x, 1, "") for x in (100, 104, 108, 200, 205)]
        self.assertEqual([point.x for point in chart_style.crowd(points, 1.1)], [100, 104, 108])


# --- Charts and diagrams ---


class PictureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write_csv(self, rows, name="ampere.csv"):
        path = self.folder / name
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        return path

    def write_profile(self, ladder, number, readings, **changes):
        """All figures that are not among the readings are 1."""
        version = f"{ladder.prefix}{number}"
        origin = {"version": version, "name": "a_name", "gpu": "NVIDIA H200", "driver": "580", "commit": "89abcdef01",
                  "shape": ladder.shape, "date": "2026-01-03T00:00:00Z", "measured by": "matmul", "counted by": "ncu",
                  **changes}
        text = profile.csv_text(origin, {**{figure: ("", "1") for figure in ladder.figures()}, **readings})
        (self.folder / f"{profile.file_stem(version)}.csv").write_text(text, encoding="utf-8")

    def run_tool(self, *arguments, **environment):
        command = [sys.executable, str(TOOL), "--profiles", str(self.folder), "--images", str(self.folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})

    def expect_refused(self, arguments, *parts, **environment):
        result = self.run_tool(*arguments, **environment)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertEqual(list(self.folder.glob("*.svg")), [])


class LadderChartTest(PictureTest):
    def chart(self, rows, ladder=AMPERE):
        return plot_ladder.chart_of(ladder, ladder_results.read_results(self.write_csv(rows), ladder))

    def test_bars_are_the_versions_and_lines_the_others(self):
        chart = self.chart(ampere_rows())
        self.assertEqual(chart.bars, (plot_ladder.Bar("ampere.1  wmma", 200.04, "25.0 %"),
                                      plot_ladder.Bar("ampere.2  cp_async", 99.94, "12.5 %")))
        self.assertEqual([(line.label, line.tflops) for line in chart.lines],
                         [("CUTLASS 500", 500), ("cuBLAS 800", 800), ("wgmma ceiling 900", 900)])
        self.assertEqual(len({line.style for line in chart.lines}), 3)
        self.assertAlmostEqual(chart.limit, 936)

    def test_words_name_gpu_commit_and_shape(self):
        chart = self.chart(ampere_rows())
        self.assertEqual(chart.title, "The Ampere ladder: bf16, 4096x4096x4096, NVIDIA H200")
        self.assertEqual(chart.caption, "In bursts, median of 7 interleaved rounds, normal inputs\n"
                                        "NVIDIA H200 (132 SMs), CUDA 13.0, commit 0123abcdef, 2026-01-02")

    def test_other_ladders(self):
        chart = self.chart([row("0", "cublas", "50.0", "100.0", type="fp32"),
                            row("simt.1", "naive", "0.91", "1.82", type="fp32")], SIMT)
        self.assertEqual(chart.bars, (plot_ladder.Bar("simt.1  naive", 0.91, "1.8 %"),))
        self.assertEqual([line.label for line in chart.lines], ["cuBLAS SGEMM 50.0"])
        self.assertEqual(chart.baseline, "cuBLAS SGEMM")
        rows = [{column: "8192" if column in "mnk" else value for column, value in line.items() if column != "type"}
                for line in (row("0", "cublas", "800.0", "100.0"), row("1", "tma_wgmma", "300.0", "37.5"))]
        self.assertEqual([bar.label for bar in self.chart(rows, HOPPER).bars], ["1  tma_wgmma"])

    def test_no_version_of_the_ladder(self):
        with self.assertRaisesRegex(ladder_results.ResultsError, "no version of the ampere ladder"):
            self.chart([row("0", "cublas", "800.0", "100.0"), row("11", "stmatrix", "790.0", "99.0")])

    def test_speeds_have_digits_enough(self):
        self.assertEqual([ladder_results.speed_text(tflops) for tflops in (0.91, 9, 51.04, 99.94, 99.96, 815.2)],
                         ["0.9", "9.0", "51.0", "99.9", "100", "815"])

    def test_labels_do_not_overlap(self):
        for positions, levels in (([], []), ([0.5], [0]), ([0.2, 0.6, 0.9], [0, 0, 0]), ([0.5, 0.6], [0, 1]),
                                  ([0.5, 0.6, 0.65], [0, 1, 2]), ([0.5, 0.6, 0.75], [0, 1, 2]),
                                  ([0.5, 0.6, 0.9], [0, 1, 0])):
            with self.subTest(positions):
                self.assertEqual(plot_ladder.label_levels(positions, [0.2] * len(positions)), levels)


class SquaresTest(PictureTest):
    def read(self, rows):
        self.write_csv(rows, "squares.csv")
        return plot_measurements.read_squares(self.folder)

    def test_curves_are_of_the_main_versions_by_mode(self):
        chart = self.read(squares_rows())
        self.assertEqual({mode: [(curve.label, curve.points) for curve in curves] for mode, curves in chart.panels.items()},
                         {"burst": [("2 a_name", ((256, 20.0), (512, 100.0))), ("the library", ((256, 60.0),)),
                                    ("cuBLAS", ((256, 50.0), (512, 200.0)))],
                          "sustained": [("cuBLAS", ((512, 190.0),))]})
        self.assertEqual(chart.title, "Speed over size: bf16, M = N = K, NVIDIA H200")
        self.assertIn("commit 0123abcdef, 2026-01-02", chart.caption)

    def test_what_is_refused(self):
        for rows, why in ((squares_rows() + [square_row("1", 256, "9.0", verified="no")], "is not verified"),
                          (squares_rows() + [square_row("1", 256, "9.0", commit="4567abcdef")], "more than one run"),
                          (squares_rows() + [square_row("1", 256, "9.0", type="fp16")], "more than one run: type"),
                          (squares_rows() + [square_row("2", 256, "9.0")], "version 2 twice at 256"),
                          (squares_rows() + [square_row("1", 256, "0.0")], "tflops is 0.0"),
                          (squares_rows() + [square_row("1", 256, "nan")], "tflops is nan"),
                          (squares_rows()[-1:], "no measured rows of square shapes")):
            with self.subTest(why), self.assertRaisesRegex(ResultsError, why):
                self.read(rows)


def suite_row(percent, shape="8x16x32", **changes):
    return row("best", "library", "50.0", percent, **dict(zip("mnk", shape.split("x"))), **{
        "b": "col", "out": "bf16", "bias": "none", "activation": "none", "gated": "false", "beta": "0.0", "batch": "1",
        **changes})


class LibraryTest(PictureTest):
    def read(self, epilogues=(), gated=(), batches=()):
        self.write_csv([suite_row("110.0"), *epilogues], "epilogues.csv")
        self.write_csv([suite_row("101.0", activation="silu", gated="true"), *gated], "gated.csv")
        self.write_csv([suite_row("90.0", batch="4"), *batches], "batches.csv")
        return plot_library.read(self.folder)

    def test_a_line_for_each_epilogue(self):
        chart = self.read([suite_row("90.0", "64x16x32"), suite_row("105.0", bias="column"),
                           suite_row("80.0", mode="sustained"), suite_row("99.0", activation="relu"),
                           {**suite_row("100.0"), "version": "0"}],
                          [suite_row("120.0")], [suite_row("95.0", batch="8")])
        self.assertEqual([(line.label, line.percents) for line in chart.lines],
                         [("A·B", (110.0, 90.0)), ("+ bias", (105.0,)), ("SwiGLU", (101.0,)), ("batches", (90.0, 95.0))])
        self.assertAlmostEqual(chart.lines[0].mean(), 9900 ** 0.5)

    def test_what_is_refused(self):
        for rows, why in (([suite_row("90.0", "64x16x32", verified="no")], "is not verified"),
                          ([suite_row("90.0", "64x16x32", commit="4567abcdef")], "more than one run"),
                          ([suite_row("90.0")], "8x16x32 twice"), ([suite_row("0", "64x16x32")], "percent_of_cublas is 0")):
            with self.subTest(why), self.assertRaisesRegex(ResultsError, why):
                self.read(rows)
        with self.assertRaisesRegex(ResultsError, "batches.csv has rows of more than one run: commit"):
            self.read()
            self.write_csv([suite_row("90.0", commit="4567abcdef")], "batches.csv")
            plot_library.read(self.folder)


class RooflineTest(PictureTest):
    # ncu's figures are the same for all but the bytes read from DRAM, in GB.
    def write_hopper(self, number, dram_read, **changes):
        self.write_profile(profile.HOPPER, number, {
            profile.DRAM_READ: ("Gbyte", dram_read), profile.DRAM_WRITTEN: ("byte", "500,000,000"),
            profile.L2_SECTORS_READ: ("sector", "1000000000"), profile.L2_TO_SM: ("byte", "16000000000")}, **changes)

    def read(self):
        self.write_csv(ladder_rows(), "ladder.csv")
        return plot_measurements.read_roofline(self.folder)

    def test_points_are_what_was_profiled_and_measured(self):
        self.write_hopper(1, "1.5")
        self.write_hopper(2, "3.5")
        self.write_hopper(12, "3.5")
        chart = self.read()
        operations = 2 * 8192 ** 3
        self.assertEqual(chart.points[0],
                         plot_measurements.RooflinePoint("1", "a_name", 300.0, operations / 2e9, operations / 32e9,
                                                         operations / 16e9))
        self.assertEqual([(point.version, point.dram) for point in chart.points[1:]], [("2", operations / 4e9)])
        self.assertEqual((chart.bandwidth, chart.ceiling), (4.8, 900.0))
        for part in ("commit 89abcdef01, 2026-01-03", "4.8 TB/s, NVIDIA H200 data sheet", "commit 0123abcdef, 2026-01-02"):
            self.assertIn(part, chart.caption)

    def test_profiles_of_several_commits_are_named(self):
        self.write_hopper(1, "1.5")
        self.write_hopper(2, "1.5", commit="4567abcdef")
        self.assertIn("commit 89abcdef01, 2026-01-03 (1); commit 4567abcdef, 2026-01-03 (2)", self.read().caption)
        profiles = [({"version": str(version), "commit": "9", "date": str(2025 + version // 3)}, None)
                    for version in (1, 2, 3)]
        self.assertEqual(plot_measurements.commits_text(profiles), "commit 9, 2025 (1 to 2); commit 9, 2026 (3)")

    def test_profiles_of_something_else(self):
        for change, why in (({"gpu": "NVIDIA H100"}, "gpu 'NVIDIA H100', not 'NVIDIA H200'"),
                            ({"shape": "4096x4096x4096"}, "shape '4096x4096x4096'")):
            self.write_hopper(1, "1.5")
            self.write_hopper(2, "1.5", **change)
            with self.subTest(why), self.assertRaisesRegex(ResultsError, why):
                self.read()

    def test_figures_that_are_missing(self):
        self.write_hopper(1, "n/a")
        with self.assertRaisesRegex(ResultsError, "version 1 has no figure of dram__bytes_read.sum"):
            self.read()
        (self.folder / "v01.csv").write_text("metric\n", encoding="utf-8")
        with self.assertRaisesRegex(ResultsError, "v01.csv does not have the columns"):
            self.read()

    def test_nothing_profiled(self):
        with self.assertRaisesRegex(NotMeasuredError, "no version's profile beside ladder.csv"):
            self.read()


class OtherRooflinesTest(PictureTest):
    def write_other(self, ladder, number, speed, **changes):
        self.write_profile(ladder, number, {
            profile.DRAM_READ: ("Gbyte", "1.5"), profile.DRAM_WRITTEN: ("byte", "500,000,000"),
            profile.BURST_SPEED: ("TFLOP/s", speed)}, **changes)

    def read(self):
        return plot_measurements.read_other_rooflines(self.folder)

    def test_points_are_what_was_profiled(self):
        self.write_other(profile.AMPERE, 1, "100.87")
        self.write_other(profile.AMPERE, 2, "168.59")
        self.write_other(profile.SIMT, 1, "0.5", commit="0123abcdef")
        chart = self.read()
        ampere, simt = chart.panels
        self.assertEqual(ampere.points, (LabelledPoint(2 * 8192 ** 3 / 2e9, 100.87, "1 a_name"),
                                         LabelledPoint(2 * 8192 ** 3 / 2e9, 168.59, "2 a_name")))
        self.assertEqual(simt.points, (LabelledPoint(2 * 4096 ** 3 / 2e9, 0.5, "1 a_name"),))
        self.assertEqual((ampere.peak, simt.peak, chart.bandwidth), (989, 67, 4.8))
        self.assertIn("ampere: commit 89abcdef01, 2026-01-03; simt: commit 0123abcdef", chart.caption)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(NotMeasuredError, "no profile of a version of the ampere ladder"):
            self.read()
        self.write_other(profile.AMPERE, 1, "100.87")
        with self.assertRaisesRegex(NotMeasuredError, "no profile of a version of the simt ladder"):
            self.read()
        self.write_other(profile.SIMT, 1, "n/a")
        with self.assertRaisesRegex(ResultsError, "version simt.1 has no figure of matmul__burst_speed"):
            self.read()
        self.write_other(profile.SIMT, 1, "0.5")
        self.write_other(profile.SIMT, 2, "5.2", commit="0123abcdef")
        with self.assertRaisesRegex(ResultsError, "commit '0123abcdef', not '89abcdef01'"):
            self.read()


class EnergyTest(PictureTest):
    def read(self, rows):
        self.write_csv(rows, "ladder.csv")
        return plot_measurements.read_energy(self.folder)

    def test_points_are_the_sustained_rows(self):
        chart = self.read(ladder_rows())
        self.assertEqual(chart.points[:2], (LabelledPoint(800.0, 0.875, "cuBLAS"), LabelledPoint(300.0, 2.3333, "1 a_name")))
        self.assertEqual(chart.points[-1].label, "wgmma ceiling")
        self.assertEqual(chart.watts, 700.0)
        self.assertIn("commit 0123abcdef, 2026-01-02", chart.caption)

    def test_what_is_refused(self):
        rows = ladder_rows()
        with self.assertRaisesRegex(NotMeasuredError, "no sustained rows"):
            self.read([line for line in rows if line["mode"] == "burst"])
        rows[-1]["pj_per_flop"] = "-1"
        with self.assertRaisesRegex(ResultsError, "ladder.csv cannot be read: pj_per_flop is -1"):
            self.read(rows)


def missing_statements(code, file):
    """The statements of the code, without spaces, that the file does not have."""
    file = "".join(file.split())
    return [statement for statement in map("".join, map(str.split, code.split(";")))
            if statement.strip("}") and statement not in file]


def counted(file, metric):
    _, readings = profile.read_profile(ladder_results.DEFAULT_FOLDER / f"{file}.csv", profile.SIMT)
    return profile.as_number(readings[metric][1])


def has_pairs(words):
    """Whether lanes i and i ^ 1, or all lanes i and i ^ 2, read the same."""
    return any(all(words[lane] == words[lane ^ bit] for lane in range(32)) for bit in (1, 2))


class DiagramTest(PictureTest):
    """Of docs/images/diagrams.json."""

    def test_orders_visit_every_tile_once_and_touch_what_they_say(self):
        orders = plot_tile_orders.read(DIAGRAMS.parent)
        data = json.loads(DIAGRAMS.read_text(encoding="utf-8"))["tile_orders"]["orders"]
        for panel, order in zip(orders.panels, data, strict=True):
            with self.subTest(panel.title):
                rows, columns = plot_tile_orders.touched(panel.path)
                self.assertEqual(sorted(panel.path), list(itertools.product(rows, columns)))
                self.assertEqual((len(rows) * panel.block_m, len(columns) * panel.block_n), orders.shape)
                workers = panel.end - panel.first
                waves = [plot_tile_orders.touched(panel.path[first:first + workers])
                         for first in range(0, len(panel.path), workers)]
                self.assertEqual((sum(len(of_a) for of_a, _ in waves), sum(len(of_b) for _, of_b in waves)),
                                 (order["strips_a"], order["strips_b"]))
        self.assertEqual([panel.result.split("\n")[0] for panel in orders.panels],
                         ["this wave: 5 strips of A, 32 of B, 145 MB", "this wave: 8 strips of A, 9 of B, 71 MB",
                          "this wave: 8 strips of A, 8 of B, 67 MB", "this wave: 8 strips of A, 8 of B, 67 MB"])

    def test_swizzle_spreads_a_column_over_all_banks(self):
        swizzle = plot_shared_memory.read_swizzle(DIAGRAMS.parent)
        for row, cells in enumerate(swizzle.stored):
            self.assertEqual(cells, tuple((row, position ^ row) for position in range(8)))
        self.assertEqual(swizzle.logical[3][5], (3, 5))
        self.assertEqual([plot_shared_memory.column_banks(lines, 0, 16) for lines in (swizzle.logical, swizzle.stored)],
                         [(4, 8), (32, 1)])
        self.assertEqual(plot_shared_memory.banks_of(7, 16), (28, 31))

    def test_descriptor_fields_are_those_of_the_ptx_isa(self):
        descriptor = plot_shared_memory.read_descriptor(DIAGRAMS.parent)
        self.assertEqual([(field.name, field.first, field.last) for field in descriptor.fields],
                         [("start address", 0, 13), ("leading byte offset", 16, 29), ("stride byte offset", 32, 45),
                          ("base offset", 49, 51), ("swizzle", 62, 63)])
        self.assertEqual(descriptor.modes, {0: "none", 1: "128 B", 2: "64 B", 3: "32 B"})
        k_major, mn_major = descriptor.examples
        self.assertEqual(k_major.value, 0x4000_0040_0001_0040)
        self.assertEqual(mn_major.meanings, {"start address": "1024 B", "leading byte offset": "8192 B",
                                             "stride byte offset": "1024 B", "base offset": "", "swizzle": "128 B"})

    def test_formulas_are_those_of_the_kernels(self):
        """What stands between "From" and "End" in src/diagrams also stands in the files that "From" names."""
        copies = 0
        for source in (ROOT / "src/diagrams").glob("*_diagrams.cpp"):
            blocks = re.findall(r"// From (src/[^\n]*)\n(.*?)// End", source.read_text(encoding="utf-8"), re.DOTALL)
            for files, code in blocks:
                for file in files.split():
                    for missing in missing_statements(code, (ROOT / file).read_text(encoding="utf-8")):
                        self.fail(f"{source.name} copies '{missing}', which {file} does not have")
                    copies += 1
        self.assertGreater(copies, 40)

    def test_formulas_that_no_kernel_has_are_found(self):
        kernel = "// A comment\nconst int row = i / 4;  // Why\nuse(row,\n    2);\n"
        self.assertEqual(missing_statements("const int row = i / 4; use(row, 2);", kernel), [])
        self.assertEqual(missing_statements("const int row = i / 8; use(row, 2);", kernel), ["constintrow=i/8"])

    def test_coalescing_is_what_ncu_counted(self):
        picture = plot_simt.read_coalescing(DIAGRAMS.parent)
        for number, version in enumerate(picture.versions, 1):
            with self.subTest(version.title):
                loads = [len(plot_simt.sectors_of(elements, picture.sector_elems)) for elements in (version.a, version.b)]
                self.assertEqual(sum(loads) / 2, counted(
                    f"simt{number}", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"))

    def test_tiles_of_simt(self):
        tiles = plot_simt.read_tiles(DIAGRAMS.parent)
        self.assertEqual([(tile.block_m, tile.block_n) for tile in tiles],
                         [(32, 32), (64, 64), (128, 128), (64, 128), (128, 256)])
        for tile in tiles:
            with self.subTest(tile.title):
                rows, columns = plot_simt.extents(tile.thread)
                self.assertEqual(len(set(tile.thread)), rows * columns)
                self.assertEqual(32 * rows * columns, tile.warp[2] * tile.warp[3])

    def test_bank_conflicts_of_fragments_are_what_ncu_counted(self):
        # An SM serves eight lanes of a 16-byte load at a time, or sixteen if pairs of neighbours, or of every other
        # lane, have one address.
        for load, file in zip(plot_simt.read_fragment_banks(DIAGRAMS.parent), ("simt6", "simt7"), strict=True):
            with self.subTest(load.title):
                wavefronts = [sum(plot_simt.most_in_a_group(words[first:first + lanes]) for first in range(0, 32, lanes))
                              for words in (load.a, load.b) for lanes in [16 if has_pairs(words) else 8]]
                loads = counted(file, profile.LOADS)
                self.assertEqual(sum(wavefronts) / 2, counted(file, profile.LOAD_WAVEFRONTS) / loads)

    def test_bank_conflicts_of_transposing_stores(self):
        stores = plot_simt.read_transpose_banks(DIAGRAMS.parent)
        self.assertEqual([plot_simt.ways(store.words) for store in stores], [2, 1, 2, 1])
        for store in stores:
            self.assertEqual(len(set(store.words)), 32)
        for file, conflicts in (("simt6", False), ("simt7", True)):
            readings = profile.read_profile(ladder_results.DEFAULT_FOLDER / f"{file}.csv", profile.SIMT)[1]
            self.assertEqual(profile.store_conflicts_text(readings) != "0", conflicts)

    def test_no_stage_is_copied_to_while_it_is_multiplied(self):
        for name in ("simt_stages", "ampere_stages"):
            for ring in plot_simt.read_stages_of(name)(DIAGRAMS.parent):
                with self.subTest(ring.title):
                    columns = plot_simt.columns_of(ring)
                    multiplied = [block for column in columns for what, block in column.values() if what == "multiply"]
                    self.assertEqual(multiplied, list(range(len(multiplied))))
                    for column in columns:
                        self.assertLessEqual(len(column), ring.stages)
                    for before, column in zip(columns, columns[1:]):
                        for stage, (what, block) in column.items():
                            if what != "copy":
                                self.assertEqual(before[stage][1], block)

    def test_layouts_of_ampere(self):
        layouts = plot_ampere.read_banks(DIAGRAMS.parent)
        eight = plot_ampere.PHASE_LANES
        self.assertEqual([(plot_ampere.ways(layout.ldmatrix[:eight]), plot_ampere.ways(layout.copies[:eight]))
                          for layout in layouts], [(4, 1), (1, 2), (1, 1)])
        for layout in layouts:
            with self.subTest(layout.title):
                for first in range(0, 32, eight):
                    self.assertEqual(plot_ampere.ways(layout.ldmatrix[first:first + eight]),
                                     plot_ampere.ways(layout.ldmatrix[:eight]))

    def test_fragments_are_those_of_the_ptx_isa(self):
        fragments = plot_ampere.read_fragments(DIAGRAMS.parent)
        for matrix, registers, elements in ((fragments.a, 4, 2), (fragments.b, 2, 2), (fragments.d, 4, 1)):
            owners = collections.Counter(owner for row in matrix for owner in row)
            self.assertEqual(owners, dict.fromkeys(itertools.product(range(32), range(registers)), elements))
        # r = t / 4 and c = 2 * (t % 4) of lane t = 13.
        self.assertEqual(fragments.a[3 + 8][2 + 8], (13, 3))
        self.assertEqual(fragments.b[2 + 8][3], (13, 1))
        self.assertEqual(fragments.d[3 + 8][2], (13, 2))

    def test_tiles_of_ampere(self):
        for tile in plot_ampere.read_tiles(DIAGRAMS.parent):
            with self.subTest(tile.title):
                self.assertEqual(len(set(tile.warps)) * tile.warp_m * tile.warp_n, tile.block_m * tile.block_n)

    def test_swizzle_of_one_element(self):
        swizzle = plot_hopper.read_swizzle_bits(DIAGRAMS.parent)
        self.assertEqual(swizzle.offset, 128 * swizzle.row + 2 * swizzle.column)
        self.assertEqual(swizzle.targets, (None,) * 7 + (4, 5, 6))
        stored = swizzle.offset
        for bit, target in enumerate(swizzle.targets):
            if target is not None:
                stored ^= (swizzle.offset >> bit & 1) << target
        self.assertEqual(swizzle.stored, stored)

    def test_wgmmas_of_a_k_block_read_each_chunk_once(self):
        block = plot_hopper.read_wgmma_k_block(DIAGRAMS.parent)
        self.assertEqual([step.k for step in block.steps], list(range(0, block.block_k, block.wgmma_k)))
        for row in range(8):
            self.assertEqual(sorted(place for step in block.steps for place in step.chunks[row]), list(range(8)))
        for step, after in itertools.pairwise(block.steps):
            self.assertEqual(16 * (after.address - step.address), 2 * block.wgmma_k)

    def test_consumers_share_the_rows_of_a_tile(self):
        tiles = plot_hopper.read_consumers(DIAGRAMS.parent)
        for tile in tiles:
            with self.subTest(tile.title):
                self.assertEqual([row for _, row in tile.blocks], list(range(0, tile.block_m, tile.wgmma_m)))
        self.assertEqual([tile.registers() for tile in tiles], [128, 128, 192])

    def test_cluster_loads_each_row_once(self):
        for cluster in plot_hopper.read_cluster_multicast(DIAGRAMS.parent):
            with self.subTest(cluster.title):
                rows = [row for _, first in cluster.ctas for row in range(first, first + cluster.part)]
                self.assertEqual(rows, list(range(cluster.block_m if cluster.shared == "A" else cluster.block_n)))

    def test_mixed_tile_n_covers_d_in_full_waves(self):
        one, mixed = plot_hopper.read_mixed_tile_n(DIAGRAMS.parent)
        for waves in (one, mixed):
            with self.subTest(waves.title):
                of_waves = collections.Counter(wave for *_, wave in waves.tiles)
                self.assertEqual(set(of_waves.values()), {waves.workers})
                area = sum(max(0, min(n, waves.n - column)) for _, column, n, _ in waves.tiles) * waves.block_m
                self.assertEqual(area, waves.m * waves.n)
                self.assertEqual(len({tile[:2] for tile in waves.tiles}), len(waves.tiles))
        self.assertEqual((one.widths(), mixed.widths()), ((384,) * 11, (384,) * 10 + (256,)))
        self.assertEqual(max(column + n for _, column, n, _ in mixed.tiles), mixed.n)

    def test_nothing_happens_twice_at_a_time_in_a_schedule(self):
        for schedule in (*plot_schedules.read_persistent(DIAGRAMS.parent), *plot_schedules.read_tile_ends(DIAGRAMS.parent)):
            with self.subTest(schedule.title):
                for lane in schedule.lanes:
                    for span, after in itertools.pairwise(schedule.of_lane(lane)):
                        self.assertLessEqual(span.end, after.begin)
                products = sorted((span for span in schedule.spans if span.what == "multiply"), key=lambda span: span.begin)
                for span, after in itertools.pairwise(products):
                    self.assertLessEqual(span.end, after.begin)

    def test_a_persistent_cta_loads_while_it_stores(self):
        each, persistent = plot_schedules.read_persistent(DIAGRAMS.parent)
        for schedule, loads in ((each, False), (persistent, True)):
            first_store = min((span for span in schedule.spans if span.what == "store"), key=lambda span: span.begin)
            self.assertEqual(loads, any(span.what == "copy" and span.text.startswith("2.") and span.begin < first_store.end
                                        for span in schedule.spans))
        self.assertLess(persistent.idle(), each.idle())

    def test_a_half_is_multiplied_again_only_when_it_is_stored(self):
        schedules = plot_schedules.read_tile_ends(DIAGRAMS.parent)
        for schedule in schedules:
            with self.subTest(schedule.title):
                for half, stores in zip(plot_schedules.HALVES, plot_schedules.STORES):
                    stored = schedule.of_lane(stores)
                    for span in schedule.of_lane(half):
                        if span.text.startswith("-"):
                            self.assertLessEqual(span.end, stored[0].begin)
                        else:
                            self.assertGreaterEqual(span.begin, stored[-1].end)
        idle = [schedule.idle() for schedule in schedules]
        self.assertEqual(idle, sorted(idle, reverse=True))

    def test_fourth_stage_fits_and_each_row_has_one_warp(self):
        stages = plot_hopper.read_fourth_stage(DIAGRAMS.parent)
        for name, parts in stages.memory:
            with self.subTest(name):
                self.assertLess(sum(size for _, size in parts), plot_hopper.MOST_SHARED_BYTES)
        self.assertEqual([row for *_, row in stages.rows], list(range(0, stages.block_m, stages.store_m)))

    def test_wave_throttle_keeps_clusters_together(self):
        throttle = plot_schedules.read_wave_throttle(DIAGRAMS.parent)
        self.assertEqual(len(throttle.without), throttle.clusters)
        self.assertLess(plot_schedules.distance(throttle.throttled), plot_schedules.distance(throttle.without) / 2)

    def test_data_that_is_something_else(self):
        for text in ("", "[]", "{}", '{"tile_orders": {}}', '{"tile_orders": {"shape": "8x8"}}'):
            (self.folder / "diagrams.json").write_text(text, encoding="utf-8")
            with self.subTest(text):
                self.expect_refused(["tile_orders"], "diagrams.json is not what diagram_data prints")


class PrimerTest(PictureTest):
    def test_gpcs_have_all_sms(self):
        self.assertEqual(plot_primer.sms_of_gpcs(132), (16,) * 6 + (18,) * 2)
        self.assertEqual(plot_primer.sms_of_gpcs(144), (18,) * 8)
        self.assertEqual(sum(plot_primer.sms_of_gpcs(114)), 114)

    def test_room_is_what_ncu_counted(self):
        limits = {"registers": "launch__occupancy_limit_registers", "threads": "launch__occupancy_limit_warps"}
        for kernel, file in zip(plot_primer.read_occupancy(DIAGRAMS.parent), ("simt4", "simt7"), strict=False):
            for name, metric in limits.items():
                with self.subTest(file, resource=name):
                    self.assertEqual(kernel.rooms()[name], counted(file, metric))

    def test_waves_hold_all_tiles(self):
        for waves in (plot_primer.Waves(2170, 1024, 132), plot_primer.Waves(2304, 2048, 132), plot_primer.Waves(128, 256, 1)):
            self.assertEqual(sum(waves.waves()), waves.tiles())
        self.assertEqual(plot_primer.Waves(2304, 2048, 132).waves(), [132, 12])

    def test_groups_of_lines(self):
        lines = plot_primer.L2Lines(10, 2, (1, 0, 2, 3, 0), (0, 4), "")
        self.assertEqual(lines.groups(lines.first_reads), ((10, 12, 1), (14, 18, 5)))
        self.assertEqual(lines.groups(lines.again), ((12, 14, 4),))

    @needs_matplotlib
    def test_pictures_have_a_dark_color_for_each(self):
        for name, (read, draw) in plot_primer.PICTURES.items():
            with self.subTest(name):
                path = self.folder / f"{name}.svg"
                draw(read(DIAGRAMS.parent), path)
                ProgramTest.expect_dark_colors(self, path.read_text(encoding="utf-8"))


class KernelsTest(PictureTest):
    """The pictures of docs/library.md."""

    def test_swapped_kernels_are_what_the_page_says(self):
        kernels = plot_kernels.swapped_kernels(DIAGRAMS.parent)
        tiles = {kernel[1:3] for kernel in kernels}
        page = " ".join((ROOT / "docs/library.md").read_text(encoding="utf-8").split())
        (small_m, small_n), (large_m, large_n) = min(tiles), max(tiles)
        self.assertIn(f"compiles [{len(tiles)} such tiles]", page)
        self.assertIn(f"from {small_m}x{small_n} to {large_m}x{large_n}", page)
        self.assertIn("may have 16 rows, or any multiple of 8 rows from 32 to 256", page)
        for _, block_m, *_ in kernels:
            self.assertTrue(block_m == 16 or block_m in range(32, 257, 8), block_m)

    def test_clusters_are_what_the_page_says(self):
        source = plot_kernels.source_of(DIAGRAMS.parent, "gemm/instances/cooperative_configs.hpp")
        shapes = re.search(r"kClusterShapes = \{(.*?)\};", source, re.DOTALL)
        *sizes, largest = sorted({int(m) * int(n) for m, n in re.findall(r"(\d+), (\d+)", shapes[1])})
        page = (ROOT / "docs/library.md").read_text(encoding="utf-8")
        self.assertIn(f"[{', '.join(map(str, sizes))} or {largest} CTAs]", page)

    def test_tiles_and_waves(self):
        swap = plot_kernels.read_swap_ab(DIAGRAMS.parent)
        self.assertEqual([(tiling.grid(), tiling.tiles(), tiling.waves()) for tiling in (swap.plain, swap.swapped)],
                         [((17, 8), 136, 2), ((14, 8), 112, 1)])

    def test_sources_that_do_not_hold_what_a_picture_shows(self):
        (self.folder / "images").mkdir()
        source = self.folder / "src"
        source.mkdir()
        (source / "config.hpp").write_text("inline constexpr int kMost = 8;\n", encoding="utf-8")
        images = self.folder / "images/library"
        self.assertEqual(plot_kernels.constant(images, "config.hpp", "kMost"), 8)
        plot_kernels.check_sources(images, {"config.hpp": ("constexpr",)})
        with self.assertRaisesRegex(ResultsError, "src/config.hpp does not have 'kLeast'"):
            plot_kernels.check_sources(images, {"config.hpp": ("kLeast",)})
        with self.assertRaises(FileNotFoundError):
            plot_kernels.check_sources(images, {"plan.cpp": ()})

    @needs_matplotlib
    def test_pictures_have_a_dark_color_for_each(self):
        for name, (read, draw) in plot_kernels.PICTURES.items():
            with self.subTest(name):
                path = self.folder / f"{name}.svg"
                draw(read(DIAGRAMS.parent), path)
                ProgramTest.expect_dark_colors(self, path.read_text(encoding="utf-8"))


# --- The program ---


class ProgramTest(PictureTest):
    def test_what_must_not_be_published(self):
        self.write_csv(ampere_rows() + [row("ampere.3", "mma_sync", "1.0", "1.0", verified="no")])
        self.expect_refused([], "version ampere.3", "'no'")

    def test_pictures_that_are_not_there(self):
        self.expect_refused([], "there is nothing to draw in")
        self.expect_refused(["simt"], "simt.csv")
        self.expect_refused(["squares"], "squares.csv")
        self.expect_refused(["swizzle"], "diagrams.json")
        self.expect_refused(["volta"], "no picture 'volta'",
                            "hopper, ampere, simt, squares, roofline, other_rooflines, energy, library_epilogues, tile_orders")
        self.write_csv([line for line in ladder_rows() if line["mode"] == "burst"], "ladder.csv")
        self.expect_refused(["energy"], "no sustained rows")

    def test_no_matplotlib(self):
        self.write_csv(ampere_rows())
        (self.folder / "matplotlib.py").write_text(NO_MATPLOTLIB, encoding="utf-8")
        self.expect_refused([], "needs matplotlib", "./dev plots", PYTHONPATH=str(self.folder))

    def run_and_read(self, *arguments):
        """What it drew, as {name: text}."""
        result = self.run_tool(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        paths = [pathlib.Path(line) for line in result.stdout.splitlines()]
        self.assertEqual(sorted(paths), sorted(self.folder.glob("*.svg")))
        return {path.stem: path.read_text(encoding="utf-8") for path in paths}

    @needs_matplotlib
    def test_same_data_same_file(self):
        self.write_csv(ampere_rows())
        self.write_csv(squares_rows(), "squares.csv")
        drawn = self.run_and_read()
        self.assertEqual(list(drawn), ["ampere", "squares"])
        self.assertEqual(self.run_and_read(), drawn)
        self.assertNotIn("<dc:date>", "".join(drawn.values()))
        self.assertEqual(self.run_tool("--check").returncode, 0)

    def test_pictures_of_other_data_are_found(self):
        rows = ampere_rows()
        self.write_csv(rows)
        self.expect_refused(["--check"], "these pictures do not show today's data", "ampere.svg", PYTHONPATH=NOWHERE)
        read, _ = plot_ladder.PICTURES["ampere"]
        picture = self.folder / "ampere.svg"
        picture.write_text(f"<svg/>{chart_style.data_comment(read(self.folder))}\n", encoding="utf-8")
        result = self.run_tool("--check", PYTHONPATH=NOWHERE)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.write_csv([rows[0], {**rows[1], "tflops": "201.0"}, *rows[2:]])
        self.assertIn("these pictures do not show today's data", self.run_tool("--check").stderr)

    def test_committed_pictures_have_a_dark_color_for_each(self):
        pictures = [*ladder_results.DEFAULT_FOLDER.glob("*.svg"), *DIAGRAMS.parent.glob("*.svg")]
        self.assertGreaterEqual(len(pictures), 12)
        for path in pictures:
            with self.subTest(path.name):
                self.expect_dark_colors(path.read_text(encoding="utf-8"))

    def expect_dark_colors(self, svg):
        self.assertEqual(svg.count(chart_style.dark_style()), 1)
        colors = set(re.findall(r"(?:fill|stroke)(?:: |=\")(#[0-9a-f]+|[a-z]+)", svg.replace("</style>", "", 1)))
        # What url() names are hatches, whose colors are among these.
        self.assertLessEqual(colors - {"none", "url"}, set(chart_style.DARK))

    @needs_matplotlib
    def test_all_colors_have_one_for_dark_pages(self):
        self.write_csv(squares_rows(), "squares.csv")
        # The recorded data, which has crowded points.
        for path in (*ladder_results.DEFAULT_FOLDER.glob("*.csv"), DIAGRAMS):
            if path.name != "squares.csv":
                (self.folder / path.name).symlink_to(path)
        drawn = self.run_and_read()
        self.assertEqual(list(drawn), ["hopper", "ampere", "simt", "squares", "roofline", "other_rooflines", "energy",
                                       "library_epilogues", "tile_orders", "swizzle", "smem_descriptor",
                                       *plot_simt.PICTURES, *plot_ampere.PICTURES, *plot_hopper.PICTURES,
                                       *plot_schedules.PICTURES])
        for name, text in drawn.items():
            with self.subTest(name):
                self.expect_dark_colors(text)


if __name__ == "__main__":
    unittest.main()
