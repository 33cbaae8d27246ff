"""Opens the page of html_report() in a headless Chromium and uses it.

usage: html_report_browser_test.py PROGRAM, which prints the page of a made-up run
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, Tab, require_chromium

chromium = None
page_text = None


def rows_of(text):
    """The data in the page, as its script sees it."""
    return json.loads(text.partition('id="rows">')[2].partition("</script>")[0])


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        # Chromium's helpers may still write there as they end.
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.browser = Browser(chromium, cls.folder / "profile")
        cls.addClassCleanup(cls.browser.close)
        cls.browser.call("Browser.getVersion")  # so that one that does not start fails the class, not each test
        cls.rows = rows_of(page_text)

    def open(self, text=None, **options):
        path = self.folder / "page.html"
        path.write_text(text or page_text, encoding="utf-8")
        tab = Tab(self.browser, path.as_uri(), **options)
        self.addCleanup(tab.close)
        return tab


class PageTest(BrowserTest):
    def setUp(self):
        self.tab = self.open()

    def tearDown(self):
        self.assertEqual(self.tab.faults(), [])

    def choose(self, selector, value):
        self.tab.evaluate(f"""{{
            const select = document.querySelector({json.dumps(selector)});
            select.value = {json.dumps(value)};
            select.dispatchEvent(new Event("change"));
        }}""")

    def bars(self, chart="speed"):
        return [text.partition(":")[0] for text in self.tab.texts(f"#{chart} .bar title")]

    def column(self, number):
        return self.tab.texts(f"#results tbody td:nth-child({number + 1})")

    def column_titled(self, title):
        return self.tab.texts("#results th").index(title)

    def sort(self, title):
        """Clicks the title of a column, and returns the texts below it and how it says to be sorted."""
        number = self.column_titled(title)
        self.tab.evaluate(f"document.querySelectorAll('#results th button')[{number}].click()")
        return self.column(number), self.tab.evaluate(
            "Array.from(document.querySelectorAll('#results th[aria-sort]'), (e) => e.textContent + e.ariaSort)")

    def expect_order(self, title, ascending, descending):
        number = self.column_titled(title)
        counts = {text: self.column(number).count(text) for text in ascending}
        for order, word in ((ascending, "ascending"), (descending, "descending")):
            texts, sorted_columns = self.sort(title)
            self.assertEqual(texts, [text for text in order for _ in range(counts[text])])
            self.assertEqual(sorted_columns, [title + word])

    def test_shows_all_rows(self):
        self.assertEqual(self.column(0), [row["version"] for row in self.rows])
        self.assertEqual(self.tab.texts("#count"), [f"{len(self.rows)} of {len(self.rows)} rows"])
        self.assertFalse(self.tab.evaluate("document.querySelector('main').hidden"))

    def test_has_a_bar_for_each_measured_version(self):
        self.assertEqual(self.bars(),
                         ["0 cublas", "1 tma_wgmma", "10 hilbert", "best library", "ceiling wgmma_ceiling"])
        self.assertEqual(len(self.tab.texts("#speed .mark")), 2)
        self.assertEqual(self.tab.texts("#speed .wrong"), ["WRONG"])
        self.assertIn("not measured", self.tab.texts("#speed text.muted"))

    def test_bars_are_as_long_as_versions_are_fast(self):
        lengths = self.tab.evaluate(
            "Array.from(document.querySelectorAll('#speed .bar'), (bar) => bar.width.baseVal.value)")
        shown = [row["tflops"] for row in self.rows[:7] if row["tflops"]]
        for length, tflops in zip(lengths, shown, strict=True):
            self.assertAlmostEqual(length / lengths[0], tflops / shown[0], places=3)

    def test_selectors_change_the_charts(self):
        self.assertEqual(self.tab.texts("#problem option"), ["8192x8192x8192 bf16", "1024x2048x512 bf16"])
        seen = {}
        for problem in self.tab.texts("#problem option"):
            for mode in ("burst", "sustained"):
                self.choose("#problem", problem)
                self.choose("#mode", mode)
                captions = self.tab.texts("figure:not([hidden]) figcaption")
                self.assertEqual(len(captions), 3 if mode == "sustained" else 2)
                self.assertIn(f"at {problem}, {mode}", captions[0])
                seen[problem, mode] = tuple(self.tab.texts("#speed .bar title"))
        self.assertEqual(len(set(seen.values())), 4)
        self.assertEqual(self.bars("energy"), self.bars())

    def test_second_chart_has_every_version_at_every_problem(self):
        titles = self.tab.texts("#shapes text title")
        for problem in self.tab.texts("#problem option"):
            for version in ("1 tma_wgmma", "2 large_tile", "10 hilbert", "ampere.2 cp_async", "best library"):
                self.assertEqual(sum(title.startswith(f"{version} at {problem}:") for title in titles), 1)

    def test_charts_tell_what_they_show(self):
        self.choose("#mode", "sustained")
        for chart in ("speed", "energy", "shapes"):
            role, label = self.tab.evaluate(
                f"['role', 'aria-label'].map((name) => document.getElementById('{chart}').getAttribute(name))")
            self.assertEqual(role, "img")
            self.assertRegex(label, "sustained.*: .*tma_wgmma|sustained.*: .* 1 33.3 %")

    def test_versions_are_sorted_naturally(self):
        versions = ["0", "1", "2", "10", "ampere.2", "best", "ceiling"]
        self.expect_order("version", versions, versions[::-1])

    def test_shapes_are_sorted_by_their_numbers(self):
        shapes = ["1024x2048x512", "8192x8192x8192"]
        self.expect_order("shape MxNxK", shapes, shapes[::-1])

    def test_verdicts_are_sorted_with_the_unchecked_last(self):
        self.expect_order("verified", ["WRONG", "yes", "–"], ["yes", "WRONG", "–"])

    def test_numbers_are_sorted_as_numbers_with_the_missing_last(self):
        for title in ("time us (min–max)", "TFLOP/s", "% cuBLAS", "% ceiling", "MHz", "W", "pJ/FLOP"):
            ways = []
            for descending in (False, True):
                texts, _ = self.sort(title)
                numbers = [float(text.split()[0]) for text in texts if text != "–"]
                self.assertEqual(texts[len(numbers):], ["–"] * (len(texts) - len(numbers)), title)
                self.assertEqual(numbers, sorted(numbers, reverse=descending), title)
                ways.append(numbers)
            self.assertNotEqual(*ways)

    def test_texts_are_sorted_with_the_missing_last(self):
        for title in ("name", "configuration, note"):
            for descending in (False, True):
                texts, _ = self.sort(title)
                there = [text for text in texts if text]
                self.assertEqual(texts, there + [""] * (len(texts) - len(there)))
                self.assertEqual(there, sorted(there, key=str.lower, reverse=descending))

    def test_columns_are_sorted_by_keyboard(self):
        self.tab.evaluate("document.querySelector('#results th button').focus()")
        self.tab.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r",
                      windowsVirtualKeyCode=13)
        self.assertEqual(self.tab.evaluate("document.querySelector('#results th').ariaSort"), "ascending")

    def test_filter_leaves_rows_with_all_words(self):
        self.tab.evaluate("""{
            const input = document.getElementById("filter");
            input.value = " 1024x  BURST ";
            input.dispatchEvent(new Event("input"));
        }""")
        self.assertEqual(len(self.tab.texts("#results tbody tr:not([hidden])")), len(self.rows) // 4)
        self.assertEqual(self.tab.texts("#count"), [f"7 of {len(self.rows)} rows"])

    def test_wrong_kernels_are_conspicuous(self):
        self.assertEqual(self.tab.texts("#alarm:not([hidden])"), ["WRONG in 4 of 28 rows: 2 large_tile"])
        self.assertEqual(self.tab.texts("tr.wrong .verdict"), ["WRONG"] * 4)

    def test_text_appears_literally(self):
        self.assertIn("NVIDIA <H200>", self.tab.texts("h1")[0])
        self.assertEqual(self.tab.texts("#facts code"), ["matmul hopper --html \ufffd<img/onerror=alert(1)>.html"])
        notes = self.column(self.column_titled("configuration, note"))
        for row in self.rows:
            self.assertIn(row["note"], notes)
        self.assertEqual(self.tab.texts("img, b, i"), [])

    def test_charts_and_table_fit_the_window(self):
        for width in (1280, 700, 400):
            self.tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                          mobile=False)
            self.tab.evaluate("new Promise(requestAnimationFrame)")
            page, inner, chart = self.tab.evaluate("""[document.documentElement.scrollWidth,
                document.documentElement.clientWidth, document.getElementById("speed").clientWidth]""")
            self.assertLessEqual(inner, width)
            self.assertEqual(page, inner)
            self.assertTrue(0.8 * inner < chart < inner, (chart, inner))


class OtherPagesTest(BrowserTest):
    def test_dark_pages_are_dark(self):
        grounds = {scheme: self.open(color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
                   for scheme in ("light", "dark")}
        self.assertEqual(grounds, {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"})

    def test_one_problem_in_one_mode_needs_no_selectors(self):
        data = json.dumps([row for row in self.rows[:7] if row["verified"] != "no"]).replace("<", "\\u003c")
        head, _, rest = page_text.partition('id="rows">')
        tab = self.open(head + 'id="rows">' + data + "</script>" + rest.partition("</script>")[2])
        self.assertEqual(tab.faults(), [])
        self.assertEqual(
            tab.texts("label:not([hidden]) select, figure:not([hidden]) #shapes, #alarm:not([hidden])"), [])
        self.assertEqual(len(tab.texts("#speed .bar")), 5)

    def test_faults_are_found(self):
        for fault, word in (("<script>console.error('oops')</script>", "console: .*oops"),
                            ("<script>console.warn('oops')</script>", "console: .*oops"),
                            ("<script>throw new Error('oops')</script>", "exception: .*oops"),
                            ("<script>Promise.reject(new Error('oops'))</script>", "exception: .*oops"),
                            ("<img src='other.png'>", "log: .*Content Security Policy"),
                            ("<script>fetch('http://127.0.0.1:9')</script>", "log: .*Content Security Policy")):
            with self.subTest(fault):
                tab = self.open(page_text.replace("</body>", fault + "</body>"))
                self.assertRegex("\n".join(tab.faults()), word)

    def test_requests_are_found(self):
        permissive = page_text.replace("default-src 'none'", "default-src file:")
        tab = self.open(permissive.replace("</body>", "<img src='other.png'></body>"))
        self.assertRegex("\n".join(tab.faults()), "request: file:.*/other.png")


if __name__ == "__main__":
    chromium = require_chromium()
    page_text = subprocess.run([sys.argv.pop(1)], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()
    unittest.main()
