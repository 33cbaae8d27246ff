"""Tests of tools/generate_tuned_table.py: which entries of which files become lines of a table."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import generate_tuned_table  # noqa: E402

OLD = {"version": "best", "type": "bf16", "b": "col", "m": 1, "n": 2, "k": 3, "config": "pingpong_a", "date": "2026-01-01"}
NEW = {"version": "best", "type": "bf16", "a": "row", "b": "col", "out": "bf16", "bias": "none", "activation": "none",
       "gated": False, "batch": 1, "m": 1, "n": 2, "k": 3, "config": "pingpong_b"}


def file_of(entries, date, version=1):
    return {"format": "hopper-gemm tuning", "version": version, "date": date, "configs": entries}


class Tables(unittest.TestCase):
    def lines_of(self, *contents):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / f"{number}.json" for number in range(len(contents))]
            for file, content in zip(files, contents):
                file.write_text(json.dumps(content))
            return list(generate_tuned_table.lines_of(files))

    def test_hold_the_newest_measurement_of_either_format(self):
        old, new = '    {{1, 2, 3}, OperandMajor::K, "pingpong_a"},\n', '    {{1, 2, 3}, OperandMajor::K, "pingpong_b"},\n'
        self.assertEqual(self.lines_of([OLD]), [old])
        self.assertEqual(self.lines_of([OLD], file_of([NEW], "2026-02-01")), [new])
        self.assertEqual(self.lines_of([OLD], file_of([NEW], "2025-02-01")), [old])

    def test_hold_products_alone(self):
        for change in ({"out": "fp32"}, {"bias": "column"}, {"activation": "relu"}, {"gated": True}, {"batch": 2},
                       {"a": "col"}, {"version": "ampere.6"}, {"config": "mma_sync_a"}):
            with self.subTest(change):
                self.assertEqual(self.lines_of(file_of([{**NEW, **change}], "2026-02-01")), [])
        self.assertEqual(self.lines_of(file_of([{**NEW, "type": "fp16", "out": "fp16", "b": "row"}], "2026-02-01")),
                         ['    {{1, 2, 3}, OperandMajor::MN, "pingpong_b"},\n'])

    def test_are_not_made_of_another_format(self):
        with self.assertRaisesRegex(SystemExit, "0.json has the format 'hopper-gemm tuning' of version 2, but this tool reads"):
            self.lines_of(file_of([NEW], "2026-02-01", version=2))


if __name__ == "__main__":
    unittest.main()
