#!/usr/bin/env python3
"""Draws the project's charts and diagrams as SVG, for light and dark pages.

    tools/plot.py [--check] [--profiles profiles/h200] [--images docs/images] [PICTURE...]

Charts of measurements are drawn from the CSV files of one GPU and stand beside them: hopper, ampere and simt, the speed
of each version of a ladder; squares, speed over size; roofline and other_rooflines; energy; library_epilogues, the
library's speed with fused epilogues in percent of cuBLAS's. Diagrams of how things work are drawn from diagrams.json,
which the project's own code wrote (src/diagrams), and stand beside it: tile_orders, swizzle, smem_descriptor, and the
diagrams of the ladders, in plot_simt.py, plot_ampere.py, plot_hopper.py and plot_schedules.py. The diagrams of
docs/primer.md, in plot_primer.py, come from records and from arithmetic, and those of docs/library.md, in
plot_kernels.py, from the kernels' sources. They stand with the other diagrams.

The tool leaves out a picture without data, unless you named it. It refuses data that must not be published; see
tools/ladder_results.py. The same data and the same matplotlib give the same files. `./dev plots` installs that
matplotlib and runs the tool. With --check it draws nothing, needs no matplotlib, and fails if a picture is missing or
shows other data than today's.
"""

import argparse
import pathlib
import sys

import chart_style
import ladder_results
import plot_ampere
import plot_hopper
import plot_kernels
import plot_ladder
import plot_library
import plot_measurements
import plot_primer
import plot_schedules
import plot_shared_memory
import plot_simt
import plot_tile_orders
from ladder_results import NotMeasuredError, ResultsError

DEFAULT_IMAGES = ladder_results.ROOT / "docs/images"

# For each kind of folder, its pictures with two functions: one reads the data of a picture from the folder, and one
# draws the picture into it.
PICTURES = {
    "profiles": {**plot_ladder.PICTURES, **plot_measurements.PICTURES, **plot_library.PICTURES},
    "images": {**plot_tile_orders.PICTURES, **plot_shared_memory.PICTURES, **plot_simt.PICTURES,
               **plot_ampere.PICTURES, **plot_hopper.PICTURES, **plot_schedules.PICTURES, **plot_primer.PICTURES,
               **plot_kernels.PICTURES},
}


def read_pictures(names, folders):
    """The pictures to draw, as {path: (what, how)}. Reads everything before anything is drawn."""
    known = [name for pictures in PICTURES.values() for name in pictures]
    for name in names:
        if name not in known:
            raise ResultsError(f"there is no picture '{name}', only {', '.join(known)}")
    found = {}
    for kind, pictures in PICTURES.items():
        for name, (read, draw) in pictures.items():
            if names and name not in names:
                continue
            try:
                found[folders[kind] / f"{name}.svg"] = read(folders[kind]), draw
            except (FileNotFoundError, NotMeasuredError):
                if names:
                    raise
    if not found:
        raise ResultsError(f"there is nothing to draw in {' and '.join(map(str, folders.values()))}")
    return found


def check(pictures):
    stale = [path for path, (what, _) in pictures.items()
             if not path.is_file() or chart_style.data_comment(what) not in path.read_text(encoding="utf-8")]
    if stale:
        raise ResultsError(f"these pictures do not show today's data: {', '.join(map(str, stale))}; "
                           "type ./dev plots and commit the result")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="*", metavar="PICTURE",
                        help="names of pictures, such as roofline (default: all that have data)")
    parser.add_argument("--profiles", type=pathlib.Path, default=ladder_results.DEFAULT_FOLDER,
                        help="the folder of the CSV files (default: profiles/h200)")
    parser.add_argument("--images", type=pathlib.Path, default=DEFAULT_IMAGES,
                        help="the folder of diagrams.json (default: docs/images)")
    parser.add_argument("--check", action="store_true", help="draw nothing; fail if a picture does not show these data")
    arguments = parser.parse_args()
    folders = {"profiles": arguments.profiles, "images": arguments.images}

    def draw_pictures():
        pictures = read_pictures(arguments.pictures, folders)
        if arguments.check:
            check(pictures)
            return
        for path, (what, draw) in pictures.items():
            draw(what, path)
            print(path)

    return chart_style.exit_status_of("plot.py", draw_pictures, ResultsError)


if __name__ == "__main__":
    sys.exit(main())
