"""What the documents say must hold: their links lead somewhere, the lines that they name hold what they are called by,
and the worklog gives each version its recorded speeds, of profiles/h200. tests/figures_test.py looks at all figures.

A link to lines of a file, `#L10-L20` or `#L10`, has identifiers in code quotes as its text or, in parentheses, behind
it: all of them must stand in these lines. That a line moved is then a failure, not a wrong link.
"""

import csv
import re
import sys
import unittest

from documents import ROOT, documents

PAGES = documents()

LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)(?:\s+\(((?:`[^`]+`(?:, )?)+)\))?")
LINES = re.compile(r"L(\d+)(?:-L(\d+))?")
SECTION = re.compile(r"^## Version (\d+):.*?(?=^## )", re.MULTILINE | re.DOTALL)
SHAPE = re.compile(r"^\| (\d+x\d+x\d+) \|(.*)\|$", re.MULTILINE)
PIPE = re.compile(r"tensor\s+pipe\s+(?:is\s+)?active\s+for\s+([\d.]+)\s+%")
MEASURED = re.compile(r"([\d.]+)\s+TFLOP/s in bursts \(([\d.]+) % of cuBLAS\),\s+([\d.]+) sustained \(([\d.]+) %\)")


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
    if not anchor:
        return ""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return "" if anchor in anchors_of(text) else "there is no such heading"
    match = LINES.fullmatch(anchor)
    if match is None:
        return "an anchor of a source file is #L10 or #L10-L20"
    first, last = int(match[1]), int(match[2] or match[1])
    lines = text.splitlines()
    if not 1 <= first <= last <= len(lines):
        return f"the file has {len(lines)} lines"
    if not named:
        return "nothing says what these lines hold: add an identifier, (`name`), behind the link"
    quoted = "\n".join(lines[first - 1:last])
    missing = [name for name in named if name not in quoted]
    return f"these lines do not hold {', '.join(missing)}" if missing else ""


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
        self.assertEqual(fault_of(page, f"{source}#L1", ["#pragma once"]), "")
        for target, named, fault in (("../nothing.md", [], "no such file"), ("../README.md#nothing", [], "heading"),
                                     (f"{source}#L2-L3", ["#pragma once"], "do not hold"),
                                     (f"{source}#L1-L9999", ["#pragma once"], "lines"),
                                     (f"{source}#L1", [], "nothing says"), (f"{source}#1", [], "an anchor")):
            with self.subTest(target):
                self.assertIn(fault, fault_of(page, target, named) or "no fault")

    # --- Figures ---

    def setUp(self):
        self.worklog = (ROOT / "docs" / "worklog.md").read_text(encoding="utf-8")
        self.sections = {match[1]: match[0] for match in SECTION.finditer(self.worklog)}
        with open(ROOT / "profiles" / "h200" / "ladder.csv", newline="", encoding="utf-8") as file:
            self.rows = {(row["version"], f"{row['m']}x{row['n']}x{row['k']}", row["mode"]): row
                         for row in csv.DictReader(file)}

    def recorded(self, version, shape):
        return [float(self.rows[version, shape, mode][column]) for mode in ("burst", "sustained")
                for column in ("tflops", "percent_of_cublas")]

    def test_speeds(self):
        versions = sorted({int(version) for version, _, _ in self.rows if version.isdigit()} - {0})
        self.assertEqual(list(self.sections), [str(version) for version in versions])
        for version, section in self.sections.items():
            with self.subTest(version):
                match = MEASURED.search(section)
                self.assertIsNotNone(match, "the section has no line of measured speeds")
                self.assertEqual([float(figure) for figure in match.groups()],
                                 self.recorded(version, "8192x8192x8192"))

    def test_speeds_of_other_shapes(self):
        rows = SHAPE.findall(self.worklog)
        self.assertTrue(rows)
        for shape, figures in rows:
            with self.subTest(shape):
                self.assertEqual([float(figure) for figure in re.findall(r"[\d.]+", figures)],
                                 self.recorded("18", shape))

    def test_tensor_pipe(self):
        named = 0
        for version, section in self.sections.items():
            with open(ROOT / "profiles" / "h200" / f"v{int(version):02}.csv", newline="", encoding="utf-8") as file:
                metrics = {row["metric"]: row["value"] for row in csv.DictReader(file)}
            recorded = float(metrics["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"])
            for figure in PIPE.findall(section):
                named += 1
                with self.subTest(version):
                    self.assertAlmostEqual(float(figure), recorded, delta=0.051)
        self.assertGreater(named, 5)


if __name__ == "__main__":
    sys.exit(unittest.main())
