"""The project's own Markdown files."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATED = {"build", ".deps"}


def documents():
    """Their paths, in order. Without git, all Markdown files outside the folders of built or fetched files."""
    found = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                           capture_output=True, text=True, check=False).stdout.splitlines()
    paths = [ROOT / name for name in found] or ROOT.rglob("*.md")
    return sorted(path for path in paths if path.is_file() and not GENERATED & set(path.relative_to(ROOT).parts))
