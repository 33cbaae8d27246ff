#!/usr/bin/env python3
"""Profiles kernel versions with NVIDIA Nsight Compute (ncu) and writes what the GPU's counters say of each.

    tools/profile.py [--matmul build/release/matmul] [--out profiles/<gpu>] [--shape MxNxK] [--ncu PATH] VERSION...
    tools/profile.py --overview-only --out profiles/<gpu>

A VERSION is a number of the ladder, such as 7, or a range, such as 4-8. Each is run once under ncu, for one launch of
its gemm_kernel, at 8192x8192x8192 unless --shape says otherwise. Version 7 becomes v07.csv (metric,unit,value), which
names GPU, driver, commit, shape, date and command before every metric as ncu gave it, and v07.md, a table to read. The
files of a version are written only when its profile is complete; until then those of an earlier run stay as they are.

Once all are profiled, overview.md sets every version that has a CSV in the folder side by side, those of earlier runs
too; a run that fails leaves it as it was. --overview-only writes it from the CSVs alone and needs no GPU. A CSV in the
folder that is not what this program writes is refused before anything is run or written, unless the run replaces it.

Exit status: 0 all files were written; 1 ncu or the program under it failed, or a CSV in the folder is refused; 2 bad
input, or a machine that cannot profile.
"""

import argparse
import csv
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT_MATMUL = ROOT / "build/release/matmul"
DEFAULT_SHAPE = "8192x8192x8192"
NCU_PATTERNS = ("/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
NOT_AVAILABLE = "n/a"
OVERVIEW_NAME = "overview.md"

CSV_COLUMNS = ["metric", "unit", "value"]
# The rows before the metrics, so that no figure is without its GPU and commit.
PROVENANCE = ("version", "name", "gpu", "driver", "commit", "shape", "date", "command")

STALL_REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "short_scoreboard",
    "sleeping", "wait")


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
# These are counted by instruction, in instrumented SASS, where nothing else runs at the same time.
STORES = "smsp__sass_inst_executed_op_shared_st.sum"
STORE_BYTES = "smsp__sass_data_bytes_mem_shared_op_st.sum"
STORE_WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
STMATRIX_BANK_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_stsm.sum"
REGISTERS = "launch__registers_per_thread"
DYNAMIC_SHARED_MEMORY = "launch__shared_mem_per_block_dynamic"
CTAS = "launch__grid_size"
THREADS = "launch__block_size"
WARPS_ACTIVE = "sm__warps_active.avg.pct_of_peak_sustained_active"

METRICS = (
    TIME, CYCLES, CLOCK, TENSOR_PIPE, DRAM_READ, DRAM_WRITTEN, L2_SECTORS_READ, L2_HIT_RATE, L2_TO_SM,
    STORE_BANK_CONFLICTS, STORES, STORE_BYTES, STORE_WAVEFRONTS, STMATRIX_BANK_CONFLICTS, REGISTERS, DYNAMIC_SHARED_MEMORY, CTAS, THREADS, WARPS_ACTIVE,
    *(stall_metric(reason) for reason in STALL_REASONS))

SMALL_PREFIXES = {"": 1, "m": 1e-3, "u": 1e-6, "n": 1e-9}
# ncu's prefixes are decimal for bytes too: 32768 bytes are 32.77 Kbyte.
LARGE_PREFIXES = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def prefixed(prefixes, names, template="{}"):
    return {template.format(prefix + name): factor for prefix, factor in prefixes.items() for name in names}


# What one of each unit is, by kind, in seconds, bytes, hertz and ones. The names differ between releases of ncu.
UNITS = {
    "time": prefixed(SMALL_PREFIXES, ("second", "s")),
    "bytes": prefixed(LARGE_PREFIXES, ("byte", "B")),
    "frequency": {
        **prefixed(LARGE_PREFIXES, ("hz", "Hz")),
        **{unit: 1 / factor for unit, factor in prefixed(SMALL_PREFIXES, ("second", "s"), "cycle/{}").items()}},
    "count": {"": 1, **prefixed(LARGE_PREFIXES, ("sector", "cycle", "block", "thread", "register", "inst", "warp"))},
    "percent": {"%": 1},
}


class ProfileError(Exception):
    """What is wrong, as a sentence, and the exit status that goes with it."""

    def __init__(self, message, exit_status):
        super().__init__(message)
        self.exit_status = exit_status


def refused(message):
    """Bad input, or a machine that cannot profile."""
    return ProfileError(message, 2)


def failed(message):
    """What ran under ncu, or ncu itself, did not give a profile, or a CSV does not hold one."""
    return ProfileError(message, 1)


# --- What was asked for ------------------------------------------------------------------------------------------


def parse_shape(text):
    """(M, N, K)"""
    if not re.fullmatch(r"[1-9][0-9]{0,9}(x[1-9][0-9]{0,9}){2}", text, re.ASCII):
        raise refused(f"'{text}' is no shape; type it as MxNxK, such as {DEFAULT_SHAPE}")
    return tuple(int(size) for size in text.split("x"))


def shape_text(shape):
    return "x".join(map(str, shape))


def parse_versions(texts):
    """(first, last) of each argument."""
    ranges = []
    for text in texts:
        match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", text, re.ASCII)
        if not match:
            raise refused(f"'{text}' is no version; type a number of the ladder, such as 7, or a range, such as 4-8")
        ranges.append((int(match[1]), int(match[2] or match[1])))
    return ranges


def select_versions(ranges, ladder):
    """The versions in `ranges`, each once, in the order asked for."""
    versions = {}
    for first, last in ranges:
        for version in (first, last):
            if version not in ladder:
                known = f"{min(ladder)} to {max(ladder)}"
                raise refused(f"there is no version {version} to profile; the ladder has {known}")
        if first > last:
            raise refused(f"the range {first}-{last} runs backwards; type {last}-{first}")
        versions.update({version: None for version in ladder if first <= version <= last})
    return list(versions)


# --- What this machine has ---------------------------------------------------------------------------------------


def run(command):
    """Runs it in ROOT; the result's stdout holds stderr too, so that an error stands where it occurred."""
    # Some locales write numbers with a decimal comma.
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          errors="replace", check=False, cwd=ROOT, env={**os.environ, "LC_ALL": "C"})


def output_of(command):
    """What it prints; nothing if it cannot be run or fails."""
    try:
        result = run(command)
    except OSError:
        return ""
    return "" if result.returncode else result.stdout


def gpu_and_driver():
    """The first GPU's name, and the driver's version."""
    output = output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    name, separator, driver = output.strip().partition("\n")[0].rpartition(", ")
    if not separator:
        raise refused("a profile needs an NVIDIA GPU, and nvidia-smi finds none")
    return name, driver


def folder_name(gpu):
    """NVIDIA H200 becomes h200."""
    return re.sub("[^a-z0-9]+", "-", gpu.lower().replace("nvidia", "")).strip("-")


def find_ncu(asked_for):
    """How to call ncu: by name where PATH leads to it, so that the documented command is the same everywhere."""
    if asked_for is not None:
        found = shutil.which(asked_for)
        if found is None:
            raise refused(f"--ncu names '{asked_for}', which is no program")
        return os.path.abspath(found)
    if shutil.which("ncu"):
        return "ncu"
    candidates = [path for pattern in NCU_PATTERNS for path in glob.glob(pattern) if os.access(path, os.X_OK)]
    if not candidates:
        raise refused("there is no ncu (NVIDIA Nsight Compute) on PATH, in a CUDA toolkit or in "
                      "/opt/nvidia/nsight-compute; install it, or name it with --ncu")
    return max(candidates, key=lambda path: [int(number) for number in re.findall("[0-9]+", path)])


def find_matmul(path):
    """How to call matmul from ROOT: without what is above ROOT, which is different on every machine."""
    absolute = pathlib.Path(os.path.abspath(path))
    if not absolute.is_file():
        raise refused(f"there is no matmul at {path}; ./dev build makes build/release/matmul")
    return str(absolute.relative_to(ROOT) if ROOT in absolute.parent.parents else absolute)


def read_ladder(matmul):
    """{version: name} of what has a gemm_kernel: neither cuBLAS, which is version 0, nor the ceiling."""
    lines = re.findall(r"^([1-9][0-9]*) +(\S+)", output_of([matmul, "list"]), re.MULTILINE)
    if not lines:
        raise refused(f"`{matmul} list` shows no versions; ./dev build makes build/release/matmul anew")
    return {int(version): name for version, name in lines}


# --- ncu ---------------------------------------------------------------------------------------------------------


def ncu_command(ncu, matmul, version, shape):
    return [ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
            "--metrics", ",".join(METRICS), "-k", "regex:gemm_kernel", "--launch-count", "1",
            matmul, str(version), "--shape", shape_text(shape), "--no-verify", "--rounds", "1"]


def last_lines(output):
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    return "".join(f"\n  {line}" for line in lines[-8:])


def run_ncu(command, what):
    """What ncu and matmul printed."""
    try:
        result = run(command)
    except OSError as error:
        raise refused(f"{command[0]} cannot be run: {error.strerror}") from error
    # Whatever the exit status: ncu lets the program run on, and succeed, without its counters.
    if "ERR_NVGPUCTRPERM" in result.stdout:
        raise refused("ncu may not read this GPU's counters (ERR_NVGPUCTRPERM): run as root, in a container also with "
                      "the capability SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0")
    if result.returncode:
        raise failed(f"{what}: ncu failed (exit status {result.returncode}); its last lines:"
                     + last_lines(result.stdout))
    return result.stdout


def as_number(text):
    """None for n/a, or whatever else is no number."""
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_readings(output, what):
    """{metric: (unit, text)} of the first launch in ncu's output, for all METRICS."""
    lines = output.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(('"ID",', "ID,"))), len(lines))
    # Below the header ncu may still say something else, but never with as many commas.
    rows = list(csv.reader(lines[start:]))
    rows = [row for row in rows if len(row) == len(rows[0])]
    launch = next((row for row in rows if row[0].isdigit()), None)
    if launch is None:
        raise failed(f"{what}: ncu profiled no launch of gemm_kernel; its last lines:" + last_lines(output))
    header = rows[0]
    units = next((row for row in rows if not row[0]), [""] * len(header))
    readings = {}
    for metric in METRICS:
        column = header.index(metric) if metric in header else None
        if column is None or as_number(launch[column]) is None:
            readings[metric] = ("", NOT_AVAILABLE)
        else:
            readings[metric] = (units[column].strip(), launch[column].replace(",", "").strip())
    return readings


def parse_commit(output):
    match = re.search(r"^commit +(\S+)", output, re.MULTILINE)
    return match[1] if match else "unknown"


# --- What is shown -----------------------------------------------------------------------------------------------


def convert(reading, kind):
    """The reading in seconds, bytes, hertz, ones or percent; None if it is not available, or in an unknown unit."""
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


def stall_text(number):
    return f"{number:.2f}"


# The kind of each metric that is shown, and how it is written.
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
}


def cell(readings, metric):
    """The reading by its format; as ncu gave it where its unit is unknown, rather than a wrong number."""
    kind, text_of = FORMATS[metric]
    value = convert(readings[metric], kind)
    return " ".join(filter(None, reversed(readings[metric]))) if value is None else text_of(value)


def store_conflicts_text(readings):
    """Wavefronts of shared-memory stores and stmatrix beyond the least that they need, which is one an instruction, and
    one for every 128 bytes."""
    stores, wavefronts, stmatrix_conflicts = (
        convert(readings[metric], "count") for metric in (STORES, STORE_WAVEFRONTS, STMATRIX_BANK_CONFLICTS))
    size = convert(readings[STORE_BYTES], "bytes")
    if None in (stores, wavefronts, stmatrix_conflicts, size):
        return NOT_AVAILABLE
    return count_text(wavefronts - max(stores, size / 128) + stmatrix_conflicts)


def speed_text(shape, seconds):
    m, n, k = shape
    return f"{2 * m * n * k / seconds / 1e12:.0f} TFLOP/s" if seconds else NOT_AVAILABLE


def known_stalls(readings):
    """(number, reason) of each reason that has a number, the largest first."""
    numbers = [(as_number(readings[stall_metric(reason)][1]), reason) for reason in STALL_REASONS]
    return sorted(((number, reason) for number, reason in numbers if number is not None), reverse=True)


def stall_rows(readings):
    """The largest reasons, three to five: beyond the third only those that show in two decimals."""
    known = known_stalls(readings)
    shown = [pair for rank, pair in enumerate(known[:5]) if rank < 3 or pair[0] >= 0.005]
    if not shown:
        return [("average warps stalled per issue", NOT_AVAILABLE)]
    return [(f"average warps stalled per issue: {reason}", stall_text(number)) for number, reason in shown]


def largest_stall(readings):
    known = known_stalls(readings)
    if not known:
        return NOT_AVAILABLE
    number, reason = known[0]
    return f"{reason} {stall_text(number)}"


def table_rows(readings, shape):
    """(what, value) of each line."""
    m, n, k = shape
    return [
        ("time", cell(readings, TIME)),
        ("speed under ncu", speed_text(shape, convert(readings[TIME], "time"))),
        ("SM clock, true average", cell(readings, CLOCK)),
        ("SM cycles", cell(readings, CYCLES)),
        ("tensor pipe active", cell(readings, TENSOR_PIPE)),
        ("read from DRAM", cell(readings, DRAM_READ)),
        ("A and B once, the least bytes to read", bytes_text(2 * (m * k + n * k))),
        ("written to DRAM", cell(readings, DRAM_WRITTEN)),
        ("read from L2 (sectors of 32 bytes)", cell(readings, L2_SECTORS_READ)),
        ("delivered from L2 to the SMs", cell(readings, L2_TO_SM)),
        ("L2 hit rate", cell(readings, L2_HIT_RATE)),
        ("bank conflicts of stores to shared memory, arbitration included", cell(readings, STORE_BANK_CONFLICTS)),
        ("bank conflicts of the same, by instruction", store_conflicts_text(readings)),
        ("registers per thread", cell(readings, REGISTERS)),
        ("dynamic shared memory per CTA", cell(readings, DYNAMIC_SHARED_MEMORY)),
        ("CTAs", cell(readings, CTAS)),
        ("threads per CTA", cell(readings, THREADS)),
        ("warps active, of what an SM can hold", cell(readings, WARPS_ACTIVE)),
        *stall_rows(readings),
    ]


OVERVIEW_METRICS = {
    "time": TIME,
    "SM clock": CLOCK,
    "SM cycles": CYCLES,
    "tensor pipe active": TENSOR_PIPE,
    "read from DRAM": DRAM_READ,
    "read from L2": L2_SECTORS_READ,
    "delivered from L2 to the SMs": L2_TO_SM,
    "registers per thread": REGISTERS,
    "dynamic shared memory": DYNAMIC_SHARED_MEMORY,
}


def overview_row(origin, readings, fields):
    """The cells of a version; `fields` are those of its provenance to show beside its commit."""
    link = f"[{origin['version']} {origin['name']}]({file_stem(origin['version'])}.md)"
    cells = [cell(readings, metric) for metric in OVERVIEW_METRICS.values()]
    return [link, *(origin[field] for field in fields), *cells, store_conflicts_text(readings), largest_stall(readings),
            origin["commit"]]


def folded(command, width=100):
    """The command over several lines, to be pasted into a shell as it stands."""
    pieces = []
    for argument in command:
        # Between quotes a line must not be broken: quote() leaves the list of metrics bare, but not any path.
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


def markdown_text(title, sentence, command, rows):
    lines = [f"# {title}", "", sentence, "", "```sh", folded(command), "```", "", "| what | value |", "| --- | ---: |"]
    return "\n".join(lines + [markdown_line(row) for row in rows]) + "\n"


def overview_text(profiles):
    """The Markdown of (origin, readings) of each version."""
    first, _ = profiles[0]
    sentence = "One launch of each version"
    columns = {}
    for field, column, phrase in (("shape", "shape", "at"), ("gpu", "GPU", "on one")):
        if all(origin[field] == first[field] for origin, _ in profiles):
            sentence += f" {phrase} {first[field]}"
        else:
            columns[column] = field
    sentence += "; generated by tools/profile.py from the CSV files beside it, which name driver, date and command too."
    header = ["version", *columns, *OVERVIEW_METRICS, "bank conflicts of stores, by instruction",
              "largest stall reason, average warps stalled per issue", "commit"]
    alignment = ["---"] * (1 + len(columns)) + ["---:"] * (len(OVERVIEW_METRICS) + 1) + ["---"] * 2
    rows = [overview_row(origin, readings, columns.values()) for origin, readings in profiles]
    return "\n".join(["# Overview", "", sentence, "", *map(markdown_line, (header, alignment, *rows))]) + "\n"


# --- The files ---------------------------------------------------------------------------------------------------


def file_stem(version):
    """Version 7, a number or as text, becomes v07."""
    return f"v{str(version).zfill(2)}"


def csv_text(origin, readings):
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows((what, "", origin[what]) for what in PROVENANCE)
    writer.writerows((metric, unit, value) for metric, (unit, value) in readings.items())
    return file.getvalue()


def flaw_of(rows, stem):
    """Why the rows of the CSV `stem` are not what csv_text writes; None if they are."""
    if rows[:1] != [CSV_COLUMNS] or any(len(row) != len(CSV_COLUMNS) for row in rows):
        return f"does not have the columns {','.join(CSV_COLUMNS)} throughout"
    values = {what: value for what, _, value in rows[1:]}
    if len(values) < len(rows) - 1:
        return "names a row twice"
    for what in (*PROVENANCE, *METRICS):
        if not values.get(what):
            return f"does not say {what}"
    for metric in METRICS:
        if values[metric] != NOT_AVAILABLE and as_number(values[metric]) is None:
            return f"has '{values[metric]}', which is no number, as {metric}"
    if file_stem(values["version"]) != stem:
        return f"is of version {values['version']}"
    return None


def read_profile(path):
    """{what: value} of PROVENANCE, and {metric: (unit, text)}."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise failed(f"{path} cannot be read: {error}") from error
    flaw = flaw_of(rows, path.stem)
    if flaw:
        raise failed(f"{path} {flaw}; profile that version anew, or remove the file")
    readings = {metric: (unit, text) for metric, unit, text in rows[1:]}
    return {what: readings.pop(what)[1] for what in PROVENANCE}, readings


def read_profiles(out, left_out=()):
    """read_profile of each version in the folder, ascending, but of those left out."""
    paths = [path for path in out.glob("v*.csv") if re.fullmatch("v[0-9]{2,}", path.stem)]
    skipped = [file_stem(version) for version in left_out]
    return [read_profile(path) for path in sorted(paths, key=lambda path: int(path.stem[1:]))
            if path.stem not in skipped]


def replace_files(texts):
    """Writes {path: text}: all aside first, so that what fails leaves every file as it was."""
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


def profile_version(version, name, shape, ncu, matmul, gpu, driver, out):
    what = f"version {version} ({name})"
    command = ncu_command(ncu, matmul, version, shape)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(f"profile.py: {what}: running ncu", file=sys.stderr)
    output = run_ncu(command, what)
    readings = parse_readings(output, what)
    commit = parse_commit(output)
    origin = {"version": version, "name": name, "gpu": gpu, "driver": driver, "commit": commit,
              "shape": shape_text(shape), "date": date, "command": shlex.join(command)}
    sentence = f"One launch at {shape_text(shape)} on one {gpu}, driver {driver}, at commit {commit}, by"
    stem = file_stem(version)
    markdown = markdown_text(f"{stem} {name}", sentence, command, table_rows(readings, shape))
    replace_files({out / f"{stem}.csv": csv_text(origin, readings), out / f"{stem}.md": markdown})
    print(out / f"{stem}.md")


def write_overview(out):
    profiles = read_profiles(out)
    if not profiles:
        raise refused(f"there is no vNN.csv in {out} to give an overview of")
    replace_files({out / OVERVIEW_NAME: overview_text(profiles)})
    print(out / OVERVIEW_NAME)


def profile_all(arguments):
    if not arguments.versions:
        raise refused("there is no VERSION to profile; type a number of the ladder, such as 7, or a range, such as 4-8")
    shape = parse_shape(arguments.shape)
    ranges = parse_versions(arguments.versions)
    matmul = find_matmul(arguments.matmul)
    ladder = read_ladder(matmul)
    versions = select_versions(ranges, ladder)
    ncu = find_ncu(arguments.ncu)
    gpu, driver = gpu_and_driver()
    out = arguments.out or ROOT / "profiles" / folder_name(gpu)
    # Before the first run under ncu, so that nobody waits for a folder that cannot be written to, or for an overview
    # that another version's CSV makes impossible.
    out.mkdir(parents=True, exist_ok=True)
    read_profiles(out, left_out=versions)
    for version in versions:
        profile_version(version, ladder[version], shape, ncu, matmul, gpu, driver, out)
    write_overview(out)


def overview_only(arguments):
    if arguments.versions:
        raise refused("--overview-only profiles nothing; leave out the VERSION")
    if arguments.out is None:
        raise refused("--overview-only needs --out, the folder of the CSVs")
    write_overview(arguments.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="a number of the ladder, or a range, as 4-8")
    parser.add_argument("--matmul", type=pathlib.Path, default=DEFAULT_MATMUL, help="default: build/release/matmul")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the files (default: profiles/<gpu>)")
    parser.add_argument("--shape", default=DEFAULT_SHAPE, metavar="MxNxK", help=f"default: {DEFAULT_SHAPE}")
    parser.add_argument("--ncu", metavar="PATH", help="default: from PATH, a CUDA toolkit or Nsight Compute's folder")
    parser.add_argument("--overview-only", action="store_true", help=f"write {OVERVIEW_NAME} from the CSVs in --out")
    arguments = parser.parse_args()
    try:
        if arguments.overview_only:
            overview_only(arguments)
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
