#include "teach/sort_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tritogen::teach {
namespace {

// Rounds of exchanges before keys are sorted by their halves: elements that coarse keys do not tell apart are
// few and neighbours, or many. A round takes about a tenth of the time of a network.
constexpr int kRounds = 4;
constexpr int64_t kThreads = 32, kVector = 4;

// tl.sort takes places as they are: neighbours, which a network compares most often, are of different
// threads, and half of what it compares falls, which takes a comparison and a choice where rising takes one
// minimum.
constexpr std::string_view kNetwork = R"(

@triton.jit
def digit_of_place(digit: tl.constexpr, digits: tl.constexpr):
    # Places of a tile are binary numbers: a digit of each, counted from the last.
    return tl.reshape(tl.arange(0, 2), [1] * (digits - digit - 1) + [2] + [1] * digit)


@triton.jit
def exchanged(keys, digit: tl.constexpr, digits: tl.constexpr):
    # Of two places that differ in this digit alone the first gets the smaller key.
    other = keys ^ tl.xor_sum(keys, digits - 1 - digit, True)
    second = digit_of_place(digit, digits) != 0
    return tl.where((keys > other) != second, other, keys)


@triton.jit
def network(keys, line: tl.constexpr, digits: tl.constexpr, low: tl.constexpr):
    # A bitonic network. Places in order are counted from the digit `low` of a line's on, those of a thread's
    # own registers: most comparisons are there. Keys that shall fall are turned over, so that all rise, and
    # back for the next stage.
    for stage in tl.static_range(1, line + 1):
        if stage > 1:
            keys = keys ^ -digit_of_place((stage - 1 + low) % line, digits).to(keys.dtype)
        if stage < line:
            keys = keys ^ -digit_of_place((stage + low) % line, digits).to(keys.dtype)
        for step in tl.static_range(stage):
            keys = exchanged(keys, (stage - 1 - step + low) % line, digits)
    return keys


@triton.jit
def by_network(keys, line: tl.constexpr, digits: tl.constexpr, low: tl.constexpr):
    # The lines of a tile in order, of 2^line keys among 2^digits.
    cube = network(tl.reshape(keys, [2] * digits, can_reorder=line == digits), line, digits, low)
    cube = tl.reshape(cube, [1 << (digits - line), 1 << (line - low), 1 << low])
    return tl.reshape(tl.permute(cube, [0, 2, 1]), keys.shape)
)";

// Comparisons of 64 bits take twice the instructions, and four times in a thread's own registers, where those
// of 32 are minima. In float32 lines of a normal distribution some three pairs of 2,048 have the same coarse
// key: without the gap at zero being closed there would be fifty.
constexpr std::string_view kCoarseKeys = R"(

@triton.jit
def least_4(a0, a1, a2, a3, b0, b1, b2, b3):
    return tl.minimum(a0, b0), tl.minimum(a1, b1), tl.minimum(a2, b2), tl.minimum(a3, b3)


@triton.jit
def nearer(key, above, below):
    return key - tl.where(key > 0, above, tl.where(key < -1, below, 0))


@triton.jit
def coarse_key(key, bits: tl.constexpr):
    # Numbers that never fall where keys rise, and by how much to shift them so that `bits` are left. Keys of
    # infinity, NaN and beyond count as next to the others; what is between these and zero is left out, but
    # for what the shift may take.
    least, most, above, below = tl.reduce(
        (
            (key + 0x7F800000).to(tl.uint32, bitcast=True),
            (0x7F7FFFFF - key).to(tl.uint32, bitcast=True),
            (key - 1).to(tl.uint32, bitcast=True),
            (-2 - key).to(tl.uint32, bitcast=True),
        ),
        0,
        least_4,
        keep_dims=True,
    )
    gap: tl.constexpr = 1 << (32 - bits)
    least = least.to(tl.int32, bitcast=True) - 0x7F800000
    most = 0x7F7FFFFF - most.to(tl.int32, bitcast=True)
    above = tl.where(most > 0, tl.maximum(above.to(tl.int32, bitcast=True) - gap, 0), 0)
    below = tl.where(least < -1, -tl.maximum(below.to(tl.int32, bitcast=True) - gap, 0), 0)
    first = nearer(least - gap, above, below)
    size = (nearer(most + gap, above, below) - first).to(tl.uint32, bitcast=True)
    length = (size.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 126  # of this number in binary
    key = tl.minimum(tl.maximum(key, least - gap), most + gap)
    return nearer(key, above, below) - first, tl.minimum(tl.maximum(length - bits, 0), 31)


@triton.jit
def neighbours_exchanged(pairs, rank, line: tl.constexpr, low: tl.constexpr, rounds):
    # Until all are in order, or no rounds are left: then it also says so. `rank`: the place in order.
    next_rank = tl.minimum(tl.maximum(((rank + 1) ^ 1) - 1, 0), (1 << line) - 1)
    there = (next_rank >> (line - low)) | ((next_rank & ((1 << (line - low)) - 1)) << low)
    unsure = rounds
    while (unsure > 0) & (rounds > 0):
        before = pairs
        pairs = tl.reshape(exchanged(tl.reshape(pairs, [2] * line), low, line), [1 << line])
        other = tl.gather(pairs, there, 0)
        pairs = tl.where((pairs > other) != (rank % 2 == 0), other, pairs)
        unsure = tl.max((pairs != before).to(tl.int32))
        rounds -= 1
    return pairs, unsure


@triton.jit
def by_coarse_keys(pairs, line: tl.constexpr, low: tl.constexpr, rounds: tl.constexpr):
    # A line in order of 2^line keys with numbers below them, of 32 bits each; those of equal keys rise. A
    # network of 32 bits sorts what fits of a key and the place in the line; then neighbours are exchanged.
    # If that is not enough: by the keys' lower bits, then by the upper ones.
    place = tl.arange(0, 1 << line)
    rank = (place >> low) | ((place & ((1 << low) - 1)) << (line - low))
    pairs = tl.reshape(tl.trans(tl.reshape(pairs, [1 << low, 1 << (line - low)])), [1 << line])
    step = 0
    unsure = 1
    while (unsure > 0) & (step < 3):
        key = (pairs >> 32).to(tl.int32)
        coarse, shift = coarse_key(key, 32 - line)
        coarse = tl.where(step == 0, coarse, key ^ -0x80000000).to(tl.uint32, bitcast=True)
        shift = tl.where(step == 0, shift, tl.where(step == 1, 0, 32 - line)).to(tl.uint32)
        packed = (((coarse >> shift) << line).to(tl.int32, bitcast=True) | rank) ^ -0x80000000
        cube = network(tl.reshape(packed, [2] * line, can_reorder=True), line, line, low)
        of_rank = tl.reshape(cube, [1 << line]) & ((1 << line) - 1)
        there = (of_rank >> (line - low)) | ((of_rank & ((1 << (line - low)) - 1)) << low)
        pairs = tl.gather(pairs, there, 0)
        pairs, unsure = neighbours_exchanged(pairs, rank, line, low, tl.where(step == 0, rounds, 0))
        unsure = tl.where(step == 0, unsure, 1)
        step += 1
    return tl.reshape(tl.trans(tl.reshape(pairs, [1 << (line - low), 1 << low])), [1 << line])
)";

int Digits(int64_t power) {
  return std::countr_zero(static_cast<uint64_t>(power));
}

// The digit of a place from which on it says which of a thread's own registers holds the element; 0 where no
// digits do, or the first ones. Triton deals a line out to the threads of a program, one element each, where
// it may choose the order. A tile of several lines stays as it is loaded: four neighbours in memory to a
// thread, one piece of a line after the other to all warps.
int OwnDigit(const SortTile& tile) {
  constexpr int64_t of_warp = kThreads * kVector;
  int64_t dealt = kThreads * tile.num_warps;
  if (tile.across) {
    dealt = std::max<int64_t>(1, of_warp / tile.rows) * tile.num_warps;
  } else if (tile.rows > 1) {
    dealt = of_warp * std::clamp<int64_t>(tile.columns / of_warp, 1, tile.num_warps);
  }
  return dealt >= tile.columns ? 0 : Digits(dealt);
}

// Which of both ways. A thread has pairs of neighbours, and a line needs a second warp.
bool ByCoarseKeys(Dtype dtype, const SortTile& tile) {
  return dtype == Dtype::kInt64 && tile.rows == 1 && tile.columns >= kShortestCoarse && tile.num_warps > 1 &&
         OwnDigit(tile) > 0;
}

}  // namespace

std::string SortedText(const std::string& keys, Dtype dtype, const SortTile& tile) {
  const int line = Digits(tile.columns), low = OwnDigit(tile);
  if (ByCoarseKeys(dtype, tile))
    return fmt::format("by_coarse_keys({}, {}, {}, {})", keys, line, low, kRounds);
  return fmt::format("by_network({}, {}, {}, {})", keys, line, line + Digits(tile.rows), low);
}

std::string SortFunctions(const std::string& kernels) {
  const bool coarse = kernels.find("by_coarse_keys(") != std::string::npos;
  std::string text;
  if (coarse || kernels.find("by_network(") != std::string::npos) text += kNetwork;
  if (coarse) text += kCoarseKeys;
  return text;
}

}  // namespace tritogen::teach
