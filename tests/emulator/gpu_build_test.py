"""What nvcc compiles must not see the emulator: python3 gpu_build_test.py <compile_commands.json>

The GPU's code is the same with the emulator and without it, since nothing of it is on nvcc's command lines or in the
headers that they read.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def includes_emulator(path):
    return re.search(r'#include\s+[<"]emulator/', path.read_text(encoding="utf-8")) is not None


def main():
    commands = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    by_nvcc = [entry for entry in commands if re.search(r"(^|[\s/])nvcc\s", entry["command"])]
    faults = []
    if len(by_nvcc) < 12:
        faults.append(f"{sys.argv[1]} names {len(by_nvcc)} files for nvcc: where is the ladder?")
    for entry in by_nvcc:
        if re.search(r"-(I|isystem)\s*=?\S*src/emulator", entry["command"]):
            faults.append(f"nvcc compiles {entry['file']} with a folder of the emulator")
    device_code = [*ROOT.glob("ptx/*.cuh"), *ROOT.glob("include/hopper_gemm/*"), *ROOT.glob("src/device/*"), *ROOT.glob("src/ladder/**/*.*")]
    faults += [f"{path} includes the emulator" for path in device_code if includes_emulator(path)]
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
