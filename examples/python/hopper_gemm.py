"""Calls hopper-gemm from Python, on arrays of CuPy, PyTorch and all others with DLPack or __cuda_array_interface__.

    import hopper_gemm
    hopper_gemm.gemm(a, b, d, bias=bias, activation="gelu", stream=stream)

The module needs only the library, libhopper_gemm.so. It loads the file that the environment variable HOPPER_GEMM_LIBRARY
names, or else lets the loader find the library. The structs below are those of hopper_gemm/gemm.h, which says what the
fields mean.
"""

import ctypes
import functools
import math
import operator
import os
import typing

PACKED = -1
DATA_TYPES = ("bf16", "fp16", "fp32")
LAYOUTS = ("row_major", "column_major")
BIASES = ("none", "per_row", "per_column")
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu")
STATUSES = ("ok", "invalid argument", "unsupported", "out of memory", "CUDA error", "internal error")
DEFAULT_WORKSPACE_LIMIT_BYTES = 64 << 20


class MatrixLayout(ctypes.Structure):
    _fields_ = [
        ("order", ctypes.c_int),
        ("transposed", ctypes.c_int32),
        ("leading_dimension", ctypes.c_int64),
        ("batch_stride", ctypes.c_int64),
        ("alignment_bytes", ctypes.c_int64),
    ]


class Descriptor(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("batch_count", ctypes.c_int64),
        ("input_type", ctypes.c_int),
        ("output_type", ctypes.c_int),
        ("a", MatrixLayout),
        ("b", MatrixLayout),
        ("c", MatrixLayout),
        ("d", MatrixLayout),
        ("bias", ctypes.c_int),
        ("bias_type", ctypes.c_int),
        ("bias_batch_stride", ctypes.c_int64),
        ("activation", ctypes.c_int),
        ("aux", MatrixLayout),
        ("gated", ctypes.c_int32),
        ("has_aux", ctypes.c_int32),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("config", ctypes.c_char_p),
        ("programmatic_dependent_launch", ctypes.c_int32),
        ("workspace_limit_bytes", ctypes.c_size_t),
    ]


class Operands(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("d", ctypes.c_void_p),
        ("c", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("alpha", ctypes.c_float),
        ("beta", ctypes.c_float),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_size_t),
        ("aux", ctypes.c_void_p),
    ]


class GemmError(RuntimeError):
    """The library refused a call or failed; the message is its own. status: one of STATUSES."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


@functools.lru_cache(maxsize=None)
def library():
    """Returns the library, and loads it at the first call. Raises OSError if it is not found."""
    lib = ctypes.CDLL(os.environ.get("HOPPER_GEMM_LIBRARY", "libhopper_gemm.so"))
    plan, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    signatures = {
        "hgemm_plan_create": (ctypes.c_int, [ctypes.POINTER(plan), ctypes.POINTER(Descriptor), ctypes.POINTER(Options)]),
        "hgemm_plan_destroy": (None, [plan]),
        "hgemm_plan_run": (ctypes.c_int, [plan, ctypes.POINTER(Operands), ctypes.c_void_p]),
        "hgemm_plan_workspace_bytes": (size, [plan]),
        "hgemm_plan_config": (size, [plan, text, size]),
        "hgemm_plan_explain": (size, [plan, text, size]),
        "hgemm_interleave_gate_and_up": (ctypes.c_int, [ctypes.POINTER(Descriptor), ctypes.c_void_p, ctypes.c_void_p,
                                                        ctypes.POINTER(MatrixLayout), ctypes.c_void_p, ctypes.c_void_p]),
        "hgemm_load_tuning_file": (ctypes.c_int, [text]),
        "hgemm_load_probe_file": (ctypes.c_int, [text]),
        "hgemm_last_error_message": (text, []),
        "hgemm_version_string": (text, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def version():
    """Returns the library's version, such as "1.2.3"."""
    return library().hgemm_version_string().decode()


def _check(status):
    if status != 0:
        raise GemmError(STATUSES[status], library().hgemm_last_error_message().decode())


def _index_of(name, value, choices):
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")
    return choices.index(value)


def _integer(name, value, bits=64):
    """Returns value as an int. Raises ValueError if it needs more bits; ctypes would silently drop the upper ones."""
    value = operator.index(value)
    if not -2**(bits - 1) <= value < 2**(bits - 1):
        raise ValueError(f"{name} is {value}, which is no integer of {bits} bits")
    return value


def _size(name, value):
    value = _integer(name, value)
    if value < 0:
        raise ValueError(f"{name} is {value}; it must not be negative")
    return value


def _matrix_layout(order="row_major", transposed=False, leading_dimension=PACKED, batch_stride=PACKED,
                   alignment_bytes=16):
    return MatrixLayout(_index_of("order", order, LAYOUTS), transposed,
                        _integer("leading_dimension", leading_dimension), _integer("batch_stride", batch_stride),
                        _integer("alignment_bytes", alignment_bytes, bits=32))


class Plan:
    """A problem, and the kernel that the library chose for it on the current device. Several threads may run it at a time.

    a, b, c, d, aux: each a dictionary of those fields of MatrixLayout that differ from the defaults. order is one of
    LAYOUTS. Without a dictionary for aux there is no auxiliary output.
    """

    def __init__(self, m, n, k, *, batch_count=1, input_type="bf16", output_type="bf16", a=None, b=None, c=None, d=None,
                 bias="none", bias_type="bf16", bias_batch_stride=0, activation="none", gated=False, aux=None, config="",
                 programmatic_dependent_launch=True, workspace_limit_bytes=DEFAULT_WORKSPACE_LIMIT_BYTES):
        descriptor = Descriptor(
            ctypes.sizeof(Descriptor), _integer("m", m), _integer("n", n), _integer("k", k), _integer("batch_count", batch_count),
            _index_of("input_type", input_type, DATA_TYPES), _index_of("output_type", output_type, DATA_TYPES),
            *(_matrix_layout(**(fields or {})) for fields in (a, b, c, d)),
            _index_of("bias", bias, BIASES), _index_of("bias_type", bias_type, DATA_TYPES),
            _integer("bias_batch_stride", bias_batch_stride), _index_of("activation", activation, ACTIVATIONS),
            _matrix_layout(**(aux or {})), gated, aux is not None)
        options = Options(ctypes.sizeof(Options), config.encode(), programmatic_dependent_launch,
                          _size("workspace_limit_bytes", workspace_limit_bytes))
        self._plan = ctypes.c_void_p()
        _check(library().hgemm_plan_create(ctypes.byref(self._plan), ctypes.byref(descriptor), ctypes.byref(options)))

    def __del__(self):
        if getattr(self, "_plan", None):
            library().hgemm_plan_destroy(self._plan)

    def run(self, a, b, d, *, c=None, bias=None, aux=None, alpha=1.0, beta=0.0, workspace=None, workspace_bytes=0,
            stream=0):
        """Enqueues the GEMM and returns. Operands are addresses on the GPU. stream is the number of a cudaStream_t.

        Without a workspace the library takes one from a memory pool of its own.
        """
        operands = Operands(ctypes.sizeof(Operands), a, b, d, c, bias, alpha, beta, workspace,
                            _size("workspace_bytes", workspace_bytes), aux)
        _check(library().hgemm_plan_run(self._plan, ctypes.byref(operands), stream))

    @property
    def workspace_bytes(self):
        """The bytes of a workspace that the caller gives run(), or that it takes by itself."""
        return library().hgemm_plan_workspace_bytes(self._plan)

    @property
    def config(self):
        """The name of the chosen configuration."""
        return self._text("hgemm_plan_config")

    def explain(self):
        """Returns a few lines of text that say what the library chose, and why."""
        return self._text("hgemm_plan_explain")

    def _text(self, name):
        function = getattr(library(), name)
        buffer = ctypes.create_string_buffer(function(self._plan, None, 0) + 1)
        function(self._plan, buffer, len(buffer))
        return buffer.value.decode()


class Array(typing.NamedTuple):
    """Describes an array on the GPU. Strides are in elements. device is None if the array does not say."""

    address: int
    shape: tuple
    strides: tuple
    data_type: str
    device: typing.Optional[int]

    @property
    def size_bytes(self):
        """The size, if the array has no gaps."""
        return math.prod(self.shape) * (4 if self.data_type == "fp32" else 2)


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DLPACK_CUDA = 2
_DLPACK_TYPES = {(4, 16): "bf16", (2, 16): "fp16", (2, 32): "fp32"}
_INTERFACE_TYPES = {"<f2": "fp16", "<f4": "fp32"}


def _packed_strides(shape):
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return tuple(strides)


def _from_dlpack(array):
    device_type, device = array.__dlpack_device__()
    if device_type != _DLPACK_CUDA:
        raise TypeError(f"an array on the GPU is needed, not one on DLPack's device type {device_type}")
    # -1: the caller orders the streams. The capsule is freed at the end of this function, but the array stays.
    capsule = array.__dlpack__(stream=-1)
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    data_type = _DLPACK_TYPES.get((tensor.type_code, tensor.type_bits))
    if data_type is None or tensor.type_lanes != 1:
        raise TypeError(f"elements must be bf16, fp16 or fp32, not DLPack's type {tensor.type_code} of "
                        f"{tensor.type_bits} bits")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _packed_strides(shape)
    return Array((tensor.data or 0) + tensor.byte_offset, shape, strides, data_type, device)


def _from_interface(interface):
    data_type = _INTERFACE_TYPES.get(interface["typestr"])
    if data_type is None:
        raise TypeError(f"elements must be fp16 or fp32, not {interface['typestr']}; bf16 goes by DLPack alone")
    shape = tuple(interface["shape"])
    size = int(interface["typestr"][2:])
    strides = interface.get("strides")
    if strides is None:
        strides = _packed_strides(shape)
    elif any(stride % size for stride in strides):
        raise ValueError(f"strides of {tuple(strides)} bytes are no multiples of an element's {size}")
    else:
        strides = tuple(stride // size for stride in strides)
    return Array(interface["data"][0], shape, strides, data_type, None)


def as_array(array):
    """Describes an array on the GPU by DLPack, or else by __cuda_array_interface__."""
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_interface(array.__cuda_array_interface__)
    raise TypeError(f"{type(array).__name__} has neither __dlpack__ nor __cuda_array_interface__")


def _layout(name, array, batch_count):
    """Returns MatrixLayout's fields for a matrix or a batch of matrices."""
    if any(stride < 0 and extent > 1 for stride, extent in zip(array.strides, array.shape)):
        raise ValueError(f"{name} has strides {array.strides}; negative ones are not supported, so copy it first")
    *batch, rows, cols = array.shape
    row_stride, col_stride = array.strides[-2:]
    if col_stride == 1 or cols == 1 and row_stride != 1:
        order, line, pitch, lines = "row_major", cols, row_stride, rows
    elif row_stride == 1 or rows == 1:
        order, line, pitch, lines = "column_major", rows, col_stride, cols
    else:
        raise ValueError(f"{name} has strides {array.strides}: neither its rows nor its columns are contiguous")
    return {
        "order": order,
        "leading_dimension": pitch if lines > 1 else max(pitch, line),
        "batch_stride": array.strides[0] if batch and batch[0] == batch_count else 0,
        "alignment_bytes": min(array.address & -array.address or 16, 16),
    }


def load_tuning_file(path):
    """Loads what `matmul tune best --json` wrote. path: a string, bytes or a path object.

    Plans that are made from now on run the configurations that the file names. gemm() makes its plans again. gemm.hpp says
    more at load_tuning_file(). Raises GemmError if the file cannot be used on the current device.
    """
    _check(library().hgemm_load_tuning_file(os.fsencode(path)))
    _plan.cache_clear()


def load_probe_file(path):
    """Loads what `matmul probe --json` wrote. path: a string, bytes or a path object.

    Plans that are made from now on estimate by the rates of the file. gemm() makes its plans again. gemm.hpp says more at
    load_probe_file(). Raises GemmError if the file cannot be used on the current device.
    """
    _check(library().hgemm_load_probe_file(os.fsencode(path)))
    _plan.cache_clear()


# A plan belongs to the device that is current when it is made. That must be the arrays' device.
@functools.lru_cache(maxsize=256)
def _plan(_device, arguments):
    return Plan(**{name: dict(value) if isinstance(value, tuple) else value for name, value in arguments})


def plan_of(a, b, d, *, c=None, bias=None, bias_kind="per_column", activation="none", gated=False, aux=None, config="",
            workspace_limit_bytes=DEFAULT_WORKSPACE_LIMIT_BYTES):
    """Returns the plan that gemm() runs for such arrays. It is made once and kept. The current device must be theirs."""
    _index_of("bias_kind", bias_kind, BIASES)
    arrays = {"a": as_array(a), "b": as_array(b), "d": as_array(d)}
    for name, array in (("c", c), ("aux", aux)):
        if array is not None:
            arrays[name] = as_array(array)
    for name, array in arrays.items():
        if len(array.shape) not in (2, 3):
            raise ValueError(f"{name} has {len(array.shape)} dimensions; 2, or 3 with a batch's first, are allowed")
    *batch, m, n = arrays["d"].shape
    if gated:
        n *= 2
    k = arrays["a"].shape[-1]
    batch_count = batch[0] if batch else 1
    for name, rows, cols in (("a", m, k), ("b", k, n), ("c", m, n), ("aux", m, n)):
        array = arrays.get(name)
        if array and (array.shape[-2:] != (rows, cols) or array.shape[:-2] not in ((), (1,), (batch_count,))):
            raise ValueError(f"{name} has shape {array.shape}, which does not fit d's {arrays['d'].shape}")
    if arrays["a"].data_type != arrays["b"].data_type:
        raise TypeError("a and b must have one type")
    if any(arrays[name].data_type != arrays["d"].data_type for name in ("c", "aux") if name in arrays):
        raise TypeError("c, aux and d must have one type")
    arguments = {
        "m": m, "n": n, "k": k, "batch_count": batch_count, "input_type": arrays["a"].data_type,
        "output_type": arrays["d"].data_type, "activation": activation, "config": config,
        "workspace_limit_bytes": workspace_limit_bytes, "gated": gated,
    }
    arguments.update((name, tuple(_layout(name, array, batch_count).items())) for name, array in arrays.items())
    if bias is not None:
        vector = as_array(bias)
        length = m if bias_kind == "per_row" else n
        if vector.shape != (length,) or length > 1 and vector.strides != (1,):
            raise ValueError(f"bias has shape {vector.shape}; {length} contiguous elements are needed")
        arguments.update(bias=bias_kind, bias_type=vector.data_type)
    return _plan(arrays["d"].device, tuple(arguments.items()))


def interleave_gate_and_up(gate, up, b, *, stream=0):
    """Makes the b of a gated gemm() from its two weights. Enqueues a copy on `stream` and returns b.

    gate and up are [K, N / 2] with the same strides, and b is [K, N]. All are fp16 or bf16. Raises ValueError or TypeError
    if the arrays do not fit each other, and GemmError if the library refuses them.
    """
    arrays = {"gate": as_array(gate), "up": as_array(up), "b": as_array(b)}
    of_gate, of_up, of_b = arrays.values()
    if of_gate.shape != of_up.shape or of_gate.strides != of_up.strides:
        raise ValueError("gate and up must have one shape and the same strides")
    if len(of_b.shape) != 2 or (of_b.shape[0], of_b.shape[1]) != (of_gate.shape[0], 2 * of_gate.shape[-1]):
        raise ValueError(f"b has shape {of_b.shape}, which does not fit gate's {of_gate.shape}")
    if len({array.data_type for array in arrays.values()}) != 1:
        raise TypeError("gate, up and b must have one type")
    k, n = of_b.shape
    layouts = {name: _matrix_layout(**_layout(name, array, 1)) for name, array in arrays.items()}
    packed = _matrix_layout()
    descriptor = Descriptor(ctypes.sizeof(Descriptor), 1, n, k, 1, _index_of("type", of_b.data_type, DATA_TYPES), 0, packed,
                            layouts["b"], packed, packed, 0, 0, 0, 0, packed, True, False)
    _check(library().hgemm_interleave_gate_and_up(ctypes.byref(descriptor), of_gate.address, of_up.address,
                                                  ctypes.byref(layouts["gate"]), of_b.address, stream))
    return b


def gemm(a, b, d, *, c=None, bias=None, bias_kind="per_column", activation="none", gated=False, aux=None, alpha=1.0,
         beta=0.0, workspace=None, config="", stream=0):
    """Enqueues d = activation(alpha * a @ b + beta * c + bias) on `stream`, the number of a cudaStream_t, and returns d.

    a is [M, K], b is [K, N], c and d are [M, N]. Batches have a dimension before these, such as [B, M, K]; a, b and c may
    also be one matrix for the whole batch. Rows or columns are contiguous, with any pitch.

    gated: the columns of b alternate between 8 of the gate and 8 of up; interleave_gate_and_up() makes such a b. d is
    activation(gate) * up, and has half of b's columns. aux: an array with b's columns, which receives the input of the
    activation. workspace: an array of any size, in any of the types, whose memory is used where a small d and a long K
    need some. Without it the library takes at most 64 MiB from a memory pool of its own. plan_of(...).workspace_bytes says
    how much is used.

    All arrays must live until the GEMM has run. Raises ValueError or TypeError if the arrays do not fit each other, and
    GemmError if the library refuses them.
    """
    scratch = {}
    limit = {}
    if workspace is not None:
        array = as_array(workspace)
        scratch = {"workspace": array.address, "workspace_bytes": array.size_bytes}
        limit = {"workspace_limit_bytes": array.size_bytes}
    plan = plan_of(a, b, d, c=c, bias=bias, bias_kind=bias_kind, activation=activation, gated=gated, aux=aux, config=config,
                   **limit)
    operands = {name: None if array is None else as_array(array).address
                for name, array in (("a", a), ("b", b), ("d", d), ("c", c), ("bias", bias), ("aux", aux))}
    plan.run(**operands, **scratch, alpha=alpha, beta=beta, stream=stream)
    return d
