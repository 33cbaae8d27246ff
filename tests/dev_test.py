"""./dev in a folder of its own: whose files it removes, for whom it waits, and where it takes its tree to be."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_SECONDS = 60
WAITING = "waiting for another ./dev command"


class DevTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name).resolve()
        self.tree = self.top / "tree"
        self.tree.mkdir()
        shutil.copy2(ROOT / "dev", self.tree / "dev")

    def run_dev(self, *arguments, dev=None, **environment):
        return subprocess.run([dev or self.tree / "dev", *arguments], capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_SECONDS, env={**os.environ, **environment})

    def add(self, path, text=""):
        path = self.tree / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def add_built_tree(self):
        self.add("build/release/.configured")
        self.add("build/release/matmul")
        self.add("build/docs/index.html")
        self.add("build/debug/CMakeCache.txt", f"CMAKE_HOME_DIRECTORY:INTERNAL={self.tree}\n")
        self.add(".deps/cmake/.wheels")
        self.add(".deps/cuda.part.x1y2z3/half")
        self.add(".deps/nvcc")
        (self.tree / "matmul").symlink_to("build/release/matmul")

    def assert_passes(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_clean_removes_what_was_built(self):
        self.add_built_tree()
        self.assert_passes(self.run_dev("clean"))
        self.assertEqual(sorted(path.name for path in self.tree.iterdir()), [".deps", "dev"])
        self.assert_passes(self.run_dev("clean", "--all"))
        self.assertEqual([path.name for path in self.tree.iterdir()], ["dev"])

    def test_clean_leaves_what_somebody_else_made(self):
        self.add_built_tree()
        (self.tree / "matmul").unlink()
        others = [self.add("build/notes.txt"), self.add("build/sanitize/notes.txt"), self.add(".deps/own/notes.txt"),
                  self.add("matmul")]
        result = self.run_dev("clean", "--all")
        self.assert_passes(result)
        self.assertIn("build stays: it holds what ./dev did not make", result.stderr)
        self.assertIn(".deps stays: it holds what ./dev did not make", result.stderr)
        files = {path for path in self.tree.rglob("*") if path.is_file()}
        self.assertEqual(files, {*others, self.tree / "dev"})

    def test_links_lead_to_the_tree(self):
        self.add_built_tree()
        elsewhere = self.top / "elsewhere"
        for name in ("build/release", ".deps/cmake"):
            (elsewhere / name).mkdir(parents=True)
            (elsewhere / name / (".configured" if name.startswith("build") else ".wheels")).touch()
        (elsewhere / "dev").symlink_to("../tree/dev")
        (self.top / "link").symlink_to("elsewhere")
        self.assert_passes(self.run_dev("clean", "--all", dev=self.top / "link/dev"))
        self.assertTrue((elsewhere / "build/release/.configured").exists())
        self.assertTrue((elsewhere / ".deps/cmake/.wheels").exists())
        self.assertEqual([path.name for path in self.tree.iterdir()], ["dev"])

    def test_commands_that_change_the_tree_wait_for_each_other(self):
        tree = os.open(self.tree, os.O_RDONLY)
        self.addCleanup(os.close, tree)
        fcntl.flock(tree, fcntl.LOCK_EX)
        self.add_built_tree()
        with subprocess.Popen([self.tree / "dev", "clean"], stderr=subprocess.PIPE, text=True) as dev:
            self.assertIn(WAITING, dev.stderr.readline())
            self.assertIsNone(dev.poll())
            self.assertTrue((self.tree / "build/release").exists())
            fcntl.flock(tree, fcntl.LOCK_UN)
            dev.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(dev.returncode, 0)
        self.assertFalse((self.tree / "build").exists())

    def test_other_commands_wait_for_nobody(self):
        tree = os.open(self.tree, os.O_RDONLY)
        self.addCleanup(os.close, tree)
        fcntl.flock(tree, fcntl.LOCK_EX)
        tools = self.top / "tools"
        tools.mkdir()
        (tools / "clang-format-14").write_text("#!/bin/sh\necho clang-format version 14.0.6\n", encoding="utf-8")
        (tools / "clang-format-14").chmod(0o755)
        path = os.pathsep.join([str(tools), os.environ["PATH"]])
        self.add("a.cpp")
        for arguments in (["help"], ["format", "--check"]):
            with self.subTest(arguments):
                result = self.run_dev(*arguments, PATH=path)
                self.assert_passes(result)
                self.assertNotIn(WAITING, result.stderr)

    def test_nobody_waits_for_what_was_built_to_end(self):
        # What `bench` and `test` do: the lock is given back before a program takes over.
        text = (self.tree / "dev").read_text(encoding="utf-8")
        text = text.replace('\nmain "$@"\n', '\nlock_tree\nunlock_tree\nexec sleep 60\n')
        (self.tree / "dev").write_text(text, encoding="utf-8")
        with subprocess.Popen(["bash", self.tree / "dev"]) as dev:
            tree = os.open(self.tree, os.O_RDONLY)
            self.addCleanup(os.close, tree)
            while pathlib.Path(f"/proc/{dev.pid}/comm").read_text(encoding="utf-8") != "sleep\n":
                self.assertIsNone(dev.poll())
            fcntl.flock(tree, fcntl.LOCK_EX | fcntl.LOCK_NB)
            dev.kill()


if __name__ == "__main__":
    unittest.main()
