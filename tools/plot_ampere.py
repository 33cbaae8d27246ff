"""The diagrams of the Ampere ladder: ampere_tiles.svg, ampere_banks.svg, mma_fragments.svg and ampere_stages.svg.

tools/plot.py draws them from diagrams.json, which src/diagrams/ampere_diagrams.cpp computed.
"""

import collections
import dataclasses

import chart_style
from chart_style import BACKGROUND, BLUE, GRID, MUTED, ORANGE, PALE_BLUE, SERIES
from plot_shared_memory import add_box, new_canvas, write
from plot_simt import draw_stages, read_stages_of, tuples
from plot_tile_orders import diagram_data

LINE_BYTES = 128  # all banks
CHUNK_BYTES = 16
CHUNKS = LINE_BYTES // CHUNK_BYTES
PHASE_LANES = 8  # whose chunks shared memory serves together


# --- Tiles -------------------------------------------------------------------------------------------------------

TILE_SCALE = 0.0152  # of an element, in inches, as all of these
TILE_PITCH = 2.9


@dataclasses.dataclass(frozen=True)
class Tile:
    title: str
    block_m: int
    block_n: int
    warp_m: int
    warp_n: int
    mma_m: int
    mma_n: int
    warps: tuple  # (row, column) of each warp's part


def read_tiles(folder):
    with diagram_data(folder, "ampere_tiles") as data:
        return tuple(Tile(**{**tile, "warps": tuples(tile["warps"])}) for tile in data)


def draw_tile(axes, left, top, tile):
    axes.text(left, top - 0.43, tile.title, fontsize=10)
    axes.text(left, top - 0.26, f"a CTA {tile.block_m}x{tile.block_n}, a warp {tile.warp_m}x{tile.warp_n}", fontsize=8.5,
              color=MUTED)
    axes.text(left, top - 0.09, f"a multiplication {tile.mma_m}x{tile.mma_n}x16", fontsize=8.5, color=MUTED)
    for warp, (row, column) in enumerate(tile.warps):
        x, y = left + column * TILE_SCALE, top + row * TILE_SCALE
        width, height = tile.warp_n * TILE_SCALE, tile.warp_m * TILE_SCALE
        add_box(axes, x, y, width, height, BACKGROUND if warp else PALE_BLUE, edgecolor=MUTED, linewidth=1)
        if warp:
            write(axes, x + width / 2, y + height / 2, f"warp {warp}", color=MUTED)
    step_y, step_x = tile.mma_m * TILE_SCALE, tile.mma_n * TILE_SCALE
    for row in range(tile.warp_m // tile.mma_m):
        for column in range(tile.warp_n // tile.mma_n):
            add_box(axes, left + step_x * column, top + step_y * row, step_x, step_y,
                    BLUE if (row, column) == (0, 0) else PALE_BLUE, edgecolor=BLUE, linewidth=0.6)


def draw_tiles(tiles, path):
    title = "How a CTA's tile of D is divided among warps and multiplications"
    caption = ("Each square with a number is a warp's part of the tile. Warp 0 is shown in its multiplications, the first of them in "
               "dark blue.\nA multiplication is a wmma (ampere.1, ampere.2) or an mma.sync (from ampere.3 on); each adds the "
               "products of 16 columns of A and B.\nComputed by the constants and the index formulas of the kernels.")
    top = 0.95
    figure, axes = new_canvas(top + max(tile.block_m for tile in tiles) * TILE_SCALE + 0.1
                              + chart_style.caption_height(caption))
    for i, tile in enumerate(tiles):
        draw_tile(axes, 0.3 + TILE_PITCH * i, top, tile)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, tiles)


# --- Banks -------------------------------------------------------------------------------------------------------

CELL_WIDTH = 0.31
CELL_HEIGHT = 0.26
LAYOUT_PITCH = 2.9
MOST_LINES = 8


@dataclasses.dataclass(frozen=True)
class Layout:
    title: str
    ldmatrix: tuple  # of each lane: the byte where its row begins
    copies: tuple  # the byte that it copies to


def read_banks(folder):
    with diagram_data(folder, "ampere_banks") as data:
        return tuple(Layout(layout["title"], tuple(layout["ldmatrix"]), tuple(layout["copies"])) for layout in data)


def ways(offsets):
    """Of these chunks: how many lie in the same banks, at most."""
    return max(collections.Counter(offset % LINE_BYTES for offset in offsets).values())


def draw_chunks(axes, left, top, offsets, what):
    seen = set()
    for line in range(max(offsets) // LINE_BYTES + 1):
        add_box(axes, left, top + CELL_HEIGHT * line, CELL_WIDTH * CHUNKS, CELL_HEIGHT, GRID)
        write(axes, left - 0.05, top + CELL_HEIGHT * (line + 0.5), str(LINE_BYTES * line), ha="right", fontsize=7,
              color=MUTED)
    for number, offset in enumerate(offsets):
        line, chunk = divmod(offset // CHUNK_BYTES, CHUNKS)
        x, y = left + CELL_WIDTH * chunk, top + CELL_HEIGHT * line
        add_box(axes, x, y, CELL_WIDTH, CELL_HEIGHT, ORANGE if chunk in seen else BLUE)
        write(axes, x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2, str(number), fontsize=8, color=BACKGROUND)
        seen.add(chunk)
    most = ways(offsets)
    text = f"up to {most} {what} in the same banks" if most > 1 else f"{len(seen)} {what}, all in different banks"
    axes.text(left, top - 0.1, text, fontsize=8.5)


def draw_banks(layouts, path):
    title = "Three layouts of A's tile: what ldmatrix reads, and what cp.async writes"
    caption = ("A line is 128 bytes of shared memory, all 32 banks; its offset from the start of the tile is on the left. A cell is a "
               "chunk of 16 bytes.\nAbove: the eight rows of the first 8x8 matrix, by row. Below: what the first eight lanes copy, by "
               "lane. Orange: a chunk of the same\naccess lies in the same banks, so that the access takes a cycle more. ampere.2's "
               "kernel loads by wmma, which reads the same rows.\nComputed by the index formulas of the kernels.")
    top = 1.3
    copies_top = top + CELL_HEIGHT * MOST_LINES + 0.65
    figure, axes = new_canvas(copies_top + CELL_HEIGHT * 2 + 0.15 + chart_style.caption_height(caption))
    for i, layout in enumerate(layouts):
        left = 0.5 + LAYOUT_PITCH * i
        axes.text(left, top - 0.6, layout.title, fontsize=10)
        axes.text(left, top - 0.3, "read:", fontsize=8.5, color=MUTED)
        draw_chunks(axes, left, top, layout.ldmatrix[:PHASE_LANES], "rows")
        axes.text(left, copies_top - 0.3, "written:", fontsize=8.5, color=MUTED)
        draw_chunks(axes, left, copies_top, layout.copies[:PHASE_LANES], "chunks")
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, layouts)


# --- Fragments ---------------------------------------------------------------------------------------------------

FRAGMENT_CELL = 0.235


@dataclasses.dataclass(frozen=True)
class Fragments:
    a: tuple  # by row and column: (lane, register)
    b: tuple
    d: tuple


def read_fragments(folder):
    with diagram_data(folder, "mma_fragments") as data:
        return Fragments(*(tuple(map(tuples, data[name])) for name in "abd"))


def draw_fragment(axes, left, top, title, matrix, name):
    registers = sorted({register for row in matrix for _, register in row})
    axes.text(left, top - 0.32, title, fontsize=10)
    for i, register in enumerate(registers):
        axes.text(left + 0.4 * i, top - 0.1, f"{name}[{register}]", fontsize=8.5, color=SERIES[register])
    for y, row in enumerate(matrix):
        for x, (lane, register) in enumerate(row):
            add_box(axes, left + FRAGMENT_CELL * x, top + FRAGMENT_CELL * y, FRAGMENT_CELL, FRAGMENT_CELL,
                    SERIES[register])
            write(axes, left + FRAGMENT_CELL * (x + 0.5), top + FRAGMENT_CELL * (y + 0.5), str(lane), fontsize=7,
                  color=BACKGROUND)


def draw_fragments(fragments, path):
    title = "Fragments of mma.sync.m16n8k16: which lane holds what"
    caption = ("A cell is an element, with the number of the lane that holds it. Its color is the register. Two neighbours along K "
               "share a register of A or B.\nEach color of A is one 8x8 matrix that ldmatrix loads, and so is each color of B. d is "
               "accum in the code.\nComputed by the index formulas of the emulator's mma and of the code that stores the accumulators.")
    top = 1.0
    figure, axes = new_canvas(top + FRAGMENT_CELL * 16 + 0.1 + chart_style.caption_height(caption))
    width = FRAGMENT_CELL
    draw_fragment(axes, 0.3, top, "A: 16 rows of M, 16 columns of K", fragments.a, "a")
    draw_fragment(axes, 0.3 + width * 16 + 0.35, top, "B: 16 rows of K, 8 of N", fragments.b, "b")
    draw_fragment(axes, 0.3 + width * 24 + 0.7, top, "D: 16 rows of M, 8 of N", fragments.d, "d")
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, fragments)


PICTURES = {"ampere_tiles": (read_tiles, draw_tiles), "ampere_banks": (read_banks, draw_banks),
            "mma_fragments": (read_fragments, draw_fragments),
            "ampere_stages": (read_stages_of("ampere_stages"), draw_stages)}
