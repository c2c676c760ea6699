"""The next token of each row from its logits: src/runner/sampler.h says what is drawn; these kernels do the same in pieces of a row.

A row's parameters stand in `numbers` (rows, 4): temperature, repetition penalty, top-p, min-p; and `whole` (rows, 5): slot, draw
(negative: nothing is sampled), seed (low, high), top-k. seen (slots, words): a bit for each token of the sequence.
"""
import triton
import triton.language as tl

NUMBERS = tl.constexpr(4)
WHOLE = tl.constexpr(5)
FOUND = tl.constexpr(4)
CHUNK = tl.constexpr(4096)
LEAST = tl.constexpr(-3.0e38)


@triton.jit
def penalised(logit, seen, slot, words, token, mask, penalty):
    if penalty != 1.0:
        word = tl.load(seen + slot.to(tl.int64) * words + token // 32, mask=mask, other=0)
        is_seen = ((word >> (token % 32)) & 1) == 1
        logit = tl.where(is_seen, tl.where(logit > 0, logit / penalty, logit * penalty), logit)
    return logit


@triton.jit
def uniform(seed_low, seed_high, draw):
    """Of (0, 1): Philox4x32-10 (Salmon et al. 2011) with key `seed` and counter (0, draw, 0, 0)."""
    seed = seed_low.to(tl.uint32, bitcast=True).to(tl.uint64) | (seed_high.to(tl.uint32, bitcast=True).to(tl.uint64) << 32)
    zero = tl.zeros((1,), tl.uint32)
    x, _, _, _ = tl.philox(seed, zero, zero + draw.to(tl.uint32), zero, zero)
    return tl.sum((x >> 8).to(tl.float32) + 0.5, 0) * 5.9604644775390625e-08


@triton.jit
def chunk_scores(logits, seen, numbers, whole, cuts, row, chunk, vocabulary, words, CUT: tl.constexpr):
    """The logits of a chunk, and their scores: -inf for tokens that are not there or not kept."""
    slot = tl.load(whole + row * WHOLE)
    temperature = tl.load(numbers + row * NUMBERS)
    token = chunk * CHUNK + tl.arange(0, CHUNK)
    mask = token < vocabulary
    logit = tl.load(logits + row.to(tl.int64) * vocabulary + token, mask=mask, other=-float("inf")).to(tl.float32)
    score = penalised(logit, seen, slot, words, token, mask, tl.load(numbers + row * NUMBERS + 1))
    if temperature > 0:
        score = score / temperature
        if CUT:
            score = tl.where(score >= tl.load(cuts + row), score, -float("inf"))
    return token, logit, score


@triton.jit
def sample_chunks(logits, seen, numbers, whole, cuts, found, places, vocabulary, words, CUT: tl.constexpr):
    """Program (row, chunk of CHUNK tokens): found (rows, chunks, FOUND): largest logit, sum of exp(logit - largest), largest score,
    sum of exp(score - largest); places (rows, chunks), where temperature is 0: the first token of the largest score. CUT: only scores
    (logits, penalised and divided by temperature) of at least cuts[row] count.
    """
    row = tl.program_id(0)
    chunk = tl.program_id(1)
    if tl.load(whole + row * WHOLE + 1) >= 0:
        temperature = tl.load(numbers + row * NUMBERS)
        mine = found + (row * tl.num_programs(1) + chunk) * FOUND
        is_plain = (temperature == 1.0) & (tl.load(numbers + row * NUMBERS + 1) == 1.0)
        if CUT:
            is_plain = temperature != temperature
        if is_plain:  # scores are logits
            token = chunk * CHUNK + tl.arange(0, CHUNK)
            logit = tl.load(logits + row.to(tl.int64) * vocabulary + token, mask=token < vocabulary, other=-float("inf")).to(tl.float32)
            top = tl.max(logit, 0)
            largest = tl.maximum(top, LEAST)
            total = tl.sum(tl.exp(logit - largest), 0)
            tl.store(mine, largest)
            tl.store(mine + 1, total)
            tl.store(mine + 2, top)
            tl.store(mine + 3, total)
        else:
            token, logit, score = chunk_scores(logits, seen, numbers, whole, cuts, row, chunk, vocabulary, words, CUT)
            largest = tl.maximum(tl.max(logit, 0), LEAST)
            top = tl.max(score, 0)
            tl.store(mine, largest)
            tl.store(mine + 1, tl.sum(tl.exp(logit - largest), 0))
            tl.store(mine + 2, top)
            tl.store(mine + 3, tl.sum(tl.exp(score - tl.maximum(top, LEAST)), 0))
            if temperature == 0:
                tl.store(places + row * tl.num_programs(1) + chunk, tl.min(tl.where(score == top, token, 0x7FFFFFFF), 0))


@triton.jit
def pick_tokens(logits, seen, numbers, whole, cuts, found, places, last, tokens, logprobs, chunks, vocabulary, words,
                CUT: tl.constexpr, CHUNKS: tl.constexpr):  # fmt: skip
    """Program a row: its token goes to tokens, last[slot] and seen; logprobs (rows, 2): its log-probability by the logits as they were,
    and what is to be taken from any logit for its own."""
    row = tl.program_id(0)
    slot = tl.load(whole + row * WHOLE)
    draw = tl.load(whole + row * WHOLE + 1)
    if draw >= 0:
        at = tl.arange(0, CHUNKS)
        mask = at < chunks
        mine = found + (row * chunks + at) * FOUND
        largest = tl.load(mine, mask=mask, other=LEAST)
        total = tl.load(mine + 1, mask=mask, other=0.0)
        top = tl.load(mine + 2, mask=mask, other=-float("inf"))
        mass = tl.load(mine + 3, mask=mask, other=0.0)
        whole_largest = tl.max(largest, 0)
        normaliser = whole_largest + tl.log(tl.sum(total * tl.exp(largest - whole_largest), 0))
        whole_top = tl.max(top, 0)
        if tl.load(numbers + row * NUMBERS) > 0:
            weight = mass * tl.exp(top - tl.maximum(whole_top, LEAST))
            before = tl.cumsum(weight, 0) - weight
            wanted = uniform(tl.load(whole + row * WHOLE + 2), tl.load(whole + row * WHOLE + 3), draw) * tl.sum(weight, 0)
            chunk = tl.max(tl.where((weight > 0) & (before <= wanted), at, 0), 0)
            rest = wanted - tl.sum(tl.where(at == chunk, before, 0.0), 0)
            token, _, score = chunk_scores(logits, seen, numbers, whole, cuts, row, chunk, vocabulary, words, CUT)
            weight = tl.exp(score - tl.maximum(whole_top, LEAST))
            reached = (weight > 0) & (tl.cumsum(weight, 0) > rest)
            first = tl.min(tl.where(reached, token, 0x7FFFFFFF), 0)
            choice = tl.where(first < 0x7FFFFFFF, first, tl.max(tl.where(weight > 0, token, 0), 0))  # sums are rounded
        else:
            place = tl.load(places + row * chunks + at, mask=mask, other=0x7FFFFFFF)
            choice = tl.min(tl.where(top == whole_top, place, 0x7FFFFFFF), 0)
        good = (normaliser == normaliser) & (choice < vocabulary) & (whole_largest > LEAST)
        choice = tl.where(good, choice, 0)
        logit = tl.load(logits + row.to(tl.int64) * vocabulary + choice).to(tl.float32)
        tl.store(tokens + row, choice)
        tl.store(logprobs + row * 2, tl.where(good, logit - normaliser, float("nan")))
        tl.store(logprobs + row * 2 + 1, normaliser)
        tl.store(last + slot, choice)
        word = seen + slot.to(tl.int64) * words + choice // 32
        tl.store(word, tl.load(word) | (1 << (choice % 32)))


@triton.jit
def mark_seen(tokens, slots, seen, count, words, BLOCK: tl.constexpr):
    """Sets the bits of `count` tokens, tokens[i] in slot slots[i]."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    token = tl.load(tokens + at, mask=mask, other=0)
    slot = tl.load(slots + at, mask=mask, other=0).to(tl.int64)
    tl.atomic_or(seen + slot * words + token // 32, 1 << (token % 32), mask=mask)


@triton.jit
def ordered(x):
    """Integers in the order of the floats."""
    bits = x.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)


@triton.jit
def float_of(number):
    """The float that `ordered` made the number of."""
    return tl.where(number < 0, number ^ 0x7FFFFFFF, number).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def scores_from(start, base, seen, slot, vocabulary, words, penalty, temperature, BLOCK: tl.constexpr):
    """BLOCK logits, penalised and divided by temperature, and which of them there are."""
    token = start + tl.arange(0, BLOCK)
    mask = token < vocabulary
    x = tl.load(base + token, mask=mask, other=-float("inf")).to(tl.float32)
    return penalised(x, seen, slot, words, token, mask, penalty) / temperature, mask


@triton.jit
def cut_logits(logits, seen, numbers, whole, cuts, vocabulary, words, BLOCK: tl.constexpr):
    """Program a row: the least logit, penalised and divided by temperature, that top-k, top-p and min-p leave.

    Both searches are bisections over the floats in order; sums run in one order, whatever the batch.
    """
    row = tl.program_id(0)
    slot = tl.load(whole + row * WHOLE)
    top_k = tl.load(whole + row * WHOLE + 4)
    temperature = tl.load(numbers + row * NUMBERS)
    penalty = tl.load(numbers + row * NUMBERS + 1)
    top_p = tl.load(numbers + row * NUMBERS + 2)
    min_p = tl.load(numbers + row * NUMBERS + 3)
    cut = -float("inf")
    if (tl.load(whole + row * WHOLE + 1) >= 0) & (temperature > 0):
        base = logits + row.to(tl.int64) * vocabulary
        largest = tl.full((BLOCK,), -float("inf"), tl.float32)
        for start in range(0, vocabulary, BLOCK):
            x, _ = scores_from(start, base, seen, slot, vocabulary, words, penalty, temperature, BLOCK)
            largest = tl.maximum(largest, x)
        top = tl.max(largest, 0)
        if (top_k > 0) & (top_k < vocabulary):
            low = ordered(tl.full((), -float("inf"), tl.float32))
            high = ordered(top) + 1
            while high - low > 1:
                middle = (low + high) >> 1
                count = tl.zeros((BLOCK,), tl.int32)
                for start in range(0, vocabulary, BLOCK):
                    x, mask = scores_from(start, base, seen, slot, vocabulary, words, penalty, temperature, BLOCK)
                    count += (mask & (ordered(x) >= middle)).to(tl.int32)
                enough = tl.sum(count, 0) >= top_k
                low = tl.where(enough, middle, low)
                high = tl.where(enough, high, middle)
            cut = float_of(low)
        if top_p < 1:
            low = tl.maximum(ordered(tl.full((), -float("inf"), tl.float32)), ordered(cut + 0.0))
            high = ordered(top) + 1
            all_mass = 0.0
            is_first = True
            while (high - low > 1) | is_first:
                middle = tl.where(is_first, low, (low + high) >> 1)
                mass = tl.zeros((BLOCK,), tl.float32)
                for start in range(0, vocabulary, BLOCK):
                    x, mask = scores_from(start, base, seen, slot, vocabulary, words, penalty, temperature, BLOCK)
                    mass += tl.where(mask & (ordered(x) >= middle), tl.exp(x - top), 0.0)
                sum_mass = tl.sum(mass, 0)
                all_mass = tl.where(is_first, sum_mass, all_mass)
                enough = sum_mass >= all_mass * top_p
                low = tl.where(enough, middle, low)
                high = tl.where(enough, high, middle)
                is_first = False
            cut = float_of(low)
        if min_p > 0:
            cut = tl.maximum(cut, top + tl.log(min_p))
    tl.store(cuts + row, cut)


@triton.jit
def top_logits(logits, whole, places, found, vocabulary, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """Program a row: its COUNT largest logits, falling, the first of equal ones first: found (rows, COUNT), their places likewise."""
    row = tl.program_id(0)
    if tl.load(whole + row * WHOLE + 1) >= 0:
        base = logits + row.to(tl.int64) * vocabulary
        limit = tl.full((), float("inf"), tl.float32)
        limit_place = tl.full((), -1, tl.int32)
        for i in range(COUNT):
            best = tl.full((BLOCK,), -float("inf"), tl.float32)
            place = tl.full((BLOCK,), 0x7FFFFFFF, tl.int32)
            for start in range(0, vocabulary, BLOCK):
                token = start + tl.arange(0, BLOCK)
                x = tl.load(base + token, mask=token < vocabulary, other=-float("inf")).to(tl.float32)
                after = (x < limit) | ((x == limit) & (token > limit_place))
                better = after & (token < vocabulary) & ((x > best) | (place == 0x7FFFFFFF))
                best = tl.where(better, x, best)
                place = tl.where(better, token, place)
            limit = tl.max(best, 0)
            limit_place = tl.min(tl.where(best == limit, place, 0x7FFFFFFF), 0)
            tl.store(places + row * COUNT + i, limit_place)
            tl.store(found + row * COUNT + i, limit)
