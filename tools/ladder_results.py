"""The recorded measurements of the ladders: which CSV file holds them, and which of its rows may be published.

`matmul … --csv` wrote the files. This module refuses results that are not verified, not of normal data, or not of a
commit that others can check out. It also refuses rows of two runs in one file, because a published table names one GPU
and one commit.
"""

import contextlib
import csv
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT_FOLDER = ROOT / "profiles/h200"
BASELINE = "0"
CEILING = "ceiling"
CUTLASS = "cutlass"
BEST = "best"
OTHERS = (BASELINE, BEST, CUTLASS, CEILING)
LIBRARY_FILE = "library.csv"
SQUARES_FILE = "squares.csv"


class ResultsError(Exception):
    """Says in one sentence what is wrong with the input."""


class NotMeasuredError(ResultsError):
    """The files hold no measurement that was asked for."""


@dataclasses.dataclass(frozen=True)
class Ladder:
    name: str
    title: str
    file: str  # in the folder of a GPU's measurements
    versions: str  # a regular expression
    type: str
    size: int  # the shape that is published is this in M, N and K
    baseline: str  # what version 0 is
    arguments: str  # matmul's, to measure it
    gpus: str  # to measure it on

    @property
    def shape(self):
        return "x".join([str(self.size)] * 3)

    def holds(self, version):
        return re.fullmatch(self.versions, version) is not None


LADDERS = (
    Ladder("hopper", "Hopper", "ladder.csv", "[1-9][0-9]*", "bf16", 8192, "cuBLAS", "hopper --size 8192",
           "an H100 or H200"),
    Ladder("ampere", "Ampere", "ampere.csv", r"ampere\.[1-9][0-9]*", "bf16", 4096, "cuBLAS",
           "ampere --size 4096", "a GPU of sm_80 or newer"),
    Ladder("simt", "SIMT", "simt.csv", r"simt\.[1-9][0-9]*", "fp32", 4096, "cuBLAS SGEMM",
           "simt --size 4096", "a GPU of sm_75 or newer"),
)

# The sentence above a table, or the caption of a chart, says these once for all rows.
RUN_COLUMNS = ("gpu", "sm_count", "driver", "cuda", "commit", "data", "rounds", "date", "command")


def speed_text(tflops):
    """Speeds of fp32 have only one or two digits before the point."""
    return f"{tflops:.0f}" if tflops >= 99.95 else f"{tflops:.1f}"


def check_row(path, row):
    """Refuses a row that must not be published."""
    which = f"{path}: version {row['version']} at {row['m']}x{row['n']}x{row['k']} ({row['mode']})"
    if row["version"] != CEILING and row["verified"] != "yes":
        raise ResultsError(f"{which} is not verified; its field says '{row['verified']}'")
    if row["data"] != "normal":
        raise ResultsError(f"{which} was measured on '{row['data']}' data instead of normal")
    if not row["commit"] or row["commit"] == "unknown" or row["commit"].endswith("-dirty"):
        raise ResultsError(f"{which} was measured at commit '{row['commit']}', which nobody else can check out")


def is_shown(ladder, row):
    # ladder.csv may be older than the column of types.
    return ((row["m"], row["n"], row["k"]) == (str(ladder.size),) * 3 and row["tflops"]
            and row.get("type", ladder.type) == ladder.type
            and (ladder.holds(row["version"]) or row["version"] in OTHERS))


def check_run(path, row, first, columns):
    """Refuses a row that differs from the first one in one of the columns."""
    for column in columns:
        if row[column] != first[column]:
            raise ResultsError(f"{path} has rows of more than one run: {column} is '{first[column]}' and "
                               f"'{row[column]}'; record all its versions together")


@contextlib.contextmanager
def reading(path):
    """Turns a fault of the file into one sentence."""
    try:
        yield
    except KeyError as error:
        raise ResultsError(f"{path} has no column {error}") from error
    except ValueError as error:
        raise ResultsError(f"{path} cannot be read: {error}") from error
    except csv.Error as error:
        raise ResultsError(f"{path} is not a CSV file: {error}") from error


def positive(row, column):
    number = float(row[column])
    if not number > 0:
        raise ValueError(f"{column} is {row[column]}")
    return number


def add_row(path, rows, row):
    """Adds the row to {version: row}. Only the fastest of CUTLASS's rows stays."""
    version = row["version"]
    known = rows.setdefault(version, row)
    if known is row:
        return
    if version != CUTLASS:
        raise ResultsError(f"{path} has version {version} twice at one shape ({row['mode']}); record it without tune")
    if float(row["tflops"]) > float(known["tflops"]):
        rows[version] = row


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_results(path, ladder):
    """The measured rows of the CSV at the ladder's shape, as {mode: {version: row}} in the file's order."""
    by_mode = {}
    first = None
    with reading(path):
        for row in read_rows(path):
            check_row(path, row)
            if not is_shown(ladder, row):
                continue
            first = first or row
            check_run(path, row, first, RUN_COLUMNS)
            for column in ("tflops", "percent_of_cublas"):
                float(row[column] or 0)
            add_row(path, by_mode.setdefault(row["mode"], {}), row)
    if "burst" not in by_mode:
        raise ResultsError(f"{path} has no measured burst rows at {ladder.shape}")
    return by_mode


def read_squares(path, versions):
    """The measured rows of these versions at squares, as {mode: {version: {size: row}}}, sizes ascending."""
    by_mode = {}
    first = None
    with reading(path):
        for row in read_rows(path):
            check_row(path, row)
            if row["version"] not in versions or not row["m"] == row["n"] == row["k"] or not row["tflops"]:
                continue
            first = first or row
            # A file that has only bf16 may lack the column of types.
            check_run(path, row, first, (*RUN_COLUMNS, *(["type"] if "type" in first else [])))
            positive(row, "tflops")
            by_size = by_mode.setdefault(row["mode"], {}).setdefault(row["version"], {})
            if int(row["m"]) in by_size:
                raise ResultsError(f"{path} has version {row['version']} twice at {row['m']} ({row['mode']})")
            by_size[int(row["m"])] = row
    if not by_mode:
        raise NotMeasuredError(f"{path} has no measured rows of square shapes")
    return {mode: {version: dict(sorted(by_size.items())) for version, by_size in by_version.items()}
            for mode, by_version in by_mode.items()}


def read_library_results(path):
    """The measured rows of best and of cuBLAS, as {shape: {mode: {version: row}}} in the file's order."""
    by_shape = {}
    first = None
    with reading(path):
        for row in read_rows(path):
            check_row(path, row)
            if row["version"] not in (BASELINE, BEST):
                continue
            first = first or row
            # A file that has only row-major A may lack the column of A's layout.
            check_run(path, row, first, (*RUN_COLUMNS, "type", *(["a"] if "a" in first else []), "b"))
            for column in ("time_median_us", "percent_of_cublas"):
                positive(row, column)
            shape = "x".join(row[extent] for extent in "mnk")
            add_row(path, by_shape.setdefault(shape, {}).setdefault(row["mode"], {}), row)
    for shape, by_mode in by_shape.items():
        for mode in {mode for modes in by_shape.values() for mode in modes}:
            for version in (BASELINE, BEST):
                if version not in by_mode.get(mode, {}):
                    raise ResultsError(f"{path} has no row of version {version} at {shape} ({mode})")
        if "burst" not in by_mode:
            raise ResultsError(f"{path} has no burst rows")
    if not by_shape:
        raise ResultsError(f"{path} has no measured rows of {BEST}")
    return by_shape


# The columns of a suite's row that describe its epilogue.
EPILOGUE_COLUMNS = ("out", "bias", "activation", "gated", "beta")


def read_suite(path):
    """The library's speeds in percent of cuBLAS, in bursts, as {epilogue: {(batches, shape): percent}} in the file's
    order, and the first row."""
    percents = {}
    first = None
    with reading(path):
        for row in read_rows(path):
            check_row(path, row)
            if row["version"] != BEST or row["mode"] != "burst":
                continue
            first = first or row
            check_run(path, row, first, (*RUN_COLUMNS, "type", "b"))
            key = (row["batch"], "x".join(row[extent] for extent in "mnk"))
            of_epilogue = percents.setdefault(tuple(row[column] for column in EPILOGUE_COLUMNS), {})
            if key in of_epilogue:
                raise ResultsError(f"{path} has {key[1]} twice with the same epilogue")
            of_epilogue[key] = positive(row, "percent_of_cublas")
    if not percents:
        raise NotMeasuredError(f"{path} has no measured rows of {BEST}")
    return percents, first
