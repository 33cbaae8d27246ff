"""The diagrams of the SIMT ladder: simt_coalescing.svg, simt_tiles.svg, simt_fragment_banks.svg,
simt_transpose_banks.svg and simt_stages.svg.

tools/plot.py draws them from diagrams.json, which src/diagrams/simt_diagrams.cpp computed.
"""

import collections
import dataclasses

import chart_style
from chart_style import BACKGROUND, BLUE, GRID, INK, MUTED, ORANGE, PALE_BLUE, PALE_ORANGE
from plot_shared_memory import add_box, new_canvas, write
from plot_tile_orders import diagram_data

BANKS = 32
VECTOR_WORDS = 4  # of a 16-byte access
GROUPS = BANKS // VECTOR_WORDS  # of banks, which hold a vector


def tuples(lists):
    return tuple(map(tuple, lists))


# --- Coalescing --------------------------------------------------------------------------------------------------

SHOWN = 32  # rows and columns of each matrix
ELEMENT = 0.066  # in inches, as all of these
PANEL_PITCH = 2.85
ROW_PITCH = 2.95


@dataclasses.dataclass(frozen=True)
class Warp:
    title: str
    a: tuple  # what each lane touches: (row, column)
    b: tuple
    d: tuple


@dataclasses.dataclass(frozen=True)
class Coalescing:
    sector_elems: int
    versions: tuple


def read_coalescing(folder):
    with diagram_data(folder, "simt_coalescing") as data:
        return Coalescing(data["sector_elems"],
                          tuple(Warp(version["title"], *(tuples(version[name]) for name in "abd"))
                                for version in data["versions"]))


def sectors_of(elements, sector_elems):
    """The sectors that hold the elements, as (row, number). Rows start at sectors."""
    return sorted({(row, column // sector_elems) for row, column in elements})


def counted(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def draw_matrix(axes, left, top, title, elements, sector_elems):
    side = SHOWN * ELEMENT
    axes.text(left, top - 0.1, title)
    add_box(axes, left, top, side, side, BACKGROUND, edgecolor=MUTED, linewidth=0.8)
    sectors = sectors_of(elements, sector_elems)
    for row, sector in sectors:
        add_box(axes, left + sector * sector_elems * ELEMENT, top + row * ELEMENT, sector_elems * ELEMENT, ELEMENT,
                PALE_ORANGE, edgecolor=ORANGE, linewidth=0.4)
    for row, column in set(elements):
        add_box(axes, left + column * ELEMENT, top + row * ELEMENT, ELEMENT, ELEMENT, BLUE, linewidth=0.2)
    axes.text(left, top + side + 0.2, f"{counted(len(set(elements)), 'element')} in {counted(len(sectors), 'sector')}",
              fontsize=8.5)


def draw_coalescing(picture, path):
    title = "What the 32 threads of a warp touch in global memory"
    caption = (f"Blue: the elements that the first warp touches, in the first step along K. Orange: the sectors of 32 bytes, "
               f"{picture.sector_elems} elements,\nthat the memory moves for them. Each square shows the first {SHOWN} rows "
               f"and columns of a row-major matrix.\nComputed by the index formulas of simt.1 and simt.2.")
    top = 0.85
    figure, axes = new_canvas(top + ROW_PITCH * len(picture.versions) - 0.35 + chart_style.caption_height(caption))
    for i, version in enumerate(picture.versions):
        y = top + ROW_PITCH * i
        write(axes, 0.2, y + SHOWN * ELEMENT / 2, version.title, rotation=90, fontsize=11)
        for j, (name, elements) in enumerate((("A, one load", version.a), ("B, one load", version.b),
                                              ("D, one store at the end", version.d))):
            draw_matrix(axes, 0.45 + PANEL_PITCH * j, y, name, elements, picture.sector_elems)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, picture)


# --- Tiles -------------------------------------------------------------------------------------------------------

TILE_SCALE = 0.0155  # of an element
TILE_COLUMNS = (0.3, 2.2, 4.9)


@dataclasses.dataclass(frozen=True)
class Tile:
    title: str
    block_m: int
    block_n: int
    warp: tuple  # row, column, height and width
    thread: tuple  # (row, column) of each element


def read_tiles(folder):
    with diagram_data(folder, "simt_tiles") as data:
        return tuple(Tile(tile["title"], tile["block_m"], tile["block_n"], tuple(tile["warp"]), tuples(tile["thread"]))
                     for tile in data)


def extents(elements):
    """How many rows and how many columns the elements lie in."""
    return len({row for row, _ in elements}), len({column for _, column in elements})


def draw_tile(axes, left, top, tile):
    rows, columns = extents(tile.thread)
    products = rows * columns
    for line, (text, style) in enumerate((
            (f"{tile.title}: a tile of {tile.block_m}x{tile.block_n}", {"fontsize": 10}),
            (f"a warp {tile.warp[2]}x{tile.warp[3]}, a thread {rows}x{columns}", {"color": MUTED}),
            (f"{rows + columns} elements, {counted(products, 'product')}", {"color": MUTED}))):
        axes.text(left, top - 0.43 + 0.17 * line, text, **{"fontsize": 8.5, **style})
    add_box(axes, left, top, tile.block_n * TILE_SCALE, tile.block_m * TILE_SCALE, BACKGROUND, edgecolor=MUTED,
            linewidth=0.8)
    row, column, height, width = tile.warp
    add_box(axes, left + column * TILE_SCALE, top + row * TILE_SCALE, width * TILE_SCALE, height * TILE_SCALE, PALE_BLUE,
            edgecolor=BLUE, linewidth=0.8)
    for row, column in tile.thread:
        add_box(axes, left + column * TILE_SCALE, top + row * TILE_SCALE, TILE_SCALE, TILE_SCALE, ORANGE,
                edgecolor=ORANGE, linewidth=0.1)


def draw_tiles(tiles, path):
    title = "How a CTA's tile of D is divided among warps and threads"
    caption = ("Grey: the tile of a CTA. Blue: the part of its first warp. Orange: the elements of its first thread. All have one "
               "scale.\n“Elements” are those of A and B that a thread needs in a step along K, and “products” are the "
               "multiply-adds\nthat it does with them. Computed by the index formulas of the kernels.")
    first_top = 0.95
    second_top = first_top + max(tile.block_m for tile in tiles[:3]) * TILE_SCALE + 0.75
    bottom = second_top + max(tile.block_m for tile in tiles[3:]) * TILE_SCALE + 0.15
    figure, axes = new_canvas(bottom + chart_style.caption_height(caption))
    for left, tile in zip(TILE_COLUMNS, tiles):
        draw_tile(axes, left, first_top, tile)
    for left, tile in zip((TILE_COLUMNS[0], 4.0), tiles[3:]):
        draw_tile(axes, left, second_top, tile)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, tiles)


# --- Banks -------------------------------------------------------------------------------------------------------

CELL_WIDTH = 0.46
CELL_HEIGHT = 0.3


@dataclasses.dataclass(frozen=True)
class FragmentLoad:
    title: str
    a: tuple  # of each lane: the word where its 16 bytes begin
    b: tuple


def read_fragment_banks(folder):
    with diagram_data(folder, "simt_fragment_banks") as data:
        return tuple(FragmentLoad(load["title"], tuple(load["a"]), tuple(load["b"])) for load in data)


def lanes_by_word(words):
    lanes = collections.defaultdict(list)
    for lane, word in enumerate(words):
        lanes[word].append(lane)
    return dict(sorted(lanes.items()))


def most_in_a_group(words):
    """Of the different vectors: how many lie in the same banks, at most."""
    return max(collections.Counter(word // VECTOR_WORDS % GROUPS for word in set(words)).values())


def lanes_text(lanes):
    return ",".join(map(str, lanes)) if len(lanes) <= 2 else f"{len(lanes)} lanes"


def draw_bank_heads(axes, left, top, cell_width):
    for group in range(GROUPS):
        first = group * VECTOR_WORDS
        write(axes, left + cell_width * (group + 0.5), top - 0.12, f"{first}–{first + VECTOR_WORDS - 1}", fontsize=7,
              color=MUTED)


def draw_vectors(axes, left, top, cell_width, words, texts):
    """Draws the 16-byte vectors at these words where they lie in lines of 32 banks. Returns the number of lines. The second
    vector in the same banks is orange, and so is every further one."""
    lines = max(words) // BANKS + 1
    draw_bank_heads(axes, left, top, cell_width)
    for line in range(lines):
        for group in range(GROUPS):
            add_box(axes, left + cell_width * group, top + CELL_HEIGHT * line, cell_width, CELL_HEIGHT, GRID)
    seen = set()
    for word, text in zip(words, texts, strict=True):
        line, group = divmod(word // VECTOR_WORDS, GROUPS)
        x, y = left + cell_width * group, top + CELL_HEIGHT * line
        add_box(axes, x, y, cell_width, CELL_HEIGHT, ORANGE if group in seen else BLUE)
        write(axes, x + cell_width / 2, y + CELL_HEIGHT / 2, text, fontsize=7.5, color=BACKGROUND)
        seen.add(group)
    return lines


def draw_fragment_banks(loads, path):
    title = "One load of a fragment: 16 bytes for each lane of a warp"
    caption = ("A line is 128 bytes of shared memory, all 32 banks. A colored cell is a vector of 16 bytes, with the lanes that "
               "read it.\nOrange: other vectors of the same load lie in the same banks. Lanes that read the same vector share it.\n"
               "Computed by the index formulas of the kernels.")
    tops = []
    bottom = 1.05
    for load in loads:
        tops.append(bottom)
        bottom += CELL_HEIGHT * (max(*load.a, *load.b) // BANKS + 1) + 0.95
    figure, axes = new_canvas(bottom - 0.45 + chart_style.caption_height(caption))
    for y, load in zip(tops, loads):
        for left, name, words in ((0.3, "A", load.a), (4.75, "B", load.b)):
            lanes = lanes_by_word(words)
            axes.text(left, y - 0.28, f"{load.title}, {name}", fontsize=10)
            lines = draw_vectors(axes, left, y, CELL_WIDTH, list(lanes), list(map(lanes_text, lanes.values())))
            most = most_in_a_group(words)
            conflict = f"up to {most} in the same banks" if most > 1 else "all in different banks"
            axes.text(left, y + CELL_HEIGHT * lines + 0.2, f"{len(lanes)} vectors, {conflict}", fontsize=8.5)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, loads)


# --- Banks of the transposing stores ---------------------------------------------------------------------------

BANK_WIDTH = 0.119


@dataclasses.dataclass(frozen=True)
class TransposingStore:
    title: str
    pitch: int  # words from one k to the next
    places: tuple  # of each lane: (k, row)
    words: tuple


def read_transpose_banks(folder):
    with diagram_data(folder, "simt_transpose_banks") as data:
        return tuple(TransposingStore(store["title"], store["pitch"], tuples(store["places"]), tuple(store["words"]))
                     for store in data)


def ways(words):
    """How many lanes' words share a bank, at most."""
    return max(collections.Counter(word % BANKS for word in words).values())


def draw_store(axes, left, top, store):
    axes.text(left, top - 0.32, store.title, fontsize=10)
    axes.text(left, top - 0.14, f"{store.pitch} words from one k to the next", fontsize=8, color=MUTED)
    steps = sorted({k for k, _ in store.places})
    height = 0.21
    for line, k in enumerate(steps):
        write(axes, left - 0.06, top + height * (line + 0.5), f"k={k}", ha="right", fontsize=7.5, color=MUTED)
        add_box(axes, left, top + height * line, BANKS * BANK_WIDTH, height, GRID)
    seen = set()
    # By the bank's number, so that the first of two lanes in a bank is that of the lower k.
    for (k, row), word in sorted(zip(store.places, store.words)):
        bank = word % BANKS
        x, y = left + bank * BANK_WIDTH, top + height * steps.index(k)
        add_box(axes, x, y, BANK_WIDTH, height, ORANGE if bank in seen else BLUE, linewidth=0.5)
        write(axes, x + BANK_WIDTH / 2, y + height / 2, str(row), fontsize=5.5, color=BACKGROUND)
        seen.add(bank)
    most = ways(store.words)
    note = f"{len(seen)} banks, {f'{most} lanes in each' if most > 1 else 'one lane in each'}"
    axes.text(left, top + height * len(steps) + 0.17, note, fontsize=8.5)


def draw_transpose_banks(stores, path):
    title = "One store that transposes A: 4 bytes for each lane of a warp"
    caption = ("A column is one of the 32 banks, and a line one k of the transposed tile. A colored cell is the element that a lane "
               "stores, with its row in A.\nOrange: another lane's element is in the same bank, so the store takes a cycle more. "
               "simt.8 stores by copies (cp.async).\nComputed by the index formulas and the array types of the kernels.")
    tops = (1.05, 2.5)
    figure, axes = new_canvas(4.55 + chart_style.caption_height(caption))
    for i, store in enumerate(stores):
        draw_store(axes, (0.5, 5.0)[i % 2], tops[i // 2], store)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, stores)


# --- Stages ------------------------------------------------------------------------------------------------------

STEP_WIDTH = 1.12
STAGE_HEIGHT = 0.3
STAGES_LEFT = 1.15


@dataclasses.dataclass(frozen=True)
class Ring:
    title: str
    stages: int
    steps: tuple  # (K block that is multiplied, K block that is copied)


def read_stages_of(name):
    def read(folder):
        with diagram_data(folder, name) as data:
            return tuple(Ring(ring["title"], ring["stages"], tuples(ring["steps"])) for ring in data)

    return read


def columns_of(ring):
    """Of each column of the picture: what happens to a stage in it, as {stage: (what, K block)}."""
    ahead = ring.steps[0][1] - ring.steps[0][0]
    if ahead == 0:
        return [{0: (what, block)} for block, _ in ring.steps[:3] for what in ("copy", "multiply")]
    columns = [{block % ring.stages: ("copy", block) for block in range(ahead)}]
    for multiplied, copied in ring.steps:
        column = {block % ring.stages: ("wait", block) for block in range(multiplied + 1, copied)}
        column[multiplied % ring.stages] = ("multiply", multiplied)
        column[copied % ring.stages] = ("copy", copied)
        columns.append(column)
    return columns


def draw_ring(axes, top, ring):
    styles = {"copy": (ORANGE, BACKGROUND), "multiply": (BLUE, BACKGROUND), "wait": (PALE_ORANGE, INK)}
    axes.text(0.2, top - 0.1, f"{ring.title}: {counted(ring.stages, 'stage')}", fontsize=10)
    columns = columns_of(ring)
    for stage in range(ring.stages):
        y = top + STAGE_HEIGHT * stage
        write(axes, STAGES_LEFT - 0.1, y + STAGE_HEIGHT / 2, f"stage {stage}", ha="right", color=MUTED, fontsize=8)
        for i, column in enumerate(columns):
            x = STAGES_LEFT + STEP_WIDTH * i
            what, block = column.get(stage, ("", None))
            fill, ink = styles.get(what, (GRID, INK))
            add_box(axes, x, y, STEP_WIDTH, STAGE_HEIGHT, fill)
            text = {"": "", "wait": f"K block {block}"}.get(what, f"{what} {block}")
            write(axes, x + STEP_WIDTH / 2, y + STAGE_HEIGHT / 2, text, color=ink, fontsize=8.5)


def draw_stages(rings, path):
    title = "Which K block each stage of shared memory holds, step by step"
    caption = ("Time goes to the right; it is the order of steps, not their duration. Blue: the K block that the warps multiply. "
               "Orange: the K block\nthat is copied meanwhile. Pale: a K block whose copies were begun earlier and have a step "
               "more to arrive.\nComputed by the index formulas of the kernels.")
    tops = []
    y = 0.85
    for ring in rings:
        tops.append(y)
        y += STAGE_HEIGHT * ring.stages + 0.5
    figure, axes = new_canvas(y - 0.3 + chart_style.caption_height(caption))
    for top, ring in zip(tops, rings):
        draw_ring(axes, top, ring)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, rings)


PICTURES = {"simt_coalescing": (read_coalescing, draw_coalescing), "simt_tiles": (read_tiles, draw_tiles),
            "simt_fragment_banks": (read_fragment_banks, draw_fragment_banks),
            "simt_transpose_banks": (read_transpose_banks, draw_transpose_banks),
            "simt_stages": (read_stages_of("simt_stages"), draw_stages)}
