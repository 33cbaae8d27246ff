"""The diagram of the raster orders, tile_orders.svg. It shows each as a path over D, and the operands of one wave.

tools/plot.py draws it from diagrams.json, which src/diagrams/diagram_data.cpp wrote.
"""

import contextlib
import dataclasses
import json

import chart_style
from chart_style import BACKGROUND, BLUE, INK, MUTED, PALE_BLUE, PALE_ORANGE
from ladder_results import ResultsError

DATA_FILE = "diagrams.json"
WAVE = 2  # the wave that is shown; it is not the first, which does not start where another ended

COLUMNS = 2
SIDE = 3.7  # of D, in inches, as all of these
LEFT = 0.45
PITCH = 4.4  # from one to the next beside it
ABOVE = 0.6
BELOW = 0.5


@contextlib.contextmanager
def diagram_data(folder, key):
    """Reads what diagram_data printed under the key. Turns a fault of it into one sentence."""
    path = folder / DATA_FILE
    with open(path, encoding="utf-8") as file:
        try:
            yield json.load(file)[key]
        except (LookupError, TypeError, ValueError) as error:
            raise ResultsError(f"{path} is not what diagram_data prints: {error!r}") from error


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str
    note: str
    path: tuple  # (row, column) of each tile in the order
    first: int  # of the wave that is shown
    end: int
    block_m: int
    block_n: int
    result: str

    @property
    def wave(self):
        return self.path[self.first:self.end]


@dataclasses.dataclass(frozen=True)
class TileOrders:
    title: str
    caption: str
    shape: tuple
    panels: tuple


def touched(tiles):
    """The rows and the columns of tiles that these tiles lie in."""
    return sorted({m for m, _ in tiles}), sorted({n for _, n in tiles})


def panel_of(order, strip_bytes):
    path = tuple(map(tuple, order["path"]))
    workers = order["workers"]
    first, end = WAVE * workers, (WAVE + 1) * workers
    rows, columns = touched(path[first:end])
    size = (len(rows) * order["block_m"] + len(columns) * order["block_n"]) * strip_bytes
    of_versions = f" ({order['versions']})" if order["versions"] else ""
    return Panel(f"{order['title']}{of_versions}",
                 f"{order['call']}; {workers} tiles of {order['block_m']}x{order['block_n']} in a wave",
                 path, first, end, order["block_m"], order["block_n"],
                 f"this wave: {len(rows)} strips of A, {len(columns)} of B, {size / 1e6:.0f} MB\n"
                 f"all {-(-len(path) // workers)} waves: {order['strips_a']} and {order['strips_b']}, "
                 f"{order['fetched_bytes'] / 1e9:.2f} GB")


def read(folder):
    caption = ("Blue: the tiles of D of one wave, all computed at about the same time. Shaded: the strips of A (rows) "
               "and B (columns) that\nthey need. In bytes: if each comes from memory once a wave, and L2 keeps none from "
               "the wave before.\nComputed by tile_scheduler.hpp and schedule_cost.hpp for 132 SMs. "
               "A tile of 256x256 is that of a cluster of two CTAs.")
    with diagram_data(folder, "tile_orders") as data:
        m, n, k = map(int, data["shape"].split("x"))
        strip_bytes = k * data["element_bytes"]
        return TileOrders(f"Tile orders and the working set of a wave: bf16, {data['shape']}", caption, (m, n),
                          tuple(panel_of(order, strip_bytes) for order in data["orders"]))


def draw_panel(axes, panel, shape):
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    m, n = shape
    axes.set_xlim(0, n)
    axes.set_ylim(m, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set(visible=True, color=MUTED)
    rows, columns = touched(panel.wave)
    height, width = panel.block_m, panel.block_n
    for row in rows:
        axes.add_patch(Rectangle((0, row * height), n, height, color=PALE_ORANGE, linewidth=0))
    for column in columns:
        axes.add_patch(Rectangle((column * width, 0), width, m, color=PALE_BLUE, linewidth=0))
    # One shape has no seams.
    tiles = [Path.unit_rectangle().transformed(Affine2D().translate(column, row).scale(width, height))
             for row, column in panel.wave]
    axes.add_patch(PathPatch(Path.make_compound_path(*tiles), color=BLUE, linewidth=0))
    points = [((column + 0.5) * width, (row + 0.5) * height) for row, column in panel.path]
    axes.plot(*zip(*points), color=MUTED, linewidth=0.7, zorder=2)
    axes.plot(*zip(*points[panel.first:panel.end]), color=BACKGROUND, linewidth=0.9, zorder=3)
    axes.plot(*points[0], color=INK, marker="o", markersize=3.5, zorder=4)
    for text, corner, distance, style in ((panel.title, (0, 1), 17, {"fontsize": 10}),
                                          (panel.note, (0, 1), 5, {"fontsize": 8, "color": MUTED}),
                                          (panel.result, (0, 0), -5, {"va": "top", "linespacing": 1.35})):
        axes.annotate(text, corner, xycoords="axes fraction", xytext=(0, distance), textcoords="offset points", **style)


def draw(orders, path):
    bottom = chart_style.caption_height(orders.caption) + 0.1
    grid_rows = -(-len(orders.panels) // COLUMNS)
    row_height = ABOVE + SIDE + BELOW
    figure = chart_style.new_figure(bottom + grid_rows * row_height + 0.4)
    for i, panel in enumerate(orders.panels):
        from_top, column = divmod(i, COLUMNS)
        axes = chart_style.add_axes(figure, LEFT + PITCH * column,
                                    bottom + (grid_rows - 1 - from_top) * row_height + BELOW, SIDE, SIDE)
        draw_panel(axes, panel, orders.shape)
    chart_style.add_words(figure, orders.title, orders.caption)
    chart_style.save(figure, path, orders.title, orders)


PICTURES = {"tile_orders": (read, draw)}
