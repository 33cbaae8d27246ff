"""Tests of tools/quote_code.py: what it quotes, and what it refuses."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools" / "quote_code.py"

sys.path.insert(0, str(ROOT / "tools"))
import quote_code  # noqa: E402

SOURCE = """\
/// Says what it does.
template <int kN>
__device__ void twice(int& x) {
  // A brace in a comment: {
#pragma unroll
  for (int i = 0; i < kN; ++i) {
    x += x;
  }
}

struct Pair {
  int first;
  int second;
};

void calls(int x) {
  twice<2>(x);
  const int other = both(x);
}

int both(int x) { return x; }
int both(int x, int y) { return x + y; }
"""
PAGE = "# Title\n<!-- code: {} -->\n{}<!-- end of code -->\nafter\n"


class QuoteCodeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name) / "source.cuh"
        self.source.write_text(SOURCE, encoding="utf-8")
        self.name = str(self.source)
        self.page = pathlib.Path(folder.name) / "page.txt"

    def quoted(self, what):
        return quote_code.quoted(self.name, what)

    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, str(TOOL), str(self.page), *arguments], capture_output=True, text=True,
                              check=False)

    def test_definitions(self):
        lines = SOURCE.splitlines()
        self.assertEqual(self.quoted("twice").splitlines(), lines[1:9])
        self.assertEqual(self.quoted("Pair").splitlines(), lines[10:14])

    def test_lines_between_two_texts(self):
        self.assertEqual(self.quoted('"for (int i" "}"'), "for (int i = 0; i < kN; ++i) {\n  x += x;\n}")

    def test_preprocessor_does_not_count_as_indentation(self):
        self.assertEqual(self.quoted('"// A brace" "for (int i"'),
                         "// A brace in a comment: {\n#pragma unroll\nfor (int i = 0; i < kN; ++i) {")

    def test_what_is_not_there_once(self):
        for what, why in (("thrice", "0 times"), ("both", "2 times"), ('"int both" "}"', "2 times"), ('"nothing" "}"', "0 times")):
            with self.subTest(what), self.assertRaisesRegex(quote_code.QuoteError, why):
                self.quoted(what)
        with self.assertRaisesRegex(quote_code.QuoteError, "there is no file"):
            quote_code.quoted("src/nothing.cuh", "twice")

    def test_page_is_written_once(self):
        asks = f"{self.name} Pair"
        self.page.write_text(PAGE.format(asks, "old\n"), encoding="utf-8")
        self.assertEqual(self.run_tool("--check").returncode, 1)
        self.assertEqual(self.run_tool().returncode, 0)
        wanted = PAGE.format(asks, "```cpp\nstruct Pair {\n  int first;\n  int second;\n};\n```\n")
        self.assertEqual(self.page.read_text(encoding="utf-8"), wanted)
        self.assertEqual(self.run_tool("--check").returncode, 0)

    def test_page_with_a_fault_stays(self):
        for text, why in ((PAGE.format(f"{self.name} thrice", ""), "page.txt:2: "),
                          (f"<!-- code: {self.name} Pair -->\nno end\n", "there is no <!-- end of code -->"),
                          (f"<!-- code: {self.name} Pair -->\nno end\n" + PAGE.format(f"{self.name} Pair", ""),
                           "page.txt:1: there is no <!-- end of code -->")):
            with self.subTest(why):
                self.page.write_text(text, encoding="utf-8")
                result = self.run_tool()
                self.assertEqual(result.returncode, 2)
                self.assertIn(why, result.stderr)
                self.assertEqual(self.page.read_text(encoding="utf-8"), text)


if __name__ == "__main__":
    unittest.main()
