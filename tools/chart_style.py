"""The parts that charts and diagrams share: colors for light and dark pages, type, captions, places for labels.

GitHub shows a picture on the reader's page, light or dark, but not in the page's colors. Each color here is therefore a
pair. The file is drawn in the light colors, and its style sheet replaces them by the dark ones if the reader prefers
those. The background is one of the colors, so that text is legible whatever a browser makes of the preference.
"""

import dataclasses
import hashlib
import io
import math
import pathlib
import sys

BACKGROUND = "#ffffff"
INK = "#1f2328"
MUTED = "#59636e"
GRID = "#d8dee4"
BLUE = "#0969da"
ORANGE = "#bc4c00"
GREEN = "#1a7f37"
PURPLE = "#8250df"
RED = "#cf222e"
YELLOW = "#9a6700"
PINK = "#bf3989"
PALE_BLUE = "#ddf4ff"
PALE_ORANGE = "#fff1e5"

# Text in the background's color can stand on any of these.
SERIES = (BLUE, ORANGE, GREEN, PURPLE, RED, YELLOW, PINK, MUTED)

# The colors for dark pages. The pairs are those of GitHub's own themes.
DARK = {
    BACKGROUND: "#0d1117",
    INK: "#e6edf3",
    MUTED: "#9198a1",
    GRID: "#2f353d",
    BLUE: "#58a6ff",
    ORANGE: "#f0883e",
    GREEN: "#3fb950",
    PURPLE: "#bc8cff",
    RED: "#ff7b72",
    YELLOW: "#d29922",
    PINK: "#f778ba",
    PALE_BLUE: "#132d4d",
    PALE_ORANGE: "#3d2613",
}

WIDTH = 9.0  # of a picture, in inches
LINE_HEIGHT = 0.16  # of a caption's lines, in inches
CHARACTER = 5.6  # the width of one, in points


def dark_style():
    """matplotlib writes colors into each element's style attribute, which only !important overrides."""
    rules = "".join(f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
                    for light, dark in DARK.items() for what in ("fill", "stroke"))
    return f"@media (prefers-color-scheme: dark){{{rules}}}"


def new_figure(height):
    # The import is here, so that tests of the data run where matplotlib is not installed.
    import matplotlib
    from matplotlib.figure import Figure

    # Text is drawn as outlines, so that the picture looks the same everywhere. The salt makes the file's identifiers
    # the same each time.
    matplotlib.rcParams.update({
        "svg.fonttype": "path", "svg.hashsalt": "hopper-gemm", "font.family": "DejaVu Sans", "font.size": 9,
        "text.color": INK, "axes.edgecolor": MUTED, "axes.labelcolor": MUTED, "axes.facecolor": "none",
        "xtick.color": MUTED, "ytick.color": MUTED, "grid.color": GRID, "grid.linewidth": 0.6, "axes.axisbelow": True,
        "axes.spines.top": False, "axes.spines.right": False})
    return Figure(figsize=(WIDTH, height), facecolor=BACKGROUND)


def add_axes(figure, left, bottom, width, height):
    """All values are in inches, from the lower left corner."""
    total = figure.get_figheight()
    return figure.add_axes((left / WIDTH, bottom / total, width / WIDTH, height / total))


def add_words(figure, title, caption):
    height = figure.get_figheight()
    figure.text(0.02, 1 - 0.13 / height, title, fontsize=11, va="top")
    figure.text(0.02, 0.12 / height, caption, fontsize=8, va="bottom", color=MUTED, linespacing=1.4)


def caption_height(caption):
    """All values are in inches. Above and below the axes is free space."""
    return 0.25 + LINE_HEIGHT * len(caption.splitlines())


def data_comment(what):
    """A picture's mark of the data that it shows. By it, one can tell without drawing whether it shows these data."""
    return f"<!-- SHA-256 of the data: {hashlib.sha256(repr(what).encode()).hexdigest()} -->"


def save(figure, path, title, what):
    """what: the data that the picture shows."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    svg = text.getvalue().replace("</style>", dark_style() + "</style>", 1)
    pathlib.Path(path).write_text(f"{svg}{data_comment(what)}\n", encoding="utf-8")


def rounds_text(row):
    return f"median of {row['rounds']} interleaved rounds, {row['data']} inputs"


def run_text(row):
    return f"{row['gpu']} ({row['sm_count']} SMs), CUDA {row['cuda']}, commit {row['commit']}, {row['date'][:10]}"


@dataclasses.dataclass(frozen=True)
class LabelledPoint:
    x: float
    y: float
    label: str


def spread(positions, gap):
    """The positions in the given order, moved as little as possible so that they are at least the gap apart."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    groups = []  # (sum of where the group's first would like to be, items)
    for i in order:
        groups.append([positions[i], [i]])
        while len(groups) > 1:
            (low_sum, low), (high_sum, high) = groups[-2:]
            if low_sum / len(low) + gap * len(low) <= high_sum / len(high):
                break
            groups[-2:] = [[low_sum + high_sum - gap * len(low) * len(high), low + high]]
    moved = list(positions)
    for total, items in groups:
        for rank, i in enumerate(items):
            moved[i] = total / len(items) + gap * rank
    return moved


def overlap(x, y):
    """The area that two boxes (left, bottom, right, top) share."""
    width = min(x[2], y[2]) - max(x[0], y[0])
    height = min(x[3], y[3]) - max(x[1], y[1])
    return width * height if width > 0 and height > 0 else 0


def place_labels(points, texts, bounds, others=(), height=11.0, radius=4.5):
    """The place of each point's label, as (left, bottom). It is beside its point and, as far as possible, off all
    points and other labels and inside the bounds, a box. The others are points without a label. All values are in 1/72
    inch."""
    markers = [(x - radius, y - radius, x + radius, y + radius) for x, y in (*points, *others)]
    taken = list(markers)
    places = []
    for (x, y), text in zip(points, texts):
        width = CHARACTER * len(text)
        candidates = [(left, bottom, left + width, bottom + height)
                      for away in (radius + 1, radius + height)
                      for left, bottom in (
                          (x + away, y - height / 2), (x - away - width, y - height / 2), (x - width / 2, y + away),
                          (x - width / 2, y - away - height), (x + away, y + away / 2),
                          (x - away - width, y + away / 2), (x + away, y - away / 2 - height),
                          (x - away - width, y - away / 2 - height))]
        best = min(candidates, key=lambda box: sum(overlap(box, other) for other in taken)
                   + width * height - overlap(box, bounds))
        taken.append(best)
        places.append(best[:2])
    return places


def coincident(places, radius=4.5):
    """The places by numbers. Points whose markers cover each other's middle share a place."""
    groups = []
    for i, place in enumerate(places):
        group = next((group for group in groups if any(math.dist(place, places[j]) < radius for j in group)), None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    return groups


def joint_label(labels):
    """The label of points in one place: 1, 4, or 5–8 for numbers that follow each other."""
    numbers = [int(label) for label in labels if label.isdigit()]
    if len(labels) > 2 and numbers and numbers == list(range(numbers[0], numbers[0] + len(labels))):
        return f"{labels[0]}–{labels[-1]}"
    return ", ".join(labels)


def label_points(axes, points, others=()):
    """Writes each point's label beside it, and one label for points in one place. The axes must have their limits. The
    others are points, (x, y), that the labels avoid."""
    # An inset has no place before this.
    axes.figure.draw_without_rendering()
    scale = 72 / axes.figure.dpi  # from pixels

    def place(x, y):
        return tuple(scale * axes.transData.transform((x, y)))

    places = [place(point.x, point.y) for point in points]
    groups = coincident(places)
    labels = [joint_label([points[i].label for i in group]) for group in groups]
    firsts = [places[group[0]] for group in groups]
    keep_off = [places[i] for group in groups for i in group[1:]] + [place(x, y) for x, y in others]
    corners = place_labels(firsts, labels, tuple(scale * side for side in axes.bbox.extents), keep_off)
    for group, label, (x, y), (left, bottom) in zip(groups, labels, firsts, corners):
        axes.annotate(label, (points[group[0]].x, points[group[0]].y), xytext=(left - x, bottom - y + 2),
                      textcoords="offset points", zorder=5)


def crowd(points, factor):
    """The points that are closer than the factor to two or more others, too close for labels among all points."""
    places = [(math.log(point.x), math.log(point.y)) for point in points]
    return [point for point, place in zip(points, places)
            if sum(math.dist(place, other) < math.log(factor) for other in places) > 2]


def scatter(axes, points, labelled):
    """Draws all points, and labels some of them. The axes must have their limits."""
    axes.scatter([point.x for point in points], [point.y for point in points], color=BLUE, s=26, zorder=4)
    label_points(axes, labelled)


def scatter_with_zoom(axes, points, close_factor, place):
    """Draws all points. If many are close together, an inset shows these larger. Each point has one label; in the inset
    that is only its first word, a version's number."""
    close = crowd(points, close_factor)
    scatter(axes, points, [point for point in points if point not in close])
    if not close:
        return
    inset = axes.inset_axes(place)
    inset.set_facecolor(BACKGROUND)
    for side in inset.spines.values():
        side.set_visible(True)
    for set_limits, values in ((inset.set_xlim, [point.x for point in close]),
                               (inset.set_ylim, [point.y for point in close])):
        margin = 0.25 * (max(values) - min(values))
        set_limits(min(values) - margin, max(values) + margin)
    # The lines between the box and the inset would run through labels, so they are not drawn.
    for connector in axes.indicate_inset_zoom(inset, edgecolor=MUTED, alpha=1, linewidth=0.8).connectors:
        connector.set_visible(False)
    inset.set_title("what is in the box, larger", loc="left", fontsize=8, color=MUTED, pad=3)
    inset.tick_params(labelsize=8)
    inset.grid()
    scatter(inset, close, [dataclasses.replace(point, label=point.label.split()[0]) for point in close])


def set_log_ticks(axes, axis, ticks):
    axes.set(**{f"{axis}scale": "log"})
    axes.set(**{f"{axis}ticks": ticks, f"{axis}ticklabels": [f"{tick:g}" for tick in ticks]})
    axes.tick_params(axis=axis, which="minor", length=0, labelbottom=False, labelleft=False)


def write_along(axes, start, end, text):
    """Writes above the middle of the line. The axes must have their limits."""
    (x0, y0), (x1, y1) = axes.transData.transform((start, end))
    middle = axes.transData.inverted().transform(((x0 + x1) / 2, (y0 + y1) / 2))
    axes.annotate(text, middle, rotation=math.degrees(math.atan2(y1 - y0, x1 - x0)), rotation_mode="anchor",
                  xytext=(-3, 4), textcoords="offset points", ha="center", va="bottom")


def exit_status_of(program, draw, *errors):
    """Calls draw() and returns the program's exit status. Says what went wrong if it is one of `errors` or a file."""
    try:
        draw()
    except ImportError as error:
        print(f"{program}: a picture needs matplotlib ({error}); type ./dev plots, which installs it", file=sys.stderr)
        return 2
    except (OSError, *errors) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    return 0
