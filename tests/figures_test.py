"""Figures in the documents are recorded ones: of a CSV file in profiles/, as it stands there, rounded, or set in
relation to that of the version before. Which file it may come from depends on what the section is about.

A figure that no such file holds is found; one that stands for something else in them is not. Generated tables have
checks of their own (tools/generate_results.py, tools/profile.py) and are left out here. What is somebody else's
figure stands in CITED, where the text says whose it is.
"""

import collections
import csv
import itertools
import pathlib
import re
import statistics
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from documents import ROOT  # noqa: E402
import ladder_results  # noqa: E402
import plot_primer  # noqa: E402
import profile  # noqa: E402  tools/profile.py, not the standard library's

RECORDS = ladder_results.DEFAULT_FOLDER
MOST_WARPS = 64  # of an SM, sm_90
SMS = 132  # of an H200
SCHEDULERS = 4  # of an SM, each of which issues an instruction in a cycle
FMAS_PER_CYCLE = 128  # of an SM
WARP_THREADS = 32
FMAS_OF_MMA = 16 * 8 * 16  # of an mma.sync.m16n8k16

# The tiles of D at the shape of the profiles; those of versions 1 and 2 are what a CTA computes.
SIMT_TILES = {1: (32, 32), 2: (32, 32), 3: (32, 32), 4: (64, 64), 5: (128, 128), 6: (128, 128), 7: (64, 128),
              8: (128, 256)}
AMPERE_TILES = {1: (128, 128), 2: (128, 128), 3: (128, 128), 4: (128, 128), 5: (128, 128), 6: (256, 128)}

UNITS = ("TFLOP/s", "pJ", "GHz", "MHz", "GB", "MB", "KiB", "W", "%", "ms", "us")
NUMBER = r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)"
# Of several numbers the last one has the unit: 33.0, 63.3 and 79.2 %.
FIGURES = re.compile(rf"({NUMBER}(?:(?:,| and|, and| to| or)\s+{NUMBER})*)\s+(" + "|".join(map(re.escape, UNITS))
                     + r")(?!\w)")
# Counts as the tables write them, numbers with decimals but without a unit, as stalls are, and counts of something.
PLAIN = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d+\.\d+)(?![\w.,]*\d)"
                   r"|(?<![\w.,])(\d+)(?=\s+(?:registers|instructions|CTAs|SYNCS)\b)")
SECTOR_BYTES = 32
# Columns of what matmul wrote: (unit that the documents write it in, the factor).
COLUMNS = {"tflops": (("TFLOP/s", 1),), "percent_of_cublas": (("%", 1),), "watts": (("W", 1),),
           "pj_per_flop": (("pJ", 1),), "sm_clock_mhz": (("MHz", 1), ("GHz", 1e-3)),
           **{f"time_{which}_us": (("us", 1), ("ms", 1e-3)) for which in ("median", "min", "max")}}
# The same by kind of ncu's figures.
NCU_UNITS = {"time": (("ms", 1e3), ("us", 1e6)), "frequency": (("GHz", 1e-9),), "percent": (("%", 1),),
             "bytes": (("GB", 1e-9), ("MB", 1e-6), ("KiB", 1 / 1024)), "tflops": (("TFLOP/s", 1),),
             "watts": (("W", 1),), "energy": (("pJ", 1),), "count": ((None, 1),), "ratio": ((None, 1),)}

# From NVIDIA's data sheet "NVIDIA H200 Tensor Core GPU", and the lengths of samples.
CITED = {("989", "TFLOP/s"), ("67", "TFLOP/s"), ("700", "W"), ("4", "ms"), ("50", "ms"), ("150", "ms")}
# What others published. The speeds of the kernels 2 to 11 of fast.cu at 4096³ on an H100, in TFLOP/s, are from its
# worklog; version N of the Hopper ladder is its kernel N + 1. The others are from its README and its code.
PUBLISHED = (317, 423, 498, 610, 660, 704, 734, 747, 758, 764)
OF_FAST_CU = {("763", "TFLOP/s"), ("716", "TFLOP/s"), ("20", "%"), ("160", "KiB")}
# What a program of this project printed that writes no file: tests/gpu/library_test.cpp, LibraryOverhead.
PRINTED = {(microseconds, "us") for microseconds in ("179.1", "195.8", "198.2", "209.1", "220.3", "4.1", "4.0")}


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Figures:
    """Numbers by unit; None is the unit of counts and ratios."""

    def __init__(self):
        self.values = {}

    def add(self, unit, value):
        self.values.setdefault(unit, []).append(value)

    def add_row(self, row):
        for column, units in COLUMNS.items():
            for unit, factor in units if row.get(column) else ():
                self.add(unit, float(row[column]) * factor)

    def add_profile(self, readings):
        for value, kind in self.of_profile(readings).values():
            for unit, factor in NCU_UNITS[kind]:
                self.add(unit, value * factor)

    def add_steps(self, before, after):
        """How much more or less the figures of a profile are than those of another, in percent."""
        before, after = self.of_profile(before), self.of_profile(after)
        for metric, (value, _) in after.items():
            if metric in before and before[metric][0]:
                self.add("%", abs(value / before[metric][0] - 1) * 100)

    @staticmethod
    def of_profile(readings):
        """{metric: (value, kind)}"""
        kinds = {metric: kind for metric, (kind, _) in profile.FORMATS.items()}
        kinds.update({figure: "count" for figure in profile.SASS_OPCODES})
        kinds.update({metric: "count" for metric in (profile.LOADS, profile.LOAD_WAVEFRONTS, profile.STORES)})
        kinds.update({profile.stall_metric(reason): "stall" for reason in profile.STALL_REASONS})
        figures = {}
        for metric, reading in readings.items():
            kind = kinds.get(metric)
            value = profile.as_number(reading[1]) if kind == "stall" else kind and profile.convert(reading, kind)
            if value is None:
                continue
            figures[metric] = (value, "count" if kind == "stall" else kind)
            if metric == profile.L2_SECTORS_READ:
                figures[metric] = (value * SECTOR_BYTES, "bytes")
        conflicts = profile.store_conflicts_text(readings) if profile.STORES in readings else profile.NOT_AVAILABLE
        if conflicts != profile.NOT_AVAILABLE:
            figures["store conflicts"] = (float(conflicts.replace(",", "")), "count")
        wavefronts = profile.as_number(profile.load_wavefronts_text(readings)) if profile.LOADS in readings else None
        if wavefronts is not None:
            figures["load wavefronts"] = (wavefronts, "count")
        return figures

    def has(self, text, unit):
        """Whether a number is one of these, rounded to its decimals."""
        number = float(text.replace(",", ""))
        half = 0.5 * 10 ** -len(text.partition(".")[2])
        return any(abs(number - value) <= half * 1.0001 for value in self.values.get(unit, ()))


class Records:
    def __init__(self):
        self.profiles = {ladder.name: {origin["version"]: readings
                                       for origin, readings in profile.read_profiles(RECORDS, ladder)}
                         for ladder in profile.LADDERS}
        self.rows = {ladder.name: read_rows(RECORDS / ladder.file) for ladder in ladder_results.LADDERS}

    def of(self, ladder, versions):
        """The figures of these versions of a ladder, at all shapes, and their steps from the ones before."""
        figures = Figures()
        m, n, k = profile.parse_shape(ladder.shape)
        gigabytes = (4 if ladder is profile.SIMT else 2) / 1e9
        figures.add("GB", (m * k + n * k) * gigabytes)
        figures.add("GB", (m * k + n * k + m * n) * gigabytes)
        figures.add("GB", 2 * m * n * k / profile.LARGEST_TILE * gigabytes)
        profiles = self.profiles[ladder.name]
        for row in self.rows[ladder.name]:
            if row["version"] in versions:
                figures.add_row(row)
        for version in versions:
            readings = profiles.get(version)
            if readings is None:
                continue
            figures.add_profile(readings)
            before = profiles.get(ladder.version(ladder.number_of(version) - 1))
            if before is not None:
                figures.add_steps(before, readings)
        return figures


def unknown_figures(text, figures, cited=(), plain=False):
    """The figures in a text that are neither recorded nor cited."""
    unknown = []
    for match in FIGURES.finditer(text):
        for number in re.findall(NUMBER, match[1]):
            if not figures.has(number, match[2]) and (number, match[2]) not in cited:
                unknown.append(f"{number} {match[2]}")
    if plain:
        numbers = (match[1] or match[2] for match in PLAIN.finditer(FIGURES.sub("", text)))
        unknown += [number for number in numbers if not figures.has(number, None)]
    return unknown


def prose(text):
    """Without code, pictures, tables and what is generated."""
    text = re.sub(r"<!-- results:begin (\S+) -->.*?<!-- results:end \1 -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^\|.*$|`[^`\n]*`", "", text, flags=re.MULTILINE)


class FiguresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.records = Records()

    def test_what_changed(self):
        """Of a version's Markdown: that version's and the one's before."""
        for ladder in profile.LADDERS:
            for version in self.records.profiles[ladder.name]:
                path = RECORDS / f"{profile.file_stem(version)}.md"
                with self.subTest(path.name):
                    lines = profile.what_changed(path)
                    self.assertTrue(lines, "there is no section 'What changed'")
                    versions = (version, ladder.version(ladder.number_of(version) - 1))
                    text = re.sub("`[^`]*`", "", " ".join(lines))
                    self.assertEqual(unknown_figures(text, self.records.of(ladder, versions), plain=True), [])

    def test_worklog(self):
        """Of a version's section: its figures, those of its neighbours, cuBLAS's and the ceiling's; else of all."""
        text = (ROOT / "docs" / "worklog.md").read_text(encoding="utf-8")
        numbers = [str(number) for number in range(1, len(self.records.profiles["hopper"]) + 1)]
        for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
            title = section.partition("\n")[0]
            match = re.match(r"## Version (\d+):", section)
            versions = numbers if match is None else [str(int(match[1]) + offset) for offset in (-1, 0, 1)]
            with self.subTest(title):
                figures = self.records.of(profile.HOPPER, (*versions, "0", "ceiling"))
                cited = CITED
                if "published" in title:
                    cited = CITED | OF_FAST_CU
                    for size in (8192, 4096):
                        for gain in self.hopper_gains(size).values():
                            figures.add("%", gain)
                self.assertEqual(unknown_figures(prose(section), figures, cited), [])

    def hopper_gains(self, size):
        """How much faster a version is than the one before, in bursts, in percent."""
        speeds = {int(version): self.burst_of(profile.HOPPER, version, size, "tflops")
                  for version in self.records.profiles["hopper"]}
        return {version: (speed / speeds[version - 1] - 1) * 100 for version, speed in speeds.items() if version > 1}

    def test_table_of_published_gains(self):
        rows = self.table_of("worklog.md", "version | step")
        self.assertEqual(list(rows), list(range(1, len(PUBLISHED) + 2)))
        published = {version: (after / before - 1) * 100
                     for version, (before, after) in enumerate(itertools.pairwise(PUBLISHED), 2)}
        gains = [self.hopper_gains(size) for size in (8192, 4096)] + [published]
        for version, (_, *cells) in rows.items():
            with self.subTest(version):
                large, small, theirs = (f"{of[version]:+.1f} %".replace("-", "−") if version in of else "" for of in gains)
                speed = str(PUBLISHED[version - 1]) if version <= len(PUBLISHED) else ""
                if not speed:
                    theirs = "about 1 %"
                self.assertEqual(cells, [large, small, str(version + 1), speed, theirs])

    def test_table_of_branches(self):
        text = (ROOT / "docs" / "worklog.md").read_text(encoding="utf-8")
        rows = self.rows_of(text, "size | version 16")
        self.assertEqual(len(rows), 6)
        bursts = {(row["version"], f"{row['m']}x{row['n']}x{row['k']}"): f"{float(row['tflops']):.2f}"
                  for row in self.records.rows["hopper"] if row["mode"] == "burst"}
        for size, *speeds in rows:
            with self.subTest(size):
                shape = size.partition(": ")[2]
                self.assertEqual(speeds, [bursts[version, shape] for version in ("16", "17", "18")])

    def test_worklog_of_simt(self):
        """As test_worklog, and what the page computes from the records."""
        self.expect_known_in_worklog("worklog-simt.md", profile.SIMT, list(self.simt_figures()))

    def expect_known_in_worklog(self, page, ladder, computed):
        """computed: (unit, value) of each figure that the page may have besides the recorded ones."""
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        every = list(self.records.profiles[ladder.name])
        for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
            match = re.match(r"## Version (\d+):", section)
            versions = every if match is None else [ladder.version(int(match[1]) + offset) for offset in (-1, 0, 1)]
            with self.subTest(page, section=section.partition("\n")[0]):
                figures = self.records.of(ladder, (*versions, "0", "ceiling"))
                for unit, value in computed:
                    figures.add(unit, value)
                self.assertEqual(unknown_figures(prose(section), figures, CITED), [])

    def counter(self, ladder, version, metric):
        return profile.as_number(self.records.profiles[ladder.name][version][metric][1])

    def burst_of(self, ladder, version, size, column):
        (row,) = [row for row in self.records.rows[ladder.name]
                  if (row["version"], row["mode"], row["m"], row["n"], row["k"]) == (version, "burst", *3 * [str(size)])]
        return float(row[column])

    def time_of(self, ladder, version, size):
        """The median in us, in bursts."""
        return self.burst_of(ladder, version, size, "time_median_us")

    def speeds_of(self, ladder, version, sizes):
        return [f"{self.burst_of(ladder, version, size, 'tflops'):.2f}" for size in sizes]

    def share_of_fma_rate(self, version):
        size = profile.parse_shape(profile.SIMT.shape)[0]
        cycles = self.counter(profile.SIMT, version, "sm__cycles_elapsed.max")
        return size ** 3 / (FMAS_PER_CYCLE * SMS * cycles) * 100

    def test_worklog_of_ampere(self):
        """As test_worklog_of_simt."""
        self.expect_known_in_worklog("worklog-ampere.md", profile.AMPERE, list(self.ampere_figures()))

    def ampere_figures(self):
        """How much faster a version is than the one before, and what version 6 is of CUTLASS."""
        times = [self.time_of(profile.AMPERE, version, 8192) for version in self.records.profiles["ampere"]]
        yield from (("%", (before / after - 1) * 100) for before, after in itertools.pairwise(times))
        yield ("%", self.time_of(profile.AMPERE, "cutlass", 8192) / times[-1] * 100)

    def simt_figures(self):
        """The shares of the FMA rate, and what version 5 takes for a K block of 8 where its CTAs are one wave."""
        yield from (("%", self.share_of_fma_rate(version)) for version in self.records.profiles["simt"])
        alone, in_pairs = (self.time_of(profile.SIMT, "simt.5", size) / (size / 8) for size in (1024, 2048))
        yield from (("us", alone), ("us", in_pairs), ("%", in_pairs / 2 / alone * 100))

    @staticmethod
    def table_of(page, head):
        """The cells of the table whose first line begins so, by the number of a version."""
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        table = re.search(rf"^\| {re.escape(head)}.*\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
        return {int(number): cells for number, *cells in rows}

    def intensity_cells(self, ladder, version, tile, element_bytes):
        """Operations for a byte: by the tile, as L2 delivers to the SMs, and as DRAM delivers."""
        m, n, k = profile.parse_shape(ladder.shape)
        by_tile = 2 * tile[0] * tile[1] / (element_bytes * sum(tile))
        counted = (2 * m * n * k / self.counter(ladder, version, metric)
                   for metric in ("l1tex__m_xbar2l1tex_read_bytes.sum", "dram__bytes_read.sum"))
        return [f"{value:.1f}" for value in (by_tile, *counted)]

    def issued(self, ladder, version):
        return (self.counter(ladder, version, "sm__inst_issued.avg.pct_of_peak_sustained_elapsed") / 100
                * self.counter(ladder, version, "sm__cycles_elapsed.max") * SCHEDULERS * SMS)

    def test_table_of_simt_intensity(self):
        rows = self.table_of("worklog-simt.md", "version | operations for a byte from L2, by theory")
        self.assertEqual(list(rows), list(SIMT_TILES))
        fmas = profile.parse_shape(profile.SIMT.shape)[0] ** 3 / WARP_THREADS
        for number, cells in rows.items():
            with self.subTest(number):
                version = profile.SIMT.version(number)
                loads = self.counter(profile.SIMT, version, profile.LOADS)
                wavefronts = self.counter(profile.SIMT, version, profile.LOAD_WAVEFRONTS)
                self.assertEqual(cells, [*self.intensity_cells(profile.SIMT, version, SIMT_TILES[number], 4),
                                         f"{fmas / wavefronts:.2f}" if loads else "-",
                                         f"{self.issued(profile.SIMT, version) / fmas:.2f}",
                                         f"{self.share_of_fma_rate(version):.1f} %"])

    def pipe_percent(self, ladder, version):
        return self.counter(ladder, version, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed")

    def pipe_cycles(self, ladder, version):
        """How long the tensor pipe is active for the operations of an mma.sync.m16n8k16."""
        m, n, k = profile.parse_shape(ladder.shape)
        active = self.pipe_percent(ladder, version) / 100 * self.counter(ladder, version, "sm__cycles_elapsed.max")
        return active * SCHEDULERS * SMS / (m * n * k / FMAS_OF_MMA)

    def test_table_of_ampere_intensity(self):
        rows = self.table_of("worklog-ampere.md", "version | operations for a byte from L2, by theory")
        self.assertEqual(list(rows), list(AMPERE_TILES))
        m, n, k = profile.parse_shape(profile.AMPERE.shape)
        for number, cells in rows.items():
            with self.subTest(number):
                version = profile.AMPERE.version(number)
                self.assertEqual(cells, [*self.intensity_cells(profile.AMPERE, version, AMPERE_TILES[number], 2),
                                         f"{self.issued(profile.AMPERE, version) / (m * n * k / FMAS_OF_MMA):.2f}",
                                         f"{self.pipe_cycles(profile.AMPERE, version):.2f}",
                                         f"{self.pipe_percent(profile.AMPERE, version):.1f} %"])

    def test_cycles_of_wgmma(self):
        text = prose((ROOT / "docs" / "worklog-ampere.md").read_text(encoding="utf-8"))
        self.assertIn(f"in {self.pipe_cycles(profile.HOPPER, '18'):.2f} cycles", text)

    def test_table_of_small_ampere_sizes(self):
        rows = self.table_of("worklog-ampere.md", "version | CTAs at 1024³")
        tiles = {4: (128, 128), 5: (128, 128), 6: (128, 64)}  # at 1024³
        self.assertEqual(list(rows), list(tiles))
        for number, tile in tiles.items():
            with self.subTest(number):
                speeds = self.speeds_of(profile.AMPERE, profile.AMPERE.version(number), (1024, 2048, 8192))
                self.assertEqual(rows[number], [f"{1024 ** 2 // (tile[0] * tile[1])}", *speeds])

    def test_table_of_small_simt_sizes(self):
        rows = self.table_of("worklog-simt.md", "version | CTAs at 1024³")
        self.assertEqual(list(rows), [4, 5, 6, 7])
        for number, cells in rows.items():
            with self.subTest(number):
                version = profile.SIMT.version(number)
                tile = SIMT_TILES[number]
                readings = self.records.profiles["simt"][version]
                room = min(profile.as_number(text) for metric, (_, text) in readings.items()
                           if metric.startswith("launch__occupancy_limit"))
                threads = self.counter(profile.SIMT, version, "launch__block_size")
                speeds = self.speeds_of(profile.SIMT, version, (1024, 2048, 4096))
                self.assertEqual(cells, [f"{1024 ** 2 // (tile[0] * tile[1])}", f"{threads / WARP_THREADS:.0f}",
                                         f"{room:.0f}", *speeds])

    # --- The primer ---

    PRIMER = ROOT / "docs" / "primer.md"
    IMAGES = ROOT / "docs" / "images"

    @staticmethod
    def rows_of(text, head):
        """The rows of the table whose first line begins so, as lists of cells."""
        table = re.search(rf"^\| {re.escape(head)}.*\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]

    def primer(self):
        return self.PRIMER.read_text(encoding="utf-8")

    def test_figures_of_the_primer(self):
        """They are the probe's, of the profiles that the page names, of the ladder's rows, or computed from these."""
        probe = plot_primer.read_probe(self.IMAGES)
        figures = self.records.of(profile.HOPPER, ("1", "12", "13", "18", "ceiling"))
        h200 = plot_primer.read_probe(self.IMAGES, "h200")
        for value in (*probe.values.values(), *probe.others.values(), *h200.values.values(), *h200.others.values()):
            for unit in ("TFLOP/s", "%", "TB/s", "cycles", "ns"):
                figures.add(unit, value)
        values = probe.values
        in_flight = values["memory_read_bandwidth"] * probe.others["memory_latency"] / 1e3
        figures.add("MB", in_flight)
        figures.add("TFLOP/s", 2 * 128 * 256 / (2 * (128 + 256)) * h200.values["l2_bandwidth"])
        rates = [abs(1 - h200.values[name] / values[name]) for name in ("fp32_rate", "mma_sync_rate", "wgmma_rate")]
        figures.add("%", max(rates) * 100)
        figures.add("MB", h200.values["memory_read_bandwidth"] * h200.others["memory_latency"] / 1e3)
        figures.add("KB", in_flight / probe.sm_count * 1e3)
        figures.add("TFLOP/s", 2 * 128 * 256 / (2 * (128 + 256)) * values["l2_bandwidth"])
        figures.add("%", values["mma_sync_rate"] / values["wgmma_rate"] * 100)
        figures.add("cycles", 2 * 128 * 256 * 64 / probe.others["wgmma_rate"])
        lines = plot_primer.read_l2_lines(self.IMAGES)
        for begin, end, _ in lines.groups(lines.first_reads):
            figures.add("cycles", begin)
            figures.add("cycles", end)
        for kernel in plot_primer.read_occupancy(self.IMAGES):
            figures.add("%", kernel.occupancy() * 100)
        for waves in plot_primer.read_waves(self.IMAGES):
            figures.add("%", waves.efficiency() * 100)
            figures.add("%", (waves.grid()[0] * plot_primer.BLOCK[0] / waves.m - 1) * 100)
        bursts, sustained = ({row["version"]: row for row in self.records.rows["hopper"]
                              if (row["m"], row["n"], row["k"], row["mode"]) == (*3 * ["8192"], mode)}
                             for mode in ("burst", "sustained"))
        for rows in (bursts, sustained):
            figures.add("%", (float(rows["13"]["tflops"]) / float(rows["12"]["tflops"]) - 1) * 100)
        figures.add("%", (1 - float(sustained["18"]["tflops"]) / float(bursts["18"]["tflops"])) * 100)
        figures.add("TFLOP/s", float(sustained["18"]["watts"]) / float(sustained["18"]["pj_per_flop"]))
        # Sizes: of shared memory, and of the library's stages and buffers.
        stages = {4 * 48, 48, 32, 224, 2, 1}
        cited = CITED | {(str(size), "KiB") for size in stages} | {("256", "KiB"), ("227", "KiB")}
        text = prose(self.primer())
        self.assertEqual(unknown_figures(text, figures, cited), [])
        text = re.sub(r"\s+", " ", text)
        counts = [int(count.replace(",", "")) for count in re.findall(r"([\d,]+) lines take", text)]
        self.assertEqual(counts, [count for *_, count in lines.groups(lines.first_reads)[2:]])
        for unit in ("TB/s", "cycles", "ns", "KB"):
            for number in re.findall(rf"({NUMBER}) {unit}(?!\w)", text):
                with self.subTest(unit, number=number):
                    self.assertTrue(figures.has(number, unit) or (number, unit) in cited)
        ratio = values["wgmma_rate"] / values["fp32_rate"]
        self.assertIn(f"{ratio:.1f} times as many", text)
        ratio = h200.values["memory_read_bandwidth"] / values["memory_read_bandwidth"]
        self.assertIn(f"{ratio:.2f} times as many bytes", text)
        ratio = h200.values["l2_bandwidth"] / values["l2_bandwidth"]
        self.assertIn(f"{ratio:.2f} times as many bytes to all SMs", text)
        self.assertIn(f"differ by at most {max(rates) * 100:.1f} %", text)
        for level in ("near", "far"):
            name = f"l2_{level}_again_latency"
            self.assertAlmostEqual(h200.values[name] - values[name], 10, delta=0.5)

    def test_tables_of_the_primer(self):
        probe = plot_primer.read_probe(self.IMAGES)
        text = self.primer()
        wanted = {label: [f"{probe.values[name]:.1f}", f"{probe.others[name]:.1f}"] for name, label, _ in plot_primer.LADDER}
        self.assertEqual({label: cells[:2] for label, *cells in self.rows_of(text, "a load from")}, wanted)
        rates = [probe.values[name] for name in ("fp32_rate", "mma_sync_rate", "wgmma_rate")]
        self.assertEqual([cells[2:] for cells in self.rows_of(text, "ladder | instruction")],
                         [[f"{rate:.1f}", f"{rate / probe.values['memory_read_bandwidth']:.1f}",
                           f"{rate / probe.values['l2_bandwidth']:.1f}"] for rate in rates])
        bandwidths = {cells[0]: cells[2:] for cells in self.rows_of(text, "from | to")[3:]}
        self.assertEqual(bandwidths, {f"DRAM, {what}": [f"{probe.values[f'memory_{what}_bandwidth']:.2f} TB/s", ""]
                                      for what in ("read", "write", "copy")})
        self.assertEqual([cells[2:] for cells in self.rows_of(text, "from | to")[:3]],
                         [[f"{probe.others['shared_bandwidth']:.1f} TB/s", f"{probe.values['shared_bandwidth']:.1f}"],
                          [f"{probe.values['l2_sm_bandwidth'] / 1e3:.3f} TB/s", f"{probe.others['l2_sm_bandwidth']:.1f}"],
                          [f"{probe.values['l2_bandwidth']:.1f} TB/s", f"{probe.others['l2_bandwidth']:.1f}"]])

    def test_cards_of_the_primer(self):
        probes = [plot_primer.read_probe(self.IMAGES, gpu) for gpu in ("h100", "h200")]
        quantities = [(name, 1, 1) for name in ("shared_latency", "l1_latency", "l2_near_latency", "l2_near_again_latency",
                                                "l2_far_latency", "l2_far_again_latency", "memory_latency",
                                                "shared_bandwidth")]
        quantities += [("l2_sm_bandwidth", 1e-3, 3), ("l2_bandwidth", 1, 1)]
        quantities += [(f"memory_{what}_bandwidth", 1, 2) for what in ("read", "write", "copy")]
        quantities += [(name, 1, 1) for name in ("fp32_rate", "mma_sync_rate", "wgmma_rate")]
        wanted = [[str(probe.l2_mib) for probe in probes]]
        wanted += [[f"{probe.values[name] * factor:.{digits}f}" for probe in probes] for name, factor, digits in quantities]
        wanted += [[f"{probe.values['wgmma_rate'] / probe.values[bandwidth]:.1f}" for probe in probes]
                   for bandwidth in ("memory_read_bandwidth", "l2_bandwidth")]
        self.assertEqual([cells[1:] for cells in self.rows_of(self.primer(), "quantity | H100 | H200")], wanted)

    def test_occupancy_of_the_primer(self):
        kernels = plot_primer.read_occupancy(self.IMAGES)
        active = [self.counter(ladder, version, profile.WARPS_ACTIVE)
                  for ladder, version in ((profile.SIMT, "simt.4"), (profile.SIMT, "simt.7"), (profile.HOPPER, "11"))]
        rows = [[str(kernel.registers) for kernel in kernels], [str(kernel.threads) for kernel in kernels],
                [f"{kernel.registers_of_cta():,}" for kernel in kernels],
                [str(kernel.rooms()["registers"]) for kernel in kernels],
                [f"{kernel.shared_kib:.1f}" for kernel in kernels],
                [str(kernel.rooms()["shared memory"]) for kernel in kernels],
                [str(kernel.rooms()["threads"]) for kernel in kernels],
                [f"{kernel.occupancy() * 100:.1f} %" for kernel in kernels], [f"{percent:.1f} %" for percent in active]]
        self.assertEqual([cells[1:] for cells in self.rows_of(self.primer(), "| simt.4")], rows)

    def test_power_of_the_primer(self):
        by_mode = {(row["version"], row["mode"]): row for row in self.records.rows["hopper"]
                   if (row["m"], row["n"], row["k"]) == (*3 * ["8192"],)}
        rows = self.rows_of(self.primer(), "version | burst")
        self.assertEqual([cells[0] for cells in rows], ["1", "12", "13", "18", "ceiling"])
        for version, *cells in rows:
            with self.subTest(version):
                burst, sustained = by_mode[version, "burst"], by_mode[version, "sustained"]
                delivered = ""
                if version != "ceiling":
                    delivered = f"{self.counter(profile.HOPPER, version, 'l1tex__m_xbar2l1tex_read_bytes.sum') / 1e9:.2f}"
                self.assertEqual(cells, [f"{float(burst['tflops']):.2f}", f"{float(sustained['tflops']):.2f}",
                                         burst["sm_clock_mhz"], sustained["sm_clock_mhz"], sustained["watts"],
                                         sustained["pj_per_flop"], delivered])

    def of_ladder(self, ladder):
        versions = dict.fromkeys(row["version"] for row in self.records.rows[ladder.name])
        return self.records.of(ladder, list(versions))

    @staticmethod
    def of_files(*names):
        figures = Figures()
        for name in names:
            for row in read_rows(RECORDS / name):
                figures.add_row(row)
        return figures

    @staticmethod
    def means_of_library():
        """Of library.csv, by mode: the mean of the shapes for which cuBLAS has a fast kernel, and the least."""
        for mode in ("burst", "sustained"):
            percents = [float(row["percent_of_cublas"]) for row in read_rows(RECORDS / "library.csv")
                        if (row["version"], row["mode"]) == ("best", mode)]
            common = [percent for percent in percents if percent < 200]
            yield from (statistics.geometric_mean(common), min(common))

    def of_front_pages(self):
        figures = self.of_ladder(profile.HOPPER)
        for mean in self.means_of_library():
            figures.add("%", mean)
        for row in self.records.rows["simt"]:
            figures.add_row(row)
        for name in ("own_shape_before.csv", "own_shape_after.csv"):
            for row in read_rows(RECORDS.parent / "h100" / name):
                figures.add("us", float(row["time_median_us"]))
        return figures

    def test_front_pages(self):
        for name in ("README.md", "docs/results.md", "docs/usage.md", "docs/matmul.md", "docs/hacking.md"):
            with self.subTest(name):
                text = prose((ROOT / name).read_text(encoding="utf-8"))
                self.assertEqual(unknown_figures(text, self.of_front_pages(), CITED), [])

    def test_readme_is_short(self):
        """A reader decides on the first page whether to go on."""
        self.assertLessEqual(len((ROOT / "README.md").read_text(encoding="utf-8").split()), 1500)

    def test_page_of_the_library(self):
        text = prose((ROOT / "docs" / "library.md").read_text(encoding="utf-8"))
        figures = self.of_files("library.csv", "../h100/own_shape_before.csv", "../h100/own_shape_after.csv")
        random = [float(row["percent_of_cublas"]) for row in read_rows(RECORDS.parent / "h100" / "random.csv")
                  if row["version"] == "best"]
        self.assertIn(f"at {len(random)} random shapes", " ".join(text.split()))
        figures.add("%", statistics.geometric_mean(random))
        self.assertEqual(unknown_figures(text, figures, CITED), [])

    @staticmethod
    def times_of(path):
        """{(shape, configuration or cuBLAS): the least time in bursts, as pages write it}"""
        times = {}
        for row in read_rows(path):
            if row["mode"] != "burst" or row["version"] not in ("best", "0"):
                continue
            key = f"{row['m']}x{row['n']}x{row['k']}", row["config"] if row["version"] == "best" else "cuBLAS"
            times[key] = min(times.get(key, float("inf")), float(row["time_median_us"]))
        return {key: f"{time:.1f}" for key, time in times.items()}

    @staticmethod
    def library_rows(section):
        """The cells of the tables of a section of docs/library.md, without their heads and without code quotes' marks."""
        text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8").partition(f"## {section}")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| (.*) \|$", text.replace("`", ""), re.MULTILINE)
        return [[cell.strip() for cell in row.split("|")] for row in rows if not row.startswith(("---", "M x N x K"))]

    def test_table_of_swap_ab(self):
        times = self.times_of(RECORDS.parent / "h100" / "random_tuning_swap_ab.csv")
        rows = self.library_rows("Swap-AB")
        self.assertEqual(len(rows), 3)
        for shape, *cells in rows:
            shape = shape.split(",")[0]
            plain, swapped = ({config: float(time) for (of, config), time in times.items()
                               if of == shape and config != "cuBLAS" and ("_t_" in config) == is_swapped}
                              for is_swapped in (False, True))
            with self.subTest(shape):
                self.assertEqual(cells[0], times[shape, "cuBLAS"])
                for cell, of in zip(cells[1:], (plain, swapped), strict=True):
                    self.assertEqual(cell, f"{min(of.values()):.1f}: {min(of, key=of.get)}")

    def test_table_of_split_k(self):
        times = {"128x7168x16384": self.times_of(RECORDS / "library_tuning_again.csv"),
                 "64x256x65536": {**self.times_of(RECORDS / "library_tuning.csv"),
                                  **self.times_of(RECORDS / "long_k_tuning.csv")}}
        rows = self.library_rows("Split-K\n")
        self.assertEqual(len(rows), 8)
        shape = ""
        for of, config, ctas, time in rows:
            shape = of or shape
            with self.subTest(shape, config=config):
                self.assertEqual(time, times[shape][shape, config])
                if config == "cuBLAS":
                    continue
                m, n, _ = map(int, shape.split("x"))
                block_m, block_n = map(int, re.search(r"_(\d+)x(\d+)_", config).groups())
                split, _, clusters = (re.search(r"_k([\dx]+)$", config) or ["", "1"])[1].partition("x")
                self.assertEqual(int(ctas), -(-m // block_m) * -(-n // block_n) * int(split) * int(clusters or 1))

    def test_table_of_the_librarys_kernels(self):
        text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
        percents = {(row["m"], row["n"], row["k"], row["config"]): float(row["percent_of_cublas"])
                    for row in read_rows(RECORDS / "library.csv")
                    if (row["version"], row["mode"]) == ("best", "burst")}
        rows = re.findall(r"\| (\d+)x(\d+)x(\d+) \| `([\w+]+)` \| ([\d.]+ %) \|$", text, re.MULTILINE)
        self.assertEqual(len(rows), 10)
        for *problem, percent in rows:
            with self.subTest(problem):
                self.assertEqual(percent, f"{percents[tuple(problem)]:.1f} %")

    def test_issue_rates(self):
        """Those of docs/sass.md: an SM's active warps over what a warp spends on an instruction, its stalls and 1."""
        text = prose((ROOT / "docs" / "sass.md").read_text(encoding="utf-8"))
        rates = re.findall(r"(0\.\d\d)\s+in\s+version\s+(\d+)", text)
        self.assertGreaterEqual(len(rates), 6)
        for rate, version in rates:
            with self.subTest(version):
                _, readings = profile.read_profile(RECORDS / f"v{int(version):02}.csv", profile.HOPPER)
                stalls = sum(profile.as_number(text) for metric, (_, text) in readings.items() if "_stalled_" in metric)
                percent = profile.as_number(readings[profile.WARPS_ACTIVE][1])
                self.assertEqual(rate, f"{percent / 100 * MOST_WARPS / (stalls + 1):.2f}")

    @staticmethod
    def means_of_suites():
        """Of library.csv: the squares from 1024³, and what is no square."""
        for mode in ("burst", "sustained"):
            percents = {(row["m"], row["n"], row["k"]): float(row["percent_of_cublas"])
                        for row in read_rows(RECORDS / "library.csv")
                        if (row["version"], row["mode"]) == ("best", mode) and float(row["percent_of_cublas"]) < 200}
            squares = [percents[(str(size),) * 3] for size in (1024, 2048, 4096, 8192, 12288, 16384)]
            others = [percent for shape, percent in percents.items() if len(set(shape)) > 1]
            yield from (statistics.geometric_mean(squares), statistics.geometric_mean(others))

    def means_of_large_epilogues(self):
        """Of both runs, each operation's over the shapes of 2048 rows and more."""
        for file in ("epilogues.csv", "epilogues_before.csv"):
            of_operations = collections.defaultdict(list)
            for (operation, _, shape), percent in self.percents_of_best(RECORDS / file).items():
                if int(shape.partition("x")[0]) >= 2048:
                    of_operations[operation].append(percent)
            yield from map(statistics.geometric_mean, of_operations.values())

    def test_readme_of_the_records(self):
        """Each section: the runs that it is about."""
        hopper = self.of_ladder(profile.HOPPER)
        library = self.of_files("library.csv", "library_again.csv", "library_few_rows.csv")
        for mean in self.means_of_suites():
            library.add("%", mean)
        fused = self.of_files("epilogues.csv", "epilogues_before.csv")
        for mean in self.means_of_large_epilogues():
            fused.add("%", mean)
        known = {"": hopper, "The files": hopper, "How to read the profiles": hopper,
                 "The ampere ladder": self.of_ladder(profile.AMPERE),
                 "The library": library, "Off the tile grid": self.of_files("ragged.csv"),
                 "Random shapes": self.of_files(),
                 "Fused operations": fused, "Gated": self.of_files("gated.csv"), "Batches": self.of_files("batches.csv")}
        text = prose((RECORDS / "README.md").read_text(encoding="utf-8"))
        sections = {section.partition("\n")[0] if i else "": section
                    for i, section in enumerate(re.split("^## ", text, flags=re.MULTILINE))}
        self.assertEqual(set(sections), set(known))
        for title, section in sections.items():
            with self.subTest(title):
                # Versions of software are none of these.
                section = re.sub(r"driver [\d.]+|CUTLASS [\d.]+x?|(?:ampere|simt)\.\d+", "", section)
                self.assertEqual(unknown_figures(section, known[title], CITED | PRINTED, plain=True), [])

    def test_tables_of_random_shapes(self):
        for folder in (RECORDS, RECORDS.parent / "h100"):
            _, rows = self.table("Random shapes", folder)
            self.assertEqual({row[0].split("]")[0][1:] for row in rows},
                             {path.name for path in folder.glob("random*.csv") if "tuning" not in path.name})
            for name, *cells in rows:
                runs = [row for row in read_rows(folder / name.split("]")[0][1:]) if row["version"] == "best"]
                percents = [float(run["percent_of_cublas"]) for run in runs]
                below = [sum(percent < limit for percent in percents) for limit in (97, 92)]
                with self.subTest(name, folder=folder.name):
                    self.assertEqual(cells, [runs[0]["commit"], str(len(runs)),
                                             f"{statistics.geometric_mean(percents):.1f}", *map(str, below)])

    def table(self, title, folder=RECORDS):
        """The cells of the tables of that section of the folder's README.md: the first head, and all other rows."""
        text = (folder / "README.md").read_text(encoding="utf-8")
        section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
        lines = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
        rows = [[cell.strip() for cell in re.split(r" ?\| ?", line)] for line in lines]
        return rows[0], rows[2:]

    @staticmethod
    def percents_of_best(path):
        """{(operation, batches, shape): the library's speed in percent of cuBLAS's}, all of which was verified."""
        rows = [row for row in read_rows(path) if row["version"] == "best" and row["verified"] == "yes"]
        return {((row["out"], row["bias"], row["activation"], row["beta"]), row["batch"],
                 f"{row['m']}x{row['n']}x{row['k']}"): float(row["percent_of_cublas"]) for row in rows}

    def test_tables_of_operations(self):
        operations = {"A·B": ("bf16", "none", "none", "0.0"), "bias": ("bf16", "column", "none", "0.0"),
                      "bias, ReLU": ("bf16", "column", "relu", "0.0"),
                      "bias, GELU": ("bf16", "column", "gelu_tanh", "0.0"), "C": ("bf16", "none", "none", "1.0"),
                      "fp32 output": ("fp32", "none", "none", "0.0")}
        for folder in (RECORDS, RECORDS.parent / "h100"):
            with self.subTest(folder.name, file="epilogues.csv"):
                percents = self.percents_of_best(folder / "epilogues.csv")
                head, (*rows, means) = self.table("Fused operations", folder)
                self.assertEqual(head, ["shape", *operations])
                wanted = {shape: [percents[operation, "1", shape] for operation in operations.values()]
                          for _, _, shape in percents}
                self.assertEqual({shape: cells for shape, *cells in rows},
                                 {shape: [f"{percent:.1f}" for percent in line] for shape, line in wanted.items()})
                self.assertEqual(means, ["geometric mean", *(f"{statistics.geometric_mean(column):.1f}"
                                                             for column in zip(*wanted.values()))])
            with self.subTest(folder.name, file="batches.csv"):
                percents = self.percents_of_best(folder / "batches.csv")
                _, (*rows, mean) = self.table("Batches", folder)
                self.assertEqual({(batches, shape): percent for batches, shape, percent in rows},
                                 {(batches, shape): f"{percent:.1f}" for (_, batches, shape), percent in percents.items()})
                self.assertEqual(mean, ["geometric mean", "", f"{statistics.geometric_mean(percents.values()):.1f}"])

    def test_tables_of_gated(self):
        for folder in (RECORDS, RECORDS.parent / "h100"):
            rows = {(row["version"], row["activation"], row["gated"], f"{row['m']}x{row['n']}x{row['k']}"): row
                    for row in read_rows(folder / "gated.csv") if row["verified"] == "yes"}
            _, table = self.table("Gated", folder)
            self.assertEqual(len(table), sum(version == "best" and gated == "true" for version, _, gated, _ in rows))
            for shape, activation, *cells in table:
                with self.subTest(folder.name, shape=shape, activation=activation):
                    gated, cublas = (rows[version, activation, "true", shape] for version in ("best", "0"))
                    plain = rows["best", "none", "false", shape]
                    figures = [gated["time_median_us"], cublas["time_median_us"], gated["percent_of_cublas"],
                               plain["time_median_us"]]
                    self.assertEqual(cells, [f"{float(figure):.1f}" for figure in figures])

    def test_table_of_the_library(self):
        _, rows = self.table("The library")
        self.assertEqual(len(rows), 8)
        for file, mode, mean, common_mean, least in rows:
            with self.subTest(file, mode=mode):
                best = {f"{row['m']}x{row['n']}x{row['k']}": row for row in read_rows(RECORDS / file.strip("`"))
                        if (row["version"], row["mode"]) == ("best", mode)}
                refused = {shape for shape, row in best.items() if row["verified"] != "yes"}
                self.assertEqual(refused, {"1x7168x16384"} if file == "`library_row_major_b.csv`" else set())
                percents = {shape: float(row["percent_of_cublas"]) for shape, row in best.items() if shape not in refused}
                common = [percent for shape, percent in percents.items()
                          if shape not in ("4095x4097x4104", "8191x8193x8192")]
                shape = min(percents, key=percents.get)
                self.assertEqual(mean, f"{statistics.geometric_mean(percents.values()):.1f} %")
                self.assertEqual(least, f"{percents[shape]:.1f} % at {shape}")
                if len(common) < len(percents):
                    self.assertEqual(common_mean, f"{statistics.geometric_mean(common):.1f} %")
                else:
                    self.assertEqual(common_mean, "")

    def test_tables_of_peers(self):
        text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
        with_a_bias = ("PyTorch", "Triton", "QuACK", "CUTLASS")
        for title, file, peers in (("A·B", "peers.csv", ("PyTorch", "Triton", "QuACK", "DeepGEMM", "CUTLASS")),
                                   (r"A·B \+ bias", "peers_bias.csv", with_a_bias)):
            with self.subTest(file):
                times = collections.defaultdict(dict)
                for row in read_rows(RECORDS.parent / "h100" / file):
                    times[f"{row['m']}x{row['n']}x{row['k']}"][row["contestant"]] = float(row["time_median_us"])
                percents = {shape: [of["hopper-gemm"] / of[peer] * 100 for peer in peers] for shape, of in times.items()}
                wanted = [[shape, f"{times[shape]['hopper-gemm']:.1f}", *(f"{percent:.1f} %" for percent in line)]
                          for shape, line in percents.items()]
                wanted.append(["geometric mean", "", *(f"{statistics.geometric_mean(column):.1f} %"
                                                       for column in zip(*percents.values()))])
                table = re.search(rf"^\| {title} \|.*\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
                self.assertEqual([[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()], wanted)

    def test_newest_cublas(self):
        text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
        folder = RECORDS.parent / "h100"
        for version, file in (("13.1.0", "library.csv"), ("13.10.0", "library_cublas_13_10.csv")):
            with self.subTest(version):
                best = [row for row in read_rows(folder / file) if row["version"] == "best"]
                self.assertEqual({row["cublas"] for row in best}, {version})
                percents = {f"{row['m']}x{row['n']}x{row['k']}": float(row["percent_of_cublas"]) for row in best}
                common = [percent for percent in percents.values() if percent < 200]
                self.assertEqual(len(common), len(percents) - 2)
                shape = min(percents, key=percents.get)
                self.assertIn(f"| {version} | {statistics.geometric_mean(common):.1f} % | "
                              f"{statistics.geometric_mean(percents.values()):.1f} % | {percents[shape]:.1f} % at {shape} |", text)
        of_operations = collections.defaultdict(list)
        for row in read_rows(folder / "epilogues_cublas_13_10.csv"):
            if row["version"] == "best" and int(row["m"]) >= 2048:
                operation = (row["out"], row["bias"], row["activation"], row["beta"])
                of_operations[operation].append(float(row["percent_of_cublas"]))
        section = prose(text.partition("### The newest cuBLAS")[2].partition("\n## ")[0])
        self.assertEqual(re.findall(r"(1\d\d\.\d) %", section.partition("large shapes run")[2]),
                         [f"{statistics.geometric_mean(percents):.1f}" for percents in of_operations.values()])

    def test_table_of_ragged_shapes(self):
        head, rows = self.table("Off the tile grid")
        shapes = [cell.partition(",")[0] for cell in head[1:]]
        speeds = {(row["version"], f"{row['m']}x{row['n']}x{row['k']}"): float(row["tflops"])
                  for row in read_rows(RECORDS / "ragged.csv") if row["mode"] == "burst"}
        self.assertEqual(len(rows), 6)
        for name, *cells in rows:
            version = name.split()[0]
            for i, cell in enumerate(cells):
                with self.subTest(version, shape=shapes[i]):
                    speed = speeds[version, shapes[i]]
                    wanted = f"{speed:.0f}"
                    if "(" in cell:
                        wanted += f" ({(speed / speeds[version, shapes[i + 1]] - 1) * 100:+.1f} %)"
                    self.assertEqual(cell, wanted)

    def test_figures_that_no_file_holds_are_found(self):
        figures = self.records.of(profile.HOPPER, ("11", "10"))
        text = "811 TFLOP/s after 800 TFLOP/s, 1.6 % fewer cycles, 2,203,501, the pipe active for 93.6 %, stalls 8.08"
        self.assertEqual(unknown_figures(text, figures, plain=True), [])
        for text, wrong in (("It is 808 TFLOP/s.", "808 TFLOP/s"), ("55.5 and 93.6 %", "55.5 %"),
                            ("2,203,502 cycles", "2,203,502"), ("1.07 us", "1.07 us"), ("8.09 after 8.08", "8.09"), ("169 registers", "169")):
            with self.subTest(wrong):
                self.assertEqual(unknown_figures(text, figures, plain=True), [wrong])


if __name__ == "__main__":
    unittest.main()
