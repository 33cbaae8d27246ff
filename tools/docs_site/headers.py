"""The directive `.. header:: <path>`, which documents a public header for Sphinx: its `///` comments and declarations.

A comment is plain prose, as engineers read it in the header. Lines that are indented become a block of code, and a line
that begins with a kind of failure, such as `InvalidArgument:`, becomes an item of a list. Names of the API become links.
Sphinx itself parses each declaration, and warns about one that it does not understand. A type, function or macro
without a comment is a warning, too.
"""

import dataclasses
import pathlib
import re

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

FAILURE = re.compile(r"(InvalidArgument|Unsupported|OutOfMemory|CudaError): ")
NAME = re.compile(r"`[^`]+`|(?<![\w:])(?:[A-Za-z]\w*::)*[A-Za-z_]\w*(?:\(\))?")
TYPE = re.compile(r"(typedef )?(enum class|enum|struct|class) (?:\[\[\w+\]\] )?(?:HG_API )?(\w+)$")
FUNCTION = re.compile(r"(~?\w+|operator=)\(")
# Macros that say nothing to a reader.
NOISE = re.compile(r"\b(HG_API|HG_HOST_DEVICE)\b ?|\[\[nodiscard\]\] ?")
C_ROLES = {"function": "func"}


@dataclasses.dataclass
class Declaration:
    kind: str  # of Sphinx's domain: function, struct, enum-class, enumerator, macro and so on
    name: str
    text: str  # what Sphinx parses
    line: int
    comment: list  # its lines
    members: list = dataclasses.field(default_factory=list)


def uncommented(line):
    """Splits a line of code into the code and the comment that stands behind it."""
    code, mark, comment = line.partition("///<")
    return code.rstrip(), [comment.strip()] if mark else []


class Header:
    """Reads a header that clang-format laid out."""

    def __init__(self, path):
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.language = "c" if path.suffix == ".h" else "cpp"
        self.at = 0
        self.comment = []
        self.introduction = self.read_introduction()
        self.declarations = self.read_scope(None)

    def read_introduction(self):
        """The comment at the top of the file, if it belongs to no declaration."""
        while self.at < len(self.lines) and self.lines[self.at].startswith("///"):
            self.at += 1
        introduction = [line[4:] for line in self.lines[:self.at]]
        return introduction if self.at == len(self.lines) or self.lines[self.at].startswith("#") else []

    def read_scope(self, enclosing):
        """Reads declarations until the scope of the enclosing type or the file ends."""
        found, public = [], enclosing is None or enclosing.kind != "class"
        while self.at < len(self.lines):
            number, line = self.at + 1, self.lines[self.at].strip()
            if line.startswith("///"):
                self.comment.append(line[4:])
                self.at += 1
            elif line.startswith("#"):
                found += self.read_macro(number)
            elif enclosing and line.startswith("}"):
                return found
            elif line in ("public:", "private:"):
                public = line == "public:"
                self.at += 1
            elif not line or line.startswith(("//", "/*", "namespace", "}")) or line.startswith('extern "C"'):
                self.skip_forward_declaration(line)
            else:
                read = self.read_enumerators if enclosing and enclosing.kind.startswith("enum") else self.read_declaration
                declarations = read(number, enclosing)
                if public:
                    found += declarations
                self.comment = []
        return found

    def skip_forward_declaration(self, line):
        """Steps over a line without a declaration, and over `namespace x { class Y; }`."""
        self.at += 1
        self.comment = []
        if line.startswith("namespace") and self.lines[self.at].startswith("class "):
            while self.lines[self.at] != "}":
                self.at += 1

    def take_comment(self, behind=()):
        comment, self.comment = self.comment + list(behind), []
        return comment

    def read_macro(self, number):
        text = ""
        while self.at < len(self.lines):
            line = self.lines[self.at].rstrip()
            self.at += 1
            text += line.removesuffix("\\")
            if not line.endswith("\\"):
                break
        comment = self.take_comment()
        match = re.match(r"#define (\w+(?:\([^)]*\))?)\s+\S", text)
        return [Declaration("macro", match[1].partition("(")[0], match[1], number, comment)] if match else []

    def read_enumerators(self, number, _enclosing):
        code, behind = uncommented(self.lines[self.at].strip())
        self.at += 1
        return enumerators_of(code, number, self.take_comment(behind))

    def read_declaration(self, number, enclosing):
        """Reads a declaration to its semicolon, and the body of a function or type."""
        text, behind = "", []
        while True:
            code, comment = uncommented(self.lines[self.at].strip())
            self.at += 1
            text, behind = f"{text} {code}".strip(), behind + comment
            if text.endswith((";", "{", "}")) and text.count("(") == text.count(")"):
                break
        comment = self.take_comment(behind)
        match = TYPE.match(text.partition("{")[0].strip())
        if match and "{" in text:
            return [self.read_type(match, text, number, comment)]
        return self.declaration_of(text, number, comment, enclosing)

    def read_type(self, match, text, number, comment):
        typedef, kind, name = match.groups()
        declaration = Declaration(kind.replace(" ", "-"), name, name, number, comment)
        if text.endswith("{"):
            declaration.members = self.read_scope(declaration)
            end = self.lines[self.at].strip()
            self.at += 1
        else:
            inside, end = re.search(r"\{(.*)(\}.*)", text).groups()
            declaration.members = enumerators_of(inside, number, [])
        if typedef:  # the name that programs use
            declaration.name = declaration.text = end.strip("}; ")
        return declaration

    def declaration_of(self, text, number, comment, enclosing):
        if text.endswith("{"):
            indent = re.match(r" *", self.lines[number - 1])[0]
            while self.lines[self.at] != indent + "}":
                self.at += 1
            self.at += 1
        text = NOISE.sub("", text).strip()
        typedef = re.match(r"typedef struct \w+ (\w+);", text)
        if typedef:
            return [Declaration("type", typedef[1], typedef[1], number, comment)]
        text = re.sub(r"\) : \w+\(.*", ")", text) if enclosing else text  # a constructor's initialisers
        signature = re.sub(r"(?<!= )\{.*$", "", text).rstrip("; ")
        function = FUNCTION.search(signature)
        if not function:
            name = re.search(r"(\w+)(?: = .*)?$", signature)[1]
            return [Declaration("member", name, signature, number, comment)]
        special = enclosing and function[1].lstrip("~") in (enclosing.name, "operator=")
        if special and not comment:  # what every class has
            return []
        return [Declaration("function", function[1], re.sub(r" = default$", "", signature), number, comment)]


def enumerators_of(code, number, comment):
    texts = [text.strip() for text in code.split(",") if text.strip()]
    return [Declaration("enumerator", text.partition(" ")[0], text, number, comment) for text in texts]


def names_of(declarations, prefix=""):
    """Each name that a text can mean without doubt, and what it names."""
    names = {}
    for declaration in declarations:
        names[prefix + declaration.name] = declaration.kind
        if declaration.kind in ("struct", "class", "enum", "enum-class"):
            names.update(names_of(declaration.members, f"{prefix}{declaration.name}::"))
    return names


class Markup:
    """Turns prose into reStructuredText."""

    def __init__(self, names, language):
        self.names = names
        self.language = language

    def word(self, match):
        text = match[0]
        if text.startswith("`"):
            return f"``{text[1:-1]}``"
        name = text.removesuffix("()").removeprefix("hopper_gemm::")
        # A type with a name of one word, such as Bias, is mostly meant as the word.
        certain = text.endswith("()") or re.search(r"::|_|[a-z0-9][A-Z]", name)
        if name not in self.names or not certain:
            return re.sub(r"_(?!\w)", r"\\_", text)
        if name.lower().startswith(("hgemm_", "hopper_gemm_")):
            return f":c:{C_ROLES.get(self.names[name], self.names[name])}:`{name}`"
        return f":cpp:any:`{text.removesuffix('()')} <hopper_gemm::{name}>`"

    def prose(self, text):
        return NAME.sub(self.word, re.sub(r"([\\*|])", r"\\\1", text))

    def lines(self, comment):
        """The lines of a comment, as reStructuredText."""
        out, in_code, in_item = [], False, False
        for line in comment:
            is_code = line.startswith("  ") or (in_code and not line)
            if is_code and not in_code:
                out += ["", f".. code-block:: {self.language if line.rstrip().endswith(';') else 'text'}", ""]
            if is_code:
                out.append(f"   {line[2:]}" if line else "")
            else:
                failure = FAILURE.match(line)
                in_item = bool(failure) or (in_item and bool(line))
                if failure:
                    out += ["", f"* **{failure[1]}**: {self.prose(line[failure.end():])}"]
                else:
                    out += [""] * in_code + ["  " * in_item + self.prose(line)]
            in_code = is_code
        return out


class HeaderDirective(SphinxDirective):
    """Documents a header, but not the names that `except` lists."""

    required_arguments = 1
    option_spec = {"except": directives.unchanged}

    def run(self):
        root = pathlib.Path(self.env.srcdir)
        self.path = self.arguments[0]
        self.env.note_dependency(str(root / self.path))
        header = Header(root / self.path)
        left_out = set(self.options.get("except", "").split())
        self.markup = Markup(public_names(root), header.language)
        self.out = StringList()
        self.domain = header.language
        source = f"Source: :code-file:`{self.path}`"
        self.add([source, ""] + self.markup.lines(header.introduction) + [""], 1, "")
        if self.domain == "cpp":
            self.add([".. cpp:namespace:: hopper_gemm", ""], 1, "")
        for declaration in header.declarations:
            if declaration.name not in left_out:
                self.document(declaration, "")
        node = nodes.Element()
        self.state.nested_parse(self.out, self.content_offset, node)
        return node.children

    def add(self, lines, number, indent):
        for line in lines:
            self.out.append(indent + line if line else "", self.path, number - 1)

    def document(self, declaration, indent):
        if not declaration.comment and declaration.kind not in ("member", "enumerator"):
            logger.warning("%s has no comment", declaration.name, location=f"{self.path}:{declaration.line}")
        domain = "c" if declaration.kind == "macro" else self.domain
        self.add([f".. {domain}:{declaration.kind}:: {declaration.text}", ""], declaration.line, indent)
        self.add(self.markup.lines(declaration.comment) + [""], declaration.line, indent + "   ")
        for member in declaration.members:
            self.document(member, indent + "   ")


def public_names(root, cache={}):  # noqa: B006: it lasts as long as the build
    """What the public headers declare."""
    if not cache:
        for path in sorted((root / "include/hopper_gemm").glob("*")):
            cache.update(names_of(Header(path).declarations))
    return cache


def setup(app):
    app.add_directive("header", HeaderDirective)
    return {"parallel_read_safe": True}
