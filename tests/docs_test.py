"""What the documents say must hold: their links lead somewhere, the files that they link hold what is named, and the
worklogs give each version its recorded speeds, of profiles/h200. tests/figures_test.py looks at all figures.

Identifiers in code quotes that are the text of a link to a source file, or stand in parentheses behind it, must be in that
file. Links to lines are faults, because lines move: tools/quote_code.py shows the code itself.
"""

import csv
import dataclasses
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from documents import ROOT, documents  # noqa: E402

PAGES = documents()

LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)(?:\s+\(((?:`[^`]+`(?:, )?)+)\))?")
SOURCES = {".cu", ".cuh", ".hpp", ".cpp", ".h", ".inc"}
SECTION = re.compile(r"^## Version (\d+):.*?(?=^## )", re.MULTILINE | re.DOTALL)
SHAPE = re.compile(r"^\| (\d+x\d+x\d+) \|(.*)\|$", re.MULTILINE)
PIPE = re.compile(r"tensor\s+pipe\s+(?:is\s+)?active\s+for\s+([\d.]+)\s+%")
MEASURED = re.compile(r"([\d.]+)\s+TFLOP/s in bursts \(([\d.]+) % of cuBLAS\),\s+([\d.]+) sustained \(([\d.]+) %\)")


RECORDS = ROOT / "profiles" / "h200"


@dataclasses.dataclass(frozen=True)
class Worklog:
    page: str
    file: str  # of the speeds
    profile: str  # the file of a version's counters
    prefix: str  # of a version's number in the records
    shape: str

    def text(self):
        return (ROOT / "docs" / self.page).read_text(encoding="utf-8")

    def sections(self):
        return {match[1]: match[0] for match in SECTION.finditer(self.text())}

    def rows(self):
        with open(RECORDS / self.file, newline="", encoding="utf-8") as file:
            return {(row["version"], f"{row['m']}x{row['n']}x{row['k']}", row["mode"]): row
                    for row in csv.DictReader(file)}

    def versions_of(self, rows):
        numbers = {version.removeprefix(self.prefix) for version, _, _ in rows if version.startswith(self.prefix)}
        return {number for number in numbers if number.isdigit()} - {"0"}


HOPPER = Worklog("worklog.md", "ladder.csv", "v{:02}.csv", "", "8192x8192x8192")
AMPERE = Worklog("worklog-ampere.md", "ampere.csv", "ampere{}.csv", "ampere.", "8192x8192x8192")
SIMT = Worklog("worklog-simt.md", "simt.csv", "simt{}.csv", "simt.", "4096x4096x4096")
WORKLOGS = (HOPPER, AMPERE, SIMT)


def recorded(rows, version, shape):
    return [float(rows[version, shape, mode][column]) for mode in ("burst", "sustained")
            for column in ("tflops", "percent_of_cublas")]


def links_of(text):
    """Of each link: its text, the target, and the identifiers behind it."""
    for match in LINK.finditer(text):
        named = re.findall(r"`([^`]+)`", match[1]) + re.findall(r"`([^`]+)`", match[3] or "")
        yield match[1], match[2], [re.sub(r"\s+", " ", name) for name in named]


def anchors_of(text):
    """What GitHub calls the headings of a Markdown page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def fault_of(page, target, named):
    """Why a link is wrong, or nothing."""
    if re.match(r"https?:", target):
        return ""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return "there is no such file"
    if file.suffix in SOURCES:
        if anchor:
            return "lines move: name what they hold, (`name`), behind a link to the file"
        text = re.sub(r"\s+", " ", file.read_text(encoding="utf-8"))
        missing = [name for name in named if name not in text]
        return f"the file does not hold {', '.join(missing)}" if missing else ""
    if anchor and anchor not in anchors_of(file.read_text(encoding="utf-8")):
        return "there is no such heading"
    return ""


class DocsTest(unittest.TestCase):
    def test_there_are_pages(self):
        names = [page.relative_to(ROOT).as_posix() for page in PAGES]
        for name in ("README.md", "docs/worklog.md", "profiles/h200/README.md", "ptx/README.md"):
            self.assertIn(name, names)

    def test_links(self):
        for page in PAGES:
            for text, target, named in links_of(page.read_text(encoding="utf-8")):
                with self.subTest(page=page.relative_to(ROOT), text=text, target=target):
                    self.assertEqual(fault_of(page, target, named), "")

    def test_faults_are_found(self):
        page = ROOT / "docs" / "worklog.md"
        source = "../src/common/ceil_div.hpp"
        self.assertEqual(fault_of(page, source, ["#pragma once", "ceil_div"]), "")
        for target, named, fault in (("../nothing.md", [], "no such file"), ("../README.md#nothing", [], "heading"),
                                     (source, ["#pragma once", "floor_div"], "does not hold floor_div"),
                                     (f"{source}#L1", ["#pragma once"], "lines move")):
            with self.subTest(target):
                self.assertIn(fault, fault_of(page, target, named) or "no fault")

    # --- Figures ---

    def test_speeds(self):
        for worklog in WORKLOGS:
            sections, rows = worklog.sections(), worklog.rows()
            self.assertEqual(list(sections), sorted(worklog.versions_of(rows), key=int))
            for version, section in sections.items():
                with self.subTest(worklog.page, version=version):
                    match = MEASURED.search(section)
                    self.assertIsNotNone(match, "the section has no line of measured speeds")
                    self.assertEqual([float(figure) for figure in match.groups()],
                                     recorded(rows, worklog.prefix + version, worklog.shape))

    def test_speeds_of_other_shapes(self):
        rows = SHAPE.findall(HOPPER.text())
        self.assertTrue(rows)
        for shape, figures in rows:
            with self.subTest(shape):
                self.assertEqual([float(figure) for figure in re.findall(r"[\d.]+", figures)],
                                 recorded(HOPPER.rows(), "18", shape))

    def test_tensor_pipe(self):
        for worklog, least in ((HOPPER, 6), (AMPERE, 5)):
            named = 0
            for version, section in worklog.sections().items():
                with open(RECORDS / worklog.profile.format(int(version)), newline="", encoding="utf-8") as file:
                    metrics = {row["metric"]: row["value"] for row in csv.DictReader(file)}
                percent = float(metrics["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"])
                for figure in PIPE.findall(section):
                    named += 1
                    with self.subTest(worklog.page, version=version):
                        self.assertAlmostEqual(float(figure), percent, delta=0.051)
            self.assertGreaterEqual(named, least)


if __name__ == "__main__":
    sys.exit(unittest.main())
