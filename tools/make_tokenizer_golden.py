"""Writes tests/golden/tokenizers: small tokenizers of each family, trained by Hugging Face's tokenizers, and what it
makes of 10,000 texts. Real tokenizer.json files are not needed: normaliser, pre-tokenizer, post-processor and added tokens
are those of the families, the vocabulary is small.

    python3 -m venv /tmp/hf && /tmp/hf/bin/pip install tokenizers transformers && /tmp/hf/bin/python tools/make_tokenizer_golden.py

Texts are not stored: text i of a stream is made from fragments.json and SplitMix numbers, by make_text below and by
src/text/golden_texts.h alike. Of ids and decoded texts a 32-bit FNV-1a hash each is stored. --show STREAM I prints one.
"""
import argparse
import json
import pathlib
import struct
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = pathlib.Path(__file__).parent.parent / "tests/golden/tokenizers"
MASK = (1 << 64) - 1
TEXTS, TRAINING_TEXTS, DECODED = 10_000, 3_000, 2_000

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# src/train/new_policy.cc
POLICY = r"\p{N}|[ .@_]?\p{L}+| ?[^\s\p{L}\p{N}]+[\r\n]*[ \t]*|\s*[\r\n]+[ \t]*|\s+"
POLICY_TOKENS = ["<|endoftext|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
LLAMA = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def mix(seed, index):
    z = (seed + 0x9E3779B97F4A7C15 * (index + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def make_text(fragments, stream, index):
    seed = mix(stream, index)
    parts = []
    for i in range(1 + seed % 14):
        number = mix(seed, i)
        choice, value = number & 15, number >> 4
        if choice == 0:  # any scalar value
            c = value % 0x10F800
            parts.append(chr(c if c < 0xD800 else c + 0x800))
        elif choice == 1:  # the basic plane
            c = value % 0xF800
            parts.append(chr(c if c < 0xD800 else c + 0x800))
        else:
            parts.append(fragments[value % len(fragments)])
    return "".join(parts)


def make_fragments():
    words = """the of and to in is that for with as on are this be by from at or an not have it which can will one all
    function return import def class self tensor kernel stride shape load store program_id BLOCK_SIZE torch triton
    mask dtype float32 bfloat16 softmax matmul naïve café déjà über straße ßtraße İstanbul ıx ǅ ﬁn ﬀ ŉa Ωmega Kelvin K
    привет мир Здравствуйте γειά σου κόσμε שלום עולם مرحبا بالعالم हिन्दी नमस्ते বাংলা தமிழ் తెలుగు ไทย ภาษา ລາວ မြန်မာ ខ្មែរ
    你好 世界 語言 模型 こんにちは カタカナ ｶﾀｶﾅ 한국어 안녕하세요 ქართული Հայերեն ᏣᎳᎩ ᠮᠣᠩᠭᠣᠯ አማርኛ 𐌰𐌱𐌲 𝔘𝔫𝔦 𝒳𝟘𝟙 𠀀𠀁 𪛖""".split()
    out = words + [" " + w for w in words[:60]] + [w.upper() for w in words[:12]]
    out += [a + b + c for a in ("'", " '", "’", "I'", "x'") for b in ("s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE",
            "Ve", "M", "lL", "D", "ſ", "Re'", "l") for c in ("", " ")]
    spaces = [" ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\n ", "\r\n\r\n", "\t\t ", "\v", "\f", "\x85", "\xa0",
              "\u1680", "\u180e", "\u2000", "\u2009", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", " " * 9,
              " " * 200, "\n" * 40, " \t" * 60, "\x1c", "\x1f"]
    out += spaces * 2
    zeros = [c for c in range(0x110000) if unicodedata.category(chr(c)) == "Nd" and unicodedata.decimal(chr(c)) == 0]
    out += ["".join(chr(z + d) for d in (1, 9, 0, 5)) for z in zeros] + [str(n) for n in (0, 7, 12, 123, 1234, 3141592653, 10**30)]
    out += list("½²₃ⅷ፩㊿𐄇〇ⅿ🄁➀௰") + ["1.5e-3", "0x7fFF", "٣٫١٤", "1_000"]
    out += ["e\u0301", "a\u0308\u0301", "\u0301", "a\u0315\u0300\u05ae\u0334", "\u1100\u1161\u11a8", "\u1100\u1161", "\uac00\u11a8",
            "\u1112\u1161\u11ab\u1100\u1173\u11af", "\u212b", "\u2126", "\u1e9b\u0323", "s\u0323\u0307", "\u0344", "\u0958", "\u0f73",
            "\u0f71\u0f72", "\u2adc", "\ufb1d", "\ufb4f", "\u0cca\u0cd5", "\u0c46\u0c56", "\u1025\u102e", "\u09c7\u09be", "\U0001d15e",
            "\U0001d157\U0001d165", "\U0002f800", "\uf900", "\ufa0e", "\u0340", "\u037e", "\u1fef", "\u2000\u0301", "o\u031b\u0323",
            "\u0374", "A\u030a", "\u0b47\u0b3e", "\U00011099\U000110ba", "\U00011935\U00011930", "\U00011938", "a\u0898\u0301",
            "a\U00010f82\u0323", "q\u0301\u0300\u0316", "\u0e01\u0e33", "\u3046\u3099", "\u30cf\u309a"]
    composed = [c for c in range(0x30000) if unicodedata.decomposition(chr(c)) and unicodedata.decomposition(chr(c))[0] != "<"]
    out += [unicodedata.normalize("NFD", chr(c)) for c in composed[::9]] + [chr(c) for c in composed[4::23]]
    out += ["👍", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇺🇳🇯🇵", "1️⃣", "❤️", "☃︎", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            "🧑🏿‍🚀", "\u200d", "\ufe0f", "🫨", "🫩", "\u20e3"]
    out += ["\x00", "\x01", "\x7f", "\x80", "\x9f", "\xad", "\ud7ff", "\ue000", "\uf8ff", "\ufdd0", "\ufffd", "\uffff", "\ufffe",
            "\U0001ffff", "\U0010ffff", "\U000f0000", "\U000e0001", "\u202e", "\u2066", "\u200e", "\u061c", "\ufff9", "\u0ff0\u0378"]
    out += ["!", "?!", "...", "…", "->", "==", "//", "/*", "*/", "#include <", "\"", "`", "```python\n", "{", "}", "();\n", "[[", "]]",
            " =", " +=", "\\", "\\n", "&&", "||", "^", "~", "$", "%", "@", "§", "€", "‽", "、", "。", "！", "«", "»", "—", "_", "__", "٪",
            "≤", "∑", "¬", "™", "°", "･", "˜", "ª", "º", "\u0e2f", "a_b", "x.y", " ?", " .\n", "!\r\n", ",\n\n", "https://example.org/a?b=c&d"]
    out += ["<|im_start|>", "<|im_end|>", "<|im_start|>user\n", "<|endoftext|>", "<|im_st", "<|", "|>", "<", "<think>", "</think>",
            "<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>system<|end_header_id|>\n\n", " <|eot_id|> ", "<tool_call>",
            "[MASK]", " [MASK]", "  [MASK]  ", "[mask]", "wörd", " wörd ", "xwörd", "wo\u0308rd", "whole", " whole ", "wholes", "_whole",
            "é[X]", "[X]", "[XY]", "[XYZ", "[XYZ]", "[X][XY]"]
    out += ["a" * 70, "ab" * 60, "abc" * 40, "é" * 40, "語" * 50, "😀" * 30, "!" * 80, "-=" * 50, "0" * 90, "q\u0301" * 60]
    return out


ODD = [AddedToken("<|endoftext|>", special=True), AddedToken("[MASK]", lstrip=True, special=True),
       AddedToken("[X]", rstrip=True), AddedToken("[XY]", lstrip=True, rstrip=True), AddedToken("[XYZ]", normalized=False),
       AddedToken("whole", single_word=True), AddedToken("wörd", normalized=True), AddedToken("wo\u0308rd", normalized=False),
       AddedToken("kernel", single_word=True, lstrip=True, normalized=False), AddedToken("  ", normalized=False)]
QWEN_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_PLAIN = ["<tool_call>", "</tool_call>", "<think>", "</think>"]


def families():
    """name: (tokenizer without vocabulary, special tokens known to the trainer, size, what is done after training)"""
    def base(normalizer, pre, decoder):
        tokenizer = Tokenizer(models.BPE())
        if normalizer:
            tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer, tokenizer.decoder = pre, decoder
        return tokenizer

    def split(regex):
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"),
                                        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])

    def finish_qwen(t):
        t.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
        t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in QWEN_TOKENS])
        t.add_tokens([AddedToken(s, normalized=False) for s in QWEN_PLAIN])

    def finish_llama(t):
        t.model.ignore_merges = True
        bos = "<|begin_of_text|>"
        t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in
                              [bos, "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]])
        t.post_processor = processors.Sequence([
            processors.ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True),
            processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1",
                                          special_tokens=[(bos, t.token_to_id(bos))])])

    def finish_gpt2(t):
        t.post_processor = processors.ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True)

    def finish_policy(t):
        t.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)

    def finish_odd(t):
        t.add_tokens(ODD)

    plain = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    standard = decoders.ByteLevel(add_prefix_space=True, trim_offsets=True, use_regex=True)
    yield "qwen3", base(normalizers.NFC(), split(QWEN), plain), [], 1500, finish_qwen
    yield "llama3", base(None, split(LLAMA), standard), [], 1500, finish_llama
    yield "gpt2", base(None, pre_tokenizers.ByteLevel(add_prefix_space=False), standard), ["<|endoftext|>"], 1400, finish_gpt2
    yield "policy", base(normalizers.NFC(), split(POLICY), plain), POLICY_TOKENS, 1200, finish_policy
    yield "odd", base(normalizers.NFC(), pre_tokenizers.ByteLevel(add_prefix_space=True), standard), [], 500, finish_odd


def fnv(data):
    h = 0x811C9DC5
    for byte in data:
        h = ((h ^ byte) * 0x01000193) & 0xFFFFFFFF
    return h


def hash_ids(ids):
    return fnv(b"".join(struct.pack("<I", i) for i in ids))


def id_sequence(seed, count):
    return [mix(mix(77, seed), i) % count for i in range(1 + mix(78, seed) % 12)]


def code_point_texts():
    """Every code point, between letters, after a space, twice and before a mark: one text for 64 of them."""
    for block in range(0, 0x110000, 64):
        if not 0xD800 <= block < 0xE000:
            yield "".join(f"x{chr(c)}1 {chr(c)}{chr(c)}\u0301" for c in range(block, block + 64))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--show", nargs=2)
    options = options.parse_args()
    fragments = make_fragments()
    if options.show:
        print(ascii(make_text(fragments, *map(int, options.show))))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "fragments.json").write_text(json.dumps(fragments, ensure_ascii=False, separators=(",", ":")))
    texts = [make_text(fragments, 1, i) for i in range(TEXTS)]
    training = [make_text(fragments, 2, i) for i in range(TRAINING_TEXTS)]
    for name, tokenizer, special, size, finish in families():
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.train_from_iterator(training, trainer)
        finish(tokenizer)
        tokenizer.save(str(FOLDER / f"{name}.json"), pretty=False)
        tokenizer = Tokenizer.from_file(str(FOLDER / f"{name}.json"))
        hashes = [hash_ids(e.ids) for e in tokenizer.encode_batch(texts)]
        count = tokenizer.get_vocab_size()
        beyond_ascii = {i for i, t in tokenizer.get_added_tokens_decoder().items() if not t.content.isascii()}
        for i in range(DECODED):
            ids = id_sequence(i, count)
            if beyond_ascii & set(ids):
                hashes.append(0)  # decoded as if in the byte alphabet, which is another text than the token's
                continue
            hashes.append(fnv(tokenizer.decode(ids, skip_special_tokens=bool(i & 1)).encode()))
        if name in ("qwen3", "llama3", "policy"):
            blocks = [hash_ids(tokenizer.encode(t, add_special_tokens=False).ids) for t in code_point_texts()]
            hashes += [hash_ids(blocks[i:i + 16]) for i in range(0, len(blocks), 16)]
        (FOLDER / f"{name}.hashes").write_bytes(struct.pack(f"<{len(hashes)}I", *hashes))
        tokens = sum(len(e.ids) for e in tokenizer.encode_batch(texts))
        print(name, "vocabulary", count, "bytes", sum(len(t.encode()) for t in texts), "tokens", tokens)


main()
