#!/usr/bin/env python3
"""Draws the project's charts and diagrams as SVG, for light and dark pages.

    tools/plot.py [--profiles profiles/h200] [--images docs/images] [PICTURE...]

Charts of measurements are from the CSV files of one GPU and stand beside them: hopper, ampere and simt, the speed of
each version of a ladder; squares, speed over size; roofline; energy. Diagrams of how things work are from
diagrams.json, which the project's own code wrote (src/diagrams), and stand beside it: tile_orders, swizzle,
smem_descriptor.

A picture whose data is not there is left out, unless it was named. What must not be published is refused, see
tools/ladder_results.py. Run again on the same data with the same matplotlib, it writes the same files. `./dev plots`
installs that matplotlib and runs this.
"""

import argparse
import pathlib
import sys

import chart_style
import ladder_results
import plot_ladder
import plot_measurements
import plot_shared_memory
import plot_tile_orders
from ladder_results import NotMeasuredError, ResultsError

DEFAULT_IMAGES = ladder_results.ROOT / "docs/images"

# By the kind of folder that each picture's data is in and the picture goes to: a function that reads what is drawn from
# the folder, and one that draws it.
PICTURES = {
    "profiles": {**plot_ladder.PICTURES, **plot_measurements.PICTURES},
    "images": {**plot_tile_orders.PICTURES, **plot_shared_memory.PICTURES},
}


def read_pictures(names, folders):
    """What is to be drawn, as {path: (what, how)}; everything is read before anything is drawn."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="*", metavar="PICTURE",
                        help="such as roofline (default: all there is data for)")
    parser.add_argument("--profiles", type=pathlib.Path, default=ladder_results.DEFAULT_FOLDER,
                        help="the folder of the CSV files (default: profiles/h200)")
    parser.add_argument("--images", type=pathlib.Path, default=DEFAULT_IMAGES,
                        help="the folder of diagrams.json (default: docs/images)")
    arguments = parser.parse_args()
    folders = {"profiles": arguments.profiles, "images": arguments.images}

    def draw_pictures():
        for path, (what, draw) in read_pictures(arguments.pictures, folders).items():
            draw(what, path)
            print(path)

    return chart_style.exit_status_of("plot.py", draw_pictures, ResultsError)


if __name__ == "__main__":
    sys.exit(main())
