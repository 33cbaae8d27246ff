"""What the documents tell readers to type must work.

    commands_test.py <matmul> <nvcc> <C++ compiler> [include folder...]

A block of code marked `sh runnable` is run as a script, in a folder that looks like the top of the project, with matmul
where a build puts it. If a `text` block follows, the script must print it. A block marked `cpp runnable` is the body of a
function that must compile. Of the other sh blocks the commands must at least exist: matmul understands its arguments (it is
told that there is no GPU, and may say that it needs one), `./dev` knows the command, and the programs in tools/ are there.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from documents import ROOT, documents  # noqa: E402

MATMUL, NVCC, COMPILER, *INCLUDES = sys.argv[1:]

PRINTED = re.compile(r"^```sh runnable\n(.*?)^```\n+```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^ *```(\w+)( runnable)?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^ *```(.*)$", re.MULTILINE)
KNOWN_FENCES = {"", "sh", "sh runnable", "cpp", "cpp runnable", "cmake", "text"}
TIMEOUT_SECONDS = 300

# What a program has around the lines that a document shows.
CPP_PROGRAM = """\
{includes}
int fail(const std::string& message);
int run(int m, int n, int k, const void* a, const void* b, const void* bias, void* d, cudaStream_t stream) {{
{body}
  return 0;
}}
"""


def instructions():
    """The documents that tell readers what to type: profiles say what was typed, then."""
    return [path for path in documents() if "profiles" not in path.relative_to(ROOT).parts]


def blocks(language, runnable):
    """(where, text) of each block of that language."""
    for path in instructions():
        text = path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match[1] == language and bool(match[2]) == runnable:
                yield f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}", match[3]


def commands(text):
    """The arguments of each command of a script, without comments."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        for command in re.split(r" && | \| ", line):
            arguments = shlex.split(command, comments=True)
            while arguments and re.fullmatch(r"\w+=.*", arguments[0]):
                del arguments[0]
            if arguments:
                yield arguments


class CommandsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        for path in ROOT.iterdir():
            if path.name not in ("build", "matmul") and not path.name.startswith(".git"):
                (self.top / path.name).symlink_to(path)
        (self.top / "matmul").symlink_to(MATMUL)

    def run_script(self, script, **environment):
        path = os.pathsep.join([os.environ["PATH"], os.path.dirname(NVCC)])
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.top, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_SECONDS, env={**os.environ, "PATH": path, **environment})

    def test_scripts_run(self):
        found = list(blocks("sh", runnable=True))
        self.assertTrue(found)
        for where, script in found:
            with self.subTest(where):
                result = self.run_script(script)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_scripts_print_what_the_documents_show(self):
        found = [(path, *match.groups()) for path in instructions()
                 for match in PRINTED.finditer(path.read_text(encoding="utf-8"))]
        self.assertTrue(found)
        for path, script, output in found:
            with self.subTest(path.relative_to(ROOT), script=script):
                self.assertIn(output, self.run_script(script).stdout)

    def test_code_compiles(self):
        found = list(blocks("cpp", runnable=True))
        self.assertTrue(found)
        for where, code in found:
            lines = code.splitlines()
            includes = [line for line in lines if line.startswith("#include")]
            program = CPP_PROGRAM.format(includes="\n".join([*includes, "#include <string>"]),
                                         body="\n".join(line for line in lines if line not in includes))
            with self.subTest(where):
                result = subprocess.run(
                    [COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only",
                     "-x", "c++", "-", *(f"-isystem{folder}" for folder in INCLUDES), f"-I{ROOT / 'include'}"],
                    input=program, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
                self.assertEqual(result.returncode, 0, result.stderr)

    def fault_of(self, arguments):
        """What is wrong with a command of the project; nothing of other programs."""
        program = arguments[0]
        if program == "./dev":
            known = re.findall(r"^  (\w+)", self.run_script("./dev help").stdout, re.MULTILINE)
            return "" if arguments[1] in known else f"./dev has no command {arguments[1]}"
        if program.startswith(("tools/", "examples/")):
            return "" if (ROOT / program).is_file() else f"there is no {program}"
        if "./matmul" not in arguments:
            return ""
        arguments = arguments[arguments.index("./matmul"):]
        script = shlex.join(["timeout", "60", *arguments, *([] if "--device" in arguments else ["--device", "gpu"])])
        if arguments[1] in ("list", "explain"):
            script = shlex.join(["timeout", "60", *arguments])
        result = self.run_script(script, CUDA_VISIBLE_DEVICES="")
        return "" if result.returncode == 0 or re.search("no NVIDIA (GPU|driver)", result.stderr) else result.stderr

    def test_blocks_say_what_they_are(self):
        for path in instructions():
            for fence in FENCE.findall(path.read_text(encoding="utf-8"))[::2]:
                with self.subTest(path.relative_to(ROOT)):
                    self.assertIn(fence, KNOWN_FENCES)

    def test_commands_exist(self):
        count = 0
        for where, script in blocks("sh", runnable=False):
            for arguments in commands(script):
                count += 1
                with self.subTest(where, command=arguments):
                    self.assertEqual(self.fault_of(arguments), "")
        self.assertGreater(count, 20)

    def test_faults_are_found(self):
        self.assertNotEqual(self.run_script("./matmul no_such_version").returncode, 0)
        for command in ("./dev nothing", "tools/nothing.py", "./matmul 7 --sise 8192",
                        "ncu -o v07 ./matmul 7 --profile --size 8192 --rounds 3"):
            with self.subTest(command):
                self.assertNotEqual(self.fault_of(shlex.split(command)), "")
        self.assertEqual(list(commands("A=1 ./dev \\\n  build && ls  # it\n\n# no\n")), [["./dev", "build"], ["ls"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
