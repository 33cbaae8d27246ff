"""Tests of tools/check_emulated_ptx.py: what it must find, and what it must not."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import check_emulated_ptx  # noqa: E402

REAL = """\
enum class Op { kAdd, kMin };

/// copy — Copies.
template <Op kOp, int kDims>
HG_PTX_INLINE void copy(Addr dst, const int32_t (&coords)[kDims], uint32_t bytes = 16) {
  asm volatile("copy;" : : : "memory");
}

HG_PTX_INLINE bool elect(uint32_t mask) { return mask != 0; }

HG_PTX_INLINE void mma_n8(float (&accum)[4], int scale) {
}
HG_PTX_INLINE void mma_n16(float (&accum)[8], int scale) {
}
"""

EMULATED = """\
enum class Op { kAdd, kMin };

template <Op kOp, int kDims>
HG_PTX_INLINE void copy(Addr to, const int32_t (&at)[kDims],
                        uint32_t bytes = 16) {
  emulator::copy(to, at, bytes);
}

HG_PTX_INLINE bool elect(uint32_t mask) { return emulator::elect(mask); }

#define MMA(n)                                                \\
  HG_PTX_INLINE void mma_n##n(float(&accum)[n / 2], int scale) { \\
    emulator::mma(n, accum, scale);                           \\
  }
MMA(8)
MMA(16)
#undef MMA
"""


def compare(real=REAL, emulated=EMULATED):
    return check_emulated_ptx.compare({"wrappers.cuh": real}, {"wrappers.cuh": emulated})


class CheckEmulatedPtxTest(unittest.TestCase):
    def expect_problem(self, problems, *texts):
        self.assertTrue(problems)
        for text in texts:
            self.assertTrue(any(text in problem for problem in problems), f"{text!r} is not in {problems}")

    def changed(self, old, new):
        self.assertIn(old, EMULATED)
        return compare(emulated=EMULATED.replace(old, new))

    def test_the_same_but_for_names_macros_and_layout(self):
        self.assertEqual(compare(), [])

    def test_a_wrapper_that_the_emulator_lacks(self):
        added = REAL + "HG_PTX_INLINE void fence(uint32_t* address) {}\n"
        self.expect_problem(compare(real=added), "the emulator lacks void fence(uint32_t*)")

    def test_an_overload_that_the_emulator_lacks(self):
        added = REAL + "HG_PTX_INLINE bool elect(uint64_t mask) { return true; }\n"
        self.expect_problem(compare(real=added), "the emulator lacks bool elect(uint64_t)")

    def test_a_wrapper_of_the_emulators_own(self):
        added = EMULATED + "HG_PTX_INLINE void fence() {}\n"
        self.expect_problem(compare(emulated=added), "only the emulator has void fence()")

    def test_a_number_that_the_macro_is_not_called_for(self):
        self.expect_problem(self.changed("MMA(16)\n", ""), "the emulator lacks void mma_n16(float(&)[8], int)")

    def test_a_type(self):
        self.expect_problem(self.changed("elect(uint32_t", "elect(uint64_t"), "lacks bool elect(uint32_t)")

    def test_a_result(self):
        self.expect_problem(self.changed("INLINE bool", "INLINE uint32_t"), "only the emulator has uint32_t elect(uint32_t)")

    def test_a_default(self):
        self.expect_problem(self.changed("bytes = 16", "bytes = 32"), "uint32_t=16", "uint32_t=32")

    def test_a_template_header(self):
        self.expect_problem(self.changed("<Op kOp, int kDims>", "<int kDims, Op kOp>"), "template<Op kOp,int kDims>")

    def test_the_order_of_parameters(self):
        self.expect_problem(self.changed("float(&accum)[n / 2], int scale", "int scale, float(&accum)[n / 2]"), "mma_n8")

    def test_an_enumerator(self):
        self.expect_problem(self.changed("{ kAdd, kMin }", "{ kAdd }"), "enum class Op{kAdd,kMin}")

    def test_a_header_on_one_side_only(self):
        problems = check_emulated_ptx.compare({"a.cuh": REAL, "b.cuh": REAL}, {"a.cuh": EMULATED})
        self.assertEqual(problems, ["b.cuh: the emulator has no such header"])

    def test_a_function_that_the_parser_does_not_understand(self):
        added = EMULATED + "HG_PTX_INLINE auto odd() -> std::pair<int, int> {}\n"
        self.expect_problem(compare(emulated=added), "5 functions, but the parser understands only 4")


if __name__ == "__main__":
    unittest.main()
