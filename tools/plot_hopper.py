"""The diagrams of the Hopper ladder's layouts: swizzle_bits.svg, wgmma_k_block.svg, hopper_consumers.svg,
hopper_multicast.svg, hopper_mixed_tile_n.svg and hopper_fourth_stage.svg.

tools/plot.py draws them from diagrams.json, which src/diagrams/hopper_diagrams.cpp computed.
"""

import dataclasses

import chart_style
from chart_style import BACKGROUND, BLUE, GREEN, GRID, INK, MUTED, ORANGE, PALE_BLUE, SERIES
from plot_shared_memory import add_box, new_canvas, write
from plot_simt import tuples
from plot_tile_orders import diagram_data


def write_left(axes, x, y, text, **style):
    axes.text(x, y, text, **{"ha": "left", "va": "center", "fontsize": 8.5, **style})


def draw_arrow(axes, start, end, color=INK, **style):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1, "shrinkA": 0,
                                              "shrinkB": 0, **style})


# --- Swizzle, bit by bit -----------------------------------------------------------------------------------------

BIT_WIDTH = 0.46  # in inches, as all of these
BIT_HEIGHT = 0.36
BITS_LEFT = 1.75
LINE_CELL = 0.72


@dataclasses.dataclass(frozen=True)
class SwizzleBits:
    row: int
    column: int
    offset: int
    stored: int
    targets: tuple  # of each bit: the bit that it flips, or None

    def value(self, bits, number):
        """The number that these bits hold in an offset."""
        return sum((number >> bit & 1) << i for i, bit in enumerate(bits))


def read_swizzle_bits(folder):
    with diagram_data(folder, "swizzle_bits") as data:
        flips = [moved ^ 1 << bit for bit, moved in enumerate(data["bits"])]
        return SwizzleBits(data["row"], data["column"], data["offset"], data["stored"],
                           tuple(flip.bit_length() - 1 if flip else None for flip in flips))


def draw_number(axes, top, number, colors, label):
    axes.text(BITS_LEFT - 0.12, top + BIT_HEIGHT / 2, label, ha="right", va="center", fontsize=9)
    for bit, color in enumerate(colors):
        x = BITS_LEFT + BIT_WIDTH * (len(colors) - 1 - bit)
        add_box(axes, x, top, BIT_WIDTH, BIT_HEIGHT, color)
        write(axes, x + BIT_WIDTH / 2, top + BIT_HEIGHT / 2, str(number >> bit & 1), fontsize=10,
              color=INK if color == GRID else BACKGROUND)


def draw_swizzle_bits(swizzle, path):
    title = f"The 128-byte swizzle, bit by bit: the element in row {swizzle.row}, column {swizzle.column}"
    caption = ("An element has 2 bytes, a row 128 and a chunk 16. The swizzle XORs the three bits of the row into those of "
               "the chunk. It leaves the row and the\nplace within the chunk as they are. The tile begins at a multiple of "
               "1024 bytes, so that these are also the bits of the address.\nComputed by swizzle_offset() of smem_descriptor.hpp.")
    rows = tuple(bit for bit, target in enumerate(swizzle.targets) if target is not None)
    chunks = tuple(swizzle.targets[bit] for bit in rows)
    colors = [BLUE if bit in rows else ORANGE if bit in chunks else GRID for bit in range(len(swizzle.targets))]
    tops = (0.95, 1.62, 2.29)
    line_top = 3.35
    figure, axes = new_canvas(line_top + 0.75 + chart_style.caption_height(caption))

    def left_of(bit):
        return BITS_LEFT + BIT_WIDTH * (len(colors) - 1 - bit)

    for bits, name, color in ((rows, "row mod 8", BLUE), (chunks, "chunk", ORANGE),
                              (range(min(chunks)), "byte of the chunk", MUTED)):
        write(axes, (left_of(max(bits)) + left_of(min(bits)) + BIT_WIDTH) / 2, tops[0] - 0.33, name, color=color)
    for bit in range(len(colors)):
        write(axes, left_of(bit) + BIT_WIDTH / 2, tops[0] - 0.12, str(bit), fontsize=7.5, color=MUTED)
    draw_number(axes, tops[0], swizzle.offset, colors, f"offset {swizzle.offset}")
    axes.text(BITS_LEFT - 0.12, tops[1] + BIT_HEIGHT / 2, "XOR", ha="right", va="center", fontsize=9)
    for bit, target in zip(rows, chunks):
        x = left_of(target)
        add_box(axes, x, tops[1], BIT_WIDTH, BIT_HEIGHT, BLUE)
        write(axes, x + BIT_WIDTH / 2, tops[1] + BIT_HEIGHT / 2, str(swizzle.offset >> bit & 1), fontsize=10,
              color=BACKGROUND)
        draw_arrow(axes, (left_of(bit) + BIT_WIDTH / 2, tops[0] + BIT_HEIGHT), (x + 0.08, tops[1]), color=BLUE)
    draw_number(axes, tops[2], swizzle.stored, colors, f"stored at {swizzle.stored}")
    right = BITS_LEFT + BIT_WIDTH * len(colors) + 0.15
    row, chunk, stored = (swizzle.value(bits, number) for bits, number in
                          ((rows, swizzle.offset), (chunks, swizzle.offset), (chunks, swizzle.stored)))
    rest = swizzle.offset % (1 << min(chunks))
    write_left(axes, right, tops[0] + BIT_HEIGHT / 2, f"row {row}, chunk {chunk}, byte {rest}")
    write_left(axes, right, tops[1] + BIT_HEIGHT / 2, f"row {row}")
    write_left(axes, right, tops[2] + BIT_HEIGHT / 2, f"row {row}, chunk {chunk} XOR {row} = {stored}, byte {rest}")

    axes.text(BITS_LEFT - 0.12, line_top + BIT_HEIGHT / 2, f"row {row}\nin shared memory", ha="right", va="center",
              fontsize=8.5, linespacing=1.3)
    for place in range(1 << len(chunks)):
        x = BITS_LEFT + LINE_CELL * place
        held = place ^ row
        add_box(axes, x, line_top, LINE_CELL, BIT_HEIGHT, ORANGE if held == chunk else GRID)
        write(axes, x + LINE_CELL / 2, line_top + BIT_HEIGHT / 2, f"chunk {held}", fontsize=8.5,
              color=BACKGROUND if held == chunk else INK)
        write(axes, x + LINE_CELL / 2, line_top - 0.12, f"place {place}", fontsize=7.5, color=MUTED)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, swizzle)


# --- The wgmmas of a K block -------------------------------------------------------------------------------------

MATRIX = 1.55  # the side of a 64x64 block
CHUNK = 0.31
STEP_COLORS = (BLUE, ORANGE, GREEN, SERIES[3])


@dataclasses.dataclass(frozen=True)
class Step:
    k: int
    address: int  # of the descriptor, in 16 bytes
    chunks: tuple  # by row of the tile: where its chunks lie in a line


@dataclasses.dataclass(frozen=True)
class WgmmaSteps:
    block_m: int
    block_n: int
    block_k: int
    wgmma_k: int
    steps: tuple


def read_wgmma_k_block(folder):
    with diagram_data(folder, "wgmma_k_block") as data:
        steps = tuple(Step(step["k"], step["address"], tuples(step["chunks"])) for step in data["steps"])
        return WgmmaSteps(data["block_m"], data["block_n"], data["block_k"], data["wgmma_k"], steps)


def draw_wgmma_k_block(block, path):
    title = f"The four wgmmas of a K block: m{block.block_m}n{block.block_n}k{block.wgmma_k}"
    caption = ("Each wgmma multiplies 16 columns of A by the same 16 columns of B, which the picture shows as rows, and adds "
               "to the same accumulators.\nBelow: the first eight rows of A in shared memory. A cell is 16 bytes, 8 "
               "elements; the number says which wgmma reads it. One step along K\nadds 32 bytes to the descriptor's "
               "address, and the hardware swizzles the sum. Computed by smem_descriptor.hpp and the loop of v01.")
    top = 0.95
    lines_top = top + MATRIX + 0.85
    rows = len(block.steps[0].chunks)
    figure, axes = new_canvas(lines_top + CHUNK * rows + 0.15 + chart_style.caption_height(caption))
    a_left, b_left, d_left = 0.75, 3.3, 6.4
    for i, (step, color) in enumerate(zip(block.steps, STEP_COLORS, strict=True)):
        width = MATRIX / len(block.steps)
        add_box(axes, a_left + width * i, top, width, MATRIX, color)
        write(axes, a_left + width * (i + 0.5), top + MATRIX / 2, str(i + 1), fontsize=11, color=BACKGROUND)
        add_box(axes, b_left, top + width * i, MATRIX, width, color)
        write(axes, b_left + MATRIX / 2, top + width * (i + 0.5), str(i + 1), fontsize=11, color=BACKGROUND)
        write(axes, a_left + width * (i + 0.5), top + MATRIX + 0.12, str(step.k), fontsize=7.5, color=MUTED)
        axes.text(b_left - 0.07, top + width * (i + 0.5), str(step.k), ha="right", va="center", fontsize=7.5, color=MUTED)
    add_box(axes, d_left, top, MATRIX, MATRIX, PALE_BLUE, edgecolor=BLUE)
    write(axes, d_left + MATRIX / 2, top + MATRIX / 2, "1 + 2 + 3 + 4", fontsize=11)
    write(axes, (a_left + MATRIX + b_left) / 2, top + MATRIX / 2, "·", fontsize=18)
    write(axes, (b_left + MATRIX + d_left) / 2, top + MATRIX / 2, "=", fontsize=16)
    for left, text in ((a_left, f"A: {block.block_m} rows, {block.block_k} of K"),
                       (b_left, f"B: {block.block_k} of K, {block.block_n} columns"), (d_left, "accumulators of D")):
        write(axes, left + MATRIX / 2, top - 0.17, text, fontsize=9)
    left = 1.15
    axes.text(left, lines_top - 0.3, "A in shared memory, the first eight rows", fontsize=9)
    for number, (step, color) in enumerate(zip(block.steps, STEP_COLORS), 1):
        for row, places in enumerate(step.chunks):
            for place in places:
                x, y = left + CHUNK * place, lines_top + CHUNK * row
                add_box(axes, x, y, CHUNK, CHUNK, color)
                write(axes, x + CHUNK / 2, y + CHUNK / 2, str(number), color=BACKGROUND)
    for row in range(rows):
        axes.text(left - 0.08, lines_top + CHUNK * (row + 0.5), f"row {row}", ha="right", va="center", fontsize=7.5,
                  color=MUTED)
    text_left = left + CHUNK * 8 + 0.55
    axes.text(text_left, lines_top - 0.3, "The start address in the descriptor of A, in units of 16 bytes", fontsize=9)
    for number, (step, color) in enumerate(zip(block.steps, STEP_COLORS), 1):
        y = lines_top + 0.1 + 0.42 * (number - 1)
        add_box(axes, text_left, y, 0.32, 0.3, color)
        write(axes, text_left + 0.16, y + 0.15, str(number), color=BACKGROUND)
        write_left(axes, text_left + 0.45, y + 0.15,
                   f"{step.address}:  byte {16 * step.address}, K from {step.k} to {step.k + block.wgmma_k - 1}", fontsize=9)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, block)


# --- Consumers ---------------------------------------------------------------------------------------------------

ELEMENT = 0.0079
CONSUMER_PITCH = 2.93
CONSUMER_COLORS = (BLUE, ORANGE)
STRIP = 0.24  # how thick a strip of A or B is drawn


@dataclasses.dataclass(frozen=True)
class ConsumerTile:
    title: str
    block_m: int
    block_n: int
    wgmma_m: int
    blocks: tuple  # (consumer, first row)

    def registers(self):
        """A thread's accumulators."""
        of_one = sum(consumer == 0 for consumer, _ in self.blocks)
        return of_one * self.wgmma_m * self.block_n // 128


def read_consumers(folder):
    with diagram_data(folder, "hopper_consumers") as data:
        return tuple(ConsumerTile(**{**tile, "blocks": tuples(tile["blocks"])}) for tile in data)


def draw_consumer_tile(axes, left, top, tile):
    width = tile.block_n * ELEMENT
    axes.text(left, top - 0.72, tile.title, fontsize=9.5)
    axes.text(left, top - 0.52, f"D {tile.block_m}x{tile.block_n}, {tile.registers()} accumulators a thread", fontsize=8,
              color=MUTED)
    d_left = left + STRIP + 0.08
    add_box(axes, d_left, top - STRIP - 0.08, width, STRIP, PALE_BLUE, edgecolor=MUTED)
    write(axes, d_left + width / 2, top - STRIP / 2 - 0.08, f"B, {tile.block_n} rows", fontsize=8)
    for number, (consumer, row) in enumerate(tile.blocks):
        y, height = top + row * ELEMENT, tile.wgmma_m * ELEMENT
        color = CONSUMER_COLORS[consumer]
        add_box(axes, left, y, STRIP, height, color)
        write(axes, left + STRIP / 2, y + height / 2, "A", fontsize=8, color=BACKGROUND)
        add_box(axes, d_left, y, width, height, color)
        write(axes, d_left + width / 2, y + height / 2,
              f"warpgroup {consumer}\nm{tile.wgmma_m}n{tile.block_n}k16", fontsize=8, color=BACKGROUND, linespacing=1.3)


def draw_consumers(tiles, path):
    title = "Who multiplies what: the blocks of a CTA's tile of D"
    caption = ("A block of D is the accumulators of one wgmma instruction. Blocks of one color belong to one warpgroup. It "
               "multiplies its own rows of A,\nand all blocks use the same B. The producer of v03 and later versions holds "
               "no accumulators. Computed by the constants of the kernels.")
    top = 1.3
    figure, axes = new_canvas(top + max(tile.block_m for tile in tiles) * ELEMENT + 0.15
                              + chart_style.caption_height(caption))
    for i, tile in enumerate(tiles):
        draw_consumer_tile(axes, 0.25 + CONSUMER_PITCH * i, top, tile)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, tiles)


# --- Multicast ---------------------------------------------------------------------------------------------------

CTA_COLORS = (BLUE, ORANGE)
PIECE_WIDTH = 0.66
PIECE_HEIGHT = 0.42
PIECES_PITCH = 2.12  # from one CTA's shared memory to the other's


@dataclasses.dataclass(frozen=True)
class Cluster:
    title: str
    shared: str  # the operand that both CTAs need
    block_m: int
    block_n: int
    part: int  # rows that a CTA loads for both
    ctas: tuple  # (rank, first row of its part)

    def own(self):
        return "B" if self.shared == "A" else "A"

    def loaded_rows(self):
        """Rows of A and B that the cluster loads for a K block: with multicast, and without."""
        own = self.block_m if self.own() == "A" else self.block_n
        shared = self.part * len(self.ctas)
        return len(self.ctas) * own + shared, len(self.ctas) * (own + shared)


def read_cluster_multicast(folder):
    with diagram_data(folder, "hopper_multicast") as data:
        return tuple(Cluster(**{**cluster, "ctas": tuples(cluster["ctas"])}) for cluster in data)


def draw_piece(axes, x, y, text, color):
    add_box(axes, x, y, PIECE_WIDTH, PIECE_HEIGHT, color)
    write(axes, x + PIECE_WIDTH / 2, y + PIECE_HEIGHT / 2, text, fontsize=7.5, color=BACKGROUND, linespacing=1.25)


def draw_cluster(axes, left, top, cluster):
    axes.text(left, top - 0.52, cluster.title, fontsize=10)
    with_multicast, without = cluster.loaded_rows()
    axes.text(left, top - 0.32, f"{with_multicast} rows from L2 for a K block; without multicast {without}", fontsize=8.5,
              color=MUTED)
    own, shared = cluster.own(), cluster.shared
    rows = cluster.block_m if own == "A" else cluster.block_n
    texts = {}
    for rank, first in cluster.ctas:
        texts[own, rank] = f"{own} of\nCTA {rank}"
        texts[shared, rank] = f"{shared}, rows\n{first}–{first + cluster.part - 1}"
    bottom = top + 1.3
    axes.text(left, top - 0.08, f"loads from L2, in blocks of {rows} rows of {own} and {cluster.part} of {shared}", fontsize=8,
              color=MUTED)
    sources = {}
    for number, key in enumerate(((own, 0), (shared, 0), (shared, 1), (own, 1))):
        sources[key] = left + 0.35 + number * (PIECE_WIDTH + 0.2)
        draw_piece(axes, sources[key], top, texts[key], CTA_COLORS[key[1]])
    for rank, _ in cluster.ctas:
        x = left + PIECES_PITCH * rank
        keys = ((own, rank), (shared, 0), (shared, 1))
        add_box(axes, x - 0.04, bottom - 0.04, len(keys) * PIECE_WIDTH + 0.08, PIECE_HEIGHT + 0.08, BACKGROUND,
                edgecolor=MUTED)
        for number, key in enumerate(keys):
            piece = x + PIECE_WIDTH * number
            draw_piece(axes, piece, bottom, texts[key], CTA_COLORS[key[1]])
            draw_arrow(axes, (sources[key] + PIECE_WIDTH / 2, top + PIECE_HEIGHT), (piece + PIECE_WIDTH / 2, bottom),
                       color=CTA_COLORS[key[1]])
        write_left(axes, x, bottom + PIECE_HEIGHT + 0.2, f"shared memory of CTA {rank}", fontsize=8.5)


def draw_cluster_multicast(clusters, path):
    title = "TMA multicast in a cluster of two CTAs"
    caption = ("Blue is what CTA 0 asks for, orange what CTA 1 asks for. A CTA needs one block of A and one of B. Each CTA loads "
               "its own block, and half of the\nblock that both need. Multicast writes that half into both shared memories, at the "
               "same offset. Computed by the constants and the index\nformulas of the kernels.")
    top = 1.2
    figure, axes = new_canvas(top + 2.15 + chart_style.caption_height(caption))
    for i, cluster in enumerate(clusters):
        draw_cluster(axes, 0.3 + 4.4 * i, top, cluster)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, clusters)


# --- Mixed tile N ------------------------------------------------------------------------------------------------

D_SIDE = 3.55


@dataclasses.dataclass(frozen=True)
class Waves:
    title: str
    m: int
    n: int
    block_m: int
    workers: int
    tiles: tuple  # of a cluster: (first row, first column, columns, wave)

    def widths(self):
        """How many columns the largest tile of each wave has."""
        waves = 1 + max(wave for *_, wave in self.tiles)
        return tuple(max(n for _, _, n, wave in self.tiles if wave == number) for number in range(waves))


def read_mixed_tile_n(folder):
    with diagram_data(folder, "hopper_mixed_tile_n") as data:
        return tuple(Waves(**{**waves, "tiles": tuples(waves["tiles"])}) for waves in data)


def wave_colors(waves, wave):
    """Fill and ink."""
    if wave == len(waves.widths()) - 1:
        return ORANGE, BACKGROUND
    return ((BLUE, BACKGROUND), (PALE_BLUE, INK))[wave % 2]


def draw_waves(axes, left, top, waves, scale, time_scale):
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    axes.text(left, top - 0.33, waves.title, fontsize=10)
    widths = waves.widths()
    axes.text(left, top - 0.12, f"{len(waves.tiles)} tiles of a cluster, {waves.workers} clusters, {len(widths)} waves",
              fontsize=8.5, color=MUTED)
    for number in range(len(widths)):
        # One shape for all tiles of a wave makes a small file.
        tiles = [Path.unit_rectangle().transformed(Affine2D().scale(n, waves.block_m).translate(column, row).scale(scale)
                                                   .translate(left, top))
                 for row, column, n, wave in waves.tiles if wave == number]
        axes.add_patch(PathPatch(Path.make_compound_path(*tiles), facecolor=wave_colors(waves, number)[0],
                                 edgecolor=BACKGROUND, linewidth=0.5))
    for number in range(len(widths)):
        tiles = [tile for tile in waves.tiles if tile[3] == number]
        first_band = [tile for tile in tiles if tile[0] // (8 * waves.block_m) == tiles[-1][0] // (8 * waves.block_m)]
        other = [tile for tile in tiles if tile not in first_band]
        part = max((first_band, other), key=len)
        x = (min(tile[1] for tile in part) + max(tile[1] + tile[2] for tile in part)) / 2
        y = (min(tile[0] for tile in part) + max(tile[0] for tile in part) + waves.block_m) / 2
        fill, ink = wave_colors(waves, number)
        side = 0.3 if widths[number] == max(widths) else 0.2
        add_box(axes, left + x * scale - side / 2, top + y * scale - side / 2, side, side, fill, linewidth=0)
        write(axes, left + x * scale, top + y * scale, str(number + 1), fontsize=13 if side > 0.2 else 9, color=ink)
    add_box(axes, left, top, waves.n * scale, waves.m * scale, "none", edgecolor=INK, linewidth=1.4)
    bar_top = top + waves.m * scale + 0.42
    axes.text(left, bar_top - 0.1, f"time: {' + '.join(sums(widths))} = {sum(widths)} columns", fontsize=8.5)
    x = left
    for number, n in enumerate(widths):
        fill, ink = wave_colors(waves, number)
        add_box(axes, x, bar_top, n * time_scale, 0.28, fill, linewidth=0.8)
        write(axes, x + n * time_scale / 2, bar_top + 0.14, str(number + 1), fontsize=8, color=ink)
        x += n * time_scale


def sums(widths):
    """Equal waves as one product: 10 · 384."""
    return [f"{widths.count(n)} · {n}" if widths.count(n) > 1 else str(n) for n in dict.fromkeys(widths)]


def draw_mixed_tile_n(charts, path):
    title = f"Waves of tiles over D, {charts[0].m}x{charts[0].n}, on 132 SMs"
    caption = ("A rectangle is the tile of a cluster, which its two CTAs share side by side; the frame is D. Tiles of one color "
               "and number run at the\nsame time. Orange is the last wave. Below: how long the waves take, in columns of a cluster's "
               "tile, without what a tile costs beside its\nproducts. Computed by split_columns() of column_split.cpp and "
               "supertile_order() of tile_scheduler.hpp.")
    top = 1.0
    scale = D_SIDE / charts[0].m
    widest = max(sum(waves.widths()) for waves in charts)
    figure, axes = new_canvas(top + D_SIDE + 0.9 + chart_style.caption_height(caption))
    for i, waves in enumerate(charts):
        draw_waves(axes, 0.4 + 4.4 * i, top, waves, scale, 3.65 / widest)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, charts)


# --- The fourth stage --------------------------------------------------------------------------------------------

MEMORY_WIDTH = 7.9
MOST_SHARED_BYTES = 227 * 1024  # that a CTA may have, sm_90
ROWS_HEIGHT = 0.2
PART_COLORS = {"A": (BLUE, BACKGROUND), "B": (PALE_BLUE, INK), "D": (ORANGE, BACKGROUND)}


@dataclasses.dataclass(frozen=True)
class FourthStage:
    memory: tuple  # (title, ((what, bytes), ...))
    block_m: int
    store_m: int
    rows: tuple  # (consumer, block, warp, first row of A)


def read_fourth_stage(folder):
    with diagram_data(folder, "hopper_fourth_stage") as data:
        return FourthStage(tuple((memory["title"], tuples(memory["parts"])) for memory in data["memory"]), data["block_m"],
                           data["store_m"], tuples(data["rows"]))


def draw_fourth_stage(stages, path):
    title = "How shared memory has room for a fourth stage"
    caption = ("Above: the shared memory of a CTA, without barriers; the frame is the 227 KiB that a CTA may have. A stage is A and B. "
               "Below: the A of a tile's\nlast K block. When the consumers have multiplied it, each warp stages D in the two times 16 "
               "rows that it alone has multiplied. A piece\nof D is 16 rows of 64 columns, as large as 16 rows of A. Computed by the "
               "constants and the index formula of the kernels.")
    top = 0.95
    left = 0.55
    rows_top = top + 2 * 0.82 + 0.35
    half = len(stages.rows) // 2
    figure, axes = new_canvas(rows_top + ROWS_HEIGHT * half + 0.2 + chart_style.caption_height(caption))
    for number, (name, parts) in enumerate(stages.memory):
        y = top + 0.82 * number
        total = sum(size for _, size in parts)
        axes.text(left, y - 0.08, f"{name}: {total // 1024} KiB", fontsize=10)
        x = left
        for what, size in parts:
            width = MEMORY_WIDTH * size / MOST_SHARED_BYTES
            fill, ink = PART_COLORS[what]
            add_box(axes, x, y, width, 0.36, fill)
            write(axes, x + width / 2, y + 0.18, f"{what} {size // 1024}" if what != "D" else f"staging {size // 1024}",
                  fontsize=8.5, color=ink)
            x += width
        add_box(axes, left, y, MEMORY_WIDTH, 0.36, "none", edgecolor=MUTED, linewidth=0.8)
    axes.text(left, rows_top - 0.12, "v18: whose rows of A become the staging rows of D", fontsize=10)
    colors = ((BLUE, BACKGROUND), (PALE_BLUE, INK))
    for number, (consumer, block, warp, row) in enumerate(stages.rows):
        column, line = divmod(number, half)
        x, y = left + 1.05 + 4.1 * column, rows_top + ROWS_HEIGHT * line
        fill, ink = colors[block]
        add_box(axes, x, y, 2.75, ROWS_HEIGHT, fill)
        axes.text(x - 0.08, y + ROWS_HEIGHT / 2, f"rows {row}–{row + stages.store_m - 1}", ha="right", va="center",
                  fontsize=7.5, color=MUTED)
        write(axes, x + 1.375, y + ROWS_HEIGHT / 2, f"consumer {consumer}, {('upper', 'lower')[block]} block, warp {warp}",
              fontsize=8, color=ink)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, stages)


PICTURES = {"swizzle_bits": (read_swizzle_bits, draw_swizzle_bits),
            "wgmma_k_block": (read_wgmma_k_block, draw_wgmma_k_block),
            "hopper_consumers": (read_consumers, draw_consumers),
            "hopper_multicast": (read_cluster_multicast, draw_cluster_multicast),
            "hopper_mixed_tile_n": (read_mixed_tile_n, draw_mixed_tile_n),
            "hopper_fourth_stage": (read_fourth_stage, draw_fourth_stage)}
