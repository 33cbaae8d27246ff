#!/usr/bin/env python3
"""Runs an nvcc command, and fails if ptxas remarks that a kernel will be slow.

usage: ptxas_guard.py [launcher...] nvcc arguments...

It is CMake's CUDA_COMPILER_LAUNCHER, and the arguments contain -Xptxas=-v. If a launcher such as ccache already has the
object, it repeats ptxas' output.

ptxas prints only an "info" line when it serialises wgmma, ignores setmaxnreg or spills registers, and the build goes
on. The guard makes each of these an error: the exit status is 1, stderr has the lines with their meaning, and there is
no object file. Otherwise nvcc's output and exit status pass through, without ptxas' routine lines. The guard writes
each function's registers, shared memory and barriers, which those lines have, to <object>.ptxas.txt.
"""

import dataclasses
import os
import re
import shutil
import subprocess
import sys

# With one of these arguments nvcc makes machine code, so that ptxas runs.
COMPILING = {"-c", "--compile", "-dc", "--device-c", "-cubin", "--cubin", "-fatbin", "--fatbin"}
# With one of these arguments nvcc only preprocesses or prints what it would do, whatever the other arguments are.
NOT_COMPILING = {"-E", "--preprocess", "-M", "--generate-dependencies", "-MM", "--generate-nonsystem-dependencies",
                 "-dryrun", "--dryrun", "-ptx", "--ptx", "-V", "--version", "-h", "--help"}
SOURCE_SUFFIXES = (".cu", ".ptx", ".cpp", ".cc", ".cxx", ".c")

INFO = r"ptxas info\s*: "
COMPILING_ENTRY = re.compile(INFO + r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>[^']+)'")
PROPERTIES = re.compile(INFO + r"Function properties for (?P<name>\S+)")
FRAME = re.compile(r"\s+(?P<frame>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
                   r"(?P<loads>\d+) bytes spill loads")
USED = re.compile(INFO + r"Used (?P<registers>\d+) registers(?P<rest>.*)")
ROUTINE = [COMPILING_ENTRY, PROPERTIES, FRAME, USED,
           re.compile(INFO + r"(\(C\d+\) )?\d+ bytes gmem"),
           re.compile(INFO + r"Compile time = ")]

REMARK = re.compile(r"ptxas \w+\s*: \((?P<code>C7[56]\d\d)\)")
SPILL_WARNING = re.compile(r"Registers are spilled to local memory")
LOCAL_MEMORY_WARNING = re.compile(r"Local memory used for function")
LOCAL_MEMORY = re.compile(r"(?P<bytes>\d+) bytes lmem")

SPILL_MEANING = "registers were spilled: the function needs more than it may have, and keeps values in local memory"
LOCAL_MEMORY_MEANING = ("the function uses local memory: an array indexed by a value unknown to the compiler, "
                        "or one whose address is taken")
# The meaning of a remark, by words of its text. The codes' numbers differ from one ptxas to the next.
REMARK_MEANINGS = [
    ("Insufficient registers", "one instruction alone needs more registers than the launch bounds leave a thread"),
    ("unable to determine register count at entry",
     "setmaxnreg does nothing: give the kernel __launch_bounds__ with a minimum of blocks, so that its registers at "
     "entry are known"),
    ("minimum register requirement", "setmaxnreg does nothing: some code needs more registers than it leaves"),
    ("across compilation units", "setmaxnreg does nothing: compile without -rdc"),
    ("'extern' call", "setmaxnreg does nothing: the kernel calls a function that was not inlined"),
    ("to allow debugging", "setmaxnreg does nothing: compile without -G"),
    ("setmaxnreg", "setmaxnreg does nothing, or not what it says"),
    ("insufficient register resources",
     "every wgmma waits for the one before it: the accumulators and what is live beside them do not fit in registers"),
    ("function boundary",
     "every wgmma waits for the one before it: a batch spans a call; inline what issues it"),
    ("Extern calls", "every wgmma waits for the one before it: the kernel calls a function that was not inlined"),
    ("defining accumulator registers",
     "every wgmma waits for the one before it: other code writes the accumulators between the first mma_async and "
     "the wait, perhaps to set them to zero"),
    ("reading accumulator registers",
     "every wgmma waits for the one before it: other code reads the accumulators before wgmma_wait_group"),
    ("defining input registers",
     "every wgmma waits for the one before it: other code writes the registers of A before wgmma_wait_group"),
    ("ill formed pipeline stage",
     "every wgmma waits for the one before it: fence, mma_async, commit_group and wait_group do not follow each other "
     "on every path"),
    ("divergent path", "every wgmma waits for the one before it: a batch lies on a path that threads may diverge on"),
    ("wait is injected",
     "ptxas added a wgmma wait: other code uses registers of an unfinished wgmma before wgmma_wait_group"),
    ("arrive is injected",
     "ptxas added a wgmma fence: other code wrote registers that the next wgmma uses, with no wgmma_fence since"),
    ("wgmma", "every wgmma waits for the one before it"),
    ("", "ptxas met something in the kernel that costs speed"),
]


@dataclasses.dataclass
class Function:
    name: str
    arch: str
    registers: str = "-"
    smem: str = "0"
    barriers: str = "0"
    frame: str = "0"
    spills: str = "0"


def is_compiling(arguments):
    return bool(COMPILING.intersection(arguments)) and not NOT_COMPILING.intersection(arguments)


def asks_ptxas_for_figures(arguments):
    """Whether there is -Xptxas=-v in any of its spellings, or nvcc's own option for it."""
    if {"-res-usage", "--resource-usage"}.intersection(arguments):
        return True
    for position, argument in enumerate(arguments):
        option, _, value = argument.partition("=")
        if option in ("-Xptxas", "--ptxas-options"):
            value = value or "".join(arguments[position + 1:position + 2])
            if {"-v", "--verbose"}.intersection(value.split(",")):
                return True
    return False


def arguments_of_nvcc(command):
    """The arguments without those of a launcher. The -E of `cmake -E` does not ask for preprocessing."""
    nvcc = next((i for i, word in enumerate(command) if os.path.basename(word).startswith("nvcc")), 0)
    return command[nvcc + 1:]


def output_file(arguments):
    for position, argument in enumerate(arguments):
        if argument in ("-o", "--output-file"):
            return "".join(arguments[position + 1:position + 2]) or None
        for prefix in ("-o=", "--output-file="):
            if argument.startswith(prefix):
                return argument[len(prefix):]
    return None


def source_file(arguments):
    """The last argument that is a source's name. Values of options, such as the -MT target, end differently."""
    names = [a for a in arguments if a.endswith(SOURCE_SUFFIXES) and not a.startswith("-")]
    return names[-1] if names else "the input"


def is_routine(line):
    return any(pattern.match(line) for pattern in ROUTINE)


def meaning_of_remark(line):
    return next(meaning for words, meaning in REMARK_MEANINGS if words in line)


def fault_in(line):
    """The meaning of a line of ptxas that reports a fault, or None."""
    remark = REMARK.search(line)
    if remark:
        return f"{remark['code']}: {meaning_of_remark(line)}"
    if SPILL_WARNING.search(line):
        return SPILL_MEANING
    if LOCAL_MEMORY_WARNING.search(line):
        return LOCAL_MEMORY_MEANING
    frame = FRAME.match(line)
    if frame and (int(frame["stores"]) or int(frame["loads"])):
        return SPILL_MEANING
    if frame and int(frame["frame"]):
        return LOCAL_MEMORY_MEANING
    local = LOCAL_MEMORY.search(line) if USED.match(line) else None
    return LOCAL_MEMORY_MEANING if local and int(local["bytes"]) else None


def bytes_or_count(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else "0"


class Reader:
    """Sorts nvcc's lines into those that pass through, the faults, and the functions' figures."""

    def __init__(self):
        self.functions = []
        self.faults = []  # (function or None, line, meaning)
        self.passed_through = []
        self.arch = "-"
        self.entry = None     # the kernel that the next "Used" line is about
        self.function = None  # the function that the next stack frame line is about

    def read(self, text):
        for line in text.splitlines():
            fault = fault_in(line)
            self.note_figures(line)
            if fault:
                self.faults.append((self.function.name if FRAME.match(line) and self.function else None, line, fault))
            elif not is_routine(line):
                self.passed_through.append(line)

    def function_named(self, name):
        for function in reversed(self.functions):
            if (function.name, function.arch) == (name, self.arch):
                return function
        self.functions.append(Function(name, self.arch))
        return self.functions[-1]

    def note_figures(self, line):
        entry, properties, frame, used = (p.match(line) for p in (COMPILING_ENTRY, PROPERTIES, FRAME, USED))
        if entry:
            self.arch = entry["arch"]
            self.entry = self.function_named(entry["name"])
        elif properties:
            self.function = self.function_named(properties["name"])
        elif frame and self.function:
            self.function.frame = frame["frame"]
            self.function.spills = str(int(frame["stores"]) + int(frame["loads"]))
        elif used and self.entry:
            self.entry.registers = used["registers"]
            self.entry.barriers = bytes_or_count(r"used (\d+) barriers", used["rest"])
            self.entry.smem = bytes_or_count(r"(\d+) bytes smem", used["rest"])


def demangled(names):
    """A dictionary from names to c++filt's output, or to the names themselves without c++filt."""
    plain = dict(zip(names, names))
    if not names or not shutil.which("c++filt"):
        return plain
    result = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines()
    return dict(zip(names, lines)) if result.returncode == 0 and len(lines) == len(names) else plain


def write_report(path, functions):
    if not functions:
        if os.path.exists(path):
            os.remove(path)
        return
    names = demangled([function.name for function in functions])
    rows = ["arch registers smem_bytes barriers stack_bytes spill_bytes function"]
    rows += [f"{f.arch} {f.registers} {f.smem} {f.barriers} {f.frame} {f.spills} {names[f.name]}" for f in functions]
    with open(path, "w", encoding="utf-8") as report:
        report.write("\n".join(rows) + "\n")


def print_faults(source, faults):
    """Prints each meaning once, after the lines that have it."""
    names = demangled([name for name, _, _ in faults if name])
    for meaning in dict.fromkeys(meaning for _, _, meaning in faults):
        for name, line, its_meaning in faults:
            if its_meaning == meaning:
                print(f"{source}: error: {line.strip()}{f' [{names[name]}]' if name else ''}", file=sys.stderr)
        print(f"{source}: note: {meaning}", file=sys.stderr)


def main(command):
    if not command:
        print("usage: ptxas_guard.py [launcher...] nvcc arguments...", file=sys.stderr)
        return 2
    arguments = arguments_of_nvcc(command)
    source = source_file(arguments)
    if is_compiling(arguments) and not asks_ptxas_for_figures(arguments):
        print(f"{source}: error: ptxas_guard.py sees nothing without -Xptxas=-v; add it to nvcc's arguments",
              file=sys.stderr)
        return 1

    try:
        nvcc = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        print(f"ptxas_guard.py: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    status = nvcc.returncode if nvcc.returncode >= 0 else 128 - nvcc.returncode
    if not is_compiling(arguments):
        sys.stdout.write(nvcc.stdout)
        sys.stderr.write(nvcc.stderr)
        return status

    faults, functions = [], []
    for text, stream in ((nvcc.stdout, sys.stdout), (nvcc.stderr, sys.stderr)):
        reader = Reader()
        reader.read(text)
        for line in reader.passed_through:
            print(line, file=stream)
        faults += reader.faults
        functions += reader.functions
    print_faults(source, faults)

    output = output_file(arguments)
    if output:
        write_report(output + ".ptxas.txt", functions)
        if faults and os.path.exists(output):
            os.remove(output)
    return status or int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
