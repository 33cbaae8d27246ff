"""Tests of tools/profile.py, run as a program with others in place of ncu, cuobjdump, nvidia-smi and matmul, which
print what they are told."""

import contextlib
import csv
import datetime
import importlib.util
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools" / "profile.py"

SPEC = importlib.util.spec_from_file_location("hopper_gemm_profile", TOOL)
profile = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(profile)

# Prints the file beside it and notes how it was called; writes the other file beside it to where --csv says. A shell
# takes 6 ms for this where Python takes 45, and the tests start hundreds of these.
FAKE = """\
#!/bin/sh
{ printf '%s\\037' "$@" "${LC_ALL-}"; printf '\\036'; } >> "$0.calls"
csv= previous=
for argument; do
  case $previous in
    --csv) csv=$argument ;;
    --export) printf report > "$argument" ;;
  esac
  previous=$argument
done
if [ -e "$0.csv-status" ] && [ -n "$csv" ]; then
  if [ -e "$0.written" ]; then /bin/cat "$0.written" > "$csv"; fi
  exit "$(/bin/cat "$0.csv-status")"
fi
/bin/cat "$0.output"
/bin/cat "$0.errors" >&2
exit "$(/bin/cat "$0.status")"
"""

LADDER = """\
version  name                 needs  idea
0        cublas               sm_90  the better of two
6        ptx_mbarrier         sm_90  mbarriers
7        cluster_multicast    sm_90  clusters
8        lean_epilogue        sm_90  lean
ampere.3  mma_sync            sm_80 or newer  bf16  ldmatrix
ampere.4  swizzle             sm_80 or newer  bf16  XOR
simt.1   naive                sm_75 or newer  fp32  one thread an element
simt.2   coalesced            sm_75 or newer  fp32  neighbours
ceiling  wgmma_ceiling        sm_90  speed of light
"""

MATMUL_TEXT = """\
==PROF== Connected to process 4711 (/tmp/matmul)
GPU     NVIDIA H200, 132 SMs
commit  0123abcdef
version                    shape MxNxK
==PROF== Profiling "gemm_kernel": 0%....50%....100% - 33 passes
7 cluster_multicast        8192x8192x8192
==PROF== Disconnected from process 4711
"""

STALLS = {"barrier": "0.25", "gmma": "1.50", "long_scoreboard": "12.75", "math_pipe_throttle": "0.30", "wait": "2.00",
          "membar": "0", "sleeping": "0.10"}


def base_readings():
    """{metric: (unit, value)} as ncu 2025 prints them with --print-units base."""
    readings = {
        profile.TIME: ("ns", "1,500,000"),
        profile.CYCLES: ("cycle", "2,400,000"),
        profile.CLOCK: ("hz", "1,598,765,432.10"),
        profile.TENSOR_PIPE: ("%", "88.54"),
        profile.DRAM_READ: ("byte", "2,890,000,000"),
        profile.DRAM_WRITTEN: ("byte", "134,217,728"),
        profile.L2_SECTORS_READ: ("sector", "450,000,000"),
        profile.L2_HIT_RATE: ("%", "63.31"),
        profile.L2_TO_SM: ("byte", "12,900,000,000"),
        profile.STORE_BANK_CONFLICTS: ("", "1,234,567"),
        profile.STORES: ("inst", "1,048,576"),
        profile.STORE_BYTES: ("byte", "134,217,728"),
        profile.STORE_WAVEFRONTS: ("", "8,388,608"),
        profile.STMATRIX_BANK_CONFLICTS: ("", "4,321"),
        profile.REGISTERS: ("register/thread", "168"),
        profile.DYNAMIC_SHARED_MEMORY: ("byte/block", "218,112"),
        profile.CTAS: ("", "132"),
        profile.THREADS: ("", "384"),
        **dict(zip(profile.CTA_LIMITS, (("block", "32"), ("block", "2"), ("block", "1"), ("block", "5")))),
        profile.WARPS_ACTIVE: ("%", "18.04"),
    }
    for reason in profile.STALL_REASONS:
        readings[profile.stall_metric(reason)] = ("inst", STALLS.get(reason, "0.01"))
    return readings


def ampere_readings(conflicts):
    """With so many bank conflicts of ldmatrix."""
    readings = {metric: reading for metric, reading in base_readings().items() if metric in profile.AMPERE_METRICS}
    return {**readings,
            profile.HMMA_PIPE: ("%", "61.25"),
            profile.ISSUE_SLOTS: ("%", "38.10"),
            profile.LOAD_BANK_CONFLICTS: ("", "12,345"),
            profile.LOADS: ("inst", "1,000"),
            profile.LOAD_WAVEFRONTS: ("", "1,500"),
            profile.LDMATRIX_LOADS: ("inst", "33,554,432"),
            profile.LDMATRIX_BANK_CONFLICTS: ("", conflicts),
            profile.CP_ASYNC_BANK_CONFLICTS: ("", "67")}


def simt_readings():
    readings = {metric: reading for metric, reading in ampere_readings("0").items() if metric in profile.SIMT_METRICS}
    return {**readings, profile.TIME: ("ns", "3,000,000"), profile.FMA_PIPE: ("%", "71.50"),
            profile.SECTORS_PER_LOAD: ("sector", "16.50")}


MEASURED_COLUMNS = ("version", "mode", "tflops", "percent_of_cublas", "sm_clock_mhz", "watts", "pj_per_flop")


def measured_csv(rows):
    """What matmul writes of {(version, mode): the other columns}, of those that the tool reads."""
    return "".join(",".join(row) + "\n" for row in (MEASURED_COLUMNS, *((*key, *row) for key, row in rows.items())))


def measured_of(*versions):
    rows = {}
    for version in versions:
        rows[version, "burst"] = ("764.25", "93.81", "1935", "", "")
        rows[version, "sustained"] = ("641.04", "93.74", "1605", "698.6", "1.0898")
    return rows


ALL_MEASURED = measured_of("6", "7", "8", "99", "100", "ampere.3", "ampere.4", "simt.1", "simt.2")

# As cuobjdump shows a function that is compiled for two architectures.
SASS = """\
Fatbin elf code:
================
arch = sm_90a

\tcode for sm_90a
\t\tFunction : _ZN3v0711gemm_kernelEl
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                      /* 0x00000a00ff017b82 */
                                                                               /* 0x000fe20000000800 */
        /*0010*/              @!P1 SYNCS.ARRIVE.TRANS64 RZ, [UR4], R6 ;        /* 0x0000000000067919 */
        /*0020*/             @UP0 UTMALDG.2D [UR8], [UR4], desc[UR6] ;
        /*0030*/                   USETMAXREG.DEALLOC.CTAPOOL 0x28 ;
        /*0040*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12], R24, UP0 ;
        /*0050*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12], R24, gsb0 ;
        /*1000*/              @!PT LDL R2, [R1] ;
        /*1010*/                   NOP;
\t\t..........

\tcode for sm_80
\t\tFunction : _ZN3v0711gemm_kernelEl
        /*0000*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
"""


def ncu_csv(readings, launches=1):
    """The raw page of these readings, its columns in another order than they were asked for."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    metrics = sorted(readings)
    writer.writerow(["ID", "Process ID", "Kernel Name", "Block Size", *metrics])
    writer.writerow(["", "", "", "", *(readings[metric][0] for metric in metrics)])
    for launch in range(launches):
        writer.writerow([launch, "4711", "_ZN3v0711gemm_kernelEl", "(384, 1, 1)",
                         *(readings[metric][1] for metric in metrics)])
    return file.getvalue()


EXPECTED_ROWS = """\
| time | 1.500 ms |
| speed under ncu | 733 TFLOP/s |
| SM clock, true average | 1.599 GHz |
| SM cycles | 2,400,000 |
| tensor pipe active | 88.5 % |
| read from DRAM | 2.89 GB |
| A and B once, the least bytes to read | 0.27 GB |
| written to DRAM | 0.13 GB |
| read from L2 (sectors of 32 bytes) | 14.40 GB |
| delivered from L2 to the SMs | 12.90 GB |
| the least to deliver, by tiles of 256x256 | 8.59 GB |
| L2 hit rate | 63.3 % |
| bank conflicts of stores to shared memory, arbitration included | 1,234,567 |
| bank conflicts of the same, by instruction | 7,344,353 |
| registers per thread | 168 |
| dynamic shared memory per CTA | 213.0 KiB |
| CTAs | 132 |
| threads per CTA | 384 |
| CTAs that an SM has room for | 1 |
| occupancy: warps active, of what an SM can hold | 18.0 % |
| stalled warp-cycles per instruction issued: long_scoreboard | 12.75 |
| stalled warp-cycles per instruction issued: wait | 2.00 |
| stalled warp-cycles per instruction issued: gmma | 1.50 |
| stalled warp-cycles per instruction issued: math_pipe_throttle | 0.30 |
| stalled warp-cycles per instruction issued: barrier | 0.25 |
"""

AMPERE_ROWS = """\
| time | 1.500 ms |
| speed under ncu | 733 TFLOP/s |
| SM clock, true average | 1.599 GHz |
| SM cycles | 2,400,000 |
| tensor pipe active | 88.5 % |
| tensor pipe active with mma.sync (HMMA) | 61.2 % |
| issue slots used | 38.1 % |
| read from DRAM | 2.89 GB |
| A and B once, the least bytes to read | 0.27 GB |
| written to DRAM | 0.13 GB |
| read from L2 (sectors of 32 bytes) | 14.40 GB |
| delivered from L2 to the SMs | 12.90 GB |
| the least to deliver, by tiles of 256x256 | 8.59 GB |
| L2 hit rate | 63.3 % |
| ldmatrix, instructions | 33,554,432 |
| bank conflicts of ldmatrix, by instruction | 100,663,296 |
| bank conflicts of loads from shared memory, arbitration included | 12,345 |
| wavefronts of a load from shared memory, by instruction | 1.50 |
| bank conflicts of cp.async, by instruction | 67 |
| bank conflicts of stores to shared memory, arbitration included | 1,234,567 |
| bank conflicts of the same, by instruction | 7,340,032 |
| registers per thread | 168 |
| dynamic shared memory per CTA | 213.0 KiB |
| CTAs | 132 |
| threads per CTA | 384 |
| CTAs that an SM has room for | 1 |
| occupancy: warps active, of what an SM can hold | 18.0 % |
| stalled warp-cycles per instruction issued: long_scoreboard | 12.75 |
| stalled warp-cycles per instruction issued: wait | 2.00 |
| stalled warp-cycles per instruction issued: math_pipe_throttle | 0.30 |
"""

MEASURED_ROWS = """\
| speed in bursts | 764 TFLOP/s, 93.8 % of cuBLAS |
| speed, sustained | 641 TFLOP/s, 93.7 % of cuBLAS |
| SM clock, sustained | 1.60 GHz |
| power of the GPU, sustained | 699 W |
| energy, sustained | 1.090 pJ/FLOP |
"""

SASS_ROWS = """\
| all | 7 |
| HGMMA (wgmma) | 2 |
| UTMALDG (TMA loads) | 1 |
| SYNCS (mbarriers) | 1 |
| USETMAXREG (setmaxnreg) | 1 |
| LDL and STL (local memory: spilled registers) | 1 |
"""

AMPERE_OVERVIEW = """\
# Overview of the ampere ladder

The table gives the speeds that matmul measured, and ncu's counters of one launch of each version at 8192x8192x8192 on \
one NVIDIA H200. tools/profile.py writes this page from the CSV files \
beside it, which also name the driver, the date and the commands.

| version | burst | sustained | power, sustained | energy, sustained | \
time under ncu | SM clock | SM cycles | tensor pipe active | issue slots used | read from DRAM | read from L2 | \
registers per thread | dynamic shared memory | warps active | bank conflicts of ldmatrix, by instruction | \
bank conflicts of loads, arbitration included | bank conflicts of cp.async, by instruction | \
bank conflicts of stores, by instruction | largest stall reason, stalled warp-cycles per instruction issued | commit |
| --- | ---: | ---: | ---: | ---: | \
---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |
| [ampere.3 mma_sync](ampere3.md) | 764 TFLOP/s | 641 TFLOP/s | 699 W | 1.090 pJ/FLOP | \
1.500 ms | 1.599 GHz | 2,400,000 | 88.5 % | 38.1 % | 2.89 GB | 14.40 GB | 168 | \
213.0 KiB | 18.0 % | 100,663,296 | 12,345 | 67 | 7,340,032 | long_scoreboard 12.75 | 0123abcdef |
| [ampere.4 swizzle](ampere4.md) | 764 TFLOP/s | 641 TFLOP/s | 699 W | 1.090 pJ/FLOP | \
1.500 ms | 1.599 GHz | 2,400,000 | 88.5 % | 38.1 % | 2.89 GB | 14.40 GB | 168 | \
213.0 KiB | 18.0 % | 0 | 12,345 | 67 | 7,340,032 | long_scoreboard 12.75 | 0123abcdef |
"""

SIMT_LINES = """\
| FMA pipe used | 71.5 % |
| issue slots used | 38.1 % |
| read from DRAM | 2.89 GB |
| A and B once, the least bytes to read | 0.13 GB |
| written to DRAM | 0.13 GB |
| read from L2 (sectors of 32 bytes) | 14.40 GB |
| delivered from L2 to the SMs | 12.90 GB |
| the least to deliver, by tiles of 256x256 | 2.15 GB |
| L2 hit rate | 63.3 % |
| sectors of 32 bytes that a load from global memory touches | 16.5 |
| bank conflicts of loads from shared memory, arbitration included | 12,345 |
"""

OVERVIEW_HEAD = """\
# Overview

The table gives the speeds that matmul measured, and ncu's counters of one launch of each version at 8192x8192x8192 on \
one NVIDIA H200. tools/profile.py writes this page from the CSV files \
beside it, which also name the driver, the date and the commands.

| version | burst | sustained | power, sustained | energy, sustained | \
time under ncu | SM clock | SM cycles | tensor pipe active | read from DRAM | read from L2 | \
delivered from L2 to the SMs | registers per thread | dynamic shared memory | \
bank conflicts of stores, by instruction | largest stall reason, stalled warp-cycles per instruction issued | commit |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |
"""

# What stands between the version and the commit.
OVERVIEW_CELLS = ("764 TFLOP/s | 641 TFLOP/s | 699 W | 1.090 pJ/FLOP | "
                  "1.500 ms | 1.599 GHz | 2,400,000 | 88.5 % | 2.89 GB | 14.40 GB | 12.90 GB | 168 | 213.0 KiB | "
                  "7,344,353 | long_scoreboard 12.75")


class ProfileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.out = self.folder / "out"
        self.fake("matmul", LADDER)
        self.measured(ALL_MEASURED)
        self.fake("nvidia-smi", "NVIDIA H200, 580.159.04, 9.0\nNVIDIA H200, 580.159.04, 9.0\n")
        self.fake("cuobjdump", SASS)
        self.fake("ncu", MATMUL_TEXT + ncu_csv(base_readings()))

    def fake(self, name, output, status=0, errors=""):
        program = self.bin / name
        program.write_text(FAKE, encoding="utf-8")
        program.chmod(0o755)
        program.with_suffix(".output").write_text(output, encoding="utf-8")
        program.with_suffix(".errors").write_text(errors, encoding="utf-8")
        program.with_suffix(".status").write_text(str(status), encoding="utf-8")

    def measured(self, rows, status=0):
        (self.bin / "matmul.written").write_text(measured_csv(rows), encoding="utf-8")
        (self.bin / "matmul.csv-status").write_text(str(status), encoding="utf-8")

    def calls(self, name):
        """(arguments, LC_ALL) of each call."""
        calls = (self.bin / name).with_suffix(".calls")
        if not calls.exists():
            return []
        fields = [call.split("\37")[:-1] for call in calls.read_text(encoding="utf-8").split("\36")[:-1]]
        return [(arguments, locale) for *arguments, locale in fields]

    def version_of(self, arguments):
        """What ncu was to profile."""
        return arguments[arguments.index("--profile") - 1]

    def run_tool(self, *arguments):
        """Runs the tool within this process, because the tests run it hundreds of times."""
        words = [str(TOOL), "--matmul", str(self.bin / "matmul"), "--out", str(self.out), *arguments]
        output, errors = io.StringIO(), io.StringIO()
        with (mock.patch.object(sys, "argv", words), mock.patch.dict(os.environ, PATH=str(self.bin)),
              contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors)):
            try:
                status = profile.main() or 0
            except SystemExit as end:
                status = end.code
        return subprocess.CompletedProcess(words, status, output.getvalue(), errors.getvalue())

    def profile_readings(self, readings):
        """The Markdown of version 7 with these readings, and those of its CSV as {metric: [unit, value]}."""
        self.fake("ncu", MATMUL_TEXT + ncu_csv(readings))
        result = self.run_tool("7")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = self.csv_rows("v07.csv")
        return (self.out / "v07.md").read_text(encoding="utf-8"), {row[0]: row[1:] for row in rows[10:]}

    def csv_rows(self, name):
        with open(self.out / name, newline="", encoding="utf-8") as file:
            return list(csv.reader(file))

    def texts(self):
        """{name: bytes} of the files in the folder."""
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    def profile_versions(self, *arguments):
        """The overview after a run."""
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return (self.out / "overview.md").read_text(encoding="utf-8")

    def expect_error(self, status, arguments, *parts, lines=1):
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        errors = [line for line in result.stderr.splitlines()
                  if not line.endswith(": running ncu") and not line.startswith("profile.py: measuring ")]
        if lines:
            self.assertEqual(len(errors), lines, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    # --- What is written ---

    def tables(self, markdown):
        """The lines of each table below its head."""
        return re.findall(r"^\| \S+ \| value \|\n\| --- \| ---: \|\n((?:\|.*\n)+)", markdown, re.MULTILINE)

    def commands(self, markdown):
        """Those in the blocks of code."""
        return re.findall(r"^```sh\n(.*?)\n```$", markdown, re.MULTILINE | re.DOTALL)

    def test_markdown_of_a_version(self):
        markdown, _ = self.profile_readings(base_readings())
        self.assertEqual(self.tables(markdown), [MEASURED_ROWS, EXPECTED_ROWS, SASS_ROWS])
        self.assertTrue(markdown.startswith(
            "# v07 cluster_multicast\n\nThis profile was taken at 8192x8192x8192 on one NVIDIA H200, driver 580.159.04, "
            "at commit 0123abcdef.\n\n## Measured\n"), markdown)
        self.assertTrue(markdown.endswith("|\n") and "\n\n\n" not in markdown, markdown)

    def test_csv_holds_every_figure_as_a_plain_number(self):
        _, readings = self.profile_readings(base_readings())
        self.assertEqual(list(readings), [*profile.MEASURED, *profile.METRICS, *profile.SASS_OPCODES])
        self.assertEqual(readings[profile.BURST_SPEED], ["TFLOP/s", "764.25"])
        self.assertEqual(readings[profile.SUSTAINED_ENERGY], ["pJ/FLOP", "1.0898"])
        self.assertEqual(readings[profile.TIME], ["ns", "1500000"])
        self.assertEqual(readings[profile.CLOCK], ["hz", "1598765432.10"])
        self.assertEqual(readings[profile.STORE_BANK_CONFLICTS], ["", "1234567"])
        self.assertEqual(readings[profile.STMATRIX_BANK_CONFLICTS], ["", "4321"])
        self.assertEqual(readings["sass__hgmma"], ["inst", "2"])
        self.assertEqual(readings["sass__hmma"], ["inst", "0"])

    def test_what_somebody_wrote_stays(self):
        markdown, _ = self.profile_readings(base_readings())
        section = "## What changed\n\nTwo CTAs share B.\n\nAnd so on.\n\n"
        (self.out / "v07.md").write_text(markdown.replace("## Measured\n", section + "## Measured\n"), encoding="utf-8")
        again, _ = self.profile_readings({**base_readings(), profile.TIME: ("ns", "1,600,000")})
        self.assertIn("at commit 0123abcdef.\n\n" + section + "## Measured\n", again)
        self.assertEqual(again.replace(section, "").replace("1.600 ms", "1.500 ms").replace("687 T", "733 T"), markdown)

    def test_what_somebody_wrote_at_the_end_stays(self):
        markdown, _ = self.profile_readings(base_readings())
        (self.out / "v07.md").write_text(markdown + "\n## What changed\n\nMuch.\n", encoding="utf-8")
        again, _ = self.profile_readings(base_readings())
        self.assertIn("at commit 0123abcdef.\n\n## What changed\n\nMuch.\n\n## Measured\n", again)

    # --- Outside of ncu ---

    def test_ladder_is_measured_in_one_run(self):
        self.assertEqual(self.run_tool("8", "6", "ampere.3", "--shape", "64x128x256").returncode, 0)
        measuring = [arguments for arguments, _ in self.calls("matmul") if "--csv" in arguments]
        shape = ["--shape", "64x128x256", "--mode", "both", "--rounds", "5", "--csv"]
        self.assertEqual([arguments[:-1] for arguments in measuring], [["8", "6", *shape], ["ampere.3", *shape]])
        markdown = (self.out / "v08.md").read_text(encoding="utf-8")
        self.assertEqual(shlex.split(self.commands(markdown)[0]), [str(self.bin / "matmul"), "8", "6", *shape[:-1]])

    def test_power_that_is_not_known(self):
        self.measured({**ALL_MEASURED, ("7", "sustained"): ("641.04", "93.74", "", "", "")})
        markdown, readings = self.profile_readings(base_readings())
        for line in ("SM clock, sustained | n/a", "power of the GPU, sustained | n/a", "energy, sustained | n/a"):
            self.assertIn(line, markdown)
        self.assertEqual(readings[profile.SUSTAINED_POWER], ["", "n/a"])

    def test_matmul_that_fails_to_measure(self):
        self.measured(ALL_MEASURED, status=1)
        self.expect_files_untouched(1, "matmul failed to measure (exit status 1)", lines=None)
        self.assertEqual(self.calls("ncu"), [])

    def test_matmul_that_writes_nothing(self):
        (self.bin / "matmul.written").unlink()
        self.expect_files_untouched(1, "matmul failed to measure (exit status 0)", lines=None)

    # --- Machine code ---

    def test_sass_is_that_of_the_kernel_which_ran(self):
        self.assertEqual(self.run_tool("7").returncode, 0)
        [[arguments, _]] = self.calls("cuobjdump")
        self.assertEqual(arguments, ["-sass", "-fun", "_ZN3v0711gemm_kernelEl", str(self.bin / "matmul")])

    def test_architecture_that_a_gpu_runs(self):
        for capability, names, architecture in (((9, 0), ("sm_80", "sm_90", "sm_90a"), "sm_90a"),
                                                ((9, 0), ("sm_80", "sm_90"), "sm_90"),
                                                ((8, 9), ("sm_80", "sm_86", "sm_90"), "sm_86"),
                                                ((8, 0), ("sm_75", "sm_86", "sm_90a"), None),
                                                ((12, 0), ("sm_90", "sm_120"), "sm_120"),
                                                ((9, 0), (), None)):
            with self.subTest(capability=capability, names=names):
                self.assertEqual(profile.architecture_of(capability, names), architecture)

    def test_sass_of_another_gpu(self):
        self.fake("nvidia-smi", "NVIDIA A100, 580.159.04, 8.0\n")
        markdown, readings = self.profile_readings(base_readings())
        self.assertEqual((readings["sass__hmma"], readings["sass__hgmma"]), (["inst", "1"], ["inst", "0"]))
        self.assertIn("| LDL and STL (local memory: spilled registers) | 0 |", markdown)
        self.fake("nvidia-smi", "NVIDIA T4, 580.159.04, 7.5\n")
        self.expect_error(1, ["7"], "no machine code of _ZN3v0711gemm_kernelEl for this GPU")

    def test_cuobjdump_that_fails(self):
        self.fake("cuobjdump", "cuobjdump fatal: nvdisasm not found\n", 255)
        self.expect_files_untouched(1, "cuobjdump failed (exit status 255)", "nvdisasm not found", lines=2)

    def test_no_cuobjdump(self):
        (self.bin / "cuobjdump").unlink()
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}), mock.patch.object(
                profile, "CUOBJDUMP_PATTERNS", (str(self.folder / "cuda*" / "cuobjdump"),)):
            with self.assertRaisesRegex(profile.ProfileError, "no cuobjdump .* give its path with --cuobjdump"):
                profile.find_cuobjdump(None)

    def test_name_of_the_kernel_that_is_not_mangled(self):
        self.fake("ncu", MATMUL_TEXT + ncu_csv(base_readings()).replace("_ZN3v0711gemm_kernelEl", "gemm_kernel(long)"))
        self.expect_files_untouched(1, "'gemm_kernel(long)', which is not a mangled name")

    # --- What is counted ---

    def test_conflicts_by_instruction_are_the_wavefronts_that_need_not_be(self):
        for stores, size, wavefronts, conflicts in (("2,048", "16,384", "2,048", "0"),        # one lane each
                                                    ("1,000", "256,000", "2,000", "0"),        # two words a lane
                                                    ("1,000", "128,000", "8,000", "7,000")):
            readings = {**base_readings(), profile.STORES: ("inst", stores), profile.STORE_BYTES: ("byte", size),
                        profile.STORE_WAVEFRONTS: ("", wavefronts), profile.STMATRIX_BANK_CONFLICTS: ("", "0")}
            markdown, _ = self.profile_readings(readings)
            self.assertIn(f"| bank conflicts of the same, by instruction | {conflicts} |", markdown)

    def test_csv_names_where_it_came_from(self):
        matmul = self.bin / "mat mul"
        (self.bin / "matmul").rename(matmul)
        for suffix in (".output", ".errors", ".status", ".written", ".csv-status"):
            (self.bin / "matmul").with_suffix(suffix).rename(matmul.with_suffix(suffix))
        before = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        self.profile_versions("7", "--shape", "4096x256x64", "--matmul", str(matmul))
        after = datetime.datetime.now(datetime.timezone.utc)
        rows = self.csv_rows("v07.csv")
        date = rows[7][2]
        command = ("ncu --clock-control none --profile-from-start off -k regex:gemm_kernel --launch-count 1 "
                   "--print-kernel-base mangled --csv --page raw --print-units base --metrics "
                   f"{','.join(profile.METRICS)} "
                   f"'{matmul}' 7 --profile --shape 4096x256x64 --mode sustained --no-verify")
        self.assertEqual(rows[:10], [
            ["metric", "unit", "value"],
            ["version", "", "7"],
            ["name", "", "cluster_multicast"],
            ["gpu", "", "NVIDIA H200"],
            ["driver", "", "580.159.04"],
            ["commit", "", "0123abcdef"],
            ["shape", "", "4096x256x64"],
            ["date", "", date],
            ["measured by", "", f"'{matmul}' 7 --shape 4096x256x64 --mode both --rounds 5"],
            ["counted by", "", command]])
        self.assertEqual(rows[10], [profile.BURST_SPEED, "TFLOP/s", "764.25"])
        self.assertRegex(date, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")
        when = datetime.datetime.strptime(date, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
        self.assertTrue(before <= when <= after, date)
        [[arguments, _]] = self.calls("ncu")
        self.assertEqual(shlex.split(command), ["ncu", *arguments])

    def test_command_of_ncu(self):
        self.assertEqual(self.run_tool("7", "--shape", "4096x256x64").returncode, 0)
        [[arguments, locale]] = self.calls("ncu")
        self.assertEqual(arguments, [
            "--clock-control", "none", "--profile-from-start", "off", "-k", "regex:gemm_kernel", "--launch-count", "1",
            "--print-kernel-base", "mangled", "--csv", "--page", "raw", "--print-units", "base",
            "--metrics", ",".join(profile.METRICS), str(self.bin / "matmul"), "7", "--profile",
            "--shape", "4096x256x64", "--mode", "sustained", "--no-verify"])
        self.assertEqual(locale, "C")

    def test_clocks_that_are_held(self):
        self.assertEqual(self.run_tool("7", "--clock-control", "base", "--report").returncode, 0)
        for arguments, _ in self.calls("ncu"):
            self.assertEqual(arguments[:2], ["--clock-control", "base"])
        self.expect_error(2, ["7", "--clock-control", "1.5"], "invalid choice: '1.5'", lines=None)

    def test_report_for_the_graphical_program(self):
        result = self.run_tool("7", "--report", "--shape", "4096x256x64")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.out / "v07.ncu-rep"
        self.assertTrue(report.is_file())
        self.assertIn(f"{report}\n", result.stdout)
        _, [arguments, _] = self.calls("ncu")
        self.assertEqual(arguments, [
            "--clock-control", "none", "--profile-from-start", "off", "-k", "regex:gemm_kernel", "--launch-count", "1",
            "--set", "full", "--import-source", "yes", "--force-overwrite", "--export", str(report),
            str(self.bin / "matmul"), "7", "--profile", "--shape", "4096x256x64", "--mode", "sustained", "--no-verify"])
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, str(TOOL), "--matmul", str(self.bin / "matmul"), "--out", "here",
                                     "--report", "7"], cwd=folder, capture_output=True, text=True, check=False,
                                    env={**os.environ, "PATH": str(self.bin)})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue((pathlib.Path(folder) / "here" / "v07.ncu-rep").is_file())
        ignored = (TOOL.parent.parent / ".gitignore").read_text(encoding="utf-8").splitlines()
        self.assertIn("*.ncu-rep", ignored)

    def test_documented_command_is_what_was_run(self):
        markdown, _ = self.profile_readings(base_readings())
        _, command = self.commands(markdown)
        self.assertLessEqual(max(map(len, command.splitlines())), 200)
        subprocess.run(["/bin/sh", "-c", command], env={"PATH": str(self.bin), "LC_ALL": "C"}, check=True,
                       stdout=subprocess.DEVNULL)
        first, again = self.calls("ncu")
        self.assertEqual(first, again)

    def test_documented_command_quotes_paths(self):
        self.assertEqual(profile.folded(["ncu", "a,b", "/x y/mat,mul"], width=7), "ncu a,\\\nb \\\n'/x y/mat,mul'")

    def test_matmul_below_the_checkout_is_called_from_its_top(self):
        self.assertEqual(profile.find_matmul(TOOL), "tools/profile.py")
        self.assertEqual(profile.find_matmul(self.bin / "matmul"), str(self.bin / "matmul"))

    def test_several_versions_each_once(self):
        result = self.run_tool("8", "6-7", "7")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([self.version_of(arguments) for arguments, _ in self.calls("ncu")], ["8", "6", "7"])
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["overview.md", "v06.csv", "v06.md", "v07.csv", "v07.md", "v08.csv", "v08.md"])
        self.assertEqual(result.stdout,
                         "".join(f"{self.out}/{name}.md\n" for name in ("v08", "v06", "v07", "overview")))

    def test_folder_is_named_after_the_gpu(self):
        for gpu, folder in (("NVIDIA H200", "h200"), ("NVIDIA H100 80GB HBM3", "h100-80gb-hbm3"),
                            ("NVIDIA GH200 480GB", "gh200-480gb")):
            self.assertEqual(profile.folder_name(gpu), folder)

    def test_commit_that_is_not_printed(self):
        self.fake("ncu", ncu_csv(base_readings()))
        self.assertEqual(self.run_tool("7").returncode, 0)
        self.assertIn("at commit unknown.\n", (self.out / "v07.md").read_text(encoding="utf-8"))

    # --- Units and numbers ---

    def test_units_are_converted_not_assumed(self):
        lines = {
            profile.TIME: {
                ("nsecond", "812,340"): "time | 812.34 us", ("usecond", "812.34"): "time | 812.34 us",
                ("us", "1,500"): "time | 1.500 ms", ("ms", "1.5"): "time | 1.500 ms",
                ("msecond", "1.5"): "time | 1.500 ms", ("second", "0.0015"): "time | 1.500 ms"},
            profile.CLOCK: {
                ("Ghz", "1.5"): "average | 1.500 GHz", ("cycle/nsecond", "1.5"): "average | 1.500 GHz",
                ("cycle/second", "1,500,000,000"): "average | 1.500 GHz", ("Mhz", "1500"): "average | 1.500 GHz",
                ("cycle/us", "1500"): "average | 1.500 GHz"},
            profile.DRAM_READ: {
                ("Gbyte", "2.89"): "read from DRAM | 2.89 GB", ("Mbyte", "2,890"): "read from DRAM | 2.89 GB",
                ("Kbyte", "2.5"): "read from DRAM | 0.00 MB", ("byte", "2,500,000"): "read from DRAM | 2.50 MB"},
            profile.L2_SECTORS_READ: {("Msector", "450"): "32 bytes) | 14.40 GB"},
            profile.DYNAMIC_SHARED_MEMORY: {("Kbyte/block", "218.112"): "per CTA | 213.0 KiB"},
        }
        for metric, cases in lines.items():
            for reading, line in cases.items():
                with self.subTest(metric=metric, reading=reading):
                    markdown, _ = self.profile_readings({**base_readings(), metric: reading})
                    self.assertIn(line, markdown)

    def test_unknown_unit_is_shown_as_it_is(self):
        markdown, _ = self.profile_readings({**base_readings(), profile.TIME: ("fortnight", "1.5")})
        self.assertIn("| time | 1.5 fortnight |\n| speed under ncu | n/a |", markdown)

    def test_metrics_that_are_not_available(self):
        readings = base_readings()
        readings[profile.TIME] = ("", "n/a")
        readings[profile.L2_HIT_RATE] = ("%", "nan")
        readings[profile.STORE_BANK_CONFLICTS] = ("", "")
        del readings[profile.DRAM_READ]
        markdown, table = self.profile_readings(readings)
        for line in ("time | n/a", "speed under ncu | n/a", "L2 hit rate | n/a", "included | n/a", "DRAM | n/a"):
            self.assertIn(line, markdown)
        for metric in (profile.TIME, profile.L2_HIT_RATE, profile.STORE_BANK_CONFLICTS, profile.DRAM_READ):
            self.assertEqual(table[metric], ["", "n/a"])

    def test_stall_reasons_that_do_not_matter_are_left_out(self):
        readings = base_readings()
        for rank, reason in enumerate(profile.STALL_REASONS):
            readings[profile.stall_metric(reason)] = ("inst", "0.004" if rank else "n/a")
        markdown, _ = self.profile_readings(readings)
        self.assertEqual(markdown.count("stalled warp-cycles per instruction issued"), 3)

    def test_no_stall_reason_at_all(self):
        readings = {metric: reading for metric, reading in base_readings().items() if "stalled" not in metric}
        markdown, _ = self.profile_readings(readings)
        self.assertIn("| stalled warp-cycles per instruction issued | n/a |", markdown)

    def test_lines_between_and_after_the_rows(self):
        header, units, launch = ncu_csv(base_readings()).splitlines()
        self.fake("ncu", "\n".join([MATMUL_TEXT, header, "==WARNING== a word", units, "", launch, "==PROF== end"]))
        self.assertEqual(self.run_tool("7").returncode, 0)
        self.assertIn(EXPECTED_ROWS, (self.out / "v07.md").read_text(encoding="utf-8"))

    # --- The overview ---

    def test_overview_of_versions_profiled_in_two_runs(self):
        self.profile_versions("7-8")
        readings = {**base_readings(), profile.TIME: ("ns", "812,340"), profile.CLOCK: ("fortnight", "3"),
                    profile.STORE_BYTES: ("", "n/a"), profile.stall_metric("gmma"): ("inst", "20.125")}
        self.fake("ncu", MATMUL_TEXT.replace("0123abcdef", "fedcba9876") + ncu_csv(readings))
        overview = self.profile_versions("6")
        self.assertEqual(overview, OVERVIEW_HEAD + (
            "| [6 ptx_mbarrier](v06.md) | 764 TFLOP/s | 641 TFLOP/s | 699 W | 1.090 pJ/FLOP | "
            "812.34 us | 3 fortnight | 2,400,000 | 88.5 % | 2.89 GB | 14.40 GB | "
            "12.90 GB | 168 | 213.0 KiB | n/a | gmma 20.12 | fedcba9876 |\n"
            f"| [7 cluster_multicast](v07.md) | {OVERVIEW_CELLS} | 0123abcdef |\n"
            f"| [8 lean_epilogue](v08.md) | {OVERVIEW_CELLS} | 0123abcdef |\n"))

    def test_overview_counts_versions_as_numbers(self):
        self.fake("matmul", "99  late  sm_90  idea\n100  later  sm_90  idea\n")
        overview = self.profile_versions("99-100")
        self.assertEqual(overview, OVERVIEW_HEAD + (f"| [99 late](v99.md) | {OVERVIEW_CELLS} | 0123abcdef |\n"
                                                    f"| [100 later](v100.md) | {OVERVIEW_CELLS} | 0123abcdef |\n"))

    def test_overview_without_any_stall_reason(self):
        readings = {metric: reading for metric, reading in base_readings().items() if "stalled" not in metric}
        self.fake("ncu", MATMUL_TEXT + ncu_csv(readings))
        cells = OVERVIEW_CELLS.replace("long_scoreboard 12.75", "n/a")
        self.assertEqual(self.profile_versions("7"),
                         OVERVIEW_HEAD + f"| [7 cluster_multicast](v07.md) | {cells} | 0123abcdef |\n")

    def test_overview_shows_gpus_that_differ(self):
        self.profile_versions("7")
        self.fake("nvidia-smi", "NVIDIA H100 80GB HBM3, 580.159.04, 9.0\n")
        overview = self.profile_versions("8")
        head = OVERVIEW_HEAD.replace(" on one NVIDIA H200.", ".").replace("| version |", "| version | GPU |")
        self.assertEqual(overview, head.replace("| --- | ---: |", "| --- | --- | ---: |", 1) + (
            f"| [7 cluster_multicast](v07.md) | NVIDIA H200 | {OVERVIEW_CELLS} | 0123abcdef |\n"
            f"| [8 lean_epilogue](v08.md) | NVIDIA H100 80GB HBM3 | {OVERVIEW_CELLS} | 0123abcdef |\n"))

    def test_overview_shows_shapes_that_differ(self):
        self.profile_versions("7")
        overview = self.profile_versions("8", "--shape", "4096x256x64")
        head = OVERVIEW_HEAD.replace(" at 8192x8192x8192 on", " on").replace("| version |", "| version | shape |")
        self.assertEqual(overview, head.replace("| --- | ---: |", "| --- | --- | ---: |", 1) + (
            f"| [7 cluster_multicast](v07.md) | 8192x8192x8192 | {OVERVIEW_CELLS} | 0123abcdef |\n"
            f"| [8 lean_epilogue](v08.md) | 4096x256x64 | {OVERVIEW_CELLS} | 0123abcdef |\n"))

    def test_overview_of_a_run_that_fails_stays_as_it_was(self):
        overview = self.profile_versions("7")
        self.fake("ncu", "", 9)
        self.expect_error(1, ["8"], "exit status 9", lines=None)
        self.assertEqual((self.out / "overview.md").read_text(encoding="utf-8"), overview)

    def flawed_csvs(self):
        """[(CSV of version 7 as bytes, what the error says of it)]"""
        lines = (self.out / "v07.csv").read_bytes().splitlines(keepends=True)
        text = b"".join(lines)
        return [
            (b"", "does not have the columns metric,unit,value throughout"),
            (b"".join(lines[1:]), "does not have the columns metric,unit,value throughout"),
            (text + b"one,two\n", "does not have the columns metric,unit,value throughout"),
            (text + b"one,two,three,four\n", "does not have the columns metric,unit,value throughout"),
            # As it was before the CSV named where it came from.
            (b"".join(lines[:1] + lines[10:]), "does not say version"),
            *((b"".join(lines[:row] + lines[row + 1:]), f"does not say {what}") for row, what in enumerate(
                profile.PROVENANCE, start=1)),
            (text.replace(b"gpu,,NVIDIA H200", b"gpu,,"), "does not say gpu"),
            (b"".join(lines[:-1]), f"does not say {list(profile.SASS_OPCODES)[-1]}"),
            (text + lines[-1], "names a row twice"),
            (text.replace(b",1500000\n", b",fast\n"), f"has 'fast', which is not a number, as {profile.TIME}"),
            (text.replace(b"version,,7", b"version,,8"), "is for version 8"),
            (text.replace(b"multicast", b"multi\xff"), "cannot be read"),
            (text.replace(b"gpu,,", b'gpu,,"'), "cannot be read"),
        ]

    def test_overview_refuses_a_malformed_csv_and_overwrites_nothing(self):
        self.profile_versions("6-7")
        (self.out / "overview.md").write_text("old", encoding="utf-8")
        runs = len(self.calls("ncu"))
        for text, flaw in self.flawed_csvs():
            for arguments in (["--markdown-only"], ["6"]):
                with self.subTest(flaw=flaw, arguments=arguments):
                    (self.out / "v07.csv").write_bytes(text)
                    before = self.texts()
                    self.expect_error(1, arguments, f"{self.out / 'v07.csv'} {flaw}")
                    self.assertEqual(self.texts(), before)
        self.assertEqual(len(self.calls("ncu")), runs)

    def test_malformed_csv_of_a_version_that_is_profiled_anew(self):
        self.out.mkdir()
        (self.out / "v07.csv").write_text("old", encoding="utf-8")
        self.assertEqual(self.profile_versions("7"),
                         OVERVIEW_HEAD + f"| [7 cluster_multicast](v07.md) | {OVERVIEW_CELLS} | 0123abcdef |\n")

    def test_overview_leaves_other_files_alone(self):
        self.out.mkdir()
        for name in ("ladder.csv", "v7.csv", "v07-old.csv", ".v08.csv.4711.tmp"):
            (self.out / name).write_text("no profile", encoding="utf-8")
        self.assertEqual(self.profile_versions("7"),
                         OVERVIEW_HEAD + f"| [7 cluster_multicast](v07.md) | {OVERVIEW_CELLS} | 0123abcdef |\n")
        self.assertEqual((self.out / "ladder.csv").read_text(encoding="utf-8"), "no profile")

    def test_markdown_only(self):
        self.profile_versions("7-8")
        before = self.texts()
        for path in self.bin.iterdir():
            path.unlink()
        result = self.run_tool("--markdown-only")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        for name in ("overview.md", "v08.md"):
            (self.out / name).unlink()
        (self.out / "v07.md").write_text("## What changed\n\nMuch.\n\n## Measured\n", encoding="utf-8")
        result = self.run_tool("--markdown-only")
        self.assertEqual((result.returncode, sorted(result.stdout.splitlines()), result.stderr),
                         (0, [f"{self.out}/{name}" for name in ("overview.md", "v07.md", "v08.md")], ""))
        written = self.texts()
        self.assertIn(b"## What changed\n\nMuch.\n\n## Measured\n", written["v07.md"])
        self.assertEqual({**written, "v07.md": written["v07.md"].replace(b"## What changed\n\nMuch.\n\n", b"")}, before)

    def test_markdown_that_is_out_of_date(self):
        self.expect_error(2, ["7", "--check"], "--check works only with --markdown-only")
        self.profile_versions("7-8")
        self.assertEqual(self.run_tool("--markdown-only", "--check").returncode, 0)
        markdown = (self.out / "v07.md").read_text(encoding="utf-8")
        (self.out / "v07.md").write_text(markdown.replace("1.500 ms", "1.400 ms"), encoding="utf-8")
        before = self.texts()
        self.expect_error(1, ["--markdown-only", "--check"], f"these files are out of date: {self.out / 'v07.md'}")
        self.assertEqual(self.texts(), before)

    def test_markdown_only_of_no_csv(self):
        for make in (lambda: None, self.out.mkdir):
            make()
            self.expect_error(2, ["--markdown-only"], f"no vNN.csv in {self.out}")
        self.assertEqual(list(self.out.iterdir()), [])

    def test_markdown_only_of_versions(self):
        self.expect_error(2, ["--markdown-only", "7"], "leave the VERSION out")
        self.assertEqual(self.calls("ncu"), [])

    def test_markdown_only_of_no_folder(self):
        result = subprocess.run([sys.executable, str(TOOL), "--markdown-only"], capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (2, "", "profile.py: --markdown-only needs the folder of the CSVs; "
                                 "type for example --out profiles/h200\n"))

    def test_overview_that_cannot_be_replaced(self):
        self.profile_versions("7")
        (self.out / "overview.md").unlink()
        (self.out / "overview.md").mkdir()
        self.expect_error(2, ["--markdown-only"], "cannot be written", "overview.md")
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["overview.md", "v07.csv", "v07.md"])

    # --- The other ladders ---

    def profile_ladder(self, readings, *arguments):
        self.fake("ncu", MATMUL_TEXT + ncu_csv(readings))
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_ampere_counts_bank_conflicts(self):
        self.profile_ladder(ampere_readings("100,663,296"), "ampere.3")
        self.profile_ladder(ampere_readings("0"), "ampere.4")
        text = (self.out / "ampere3.md").read_text(encoding="utf-8")
        self.assertTrue(text.startswith(
            "# ampere.3 mma_sync\n\nThis profile was taken at 8192x8192x8192 on one NVIDIA H200"), text)
        self.assertEqual(self.tables(text), [MEASURED_ROWS, AMPERE_ROWS, SASS_ROWS])
        self.assertEqual((self.out / "overview-ampere.md").read_text(encoding="utf-8"), AMPERE_OVERVIEW)
        self.assertEqual(sorted(self.texts()), ["ampere3.csv", "ampere3.md", "ampere4.csv", "ampere4.md",
                                                "overview-ampere.md"])
        self.assertEqual(self.csv_rows("ampere4.csv")[1:3], [["version", "", "ampere.4"], ["name", "", "swizzle"]])

    def test_command_of_another_ladder(self):
        self.profile_ladder(ampere_readings("0"), "ampere.4")
        self.profile_ladder(simt_readings(), "simt.2", "--shape", "512x256x128")
        ampere, simt = (arguments for arguments, _ in self.calls("ncu"))
        matmul = str(self.bin / "matmul")
        for arguments, metrics, version, shape in (
                (ampere, profile.AMPERE_METRICS, "ampere.4", "8192x8192x8192"),
                (simt, profile.SIMT_METRICS, "simt.2", "512x256x128")):
            self.assertEqual(arguments[arguments.index("--metrics") + 1:], [
                ",".join(metrics), matmul, version, "--profile", "--shape", shape, "--mode", "sustained",
                "--no-verify"])

    def test_no_counters_of_hopper_where_others_run(self):
        for metrics in (profile.AMPERE_METRICS, profile.SIMT_METRICS):
            self.assertEqual(len(set(metrics)), len(metrics))
            for metric in metrics:
                self.assertNotRegex(metric, "gmma|stsm")

    def test_simt(self):
        self.profile_ladder(simt_readings(), "simt.1")
        text = (self.out / "simt1.md").read_text(encoding="utf-8")
        self.assertIn("# simt.1 naive\n", text)
        self.assertIn("| speed under ncu | 45.8 TFLOP/s |", text)
        self.assertIn(SIMT_LINES, text)
        self.assertIn("| [simt.1 naive](simt1.md) | 764 TFLOP/s | 641 TFLOP/s | 699 W | 1.090 pJ/FLOP | 3.000 ms |",
                      (self.out / "overview-simt.md").read_text(encoding="utf-8"))

    def test_kernel_that_does_not_load_from_shared_memory(self):
        readings = {**simt_readings(), profile.LOADS: ("inst", "0"), profile.LOAD_WAVEFRONTS: ("", "0"),
                    profile.SECTORS_PER_LOAD: ("", "n/a")}
        self.profile_ladder(readings, "simt.1")
        text = (self.out / "simt1.md").read_text(encoding="utf-8")
        self.assertIn("wavefronts of a load from shared memory, by instruction | no loads |", text)
        self.assertIn("touches | n/a |", text)

    def test_ranges_and_whole_ladders(self):
        readings = {**ampere_readings("0"), **simt_readings(), **base_readings()}
        for arguments, versions in ((["ampere.3-4"], ["ampere.3", "ampere.4"]),
                                    (["simt.1-simt.2"], ["simt.1", "simt.2"]),
                                    (["simt", "7", "ampere"], ["7", "ampere.3", "ampere.4", "simt.1", "simt.2"]),
                                    (["hopper", "8"], ["6", "7", "8"])):
            with self.subTest(arguments):
                before = len(self.calls("ncu"))
                self.profile_ladder(readings, *arguments)
                self.assertEqual([self.version_of(call) for call, _ in self.calls("ncu")[before:]], versions)
        self.assertEqual({name for name in self.texts() if name.startswith("overview")},
                         {"overview.md", "overview-ampere.md", "overview-simt.md"})

    def test_versions_of_other_ladders_that_are_none(self):
        for version in ("ampere.", "ampere.x", "ampere.3-simt.1", "ampere3", "volta.1", "simt.1.2", "3-ampere.4"):
            with self.subTest(version):
                self.expect_error(2, [version], f"'{version}' is not a version")
        self.expect_error(2, ["ampere.5"], "no version ampere.5 to profile", "ampere.3 to ampere.4")
        self.expect_error(2, ["ampere.4-3"], "type ampere.3-4")
        self.fake("matmul", "7  cluster_multicast  sm_90  clusters\n")
        self.expect_error(2, ["simt.1"], "no version of the simt ladder")
        self.assertEqual(self.calls("ncu"), [])

    def test_markdown_only_of_all_ladders(self):
        self.profile_ladder({**ampere_readings("0"), **base_readings()}, "7", "ampere")
        before = self.texts()
        (self.out / "overview.md").unlink()
        (self.out / "overview-ampere.md").unlink()
        result = self.run_tool("--markdown-only")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, f"{self.out}/overview.md\n{self.out}/overview-ampere.md\n", ""))
        self.assertEqual(self.texts(), before)

    def test_csv_of_results_is_no_profile(self):
        self.out.mkdir()
        for name in ("ampere.csv", "simt.csv", "ladder.csv"):
            (self.out / name).write_text("version,name\n", encoding="utf-8")
        self.profile_ladder(ampere_readings("0"), "ampere.4")
        self.assertEqual((self.out / "ampere.csv").read_text(encoding="utf-8"), "version,name\n")

    def test_malformed_csv_of_another_ladder(self):
        self.profile_ladder(ampere_readings("0"), "ampere.3")
        flawed = (self.out / "ampere3.csv").read_text(encoding="utf-8").replace("version,,ampere.3", "version,,3")
        (self.out / "ampere3.csv").write_text(flawed, encoding="utf-8")
        self.expect_error(1, ["ampere.4"], f"{self.out / 'ampere3.csv'} is for version 3")
        # The overview of the Hopper ladder needs nothing of it.
        self.profile_ladder(base_readings(), "7")
        self.assertTrue((self.out / "overview.md").is_file())

    # --- What goes wrong under ncu ---

    def expect_files_untouched(self, status, *parts, lines=1):
        self.out.mkdir()
        for name in ("v07.csv", "v07.md"):
            (self.out / name).write_text("old", encoding="utf-8")
        self.expect_error(status, ["7"], *parts, lines=lines)
        self.assertEqual({path.name: path.read_text(encoding="utf-8") for path in self.out.iterdir()},
                         {"v07.csv": "old", "v07.md": "old"})

    def test_ncu_that_fails(self):
        lines = "".join(f"line {number}\n" for number in range(20))
        self.fake("ncu", lines, 9, errors="==ERROR== Failed to find metric sm__nonsense\n")
        self.expect_files_untouched(1, "version 7 (cluster_multicast): ncu failed (exit status 9)", "line 19",
                                    "Failed to find metric sm__nonsense", lines=9)

    def test_launch_that_was_profiled_although_ncu_failed(self):
        self.fake("ncu", MATMUL_TEXT + ncu_csv(base_readings()), 1)
        self.expect_files_untouched(1, "exit status 1", lines=None)

    def test_no_launch(self):
        for output in ("==WARNING== No kernels were profiled.\n", ncu_csv(base_readings(), launches=0)):
            with self.subTest(output[:4]):
                self.fake("ncu", MATMUL_TEXT + output)
                self.expect_error(1, ["7"], "profiled no launch of gemm_kernel", lines=None)
                self.assertEqual(list(self.out.iterdir()), [])

    def test_first_of_several_launches(self):
        self.fake("ncu", MATMUL_TEXT + ncu_csv(base_readings(), launches=2))
        self.assertEqual(self.run_tool("7").returncode, 0)

    def test_no_permission(self):
        for status in (0, 1):
            with self.subTest(status):
                self.fake("ncu", "", status, errors="==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n")
                self.expect_error(2, ["7"], "ERR_NVGPUCTRPERM", "as root", "NVreg_RestrictProfilingToAdminUsers=0")
                self.assertEqual(list(self.out.iterdir()), [])

    def test_files_that_cannot_be_replaced(self):
        (self.out / "v07.md").mkdir(parents=True)
        self.expect_error(2, ["7"], "cannot be written", "v07.md")
        self.assertEqual([path.name for path in self.out.iterdir()], ["v07.md"])

    # --- Bad input, and machines that cannot profile ---

    def test_versions_that_are_none(self):
        for version in ("seven", "7-", "-7-8", "7.5", "all", "ceiling", "", "6..8", "٧"):
            with self.subTest(version):
                self.expect_error(2, ["--", version], f"'{version}' is not a version")
        self.assertEqual(self.calls("ncu"), [])

    def test_no_version(self):
        self.expect_error(2, [], "no VERSION to profile")
        self.assertEqual(self.calls("ncu"), [])

    def test_versions_that_the_ladder_lacks(self):
        for version, missing in (("0", 0), ("9", 9), ("5-7", 5), ("7-900", 900)):
            with self.subTest(version):
                self.expect_error(2, [version], f"no version {missing} to profile", "6 to 8")

    def test_range_that_runs_backwards(self):
        self.expect_error(2, ["8-6"], "type 6-8")

    def test_shapes_that_are_none(self):
        for shape in ("8192", "8192x8192", "0x8x8", "8x8x8x8", "8 x8x8", "-8x8x8", "axbxc", ""):
            with self.subTest(shape):
                self.expect_error(2, [f"--shape={shape}", "7"], f"'{shape}' is not a shape", "MxNxK")

    def test_no_matmul(self):
        (self.bin / "matmul").unlink()
        self.expect_error(2, ["7"], "no matmul at", "./dev build")

    def test_matmul_that_does_not_run(self):
        self.fake("matmul", "", 2)
        self.expect_error(2, ["7"], "shows no versions")
        (self.bin / "matmul").chmod(0o644)
        self.expect_error(2, ["7"], "shows no versions")

    def test_no_gpu(self):
        self.fake("nvidia-smi", "No devices were found\n", 6)
        self.expect_error(2, ["7"], "needs an NVIDIA GPU")
        self.fake("nvidia-smi", "No devices were found\n")
        self.expect_error(2, ["7"], "needs an NVIDIA GPU")
        (self.bin / "nvidia-smi").unlink()
        self.expect_error(2, ["7"], "needs an NVIDIA GPU")
        self.assertEqual(self.calls("ncu"), [])

    def test_out_that_is_a_file(self):
        self.out.write_text("", encoding="utf-8")
        self.expect_error(2, ["7"], "cannot be written", str(self.out))
        self.assertEqual(self.calls("ncu"), [])

    # --- Which ncu ---

    def test_ncu_that_is_named(self):
        other = self.folder / "other"
        (self.bin / "ncu").rename(other)
        for suffix in (".output", ".errors", ".status"):
            (self.bin / "ncu").with_suffix(suffix).rename(other.with_suffix(suffix))
        result = self.run_tool("7", "--ncu", str(other))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"```sh\n{other} --clock-control", (self.out / "v07.md").read_text(encoding="utf-8"))

    def test_named_ncu_that_is_missing(self):
        self.expect_error(2, ["7", "--ncu", str(self.folder / "none")], "which is not a program")

    def test_newest_ncu_beside_path(self):
        pattern = str(self.folder / "nsight" / "*" / "ncu")
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}), mock.patch.object(
                profile, "NCU_PATTERNS", (str(self.folder / "cuda*" / "ncu"), pattern)):
            with self.assertRaisesRegex(profile.ProfileError, "no ncu .* give its path with --ncu") as caught:
                profile.find_ncu(None)
            self.assertEqual(caught.exception.exit_status, 2)
            for version in ("2025.10.1", "2025.9.0", "2024.12.3"):
                path = self.folder / "nsight" / version / "ncu"
                path.parent.mkdir(parents=True)
                path.touch(0o755)
            self.assertEqual(profile.find_ncu(None), str(self.folder / "nsight" / "2025.10.1" / "ncu"))


if __name__ == "__main__":
    unittest.main()
