#!/usr/bin/env python3
"""Draws the pipeline of one CTA as SVG, from a trace of the emulator: who fills a stage, waits, multiplies and stores.

    ./matmul 11 --device emulator --shape 512x256x512 --seed 3 --trace t.json
    ./dev plots timeline t.json pipeline.svg [--cta 0] [--blocks 0-7] [--axis order|steps] [--title TEXT]

The tool takes traces of kernels with a ring of full and empty barriers: versions 3 to 11 of the Hopper ladder. It
counts K blocks through all tiles of the CTA, and --blocks chooses the ones that the picture shows. The trace counts
steps of the emulator's scheduler, which picks at random who runs next. The number of steps says nothing about a GPU.
The axis therefore gives each begin and each end the same room: the picture shows what happened before what, and what
happened at the same time. `--axis steps` shows the steps. The same trace and the same matplotlib, the one that `./dev
plots` installs, give the same file.
"""

import argparse
import bisect
import dataclasses
import json
import pathlib
import re
import sys

import chart_style

BARRIER_BYTES = 8

FILLING = chart_style.BLUE
FULL = chart_style.GRID
MULTIPLYING = chart_style.ORANGE
STORING = chart_style.GREEN
WAITING = chart_style.MUTED

LANE = 0.3  # the height of one
LEFT = 0.17  # where the axes begin, of the width
GAP = 0.0006  # at each end of a box, of the axis
SMALLEST_LABEL = 0.0068  # the part of the axis that a digit of a label takes


class TraceError(Exception):
    """The trace cannot be drawn; the message says why."""


@dataclasses.dataclass(frozen=True)
class Span:
    begin: int
    end: int
    block: int = -1  # of K, counted through all tiles; -1: none


@dataclasses.dataclass(frozen=True)
class Ring:
    """The addresses of the barriers by stage."""
    full: tuple
    empty: tuple


@dataclasses.dataclass(frozen=True)
class Timeline:
    """The contents of the picture's lanes, in steps of the scheduler."""
    stages: int
    fills: tuple       # spans: from the issue of the copy that lands last until the stage is full
    holds: tuple       # spans: from then on until all readers have released it
    multiplies: dict   # by warpgroup, spans: its wgmmas of a K block
    waits: dict        # by warpgroup, spans
    issues: tuple      # when copies were issued
    stores: tuple      # spans: TMA stores
    producer: int      # the warpgroup that does not multiply; -1: it never waited

    @property
    def consumers(self):
        return tuple(sorted(self.multiplies))


def read_events(path, cta):
    """The events of one CTA, as (lane, name, detail, begin, end), in the order of their ends."""
    try:
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)["traceEvents"]
    except (ValueError, KeyError, TypeError) as error:
        raise TraceError(f"{path} is not a trace that matmul --trace wrote ({error!r})") from error
    ctas = sorted({event["pid"] for event in raw})
    if cta not in ctas:
        raise TraceError(f"the trace has no CTA {cta}, only {', '.join(map(str, ctas)) or 'none'}")
    events, begun = [], {}
    for event in raw:
        if event["pid"] != cta or event["ph"] == "M":
            continue
        if event["ph"] == "b":
            begun[event["id"]] = event["ts"]
            continue
        begin = begun.pop(event["id"]) if event["ph"] == "e" else event["ts"]
        end = event["ts"] if event["ph"] == "e" else begin + event["dur"]
        events.append((event["cat"], event["name"], event["args"]["detail"], begin, end))
    return sorted(events, key=lambda event: event[4])


def phase_ends(events):
    """The steps at which the phases of each mbarrier ended, by its address."""
    ends = {}
    for lane, name, _, begin, _ in events:
        if lane == "mbarriers":
            phase, address = re.fullmatch(r"phase (\d+) ends at (0x[0-9a-f]+)", name).groups()
            list_of_barrier = ends.setdefault(int(address, 16), [])
            if int(phase) != len(list_of_barrier):
                raise TraceError(f"phase {len(list_of_barrier)} of the mbarrier {address} is missing")
            list_of_barrier.append(begin)
    return ends


def find_ring(events, ends):
    """Finds the barriers. A full barrier's phases end when a copy lands. The empty barriers lie behind the full
    ones."""
    landed = {end for lane, _, _, _, end in events if lane == "TMA loads"}
    full = tuple(address for address in sorted(ends) if landed.issuperset(ends[address]))
    if not full or any(later - earlier != BARRIER_BYTES for earlier, later in zip(full, full[1:])):
        raise TraceError("the trace has no ring of full barriers on which TMA completes")
    empty = tuple(address + BARRIER_BYTES * len(full) for address in full)
    for stage, (full_address, empty_address) in enumerate(zip(full, empty)):
        filled, emptied = ends[full_address], ends.get(empty_address, [])
        if len(emptied) != len(filled) or any(end < begin for begin, end in zip(filled, emptied)) or any(
                begin < end for begin, end in zip(filled[1:], emptied)):
            raise TraceError(f"stage {stage} has no empty barrier that is released after each fill, so the kernel "
                             "has no ring of stages; trace a version from 3 to 11, which have one")
    return Ring(full, empty)


def timeline_of(events):
    ends = phase_ends(events)
    ring = find_ring(events, ends)
    stages = len(ring.full)
    loads = [(begin, end) for lane, _, _, begin, end in events if lane == "TMA loads"]
    issued = {}  # of the copies that land at a time, when the first was
    for begin, end in loads:
        issued[end] = min(begin, issued.get(end, begin))
    fills, holds = [], []
    for stage in range(stages):
        for turn, (full, empty) in enumerate(zip(ends[ring.full[stage]], ends[ring.empty[stage]])):
            block = turn * stages + stage
            fills.append(Span(issued[full], full, block))
            holds.append(Span(full, empty, block))
    num_blocks = len(fills)
    if sorted(span.block for span in fills) != list(range(num_blocks)):
        raise TraceError("the stages of the ring were not filled one after the other")

    wgmmas, waits = {}, {}
    for lane, _, _, begin, end in events:
        if match := re.fullmatch(r"wgmma of warpgroup (\d+)", lane):
            wgmmas.setdefault(int(match[1]), []).append((begin, end))
        elif match := re.fullmatch(r"warpgroup (\d+)", lane):
            waits.setdefault(int(match[1]), []).append(Span(begin, end))
    multiplies = {}
    for warpgroup, spans in wgmmas.items():
        each, rest = divmod(len(spans), num_blocks)
        if rest or not each:
            raise TraceError(f"warpgroup {warpgroup} issued {len(spans)} wgmmas for {num_blocks} K blocks")
        multiplies[warpgroup] = tuple(
            Span(spans[block * each][0], spans[block * each + each - 1][1], block) for block in range(num_blocks))
    if not multiplies:
        raise TraceError("the trace has no wgmma")
    others = [warpgroup for warpgroup in sorted(waits) if warpgroup not in multiplies]
    stores = tuple(Span(begin, end) for lane, _, _, begin, end in events if lane == "TMA stores")
    by_block = lambda span: span.block  # noqa: E731
    return Timeline(stages, tuple(sorted(fills, key=by_block)), tuple(sorted(holds, key=by_block)), multiplies,
                    {warpgroup: tuple(spans) for warpgroup, spans in waits.items()},
                    tuple(sorted({begin for begin, _ in loads})), stores, others[0] if others else -1)


def window_of(timeline, blocks):
    """The first and the last step of the picture. blocks: the first and the last K block, or None for all of them and
    the stores after them."""
    last_block = len(timeline.fills) - 1
    first, last = blocks or (0, last_block)
    if not 0 <= first <= last <= last_block:
        raise TraceError(f"there are no K blocks {first}-{last}, only 0-{last_block}")
    end = timeline.holds[last].end
    if last == last_block:
        end = max([end] + [span.end for span in timeline.stores])
    return timeline.fills[first].begin, end


@dataclasses.dataclass(frozen=True)
class Box:
    span: Span
    color: str
    hatched: bool = False
    label: str = ""


def lanes_of(timeline):
    """From the top, the names of the lanes and their contents."""
    waiting = lambda warpgroup: [Box(span, WAITING, True) for span in timeline.waits.get(warpgroup, ())]  # noqa: E731
    lanes = [("producer waits", waiting(timeline.producer)), ("copies issued", [])]
    for stage in range(timeline.stages):
        boxes = []
        for fill, hold in zip(timeline.fills, timeline.holds):
            if fill.block % timeline.stages != stage:
                continue
            spans = [spans[fill.block] for spans in timeline.multiplies.values()]
            read = Span(max(hold.begin, min(span.begin for span in spans)),
                        min(hold.end, max(span.end for span in spans)), fill.block)
            boxes.append(Box(fill, FILLING, label=str(fill.block)))
            boxes.append(Box(Span(hold.begin, read.begin), FULL))
            boxes.append(Box(read, MULTIPLYING, label=str(fill.block)))
            boxes.append(Box(Span(read.end, hold.end), MULTIPLYING, True))
        lanes.append((f"stage {stage}", boxes))
    for number, warpgroup in enumerate(timeline.consumers):
        name = f"consumer {number}" if len(timeline.consumers) > 1 else "consumer"
        # A warpgroup may wait while its wgmmas run.
        lanes.append((f"{name}: wgmma", [Box(span, MULTIPLYING, label=str(span.block))
                                         for span in timeline.multiplies[warpgroup]]))
        lanes.append((f"{name} waits", waiting(warpgroup)))
    if timeline.stores:
        others = [step for _, boxes in lanes for box in boxes for step in (box.span.begin, box.span.end)]
        lanes.append(("TMA stores", [Box(span, STORING, label=f"{number} stores" if number > 1 else "1")
                                     for span, number in runs_of(timeline.stores, sorted(others))]))
    return lanes


def runs_of(stores, others):
    """Runs of stores, and how many stores each has. Within a run, none of the steps in `others`, which are in order,
    lies between the end of a store and the begin of the next."""
    runs = []
    for store in sorted(stores, key=lambda span: span.begin):
        if runs:
            run, number = runs[-1]
            if bisect.bisect_right(others, run.end) >= bisect.bisect_left(others, store.begin):
                runs[-1] = (Span(run.begin, max(run.end, store.end)), number + 1)
                continue
        runs.append((store, 1))
    return runs


def order_of(lanes, issues, window):
    """A function from steps to places on the axis. Each begin and each end in the window takes the same room."""
    first, last = window
    steps = {first, last, *issues}
    for _, boxes in lanes:
        for box in boxes:
            span = box.span
            steps.update((span.begin, span.end))
            if box.color == STORING:  # room for its label
                steps.update(span.begin + (span.end - span.begin) * i // len(box.label) for i in range(len(box.label)))
    steps = sorted(step for step in steps if first <= step <= last)
    return lambda step: bisect.bisect_left(steps, step)


def draw(timeline, window, axis, title, path):
    # The import is here, so that tests of the data run where matplotlib is not installed.
    import matplotlib
    from matplotlib import patches

    lanes = lanes_of(timeline)
    place = order_of(lanes, timeline.issues, window) if axis == "order" else float
    first, last = (place(step) for step in window)
    top, bottom = 0.62, 0.5 if axis == "steps" else 0.3  # inches
    height = top + bottom + LANE * len(lanes)
    figure = chart_style.new_figure(height)
    matplotlib.rcParams["hatch.linewidth"] = 0.8
    axes = figure.add_axes((LEFT, bottom / height, 0.985 - LEFT, LANE * len(lanes) / height))
    axes.set_xlim(first, last)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_yticks(range(len(lanes)), [name for name, _ in lanes])
    axes.tick_params(axis="y", length=0)
    if axis == "order":
        axes.set_xticks([])
        axes.set_xlabel("order of events in the emulator, not time on a GPU \N{RIGHTWARDS ARROW}", fontsize=8)
    else:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("steps of the emulator's scheduler, not time on a GPU", fontsize=8)
    axes.spines["left"].set_visible(False)

    for lane, (_, boxes) in enumerate(lanes):
        for box in boxes:
            begin, end = (place(min(max(step, window[0]), window[1])) for step in (box.span.begin, box.span.end))
            if end <= begin:
                continue
            begin, end = begin + GAP * (last - first), end - GAP * (last - first)
            axes.add_patch(patches.Rectangle(
                (begin, lane - 0.38), end - begin, 0.76, linewidth=0.7 if box.hatched else 0,
                facecolor="none" if box.hatched else box.color, edgecolor=box.color,
                hatch="////" if box.hatched else None))
            if (end - begin) / (last - first) > SMALLEST_LABEL * len(box.label):
                axes.text((begin + end) / 2, lane, box.label, color=chart_style.BACKGROUND, ha="center",
                          va="center_baseline", fontsize=7)
    for step in timeline.issues:
        if window[0] <= step <= window[1]:
            axes.plot([place(step)] * 2, [1 - 0.38, 1 + 0.38], color=FILLING, linewidth=1.6)

    handles = [patches.Patch(facecolor=FILLING, label="in flight"),
               patches.Patch(facecolor=FULL, label="full"),
               patches.Patch(facecolor=MULTIPLYING, label="wgmma"),
               patches.Patch(facecolor="none", edgecolor=MULTIPLYING, hatch="////", label="read, not released"),
               patches.Patch(facecolor="none", edgecolor=WAITING, hatch="////", label="waits")]
    if timeline.stores:
        handles.append(patches.Patch(facecolor=STORING, label="stores"))
    figure.legend(handles=handles, loc="upper right", ncols=len(handles), frameon=False, fontsize=8,
                  bbox_to_anchor=(0.985, 1 - 0.28 / height), borderaxespad=0, handlelength=1.4, columnspacing=1.2)
    figure.text(0.012, 1 - 0.07 / height, title, fontsize=10, va="top")
    chart_style.save(figure, path, title, (timeline, window))


def parse_blocks(text):
    match = re.fullmatch(r"(\d+)-(\d+)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a range of K blocks; type for example 0-7")
    return int(match[1]), int(match[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0].replace("\n", " "))
    parser.add_argument("trace", type=pathlib.Path, help="trace that matmul --device emulator --trace wrote")
    parser.add_argument("svg", type=pathlib.Path, help="picture to write")
    parser.add_argument("--cta", type=int, default=0, help="CTA whose pipeline to draw (default: 0)")
    parser.add_argument("--blocks", type=parse_blocks, metavar="FIRST-LAST", help="K blocks to show (default: all)")
    parser.add_argument("--axis", choices=("order", "steps"), default="order", help="unit of the axis (default: order)")
    parser.add_argument("--title", default="", help="title of the picture (default: the CTA)")
    arguments = parser.parse_args()

    def draw_timeline():
        timeline = timeline_of(read_events(arguments.trace, arguments.cta))
        draw(timeline, window_of(timeline, arguments.blocks), arguments.axis, arguments.title or f"CTA {arguments.cta}",
             arguments.svg)
        print(arguments.svg)

    return chart_style.exit_status_of("plot_timeline.py", draw_timeline, TraceError)


if __name__ == "__main__":
    sys.exit(main())
