"""Writes src/text/unicode_additions.h: where Hugging Face's tokenizers know another Unicode than our libraries.

Needs `tokenizers` and `unicodedata2` (see tools/make_tokenizer_golden.py). PCRE2 of Debian 12 knows Unicode 14, like
Python 3.11's unicodedata; the regular expressions inside `tokenizers` know a later one, its NFC an earlier one. Each
list is found by asking `tokenizers` about every code point.
"""
import pathlib
import sys
import unicodedata

import unicodedata2
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def category(name):
    split = pre_tokenizers.Split(Regex(r"\p{%s}" % name), "removed")
    return {c for c in POINTS if not split.pre_tokenize_str(chr(c))}


def word_characters():
    """What the whole-word test of added tokens takes for part of a word."""
    tokenizer = Tokenizer(models.BPE(vocab={}, merges=[]))
    tokenizer.add_tokens([AddedToken("Q", single_word=True, normalized=False)])
    return {c for c in POINTS if not tokenizer.encode(chr(c) + "Q").ids}


def base_word_characters():
    def is_word(c):
        kind = unicodedata.category(chr(c))
        return kind[0] in "LM" or kind in ("Nd", "Nl", "Pc") or c in (0x200C, 0x200D)
    other_alphabetic = set(range(0x24B6, 0x24EA)) | set(range(0x1F130, 0x1F14A)) | set(range(0x1F150, 0x1F16A)) | set(
        range(0x1F170, 0x1F18A))
    return {c for c in POINTS if is_word(c)} | other_alphabetic


def nfc_strangers():
    """Marks and parts of compositions that the NFC of `tokenizers` treats as characters of no class."""
    ours = normalizers.NFC().normalize_str
    marks = [chr(c) for c in (0x334, 0x93C, 0x94D, 0x5B0, 0x64B, 0x316, 0x302, 0x345)]

    def classes(nfc, c):
        return [nfc("a" + chr(c) + m) != "a" + chr(c) + m for m in marks]
    new = lambda text: unicodedata2.normalize("NFC", text)
    strangers = {c for c in POINTS if classes(ours, c) != classes(new, c)}
    for c in POINTS:
        parts = unicodedata2.decomposition(chr(c))
        if not parts or parts.startswith("<") or " " not in parts:
            continue
        parts = [int(p, 16) for p in parts.split()]
        text = "".join(map(chr, parts))
        if ours(text) != new(text):
            strangers |= {p for p in parts if unicodedata2.combining(chr(p)) == 0 or p in strangers} | {c}
    return strangers


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def table(name, comment, points):
    rows = [f"{{0x{low:x}, 0x{high:x}}}" for low, high in ranges(points)]
    lines, line = [], "   "
    for row in rows:
        if len(line) + len(row) + 2 > 108:
            lines.append(line)
            line = "   "
        line += f" {row},"
    lines.append(line)
    return f"// {comment}\ninline constexpr CodePointRange {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def main():
    assert unicodedata.unidata_version == "14.0.0", "run with Python 3.11: its Unicode is that of PCRE2 10.42"
    old = lambda letter: {c for c in POINTS if unicodedata.category(chr(c))[0] == letter}
    letters, numbers = category("L"), category("N")
    assert not old("L") - letters and not old("N") - numbers
    words, base = word_characters(), base_word_characters()
    print("word characters lost:", [hex(c) for c in base - words], "more:", len(words - base), file=sys.stderr)
    text = (
        "// Made by tools/make_unicode_additions.py; do not edit. Inclusive ranges of code points.\n"
        "#pragma once\n\nnamespace tritogen {\n\nstruct CodePointRange {\n  char32_t low, high;\n};\n\n"
        + table("kNewLetters", "Letters (L) assigned after Unicode 14, the version of PCRE2 10.42.", letters - old("L"))
        + "\n" + table("kNewNumbers", "Numbers (N) assigned after Unicode 14.", numbers - old("N"))
        + "\n" + table("kNewWordCharacters",
                       "What the regex crate's \\w has and [\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}] of Unicode 14 has not.",
                       words - (base - set(range(0x24B6, 0x24EA)) - set(range(0x1F130, 0x1F18A)) - {0x200C, 0x200D}))
        + "\n" + table("kNfcStrangers",
                       "Marks and parts of compositions newer than the NFC of Hugging Face's tokenizers: it neither moves\n"
                       "// nor joins them.", nfc_strangers())
        + "\n}  // namespace tritogen\n")
    pathlib.Path(__file__).parent.parent.joinpath("src/text/unicode_additions.h").write_text(text)


main()
