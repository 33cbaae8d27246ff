"""matplotlib for tests and the programs that they run: where it is not installed, the one that `./dev plots` fetched."""

import importlib.util
import os
import pathlib
import sys
import unittest

FETCHED = (pathlib.Path(__file__).resolve().parent.parent /
           f".deps/plots-python{sys.version_info.major}.{sys.version_info.minor}")

if importlib.util.find_spec("matplotlib") is None and FETCHED.is_dir():
    sys.path.append(str(FETCHED))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(FETCHED))))

needs_matplotlib = unittest.skipUnless(importlib.util.find_spec("matplotlib"),
                                       "matplotlib is not installed; ./dev plots fetches it")
