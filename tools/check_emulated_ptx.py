#!/usr/bin/env python3
"""Compares the headers that replace ptx/*.cuh in the emulator with the real ones. Both must declare the same.

usage: check_emulated_ptx.py

The exit status is 1 if only one side has a header, a wrapper, an overload, an enum or a struct; a line names each.
Results, template headers, types and defaults must be the same. Names of function parameters and white space may differ.
"""

import collections
import re
import sys

from generate_ptx_readme import FUNCTION, PTX, ROOT, parameter_name, split_top_level

EMULATED = ROOT / "src" / "emulator" / "include" / "ptx"
# In the emulator a macro makes the two wgmmas of each N.
MACRO = re.compile(r"^#define (?P<name>\w+)\((?P<parameter>\w+)\)(?P<body>(?:[^\n]*\\\n)+[^\n]*)\n", re.MULTILINE)
TYPE = re.compile(r"^(?:enum class|enum|struct|class) [^;{}()]+\{[^}]*\}", re.MULTILINE)


def normalise(text):
    """Leaves white space only between words, and computes the sizes of arrays."""
    text = re.sub(r"\s*(\W)\s*", r"\1", " ".join(text.split()))
    return re.sub(r"\[(\d+)/2\]", lambda size: f"[{int(size[1]) // 2}]", text)


def expand_macros(text):
    for macro in list(MACRO.finditer(text)):
        if "HG_PTX_INLINE" not in macro["body"]:
            continue
        body = re.sub(r"^ +(?=template|HG_PTX_INLINE)", "", macro["body"].replace("\\\n", "\n"), flags=re.MULTILINE)
        parameter = re.compile(rf"(?:##)?\b{macro['parameter']}\b(?:##)?")
        text = re.sub(
            rf"^{macro['name']}\((\w+)\)$",
            lambda call, body=body, parameter=parameter: parameter.sub(call[1], body),
            text.replace(macro[0], ""),
            flags=re.MULTILINE,
        )
    return text


def parameter_type(parameter):
    """Removes the name of a parameter."""
    declarator, equals, default = parameter.partition("=")
    return normalise(re.sub(rf"\b{parameter_name(parameter)}\b", "", declarator) + equals + default)


def declarations(text, where, problems):
    """The declarations of a header as normalised text, and how often each occurs."""
    text = expand_macros(re.sub(r"//[^\n]*", "", text))
    found = collections.Counter(normalise(match[0]) for match in TYPE.finditer(text))
    functions = list(FUNCTION.finditer(text))
    for match in functions:
        parameters = ", ".join(parameter_type(parameter) for parameter in split_top_level(match["parameters"]))
        template = normalise(match["template"]) + " " if match["template"] else ""
        found[f"{template}{normalise(match['result'])} {match['name']}({parameters})"] += 1
    mentions = len(re.findall(r"^HG_PTX_INLINE ", text, re.MULTILINE))
    if mentions != len(functions):
        problems.append(f"{where}: {mentions} functions, but the parser understands only {len(functions)}")
    return found


def compare(real, emulated):
    """The differences between two folders of headers, {file name: text}, as one sentence each."""
    problems = []
    for name in sorted(real.keys() | emulated.keys()):
        if name not in real or name not in emulated:
            problems.append(f"{name}: {'ptx/' if name not in real else 'the emulator'} has no such header")
            continue
        wanted = declarations(real[name], f"ptx/{name}", problems)
        found = declarations(emulated[name], f"the emulator's {name}", problems)
        problems += [f"{name}: the emulator lacks {declaration}" for declaration in wanted - found]
        problems += [f"{name}: only the emulator has {declaration}" for declaration in found - wanted]
    return problems


def read(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.cuh")}


def main():
    problems = compare(read(PTX), read(EMULATED))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
