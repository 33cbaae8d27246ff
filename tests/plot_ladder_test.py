"""Tests of tools/plot_ladder.py: what it draws, and, where matplotlib is installed, that it draws it the same twice."""

import csv
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"
TOOL = TOOLS / "plot_ladder.py"

sys.path.insert(0, str(TOOLS))
import ladder_results  # noqa: E402
import plot_ladder  # noqa: E402

HOPPER, AMPERE, SIMT = ladder_results.LADDERS

# A package of that name that cannot be imported.
NO_MATPLOTLIB = 'raise ImportError("No module named matplotlib")\n'


def row(version, name, tflops, percent, **changes):
    return {"version": version, "name": name, "idea": "an idea", "type": "bf16", "m": "4096", "n": "4096", "k": "4096",
            "mode": "burst", "tflops": tflops, "percent_of_cublas": percent,
            "verified": "unchecked" if version == "ceiling" else "yes", "gpu": "NVIDIA H200", "sm_count": "132",
            "driver": "580.95.05", "cuda": "13.0", "commit": "0123abcdef", "data": "normal", "rounds": "7",
            "date": "2026-01-02T03:04:05Z", "command": "matmul ampere", **changes}


def ampere_rows():
    return [row("0", "cublas", "800.0", "100.0"), row("ampere.1", "wmma", "200.04", "25.01"),
            row("ampere.2", "cp_async", "99.94", "12.49"), row("cutlass", "slow", "400.0", "50.0"),
            row("cutlass", "fast", "500.0", "62.5"), row("ceiling", "peak", "900.0", "112.5"),
            row("0", "cublas", "700.0", "100.0", mode="sustained"),
            row("ampere.2", "cp_async", "90.0", "12.86", mode="sustained")]


class PlotLadderTest(unittest.TestCase):
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

    def chart(self, rows, ladder=AMPERE):
        return plot_ladder.chart_of(ladder, ladder_results.read_results(self.write_csv(rows), ladder))

    def run_tool(self, *arguments, **environment):
        return subprocess.run([sys.executable, str(TOOL), "--profiles", str(self.folder), *arguments],
                              capture_output=True, text=True, check=False, env={**os.environ, **environment})

    def expect_refused(self, arguments, *parts, **environment):
        result = self.run_tool(*arguments, **environment)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertEqual(list(self.folder.glob("*.svg")), [])

    # --- What is drawn ---

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

    # --- The program ---

    def test_what_must_not_be_published(self):
        self.write_csv(ampere_rows() + [row("ampere.3", "mma_sync", "1.0", "1.0", verified="no")])
        self.expect_refused([], "version ampere.3", "'no'")

    def test_ladders_that_are_not_there(self):
        self.expect_refused([], "no CSV file of a ladder")
        self.expect_refused(["simt"], "simt.csv")
        self.expect_refused(["volta"], "no ladder 'volta'", "hopper, ampere, simt")

    def test_no_matplotlib(self):
        self.write_csv(ampere_rows())
        (self.folder / "matplotlib.py").write_text(NO_MATPLOTLIB, encoding="utf-8")
        self.expect_refused([], "needs matplotlib", "./dev plots", PYTHONPATH=str(self.folder))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed; ./dev plots installs it")
    def test_same_data_same_file(self):
        self.write_csv(ampere_rows())
        texts = set()
        for _ in range(2):
            result = self.run_tool()
            self.assertEqual((result.returncode, result.stdout), (0, f"{self.folder / 'ampere.svg'}\n"), result.stderr)
            texts.add((self.folder / "ampere.svg").read_bytes())
        self.assertEqual(len(texts), 1)
        self.assertNotIn(b"<dc:date>", texts.pop())
        self.assertEqual([path.name for path in self.folder.glob("*.svg")], ["ampere.svg"])


if __name__ == "__main__":
    unittest.main()
