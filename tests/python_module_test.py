"""What examples/python/hopper_gemm.py makes of arrays, without a library and a GPU: it is asked for plans that nobody runs."""

import ctypes
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples/python"))
import hopper_gemm  # noqa: E402


class InterfaceArray:
    """Like an array of CuPy; strides are in elements."""

    def __init__(self, address, shape, strides=None, typestr="<f2"):
        size = int(typestr[2:])
        self.__cuda_array_interface__ = {
            "data": (address, False), "shape": shape, "typestr": typestr, "version": 3,
            "strides": None if strides is None else tuple(stride * size for stride in strides)}


class DlpackArray:
    """Like a tensor of PyTorch, by a capsule as DLPack wants it."""

    def __init__(self, address, shape, strides, type_code, type_bits, device_type=2, byte_offset=0):
        extents = ctypes.c_int64 * len(shape)
        self.shape, self.strides = extents(*shape), None if strides is None else extents(*strides)
        self.tensor = hopper_gemm._DLTensor(
            address, device_type, 3, len(shape), type_code, type_bits, 1, self.shape,
            ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)) if strides else None, byte_offset)

    def __dlpack_device__(self):
        return (self.tensor.device_type, self.tensor.device_id)

    def __dlpack__(self, stream):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class Arrays(unittest.TestCase):
    def setUp(self):
        made = hopper_gemm._plan
        self.addCleanup(setattr, hopper_gemm, "_plan", made)
        hopper_gemm._plan = lambda device, arguments: dict(arguments, device=device)

    def plan_of(self, *arrays, **options):
        return {name: dict(value) if isinstance(value, tuple) else value
                for name, value in hopper_gemm.plan_of(*arrays, **options).items()}

    def test_reads_the_interface(self):
        array = hopper_gemm.as_array(InterfaceArray(0x1000, (2, 3, 4), typestr="<f4"))
        self.assertEqual(array, (0x1000, (2, 3, 4), (12, 4, 1), "fp32", None))
        self.assertEqual(array.size_bytes, 96)
        with self.assertRaisesRegex(TypeError, "must be fp16 or fp32, not <f8"):
            hopper_gemm.as_array(InterfaceArray(0x1000, (2, 3), typestr="<f8"))
        with self.assertRaisesRegex(TypeError, "list has neither"):
            hopper_gemm.as_array([1])

    def test_reads_dlpack(self):
        array = hopper_gemm.as_array(DlpackArray(0x1000, (2, 3), (1, 2), 4, 16, byte_offset=8))
        self.assertEqual(array, (0x1008, (2, 3), (1, 2), "bf16", 3))
        array = hopper_gemm.as_array(DlpackArray(0x1000, (2, 3), None, 2, 32))
        self.assertEqual(array, (0x1000, (2, 3), (3, 1), "fp32", 3))
        with self.assertRaisesRegex(TypeError, "on the GPU is needed"):
            hopper_gemm.as_array(DlpackArray(0x1000, (2, 3), None, 2, 32, device_type=1))
        with self.assertRaisesRegex(TypeError, "DLPack's type 0 of 8 bits"):
            hopper_gemm.as_array(DlpackArray(0x1000, (2, 3), None, 0, 8))

    def test_describes_matrices(self):
        plan = self.plan_of(InterfaceArray(0x1000, (5, 8), (10, 1)), InterfaceArray(0x2002, (8, 7), (1, 9)),
                            InterfaceArray(0x3008, (5, 7), typestr="<f4"), activation="relu")
        self.assertEqual((plan["m"], plan["n"], plan["k"], plan["batch_count"]), (5, 7, 8, 1))
        self.assertEqual((plan["input_type"], plan["output_type"], plan["activation"]), ("fp16", "fp32", "relu"))
        self.assertEqual(plan["a"], {"order": "row_major", "leading_dimension": 10, "batch_stride": 0, "alignment_bytes": 16})
        self.assertEqual(plan["b"], {"order": "column_major", "leading_dimension": 9, "batch_stride": 0, "alignment_bytes": 2})
        self.assertEqual(plan["d"], {"order": "row_major", "leading_dimension": 7, "batch_stride": 0, "alignment_bytes": 8})
        self.assertNotIn("bias", plan)

    def test_describes_batches(self):
        plan = self.plan_of(InterfaceArray(0x1000, (4, 5, 8), (8, 32, 1)), InterfaceArray(0x2000, (8, 7)),
                            InterfaceArray(0x3000, (4, 5, 7)), c=InterfaceArray(0x4000, (1, 5, 7)),
                            bias=InterfaceArray(0x5000, (5,), typestr="<f4"), bias_kind="per_row")
        self.assertEqual(plan["batch_count"], 4)
        self.assertEqual((plan["a"]["leading_dimension"], plan["a"]["batch_stride"]), (32, 8))
        self.assertEqual(plan["b"]["batch_stride"], 0)
        self.assertEqual(plan["c"]["batch_stride"], 0)
        self.assertEqual(plan["d"]["batch_stride"], 35)
        self.assertEqual((plan["bias"], plan["bias_type"]), ("per_row", "fp32"))

    def test_describes_gates_and_auxiliary_outputs(self):
        a, b = InterfaceArray(0x1000, (5, 8)), InterfaceArray(0x2000, (8, 32))
        plan = self.plan_of(a, b, InterfaceArray(0x3000, (5, 16)), activation="silu", gated=True,
                            aux=InterfaceArray(0x4008, (5, 32), (40, 1)))
        self.assertEqual((plan["n"], plan["gated"]), (32, True))
        self.assertEqual(plan["d"]["leading_dimension"], 16)
        self.assertEqual((plan["aux"]["leading_dimension"], plan["aux"]["alignment_bytes"]), (40, 8))
        self.assertNotIn("aux", self.plan_of(a, b, InterfaceArray(0x3000, (5, 32))))
        with self.assertRaisesRegex(ValueError, r"aux has shape \(5, 16\)"):
            hopper_gemm.plan_of(a, b, InterfaceArray(0x3000, (5, 16)), gated=True, aux=InterfaceArray(0x4000, (5, 16)))
        with self.assertRaisesRegex(TypeError, "c, aux and d must have one type"):
            hopper_gemm.plan_of(a, b, InterfaceArray(0x3000, (5, 32)), aux=InterfaceArray(0x4000, (5, 32), typestr="<f4"))

    def test_interleaves_what_fits(self):
        gate, up, b = InterfaceArray(0x1000, (8, 16)), InterfaceArray(0x2000, (8, 16)), InterfaceArray(0x3000, (8, 32))
        with self.assertRaisesRegex(ValueError, r"b has shape \(8, 16\)"):
            hopper_gemm.interleave_gate_and_up(gate, up, gate)
        with self.assertRaisesRegex(ValueError, "the same strides"):
            hopper_gemm.interleave_gate_and_up(gate, InterfaceArray(0x2000, (8, 16), (1, 8)), b)
        with self.assertRaisesRegex(TypeError, "one type"):
            hopper_gemm.interleave_gate_and_up(gate, InterfaceArray(0x2000, (8, 16), typestr="<f4"), b)

    def test_loads_files(self):
        class Library:
            status, paths = 0, []

            def hgemm_load_tuning_file(self, path):
                self.paths.append(path)
                return self.status

            def hgemm_load_probe_file(self, path):
                self.paths.append(b"probe " + path)
                return self.status

            def hgemm_last_error_message(self):
                return b"the file does not exist"

        library, fake, forgotten = hopper_gemm.library, Library(), []
        self.addCleanup(setattr, hopper_gemm, "library", library)
        hopper_gemm.library = lambda: fake
        hopper_gemm._plan.cache_clear = lambda: forgotten.append(len(fake.paths))
        hopper_gemm.load_tuning_file("tuned.json")
        hopper_gemm.load_tuning_file(pathlib.Path("a/tuned.json"))
        hopper_gemm.load_probe_file("probe.json")
        self.assertEqual(fake.paths, [b"tuned.json", b"a/tuned.json", b"probe probe.json"])
        self.assertEqual(forgotten, [1, 2, 3], "gemm() must not run plans from before")
        fake.status = 1
        for load in (hopper_gemm.load_tuning_file, hopper_gemm.load_probe_file):
            with self.assertRaisesRegex(hopper_gemm.GemmError, "^invalid argument: the file does not exist$"):
                load("file.json")
        self.assertEqual(forgotten, [1, 2, 3])

    def test_describes_vectors(self):
        for shape, strides, order, pitch in (((5, 1), (1, 1), "row_major", 1), ((5, 1), (3, 1), "row_major", 3),
                                             ((1, 5), (5, 1), "row_major", 5), ((1, 5), (1, 3), "column_major", 3),
                                             ((1, 1), (1, 1), "row_major", 1), ((1, 5), (1, 1), "row_major", 5)):
            with self.subTest(shape=shape, strides=strides):
                layout = hopper_gemm._layout("x", hopper_gemm.Array(0x1000, shape, strides, "fp16", None), 1)
                self.assertEqual((layout["order"], layout["leading_dimension"]), (order, pitch))

    def test_refuses_what_does_not_fit(self):
        a, b, d = InterfaceArray(0x1000, (5, 8)), InterfaceArray(0x2000, (8, 7)), InterfaceArray(0x3000, (5, 7))
        with self.assertRaisesRegex(ValueError, r"b has shape \(7, 8\), which does not fit d's \(5, 7\)"):
            hopper_gemm.plan_of(a, InterfaceArray(0x2000, (7, 8)), d)
        with self.assertRaisesRegex(ValueError, "d has 1 dimensions"):
            hopper_gemm.plan_of(a, b, InterfaceArray(0x3000, (5,)))
        with self.assertRaisesRegex(ValueError, "neither its rows nor its columns are contiguous"):
            hopper_gemm.plan_of(InterfaceArray(0x1000, (5, 8), (16, 2)), b, d)
        with self.assertRaisesRegex(ValueError, "7 contiguous elements are needed"):
            hopper_gemm.plan_of(a, b, d, bias=InterfaceArray(0x4000, (5,)))
        with self.assertRaisesRegex(TypeError, "a and b must have one type"):
            hopper_gemm.plan_of(a, InterfaceArray(0x2000, (8, 7), typestr="<f4"), d)

    def test_refuses_strides_that_the_library_cannot_have(self):
        a, b, d = InterfaceArray(0x1000, (1, 8)), InterfaceArray(0x2000, (8, 7)), InterfaceArray(0x3000, (1, 7))
        for bad in (InterfaceArray(0x1000, (1, 8), (8, -1)), InterfaceArray(0x1000, (1, 8), (-8, -1))):
            with self.assertRaisesRegex(ValueError, "negative ones are not supported"):
                hopper_gemm.plan_of(bad, b, d)
        for strides in ((-7, 1), (1, -8), (7, -1)):
            with self.subTest(strides), self.assertRaisesRegex(ValueError, "b has strides .* negative"):
                hopper_gemm.plan_of(a, InterfaceArray(0x2000, (8, 7), strides), d)
        with self.assertRaisesRegex(ValueError, "a has strides .* negative"):
            hopper_gemm.plan_of(InterfaceArray(0x1000, (2, 1, 8), (-8, 8, 1)), b, InterfaceArray(0x3000, (2, 1, 7)))
        # Nobody uses the stride between the rows of a single row.
        hopper_gemm.plan_of(InterfaceArray(0x1000, (1, 8), (-8, 1)), b, d)
        odd = InterfaceArray(0x1000, (1, 8))
        odd.__cuda_array_interface__["strides"] = (17, 3)
        with self.assertRaisesRegex(ValueError, r"strides of \(17, 3\) bytes are no multiples of an element's 2"):
            hopper_gemm.plan_of(odd, b, d)

    def test_names_what_there_is(self):
        a, b, d = InterfaceArray(0x1000, (5, 8)), InterfaceArray(0x2000, (8, 7)), InterfaceArray(0x3000, (5, 7))
        with self.assertRaisesRegex(ValueError, "bias_kind is 'per_col'; it must be one of none, per_row, per_column"):
            hopper_gemm.plan_of(a, b, d, bias_kind="per_col")


class Arguments(unittest.TestCase):
    """Of plans themselves, for which there is no library here: what is refused is refused before it is loaded."""

    def refusal_of(self, *, m=1, n=1, k=1, **options):
        with self.assertRaises(ValueError) as refused:
            hopper_gemm.Plan(m, n, k, **options)
        return str(refused.exception)

    def test_integers_do_not_wrap(self):
        for name in ("m", "n", "k", "batch_count", "bias_batch_stride", "workspace_limit_bytes"):
            for value in (2**63, 2**64 + 8, -2**63 - 1):
                with self.subTest(name, value=value):
                    self.assertEqual(self.refusal_of(**{name: value}), f"{name} is {value}, which is no integer of 64 bits")
        self.assertIn("leading_dimension is 18446744073709551624", self.refusal_of(a={"leading_dimension": 2**64 + 8}))
        self.assertIn("batch_stride is 18446744073709551615", self.refusal_of(b={"batch_stride": 2**64 - 1}))
        self.assertIn("no integer of 32 bits", self.refusal_of(d={"alignment_bytes": 2**32 + 16}))
        self.assertEqual(self.refusal_of(workspace_limit_bytes=-1), "workspace_limit_bytes is -1; it must not be negative")

    def test_names_what_there_is(self):
        for name, choices in (("input_type", "bf16, fp16, fp32"), ("output_type", "bf16, fp16, fp32"),
                              ("bias_type", "bf16, fp16, fp32"), ("bias", "none, per_row, per_column"),
                              ("activation", "none, relu, gelu, gelu_tanh, silu")):
            with self.subTest(name):
                self.assertEqual(self.refusal_of(**{name: "tanh"}), f"{name} is 'tanh'; it must be one of {choices}")
        self.assertEqual(self.refusal_of(a={"order": "C"}), "order is 'C'; it must be one of row_major, column_major")


if __name__ == "__main__":
    unittest.main()
