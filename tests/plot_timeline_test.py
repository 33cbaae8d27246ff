"""Tests of tools/plot_timeline.py: what it finds in a trace, and, where matplotlib is installed, that it draws the same
twice."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"
TOOL = TOOLS / "plot_timeline.py"

sys.path.insert(0, str(TOOLS))
import plot_timeline  # noqa: E402
from fetched_matplotlib import needs_matplotlib  # noqa: E402
from plot_timeline import Span  # noqa: E402

# A ring of two stages.
FULL = (0x1000, 0x1008)
EMPTY = (0x1010, 0x1018)

# A package of that name that cannot be imported.
NO_MATPLOTLIB = 'raise ImportError("No module named matplotlib")\n'


def complete(lane, name, begin, end, detail=""):
    return [{"ph": "X", "pid": 0, "tid": 1, "cat": lane, "name": name, "ts": begin, "dur": end - begin,
             "args": {"detail": detail}}]


def copy(lane, number, begin, end):
    common = {"pid": 0, "tid": 2, "cat": lane, "id": number, "name": "load to 0x400", "args": {"detail": ""}}
    return [{**common, "ph": "b", "ts": begin}, {**common, "ph": "e", "ts": end}]


def phase(number, address, step):
    return complete("mbarriers", f"phase {number} ends at {address:#x}", step, step + 1)


def trace(blocks=3):
    """K block b, from step 100 b on: loaded in three copies, full at 20, multiplied from 30 to 50, released at 60."""
    events = [{"ph": "M", "pid": 0, "tid": 1, "name": "process_name", "args": {"name": "CTA 0"}}]
    for block in range(blocks):
        step, stage, turn = 100 * block, block % 2, block // 2
        events += copy("TMA loads", 3 * block + 1, step + 1, step + 10)
        events += copy("TMA loads", 3 * block + 2, step, step + 20)
        events += copy("TMA loads", 3 * block + 3, step + 1, step + 20)
        events += phase(turn, FULL[stage], step + 20)
        events += complete("wgmma of warpgroup 0", "m64n128k16", step + 30, step + 40)
        events += complete("wgmma of warpgroup 0", "m64n128k16", step + 40, step + 50)
        events += phase(turn, EMPTY[stage], step + 60)
    events += complete("warpgroup 0", "waits for mbarrier 0x1000", 5, 20)
    events += complete("warpgroup 1", "producer waits for stage 0", 150, 160)
    events += copy("TMA stores", 100, 300, 310) + copy("TMA stores", 101, 305, 330)
    return events


class PlotTimelineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "trace.json"

    def write(self, events):
        self.path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
        return self.path

    def timeline(self, events, cta=0):
        return plot_timeline.timeline_of(plot_timeline.read_events(self.write(events), cta))

    def expect_fault(self, events, message):
        with self.assertRaisesRegex(plot_timeline.TraceError, message):
            self.timeline(events)

    def run_tool(self, *arguments, **environment):
        return subprocess.run([sys.executable, str(TOOL), str(self.path), str(self.folder / "t.svg"), *arguments],
                              capture_output=True, text=True, check=False, env={**os.environ, **environment})

    # --- What is found ---

    def test_stages_and_roles(self):
        timeline = self.timeline(trace())
        self.assertEqual(timeline.stages, 2)
        self.assertEqual(timeline.fills, (Span(0, 20, 0), Span(100, 120, 1), Span(200, 220, 2)))
        self.assertEqual(timeline.holds, (Span(20, 60, 0), Span(120, 160, 1), Span(220, 260, 2)))
        self.assertEqual(timeline.multiplies, {0: (Span(30, 50, 0), Span(130, 150, 1), Span(230, 250, 2))})
        self.assertEqual(timeline.waits, {0: (Span(5, 20),), 1: (Span(150, 160),)})
        self.assertEqual(timeline.issues, (0, 1, 100, 101, 200, 201))
        self.assertEqual(timeline.stores, (Span(300, 310), Span(305, 330)))
        self.assertEqual((timeline.consumers, timeline.producer), ((0,), 1))

    def test_other_barriers_are_no_stages(self):
        self.assertEqual(self.timeline(trace() + phase(0, 0x1040, 7)).stages, 2)

    def test_lanes(self):
        lanes = dict(plot_timeline.lanes_of(self.timeline(trace())))
        self.assertEqual(list(lanes), ["producer waits", "copies issued", "stage 0", "stage 1", "consumer: wgmma",
                                       "consumer waits", "TMA stores"])
        self.assertEqual([(box.span.begin, box.span.end, box.color, box.hatched, box.label)
                          for box in lanes["stage 1"]],
                         [(100, 120, plot_timeline.FILLING, False, "1"), (120, 130, plot_timeline.FULL, False, ""),
                          (130, 150, plot_timeline.MULTIPLYING, False, "1"),
                          (150, 160, plot_timeline.MULTIPLYING, True, "")])
        self.assertEqual([box.label for box in lanes["TMA stores"]], ["2 stores"])

    def test_runs_of_stores_end_where_something_else_happens(self):
        stores = [Span(0, 5), Span(6, 9), Span(20, 25)]
        self.assertEqual(plot_timeline.runs_of(stores, []), [(Span(0, 25), 3)])
        self.assertEqual(plot_timeline.runs_of(stores, [12]), [(Span(0, 9), 2), (Span(20, 25), 1)])

    def test_window(self):
        timeline = self.timeline(trace())
        self.assertEqual(plot_timeline.window_of(timeline, None), (0, 330))
        self.assertEqual(plot_timeline.window_of(timeline, (0, 1)), (0, 160))
        for blocks in ((0, 3), (2, 1)):
            with self.assertRaisesRegex(plot_timeline.TraceError, "only 0-2"):
                plot_timeline.window_of(timeline, blocks)

    def test_order_gives_each_event_the_same_room(self):
        lanes = [("lane", [plot_timeline.Box(Span(10, 500), plot_timeline.FULL)])]
        place = plot_timeline.order_of(lanes, (11,), (5, 600))
        self.assertEqual([place(step) for step in (5, 10, 11, 500, 600)], [0, 1, 2, 3, 4])

    # --- What cannot be drawn ---

    def test_no_ring(self):
        without = [event for event in trace() if hex(EMPTY[1]) not in event["name"]]
        self.expect_fault(without, "stage 1 has no empty barrier.*a version from 3 to 11")
        self.expect_fault([event for event in trace() if event.get("cat") != "mbarriers"], "no ring of full barriers")

    def test_a_stage_filled_before_it_was_released(self):
        late = [{**event, "ts": 215} if event["name"] == f"phase 0 ends at {EMPTY[0]:#x}" else event
                for event in trace()]
        self.timeline(late)
        too_late = [{**event, "ts": 225} if event["name"] == f"phase 0 ends at {EMPTY[0]:#x}" else event
                    for event in trace()]
        self.expect_fault(too_late, "stage 0 has no empty barrier")

    def test_wgmmas_that_do_not_divide(self):
        self.expect_fault(trace() + complete("wgmma of warpgroup 0", "m64n128k16", 400, 410), "7 wgmmas for 3 K blocks")

    def test_other_ctas_and_files(self):
        with self.assertRaisesRegex(plot_timeline.TraceError, "no CTA 7, only 0"):
            self.timeline(trace(), 7)
        for text in ("", "{}", "[1]"):
            self.path.write_text(text, encoding="utf-8")
            result = self.run_tool()
            self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
            self.assertIn("not a trace that matmul --trace wrote", result.stderr)

    # --- The program ---

    def test_no_matplotlib(self):
        self.write(trace())
        (self.folder / "matplotlib.py").write_text(NO_MATPLOTLIB, encoding="utf-8")
        result = self.run_tool(PYTHONPATH=str(self.folder))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("type ./dev plots, which installs it", result.stderr)

    @needs_matplotlib
    def test_same_trace_same_file(self):
        self.write(trace())
        for axis in ("order", "steps"):
            texts = set()
            for _ in range(2):
                result = self.run_tool("--axis", axis, "--blocks", "0-2")
                self.assertEqual((result.returncode, result.stdout), (0, f"{self.folder / 't.svg'}\n"), result.stderr)
                texts.add((self.folder / "t.svg").read_bytes())
            self.assertEqual(len(texts), 1)
            self.assertNotIn(b"<dc:date>", texts.pop())


if __name__ == "__main__":
    unittest.main()
