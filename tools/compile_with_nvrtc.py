#!/usr/bin/env python3
"""Compiles device code to machine code with the NVRTC of another CUDA 12 version, to show that it compiles there.

usage: compile_with_nvrtc.py --root DIR [--arch sm_90a]... [--log LOG] FILE...

DIR holds the wheels of one CUDA version, for example
  pip install --target DIR nvidia-cuda-nvrtc-cu12==12.3.107 nvidia-cuda-runtime-cu12==12.3.101 \\
      nvidia-cuda-cccl-cu12==12.3.101.post1 nvidia-cuda-nvcc-cu12==12.3.107
The tool needs no GPU and no driver. It compiles the part of a file above the line `// Host side`, or the whole file if
there is no such line, and closes the namespaces that are still open there. It prints one line per file and architecture.
If there is an error or warning, from the front end or from ptxas, it prints that too, and the exit status is 1. With
--log it prints only those lines that have one, and writes LOG with all lines if there is none.
"""

import argparse
import ctypes
import pathlib
import re
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
HOST_MARKER = "// Host side"


class Nvrtc:
    """The calls of libnvrtc that a compilation needs."""

    def __init__(self, library_path):
        # NVRTC looks for its builtins library by name when it first compiles.
        for builtins in sorted(library_path.parent.glob("libnvrtc-builtins.so*")):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(library_path))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def check(self, result, what):
        if result != 0:
            raise RuntimeError(f"{what}: {self.library.nvrtcGetErrorString(result).decode()}")

    def version(self):
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
        return f"{major.value}.{minor.value}"

    def buffer(self, program, size_function, get_function):
        size = ctypes.c_size_t()
        self.check(getattr(self.library, size_function)(program, ctypes.byref(size)), size_function)
        data = ctypes.create_string_buffer(max(size.value, 1))
        self.check(getattr(self.library, get_function)(program, data), get_function)
        return data.raw[: size.value]

    def compile(self, source, name, options):
        """Returns (succeeded, log, cubin)."""
        program = ctypes.c_void_p()
        self.check(
            self.library.nvrtcCreateProgram(
                ctypes.byref(program), source.encode(), name.encode(), 0, None, None
            ),
            "nvrtcCreateProgram",
        )
        try:
            encoded = [option.encode() for option in options]
            arguments = (ctypes.c_char_p * len(encoded))(*encoded)
            result = self.library.nvrtcCompileProgram(program, len(encoded), arguments)
            log = self.buffer(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
            cubin = b"" if result else self.buffer(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
            return result == 0, log.rstrip(b"\0").decode(errors="replace").strip(), cubin
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def find_library(root):
    found = sorted(root.glob("nvidia/*nvrtc*/lib/libnvrtc.so.12")) + sorted(root.glob("**/libnvrtc.so.12"))
    if not found:
        sys.exit(f"{root} holds no libnvrtc.so.12; install nvidia-cuda-nvrtc-cu12 there (see --help)")
    return found[0]


def find_includes(root):
    """Every include folder of the wheels. Those of the runtime and of CCCL must be there."""
    includes = sorted(path for path in root.glob("nvidia/*/include") if path.is_dir())
    for header, wheel in (
        ("cuda_bf16.h", "nvidia-cuda-runtime-cu12"),
        ("cuda/std/cstdint", "nvidia-cuda-cccl-cu12"),
    ):
        if not any((include / header).exists() for include in includes):
            sys.exit(f"{root} holds no {header}; install {wheel} there (see --help)")
    return includes


def strip_comments_and_strings(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', " ", text, flags=re.DOTALL)


def device_part(text):
    """The text above the host marker, with its open namespaces closed."""
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        if line.strip() == HOST_MARKER:
            device = "".join(lines[:index])
            code = strip_comments_and_strings(device)
            return device + "}\n" * (code.count("{") - code.count("}"))
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="folder of the installed wheels")
    parser.add_argument("--arch", action="append", help="target architecture; repeatable (default: sm_90a)")
    parser.add_argument("--std", default="c++17", help="language standard (default: c++17)")
    parser.add_argument("--log", type=pathlib.Path, help="file to write if all compiled without a warning")
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="FILE")
    arguments = parser.parse_args()

    nvrtc = Nvrtc(find_library(arguments.root))
    version = nvrtc.version()
    include_options = [
        f"--include-path={path}"
        for path in [REPOSITORY, REPOSITORY / "include", REPOSITORY / "src", *find_includes(arguments.root)]
    ]
    lines = []
    failed = False
    for path in arguments.files:
        source = device_part(path.read_text(encoding="utf-8"))
        for architecture in arguments.arch or ["sm_90a"]:
            # Warnings stay warnings, so that all of them reach the log. A log that is not empty counts as a failure.
            options = [f"--gpu-architecture={architecture}", f"--std={arguments.std}", "--ptxas-options=-warn-spills"]
            start = time.monotonic()
            succeeded, log, cubin = nvrtc.compile(source, path.name, options + include_options)
            seconds = time.monotonic() - start
            clean = succeeded and not log
            verdict = "ok" if clean else "WARNING" if succeeded else "ERROR"
            lines.append(f"{path} | NVRTC {version} | {architecture} | {len(cubin)} bytes | {seconds:.1f} s | {verdict}")
            if not clean or not arguments.log:
                print("\n".join(filter(None, [lines[-1], log])), flush=True)
            failed = failed or not clean
    if arguments.log and not failed:
        arguments.log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
