"""Fails where docs/images/diagrams.json is not what the project's code computes now.

usage: diagram_data_test.py PROGRAM

PROGRAM is diagram_data, which prints it.
"""

import pathlib
import subprocess
import sys

RECORDED = pathlib.Path(__file__).resolve().parent.parent / "docs/images/diagrams.json"


def main(program):
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    if printed == RECORDED.read_text(encoding="utf-8"):
        return 0
    print(f"{RECORDED} is not what {program} prints; write it there, and draw the diagrams with ./dev plots",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
