"""The diagrams of docs/library.md: library_parts.svg, library_swap_ab.svg, library_split_k.svg and library_choice.svg.

tools/plot.py draws them. They show what the sources say: read_...() looks for each name and text in the file that a
picture names beside it, so a picture cannot outlive its source. The rest follows by arithmetic.
"""

import dataclasses
import math
import re

import chart_style
from chart_style import BACKGROUND, BLUE, GRID, INK, MUTED, ORANGE, PALE_BLUE, PALE_ORANGE
from ladder_results import ResultsError
from plot_primer import draw_squares
from plot_shared_memory import add_box, new_canvas, write

SOURCES = "../../src"  # from the folder of the images
SMS = 132  # of an H100 and of an H200
WGMMA_M = 64


def source_of(folder, name):
    return (folder / SOURCES / name).resolve().read_text(encoding="utf-8")


def check_sources(folder, named):
    """Whether each file holds what a picture says about it. named: {file: texts}."""
    for name, texts in named.items():
        source = source_of(folder, name)
        for text in texts:
            if text not in source:
                raise ResultsError(f"src/{name} does not have '{text}', which a picture shows")


def constant(folder, name, identifier):
    match = re.search(rf"\b{identifier} = (\d+);", source_of(folder, name))
    if match is None:
        raise ResultsError(f"src/{name} has no constant {identifier}")
    return int(match[1])


def draw_arrow(axes, start, end, **style):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.0, "shrinkA": 0,
                                              "shrinkB": 0, **style})


# --- The parts ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Part:
    title: str
    lines: tuple
    file: str  # below src/gemm, or src/device


# The parts of the example, the cooperative kernel of one tile N, and what must be in their files.
CONFIGURATION = (("cooperative", "the kernel"), ("128x128", "tile, accumulators"), ("s6", "stages of the ring"),
                 ("c2x1", "who shares loads"), ("or k2", "who shares K"))
SCHEDULER = Part("scheduler warp", ("finds the next tile", "in the raster order"), "device/tile_scheduler.hpp")
PRODUCER = Part("producer warp", ("waits for a free stage,", "starts the TMA loads"), "gemm/kernel/cooperative.cuh")
MAINLOOP = Part("main loop", ("waits for a full stage,", "issues wgmmas"), "gemm/mainloop/mainloop.cuh")
EPILOGUE = Part("epilogue", ("alpha, C, bias, activation;", "rounds and stages D"), "gemm/epilogue/epilogue.cuh")
QUEUE = Part("tile queue", (), "device/tile_queue.cuh")
RING = Part("ring of stages", (), "device/pipeline.cuh")
STAGING = Part("staging buffers", (), "gemm/kernel/cooperative.cuh")
PARTS = {
    SCHEDULER: ("supertile_order", "hilbert_order"), PRODUCER: ("producer_wait_uniform", "load_operand", "setmaxnreg_dec"),
    MAINLOOP: ("consumer_wait", "wgmma_commit_group"), EPILOGUE: ("finish_and_store",), QUEUE: ("receive_uniform", "send"),
    RING: ("producer_announce", "consumer_release"), STAGING: ("StagingQueue",),
}


@dataclasses.dataclass(frozen=True)
class Parts:
    configuration: tuple
    parts: tuple


def read_parts(folder):
    for part, texts in PARTS.items():
        check_sources(folder, {part.file: texts})
    return Parts(CONFIGURATION, tuple(PARTS))


def draw_part(axes, left, top, width, height, part, fill, edge):
    add_box(axes, left, top, width, height, fill, edgecolor=edge, linewidth=0.9)
    axes.text(left + 0.1, top + 0.2, part.title, fontsize=9.5)
    for i, line in enumerate(part.lines):
        axes.text(left + 0.1, top + 0.41 + 0.17 * i, line, fontsize=8)
    axes.text(left + 0.1, top + height - 0.09, part.file, fontsize=7.5, color=MUTED)


def draw_parts(parts, path):
    title = "How the parts of a kernel compose: the cooperative kernel of one tile N"
    caption = ("Top: a configuration, and what each part of its name decides. Blue: warps of a CTA, with their roles. Orange: shared "
               "memory.\nAlong the dashed arrow the warp only starts loads. The grey names are files below src/. "
               "gemm/kernel/cooperative.cuh assigns the roles.")
    figure, axes = new_canvas(5.55 + chart_style.caption_height(caption))
    chip, left = 1.62, 0.3
    for i, (name, decides) in enumerate(parts.configuration):
        x = left + (chip + 0.075) * i
        add_box(axes, x, 0.5, chip, 0.3, BLUE)
        write(axes, x + chip / 2, 0.65, name, fontsize=9.5, color=BACKGROUND)
        write(axes, x + chip / 2, 0.95, decides, fontsize=8.5)
    top = 1.2
    add_box(axes, 0.3, top, 8.4, 3.65, "none", edgecolor=MUTED, linewidth=0.9)
    axes.text(0.42, top + 0.22, "a CTA: gemm/kernel/cooperative.cuh", fontsize=8.5, color=MUTED)
    columns, width = (0.45, 3.35, 6.2), 2.25
    shared = 2.1
    rows = (top + 0.4, top + 1.5, top + 2.6)
    high = 0.9
    draw_part(axes, columns[0], rows[0], width, high, SCHEDULER, PALE_BLUE, BLUE)
    draw_part(axes, columns[0], rows[1], width, high, PRODUCER, PALE_BLUE, BLUE)
    draw_part(axes, columns[1], rows[0], shared, high, QUEUE, PALE_ORANGE, ORANGE)
    draw_part(axes, columns[1], rows[1], shared, high, RING, PALE_ORANGE, ORANGE)
    draw_part(axes, columns[1], rows[2], shared, high, STAGING, PALE_ORANGE, ORANGE)
    for i in range(6):
        for j, name in enumerate("AB"):
            add_box(axes, columns[1] + 0.1 + 0.315 * i, rows[1] + 0.3 + 0.2 * j, 0.3, 0.19, ORANGE)
            write(axes, columns[1] + 0.25 + 0.315 * i, rows[1] + 0.395 + 0.2 * j, name, fontsize=8, color=BACKGROUND)
    write(axes, columns[1] + 0.1, rows[2] + 0.45, "rows of D, 64 columns", ha="left", fontsize=8)
    write(axes, columns[1] + 0.1, rows[0] + 0.45, "two places for a tile", ha="left", fontsize=8)
    add_box(axes, columns[2] - 0.1, rows[0], width + 0.2, rows[2] + high - rows[0] + 0.05, "none", edgecolor=BLUE, linewidth=0.9)
    axes.text(columns[2], rows[0] + 0.2, "consumer warpgroups", fontsize=9.5)
    axes.text(columns[2], rows[0] + 0.41, "one or two, on one tile", fontsize=8)
    draw_part(axes, columns[2], rows[1], width, high, MAINLOOP, PALE_BLUE, BLUE)
    draw_part(axes, columns[2], rows[2], width, high, EPILOGUE, PALE_BLUE, BLUE)
    draw_arrow(axes, (columns[0] + width, rows[0] + 0.45), (columns[1], rows[0] + 0.45))
    draw_arrow(axes, (columns[1] + shared, rows[0] + 0.45), (columns[2] - 0.1, rows[0] + 0.45))
    draw_arrow(axes, (columns[1], rows[0] + 0.8), (columns[0] + width, rows[1] + 0.12))
    draw_arrow(axes, (columns[0] + width, rows[1] + 0.45), (columns[1], rows[1] + 0.45), linestyle="--")
    draw_arrow(axes, (columns[1] + shared, rows[1] + 0.45), (columns[2], rows[1] + 0.45))
    draw_arrow(axes, (columns[2] + 0.3, rows[1] + high), (columns[2] + 0.3, rows[2]))
    write(axes, columns[2] + 0.38, (rows[1] + high + rows[2]) / 2, "accumulators, in registers", ha="left", fontsize=8)
    draw_arrow(axes, (columns[2], rows[2] + 0.45), (columns[1] + shared, rows[2] + 0.45))
    bottom = top + 3.9
    for x, wide, text in ((columns[0], width, "A and B in global memory"), (columns[1], shared, "D in global memory")):
        add_box(axes, x, bottom, wide, 0.3, GRID, edgecolor=MUTED, linewidth=0.8)
        write(axes, x + wide / 2, bottom + 0.15, text, fontsize=8.5)
    draw_arrow(axes, (columns[0] + 1.6, bottom), (columns[1], rows[1] + 0.75))
    write(axes, columns[0] + 1.75, rows[2] + 0.5, "TMA loads", ha="right", fontsize=8)
    draw_arrow(axes, (columns[1] + 0.3, rows[2] + high), (columns[1] + 0.3, bottom))
    axes.text(columns[1] + shared + 0.1, bottom + 0.19, "a TMA store", fontsize=8)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, parts)


# --- Swap-AB -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How tiles of one size cover D."""
    m: int
    n: int
    block_m: int
    block_n: int

    def grid(self):
        return math.ceil(self.m / self.block_m), math.ceil(self.n / self.block_n)

    def tiles(self):
        return math.prod(self.grid())

    def waves(self):
        return math.ceil(self.tiles() / SMS)


@dataclasses.dataclass(frozen=True)
class SwapAB:
    small_m: int
    small_n: int  # columns of D that the picture shows
    plain: Tiling
    swapped: Tiling


def swapped_kernels(folder):
    """kSwappedKernels and kSmallSwappedKernels, as tuples (consumers, block_m, block_n, stages)."""
    source = source_of(folder, "gemm/instances/cooperative_configs.hpp")
    arrays = re.findall(r"k(?:Small)?SwappedKernels = \{(.*?)\};", source, re.DOTALL)
    if len(arrays) != 2:
        raise ResultsError("cooperative_configs.hpp has not both kSwappedKernels and kSmallSwappedKernels")
    # divided_config() has two consumers and does not name them.
    configs = "".join(arrays).replace("divided_config(", "swapped_config(2, ")
    return tuple(tuple(map(int, values.split(","))) for values in re.findall(r"swapped_config\(([\d, ]+)\)", configs))


def read_swap_ab(folder):
    m, n = 2170, 1024
    swapped = Tiling(m, n, 160, 128)
    if (swapped.block_m, swapped.block_n) not in [kernel[1:3] for kernel in swapped_kernels(folder)]:
        raise ResultsError("the tile of library_swap_ab is not compiled")
    check_sources(folder, {"gemm/kernel/cooperative.cuh": ("Operands<T, kMajorB, kMajorA>",),
                           "gemm/kernel/small_m.cuh": ("Config::kWgmmaN",)})
    return SwapAB(16, 128, Tiling(m, n, 128, 128), swapped)


def draw_wgmma(axes, left, top, scale, size, used, words):
    """A wgmma's D, of which some rows and columns are used. words: the title, and what M and N are."""
    (rows, columns), (used_rows, used_columns) = size, used
    name, along_m, along_n = words
    axes.text(left, top - 0.42, name, fontsize=9.5)
    axes.text(left, top - 0.12, along_n, fontsize=8, color=MUTED)
    add_box(axes, left, top, columns * scale, rows * scale, GRID)
    add_box(axes, left, top, used_columns * scale, used_rows * scale, BLUE)
    for i, line in enumerate(along_m):
        axes.text(left + columns * scale + 0.1, top + 0.14 + 0.17 * i, line, fontsize=8, color=MUTED if i < 2 else INK)


def draw_tiling(axes, left, top, scale, tiling, name):
    axes.text(left, top - 0.5, name, fontsize=9.5)
    rows, columns = tiling.grid()
    first = min(tiling.tiles(), SMS)
    waves = tiling.waves()
    axes.text(left, top - 0.28, f"{rows} x {columns} = {tiling.tiles()} tiles", fontsize=8)
    axes.text(left, top - 0.1, "one wave" if waves == 1 else f"{SMS}, then {tiling.tiles() - SMS} in a second wave", fontsize=8)
    cell = (tiling.block_m * scale, tiling.block_n * scale)
    draw_squares(axes, left, top, (rows, columns), cell, tiling.tiles(), BLUE, PALE_BLUE)
    for number in range(first, tiling.tiles()):
        row, column = divmod(number, columns)
        add_box(axes, left + cell[1] * column, top + cell[0] * row, cell[1], cell[0], ORANGE, linewidth=0.6)
    add_box(axes, left, top, tiling.n * scale, tiling.m * scale, "none", edgecolor=INK, linewidth=1.0)


def draw_swap_ab(swap, path):
    title = "Swap-AB: B supplies wgmma's M, which is always 64, and A its N"
    caption = (f"Left: D of one wgmma. Blue: elements of D that exist. Grey: work that is lost. Right: tiles of D, {swap.plain.m}x"
               f"{swap.plain.n}, on {SMS} SMs.\nPale blue: the first wave. Orange: the second. The frame around the tiles is D. Computed.")
    figure, axes = new_canvas(4.0 + chart_style.caption_height(caption))
    scale, left = 0.0135, 0.3
    m, n = swap.small_m, swap.small_n
    share = 100 * m / WGMMA_M
    draw_wgmma(axes, left, 1.0, scale, (WGMMA_M, n), (m, n),
               (f"M = {m}, A·B", (f"M = {WGMMA_M}:", f"{m} rows of A", f"{share:.0f} % used"), f"N = {n}: columns of B"))
    draw_wgmma(axes, left, 2.55, scale, (WGMMA_M, m), (WGMMA_M, m),
               (f"M = {m}, swap-AB", (f"M = {WGMMA_M}: columns of B", "", "100 % used"), f"N = {m}: rows of A"))
    axes.text(left, 3.75, "Its accumulators hold the transpose of D.", fontsize=8)
    scale = 0.00122
    for x, tiling, name in ((3.8, swap.plain, f"Tiles of {swap.plain.block_m}x{swap.plain.block_n}"),
                            (6.55, swap.swapped, f"Swap-AB, {swap.swapped.block_m}x{swap.swapped.block_n}")):
        draw_tiling(axes, x, 1.1, scale, tiling, name)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, swap)


# --- Split-K -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class SplitK:
    ctas: int  # of a cluster
    clusters: int  # that share K through the workspace
    most: int  # CTAs of a cluster that may share K


def read_split_k(folder):
    check_sources(folder, {"gemm/epilogue/split_k_exchange.cuh": ("piece % split", "st_async", "sums_have_come"),
                           "gemm/epilogue/reduce_partials.cu": ("reduce_partials_kernel",)})
    return SplitK(4, 3, constant(folder, "gemm/config.hpp", "kMaxSplitK"))


SHARE = 0.62  # in inches: a CTA's share of a tile


def draw_split_k(split, path):
    title = "Split-K: through distributed shared memory, and through a workspace"
    caption = ("Left: a row is a CTA, and a column is a share of the tile. Orange: the CTA's own partial, which stays in its registers. "
               "Blue: it\nsends the partial to the shared memory of the share's owner by st.async. "
               f"Up to {split.most} CTAs of a cluster share K.\nRight: each cluster writes its partials to the workspace, and a second "
               "kernel adds them up and finishes D.")
    figure, axes = new_canvas(4.15 + chart_style.caption_height(caption))
    count = split.ctas
    left, top = 1.65, 1.25
    axes.text(0.3, 0.62, f"A cluster of {count} CTAs, one tile of D", fontsize=9.5)
    for share in range(count):
        write(axes, left + SHARE * (share + 0.5), top - 0.16, f"share {share}", fontsize=8, color=MUTED)
    for cta in range(count):
        y = top + 0.42 * cta
        axes.text(0.3, y + 0.24, f"CTA {cta}: part {cta} of K", fontsize=8)
        for share in range(count):
            own = cta == share
            add_box(axes, left + SHARE * share, y, SHARE, 0.42, ORANGE if own else PALE_BLUE,
                    edgecolor=ORANGE if own else BLUE, linewidth=0.8)
            write(axes, left + SHARE * (share + 0.5), y + 0.21, "own" if own else f"to {share}", fontsize=8,
                  color=BACKGROUND if own else INK)
    y = top + 0.42 * count
    for share in range(count):
        x = left + SHARE * (share + 0.5)
        draw_arrow(axes, (x, y + 0.03), (x, y + 0.4))
        add_box(axes, left + SHARE * share, y + 0.4, SHARE, 0.3, ORANGE)
        write(axes, x, y + 0.55, f"CTA {share}", fontsize=8, color=BACKGROUND)
    axes.text(0.3, y + 0.26, "adds up, 0 to 3", fontsize=8)
    axes.text(0.3, y + 0.6, "stores D", fontsize=8)
    x, wide = 4.95, 1.1
    axes.text(x, 0.62, f"{split.clusters} clusters, one tile of D", fontsize=9.5)
    for cluster in range(split.clusters):
        y = top - 0.1 + 0.72 * cluster
        add_box(axes, x, y, wide, 0.55, PALE_BLUE, edgecolor=BLUE, linewidth=0.9)
        axes.text(x + 0.08, y + 0.22, f"cluster {cluster}", fontsize=8.5)
        axes.text(x + 0.08, y + 0.42, f"part {cluster} of K", fontsize=8, color=MUTED)
        add_box(axes, x + 1.6, y, 0.95, 0.55, GRID, edgecolor=MUTED, linewidth=0.9)
        write(axes, x + 2.075, y + 0.28, "fp32 partials", fontsize=8.5)
        draw_arrow(axes, (x + wide, y + 0.28), (x + 1.6, y + 0.28))
        draw_arrow(axes, (x + 2.55, y + 0.28), (x + 2.85, top + 0.9))
    write(axes, x + 2.075, top - 0.3, "workspace", fontsize=8, color=MUTED)
    add_box(axes, x + 2.85, top + 0.45, 0.9, 0.9, PALE_BLUE, edgecolor=BLUE, linewidth=0.9)
    for i, line in enumerate(("second", "kernel:", "adds up")):
        write(axes, x + 3.3, top + 0.68 + 0.22 * i, line, fontsize=8.5)
    draw_arrow(axes, (x + 3.3, top + 1.35), (x + 3.3, top + 1.85))
    add_box(axes, x + 2.85, top + 1.85, 0.9, 0.3, ORANGE)
    write(axes, x + 3.3, top + 2.0, "D", fontsize=9, color=BACKGROUND)
    axes.text(0.3, 4.05, "An mbarrier counts the bytes that a CTA expects.", fontsize=8, va="bottom")
    axes.text(x, 4.05, "In each cluster the CTAs share K as on the left.", fontsize=8, va="bottom")
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, split)


# --- The choice --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    source: str  # where the configuration comes from
    says: str  # what `matmul explain` prints


@dataclasses.dataclass(frozen=True)
class Choice:
    steps: tuple
    entries: tuple  # how many the tuned tables have


def read_choice(folder):
    tables = tuple(len(re.findall(r"^ *\{\{", source_of(folder, f"gemm/heuristics/tuned_{gpu}.inc"), re.MULTILINE))
                   for gpu in ("h100", "h200"))
    check_sources(folder, {
        "gemm/host/wgmma_backend.cpp": ("asked for", "chosen by ", "measured to be fast for this shape on ",
                                        "estimated to be the fastest"),
        "gemm/heuristics/loaded_tuning.cpp": ("the tuning file '",), "gemm/plan.cpp": ("HGEMM_CONFIG",)})
    return Choice((
        Step("GemmOptions::config", "the program names it", "asked for"),
        Step("HGEMM_CONFIG", "the environment names it", "asked for"),
        Step("Tuning files", "load_tuning_file(), the last one first", "chosen by the tuning file '…'"),
        Step("HGEMM_TUNING_FILE", "a file that the environment names", "chosen by the tuning file '…'"),
        Step("Tuned table", f"H100: {tables[0]} entries; H200: {tables[1]}", "measured to be fast for this shape on …"),
        Step("Cost model", "the smallest estimate of all", "estimated to be the fastest"),
    ), tables)


def draw_choice(choice, path):
    title = "How a plan chooses its configuration: the first of these that has one"
    caption = ("An arrow down: nothing is named there, or it does not suit this GEMM. If GemmOptions::config does not suit it, create() "
               "fails.\nOn the right: what matmul explain says then.")
    pitch, top = 0.62, 0.85
    figure, axes = new_canvas(top + pitch * len(choice.steps) + 0.05 + chart_style.caption_height(caption))
    names, says = 0.3, 5.2
    axes.text(names, top - 0.17, "asks", fontsize=8, color=MUTED)
    axes.text(says, top - 0.17, "matmul explain", fontsize=8, color=MUTED)
    for i, step in enumerate(choice.steps):
        y = top + pitch * i
        last = i + 1 == len(choice.steps)
        add_box(axes, names, y, 4.35, 0.4, ORANGE if last else PALE_BLUE, edgecolor=ORANGE if last else BLUE, linewidth=0.9)
        ink = BACKGROUND if last else INK
        axes.text(names + 0.1, y + 0.2, step.name, fontsize=9.5, va="center", color=ink)
        axes.text(names + 1.85, y + 0.2, step.source, fontsize=8, va="center", color=ink)
        draw_arrow(axes, (names + 4.35, y + 0.2), (says - 0.08, y + 0.2))
        axes.text(says, y + 0.2, step.says, fontsize=8.5, va="center")
        if not last:
            draw_arrow(axes, (names + 0.6, y + 0.4), (names + 0.6, y + pitch))
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, choice)


PICTURES = {"library_parts": (read_parts, draw_parts), "library_swap_ab": (read_swap_ab, draw_swap_ab),
            "library_split_k": (read_split_k, draw_split_k), "library_choice": (read_choice, draw_choice)}
