#!/usr/bin/env python3
"""Profiles kernel versions: measures each, reads the GPU's counters, and counts the instructions of its machine code.

    tools/profile.py [--shape MxNxK] [--clock-control base] [--report] [--out profiles/<gpu>]
        [--matmul build/release/matmul] [--ncu PATH] [--cuobjdump PATH] VERSION...
    tools/profile.py --markdown-only [--check] --out profiles/<gpu>

A VERSION is a number of the Hopper ladder, such as 7, a version of another ladder, such as ampere.4, a range, such as
4-8 or simt.5-8, or a whole ladder: hopper, ampere or simt. The shape is 8192x8192x8192, for simt 4096x4096x4096, unless
--shape gives another. Three programs look at each version:

- `matmul` verifies the versions of a ladder and measures them in turn, in bursts and under sustained load. Under
  sustained load it also measures the power.
- ncu, NVIDIA Nsight Compute, counts during one launch of gemm_kernel, which `matmul --profile` marks. Each ladder has
  its own list of metrics.
- cuobjdump shows the SASS of that kernel, and the tool counts its instructions.

For version 7 the tool writes v07.csv (metric,unit,value) and v07.md, tables to read; for version ampere.4 it writes
ampere4.csv and ampere4.md. The CSV names GPU, driver, commit, shape, date and commands before all figures, and has
ncu's figures as ncu gave them. The tool keeps a section "What changed" that somebody wrote into a version's Markdown.
It writes the files of a version only when its profile is complete. Until then the files of an earlier run stay as they
are.

ncu does not touch the clocks, so the figures are for the clock that the power limit allows. With --clock-control base
it holds the GPU at its base clock, if it has the permission. Times are then lower bounds on speed, but the same from
day to day. --report also writes v07.ncu-rep, with all of ncu's sections and the source lines, for its graphical
program. git ignores these files.

At the end the tool writes overview.md, which compares all Hopper versions that have a CSV in the folder, also those of
earlier runs. overview-ampere.md and overview-simt.md do the same for their ladders. A run that fails leaves the
overviews as they were, and so does a run of other ladders. --markdown-only writes all Markdown again from the CSVs and
needs no GPU. With --check it writes nothing, and fails if a file is out of date. The tool refuses a CSV of these
ladders that it did not write, before it runs or writes anything, unless the run replaces that CSV.

Exit status: 0 if all files were written; 1 if ncu, matmul or cuobjdump failed, the tool refused a CSV in the folder, or
--check found a file out of date; 2 if the input was bad, or this machine cannot profile.
"""

import argparse
import csv
import dataclasses
import datetime
import errno
import glob
import io
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT_MATMUL = ROOT / "build/release/matmul"
NCU_PATTERNS = ("/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
CUOBJDUMP_PATTERNS = ("/usr/local/cuda*/bin/cuobjdump", "/opt/cuda*/bin/cuobjdump")
NOT_AVAILABLE = "n/a"
WHAT_TO_TYPE = "type a number of the Hopper ladder, such as 7, a version such as ampere.4, or a range such as 4-8"

CSV_COLUMNS = ["metric", "unit", "value"]
# The rows before the metrics. They give every figure its GPU and commit.
PROVENANCE = ("version", "name", "gpu", "driver", "commit", "shape", "date", "measured by", "counted by")

STALL_REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "short_scoreboard",
    "sleeping", "wait")


# ncu's metric of a stall reason is the sum of the cycles that a scheduler's warps spent in it, over its instructions.
STALLED = "stalled warp-cycles per instruction issued"


def stall_metric(reason):
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


TIME = "gpu__time_duration.sum"
CYCLES = "sm__cycles_elapsed.max"
CLOCK = "sm__cycles_elapsed.avg.per_second"
TENSOR_PIPE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
L2_SECTORS_READ = "lts__t_sectors_op_read.sum"
L2_HIT_RATE = "lts__t_sector_hit_rate.pct"
L2_TO_SM = "l1tex__m_xbar2l1tex_read_bytes.sum"
# A counter of the LSU's data stage, which also counts arbitration against TMA and wgmma.
STORE_BANK_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
# Instrumented SASS counts these by instruction, while nothing else runs.
STORES = "smsp__sass_inst_executed_op_shared_st.sum"
STORE_BYTES = "smsp__sass_data_bytes_mem_shared_op_st.sum"
STORE_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
STMATRIX_BANK_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_stsm.sum"
REGISTERS = "launch__registers_per_thread"
DYNAMIC_SHARED_MEMORY = "launch__shared_mem_per_block_dynamic"
CTAS = "launch__grid_size"
THREADS = "launch__block_size"
WARPS_ACTIVE = "sm__warps_active.avg.pct_of_peak_sustained_active"
# The number of CTAs that an SM has room for, by each of its resources.
CTA_LIMITS = tuple(f"launch__occupancy_limit_{resource}" for resource in ("blocks", "registers", "shared_mem", "warps"))

# The metrics of the Hopper ladder.
METRICS = (
    TIME, CYCLES, CLOCK, TENSOR_PIPE, DRAM_READ, DRAM_WRITTEN, L2_SECTORS_READ, L2_HIT_RATE, L2_TO_SM,
    STORE_BANK_CONFLICTS, STORES, STORE_BYTES, STORE_WAVEFRONTS, STMATRIX_BANK_CONFLICTS, REGISTERS,
    DYNAMIC_SHARED_MEMORY, CTAS, THREADS, *CTA_LIMITS, WARPS_ACTIVE,
    *(stall_metric(reason) for reason in STALL_REASONS))

# The other ladders have neither wgmma nor stmatrix, and GPUs before Hopper have no counters of them. The important
# facts there are how threads load, above all from shared memory, and whether a warp is ready to issue.
HMMA_PIPE = "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"
FMA_PIPE = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"
ISSUE_SLOTS = "sm__inst_issued.avg.pct_of_peak_sustained_elapsed"
SECTORS_PER_LOAD = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
LOAD_BANK_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
# These are by instruction. There is no such counter of conflicts for ordinary loads.
LOADS = "smsp__sass_inst_executed_op_shared_ld.sum"
LOAD_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
LDMATRIX_LOADS = "smsp__sass_inst_executed_op_ldsm.sum"
LDMATRIX_BANK_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"
CP_ASYNC_BANK_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"

THREAD_METRICS = (
    TIME, CYCLES, CLOCK, ISSUE_SLOTS, DRAM_READ, DRAM_WRITTEN, L2_SECTORS_READ, L2_HIT_RATE, L2_TO_SM,
    LOAD_BANK_CONFLICTS, LOADS, LOAD_WAVEFRONTS, CP_ASYNC_BANK_CONFLICTS, STORE_BANK_CONFLICTS, STORES, STORE_BYTES,
    STORE_WAVEFRONTS, REGISTERS, DYNAMIC_SHARED_MEMORY, CTAS, THREADS, *CTA_LIMITS, WARPS_ACTIVE,
    *(stall_metric(reason) for reason in STALL_REASONS if reason != "gmma"))
AMPERE_METRICS = (TENSOR_PIPE, HMMA_PIPE, LDMATRIX_LOADS, LDMATRIX_BANK_CONFLICTS, *THREAD_METRICS)
SIMT_METRICS = (FMA_PIPE, SECTORS_PER_LOAD, *THREAD_METRICS)

# An SM's registers (256 KiB) hold just the 4-byte accumulators of a square tile of this side. A larger tile would need
# less of A and B for each product, so tiles of this side give the least bytes that can be delivered to the SMs.
LARGEST_TILE = 256

# The measurements of matmul, outside of ncu: (mode, column of its CSV, unit).
BURST_SPEED = "matmul__burst_speed"
BURST_OF_CUBLAS = "matmul__burst_speed_of_cublas"
SUSTAINED_SPEED = "matmul__sustained_speed"
SUSTAINED_OF_CUBLAS = "matmul__sustained_speed_of_cublas"
SUSTAINED_CLOCK = "matmul__sustained_clock"
SUSTAINED_POWER = "matmul__sustained_power"
SUSTAINED_ENERGY = "matmul__sustained_energy"
MEASURED = {
    BURST_SPEED: ("burst", "tflops", "TFLOP/s"),
    BURST_OF_CUBLAS: ("burst", "percent_of_cublas", "%"),
    SUSTAINED_SPEED: ("sustained", "tflops", "TFLOP/s"),
    SUSTAINED_OF_CUBLAS: ("sustained", "percent_of_cublas", "%"),
    SUSTAINED_CLOCK: ("sustained", "sm_clock_mhz", "MHz"),
    SUSTAINED_POWER: ("sustained", "watts", "W"),
    SUSTAINED_ENERGY: ("sustained", "pj_per_flop", "pJ/FLOP"),
}

# The opcodes that are counted in a kernel's machine code. Each instruction counts once, however often it runs.
SASS_OPCODES = {
    "sass__instructions": None,  # all of them
    "sass__hgmma": ("HGMMA",),
    "sass__hmma": ("HMMA",),
    "sass__ffma": ("FFMA",),
    "sass__utmaldg": ("UTMALDG",),
    "sass__utmastg": ("UTMASTG",),
    "sass__ldgsts": ("LDGSTS",),
    "sass__syncs": ("SYNCS",),
    "sass__ldsm": ("LDSM",),
    "sass__stsm": ("STSM",),
    "sass__usetmaxreg": ("USETMAXREG",),
    "sass__local_memory": ("LDL", "STL"),
}
SASS_NAMES = {
    "sass__instructions": "all",
    "sass__hgmma": "HGMMA (wgmma)",
    "sass__hmma": "HMMA (mma.sync)",
    "sass__ffma": "FFMA (fp32 multiply-add)",
    "sass__utmaldg": "UTMALDG (TMA loads)",
    "sass__utmastg": "UTMASTG (TMA stores)",
    "sass__ldgsts": "LDGSTS (cp.async)",
    "sass__syncs": "SYNCS (mbarriers)",
    "sass__ldsm": "LDSM (ldmatrix)",
    "sass__stsm": "STSM (stmatrix)",
    "sass__usetmaxreg": "USETMAXREG (setmaxnreg)",
    "sass__local_memory": "LDL and STL (local memory: spilled registers)",
}

SMALL_PREFIXES = {"": 1, "m": 1e-3, "u": 1e-6, "n": 1e-9}
# ncu's prefixes are decimal for bytes too: 32768 bytes are 32.77 Kbyte.
LARGE_PREFIXES = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def prefixed(prefixes, names, template="{}"):
    return {template.format(prefix + name): factor for prefix, factor in prefixes.items() for name in names}


# The value of each unit, by kind, in seconds, bytes, hertz and ones. The names differ between releases of ncu.
UNITS = {
    "time": prefixed(SMALL_PREFIXES, ("second", "s")),
    "bytes": prefixed(LARGE_PREFIXES, ("byte", "B")),
    "frequency": {
        **prefixed(LARGE_PREFIXES, ("hz", "Hz")),
        **{unit: 1 / factor for unit, factor in prefixed(SMALL_PREFIXES, ("second", "s"), "cycle/{}").items()}},
    "count": {"": 1, **prefixed(LARGE_PREFIXES, ("sector", "cycle", "block", "thread", "register", "inst", "warp"))},
    "percent": {"%": 1},
    "ratio": {"": 1, "sector": 1},
    "tflops": {"TFLOP/s": 1},
    "watts": {"W": 1},
    "energy": {"pJ/FLOP": 1},
}


class ProfileError(Exception):
    """Says in a sentence what is wrong, and has the exit status for it."""

    def __init__(self, message, exit_status):
        super().__init__(message)
        self.exit_status = exit_status


def refused(message):
    """Bad input, or a machine that cannot profile."""
    return ProfileError(message, 2)


def failed(message):
    """A program under ncu, or ncu itself, gave no profile, or a CSV does not hold one."""
    return ProfileError(message, 1)


# --- What was asked for ------------------------------------------------------------------------------------------


def parse_shape(text):
    """(M, N, K)"""
    if not re.fullmatch(r"[1-9][0-9]{0,9}(x[1-9][0-9]{0,9}){2}", text, re.ASCII):
        raise refused(f"'{text}' is not a shape; type it as MxNxK, such as {HOPPER.shape}")
    return tuple(int(size) for size in text.split("x"))


def shape_text(shape):
    return "x".join(map(str, shape))


def parse_range(text):
    """(ladder, first, last). first and last are numbers, or None for the whole ladder."""
    for ladder in LADDERS:
        if text == ladder.name:
            return ladder, None, None
        prefix = re.escape(ladder.prefix)
        match = re.fullmatch(f"{prefix}([0-9]{{1,4}})(?:-(?:{prefix})?([0-9]{{1,4}}))?", text, re.ASCII)
        if match:
            return ladder, int(match[1]), int(match[2] or match[1])
    raise refused(f"'{text}' is not a version; {WHAT_TO_TYPE}")


def select_versions(ranges, known):
    """The known versions that are in `ranges`, each once, in the order of `ranges`."""
    versions = {}
    for ladder, first, last in ranges:
        numbers = [ladder.number_of(version) for version in known if ladder.number_of(version)]
        if not numbers:
            raise refused(f"this matmul has no version of the {ladder.name} ladder; type ./dev build to build it again")
        if first is None:
            first, last = min(numbers), max(numbers)
        for number in (first, last):
            if number not in numbers:
                raise refused(f"there is no version {ladder.version(number)} to profile; the ladder has "
                              f"{ladder.version(min(numbers))} to {ladder.version(max(numbers))}")
        if first > last:
            raise refused(f"the range {ladder.version(first)}-{last} runs backwards; type "
                          f"{ladder.version(last)}-{first}")
        versions.update({ladder.version(number): None for number in numbers if first <= number <= last})
    return list(versions)


# --- What this machine has ---------------------------------------------------------------------------------------


def run(command, stderr=subprocess.STDOUT):
    """Runs the command in ROOT. The result's stdout also holds stderr, so that an error stands where it occurred."""
    # Some locales write numbers with a decimal comma.
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, encoding="utf-8", errors="replace",
                          check=False, cwd=ROOT, env={**os.environ, "LC_ALL": "C"})


def output_of(command):
    """The output of the command. Empty if it cannot run or fails."""
    try:
        result = run(command)
    except OSError:
        return ""
    return "" if result.returncode else result.stdout


@dataclasses.dataclass(frozen=True)
class Gpu:
    name: str
    driver: str
    capability: tuple  # (9, 0)


def find_gpu():
    """The first GPU."""
    output = output_of(["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"])
    match = re.fullmatch(r"(.*), (\S+), ([0-9]+)\.([0-9]+)", output.strip().partition("\n")[0], re.ASCII)
    if not match:
        raise refused("a profile needs an NVIDIA GPU, but nvidia-smi finds none")
    return Gpu(match[1], match[2], (int(match[3]), int(match[4])))


def folder_name(gpu):
    """h200 for NVIDIA H200."""
    return re.sub("[^a-z0-9]+", "-", gpu.lower().replace("nvidia", "")).strip("-")


def find_tool(name, asked_for, patterns, advice):
    """The word that calls the program. It is a name if PATH has the program, so that documented commands are the same
    everywhere."""
    if asked_for is not None:
        found = shutil.which(asked_for)
        if found is None:
            raise refused(f"--{name} names '{asked_for}', which is not a program")
        return os.path.abspath(found)
    if shutil.which(name):
        return name
    candidates = [path for pattern in patterns for path in glob.glob(pattern) if os.access(path, os.X_OK)]
    if not candidates:
        raise refused(f"there is no {advice}, or give its path with --{name}")
    return max(candidates, key=lambda path: [int(number) for number in re.findall("[0-9]+", path)])


def find_ncu(asked_for):
    return find_tool("ncu", asked_for, NCU_PATTERNS,
                     "ncu (NVIDIA Nsight Compute) on PATH, in a CUDA toolkit or in /opt/nvidia/nsight-compute; "
                     "install it")


def find_cuobjdump(asked_for):
    return find_tool("cuobjdump", asked_for, CUOBJDUMP_PATTERNS,
                     "cuobjdump on PATH or in a CUDA toolkit; install it (on Debian cuda-cuobjdump, from PyPI "
                     "nvidia-cuda-cuobjdump)")


def find_matmul(path):
    """The path of matmul from ROOT. It leaves out the folders above ROOT, which differ on every machine."""
    absolute = pathlib.Path(os.path.abspath(path))
    if not absolute.is_file():
        raise refused(f"there is no matmul at {path}; type ./dev build to build build/release/matmul")
    return str(absolute.relative_to(ROOT) if ROOT in absolute.parent.parents else absolute)


def read_ladder(matmul):
    """{version: name} of the versions that have a gemm_kernel. cuBLAS, which is version 0, and the ceiling have
    none."""
    lines = re.findall(r"^((?:[a-z]+\.)?[1-9][0-9]*) +(\S+)", output_of([matmul, "list"]), re.MULTILINE)
    if not lines:
        raise refused(f"`{matmul} list` shows no versions; type ./dev build to build build/release/matmul again")
    return dict(lines)


# --- matmul ------------------------------------------------------------------------------------------------------


def measure_command(matmul, versions, shape):
    return [matmul, *versions, "--shape", shape_text(shape), "--mode", "both", "--rounds", "5"]


def measure(command, versions):
    """{version: {figure of MEASURED: (unit, text)}}, from a measure_command() of these versions."""
    print(f"profile.py: measuring {', '.join(versions)}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "measured.csv"
        result = run([*command, "--csv", str(path)])
        if result.returncode or not path.is_file():
            raise failed(f"matmul failed to measure (exit status {result.returncode}); its last lines:"
                         + last_lines(result.stdout))
        with open(path, newline="", encoding="utf-8") as file:
            rows = {(row["version"], row["mode"]): row for row in csv.DictReader(file)}
    figures = {}
    for version in versions:
        texts = {name: rows.get((version, mode), {}).get(column) or NOT_AVAILABLE
                 for name, (mode, column, _) in MEASURED.items()}
        figures[version] = {name: ("" if text == NOT_AVAILABLE else MEASURED[name][2], text)
                            for name, text in texts.items()}
    return figures


# --- ncu ---------------------------------------------------------------------------------------------------------


def ncu_command(ncu, clock_control, matmul, version, shape):
    return [ncu, "--clock-control", clock_control, "--profile-from-start", "off", "-k", "regex:gemm_kernel",
            "--launch-count", "1", "--print-kernel-base", "mangled", "--csv", "--page", "raw", "--print-units", "base",
            "--metrics", ",".join(ladder_of(version).metrics), *marked_launch(matmul, version, shape)]


def report_command(ncu, clock_control, matmul, version, shape, path):
    return [ncu, "--clock-control", clock_control, "--profile-from-start", "off", "-k", "regex:gemm_kernel",
            "--launch-count", "1", "--set", "full", "--import-source", "yes", "--force-overwrite",
            "--export", os.path.abspath(path), *marked_launch(matmul, version, shape)]


def marked_launch(matmul, version, shape):
    return [matmul, version, "--profile", "--shape", shape_text(shape), "--mode", "sustained", "--no-verify"]


def last_lines(output):
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    return "".join(f"\n  {line}" for line in lines[-8:])


def run_ncu(command, what):
    """The output of ncu and matmul."""
    try:
        result = run(command)
    except OSError as error:
        raise refused(f"{command[0]} cannot run: {error.strerror}") from error
    # This does not depend on the exit status. Without its counters, ncu lets the program run on and succeed.
    if "ERR_NVGPUCTRPERM" in result.stdout:
        raise refused("ncu may not read this GPU's counters (ERR_NVGPUCTRPERM); run as root, in a container also with "
                      "the capability SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0")
    if result.returncode:
        raise failed(f"{what}: ncu failed (exit status {result.returncode}); its last lines:"
                     + last_lines(result.stdout))
    return result.stdout


def as_number(text):
    """The number, or None for n/a and everything else that is not a number."""
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_readings(output, metrics, what):
    """The kernel's mangled name, and {metric: (unit, text)} of the first launch in ncu's output, for all of the
    metrics."""
    lines = output.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(('"ID",', "ID,"))), len(lines))
    # ncu may print other lines below the header, but none with as many commas.
    rows = list(csv.reader(lines[start:]))
    rows = [row for row in rows if len(row) == len(rows[0])]
    launch = next((row for row in rows if row[0].isdigit()), None)
    if launch is None:
        raise failed(f"{what}: ncu profiled no launch of gemm_kernel; its last lines:" + last_lines(output))
    header = rows[0]
    units = next((row for row in rows if not row[0]), [""] * len(header))
    readings = {}
    for metric in metrics:
        column = header.index(metric) if metric in header else None
        if column is None or as_number(launch[column]) is None:
            readings[metric] = ("", NOT_AVAILABLE)
        else:
            readings[metric] = (units[column].strip(), launch[column].replace(",", "").strip())
    kernel = launch[header.index("Kernel Name")] if "Kernel Name" in header else ""
    if not re.fullmatch(r"_Z\w+", kernel, re.ASCII):
        raise failed(f"{what}: ncu calls the kernel '{kernel}', which is not a mangled name of a function")
    return kernel, readings


def parse_commit(output):
    match = re.search(r"^commit +(\S+)", output, re.MULTILINE)
    return match[1] if match else "unknown"


# --- Machine code ------------------------------------------------------------------------------------------------


def architecture_of(capability, names):
    """The architecture, of those that a function is compiled for, that the GPU runs, such as sm_90a. None: there is
    none."""
    fitting = {}
    for name in names:
        match = re.fullmatch(r"sm_([0-9]+)([0-9])a?", name, re.ASCII)
        if match and int(match[1]) == capability[0] and int(match[2]) <= capability[1]:
            # Code for this GPU alone comes before code that others also run.
            fitting[int(match[2]), name.endswith("a")] = name
    return fitting[max(fitting)] if fitting else None


def parse_sass(listing):
    """{architecture: the opcodes of its instructions, in order}, without modifiers and without the padding at the
    end."""
    opcodes = {}
    current = []
    for line in listing.splitlines():
        match = re.match(r"\s*code for (sm_\w+)", line, re.ASCII)
        if match:
            current = opcodes.setdefault(match[1], [])
        match = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[0-9T]+ )?([A-Z][A-Z0-9_]*)", line, re.ASCII)
        if match and match[1] != "NOP":
            current.append(match[1])
    return {architecture: found for architecture, found in opcodes.items() if found}


def count_instructions(cuobjdump, matmul, kernel, capability, what):
    """{figure of SASS_OPCODES: (unit, text)} of that function, from the code that this GPU runs."""
    command = [cuobjdump, "-sass", "-fun", kernel, matmul]
    # cuobjdump warns of every object file without the function, anywhere in a line of the listing.
    result = run(command, stderr=subprocess.PIPE)
    if result.returncode:
        raise failed(f"{what}: cuobjdump failed (exit status {result.returncode}); its last lines:"
                     + last_lines(result.stdout + result.stderr))
    opcodes = parse_sass(result.stdout)
    architecture = architecture_of(capability, opcodes)
    if architecture is None:
        raise failed(f"{what}: cuobjdump finds no machine code of {kernel} for this GPU in {matmul}")
    found = opcodes[architecture]
    counts = {figure: len(found) if names is None else sum(opcode in names for opcode in found)
              for figure, names in SASS_OPCODES.items()}
    return {figure: ("inst", str(count)) for figure, count in counts.items()}


# --- What is shown -----------------------------------------------------------------------------------------------


def convert(reading, kind):
    """The reading in seconds, bytes, hertz, ones or percent. None if it is not available or its unit is unknown."""
    unit, text = reading
    units = UNITS[kind]
    # Sizes come per thread or per block, as in register/thread.
    factor = units.get(unit, units.get(unit.partition("/")[0]))
    number = as_number(text)
    return None if factor is None or number is None else number * factor


def time_text(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} us"


def bytes_text(size):
    return f"{size / 1e9:.2f} GB" if size >= 1e8 else f"{size / 1e6:.2f} MB"


def count_text(count):
    return f"{count:,.0f}"


def percent_text(percent):
    return f"{percent:.1f} %"


def tflops_text(tflops):
    # Speeds of fp32 have only two digits before the point.
    return f"{tflops:.0f} TFLOP/s" if tflops >= 99.5 else f"{tflops:.1f} TFLOP/s"


def stall_text(number):
    return f"{number:.2f}"


# The kind of each metric in the tables, and its format.
FORMATS = {
    TIME: ("time", time_text),
    CLOCK: ("frequency", lambda hertz: f"{hertz / 1e9:.3f} GHz"),
    CYCLES: ("count", count_text),
    TENSOR_PIPE: ("percent", percent_text),
    DRAM_READ: ("bytes", bytes_text),
    DRAM_WRITTEN: ("bytes", bytes_text),
    L2_SECTORS_READ: ("count", lambda sectors: bytes_text(32 * sectors)),
    L2_TO_SM: ("bytes", bytes_text),
    L2_HIT_RATE: ("percent", percent_text),
    STORE_BANK_CONFLICTS: ("count", count_text),
    REGISTERS: ("count", count_text),
    DYNAMIC_SHARED_MEMORY: ("bytes", lambda size: f"{size / 1024:.1f} KiB"),
    CTAS: ("count", count_text),
    THREADS: ("count", count_text),
    WARPS_ACTIVE: ("percent", percent_text),
    BURST_SPEED: ("tflops", tflops_text),
    SUSTAINED_SPEED: ("tflops", tflops_text),
    BURST_OF_CUBLAS: ("percent", percent_text),
    SUSTAINED_OF_CUBLAS: ("percent", percent_text),
    SUSTAINED_CLOCK: ("frequency", lambda hertz: f"{hertz / 1e9:.2f} GHz"),
    SUSTAINED_POWER: ("watts", lambda watts: f"{watts:.0f} W"),
    SUSTAINED_ENERGY: ("energy", lambda energy: f"{energy:.3f} pJ/FLOP"),
    HMMA_PIPE: ("percent", percent_text),
    FMA_PIPE: ("percent", percent_text),
    ISSUE_SLOTS: ("percent", percent_text),
    SECTORS_PER_LOAD: ("ratio", lambda sectors: f"{sectors:.1f}"),
    LOAD_BANK_CONFLICTS: ("count", count_text),
    LDMATRIX_LOADS: ("count", count_text),
    LDMATRIX_BANK_CONFLICTS: ("count", count_text),
    CP_ASYNC_BANK_CONFLICTS: ("count", count_text),
}


def cell(readings, metric):
    """The reading in its format. If its unit is unknown, the text is ncu's own and not a wrong number."""
    kind, text_of = FORMATS[metric]
    value = convert(readings[metric], kind)
    return " ".join(filter(None, reversed(readings[metric]))) if value is None else text_of(value)


def store_conflicts_text(readings):
    """Wavefronts of shared-memory stores and stmatrix beyond the least that they need: one per instruction, and one for
    every 128 bytes."""
    stores, wavefronts = (convert(readings[metric], "count") for metric in (STORES, STORE_WAVEFRONTS))
    # Only the Hopper ladder has this metric.
    stmatrix_conflicts = convert(readings.get(STMATRIX_BANK_CONFLICTS, ("", "0")), "count")
    size = convert(readings[STORE_BYTES], "bytes")
    if None in (stores, wavefronts, stmatrix_conflicts, size):
        return NOT_AVAILABLE
    return count_text(wavefronts - max(stores, size / 128) + stmatrix_conflicts)


def load_wavefronts_text(readings):
    """The average wavefronts of an ordinary load from shared memory."""
    loads, wavefronts = (convert(readings[metric], "count") for metric in (LOADS, LOAD_WAVEFRONTS))
    if None in (loads, wavefronts):
        return NOT_AVAILABLE
    return f"{wavefronts / loads:.2f}" if loads else "no loads"


def ctas_per_sm_text(readings):
    limits = [convert(readings[metric], "count") for metric in CTA_LIMITS]
    return NOT_AVAILABLE if None in limits else count_text(min(limits))


def speed_text(shape, seconds):
    m, n, k = shape
    if not seconds:
        return NOT_AVAILABLE
    return tflops_text(2 * m * n * k / seconds / 1e12)


def known_stalls(readings):
    """(number, reason) of each reason that has a number, the largest first."""
    numbers = [(as_number(readings[stall_metric(reason)][1]), reason) for reason in STALL_REASONS
               if stall_metric(reason) in readings]
    return sorted(((number, reason) for number, reason in numbers if number is not None), reverse=True)


def stall_rows(readings, most=5):
    """The three largest reasons, and the others that are not 0 in two decimals."""
    known = known_stalls(readings)
    shown = [pair for rank, pair in enumerate(known[:most]) if rank < 3 or pair[0] >= 0.005]
    if not shown:
        return [(STALLED, NOT_AVAILABLE)]
    return [(f"{STALLED}: {reason}", stall_text(number)) for number, reason in shown]


def largest_stall(readings):
    known = known_stalls(readings)
    if not known:
        return NOT_AVAILABLE
    number, reason = known[0]
    return f"{reason} {stall_text(number)}"


# (what, value) of each line.


def measured_rows(readings):
    return [
        ("speed in bursts", f"{cell(readings, BURST_SPEED)}, {cell(readings, BURST_OF_CUBLAS)} of cuBLAS"),
        ("speed, sustained", f"{cell(readings, SUSTAINED_SPEED)}, {cell(readings, SUSTAINED_OF_CUBLAS)} of cuBLAS"),
        ("SM clock, sustained", cell(readings, SUSTAINED_CLOCK)),
        ("power of the GPU, sustained", cell(readings, SUSTAINED_POWER)),
        ("energy, sustained", cell(readings, SUSTAINED_ENERGY)),
    ]


def sass_rows(readings):
    """The number of all instructions, of the kinds that occur, and always of local memory's, which should be 0."""
    return [(name, count_text(int(readings[figure][1]))) for figure, name in SASS_NAMES.items()
            if readings[figure][1] != "0" or figure == "sass__local_memory"]


# These lines begin and end the table of ncu's counters of every ladder.


def time_rows(readings, shape):
    return [
        ("time", cell(readings, TIME)),
        ("speed under ncu", speed_text(shape, convert(readings[TIME], "time"))),
        ("SM clock, true average", cell(readings, CLOCK)),
        ("SM cycles", cell(readings, CYCLES)),
    ]


def traffic_rows(readings, shape, element_bytes):
    m, n, k = shape
    return [
        ("read from DRAM", cell(readings, DRAM_READ)),
        ("A and B once, the least bytes to read", bytes_text(element_bytes * (m * k + n * k))),
        ("written to DRAM", cell(readings, DRAM_WRITTEN)),
        ("read from L2 (sectors of 32 bytes)", cell(readings, L2_SECTORS_READ)),
        ("delivered from L2 to the SMs", cell(readings, L2_TO_SM)),
        (f"the least to deliver, by tiles of {LARGEST_TILE}x{LARGEST_TILE}",
         bytes_text(element_bytes * 2 * m * n * k / LARGEST_TILE)),
        ("L2 hit rate", cell(readings, L2_HIT_RATE)),
    ]


def store_rows(readings):
    return [
        ("bank conflicts of stores to shared memory, arbitration included", cell(readings, STORE_BANK_CONFLICTS)),
        ("bank conflicts of the same, by instruction", store_conflicts_text(readings)),
    ]


def launch_rows(readings):
    return [
        ("registers per thread", cell(readings, REGISTERS)),
        ("dynamic shared memory per CTA", cell(readings, DYNAMIC_SHARED_MEMORY)),
        ("CTAs", cell(readings, CTAS)),
        ("threads per CTA", cell(readings, THREADS)),
        ("CTAs that an SM has room for", ctas_per_sm_text(readings)),
        ("occupancy: warps active, of what an SM can hold", cell(readings, WARPS_ACTIVE)),
    ]


def hopper_rows(readings, shape):
    return [
        *time_rows(readings, shape),
        ("tensor pipe active", cell(readings, TENSOR_PIPE)),
        *traffic_rows(readings, shape, 2),
        *store_rows(readings),
        *launch_rows(readings),
        *stall_rows(readings),
    ]


def thread_rows(readings, shape, element_bytes, pipe_rows, load_rows):
    """The lines for a ladder whose threads load for themselves."""
    return [
        *time_rows(readings, shape),
        *pipe_rows,
        ("issue slots used", cell(readings, ISSUE_SLOTS)),
        *traffic_rows(readings, shape, element_bytes),
        *load_rows,
        ("bank conflicts of loads from shared memory, arbitration included", cell(readings, LOAD_BANK_CONFLICTS)),
        ("wavefronts of a load from shared memory, by instruction", load_wavefronts_text(readings)),
        ("bank conflicts of cp.async, by instruction", cell(readings, CP_ASYNC_BANK_CONFLICTS)),
        *store_rows(readings),
        *launch_rows(readings),
        *stall_rows(readings, most=3),
    ]


def ampere_rows(readings, shape):
    return thread_rows(
        readings, shape, 2,
        [("tensor pipe active", cell(readings, TENSOR_PIPE)),
         ("tensor pipe active with mma.sync (HMMA)", cell(readings, HMMA_PIPE))],
        [("ldmatrix, instructions", cell(readings, LDMATRIX_LOADS)),
         ("bank conflicts of ldmatrix, by instruction", cell(readings, LDMATRIX_BANK_CONFLICTS))])


def simt_rows(readings, shape):
    return thread_rows(
        readings, shape, 4,
        [("FMA pipe used", cell(readings, FMA_PIPE))],
        [("sectors of 32 bytes that a load from global memory touches", cell(readings, SECTORS_PER_LOAD))])


MEASURED_METRICS = {
    "burst": BURST_SPEED, "sustained": SUSTAINED_SPEED, "power, sustained": SUSTAINED_POWER,
    "energy, sustained": SUSTAINED_ENERGY}


def metric_columns(metrics):
    """{title: text of readings} for {title: metric}."""
    return {title: lambda readings, metric=metric: cell(readings, metric) for title, metric in metrics.items()}


STORE_COLUMN = {"bank conflicts of stores, by instruction": store_conflicts_text}


# --- The ladders -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Ladder:
    """The differences between ladders."""

    name: str
    prefix: str  # of its versions
    stem: str  # of a version's files; {} is its number
    stem_pattern: str
    overview: str  # the file
    overview_title: str
    shape: str  # unless --shape gives another
    metrics: tuple  # of ncu
    table_rows: object
    overview_columns: dict  # {title: text of readings}, between the version and the largest stall reason

    def figures(self):
        """The metrics in a version's CSV below its provenance."""
        return (*MEASURED, *self.metrics, *SASS_OPCODES)

    def version(self, number):
        return f"{self.prefix}{number}"

    def number_of(self, version):
        """None if it belongs to another ladder or is not a version."""
        match = re.fullmatch(f"{re.escape(self.prefix)}([0-9]+)", version, re.ASCII)
        return int(match[1]) if match else None


HOPPER = Ladder(
    "hopper", "", "v{:02}", "v([0-9]{2,})", "overview.md", "Overview", "8192x8192x8192", METRICS, hopper_rows,
    {**metric_columns({
        **MEASURED_METRICS,
        "time under ncu": TIME,
        "SM clock": CLOCK,
        "SM cycles": CYCLES,
        "tensor pipe active": TENSOR_PIPE,
        "read from DRAM": DRAM_READ,
        "read from L2": L2_SECTORS_READ,
        "delivered from L2 to the SMs": L2_TO_SM,
        "registers per thread": REGISTERS,
        "dynamic shared memory": DYNAMIC_SHARED_MEMORY,
    }), **STORE_COLUMN})
AMPERE = Ladder(
    "ampere", "ampere.", "ampere{}", "ampere([0-9]+)", "overview-ampere.md", "Overview of the ampere ladder",
    "8192x8192x8192", AMPERE_METRICS, ampere_rows,
    {**metric_columns({
        **MEASURED_METRICS,
        "time under ncu": TIME,
        "SM clock": CLOCK,
        "SM cycles": CYCLES,
        "tensor pipe active": TENSOR_PIPE,
        "issue slots used": ISSUE_SLOTS,
        "read from DRAM": DRAM_READ,
        "read from L2": L2_SECTORS_READ,
        "registers per thread": REGISTERS,
        "dynamic shared memory": DYNAMIC_SHARED_MEMORY,
        "warps active": WARPS_ACTIVE,
        "bank conflicts of ldmatrix, by instruction": LDMATRIX_BANK_CONFLICTS,
        "bank conflicts of loads, arbitration included": LOAD_BANK_CONFLICTS,
        "bank conflicts of cp.async, by instruction": CP_ASYNC_BANK_CONFLICTS,
    }), **STORE_COLUMN})
SIMT = Ladder(
    "simt", "simt.", "simt{}", "simt([0-9]+)", "overview-simt.md", "Overview of the simt ladder",
    "4096x4096x4096", SIMT_METRICS, simt_rows,
    {**metric_columns({
        **MEASURED_METRICS,
        "time under ncu": TIME,
        "SM clock": CLOCK,
        "SM cycles": CYCLES,
        "FMA pipe used": FMA_PIPE,
        "issue slots used": ISSUE_SLOTS,
        "read from DRAM": DRAM_READ,
        "delivered from L2 to the SMs": L2_TO_SM,
        "registers per thread": REGISTERS,
        "dynamic shared memory": DYNAMIC_SHARED_MEMORY,
        "warps active": WARPS_ACTIVE,
        "bank conflicts of loads, arbitration included": LOAD_BANK_CONFLICTS,
        "bank conflicts of cp.async, by instruction": CP_ASYNC_BANK_CONFLICTS,
    }), **STORE_COLUMN, "wavefronts of a load from shared memory": load_wavefronts_text})
LADDERS = (HOPPER, AMPERE, SIMT)


def ladder_of(version):
    """None if it is not a version."""
    return next((ladder for ladder in LADDERS if ladder.number_of(version) is not None), None)


# --- Markdown ----------------------------------------------------------------------------------------------------


def overview_row(ladder, origin, readings, fields):
    """The cells of a version. `fields`: the fields of its provenance to show beside its commit."""
    link = f"[{origin['version']} {origin['name']}]({file_stem(origin['version'])}.md)"
    cells = [text_of(readings) for text_of in ladder.overview_columns.values()]
    return [link, *(origin[field] for field in fields), *cells, largest_stall(readings), origin["commit"]]


def folded(command, width=100):
    """The command over several lines. A shell can take it as it stands."""
    pieces = []
    for argument in command:
        # A line must not be broken within quotes. quote() leaves the list of metrics without quotes, but not every
        # path.
        quoted = shlex.quote(argument)
        pieces += re.findall("[^,]+,?", quoted) if quoted == argument else [quoted]
        pieces[-1] += " "
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\\\n".join(lines).rstrip()


def markdown_line(cells):
    return "| " + " | ".join(cells) + " |"


def command_lines(summary, command):
    return [f"<details><summary>{summary}</summary>", "", "```sh", folded(shlex.split(command)), "```", "",
            "</details>", ""]


def table_lines(head, rows):
    return [markdown_line((head, "value")), "| --- | ---: |", *map(markdown_line, rows), ""]


def what_changed(path):
    """The lines of the section "What changed" of a version's Markdown, if there is one. The module's docstring says
    more."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    section = re.search(r"^## What changed\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return [*section[0].rstrip().splitlines(), ""] if section else []


def markdown_text(ladder, origin, readings, by_hand):
    """The Markdown of a version. by_hand: lines to keep in it."""
    lines = [
        f"# {file_stem(origin['version']) if ladder is HOPPER else origin['version']} {origin['name']}", "",
        f"This profile was taken at {origin['shape']} on one {origin['gpu']}, driver {origin['driver']}, "
        f"at commit {origin['commit']}.", "",
        *by_hand,
        "## Measured", "",
        *table_lines("what", measured_rows(readings)),
        *command_lines("How matmul verified and measured the versions", origin["measured by"]),
        "## Counted in one launch", "",
        *table_lines("what", ladder.table_rows(readings, parse_shape(origin["shape"]))),
        *command_lines("How ncu counted", origin["counted by"]),
        "## SASS", "",
        "The table counts the instructions in the kernel's machine code, each once, however often it runs.", "",
        *table_lines("instructions", sass_rows(readings))]
    return "\n".join(lines)


def overview_text(ladder, profiles):
    """The overview of a ladder, from (origin, readings) of each version."""
    first, _ = profiles[0]
    sentence = "The table gives the speeds that matmul measured, and ncu's counters of one launch of each version"
    columns = {}
    for field, column, phrase in (("shape", "shape", "at"), ("gpu", "GPU", "on one")):
        if all(origin[field] == first[field] for origin, _ in profiles):
            sentence += f" {phrase} {first[field]}"
        else:
            columns[column] = field
    sentence += (". tools/profile.py writes this page from the CSV files beside it, which also name the driver, the "
                 "date and the commands.")
    header = ["version", *columns, *ladder.overview_columns, f"largest stall reason, {STALLED}",
              "commit"]
    alignment = ["---"] * (1 + len(columns)) + ["---:"] * len(ladder.overview_columns) + ["---"] * 2
    rows = [overview_row(ladder, origin, readings, columns.values()) for origin, readings in profiles]
    table = map(markdown_line, (header, alignment, *rows))
    return "\n".join([f"# {ladder.overview_title}", "", sentence, "", *table]) + "\n"


# --- The files ---------------------------------------------------------------------------------------------------


def file_stem(version):
    """v07 for version 7, ampere4 for ampere.4, and None if it is not a version."""
    ladder = ladder_of(version)
    return ladder and ladder.stem.format(ladder.number_of(version))


def csv_text(origin, readings):
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows((what, "", origin[what]) for what in PROVENANCE)
    writer.writerows((metric, unit, value) for metric, (unit, value) in readings.items())
    return file.getvalue()


def flaw_of(rows, stem, figures):
    """Says why csv_text() cannot have written the rows of the CSV `stem`. None if it can."""
    if rows[:1] != [CSV_COLUMNS] or any(len(row) != len(CSV_COLUMNS) for row in rows):
        return f"does not have the columns {','.join(CSV_COLUMNS)} throughout"
    values = {what: value for what, _, value in rows[1:]}
    if len(values) < len(rows) - 1:
        return "names a row twice"
    for what in (*PROVENANCE, *figures):
        if not values.get(what):
            return f"does not say {what}"
    for metric in figures:
        if values[metric] != NOT_AVAILABLE and as_number(values[metric]) is None:
            return f"has '{values[metric]}', which is not a number, as {metric}"
    if file_stem(values["version"]) != stem:
        return f"is for version {values['version']}"
    return None


def read_profile(path, ladder):
    """{what: value} of PROVENANCE, and {metric: (unit, text)}."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise failed(f"{path} cannot be read: {error}") from error
    flaw = flaw_of(rows, path.stem, ladder.figures())
    if flaw:
        raise failed(f"{path} {flaw}; profile that version again, or remove the file")
    readings = {metric: (unit, text) for metric, unit, text in rows[1:]}
    return {what: readings.pop(what)[1] for what in PROVENANCE}, readings


def read_profiles(out, ladder, left_out=()):
    """read_profile() of each version of the ladder in the folder, ascending, without those to leave out."""
    found = {path: re.fullmatch(ladder.stem_pattern, path.stem, re.ASCII) for path in out.glob("*.csv")}
    paths = sorted((path for path in found if found[path]), key=lambda path: int(found[path][1]))
    skipped = [file_stem(version) for version in left_out]
    return [read_profile(path, ladder) for path in paths if path.stem not in skipped]


def replace_files(texts):
    """Writes {path: text}. It first writes all texts to other files, so that a failure leaves every file as it was."""
    for path in texts:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in texts}
    try:
        for path, text in texts.items():
            temporary[path].write_text(text, encoding="utf-8")
        for path in texts:
            os.replace(temporary[path], path)
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True)
class Tools:
    """The words that call the programs, and the GPU that they run on."""

    ncu: str
    clock_control: str
    cuobjdump: str
    matmul: str
    gpu: Gpu


def profile_version(version, name, shape, tools, measured_by, measured, out):
    what = f"version {version} ({name})"
    ladder = ladder_of(version)
    command = ncu_command(tools.ncu, tools.clock_control, tools.matmul, version, shape)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(f"profile.py: {what}: running ncu", file=sys.stderr)
    output = run_ncu(command, what)
    kernel, counted = parse_readings(output, ladder.metrics, what)
    sass = count_instructions(tools.cuobjdump, tools.matmul, kernel, tools.gpu.capability, what)
    readings = {**measured, **counted, **sass}
    origin = dict(zip(PROVENANCE, (version, name, tools.gpu.name, tools.gpu.driver, parse_commit(output),
                                   shape_text(shape), date, shlex.join(measured_by), shlex.join(command))))
    stem = file_stem(version)
    path = out / f"{stem}.md"
    replace_files({out / f"{stem}.csv": csv_text(origin, readings),
                   path: markdown_text(ladder, origin, readings, what_changed(path))})
    print(path)


def write_report(version, name, shape, tools, out):
    path = out / f"{file_stem(version)}.ncu-rep"
    what = f"version {version} ({name})"
    print(f"profile.py: {what}: running ncu for {path.name}", file=sys.stderr)
    run_ncu(report_command(tools.ncu, tools.clock_control, tools.matmul, version, shape, path), what)
    if not path.is_file():
        raise failed(f"{what}: ncu wrote no {path}")
    print(path)


def write_overview(out, ladder, profiles):
    replace_files({out / ladder.overview: overview_text(ladder, profiles)})
    print(out / ladder.overview)


def profile_all(arguments):
    if not arguments.versions:
        raise refused(f"there is no VERSION to profile; {WHAT_TO_TYPE}")
    shape = parse_shape(arguments.shape) if arguments.shape is not None else None
    ranges = [parse_range(text) for text in arguments.versions]
    matmul = find_matmul(arguments.matmul)
    names = read_ladder(matmul)
    versions = select_versions(ranges, names)
    ladders = [ladder for ladder in LADDERS if any(ladder_of(version) is ladder for version in versions)]
    ncu = find_ncu(arguments.ncu)
    tools = Tools(ncu, arguments.clock_control, find_cuobjdump(arguments.cuobjdump), matmul, find_gpu())
    out = arguments.out or ROOT / "profiles" / folder_name(tools.gpu.name)
    # This comes before the first run under ncu, so that nobody waits for a folder that cannot be written to, or for an
    # overview that another version's CSV makes impossible.
    out.mkdir(parents=True, exist_ok=True)
    for ladder in ladders:
        read_profiles(out, ladder, left_out=versions)
    for ladder in ladders:
        profile_ladder(ladder, [version for version in versions if ladder_of(version) is ladder], names,
                       shape or parse_shape(ladder.shape), tools, arguments.report, out)


def profile_ladder(ladder, versions, names, shape, tools, report, out):
    command = measure_command(tools.matmul, versions, shape)
    measured = measure(command, versions)
    for version in versions:
        profile_version(version, names[version], shape, tools, command, measured[version], out)
        if report:
            write_report(version, names[version], shape, tools, out)
    write_overview(out, ladder, read_profiles(out, ladder))


def markdown_only(arguments):
    if arguments.versions:
        raise refused("--markdown-only profiles nothing; leave the VERSION out")
    if arguments.out is None:
        raise refused("--markdown-only needs the folder of the CSVs; type for example --out profiles/h200")
    texts = {}
    for ladder in LADDERS:
        profiles = read_profiles(arguments.out, ladder)
        for origin, readings in profiles:
            path = arguments.out / f"{file_stem(origin['version'])}.md"
            texts[path] = markdown_text(ladder, origin, readings, what_changed(path))
        if profiles:
            texts[arguments.out / ladder.overview] = overview_text(ladder, profiles)
    if not texts:
        raise refused(f"there is no vNN.csv in {arguments.out}, and no CSV of another ladder, to write about")
    stale = {path: text for path, text in texts.items()
             if not path.is_file() or path.read_text(encoding="utf-8") != text}
    if arguments.check and stale:
        raise failed(f"these files are out of date: {', '.join(map(str, stale))}; run tools/profile.py --markdown-only")
    replace_files(stale)
    for path in stale:
        print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION",
                        help="number of the Hopper ladder, version such as ampere.4, range such as 4-8, or ladder")
    parser.add_argument("--matmul", type=pathlib.Path, default=DEFAULT_MATMUL, help="default: build/release/matmul")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the files (default: profiles/<gpu>)")
    parser.add_argument("--shape", metavar="MxNxK", help=f"shape (default: {HOPPER.shape}, for simt {SIMT.shape})")
    parser.add_argument("--ncu", metavar="PATH",
                        help="path of ncu (default: from PATH, a CUDA toolkit or Nsight Compute's folder)")
    parser.add_argument("--cuobjdump", metavar="PATH", help="path of cuobjdump (default: from PATH or a CUDA toolkit)")
    parser.add_argument("--clock-control", choices=("none", "base"), default="none",
                        help="base: let ncu hold the GPU at its base clock (default: none)")
    parser.add_argument("--report", action="store_true", help="also write an .ncu-rep for ncu's graphical program")
    parser.add_argument("--markdown-only", action="store_true", help="only write all Markdown from the CSVs in --out")
    parser.add_argument("--check", action="store_true",
                        help="with --markdown-only: write nothing; fail if a file is out of date")
    arguments = parser.parse_args()
    try:
        if arguments.check and not arguments.markdown_only:
            raise refused("--check works only with --markdown-only")
        if arguments.markdown_only:
            markdown_only(arguments)
        else:
            profile_all(arguments)
    except ProfileError as error:
        print(f"profile.py: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"profile.py: the profile cannot be written: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
