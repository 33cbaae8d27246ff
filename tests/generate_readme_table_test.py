"""Tests of tools/generate_readme_table.py, run as a program on CSV files like those that matmul writes."""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "generate_readme_table.py"

BEFORE = "# Title\n<!-- results:begin -->\nold\n<!-- results:end -->\nafter\n"

EXPECTED = """\
# Title
<!-- results:begin -->
Measured on one NVIDIA H200 (132 SMs) at commit 0123abcdef on 2026-01-02, CUDA 13.0, driver 580.95.05, at \
8192x8192x8192, normal inputs, median of 7 interleaved rounds, by `build/release/matmul all --mode both`.

| version | name | the one idea | TFLOP/s (burst) | % of cuBLAS | gain over previous | TFLOP/s (sustained) | \
% of cuBLAS (sustained) |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
| 0 | cublas | the idea of 0 | 800 | 100.0 % |  | 700 | 100.0 % |
| 1 | first | a \\| b | 200 | 25.0 % |  | 175 | 25.0 % |
| 2 | second | the idea of 2 | 300 | 37.5 % | +50.0 % |  |  |
| ceiling | peak | the idea of ceiling | 900 | 112.5 % |  |  |  |
| cutlass | other | the idea of cutlass | 600 | 75.0 % |  |  |  |
<!-- results:end -->
after
"""


def row(version, name, tflops, percent, **changes):
    return {"version": version, "name": name, "idea": f"the idea of {version}", "m": "8192", "n": "8192", "k": "8192",
            "mode": "burst", "tflops": tflops, "percent_of_cublas": percent,
            "verified": "unchecked" if version == "ceiling" else "yes", "gpu": "NVIDIA H200", "sm_count": "132",
            "driver": "580.95.05", "cuda": "13.0", "commit": "0123abcdef", "data": "normal", "rounds": "7",
            "date": "2026-01-02T03:04:05Z", "command": "matmul all --mode both", **changes}


def good_rows():
    return [row("0", "cublas", "800.0", "100.0"), row("1", "first", "200.0", "25.0", idea="a | b"),
            row("2", "second", "300.0", "37.5"), row("ceiling", "peak", "900.0", "112.5"),
            row("cutlass", "other", "600.0", "75.0"),
            row("0", "cublas", "700.0", "100.0", mode="sustained"),
            row("1", "first", "175.0", "25.0", mode="sustained"),
            row("1", "first", "99.0", "25.0", m="1024")]


class GenerateReadmeTableTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.csv = pathlib.Path(folder.name) / "ladder.csv"
        self.readme = pathlib.Path(folder.name) / "README.md"
        self.readme.write_text(BEFORE, encoding="utf-8")

    def write_csv(self, rows):
        with open(self.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)

    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, str(TOOL), "--readme", str(self.readme), *arguments],
                              capture_output=True, text=True, check=False)

    def expect_refused(self, *parts):
        result = self.run_tool(str(self.csv))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), BEFORE)

    def test_writes_the_table_between_the_markers(self):
        self.write_csv(good_rows())
        result = self.run_tool(str(self.csv))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.readme.read_text(encoding="utf-8"), EXPECTED)

    def test_check_tells_stale_from_current_and_writes_nothing(self):
        self.write_csv(good_rows())
        stale = self.run_tool(str(self.csv), "--check")
        self.assertEqual(stale.returncode, 1)
        self.assertIn("out of date", stale.stderr)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), BEFORE)
        self.run_tool(str(self.csv))
        self.assertEqual(self.run_tool(str(self.csv), "--check").returncode, 0)

    def test_csv_that_does_not_exist(self):
        self.expect_refused("ladder.csv")

    def test_row_that_is_not_verified(self):
        for verified in ("no", "unchecked", ""):
            with self.subTest(verified):
                self.write_csv(good_rows() + [row("3", "third", "1.0", "1.0", m="1024", verified=verified)])
                self.expect_refused("version 3 at 1024x8192x8192 (burst)", f"'{verified}'")

    def test_data_that_is_not_normal(self):
        self.write_csv(good_rows() + [row("ceiling", "peak", "1.0", "1.0", data="integers")])
        self.expect_refused("'integers' data")

    def test_commit_that_nobody_has(self):
        for commit in ("unknown", "0123abcdef-dirty", ""):
            with self.subTest(commit):
                self.write_csv(good_rows() + [row("2", "second", "1.0", "1.0", commit=commit)])
                self.expect_refused(f"commit '{commit}'")

    def test_no_rows_at_the_shape(self):
        self.write_csv([row("0", "cublas", "800.0", "100.0", m="64")])
        self.expect_refused("no measured burst rows at 8192x8192x8192")

    def test_missing_column(self):
        self.write_csv([{key: value for key, value in line.items() if key != "tflops"} for line in good_rows()])
        self.expect_refused("no column 'tflops'")

    def test_file_that_is_no_utf8(self):
        self.csv.write_bytes(b"version\n\xff\n")
        self.expect_refused("ladder.csv", "utf-8")

    def test_number_that_is_none(self):
        self.write_csv([row("0", "cublas", "fast", "100.0")])
        self.expect_refused("ladder.csv", "'fast'")

    def test_readme_without_markers(self):
        self.write_csv(good_rows())
        self.readme.write_text("# Title\n", encoding="utf-8")
        self.assertEqual(self.run_tool(str(self.csv)).returncode, 2)


if __name__ == "__main__":
    unittest.main()
