"""Edits of C++ that a program makes or does not make at run time.

An edit replaces a text. edits_of() widens it to the whole expressions or statements that it changes, and with_choices()
writes the old and the new ones with a condition: `is_mutant(7) ? (new) : (old)`, or
`if (is_mutant(7)) {new} else {old}`.
"""

import dataclasses
import os
import re
import sys

# What a source with such edits begins with. The emulator does not follow a thread's access to `chosen`.
PREAMBLE = """
namespace hopper_gemm {
namespace {
int chosen = 0;
__attribute__((no_sanitize("thread"))) inline bool is_mutant(int number) { return chosen == number; }
}  // namespace
}  // namespace hopper_gemm
extern "C" __attribute__((visibility("default"))) void choose_mutant(int number) { hopper_gemm::chosen = number; }
"""
IS_MUTANT = "::hopper_gemm::is_mutant({number})"


@dataclasses.dataclass
class Edit:
    """What mutant `number` has instead of text[begin:end]."""

    begin: int
    end: int
    new: str
    number: int
    is_expression: bool


OPENING, CLOSING = "([{", ")]}"


def is_balanced(text):
    """Whether each bracket has its partner."""
    depth = 0
    for character in text:
        depth += (character in OPENING) - (character in CLOSING)
        if depth < 0:
            return False
    return depth == 0


def without_comments(text):
    """The text with blanks in the place of comments, strings and pragmas."""
    return re.sub(r'//.*|#pragma.*|"[^"\n]*"', lambda match: " " * len(match[0]), text)


def depth_of(text):
    """How many brackets are open at the end."""
    return sum((character in OPENING) - (character in CLOSING) for character in text)


def expression_around(text, begin, end):
    """Where the expression begins and ends that text[begin:end] is a part of: an argument, what is assigned, or a
    whole statement."""
    depth = 0
    while depth > 0 or not (text[begin - 1] in OPENING + ",;}" or
                            text[begin] != "=" and re.search(r"[^=!<>+*/%^&|-]= ?$", text[begin - 3:begin])):
        begin -= 1
        depth += (text[begin] in CLOSING) - (text[begin] in OPENING)
    depth = 0
    while depth > 0 or text[end] not in CLOSING + ",;":
        depth += (text[end] in OPENING) - (text[end] in CLOSING)
        end += 1
    begin += re.match(r"(\s|return\b|else\b)*", text[begin:end]).end()
    if text.startswith("if (", begin):
        condition, begin = begin + 3, begin + 4
        while depth_of(text[condition:begin]) > 0:
            begin += 1
    return begin, end


def statements_around(text, begin, end):
    """Where the statements begin and end that text[begin:end] is a part of."""
    while depth_of(text[begin:end]) < 0 or not text[:begin].rstrip().endswith((";", "{", "}")):
        begin -= 1
    while depth_of(text[begin:end]) > 0 or not (text[begin:end].rstrip() or ";").endswith((";", "}")):
        end += 1
    return begin, end


def arguments_of(text):
    """The parts between commas, or the text."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in OPENING) - (character in CLOSING)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def edits_of(text, begin, old, new, number):
    """Edits that do the same as new in the place of old, which begins at text[begin]: of whole expressions if that can
    be, or else of whole statements. A mistake in a declaration cannot be chosen: its edit does not compile."""
    same = len(os.path.commonprefix([old, new]))
    same_end = min(len(os.path.commonprefix([old[::-1], new[::-1]])), len(old) - same, len(new) - same)
    begin, end, new = begin + same, begin + len(old) - same_end, new[same:len(new) - same_end]
    code = without_comments(text)
    if any(re.search(r";|\bif\b", part) or not is_balanced(part) for part in (code[begin:end], new)):
        is_whole = new.rstrip().endswith((";", "}"))
        first, last = statements_around(code, begin, end if is_whole else max(end, begin + 1))
        return [Edit(first, last, text[first:begin] + new + text[end:last], number, False)]
    first, last = expression_around(code, begin, end)
    parts, new_parts = [], [""]
    while len(parts) != len(new_parts):
        if parts:
            first, last = expression_around(code, first - 1, last + 1)
        parts = arguments_of(text[first:last])
        new_parts = arguments_of(text[first:begin] + new + text[end:last])
    result = []
    for part, new_part in zip(parts, new_parts):
        if part != new_part:
            result.append(Edit(first, first + len(part), new_part, number, True))
        first += len(part) + 1
    return result


def choice_of(text, edits):
    """What replaces the text of edits that overlap."""
    begin, end = edits[0].begin, max(edit.end for edit in edits)
    is_expression = all(edit.is_expression for edit in edits)
    choices = []
    for number in sorted({edit.number for edit in edits}):
        variant, last = "", begin
        for edit in [edit for edit in edits if edit.number == number]:
            if edit.begin < last:
                sys.exit(f"two edits of a mutant overlap, so that it must be one of COMPILED_ALONE:\n{edit.new}")
            variant += text[last:edit.begin] + edit.new
            last = edit.end
        choices.append((IS_MUTANT.format(number=number), variant + text[last:end]))
    old = text[begin:end]
    if is_expression:
        return "(" + "".join(f"{chosen} ? ({variant}\n) : " for chosen, variant in choices) + f"({old}\n))"
    return "".join(f"if ({chosen}) {{\n{variant}\n}} else " for chosen, variant in choices) + f"{{\n{old}\n}}\n"


def with_choices(text, edits):
    """The text with all edits, each of which is made if its mutant is chosen."""
    edits.sort(key=lambda edit: edit.begin)
    result, last = "", 0
    while edits:
        end, count = edits[0].end, 1
        while count < len(edits) and edits[count].begin < end:
            end = max(end, edits[count].end)
            count += 1
        result += text[last:edits[0].begin] + choice_of(text, edits[:count])
        last, edits = end, edits[count:]
    return result + text[last:]
