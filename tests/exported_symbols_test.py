"""Fails where a shared library shows more, or less, of itself than its interface.

usage: exported_symbols_test.py LIBRARY HEADER...

Allowed are hgemm_*, GemmPlan and the functions beside it. Every function that a header declares with HG_API and that begins
with hgemm_ must be there.
"""

import re
import subprocess
import sys

ALLOWED = re.compile(r"hgemm_\w+|hopper_gemm::gemm\(.*|hopper_gemm::interleave_gate_and_up\(.*|"
                     r"hopper_gemm::load_(tuning|probe)_file\(.*|hopper_gemm::GemmPlan::.*")
DECLARATION = re.compile(r"^HG_API [\w\s*]*?\b(hgemm_\w+)\(", re.MULTILINE)


def exported_symbols(library):
    listing = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split(maxsplit=2)[2] for line in listing.splitlines()}


def main(library, *headers):
    symbols = exported_symbols(library)
    declared = set()
    for header in headers:
        with open(header, encoding="utf-8") as file:
            declared.update(DECLARATION.findall(file.read()))
    faults = [f"is exported, and no part of the interface: {name}" for name in sorted(symbols) if not ALLOWED.fullmatch(name)]
    faults += [f"is declared in a header, but not exported: {name}" for name in sorted(declared - symbols)]
    if not declared or not any(name.startswith("hopper_gemm::GemmPlan::run(") for name in symbols):
        faults.append("no interface was found")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
