"""The diagrams of the Hopper ladder's schedules: hopper_persistent.svg, hopper_tile_ends.svg and
hopper_wave_throttle.svg.

They show small models of what happens when. Their rules are those of the kernels, and so are the numbers of stages and
K blocks, which tools/plot.py reads from diagrams.json. How long a step takes is chosen so that the picture is clear, and
says nothing about a GPU.
"""

import dataclasses

import chart_style
from chart_style import BACKGROUND, BLUE, GREEN, GRID, INK, MUTED, ORANGE, PALE_ORANGE, SERIES
from plot_shared_memory import add_box, new_canvas, write
from plot_simt import tuples
from plot_tile_orders import diagram_data

# --- Schedules ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Span:
    lane: str
    begin: int
    end: int
    what: str  # "copy", "full", "multiply" or "store"
    text: str


@dataclasses.dataclass(frozen=True)
class Schedule:
    title: str
    lanes: tuple
    spans: tuple

    def end(self):
        return max(span.end for span in self.spans)

    def of_lane(self, lane):
        return sorted((span for span in self.spans if span.lane == lane), key=lambda span: span.begin)

    def idle(self):
        """How long nobody multiplies between the first product and the last."""
        busy = sorted((span.begin, span.end) for span in self.spans if span.what == "multiply")
        idle, until = 0, busy[0][0]
        for begin, end in busy:
            idle += max(0, begin - until)
            until = max(until, end)
        return idle


STYLES = {"copy": (ORANGE, BACKGROUND), "full": (PALE_ORANGE, INK), "multiply": (BLUE, BACKGROUND),
          "store": (GREEN, BACKGROUND)}
LANE_HEIGHT = 0.26
LANES_LEFT = 1.15
LANES_RIGHT = 8.8


def draw_schedules(title, caption, schedules, path):
    tops = []
    y = 0.95
    for schedule in schedules:
        tops.append(y)
        y += LANE_HEIGHT * len(schedule.lanes) + 0.62
    figure, axes = new_canvas(y - 0.35 + chart_style.caption_height(caption))
    unit = (LANES_RIGHT - LANES_LEFT) / max(schedule.end() for schedule in schedules)
    for top, schedule in zip(tops, schedules):
        axes.text(0.2, top - 0.12, schedule.title, fontsize=10)
        axes.text(LANES_RIGHT, top - 0.12, f"the tensor cores idle for {schedule.idle()} steps", fontsize=8.5, ha="right", color=MUTED)
        for number, lane in enumerate(schedule.lanes):
            lane_top = top + LANE_HEIGHT * number
            axes.text(LANES_LEFT - 0.1, lane_top + LANE_HEIGHT / 2, lane, ha="right", va="center", color=MUTED, fontsize=8)
            add_box(axes, LANES_LEFT, lane_top, LANES_RIGHT - LANES_LEFT, LANE_HEIGHT, BACKGROUND, edgecolor=GRID,
                    linewidth=0.6)
            for span in schedule.of_lane(lane):
                fill, ink = STYLES[span.what]
                x, width = LANES_LEFT + unit * span.begin, unit * (span.end - span.begin)
                add_box(axes, x, lane_top, width, LANE_HEIGHT, fill, linewidth=0.8)
                if span.text:
                    write(axes, x + width / 2, lane_top + LANE_HEIGHT / 2, span.text.replace("-", "−"), color=ink, fontsize=8)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, schedules)


# --- Persistent CTAs ---------------------------------------------------------------------------------------------

TILES = 2
TILE_BLOCKS = 6  # K blocks of a tile
COPY_STEPS = 3  # from the request to the arrival
MULTIPLY_STEPS = 2
STORE_STEPS = 6
START_STEPS = 1  # of a CTA


def ring_schedule(title, stages, is_persistent):
    """The stages and the stores of an SM. A copy begins when its stage is free and the one before has begun; the
    consumers multiply a K block when it has arrived, and no K block while they store."""
    spans = []
    free = [0] * stages
    issued, idle_from = -1, 0
    for tile in range(TILES):
        if not is_persistent and tile > 0:
            issued = idle_from + START_STEPS - 1
            free = [idle_from] * stages
        for k_block in range(TILE_BLOCKS):
            stage = (tile * TILE_BLOCKS * is_persistent + k_block) % stages
            issued = max(issued + 1, free[stage])
            arrived = issued + COPY_STEPS
            begin = max(arrived, idle_from)
            idle_from = free[stage] = begin + MULTIPLY_STEPS
            name = f"{tile + 1}.{k_block}"
            spans += [Span(f"stage {stage}", issued, arrived, "copy", name),
                      Span(f"stage {stage}", begin, idle_from, "multiply", name)]
            if begin > arrived:
                spans.append(Span(f"stage {stage}", arrived, begin, "full", ""))
        spans.append(Span("stores", idle_from, idle_from + STORE_STEPS, "store", f"tile {tile + 1}"))
        idle_from += STORE_STEPS
    return Schedule(title, (*(f"stage {stage}" for stage in range(stages)), "stores"), tuple(spans))


def read_persistent(folder):
    with diagram_data(folder, "hopper_persistent") as data:
        each, persistent = data
        return (ring_schedule(each["title"], each["stages"], False),
                ring_schedule(persistent["title"], persistent["stages"], True))


def draw_persistent(schedules, path):
    title = "The change of tiles: a CTA for each tile, and a persistent CTA"
    caption = ("Two tiles of six K blocks on one SM; 2.4 is K block 4 of tile 2. Time goes to the right. Orange: a copy is under way. "
               "Pale: the K block has\narrived. Blue: the consumers multiply it. Green: they store the tile. The ring and its order "
               "are the kernels'; how long a step takes\nis a model, not a measurement.")
    draw_schedules(title, caption, schedules, path)


# --- The ends of tiles -------------------------------------------------------------------------------------------

END_BLOCKS = 4  # K blocks of a tile that are shown
PIECES = 3  # epilogue subtiles of a half: 192 columns, 64 at a time
HALVES = ("upper half", "lower half")
STORES = ("store upper", "store lower")


def end_schedule(title, end_k_blocks):
    """A consumer at the change of tiles: its products of the two halves, and its stores. A step is the products of
    a half for one K block, or the store of an epilogue subtile. As in the code, the consumer stores while the products
    run that it has issued, and issues the next ones afterwards. When one subtile of the upper half is stored, it waits
    for the products of the lower half."""
    spans = []

    def multiply(half, k_blocks, begin):
        for k_block in k_blocks:
            spans.append(Span(HALVES[half], begin, begin + 1, "multiply", str(k_block)))
            begin += 1
        return begin

    def store(half, pieces, begin):
        for piece in pieces:
            spans.append(Span(STORES[half], begin, begin + 1, "store", str(piece + 1)))
            begin += 1
        return begin

    time = 0
    for k_block in range(-END_BLOCKS, -end_k_blocks):
        time = multiply(1, [k_block], multiply(0, [k_block], time))
    ends = range(-end_k_blocks, 0)
    upper_done = multiply(0, ends, time)
    lower_done = multiply(1, ends, upper_done)
    time = store(0, range(PIECES)[:1], upper_done)
    time = store(0, range(PIECES)[1:], max(time, lower_done))
    starts = range(end_k_blocks)
    upper_done = multiply(0, starts, time)
    time = max(store(1, range(PIECES), time), upper_done)
    time = multiply(1, starts, time)
    for k_block in range(end_k_blocks, END_BLOCKS):
        time = multiply(1, [k_block], multiply(0, [k_block], time))
    return Schedule(title, (*HALVES, *STORES), tuple(spans))


def read_tile_ends(folder):
    with diagram_data(folder, "hopper_tile_ends") as data:
        return tuple(end_schedule(f"{ring['title']}, {ring['stages']} stages", ring["end_k_blocks"]) for ring in data)


def draw_tile_ends(schedules, path):
    title = "The change of tiles in a consumer: what is multiplied while it stores"
    caption = ("Blue: products of a half of the tile, with the number of the K block; −1 is the last one of a tile, and 0 the first of "
               "the next. Green: the consumer\nstores a half, in three epilogue subtiles. A half may be multiplied again only when it is "
               "stored. The order is the kernels'; that storing a\nsubtile takes as long as the products of a half for one K block is "
               "a model, not a measurement.")
    draw_schedules(title, caption, schedules, path)


# --- Wave throttle -----------------------------------------------------------------------------------------------

TICKS = 150
SPEEDS = (1.0, 0.94, 0.88, 0.82)  # K blocks in a tick


@dataclasses.dataclass(frozen=True)
class Throttle:
    step: int
    clusters: int
    without: tuple  # of each cluster: the K blocks that it has issued, by tick
    throttled: tuple


def progress_of(step, enough):
    """The K blocks that each cluster has issued after each tick. enough(k_blocks) says how many steps all clusters
    together must have counted before a cluster goes on from there; None: it never waits."""
    done = [0.0] * len(SPEEDS)
    history = [tuple(done)]
    for _ in range(TICKS):
        counted = sum(int(blocks) // step for blocks in done)
        for cluster, speed in enumerate(SPEEDS):
            steps = int(done[cluster]) // step
            if enough is None or counted >= enough(steps * step):
                done[cluster] += speed
        history.append(tuple(done))
    return tuple(zip(*history))


def read_wave_throttle(folder):
    with diagram_data(folder, "hopper_wave_throttle") as data:
        step, clusters = data["step"], data["clusters"]
        table = dict(tuples(data["waits"]))
        slope = (table[2 * step] - table[step]) // step
        if any(enough != (k_blocks - step) * slope for k_blocks, enough in table.items()):
            raise ValueError("the steps that a cluster waits for are not those of its K blocks less one step")
        return Throttle(step, clusters, progress_of(step, None),
                        progress_of(step, lambda k_blocks: (k_blocks - step) * slope))


def distance(progress):
    """How far the first cluster is ahead of the last one at the end."""
    last = [blocks[-1] for blocks in progress]
    return max(last) - min(last)


def draw_wave_throttle(throttle, path):
    title = "The wave throttle: how far four clusters are along K"
    caption = (f"A model, not a measurement: the lines are four clusters of a wave, whose speeds differ by up to "
               f"{(1 - SPEEDS[-1]) * 100:.0f} %. The K blocks between the\nfirst and the last cluster must stay in L2, because the "
               f"last one still needs them. A cluster adds 1 to a common word after every {throttle.step} K blocks.\nIt waits until "
               "the clusters have counted on average as many steps as it has, less one. That rule is advance() of wave_pace.cuh.")
    height = 2.2
    bottom = chart_style.caption_height(caption) + 0.3
    figure = chart_style.new_figure(bottom + height + 0.75)
    most = distance(throttle.without)
    for left, progress, name in ((0.6, throttle.without, "v16: no throttle"), (5.1, throttle.throttled, "v17: a wave throttle")):
        axes = chart_style.add_axes(figure, left, bottom, 3.7, height)
        axes.set(xlim=(0, TICKS), ylim=(0, most * 1.03))
        axes.set_title(f"{name}: {distance(progress):.0f} K blocks apart at the end", loc="left", fontsize=9.5)
        axes.set_xlabel("time", fontsize=8.5)
        axes.set_ylabel("K blocks ahead of the last cluster", fontsize=8.5)
        axes.set_xticks([])
        axes.grid(axis="y")
        last = [min(blocks) for blocks in zip(*progress)]
        for number, blocks in enumerate(progress):
            axes.plot(range(TICKS + 1), [of_this - of_last for of_this, of_last in zip(blocks, last)],
                      color=SERIES[number], linewidth=1.4)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, throttle)


PICTURES = {"hopper_persistent": (read_persistent, draw_persistent),
            "hopper_tile_ends": (read_tile_ends, draw_tile_ends),
            "hopper_wave_throttle": (read_wave_throttle, draw_wave_throttle)}
