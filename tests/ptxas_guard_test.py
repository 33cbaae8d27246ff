"""Tests of cmake/ptxas_guard.py: each kind of line that ptxas may print, from an "nvcc" that only prints."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GUARD = pathlib.Path(__file__).resolve().parent.parent / "cmake" / "ptxas_guard.py"

# Prints what FAKE_STDOUT and FAKE_STDERR hold, writes the file after -o, exits with FAKE_STATUS.
FAKE_NVCC = """
import os, sys
print(os.environ["FAKE_STDOUT"], end="")
print(os.environ["FAKE_STDERR"], end="", file=sys.stderr)
if "-o" in sys.argv:
    open(sys.argv[sys.argv.index("-o") + 1], "w").close()
sys.exit(int(os.environ["FAKE_STATUS"]))
"""

CLEAN = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6kernelPf' for 'sm_90a'
ptxas info    : Function properties for _Z6kernelPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 2 barriers, 1024 bytes smem, 640 bytes cmem[0]
ptxas info    : Compile time = 12.345 ms
"""


class PtxasGuardTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.nvcc = self.folder / "nvcc.py"
        self.nvcc.write_text(FAKE_NVCC)
        self.object = self.folder / "kernel.o"
        self.report = self.folder / "kernel.o.ptxas.txt"

    def run_guard(self, stderr, *, stdout="", status=0, arguments=None, environment=None):
        if arguments is None:
            arguments = ["-Xptxas=-v", "-MD", "-MT", "kernel.o", "-c", "src/kernel.cu", "-o", str(self.object)]
        fake = {"FAKE_STDOUT": stdout, "FAKE_STDERR": stderr, "FAKE_STATUS": str(status)}
        return subprocess.run([sys.executable, str(GUARD), sys.executable, str(self.nvcc), *arguments],
                              env={**os.environ, **fake, **(environment or {})},
                              capture_output=True, text=True, check=False)

    def expect_fault(self, line, *parts_of_message):
        result = self.run_guard(CLEAN + line + "\n")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"src/kernel.cu: error: {line.strip()}", result.stderr)
        for part in parts_of_message:
            self.assertIn(part, result.stderr)
        self.assertFalse(self.object.exists(), "a faulty object must not be linked")
        # The figures help to find out why.
        self.assertTrue(self.report.exists())

    def test_launchers_have_arguments_of_their_own(self):
        arguments = ["-Xptxas=-v", "-c", "src/kernel.cu", "-o", str(self.object)]
        fake = {"FAKE_STDOUT": "", "FAKE_STDERR": CLEAN.replace("0 bytes spill stores", "8 bytes spill stores"),
                "FAKE_STATUS": "0"}
        # Like `cmake -E`, whose -E is nvcc's for preprocessing.
        launcher = self.folder / "launcher"
        launcher.write_text('#!/bin/sh\nshift\nexec "$@"\n')
        launcher.chmod(0o755)
        command = [sys.executable, str(GUARD), str(launcher), "-E", sys.executable, str(self.nvcc), *arguments]
        result = subprocess.run(command, env={**os.environ, **fake}, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("registers were spilled", result.stderr)
        self.assertFalse(self.object.exists())

    def test_clean_kernel_passes_in_silence(self):
        result = self.run_guard(CLEAN)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertTrue(self.object.exists())

    def test_serialised_wgmma(self):
        text = ("ptxas info    : ({}) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
                "{} '_Z1kv'")
        for code, cause, meaning in [
                ("C7509", "the presence of Extern calls in the function", "not inlined"),
                ("C7510", "wgmma pipeline crossing function boundary at a function call in the function",
                 "spans a call"),
                ("C7511", "insufficient register resources for the wgmma pipeline in the function", "do not fit"),
                ("C7514", "non wgmma instructions defining accumulator registers of a wgmma between start and end of "
                          "the pipeline stage in the function", "writes the accumulators"),
                ("C7515", "ill formed pipeline stage in the function", "on every path"),
                ("C7599", "a cause that is not known yet in the function", "waits for the one before it")]:
            with self.subTest(code):
                self.expect_fault(text.format(code, cause), f"note: {code}: ", meaning)

    def test_ignored_setmaxnreg(self):
        text = "ptxas info    : ({}) Potential Performance Loss: 'setmaxnreg' ignored{}"
        for code, cause, meaning in [
                ("C7504", " to maintain compatibility across compilation units.", "-rdc"),
                ("C7507", " to maintain minimum register requirements.", "needs more registers"),
                ("C7508", "; unable to determine register count at entry.", "__launch_bounds__")]:
            with self.subTest(code):
                self.expect_fault(text.format(code, cause), f"note: {code}: setmaxnreg does nothing", meaning)

    def test_injected_wait_and_arrive(self):
        self.expect_fault("ptxas info    : (C7517) warpgroup.wait is injected in around line 42 by compiler to allow "
                          "use of registers defined by GMMA in function '_Z1kv'", "added a wgmma wait")
        self.expect_fault("ptxas info    : (C7519) warpgroup.arrive is injected in around line 44 by compiler to allow "
                          "use of registers in GMMA in function '_Z1kv'", "added a wgmma fence")

    def test_insufficient_registers(self):
        self.expect_fault("ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction at line 9 in "
                          "function k. Try to compile with register target of 154 or higher.", "launch bounds")

    def test_spill_stores(self):
        self.expect_fault("    0 bytes stack frame, 8 bytes spill stores, 0 bytes spill loads",
                          "spilled", "[kernel(float*)]")

    def test_spill_loads(self):
        self.expect_fault("    0 bytes stack frame, 0 bytes spill stores, 16 bytes spill loads", "spilled")

    def test_spill_warning(self):
        self.expect_fault("ptxas warning : Registers are spilled to local memory in function '_Z1kv', "
                          "8 bytes spill stores, 8 bytes spill loads", "spilled")

    def test_stack_frame(self):
        self.expect_fault("    400 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", "local memory")

    def test_local_memory(self):
        self.expect_fault("ptxas info    : Used 10 registers, 64 bytes lmem, 12 bytes smem", "local memory")
        self.expect_fault("ptxas warning : Local memory used for function '_Z1kv', size of stack frame: 64 bytes",
                          "local memory")

    def test_faults_on_stdout_count_too(self):
        result = self.run_guard("", stdout="    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n")
        self.assertEqual(result.returncode, 1)

    def test_repeated_fault_is_explained_once(self):
        line = "ptxas info    : (C7519) warpgroup.arrive is injected in around line {} by compiler\n"
        result = self.run_guard(line.format(1) + line.format(2))
        self.assertEqual(result.stderr.count("error:"), 2)
        self.assertEqual(result.stderr.count("note:"), 1)

    def test_other_output_passes_through(self):
        warning = "kernel.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
        notice = "ptxas info    : Overriding maximum register limit 256 for '_Z1kv' with  64 of maxrregcount option\n"
        result = self.run_guard(CLEAN + warning + notice, stdout="kernel.cu\n")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "kernel.cu\n", warning + notice))

    def test_nvcc_failure_passes_through(self):
        result = self.run_guard("kernel.cu(1): error: expected a \";\"\n", status=2)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "kernel.cu(1): error: expected a \";\"\n")

    def test_nvcc_status_wins_over_faults(self):
        result = self.run_guard("ptxas fatal   : (C7602) Insufficient registers (128)\n", status=255)
        self.assertEqual(result.returncode, 255)

    def test_missing_nvcc(self):
        result = subprocess.run([sys.executable, str(GUARD), str(self.folder / "none"), "-E", "kernel.cu"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 127)
        self.assertIn("cannot run", result.stderr)

    def test_report_holds_the_figures(self):
        self.run_guard(CLEAN)
        self.assertEqual(self.report.read_text().splitlines()[1], "sm_90a 168 1024 2 0 0 kernel(float*)")

    def test_report_without_cxxfilt_holds_mangled_names(self):
        self.run_guard(CLEAN, environment={"PATH": ""})
        self.assertEqual(self.report.read_text().splitlines()[1], "sm_90a 168 1024 2 0 0 _Z6kernelPf")

    def test_report_has_a_line_for_each_architecture(self):
        self.run_guard(CLEAN + CLEAN.replace("sm_90a", "sm_100a").replace("168", "96"))
        figures = [line.split()[:2] for line in self.report.read_text().splitlines()[1:]]
        self.assertEqual(figures, [["sm_90a", "168"], ["sm_100a", "96"]])

    def test_no_report_without_kernels(self):
        self.run_guard(CLEAN)
        self.run_guard("ptxas info    : 0 bytes gmem\n")
        self.assertFalse(self.report.exists())

    def test_figures_must_be_asked_for(self):
        result = self.run_guard(CLEAN, arguments=["-c", "src/kernel.cu", "-o", str(self.object)])
        self.assertEqual(result.returncode, 1)
        self.assertIn("-Xptxas=-v", result.stderr)

    def test_spellings_of_the_request(self):
        for spelling in (["-Xptxas=-v"], ["-Xptxas", "-v"], ["-Xptxas=--warn-on-spills,-v"], ["--ptxas-options=-v"],
                         ["-Xptxas", "-O3", "-Xptxas", "--verbose"], ["--resource-usage"]):
            with self.subTest(spelling):
                arguments = [*spelling, "-c", "src/kernel.cu", "-o", str(self.object)]
                self.assertEqual(self.run_guard(CLEAN, arguments=arguments).returncode, 0)

    def test_scans_and_probes_pass_through_untouched(self):
        for arguments in (["-E", "kernel.cu"], ["-M", "kernel.cu", "-o", str(self.object)], ["--version"],
                          ["--dryrun", "-c", "kernel.cu"], ["-ptx", "kernel.cu", "-o", str(self.object)]):
            with self.subTest(arguments):
                result = self.run_guard(CLEAN, stdout="out\n", arguments=arguments)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "out\n", CLEAN))
                self.assertFalse(self.report.exists())


if __name__ == "__main__":
    unittest.main()
