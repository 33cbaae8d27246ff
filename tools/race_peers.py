#!/usr/bin/env python3
"""Races the library with the other GEMMs that this Python can import, on one GPU.

    HOPPER_GEMM_LIBRARY=build/release/libhopper_gemm.so tools/race_peers.py [--shape MxNxK]... [--bias] [--csv FILE]
        [--cutlass FOLDER]

The contestants are PyTorch, whose products are cuBLAS's, the persistent and autotuned Triton kernel with TMA
descriptors below, QuACK, DeepGEMM, and the kernels of tools/cutlass_peer.cu if --cutlass names CUTLASS's source folder, for
which nvcc then takes two minutes. The tool leaves out contestants that are not installed, and says so. All compute
D[M, N] = A[M, K] · B[N, K]ᵀ in bf16, plus a bias of N elements with --bias. The tool installs and downloads nothing.

Contestants take turns in a fresh random order each round. Each sample lets the GPU rest for 50 ms, warms it up for 4 ms
and times 4 ms of CUDA graph launches. Launches rotate over copies of the operands that take three times the size of L2.
The tool first checks each result against an fp32 product, and leaves out contestants whose result is wrong.
"""

import argparse
import csv
import ctypes
import functools
import importlib.metadata
import pathlib
import random
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# This replaces tools/, whose profile.py would hide the standard library's from torch.
sys.path[0] = str(ROOT / "examples" / "python")
import hopper_gemm  # noqa: E402
import torch  # noqa: E402

SHAPES = ("4096x4096x4096", "8192x8192x8192", "4096x14336x4096", "4096x4096x14336", "2048x4096x4096", "128x7168x2048",
          "64x4096x14336", "16x4096x7168")
REST_SECONDS = 0.05
SAMPLE_SECONDS = 0.004
L2_FACTOR = 3
MOST_COPIES = 256
CUTLASS_SWIZZLES = (1, 4, 8)
CUTLASS_WORKSPACE_BYTES = 64 << 20


def operands_of(shape, bias):
    m, n, k = shape

    def normal(*extents):
        return torch.randn(extents, device="cuda", dtype=torch.bfloat16)

    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    copies = max(2, min(MOST_COPIES, -(-L2_FACTOR * l2_bytes // (2 * (m * k + n * k + m * n)))))
    return [(normal(m, k), normal(n, k), torch.empty(m, n, device="cuda", dtype=torch.bfloat16), normal(n) if bias else None)
            for _ in range(copies)]


# Each of these takes the operands of a launch and returns D.


def library_contestant():
    def run(a, b, d, bias):
        hopper_gemm.gemm(a, b.t(), d, bias=bias, stream=torch.cuda.current_stream().cuda_stream)
        return d

    return run, hopper_gemm.version()


def torch_contestant():
    def run(a, b, d, bias):
        if bias is None:
            return torch.mm(a, b.t(), out=d)
        return torch.addmm(bias, a, b.t(), out=d)

    return run, f"{torch.__version__}, cuBLAS {importlib.metadata.version('nvidia-cublas')}"


def triton_contestant():
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    def set_boxes(arguments):
        block_m, block_n, block_k = (arguments[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
        arguments["a"].block_shape = [block_m, block_k]
        arguments["b"].block_shape = [block_n, block_k]
        arguments["d"].block_shape = [block_m, block_n]

    configs = [triton.Config({"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k}, num_stages=stages,
                             num_warps=warps, pre_hook=set_boxes)
               for block_m, block_n, block_k, stages, warps in (
                   (128, 256, 64, 3, 8), (128, 256, 64, 4, 8), (256, 128, 64, 3, 8), (128, 128, 64, 4, 8),
                   (128, 128, 128, 3, 8), (128, 128, 64, 5, 4), (128, 64, 64, 5, 4), (64, 128, 64, 5, 4),
                   (64, 64, 128, 4, 4), (64, 32, 128, 5, 4))]

    @triton.autotune(configs=configs, key=["m", "n", "k"])
    @triton.jit
    def kernel(a, b, d, bias, m, n, k, HAS_BIAS: tl.constexpr, NUM_SMS: tl.constexpr, BLOCK_M: tl.constexpr,
               BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        GROUP_M: tl.constexpr = 8
        tiles_m = tl.cdiv(m, BLOCK_M)
        tiles_n = tl.cdiv(n, BLOCK_N)
        for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, NUM_SMS):
            group = tile // (GROUP_M * tiles_n)
            first_m = group * GROUP_M
            rows = min(tiles_m - first_m, GROUP_M)
            within = tile % (GROUP_M * tiles_n)
            row = (first_m + within % rows) * BLOCK_M
            column = within // rows * BLOCK_N
            accum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k_block in range(tl.cdiv(k, BLOCK_K)):
                accum = tl.dot(a.load([row, k_block * BLOCK_K]), b.load([column, k_block * BLOCK_K]).T, accum)
            if HAS_BIAS:
                columns = column + tl.arange(0, BLOCK_N)
                accum += tl.load(bias + columns, mask=columns < n, other=0).to(tl.float32)[None, :]
            d.store([row, column], accum.to(tl.bfloat16))

    num_sms = torch.cuda.get_device_properties(0).multi_processor_count

    def run(a, b, d, bias):
        box = [64, 64]  # the configuration sets its own

        def tensor(matrix):
            return TensorDescriptor(matrix, list(matrix.shape), list(matrix.stride()), list(box))

        kernel[(num_sms,)](tensor(a), tensor(b), tensor(d), bias, a.shape[0], b.shape[0], a.shape[1], bias is not None,
                           num_sms)
        return d

    return run, triton.__version__


def quack_contestant():
    from quack.gemm_interface import gemm

    def run(a, b, d, bias):
        return gemm(a, b.t(), out=d, bias=bias)

    return run, importlib.metadata.version("quack-kernels")


def deep_gemm_contestant():
    import deep_gemm

    def run(a, b, d, bias):
        if bias is not None:
            raise ValueError("it adds no bias")
        deep_gemm.bf16_gemm_nt(a, b, d)
        return d

    return run, deep_gemm.__version__


def compile_cutlass_peer(folder, bias, out):
    """The library of tools/cutlass_peer.cu."""
    subprocess.run(["nvcc", "-std=c++17", "-O3", "-DNDEBUG", "-arch=sm_90a", "--expt-relaxed-constexpr", "-Xcompiler=-fPIC",
                    "-shared", f"-DPEER_BIAS={int(bias)}", f"-I{folder}/include", f"-I{folder}/tools/util/include", "-o", out,
                    ROOT / "tools" / "cutlass_peer.cu", "-lcuda"], check=True)


def cutlass_contestant(library, bias):
    """The fastest configuration and swizzle of tools/cutlass_peer.cu for each shape."""
    peer = ctypes.CDLL(str(library.resolve()))
    peer.cutlass_peer_version.restype = peer.cutlass_peer_name.restype = ctypes.c_char_p
    num_sms = torch.cuda.get_device_properties(0).multi_processor_count

    workspace = torch.empty(CUTLASS_WORKSPACE_BYTES, device="cuda", dtype=torch.uint8)

    def launch(choice, a, b, d, bias_vector):
        configuration, swizzle = choice
        pointers = [ctypes.c_void_p(tensor.data_ptr()) if tensor is not None else None
                    for tensor in (a, b, d, bias_vector, workspace)]
        status = peer.cutlass_peer_run(configuration, a.shape[0], b.shape[0], a.shape[1], *pointers,
                                       ctypes.c_size_t(CUTLASS_WORKSPACE_BYTES),
                                       ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), num_sms, swizzle)
        if status:
            raise RuntimeError(f"cutlass::Status {status}")

    @functools.lru_cache(maxsize=1)
    def fastest(m, n, k):
        operands = operands_of((m, n, k), bias)
        times = {}
        for choice in [(index, swizzle) for index in range(peer.cutlass_peer_count()) for swizzle in CUTLASS_SWIZZLES]:
            try:
                launch(choice, *operands[0])
            except RuntimeError:  # for example a workspace that is too small for stream-K
                continue
            torch.cuda.synchronize()
            graph = graph_of(functools.partial(launch, choice), operands)
            times[choice] = sample(graph, replay(graph, 1))
        best = min(times, key=times.get)
        configuration, swizzle = best
        name = peer.cutlass_peer_name(configuration).decode()
        print(f"  CUTLASS runs {name} with a swizzle of {swizzle}", file=sys.stderr)
        return best

    def run(a, b, d, bias_vector):
        launch(fastest(a.shape[0], b.shape[0], a.shape[1]), a, b, d, bias_vector)
        return d

    return run, peer.cutlass_peer_version().decode()


CONTESTANTS = {"hopper-gemm": library_contestant, "PyTorch": torch_contestant, "Triton": triton_contestant,
               "QuACK": quack_contestant, "DeepGEMM": deep_gemm_contestant}


def is_right(d, a, b, bias):
    wanted = a.float() @ b.float().t()
    if bias is not None:
        wanted += bias.float()
    # bf16 rounds to 2^-9 of a number. The sums of both sides differ by fp32 roundings, but a missing product shows.
    slack = 2**-8 * wanted.abs() + 1e-3 * a.shape[1] ** 0.5
    return bool(((d.float() - wanted).abs() <= slack).all())


def graph_of(run, operands):
    """A graph with one launch for each copy of the operands."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            for copy in operands[:2]:
                run(*copy)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for copy in operands:
            run(*copy)
    return graph


def replay(graph, times):
    """Seconds for each of the replays."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / times


def sample(graph, seconds_of_replay):
    times = max(1, round(SAMPLE_SECONDS / seconds_of_replay))
    torch.cuda.synchronize()
    time.sleep(REST_SECONDS)
    replay(graph, times)
    return replay(graph, times)


def race(shape, bias, contestants, rounds):
    """Median microseconds of a launch by contestant. Leaves out those whose result is wrong."""
    operands = operands_of(shape, bias)
    graphs = {}
    for name, (run, _) in contestants.items():
        a, b, d, bias_vector = operands[0]
        d.fill_(float("nan"))
        try:
            run(*operands[0])
            right = is_right(d, a, b, bias_vector)
        except Exception as error:  # each peer refuses shapes in its own way
            print(f"  {name} fails: {error}", file=sys.stderr)
            continue
        if not right:
            print(f"  {name} is wrong", file=sys.stderr)
            continue
        graphs[name] = graph_of(run, operands)
    once = {name: replay(graph, 1) for name, graph in graphs.items()}
    samples = {name: [] for name in graphs}
    for _ in range(rounds):
        for name in random.sample(list(graphs), len(graphs)):
            samples[name].append(sample(graphs[name], once[name]) / len(operands) * 1e6)
    return {name: statistics.median(times) for name, times in samples.items()}


def commit():
    found = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def shape_of(text):
    m, n, k = (int(extent) for extent in text.split("x"))
    return m, n, k


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", action="append", type=shape_of, metavar="MxNxK",
                        help="repeatable (default: eight shapes of all kinds)")
    parser.add_argument("--bias", action="store_true", help="add a bias of N elements")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default=commit(), help="the library's commit, if this folder is not its checkout")
    parser.add_argument("--cutlass", type=pathlib.Path, metavar="FOLDER",
                        help="CUTLASS 4's folder with include/ and tools/; or the library compiled from it in another run")
    parser.add_argument("--csv", type=pathlib.Path)
    arguments = parser.parse_args()
    contestants = {}
    for name, make in CONTESTANTS.items():
        try:
            contestants[name] = make()
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    if arguments.cutlass:
        library = arguments.cutlass
        if library.is_dir():
            library = ROOT / "build" / f"cutlass_peer_{'bias' if arguments.bias else 'plain'}.so"
            compile_cutlass_peer(arguments.cutlass, arguments.bias, library)
        contestants["CUTLASS"] = cutlass_contestant(library, arguments.bias)
    gpu = torch.cuda.get_device_name(0)
    print(f"{gpu}; " + "; ".join(f"{name} {version}" for name, (_, version) in contestants.items()))
    rows = []
    for shape in arguments.shape or map(shape_of, SHAPES):
        times = race(shape, arguments.bias, contestants, arguments.rounds)
        own = times.get("hopper-gemm")
        print("x".join(map(str, shape)) + ": " + ", ".join(
            f"{name} {microseconds:.1f} us" + (f" ({own / microseconds * 100:.1f} % of our speed)" if own else "")
            for name, microseconds in times.items()), flush=True)
        rows += [{"contestant": name, "version": contestants[name][1], "m": shape[0], "n": shape[1], "k": shape[2],
                  "bias": "column" if arguments.bias else "none", "time_median_us": f"{microseconds:.3f}",
                  "rounds": arguments.rounds, "gpu": gpu, "commit": arguments.commit, "date": time.strftime("%Y-%m-%d")}
                 for name, microseconds in times.items()]
    if arguments.csv:
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
