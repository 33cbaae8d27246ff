"""The diagrams of shared memory, swizzle.svg and smem_descriptor.svg. They show where the 128-byte swizzle puts each
chunk of a tile, and the bits of wgmma's descriptor. tools/plot.py draws them from diagrams.json, which
src/diagrams/diagram_data.cpp wrote.
"""

import dataclasses

import chart_style
from chart_style import BACKGROUND, GRID, INK, MUTED, PALE_BLUE, SERIES
from plot_tile_orders import diagram_data

BANK_BYTES = 4

UNIT_BYTES = 16  # of the descriptor's address and offsets

# In inches.
CELL = 0.42  # of the swizzle's grids
BIT = 0.131  # of the descriptor
BITS_LEFT = 0.3
BITS_HEIGHT = 0.3
SPAN_WIDTH = 1.9
SPAN_GAP = 0.12
GROUP_HEIGHT = 0.3


def write(axes, x, y, text, **style):
    axes.text(x, y, text, **{"ha": "center", "va": "center", **style})


def new_canvas(height):
    """A figure with axes over all of it, in inches from the upper left corner."""
    figure = chart_style.new_figure(height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, chart_style.WIDTH)
    axes.set_ylim(height, 0)
    axes.axis("off")
    return figure, axes


def add_box(axes, x, y, width, height, color, **style):
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, **{"facecolor": color, "edgecolor": BACKGROUND, "linewidth": 1,
                                                       **style}))


# --- Swizzle -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Swizzle:
    chunk_bytes: int
    logical: tuple  # what is where in each line: the row and the chunk, without a swizzle
    stored: tuple  # and with it


def read_swizzle(folder):
    with diagram_data(folder, "swizzle") as data:
        chunk_bytes, row_bytes, offsets = data["chunk_bytes"], data["row_bytes"], data["offsets"]
        at = {offset: (row, chunk) for row, of_row in enumerate(offsets) for chunk, offset in enumerate(of_row)}
        chunks = range(row_bytes // chunk_bytes)
        return Swizzle(chunk_bytes,
                       tuple(tuple((row, chunk) for chunk in chunks) for row in range(len(offsets))),
                       tuple(tuple(at[line * row_bytes + chunk * chunk_bytes] for chunk in chunks)
                             for line in range(len(offsets))))


def banks_of(position, chunk_bytes):
    """The banks of the chunk at this position of its line, as (first, last)."""
    words = chunk_bytes // BANK_BYTES
    return position * words, (position + 1) * words - 1


def column_banks(lines, chunk, chunk_bytes):
    """For the chunks of this number in all rows: how many banks they lie in, and how many of them share a bank."""
    positions = [position for cells in lines for position, (_, other) in enumerate(cells) if other == chunk]
    return len(set(positions)) * chunk_bytes // BANK_BYTES, max(map(positions.count, positions))


def draw_cells(axes, left, top, lines, chunk_bytes, title, note):
    """Draws a line of shared memory as a row of cells. A cell has its chunk's color, wherever it is."""
    axes.text(left, top - 0.42, title, fontsize=10)
    for position in range(len(lines[0])):
        write(axes, left + CELL * (position + 0.5), top - 0.14, "–".join(map(str, banks_of(position, chunk_bytes))),
              fontsize=7.5, color=MUTED)
    write(axes, left - 0.08, top - 0.14, "banks", ha="right", fontsize=7.5, color=MUTED)
    for line, cells in enumerate(lines):
        y = top + CELL * line
        offset = line * len(cells) * chunk_bytes
        write(axes, left - 0.08, y + CELL / 2, str(offset), ha="right", fontsize=7.5, color=MUTED)
        for position, (row, chunk) in enumerate(cells):
            add_box(axes, left + CELL * position, y, CELL, CELL, SERIES[chunk])
            write(axes, left + CELL * (position + 0.5), y + CELL / 2, f"{row}.{chunk}", color=BACKGROUND)
    axes.text(left, top + CELL * len(lines) + 0.12, note, fontsize=8.5, va="top")


def draw_swizzle(swizzle, path):
    title = "The 128-byte swizzle: 8 rows of 128 bytes, in chunks of 16 bytes"
    caption = ("A cell is a chunk of 16 bytes, row.chunk; all chunks of one number have one color. A line is 128 bytes "
               "of shared memory, all 32 banks;\nits offset from the tile's base, a multiple of 1024, stands on the "
               "left. Chunk c of row r is stored as chunk c XOR r.\nComputed by swizzle_offset() of smem_descriptor.hpp.")
    top = 1.1
    note_height = 0.55
    figure, axes = new_canvas(top + CELL * len(swizzle.stored) + note_height + chart_style.caption_height(caption))
    for left, lines, name in ((0.75, swizzle.logical, "Without swizzle"), (5.2, swizzle.stored, "128-byte swizzle")):
        banks, ways = column_banks(lines, 0, swizzle.chunk_bytes)
        conflict = f"a {ways}-way bank conflict" if ways > 1 else "no bank conflict"
        draw_cells(axes, left, top, lines, swizzle.chunk_bytes, name,
                   f"Chunk 0 of all {len(lines)} rows: {banks} banks, {conflict}")
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, swizzle)


# --- Descriptor --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    first: int  # bit
    last: int

    def value_of(self, desc):
        return desc >> self.first & (1 << self.last - self.first + 1) - 1


@dataclasses.dataclass(frozen=True)
class Example:
    title: str
    call: str
    value: int
    meanings: dict  # of each field, by name


@dataclasses.dataclass(frozen=True)
class Descriptor:
    fields: tuple
    modes: dict  # {code: name}, of the swizzle
    examples: tuple


def field_of(name, mask):
    return Field(name, (mask & -mask).bit_length() - 1, mask.bit_length() - 1)


def meaning(field, desc, modes):
    value = field.value_of(desc)
    if field.name == "swizzle":
        return modes[value]
    return "" if field.name == "base offset" else f"{UNIT_BYTES * value} B"


def read_descriptor(folder):
    with diagram_data(folder, "smem_descriptor") as data:
        fields = tuple(field_of(field["name"], int(field["mask"], 16)) for field in data["fields"])
        modes = {int(bits, 16) >> fields[-1].first: name for name, bits in data["modes"].items()}
        examples = []
        for example in data["examples"]:
            value = int(example["value"], 16)
            examples.append(Example(example["title"], example["call"], value,
                                    {field.name: meaning(field, value, modes) for field in fields}))
        return Descriptor(fields, modes, tuple(examples))


def bit_left(bit):
    """The place where a bit's box begins. Bit 63 is the leftmost."""
    return BITS_LEFT + BIT * (63 - bit)


def draw_bits(axes, top, fields, texts, below):
    """Draws the 64 bits, with a text in each field and one below it."""
    add_box(axes, bit_left(63), top, 64 * BIT, BITS_HEIGHT, GRID)
    for field, color in zip(fields, SERIES):
        left, width = bit_left(field.last), BIT * (field.last - field.first + 1)
        add_box(axes, left, top, width, BITS_HEIGHT, color)
        write(axes, left + width / 2, top + BITS_HEIGHT / 2, texts[field.name], color=BACKGROUND)
        write(axes, left + width / 2, top + BITS_HEIGHT + 0.13, below[field.name], fontsize=8)


def draw_arrow(axes, start, end, text, **place):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "<->", "color": INK, "linewidth": 0.9, "shrinkA": 0,
                                              "shrinkB": 0})
    axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, text, fontsize=8, linespacing=1.3, **place)


def draw_layout(axes, left, top, title, spans, inner, outer, offsets):
    """Draws groups of 8 rows of 128 bytes, which lie one behind the other in memory, and the offsets between them."""
    axes.text(left, top - 0.3, title)
    for span in range(spans):
        x = left + (SPAN_WIDTH + SPAN_GAP) * span
        write(axes, x + SPAN_WIDTH / 2, top - 0.12, f"64 elements along {inner}, 128 B", fontsize=8, color=MUTED)
        for group in range(3):
            y = top + GROUP_HEIGHT * group
            add_box(axes, x, y, SPAN_WIDTH, GROUP_HEIGHT, PALE_BLUE, edgecolor=MUTED, linewidth=0.8)
            write(axes, x + SPAN_WIDTH / 2, y + GROUP_HEIGHT / 2, f"8 rows of {outer}", fontsize=8, color=MUTED)
    right = left + SPAN_WIDTH * spans + SPAN_GAP * (spans - 1)
    draw_arrow(axes, (right + 0.08, top), (right + 0.08, top + GROUP_HEIGHT),
               f"  stride\n  {offsets['stride byte offset']}", ha="left", va="center")
    if spans > 1:
        bottom = top + 3 * GROUP_HEIGHT + 0.1
        draw_arrow(axes, (left, bottom), (left + SPAN_WIDTH + SPAN_GAP, bottom),
                   f"\nleading {offsets['leading byte offset']}", ha="center", va="center")


def draw_descriptor(descriptor, path):
    title = "wgmma's shared-memory descriptor: 64 bits that say where a tile lies"
    modes = ", ".join(f"{code} is {name}" for code, name in descriptor.modes.items())
    caption = (f"Grey bits are 0. Address and offsets count {UNIT_BYTES} bytes. With a swizzle and K-major, wgmma "
               f"ignores the leading byte offset.\nSwizzle: {modes}. Computed by smem_descriptor.hpp; elements have 16 bits.")
    top, pitch = 0.85, 0.85
    layouts = top + pitch * (1 + len(descriptor.examples)) + 0.4
    figure, axes = new_canvas(layouts + 3 * GROUP_HEIGHT + 0.45 + chart_style.caption_height(caption))
    draw_bits(axes, top, descriptor.fields,
              {field.name: "" for field in descriptor.fields},
              {field.name: f"{field.last}–{field.first}" for field in descriptor.fields})
    for field, color in zip(descriptor.fields, SERIES):
        axes.text(bit_left(field.last), top - 0.08, field.name, color=color)
    for i, example in enumerate(descriptor.examples):
        y = top + pitch * (i + 1)
        axes.text(bit_left(63), y - 0.08, f"{example.title}:  {example.call} = {example.value:#018x}")
        draw_bits(axes, y, descriptor.fields,
                  {field.name: f"{field.value_of(example.value):#x}" if field.last - field.first > 2 else
                   str(field.value_of(example.value)) for field in descriptor.fields}, example.meanings)
    k_major, mn_major = descriptor.examples
    draw_layout(axes, BITS_LEFT, layouts, k_major.title, 1, "K", "M or N", k_major.meanings)
    draw_layout(axes, BITS_LEFT + 3.3, layouts, mn_major.title, 2, "M or N", "K", mn_major.meanings)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, descriptor)


PICTURES = {"swizzle": (read_swizzle, draw_swizzle), "smem_descriptor": (read_descriptor, draw_descriptor)}
