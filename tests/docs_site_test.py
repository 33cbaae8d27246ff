"""Builds the site of `./dev docs` and looks at it in a headless Chromium, as files and from a server.

The exit status is 77, with the reason, if Sphinx has not been fetched or if there is no Chromium.
"""

import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from browser import SKIPPED, Browser, Tab, require_chromium

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "tools/docs_site/build.py"
SPHINX = ROOT / f".deps/docs-python{sys.version_info.major}.{sys.version_info.minor}"
PAGES = ("index", "docs/worklog", "docs/results", "docs/glossary", "profiles/h200/README", "docs/api/cpp", "docs/api/c",
         "docs/api/python", "code/src/ladder/hopper/v01_tma_wgmma.cu", "search")
CHART = """(async () => {
    const chart = document.querySelector("article img");
    await chart.decode();
    return [chart.naturalWidth, chart.getBoundingClientRect().width];
})()"""

chromium = None
folder = None
site = None


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        pass


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(chromium, folder / "profile")
        cls.addClassCleanup(cls.browser.close)
        cls.browser.call("Browser.getVersion")  # so that one that does not start fails the class, not each test

    def open(self, page, anchor="", top=None, **options):
        tab = Tab(self.browser, f"{top or site.as_uri()}/{page}.html{anchor}", **options)
        self.addCleanup(tab.close)
        return tab

    def results_of(self, words, top=None):
        """What the search lists, once it has ended."""
        tab = self.open("search", f"?q={words}", top=top)
        found = tab.evaluate("""new Promise((resolve) => {
            const look = () => {
                if (!/found|did not match/.test(document.querySelector("#search-results").textContent)) return setTimeout(look, 20);
                resolve(Array.from(document.querySelectorAll("#search-results li"), (e) => e.textContent));
            };
            look();
        })""")
        self.assertEqual([fault for fault in tab.faults() if not fault.startswith("request:")], [])
        return found

    def test_first_chart_is_shown(self):
        for scheme in ("light", "dark"):
            with self.subTest(scheme):
                natural, shown = self.open("index", color_scheme=scheme).evaluate(CHART)
                self.assertGreater(natural, 0)
                self.assertGreater(shown, 300)

    def test_pictures_follow_the_scheme_that_the_reader_chose(self):
        for scheme, other in (("light", "dark"), ("dark", "light")):
            tab = self.open("index", color_scheme=scheme)
            of_chart = "getComputedStyle(document.querySelector('article img')).colorScheme"
            self.assertEqual(tab.evaluate(of_chart), scheme)
            tab.evaluate(f"document.body.dataset.theme = '{other}'")
            self.assertEqual(tab.evaluate(of_chart), other)

    def test_pages_are_dark_if_the_reader_prefers_that(self):
        grounds = {scheme: self.open("index", color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
                   for scheme in ("light", "dark")}
        self.assertEqual(grounds, {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"})

    def test_search_works_without_a_server(self):
        self.assertTrue(any("Glossary" in text for text in self.results_of("swizzle")))
        self.assertTrue(any("load_tuning_file" in text for text in self.results_of("load_tuning_file")))
        self.assertEqual(self.results_of("nothinghasthisname"), [])

    def test_search_works_with_a_server(self):
        handler = functools.partial(QuietHandler, directory=site)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        found = self.results_of("swizzle", top=f"http://127.0.0.1:{server.server_port}")
        self.assertTrue(any("Glossary" in text for text in found))

    def test_functions_are_documented(self):
        for page, function, words in (("cpp", "Status create(", "the plan of"),
                                      ("c", "hgemm_status_t hgemm_plan_run(", "without waiting"),
                                      ("python", "hopper_gemm.gemm(", "cudaStream_t")):
            with self.subTest(page):
                texts = self.open(f"docs/api/{page}").texts("article dl")
                self.assertTrue(any(function in text and words in text for text in texts))

    def test_sidebar_has_the_pages_in_order(self):
        texts = self.open("index").texts(".sidebar-tree > ul > li > a")
        titles = ["Using the library", "Past the ladder", "Primer", "cuBLAS’s SGEMM", "mma.sync", "past cuBLAS on Hopper",
                  "Reading the machine code", "Results", "How hopper-gemm compares", "Hacking", "Glossary", "C++ API"]
        places = [next((i for i, text in enumerate(texts) if title in text), None) for title in titles]
        self.assertNotIn(None, places, texts)
        self.assertEqual(places, sorted(places))

    def test_pages_fit_a_phone_and_a_desk(self):
        for page in PAGES:
            for scheme, width in (("light", 1280), ("dark", 390)):
                with self.subTest(page=page, width=width):
                    tab = self.open(page, color_scheme=scheme)
                    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=False)
                    tab.evaluate("new Promise(requestAnimationFrame)")
                    wide, window, title = tab.evaluate(
                        "[document.documentElement.scrollWidth, document.documentElement.clientWidth, document.title]")
                    self.assertEqual(wide, window)
                    self.assertIn("hopper-gemm", title)


if __name__ == "__main__":
    if not SPHINX.is_dir():
        print("skipped: Sphinx is not in .deps; type ./dev docs, which fetches it")
        sys.exit(SKIPPED)
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        site = folder / "site"
        environment = {**os.environ, "PYTHONPATH": str(SPHINX)}
        if subprocess.run([sys.executable, BUILD, "--output", site], env=environment, check=False).returncode:
            sys.exit("the site has faults, which are above")
        chromium = require_chromium()
        unittest.main()
    finally:
        # Chromium's helpers may still write there as they end.
        shutil.rmtree(folder, ignore_errors=True)
