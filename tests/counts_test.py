#!/usr/bin/env python3
"""Holds how much the tests test: cases and emulated launches of each program, against tests/counts.json.

usage: counts_test.py [--write] RESULTS GPU_TESTS PROGRAM=SHARDS...

RESULTS is the folder of the programs' XML reports, PROGRAM.<shard>.xml. Of GPU_TESTS, which may not run here, the cases are
those that it lists. A change that leaves out a case, a seed or a mutant fails here until --write has put the new numbers
into counts.json. Exit status: 77 if GTEST_FILTER leaves out cases.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import xml.etree.ElementTree

EXPECTED = pathlib.Path(__file__).resolve().parent / "counts.json"
SKIPPED = 77
# Cases that launch until their time is over.
RUN_FOR_A_TIME = {"FindsNothingNew"}


def counts_of_program(results, program, shards):
    counts = {"cases": 0, "emulated_launches": 0}
    for shard in range(shards):
        report = xml.etree.ElementTree.parse(results / f"{program}.{shard}.xml").getroot()
        for case in report.iter("testcase"):
            counts["cases"] += 1
            if case.get("name") not in RUN_FOR_A_TIME:
                counts["emulated_launches"] += sum(int(prop.get("value")) for prop in case.iter("property")
                                                   if prop.get("name") == "emulated_launches")
    return counts


def listed_cases(program):
    listing = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    return sum(line.startswith("  ") for line in listing.splitlines())


def main(arguments):
    write = arguments[:1] == ["--write"]
    results, gpu_tests, *programs = arguments[write:]
    if os.environ.get("GTEST_FILTER"):
        print("skipped: GTEST_FILTER leaves out cases")
        return SKIPPED
    counts = {"gpu_tests": {"cases": listed_cases(gpu_tests)}}
    for program, _, shards in (text.partition("=") for text in programs):
        counts[program] = counts_of_program(pathlib.Path(results), program, int(shards))
    if write:
        EXPECTED.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    differences = [f"{program}: {expected.get(program)} in {EXPECTED.name}, {counts.get(program)} now"
                   for program in sorted(expected | counts) if expected.get(program) != counts.get(program)]
    if differences:
        print("\n".join(differences))
        print(f"If that is on purpose: {shlex.join([sys.executable, sys.argv[0], '--write', *sys.argv[1:]])}")
    return int(bool(differences))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
