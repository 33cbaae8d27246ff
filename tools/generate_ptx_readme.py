#!/usr/bin/env python3
"""Writes the reference table of ptx/README.md from the doc comments in ptx/*.cuh.

usage: generate_ptx_readme.py [--check]
  --check  write nothing; exit 1 if the table is stale, if a function of ptx/ has no complete doc comment, or if
           no tests/ptx_compile*_test.cu names it

A complete doc comment, directly above the function:
  /// <instruction> — <summary>
  /// PTX ISA "<section title>" #<anchor>; ISA <x.y>, sm_<nn>.          (the anchor may be missing)
  /// <operands ...> Threads: <who may call it>. Orders: <what>.        (one line or more)
"""

import argparse
import collections
import dataclasses
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PTX = ROOT / "ptx"
README = PTX / "README.md"
COMPILE_TESTS = sorted((ROOT / "tests").glob("ptx_compile*_test.cu"))
VERSION_FILE = re.compile(r"v(\d+)_")
USERS = ("src/ladder/**/*", "src/gemm/**/*", "src/device/*")
BEGIN = "<!-- reference table: begin (tools/generate_ptx_readme.py) -->"
END = "<!-- reference table: end -->"
ISA_URL = "https://docs.nvidia.com/cuda/parallel-thread-execution/"

# These functions are no wrappers, and need no entry.
HELPERS = {"operator+", "check_wgmma_arguments"}
# Template parameters that are deduced from the arguments.
DEDUCED = {"kDims", "kCount"}

FUNCTION = re.compile(
    r"(?P<doc>(?:^///.*\n)*)"
    r"(?P<template>^template <[^;{]*?>\s*\n?)?"
    r"^HG_PTX_INLINE (?P<result>[\w ]+?[\s*&]+)(?P<name>operator\+|\w+)\((?P<parameters>[^{;]*)\) *\{",
    re.MULTILINE,
)
FIRST_LINE = re.compile(r"^(?P<ptx>\S.*?) — (?P<summary>\S.*)$")
SECOND_LINE = re.compile(
    r'^PTX ISA (?:"(?P<title>[^"]+)"(?: #(?P<anchor>[a-z0-9-]+))?|has no section for it)'
    r"; ISA (?P<isa>\d+\.\d+), (?P<sm>sm_\d+a?)\.$"
)
WGMMA_NAME = re.compile(r"^wgmma_mma_async_m64n\d+k16$")


@dataclasses.dataclass
class Wrapper:
    name: str
    call: str
    ptx: str
    summary: str
    title: str
    anchor: str
    isa: str
    sm: str


def split_top_level(text):
    """Splits at the commas outside brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += character in "(<[{"
        depth -= character in ")>]}"
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part.strip() for part in parts + [current] if part.strip()]


def parameter_name(parameter):
    parameter = parameter.split("=")[0].strip()
    by_reference_to_array = re.search(r"\(&(\w+)\)", parameter)
    return by_reference_to_array.group(1) if by_reference_to_array else re.search(r"(\w+)$", parameter).group(1)


def call_text(name, template, parameters):
    """The wrapper as one writes a call, with the required template arguments and the parameter names."""
    template_names = []
    for parameter in split_top_level(re.sub(r"^template <|>\s*$", "", template or "")):
        if "=" in parameter:
            continue
        template_name = parameter.split()[-1]
        if template_name not in DEDUCED and f"{template_name} (&" not in parameters:
            template_names.append(template_name)
    arguments = ", ".join(parameter_name(parameter) for parameter in split_top_level(parameters))
    return f"{name}{'<' + ', '.join(template_names) + '>' if template_names else ''}({arguments})"


def function_body(text, start):
    """The text of the body whose opening brace precedes `start`."""
    depth = 1
    for position in range(start, len(text)):
        depth += text[position] == "{"
        depth -= text[position] == "}"
        if depth == 0:
            return text[start:position]
    return text[start:]


def parse(path, problems):
    text = path.read_text(encoding="utf-8")
    wrappers = []
    found = 0
    for match in FUNCTION.finditer(text):
        found += 1
        name = match["name"]
        if name in HELPERS:
            continue
        where = f"{path.relative_to(ROOT)}:{text[: match.start('name')].count(chr(10)) + 1}: {name}"
        doc = [line[3:].strip() for line in match["doc"].splitlines()]
        if len(doc) < 3:
            problems.append(f"{where}: the doc comment has {len(doc)} lines, but it needs at least 3")
            continue
        first, second = FIRST_LINE.match(doc[0]), SECOND_LINE.match(doc[1])
        rest = " ".join(doc[2:])
        if not first:
            problems.append(f"{where}: line 1 is not `<instruction> — <summary>`")
        if not second:
            problems.append(f'{where}: line 2 is not `PTX ISA "<title>" #<anchor>; ISA <x.y>, sm_<nn>.`')
        if not re.search(r"\bthreads\b", rest, re.IGNORECASE):
            problems.append(f"{where}: the doc comment does not say which threads may call it (`Threads:`)")
        body = function_body(text, match.end())
        if ('"memory"' in body or "HG_PTX_TENSOR" in body) and not re.search(r"\border", rest, re.IGNORECASE):
            problems.append(f"{where}: the doc comment does not say what it orders (`Orders:`)")
        if first and second:
            wrappers.append(
                Wrapper(
                    name=name,
                    call=call_text(name, match["template"], match["parameters"]),
                    ptx=first["ptx"],
                    summary=first["summary"],
                    title=second["title"] or "",
                    anchor=second["anchor"] or "",
                    isa=second["isa"],
                    sm=second["sm"],
                )
            )
    mentions = len(re.findall(r"^HG_PTX_INLINE ", text, re.MULTILINE))
    if mentions != found:
        problems.append(f"{path.relative_to(ROOT)}: {mentions} functions, but the parser understands only {found}")
    return wrappers


def collapse_wgmma(wrappers):
    """Gives each form of wgmma one row for all N."""
    rows, seen = [], set()
    for wrapper in wrappers:
        if WGMMA_NAME.match(wrapper.name):
            ptx = re.sub(r"m64n\d+k16", "m64nNk16", wrapper.ptx)
            if ptx in seen:
                continue
            seen.add(ptx)
            wrapper = dataclasses.replace(
                wrapper,
                call=re.sub(r"m64n\d+k16", "m64nNk16", wrapper.call),
                ptx=ptx,
                summary=re.sub(r"\b8\b", "N", wrapper.summary) + " N = 8, 16, ..., 256.",
            )
        rows.append(wrapper)
    return rows


def users():
    """The text, without comments, of every file that may use the wrappers."""
    files = {}
    for pattern in USERS:
        for path in sorted(ROOT.glob(pattern)):
            if path.suffix in {".cu", ".cuh", ".hpp", ".h"}:
                text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
                files[path] = text
    return files


def ladder_versions(paths):
    """The versions of these files for each ladder, with ranges: hopper 1, 3-5."""
    versions = collections.defaultdict(list)
    for path in paths:
        versions[path.parent.name].append(int(VERSION_FILE.match(path.name)[1]))
    texts = []
    for ladder, numbers in versions.items():
        runs = []
        for number in sorted(numbers):
            if runs and number == runs[-1][1] + 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        texts.append(f"{ladder} {', '.join(f'{a}-{b}' if a < b else str(a) for a, b in runs)}")
    return texts


def used_by(name, files):
    pattern = r"wgmma_mma_async_m64n\d+k16" if WGMMA_NAME.match(name) else re.escape(name)
    called = re.compile(rf"\b{pattern}\s*[<(]")
    paths = [path for path, text in files.items() if called.search(text)]
    versions = [path for path in paths if VERSION_FILE.match(path.name)]
    return ladder_versions(versions) + [path.name for path in paths if path not in versions]


def cell(text):
    return text.replace("|", "\\|")


def table(families, files):
    lines = []
    for family, wrappers in families:
        lines += [
            f"### [{family}]({family})",
            "",
            "| wrapper | PTX | what it does | PTX ISA section | since ISA, SM | used by |",
            "|---|---|---|---|---|---|",
        ]
        for wrapper in collapse_wgmma(wrappers):
            short_title = wrapper.title.split(": ")[-1]
            section = f"[{short_title}]({ISA_URL}#{wrapper.anchor})" if wrapper.anchor else short_title or "none"
            instruction = wrapper.ptx if wrapper.ptx.startswith("(") else f"`{wrapper.ptx}`"
            lines.append(
                f"| `{cell(wrapper.call)}` | {cell(instruction)} | {cell(wrapper.summary)} | {cell(section)} "
                f"| {wrapper.isa}, {wrapper.sm} | {', '.join(used_by(wrapper.name, files)) or '—'} |"
            )
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if anything is stale or missing")
    arguments = parser.parse_args()

    problems = []
    families = []
    for path in sorted(PTX.glob("*.cuh")):
        wrappers = parse(path, problems)
        if wrappers:
            families.append((path.name, wrappers))
    tested = "".join(path.read_text(encoding="utf-8") for path in COMPILE_TESTS)
    for family, wrappers in families:
        for name in dict.fromkeys(wrapper.name for wrapper in wrappers):
            if not WGMMA_NAME.match(name) and not re.search(rf"\b{name}\b", tested):
                problems.append(f"ptx/{family}: no tests/ptx_compile*_test.cu names {name}")
    for problem in problems:
        print(problem, file=sys.stderr)

    current = README.read_text(encoding="utf-8")
    if current.count(BEGIN) != 1 or current.count(END) != 1:
        sys.exit(f"{README} lacks the markers of the table")
    before, rest = current.split(BEGIN)
    after = rest.split(END)[1]
    wanted = f"{before}{BEGIN}\n\n{table(families, users())}\n{END}{after}"
    if arguments.check:
        if current != wanted:
            diff = difflib.unified_diff(current.splitlines(), wanted.splitlines(), str(README), "generated", lineterm="")
            print("\n".join(list(diff)[:20]), file=sys.stderr)
            print(f"{README} is stale; run tools/generate_ptx_readme.py and commit the result", file=sys.stderr)
        return 1 if problems or current != wanted else 0
    if current != wanted:
        README.write_text(wanted, encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
