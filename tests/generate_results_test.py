"""Tests of tools/generate_results.py, run as a program on CSV files like those that matmul writes."""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "generate_results.py"

BEFORE = """\
# Title
<!-- results:begin hopper -->
old
<!-- results:end hopper -->
between
<!-- results:begin ampere -->
<!-- results:end ampere -->
<!-- results:begin simt -->
<!-- results:end simt -->
after
<!-- results:begin library -->
<!-- results:end library -->
"""

HOPPER = """\
| version | name | the one idea | TFLOP/s (burst) | % of cuBLAS | gain over previous | TFLOP/s (sustained) | \
% of cuBLAS (sustained) |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
| 0 | cublas | the idea of 0 | 800 | 100.0 % |  | 700 | 100.0 % |
| 1 | first | a \\| b | 200 | 25.0 % |  | 175 | 25.0 % |
| 2 | second | the idea of 2 | 300 | 37.5 % | +50.0 % |  |  |
| ceiling | peak | the idea of ceiling | 900 | 112.5 % |  |  |  |

Measured on one NVIDIA H200 (132 SMs) at commit 0123abcdef on 2026-01-02, CUDA 13.0, driver 580.95.05, at \
8192x8192x8192, normal inputs, median of 7 interleaved rounds, by `./matmul all --mode both`.
"""

AMPERE = """\
| version | name | the one idea | TFLOP/s (burst) | % of cuBLAS | % of CUTLASS | gain over previous | \
TFLOP/s (sustained) | % of cuBLAS (sustained) | % of CUTLASS (sustained) |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 0 | cublas | the idea of 0 | 800 | 100.0 % | 160.0 % |  | 700 | 100.0 % | 175.0 % |
| ampere.1 | first | the idea of ampere.1 | 200 | 25.0 % | 40.0 % |  |  |  |  |
| cutlass | multistage | the idea of cutlass | 500 | 62.5 % | 100.0 % |  | 400 | 57.1 % | 100.0 % |
| ampere.2 | second | the idea of ampere.2 | 300 | 37.5 % | 60.0 % | +50.0 % | 350 | 50.0 % | 87.5 % |

Measured on one NVIDIA H200 (132 SMs) at commit 0123abcdef on 2026-01-02, CUDA 13.0, driver 580.95.05, at \
4096x4096x4096, bf16, normal inputs, median of 7 interleaved rounds, by `./matmul all --mode both`.
"""

SIMT = """\
| version | name | the one idea | TFLOP/s (burst) | % of cuBLAS SGEMM | gain over previous |
| --- | --- | --- | ---: | ---: | ---: |
| 0 | cublas | the idea of 0 | 50.0 | 100.0 % |  |
| simt.1 | naive | the idea of simt.1 | 5.0 | 10.0 % |  |

Measured on one NVIDIA H200 (132 SMs) at commit 0123abcdef on 2026-01-02, CUDA 13.0, driver 580.95.05, at \
4096x4096x4096, fp32, normal inputs, median of 7 interleaved rounds, by `./matmul all --mode both`.
"""


LIBRARY = """\
| % of cuBLAS, geometric mean (minimum) | burst | sustained |
| --- | ---: | ---: |
| all 2 shapes | 100.0 % (80.0 %) | 104.9 % (100.0 %) |

Measured on one NVIDIA H200 (132 SMs) at commit 0123abcdef on 2026-01-02, CUDA 13.0, driver 580.95.05, bf16, B \
column-major, normal inputs, median of 7 interleaved rounds, by `./matmul all --mode both`.

<details><summary>All 2 shapes</summary>

| shape MxNxK | configuration | us (burst) | cuBLAS us (burst) | % of cuBLAS (burst) | us (sustained) | \
cuBLAS us (sustained) | % of cuBLAS (sustained) |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
| 64x64x128 | cooperative_64x64_w1_s4 | 5.2 | 4.2 | 80.0 % | 6.0 | 6.0 | 100.0 % |
| 8x16x32 | mma_sync_64x64x64_s4 | 4.0 | 5.0 | 125.0 % | 6.0 | 6.6 | 110.0 % |

</details>
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
            row("0", "cublas", "700.0", "100.0", mode="sustained"),
            row("1", "first", "175.0", "25.0", mode="sustained"),
            row("1", "first", "99.0", "25.0", m="1024")]


def small_row(version, name, tflops, percent, **changes):
    """At the shape of the two ladders that are not Hopper's."""
    return row(version, name, tflops, percent, **{"type": "bf16", "m": "4096", "n": "4096", "k": "4096", **changes})


def ampere_rows():
    return [small_row("0", "cublas", "800.0", "100.0"), small_row("ampere.1", "first", "200.0", "25.0"),
            small_row("cutlass", "simple", "400.0", "50.0"), small_row("cutlass", "multistage", "500.0", "62.5"),
            small_row("ampere.2", "second", "300.0", "37.5"),
            small_row("0", "cublas", "700.0", "100.0", mode="sustained"),
            small_row("cutlass", "multistage", "400.0", "57.14", mode="sustained"),
            small_row("ampere.2", "second", "350.0", "50.0", mode="sustained"),
            # None of these belongs into the table.
            small_row("ampere.2", "second", "310.0", "37.5", type="fp16"),
            small_row("ampere.3", "third", "", ""),
            small_row("11", "other", "790.0", "99.0"),
            small_row("simt.1", "naive", "5.0", "10.0", type="fp32"),
            small_row("0", "cublas", "50.0", "100.0", type="fp32")]


def simt_rows():
    return [small_row("0", "cublas", "50.0", "100.0", type="fp32"),
            small_row("simt.1", "naive", "5.0", "10.0", type="fp32")]


def library_row(version, config, shape, microseconds, percent, **changes):
    return row(version, "name", "1.0", percent, type="bf16", b="col", config=config, time_median_us=microseconds,
               **dict(zip("mnk", shape.split("x"))), **changes)


def library_rows():
    return [library_row("0", "cublasLt #3", "64x64x128", "4.16", "100.0"),
            library_row("best", "cooperative_64x64_w1_s4", "64x64x128", "5.2", "80.0"),
            library_row("ceiling", "", "64x64x128", "1.0", "400.0"),
            library_row("0", "cublasLt #3", "64x64x128", "6.0", "100.0", mode="sustained"),
            library_row("best", "cooperative_64x64_w1_s4", "64x64x128", "6.0", "100.0", mode="sustained"),
            library_row("0", "cublasGemmEx", "8x16x32", "5.0", "100.0"),
            library_row("best", "mma_sync_64x64x64_s4", "8x16x32", "4.0", "125.0"),
            library_row("0", "cublasGemmEx", "8x16x32", "6.6", "100.0", mode="sustained"),
            library_row("best", "mma_sync_64x64x64_s4", "8x16x32", "6.0", "110.0", mode="sustained")]


class GenerateResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.profiles = self.folder / "profiles" / "h200"
        self.profiles.mkdir(parents=True)
        self.page = self.folder / "page.md"
        self.page.write_text(BEFORE, encoding="utf-8")

    def write_csv(self, rows, name="ladder.csv"):
        with open(self.profiles / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)

    def run_tool(self, *arguments):
        return subprocess.run(
            [sys.executable, str(TOOL), "--page", str(self.page), "--root", str(self.folder), "--profiles", str(self.profiles), *arguments],
            capture_output=True, text=True, check=False)

    def tables(self):
        """What the tool has written between the markers, by ladder."""
        result = self.run_tool()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = self.page.read_text(encoding="utf-8")
        return {name: text.partition(f"<!-- results:begin {name} -->\n")[2].partition(f"<!-- results:end {name}")[0]
                for name in ("hopper", "ampere", "simt")}

    def expect_refused(self, *parts):
        result = self.run_tool()
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertEqual(self.page.read_text(encoding="utf-8"), BEFORE)

    def test_writes_the_tables_between_the_markers(self):
        self.write_csv(good_rows())
        self.write_csv(ampere_rows(), "ampere.csv")
        self.write_csv(simt_rows(), "simt.csv")
        self.assertEqual(self.tables(), {"hopper": HOPPER, "ampere": AMPERE, "simt": SIMT})
        text = self.page.read_text(encoding="utf-8")
        for line in ("# Title\n<!-- results:begin hopper -->\n",
                     "<!-- results:end hopper -->\nbetween\n<!-- results:begin ampere",
                     "<!-- results:end ampere -->\n<!-- results:begin simt -->\n",
                     "<!-- results:end simt -->\nafter\n"):
            self.assertIn(line, text)

    def test_ladder_that_is_not_measured_says_how_to(self):
        self.write_csv(good_rows())
        self.assertEqual(self.tables(), {
            "hopper": HOPPER,
            "ampere": "Not measured yet: `./dev bench ampere --size 4096 --mode both --csv profiles/h200/ampere.csv` "
                      "does it, on a GPU of sm_80 or newer.\n",
            "simt": "Not measured yet: `./dev bench simt --size 4096 --mode both --csv profiles/h200/simt.csv` does "
                    "it, on a GPU of sm_75 or newer.\n"})

    def library_table(self):
        self.tables()
        return self.page.read_text(encoding="utf-8").partition("<!-- results:begin library -->\n")[2]

    def test_library_shape_by_shape(self):
        self.assertEqual(self.library_table(), "<!-- results:end library -->\n")
        self.write_csv(library_rows(), "library.csv")
        self.assertEqual(self.library_table(), LIBRARY + "<!-- results:end library -->\n")
        self.assertEqual(self.run_tool("--check").returncode, 0)

    def test_library_measured_in_bursts_alone(self):
        self.write_csv([line for line in library_rows() if line["mode"] == "burst"], "library.csv")
        table = self.library_table()
        self.assertIn("| 8x16x32 | mma_sync_64x64x64_s4 | 4.0 | 5.0 | 125.0 % |\n", table)
        self.assertIn("| all 2 shapes | 100.0 % (80.0 %) |\n", table)

    def test_library_with_a_column_for_the_layout_of_a(self):
        self.write_csv([{**line, "a": "row"} for line in library_rows()], "library.csv")
        self.assertEqual(self.library_table(), LIBRARY + "<!-- results:end library -->\n")
        self.write_csv([{**line, "a": "col"} for line in library_rows()], "library.csv")
        self.assertIn(", bf16, A column-major, B column-major, normal inputs", self.library_table())

    def test_library_where_cublas_is_slow(self):
        rows = library_rows()
        for line in rows:
            if line["version"] == "best" and line["m"] == "8" and line["mode"] == "burst":
                line["percent_of_cublas"] = "500"
        self.write_csv(rows, "library.csv")
        table = self.library_table()
        self.assertIn("| without those above 200 % | 80.0 % (80.0 %) | 104.9 % (100.0 %) |\n"
                      "| all 2 shapes | 200.0 % (80.0 %) | 104.9 % (100.0 %) |\n", table)

    def test_library_whose_file_does_not_say_what_was_chosen(self):
        rows = library_rows()
        for line in rows:
            del line["config"]
        self.write_csv(rows, "library.csv")
        self.assertIn("| 8x16x32 |  | 4.0 |", self.library_table())

    def test_library_with_rows_that_do_not_belong_together(self):
        rows = library_rows()
        for changed, parts in (([{**rows[0], "b": "row"}, *rows[1:]], ("more than one run", "b is 'row'")),
                               ([{**line, "a": "col" if line is rows[-1] else "row"} for line in rows],
                                ("more than one run", "a is 'row' and 'col'")),
                               ([*rows, rows[1]], ("version best twice",)),
                               (rows[:-1], ("no row of version best at 8x16x32 (sustained)",)),
                               (rows[1:], ("no row of version 0 at 64x64x128 (burst)",)),
                               ([rows[0], {**rows[1], "verified": "no"}], ("'no'",)),
                               ([rows[0], {**rows[1], "time_median_us": ""}], ("cannot be read",)),
                               ([rows[2]], ("no measured rows of best",))):
            with self.subTest(parts):
                self.write_csv(changed, "library.csv")
                self.expect_refused("library.csv", *parts)

    def test_best_and_ceiling_are_no_steps_of_the_ladder(self):
        self.write_csv(ampere_rows()[:2] + [small_row("best", "library", "700.0", "87.5"), ampere_rows()[4],
                                            small_row("ceiling", "peak", "900.0", "112.5")], "ampere.csv")
        table = self.tables()["ampere"]
        self.assertNotIn("CUTLASS", table)
        self.assertIn("| best | library | the idea of best | 700 | 87.5 % |  |\n"
                      "| ampere.2 | second | the idea of ampere.2 | 300 | 37.5 % | +50.0 % |\n"
                      "| ceiling | peak | the idea of ceiling | 900 | 112.5 % |  |\n", table)

    def test_versions_lead_to_their_kernels_and_profiles(self):
        self.write_csv(good_rows())
        self.write_csv(ampere_rows(), "ampere.csv")
        for path in ("src/ladder/hopper/v01_first.cu", "src/ladder/ampere/v2_second.cu",
                     "src/ladder/ampere/v2_second.cuh", "src/ladder/ampere/v2_configs.hpp",
                     "profiles/h200/v01.md", "profiles/h200/ampere2.md"):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).touch()
        tables = self.tables()
        self.assertEqual(tables["hopper"], HOPPER.replace(
            "| 1 | first |", "| [1](src/ladder/hopper/v01_first.cu) | [first](profiles/h200/v01.md) |"))
        self.assertEqual(tables["ampere"], AMPERE.replace(
            "| ampere.2 | second |",
            "| [ampere.2](src/ladder/ampere/v2_second.cuh) | [second](profiles/h200/ampere2.md) |"))

    def test_chart_stands_above_its_table(self):
        self.write_csv(simt_rows(), "simt.csv")
        (self.profiles / "simt.svg").touch()
        (self.profiles / "ampere.svg").touch()
        tables = self.tables()
        self.assertEqual(tables["simt"], "![TFLOP/s of each version of the simt ladder at 4096x4096x4096]"
                                         "(profiles/h200/simt.svg)\n\n" + SIMT)
        self.assertNotIn("svg", tables["ampere"])

    def test_check_tells_stale_from_current_and_writes_nothing(self):
        for name, rows in (("ladder.csv", good_rows()), ("ampere.csv", ampere_rows()), ("simt.csv", simt_rows())):
            with self.subTest(name):
                self.run_tool()
                before = self.page.read_text(encoding="utf-8")
                self.assertEqual(self.run_tool("--check").returncode, 0)
                self.write_csv(rows, name)
                stale = self.run_tool("--check")
                self.assertEqual(stale.returncode, 1)
                self.assertIn("out of date", stale.stderr)
                self.assertEqual(self.page.read_text(encoding="utf-8"), before)

    def test_folder_that_does_not_exist(self):
        self.profiles.rmdir()
        self.expect_refused("no folder", "h200")

    def test_two_runs_in_one_file(self):
        for column, value in (("gpu", "NVIDIA H100"), ("commit", "fedcba9876"), ("date", "2026-01-03T03:04:05Z")):
            with self.subTest(column):
                self.write_csv(ampere_rows()[:2] + [small_row("ampere.2", "second", "1.0", "1.0", **{column: value})],
                               "ampere.csv")
                self.expect_refused("ampere.csv has rows of more than one run", column, value)

    def test_version_that_is_there_twice(self):
        self.write_csv(ampere_rows() + [small_row("ampere.2", "second", "310.0", "38.0")], "ampere.csv")
        self.expect_refused("version ampere.2 twice")

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
        (self.profiles / "ladder.csv").write_bytes(b"version\n\xff\n")
        self.expect_refused("ladder.csv", "utf-8")

    def test_number_that_is_none(self):
        self.write_csv([row("0", "cublas", "fast", "100.0")])
        self.expect_refused("ladder.csv", "'fast'")

    def test_csv_of_another_ladder_is_checked_too(self):
        self.write_csv(good_rows())
        self.write_csv(simt_rows() + [small_row("simt.2", "coalesced", "1.0", "1.0", verified="no")], "simt.csv")
        self.expect_refused("simt.csv: version simt.2 at 4096x4096x4096 (burst)", "'no'")

    def test_page_without_markers(self):
        for text in ("# Title\n", BEFORE.replace("begin simt", "begin"), BEFORE.replace("end ampere", "end")):
            with self.subTest(text):
                self.page.write_text(text, encoding="utf-8")
                result = self.run_tool()
                self.assertEqual(result.returncode, 2)
                self.assertIn("the page has no <!-- results:begin", result.stderr)
                self.assertEqual(self.page.read_text(encoding="utf-8"), text)


if __name__ == "__main__":
    unittest.main()
