"""The parts of the project include each other in one direction: what a part may include stands in MAY_INCLUDE."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)
SOURCES = {".cpp", ".cu", ".cuh", ".h", ".hpp", ".inc"}

# A part is a folder, of src if it has no other; the longest that fits counts. Each may include itself.
BASE = {"hopper_gemm", "ptx", "common", "device"}
GEMM = ["gemm/config", "gemm/kernel_args", "gemm/problem", "gemm/instances/mixed_n_configs", "gemm/epilogue",
        "gemm/scheduler", "gemm/mainloop", "gemm/kernel", "gemm/instances", "gemm/heuristics", "gemm/host", "gemm"]
LIBRARY = BASE | set(GEMM)
MAY_INCLUDE = {
    "hopper_gemm": set(),
    "ptx": set(),
    "common": {"hopper_gemm"},
    "device": {"hopper_gemm", "ptx", "common"},
    "ladder": BASE,
    # Within the library, each may include those that stand before it.
    **{part: BASE | set(GEMM[:number]) for number, part in enumerate(GEMM)},
    "registry": LIBRARY | {"ladder"},
    "verify": BASE | {"registry"},
    "benchmark": BASE | {"registry", "ladder", "verify"},
    "emulator": BASE | {"registry", "ladder"},
    "diagrams": BASE,
    "cli": LIBRARY | {"registry", "ladder", "verify", "benchmark", "emulator"},
}


def part_of(path):
    """The part that a path belongs to, as includes spell it; nothing for headers from elsewhere."""
    parts = [part for part in MAY_INCLUDE if path.startswith((part + "/", part + ".", part + "_"))]
    return max(parts, key=len, default=None)


def spelled(path):
    """How others include a file of the project."""
    relative = path.relative_to(ROOT)
    return relative.relative_to(relative.parts[0]).as_posix() if relative.parts[0] in ("src", "include") else relative.as_posix()


class Dependencies(unittest.TestCase):
    def test_go_one_way(self):
        edges = 0
        for folder in ("include", "ptx", "src"):
            for path in sorted((ROOT / folder).rglob("*")):
                # What the emulator has in the place of a header stands in that header's part.
                if path.suffix not in SOURCES or (ROOT / "src/emulator/include") in path.parents:
                    continue
                part = part_of(spelled(path))
                self.assertIsNotNone(part, f"{path.relative_to(ROOT)} belongs to no part")
                for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
                    other = part_of(included)
                    if other is None or other == part:
                        continue
                    edges += 1
                    self.assertIn(other, MAY_INCLUDE[part],
                                  f"{path.relative_to(ROOT)} includes {included}: {part} may not include {other}")
        self.assertGreater(edges, 100, "the project's includes are not spelled as this test takes them")


if __name__ == "__main__":
    unittest.main()
