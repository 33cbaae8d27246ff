#!/usr/bin/env python3
"""Runs the cases of a GoogleTest program in several processes side by side, and prints what those say that fail.

usage: run_shards.py SHARDS PROGRAM RESULTS

Each process writes its results as XML to RESULTS.<shard>.xml. Exit status: 77 if the program says that it cannot run
here, 0 if all cases passed, otherwise 1.
"""

import os
import pathlib
import subprocess
import sys

SKIPPED = 77


def main(shards, program, results):
    shards = int(shards)
    pathlib.Path(results).parent.mkdir(parents=True, exist_ok=True)
    processes = [
        subprocess.Popen(
            [program, "--gtest_brief=1", f"--gtest_output=xml:{results}.{shard}.xml"],
            env={**os.environ, "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for shard in range(shards)]
    outputs = [process.communicate()[0] for process in processes]
    if all(process.returncode == SKIPPED for process in processes):
        print(outputs[0], end="")
        return SKIPPED
    for shard, (process, output) in enumerate(zip(processes, outputs)):
        if process.returncode != 0:
            print(f"--- shard {shard} of {shards}: exit status {process.returncode}\n{output}")
    return int(any(process.returncode != 0 for process in processes))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
