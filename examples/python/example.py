#!/usr/bin/env python3
"""Computes d = relu(a @ b.T + bias) on arrays of PyTorch, or of CuPy if PyTorch is not installed, and checks d on the CPU
in fp32.

The exit status is 0 if d is right and 1 if it is wrong. It is 77, with the reason, if neither PyTorch nor CuPy is installed
or if there is no GPU of compute capability 8.0 or newer.
"""

import sys

import hopper_gemm

M, N, K = 200, 120, 264
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def with_torch(torch):
    if not torch.cuda.is_available():
        skip("PyTorch finds no GPU")
    if torch.cuda.get_device_capability()[0] < 8:
        skip("the GPU is older than compute capability 8.0")

    def integers(*shape):
        return torch.randint(-2, 3, shape, dtype=torch.float32)

    a, b, bias = integers(M, K), integers(N, K), integers(N)
    expected = torch.relu(a @ b.T + bias)
    d = torch.empty(M, N, dtype=torch.float32, device="cuda")
    a, b = (array.cuda().to(torch.bfloat16) for array in (a, b))

    def is_right():
        return bool((d.cpu() == expected).all())

    return a, b.T, d, bias.cuda(), torch.cuda.current_stream().cuda_stream, is_right


def with_cupy(cupy):
    try:
        if int(cupy.cuda.Device().compute_capability) < 80:
            skip("the GPU is older than compute capability 8.0")
    except cupy.cuda.runtime.CUDARuntimeError as error:
        skip(f"CuPy finds no GPU: {error}")
    numpy = sys.modules["numpy"]
    random = numpy.random.default_rng(1)

    def integers(*shape):
        return random.integers(-2, 3, shape).astype(numpy.float32)

    a, b, bias = integers(M, K), integers(N, K), integers(N)
    expected = numpy.maximum(a @ b.T + bias, 0)
    d = cupy.empty((M, N), dtype=cupy.float32)
    a, b = (cupy.asarray(array, dtype=cupy.float16) for array in (a, b))

    def is_right():
        return bool((d.get() == expected).all())

    return a, b.T, d, cupy.asarray(bias), cupy.cuda.get_current_stream().ptr, is_right


def main():
    try:
        import torch
    except ImportError:
        try:
            import cupy
        except ImportError:
            skip("neither PyTorch nor CuPy is installed")
        a, b, d, bias, stream, is_right = with_cupy(cupy)
    else:
        a, b, d, bias, stream, is_right = with_torch(torch)

    options = {"bias": bias, "activation": "relu"}
    plan = hopper_gemm.plan_of(a, b, d, **options)
    hopper_gemm.gemm(a, b, d, stream=stream, **options)
    right = is_right()
    print(f"hopper-gemm {hopper_gemm.version()}, {plan.config}: {'right' if right else 'wrong'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
