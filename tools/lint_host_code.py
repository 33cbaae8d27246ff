#!/usr/bin/env python3
"""Checks the host sources of a build folder with clang-tidy.

usage: lint_host_code.py CLANG_TIDY BUILD_FOLDER OUTPUT_FOLDER

Most of clang-tidy's time goes into headers, so it gets several sources of a target as one: OUTPUT_FOLDER/N.cpp includes
them. If that has findings, it gets them one by one, and only those findings count: two sources may give a name in an
anonymous namespace different meanings. A source of several targets is checked as the first one compiles it.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

MOST_SOURCES = 10
# The compile commands are g++'s. clang does not know all of its options and warnings, nor its precompiled headers. It
# counts more under -Wconversion, and takes the standard library's uses of deprecated functions for the project's.
ARGUMENTS = ("--quiet", "--removed-arg=-ftoplevel-reorder", "--checks=-bugprone-suspicious-include",
             *(f"--extra-arg=-Wno-{warning}" for warning in (
                 "unknown-warning-option", "unused-command-line-argument", "sign-conversion", "ignored-gch",
                 "deprecated-declarations")))


def is_ours(root, file):
    return root in file.parents and not {"build", ".deps"} & set(file.relative_to(root).parts)


def sources_of(entry):
    """The source of a compile command, or those that a file of a unity build includes."""
    file = pathlib.Path(entry["directory"], entry["file"])
    if file.parent.name != "Unity" or file.suffix != ".cxx":
        return [file]
    return map(pathlib.Path, re.findall(r'^#include "(.*)"$', file.read_text(encoding="utf-8"), re.MULTILINE))


def groups_of(root, entries):
    """The sources by directory and arguments of their compile command, which are those of a target."""
    groups = {}
    seen = set()
    for entry in entries:
        files = [file for file in sources_of(entry)
                 if file not in seen and file.suffix == ".cpp" and is_ours(root, file)]
        if not files:
            continue
        seen.update(files)
        arguments = shlex.split(entry["command"])
        for option in ("-o", "-c"):
            place = arguments.index(option)
            del arguments[place:place + 2]
        groups.setdefault((entry["directory"], tuple(arguments)), []).extend(files)
    return groups


def units_of(root, entries):
    """Compile commands of one file each that stands for several sources, and the sources. The longest come first."""
    units = []
    for (directory, arguments), files in groups_of(root, entries).items():
        count = -(-len(files) // MOST_SOURCES)
        units += [(directory, arguments, files[first::count]) for first in range(count)]
    return sorted(units, key=lambda unit: -len(unit[2]))


def write_units(units, folder):
    """Writes the files that include the sources, and the compile commands of these and of the sources."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number}.cpp" for number in range(len(units))]
    commands = []
    for path, (directory, arguments, files) in zip(paths, units):
        path.write_text("".join(f'#include "{file}"\n' for file in files), encoding="utf-8")
        commands += [{"directory": directory, "file": str(file), "arguments": [*arguments, "-c", str(file)]}
                     for file in (path, *files)]
    (folder / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
    return paths


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    clang_tidy, build, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]).absolute()
    root = pathlib.Path(__file__).resolve().parent.parent
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    units = units_of(root, entries)
    paths = write_units(units, output)
    command = [clang_tidy, *ARGUMENTS, f"--header-filter=^{re.escape(str(root))}/(include|ptx|src|tests)/", "-p", output]

    def check(file):
        return subprocess.run([*command, file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def check_unit(path, unit):
        together = check(path)
        return [together] if together.returncode == 0 else [check(file) for file in unit[2]]

    has_findings = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(check_unit, paths, units):
            for result in results:
                has_findings |= result.returncode != 0
                lines = re.sub(r"^\d+ warnings?.* generated\.\n", "", result.stdout, flags=re.MULTILINE)
                print(lines, end="", flush=True)
    sys.exit(1 if has_findings else 0)


if __name__ == "__main__":
    main()
