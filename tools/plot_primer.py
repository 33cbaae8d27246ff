"""The diagrams of docs/primer.md: primer_gpu.svg, primer_sm.svg, primer_latencies.svg, primer_l2_lines.svg,
primer_occupancy.svg and primer_waves.svg.

tools/plot.py draws them. What was measured comes from profiles/h100/probe.csv and probe.json, and the resources of two
kernels from their profiles in profiles/h200. What NVIDIA documents and what follows by arithmetic stands here.
"""

import csv
import dataclasses
import json

import chart_style
import profile  # tools/profile.py, not the standard library's
from chart_style import BACKGROUND, BLUE, GRID, INK, MUTED, ORANGE, PALE_BLUE, PALE_ORANGE
from ladder_results import NotMeasuredError, ResultsError
from plot_shared_memory import add_box, new_canvas, write

# From the folder of the images.
PROBE = "../../profiles/{gpu}/probe.{extension}"
PROFILES = "../../profiles/h200"

# "NVIDIA H100 Tensor Core GPU Architecture": a full GH100 has 8 GPCs of 18 SMs.
GPCS = 8
SMS_OF_A_FULL_GPC = 18
HBM_STACKS = 5

# CUDA C++ Programming Guide, "Compute Capabilities": what an SM of compute capability 9.0 has.
REGISTERS = 64 * 1024
REGISTER_BYTES = 4
MOST_THREADS = 2048
MOST_SHARED_KIB = 228
MOST_SHARED_KIB_OF_A_CTA = 227
RESERVED_SHARED_KIB = 1  # of each CTA, by the system
WARP_THREADS = 32
REGISTERS_UNIT = 256  # an SM gives registers to a warp in units of as many


@dataclasses.dataclass(frozen=True)
class Probe:
    values: dict  # {name: value}
    others: dict  # {name: the value in the other unit}
    gpu: str
    sm_count: int
    l2_mib: int
    rounds: int
    source: str


def read_probe(folder, gpu="h100"):
    path = (folder / PROBE.format(gpu=gpu, extension="csv")).resolve()
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    try:
        row = rows[0]
        return Probe({row["name"]: float(row["value"]) for row in rows},
                     {row["name"]: float(row["other_value"]) for row in rows if row["other_value"]},
                     row["gpu"], int(row["sm_count"]), int(row["l2_bytes"]) // 2 ** 20, int(row["rounds"]),
                     f"matmul probe on one {row['gpu']}, commit {row['commit']}, {row['date'][:10]}")
    except (LookupError, ValueError) as error:
        raise ResultsError(f"{path} is not what matmul probe writes: {error}") from error


# --- The GPU -----------------------------------------------------------------------------------------------------

SM_CELL = 0.185  # in inches, as all of these
GPC_PITCH = 2.16


def sms_of_gpcs(sm_count):
    """An example of how many SMs each GPC has: they lack SMs in pairs, and the first ones lack most."""
    missing_pairs = (GPCS * SMS_OF_A_FULL_GPC - sm_count) // 2
    return tuple(SMS_OF_A_FULL_GPC - 2 * (missing_pairs // GPCS + (gpc < missing_pairs % GPCS)) for gpc in range(GPCS))


def draw_gpc(axes, left, top, name, sms):
    columns = 9
    add_box(axes, left, top, SM_CELL * columns + 0.16, SM_CELL * 2 + 0.36, PALE_BLUE, edgecolor=BLUE, linewidth=0.8)
    axes.text(left + 0.08, top + 0.19, f"{name}: {sms} SMs", fontsize=8)
    for i in range(SMS_OF_A_FULL_GPC):
        column, row = divmod(i, 2)
        add_box(axes, left + 0.08 + SM_CELL * column, top + 0.27 + SM_CELL * row, SM_CELL, SM_CELL,
                BLUE if i < sms else GRID)


def draw_gpu(probe, path):
    title = "An H100: SMs in GPCs, an L2 in two partitions, HBM"
    caption = ("A blue square is an SM. Grey squares are SMs that are switched off: a full chip has 144. Which SMs are off, and which "
               "GPCs are near\nwhich partition of L2, is an example. Counts: “NVIDIA H100 Tensor Core GPU Architecture”; partitions: the "
               "same of the A100.\nSpeeds: " + probe.source + ".")
    left = 0.25
    width = GPC_PITCH * 3 + SM_CELL * 9 + 0.16
    half = (width - 0.3) / 2
    gpc_height = SM_CELL * 2 + 0.36
    top, l2_top, hbm_top = 0.55, 2.75, 4.0
    figure, axes = new_canvas(hbm_top + 0.45 + chart_style.caption_height(caption))
    for i, count in enumerate(sms_of_gpcs(probe.sm_count)):
        # Two columns of GPCs lie above each partition of L2.
        draw_gpc(axes, left + GPC_PITCH * (i // 2), top + (gpc_height + 0.1) * (i % 2), f"GPC {i}", count)
    for i in range(2):
        x = left + (half + 0.3) * i
        add_box(axes, x, l2_top, half, 0.5, PALE_ORANGE, edgecolor=ORANGE, linewidth=0.8)
        write(axes, x + half / 2, l2_top + 0.25, f"L2, partition {i}: {probe.l2_mib // 2} MiB", fontsize=9)
    pitch = width / HBM_STACKS
    for i in range(HBM_STACKS):
        x = left + pitch * i
        add_box(axes, x + (0.06 if i else 0), hbm_top, pitch - (0.06 if i else 0), 0.34, GRID, edgecolor=MUTED, linewidth=0.8)
        write(axes, x + pitch / 2, hbm_top + 0.17, f"HBM stack {i}", fontsize=8)
    arrow = {"arrowstyle": "<->", "color": INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    gpcs_bottom = top + gpc_height * 2 + 0.1
    for start, end in ((gpcs_bottom + 0.04, l2_top - 0.04), (l2_top + 0.54, hbm_top - 0.04)):
        for x in (left + half * 0.25, left + width - half * 0.25):
            axes.annotate("", (x, end), (x, start), arrowprops=arrow)
    axes.annotate("", (left + half + 0.3, l2_top + 0.25), (left + half, l2_top + 0.25), arrowprops=arrow)
    middle = left + width / 2
    write(axes, middle, (gpcs_bottom + l2_top) / 2, f"L2 delivers {probe.values['l2_bandwidth']:.1f} TB/s to all SMs", fontsize=8.5)
    write(axes, middle, (l2_top + 0.5 + hbm_top) / 2, f"HBM, the DRAM, is read at "
          f"{probe.values['memory_read_bandwidth']:.2f} TB/s", fontsize=8.5)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, probe)


# --- An SM -------------------------------------------------------------------------------------------------------

LANE = 0.113


def draw_partition(axes, left, top, number):
    width, height = 2.0, 2.05
    add_box(axes, left, top, width, height, PALE_BLUE, edgecolor=BLUE, linewidth=0.8)
    boxes = ((0.08, 0.26, "scheduler: 1 instruction a cycle", BACKGROUND, INK),
             (0.42, 0.36, f"registers: {REGISTERS * REGISTER_BYTES // 4 // 1024} KB", BACKGROUND, INK))
    for y, tall, text, fill, ink in boxes:
        add_box(axes, left + 0.08, top + y, width - 0.16, tall, fill, edgecolor=MUTED, linewidth=0.6)
        write(axes, left + width / 2, top + y + tall / 2, text, fontsize=7.5, color=ink)
    for lane in range(WARP_THREADS):
        row, column = divmod(lane, 16)
        add_box(axes, left + 0.096 + LANE * column, top + 0.88 + LANE * 1.3 * row, LANE, LANE * 1.3, BLUE, linewidth=0.6)
    write(axes, left + width / 2, top + 1.3, f"{WARP_THREADS} lanes: an fp32 FMA each", fontsize=7.5)
    add_box(axes, left + 0.08, top + 1.45, width - 0.16, 0.5, ORANGE)
    write(axes, left + width / 2, top + 1.7, "tensor core", fontsize=8.5, color=BACKGROUND)
    write(axes, left + width / 2, top - 0.1, f"partition {number}", fontsize=7.5, color=MUTED)


def draw_sm(probe, path):
    title = "One SM of an H100: four partitions and a memory that they share"
    caption = (f"Counts and sizes: “NVIDIA H100 Tensor Core GPU Architecture” and CUDA C++ Programming Guide, compute capability "
               f"9.0.\nAn SM's bandwidths: {probe.source}.\nThe 32 banks of shared memory serve 4 bytes each in a cycle.")
    top, left, pitch = 0.75, 0.25, 2.165
    figure, axes = new_canvas(5.0 + chart_style.caption_height(caption))
    for i in range(4):
        draw_partition(axes, left + pitch * i, top, i)
    width = pitch * 3 + 2.0
    y = top + 2.3
    total = 256
    add_box(axes, left, y, width, 1.0, PALE_ORANGE, edgecolor=ORANGE, linewidth=0.8)
    axes.text(left + 0.1, y + 0.2, f"L1 cache and shared memory: {total} KB", fontsize=8.5)
    inner = width - 0.2
    shared = inner * MOST_SHARED_KIB_OF_A_CTA / total
    bank = shared / 32
    for i in range(32):
        add_box(axes, left + 0.1 + bank * i, y + 0.3, bank, 0.28, ORANGE, linewidth=0.8)
        write(axes, left + 0.1 + bank * (i + 0.5), y + 0.44, str(i), fontsize=6, color=BACKGROUND)
    add_box(axes, left + 0.1 + shared, y + 0.3, inner - shared, 0.28, BACKGROUND, edgecolor=MUTED, linewidth=0.6)
    axes.text(left + 0.1, y + 0.8, f"shared memory: a CTA can have up to {MOST_SHARED_KIB_OF_A_CTA} KB, in 32 banks",
              fontsize=8.5)
    axes.text(left + width - 0.1, y + 0.8, "the rest: L1 cache", fontsize=8.5, ha="right")
    y += 1.15
    add_box(axes, left, y, width, 0.3, GRID, edgecolor=MUTED, linewidth=0.8)
    write(axes, left + width / 2, y + 0.15, "TMA: copies boxes of a matrix between global and shared memory", fontsize=8.5)
    write(axes, left + width / 2, y + 0.48, f"From shared memory: {probe.values['shared_bandwidth']:.1f} bytes a cycle. From L2, "
          f"alone: {probe.others['l2_sm_bandwidth']:.1f}; with all SMs at once: {probe.others['l2_bandwidth']:.1f}.",
          fontsize=8.5)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, probe)


# --- Latencies ---------------------------------------------------------------------------------------------------

LADDER = (("shared_latency", "shared memory", BLUE), ("l1_latency", "L1", BLUE),
          ("l2_near_again_latency", "L2, near, second read", BLUE), ("l2_far_again_latency", "L2, far, second read", BLUE),
          ("l2_near_latency", "L2, near, first read", ORANGE), ("l2_far_latency", "L2, far, first read", ORANGE),
          ("memory_latency", "DRAM", MUTED))


@dataclasses.dataclass(frozen=True)
class Latencies:
    steps: tuple  # (name, cycles, ns, color)
    rounds: int
    source: str


def read_latencies(folder):
    probe = read_probe(folder)
    return Latencies(tuple((label, probe.values[name], probe.others[name], color) for name, label, color in LADDER),
                     probe.rounds, probe.source)


def draw_latencies(latencies, path):
    title = "The latency ladder: how long a load takes that waits for the load before it"
    caption = (f"Source: {latencies.source}, median of {latencies.rounds} rounds.\n“First read”: other SMs have just written the line. "
               "“Second read”: the same SM has read it before.")
    height = 0.36 * len(latencies.steps) + 1.0
    figure = chart_style.new_figure(height + chart_style.caption_height(caption))
    axes = chart_style.add_axes(figure, 1.75, chart_style.caption_height(caption) + 0.45, 6.9, height - 0.95)
    names = [name for name, *_ in latencies.steps]
    cycles = [step[1] for step in latencies.steps]
    axes.barh(range(len(names)), cycles, color=[step[3] for step in latencies.steps], height=0.66)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 820)
    axes.set_xlabel("cycles of the SM's clock")
    axes.grid(axis="x")
    for i, (_, value, ns, _) in enumerate(latencies.steps):
        axes.text(value + 8, i, f"{value:.0f} cycles, {ns:.1f} ns", va="center", fontsize=8.5)
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, latencies)


@dataclasses.dataclass(frozen=True)
class L2Lines:
    first: float  # the cycles at which the first bin begins
    width: float  # of a bin
    first_reads: tuple  # lines in each bin
    again: tuple
    source: str

    def groups(self, lines):
        """Neighbouring bins with lines, as (first cycle, last cycle, lines)."""
        groups = []
        for i, count in enumerate((*lines, 0)):
            if count and i and lines[i - 1]:
                groups[-1][1:] = [self.first + self.width * (i + 1), groups[-1][2] + count]
            elif count:
                groups.append([self.first + self.width * i, self.first + self.width * (i + 1), count])
        return tuple(map(tuple, groups))


def read_l2_lines(folder):
    source = read_probe(folder).source
    path = (folder / PROBE.format(gpu="h100", extension="json")).resolve()
    try:
        lines = json.loads(path.read_text(encoding="utf-8"))["l2_lines"]
        first, again = lines["first_reads"], lines["again"]
        return L2Lines(first["first_cycles"], first["bin_cycles"], tuple(first["lines"]), tuple(again["lines"]), source)
    except (LookupError, TypeError, ValueError) as error:
        raise ResultsError(f"{path} is not what matmul probe writes: {error}") from error


def draw_l2_lines(lines, path):
    title = "How long L2 takes to answer: 16,384 lines, each read twice by one SM"
    caption = (f"Bins of {lines.width:.0f} cycles; a reading includes some cycles for reading the clock. The scales of the two "
               f"halves differ.\nOther SMs had just written the lines. Source: {lines.source}.")
    figure = chart_style.new_figure(3.75 + chart_style.caption_height(caption))
    bottom = chart_style.caption_height(caption) + 0.5
    for top, name, counts, color in ((1.65, "first read", lines.first_reads, ORANGE), (0, "second read", lines.again, BLUE)):
        axes = chart_style.add_axes(figure, 0.75, bottom + top, 7.9, 1.0)
        axes.bar([lines.first + lines.width * (i + 0.5) for i in range(len(counts))], counts, width=lines.width, color=color)
        axes.set_xlim(200, 820)
        axes.set_ylim(0, max(counts) * 1.35)
        axes.set_title(name, loc="left", fontsize=9)
        axes.set_ylabel("lines")
        for begin, end, count in lines.groups(counts):
            if begin >= 200:
                axes.text((begin + end) / 2, max(counts) * 1.1, f"{count:,} lines", ha="center", fontsize=8.5)
    axes.set_xlabel("cycles from the load to its value")
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, lines)


# --- Occupancy ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    registers: int  # of a thread
    threads: int  # of a CTA
    shared_kib: float  # of a CTA

    def registers_of_cta(self):
        of_a_warp = -(-self.registers * WARP_THREADS // REGISTERS_UNIT) * REGISTERS_UNIT
        return of_a_warp * self.threads // WARP_THREADS

    def rooms(self):
        """How many CTAs each resource of an SM has room for."""
        return {"registers": REGISTERS // self.registers_of_cta(),
                "shared memory": int(MOST_SHARED_KIB // (self.shared_kib + RESERVED_SHARED_KIB)),
                "threads": MOST_THREADS // self.threads}

    def ctas(self):
        return min(self.rooms().values())

    def occupancy(self):
        return self.ctas() * self.threads / MOST_THREADS


def read_kernel(folder, name, file, ladder):
    path = (folder / PROFILES / file).resolve()
    if not path.is_file():
        raise NotMeasuredError(f"there is no {path}")
    _, readings = profile.read_profile(path, ladder)

    def of(metric):
        return profile.as_number(readings[metric][1])

    return Kernel(name, int(of("launch__registers_per_thread")), int(of("launch__block_size")),
                  of("launch__shared_mem_per_block_dynamic") / 1024)


def read_occupancy(folder):
    return (read_kernel(folder, "simt.4", "simt4.csv", profile.SIMT),
            read_kernel(folder, "simt.7", "simt7.csv", profile.SIMT),
            read_kernel(folder, "Hopper, 11", "v11.csv", profile.HOPPER))


def draw_occupancy(kernels, path):
    title = "What the CTAs on one SM take of its registers, shared memory and threads"
    caption = ("Blue and pale blue, in turns: the CTAs that run at the same time. Orange: the resource that has no room for another "
               "CTA.\nResources of a CTA: profiles/h200 (simt4, simt7, v11). Sizes of an SM: CUDA C++ Programming Guide, compute "
               "capability 9.0.")
    left, width, bar, row = 1.85, 5.3, 0.2, 1.12
    figure, axes = new_canvas(0.6 + row * len(kernels) + chart_style.caption_height(caption))
    for i, kernel in enumerate(kernels):
        y = 0.65 + row * i
        axes.text(0.2, y + 0.05, kernel.name, fontsize=10)
        axes.text(0.2, y + 0.27, f"{kernel.ctas()} CTA{'s' if kernel.ctas() > 1 else ''} of", fontsize=8, color=MUTED)
        axes.text(0.2, y + 0.44, f"{kernel.threads} threads", fontsize=8, color=MUTED)
        shares = {"registers": kernel.registers_of_cta() / REGISTERS,
                  "shared memory": (kernel.shared_kib + RESERVED_SHARED_KIB) / MOST_SHARED_KIB,
                  "threads": kernel.threads / MOST_THREADS}
        for j, (name, share) in enumerate(shares.items()):
            top = y - 0.12 + 0.28 * j
            full = kernel.rooms()[name] == kernel.ctas()
            write(axes, left - 0.06, top + bar / 2, name, ha="right", fontsize=8)
            add_box(axes, left, top, width, bar, GRID)
            for cta in range(kernel.ctas()):
                fills = (ORANGE, PALE_ORANGE) if full else (BLUE, PALE_BLUE)
                add_box(axes, left + width * share * cta, top, width * share, bar, fills[cta % 2], edgecolor=fills[0])
            note = f"{share * kernel.ctas() * 100:.1f} %" + (", no room" if full else "")
            axes.text(left + width + 0.08, top + bar / 2, note, fontsize=8, va="center")
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, kernels)


# --- Waves -------------------------------------------------------------------------------------------------------

BLOCK = (128, 256)  # the tile of the picture
SM_BOX = 0.112


@dataclasses.dataclass(frozen=True)
class Waves:
    m: int
    n: int
    sms: int

    def grid(self):
        return -(-self.m // BLOCK[0]), -(-self.n // BLOCK[1])

    def tiles(self):
        rows, columns = self.grid()
        return rows * columns

    def waves(self):
        """How many SMs have a tile in each wave."""
        return [min(self.sms, self.tiles() - first) for first in range(0, self.tiles(), self.sms)]

    def efficiency(self):
        return self.tiles() / (len(self.waves()) * self.sms)


def read_waves(folder):
    sms = read_probe(folder).sm_count
    return tuple(Waves(m, n, sms) for m, n in ((2170, 1024), (2304, 2048), (4096, 4096)))


def draw_squares(axes, left, top, counts, size, filled, line, fill):
    """The first squares of a grid are filled. All have lines around them."""
    (rows, columns), (height, width) = counts, size
    whole, rest = divmod(filled, columns)
    add_box(axes, left, top, width * columns, height * whole, fill, linewidth=0)
    add_box(axes, left, top + height * whole, width * rest, height, fill, linewidth=0)
    style = {"color": line, "linewidth": 0.6, "solid_capstyle": "butt"}
    for row in range(rows + 1):
        axes.plot((left, left + width * columns), (top + height * row,) * 2, **style)
    for column in range(columns + 1):
        axes.plot((left + width * column,) * 2, (top, top + height * rows), **style)


def draw_waves(shapes, path):
    title = f"Tiles of {BLOCK[0]}x{BLOCK[1]} on {shapes[0].sms} SMs: D on the left, and what the SMs do in each wave"
    caption = ("Left: D and its tiles, in one scale. The last row of tiles of 2170x1024 extends past D by 6 rows. Right: a wave. Each "
               "square is an SM.\nBlue: it has a tile. Grey: it has none. Computed: tiles are ceil(M / 128) · ceil(N / 256), and a "
               "wave has a tile for each SM.")
    scale = 0.00034
    columns, rows = 12, -(-shapes[0].sms // 12)
    row_heights = [max(shape.m * scale, SM_BOX * rows) + 0.75 for shape in shapes]
    figure, axes = new_canvas(0.5 + sum(row_heights) + chart_style.caption_height(caption))
    y = 0.9
    for shape, height in zip(shapes, row_heights):
        waves = shape.waves()
        axes.text(0.25, y - 0.12, f"D of {shape.m}x{shape.n}: {shape.grid()[0]} x {shape.grid()[1]} = {shape.tiles()} tiles, "
                  f"{len(waves)} wave{'s' if len(waves) > 1 else ''}, {shape.efficiency() * 100:.1f} % of the places used",
                  fontsize=9.5)
        tile_rows, tile_columns = shape.grid()
        draw_squares(axes, 0.25, y, (tile_rows, tile_columns), (BLOCK[0] * scale, BLOCK[1] * scale), shape.tiles(), BLUE, PALE_BLUE)
        add_box(axes, 0.25, y, shape.n * scale, shape.m * scale, "none", edgecolor=INK, linewidth=1.0)
        for wave, busy in enumerate(waves):
            left = 2.05 + wave * (SM_BOX * columns + 0.32)
            add_box(axes, left, y, SM_BOX * columns, SM_BOX * rows, GRID)
            draw_squares(axes, left, y, (rows, columns), (SM_BOX, SM_BOX), busy, BACKGROUND, BLUE)
            axes.text(left, y + SM_BOX * rows + 0.17, f"wave {wave + 1}: {busy} of {shape.sms}", fontsize=8)
        y += height
    chart_style.add_words(figure, title, caption)
    chart_style.save(figure, path, title, shapes)


PICTURES = {"primer_gpu": (read_probe, draw_gpu), "primer_sm": (read_probe, draw_sm),
            "primer_latencies": (read_latencies, draw_latencies), "primer_l2_lines": (read_l2_lines, draw_l2_lines),
            "primer_occupancy": (read_occupancy, draw_occupancy), "primer_waves": (read_waves, draw_waves)}
