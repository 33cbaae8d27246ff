"""Installs the library to a folder of its own and uses it from there as a stranger would.

usage: package_test.py --build DIR --cmake CMAKE --ctest CTEST --cc CC --cxx CXX --cuda-root DIR

Nobody of these knows the sources: the headers alone, the examples with CMake (shared and static), with pkg-config, and
from Python. A GPU is not needed: a program that finds none says so by exit status 77.
"""

import argparse
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]

arguments = None
prefix = None


def run(command, allowed=(0,), **kwargs):
    command = [str(word) for word in command]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **kwargs)
    if result.returncode not in allowed:
        raise AssertionError(f"{' '.join(command)}: exit status {result.returncode}\n{result.stdout}")
    return result.stdout


def library_dir():
    return next(path.parent for path in prefix.rglob("libhopper_gemm.so"))


def cuda_include():
    return next(path for path in (arguments.cuda_root / "include", arguments.cuda_root / "targets/x86_64-linux/include")
                if (path / "cuda_runtime_api.h").exists())


def cuda_library_dir():
    return next(path for path in (arguments.cuda_root / "lib64", arguments.cuda_root / "lib")
                if (path / "libcudart_static.a").exists())


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def headers(self):
        return sorted((prefix / "include/hopper_gemm").iterdir())

    def test_installs_what_users_include_and_no_more(self):
        public = "api.hpp data_type.hpp gemm.h gemm.hpp gemm_epilogue.hpp host_device.hpp int_types.hpp status.hpp version.hpp"
        self.assertEqual([header.name for header in self.headers()], public.split())
        includes = set()
        for header in self.headers():
            includes.update(re.findall(r'#include "hopper_gemm/(.*)"', header.read_text(encoding="utf-8")))
        self.assertLessEqual(includes, set(public.split()))

    # With CUDA's headers, but not libcu++, which has lain in a folder of its own since CUDA 13.
    def test_headers_stand_alone(self):
        for header in self.headers():
            # ISO C forbids a translation unit of nothing but macros.
            include = f"#include <hopper_gemm/{header.name}>\nextern int declared;\n"
            languages = [(arguments.cxx, "c++", "c++17"), (arguments.cxx, "c++", "c++20")]
            if header.name in ("gemm.h", "version.hpp", "api.hpp"):
                languages.append((arguments.cc, "c", "c11"))
            for compiler, language, standard in languages:
                with self.subTest(header=header.name, standard=standard):
                    run([compiler, "-x", language, f"-std={standard}", *STRICT, f"-I{prefix / 'include'}", "-isystem",
                         cuda_include(), "-fsyntax-only", "-"], input=include)

    def test_examples_with_cmake(self):
        for static in ("OFF", "ON"):
            with self.subTest(static=static):
                build = self.folder / f"static_{static}"
                run([arguments.cmake, "-S", ROOT / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                     f"-DCUDAToolkit_ROOT={arguments.cuda_root}", f"-DCMAKE_C_COMPILER={arguments.cc}",
                     f"-DCMAKE_CXX_COMPILER={arguments.cxx}", f"-DEXAMPLES_USE_STATIC_LIBRARY={static}",
                     "-DCMAKE_C_FLAGS=-Werror", "-DCMAKE_CXX_FLAGS=-Werror"])
                run([arguments.cmake, "--build", build])
                tests = run([arguments.ctest, "--test-dir", build, "--output-on-failure", "--verbose"])
                self.assertIn("100% tests passed", tests)
                for program in ("gemm", "graph", "mlp"):
                    linked = run(["ldd", build / program])
                    self.assertEqual("libhopper_gemm" in linked, static == "OFF", linked)
                    self.assertNotIn("libcudart", linked)

    def test_c_alone_with_cmake(self):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES C)\n"
            "find_package(hopper_gemm CONFIG REQUIRED)\n"
            f"add_executable(consumer {ROOT}/examples/gemm.c)\n"
            "target_link_libraries(consumer hopper_gemm::hopper_gemm CUDA::cudart_static)\n", encoding="utf-8")
        build = self.folder / "build"
        run([arguments.cmake, "-S", self.folder, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
             f"-DCUDAToolkit_ROOT={arguments.cuda_root}", f"-DCMAKE_C_COMPILER={arguments.cc}"])
        run([arguments.cmake, "--build", build])
        run([build / "consumer"], allowed=(0, SKIPPED))

    def test_version_is_checked_by_cmake(self):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES CXX)\n"
            "find_package(hopper_gemm 99.0 CONFIG REQUIRED)\n", encoding="utf-8")
        with self.assertRaisesRegex(AssertionError, "99.0"):
            run([arguments.cmake, "-S", self.folder, "-B", self.folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
                 f"-DCUDAToolkit_ROOT={arguments.cuda_root}"])

    def pkg_config(self, *options):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(library_dir() / "pkgconfig"))
        return run(["pkg-config", *options, "hopper_gemm"], env=environment).split()

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_example_with_pkg_config(self):
        self.assertEqual(self.pkg_config("--modversion"), [self.version()])
        cudart = [f"-L{cuda_library_dir()}", "-lcudart_static", "-ldl", "-lrt", "-lpthread"]
        program = self.folder / "shared"
        run([arguments.cc, "-std=c11", ROOT / "examples/gemm.c", *self.pkg_config("--cflags", "--libs"), *cudart, "-o",
             program])
        run([program], allowed=(0, SKIPPED), env=dict(os.environ, LD_LIBRARY_PATH=str(library_dir())))

        program = self.folder / "static"
        flags = self.pkg_config("--cflags", "--libs", "--static")
        flags = ["-l:libhopper_gemm.a" if flag == "-lhopper_gemm" else flag for flag in flags]
        run([arguments.cc, "-std=c11", ROOT / "examples/gemm.c", *flags, "-o", program])
        run([program], allowed=(0, SKIPPED))

    def version(self):
        header = (prefix / "include/hopper_gemm/version.hpp").read_text(encoding="utf-8")
        return re.search(r'VERSION_STRING "(.*)"', header).group(1)

    def python_module(self):
        os.environ["HOPPER_GEMM_LIBRARY"] = str(library_dir() / "libhopper_gemm.so")
        sys.path.insert(0, str(ROOT / "examples/python"))
        self.addCleanup(sys.path.pop, 0)
        import hopper_gemm
        return hopper_gemm

    def test_python_loads_the_library(self):
        hopper_gemm = self.python_module()
        self.assertEqual(hopper_gemm.version(), self.version())
        # Sets off at the descriptor's size, and gets as far as the GPU where there is none.
        try:
            plan = hopper_gemm.Plan(64, 64, 64)
        except hopper_gemm.GemmError as error:
            self.assertEqual(error.status, "unsupported", error)
        else:
            self.assertNotEqual(plan.config, "")

    def test_python_has_the_structs_of_c(self):
        hopper_gemm = self.python_module()
        types = {
            "hgemm_matrix_layout_t": hopper_gemm.MatrixLayout,
            "hgemm_descriptor_t": hopper_gemm.Descriptor,
            "hgemm_options_t": hopper_gemm.Options,
            "hgemm_operands_t": hopper_gemm.Operands,
        }
        lines, expected = [], []
        for c_name, structure in types.items():
            lines.append(f'printf("{c_name} %zu\\n", sizeof({c_name}));')
            expected.append(f"{c_name} {ctypes.sizeof(structure)}")
            for field, *_ in structure._fields_:
                lines.append(f'printf("{field} %zu\\n", offsetof({c_name}, {field}));')
                expected.append(f"{field} {getattr(structure, field).offset}")
        source = self.folder / "layout.c"
        source.write_text("#include <hopper_gemm/gemm.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) +
                          "\nreturn 0;\n}\n", encoding="utf-8")
        run([arguments.cc, "-std=c11", f"-I{prefix / 'include'}", "-isystem", cuda_include(), source, "-o",
             self.folder / "layout"])
        self.assertEqual(run([self.folder / "layout"]).splitlines(), expected)

    def test_python_example(self):
        environment = dict(os.environ, HOPPER_GEMM_LIBRARY=str(library_dir() / "libhopper_gemm.so"))
        run([sys.executable, ROOT / "examples/python/example.py"], allowed=(0, SKIPPED), env=environment)


def main():
    global arguments, prefix
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the project's build folder")
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--ctest", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--cuda-root", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "prefix"
        run([arguments.cmake, "--install", arguments.build, "--prefix", prefix])
        program = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
