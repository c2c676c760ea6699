#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/json_text.h"
#include "base/splitmix.h"
#include "base/utf8.h"
#include "text/bpe_trainer.h"
#include "text/byte_alphabet.h"
#include "text/golden_texts.h"
#include "text/nfc.h"
#include "text/stream_decoder.h"

namespace tritogen {
namespace {

using nlohmann::json;

std::string GoldenText(const std::string& name) {
  return ReadFile(golden::Path(name + ".json"));
}

// Whatever is done to a tokenizer file: the error's text, empty when it is accepted.
std::string ErrorOf(const std::string& text) {
  try {
    Tokenizer tokenizer(ParseTokenizerFile(text));
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

std::string RandomBytes(SplitMix* random, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random->Below(256)));
  return bytes;
}

TEST(Tokenizer, AnyBytesComeBack) {
  SplitMix random(3);
  for (const char* name : {"llama3", "gpt2"}) {
    const Tokenizer tokenizer = LoadTokenizer(golden::Path(std::string(name) + ".json"));
    Encoder encoder(tokenizer);
    const auto fragments = golden::Fragments();
    for (int i = 0; i < 3000; ++i) {
      std::string text = RandomBytes(&random, random.Below(40));
      if (i % 2)
        text.insert(random.Below(text.size() + 1), golden::MakeText(fragments, 9, static_cast<uint64_t>(i)));
      EXPECT_EQ(tokenizer.Decode(encoder.Encode(text, {.add_special_tokens = false})), text);
    }
    EXPECT_TRUE(encoder.Encode("", {.add_special_tokens = false}).empty());
    const std::string surrogate = "a\xed\xa0\x80z", nul(3, '\0');
    EXPECT_EQ(tokenizer.Decode(encoder.Encode(surrogate, {.add_special_tokens = false})), surrogate);
    EXPECT_EQ(tokenizer.Decode(encoder.Encode(nul, {.add_special_tokens = false})), nul);
  }
}

TEST(Tokenizer, MalformedPartsDoNotChangeWhatIsAroundThem) {
  const Tokenizer tokenizer = LoadTokenizer(golden::Path("qwen3.json"));
  Encoder encoder(tokenizer);
  const auto whole = encoder.Encode("function\xff kernel e\xcc\x81");
  std::vector<TokenId> parts = encoder.Encode("function");
  parts.push_back(*tokenizer.Find("\xff"));
  for (const TokenId id : encoder.Encode(" kernel \xc3\xa9")) parts.push_back(id);  // NFC holds behind it
  EXPECT_EQ(whole, parts);
}

TEST(Tokenizer, SpecialTokensCanBeText) {
  const Tokenizer tokenizer = LoadTokenizer(golden::Path("qwen3.json"));
  Encoder encoder(tokenizer);
  const std::string text = "<|im_start|>user<think>";
  const auto tokens = encoder.Encode(text), plain = encoder.Encode(text, {.special_as_text = true});
  EXPECT_EQ(tokens.front(), *tokenizer.Find("<|im_start|>"));
  EXPECT_TRUE(tokenizer.IsSpecial(tokens.front()));
  for (const TokenId id : plain) EXPECT_FALSE(tokenizer.IsSpecial(id));
  EXPECT_EQ(plain.back(), *tokenizer.Find("<think>"));  // added, but not special
  EXPECT_EQ(tokenizer.Decode(plain), text);
  EXPECT_EQ(tokenizer.Decode(tokens, /*skip_special=*/true), "user<think>");
}

TEST(Tokenizer, IdsWithoutTokenAreNothing) {
  const Tokenizer tokenizer = LoadTokenizer(golden::Path("gpt2.json"));
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{-1, tokenizer.id_end(), 1 << 30}), "");
}

TEST(Tokenizer, OneEncoderEachThread) {
  const Tokenizer tokenizer = LoadTokenizer(golden::Path("qwen3.json"));
  const auto fragments = golden::Fragments();
  const auto hashes = golden::Hashes("qwen3");
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Encoder encoder(tokenizer);
      for (size_t i = 0; i < 500; ++i) {
        wrong += golden::HashIds(encoder.Encode(golden::MakeText(fragments, 1, i))) != hashes[i];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// The definition: the pair of least rank, leftmost, until none is left.
std::vector<TokenId> MergePlainly(const BpeModel& model, std::string_view word) {
  std::vector<TokenId> tokens;
  for (const char byte : word) tokens.push_back(model.ByteToken(static_cast<uint8_t>(byte)));
  for (;;) {
    size_t best = 0;
    BpeModel::Merge merge{BpeModel::kNoMerge, 0};
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto here = model.MergeOf(tokens[i], tokens[i + 1]);
      if (here.rank < merge.rank) best = i, merge = here;
    }
    if (merge.rank == BpeModel::kNoMerge) return tokens;
    tokens[best] = merge.result;
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, BothWaysOfMergingAreTheDefinition) {
  const BpeModel model(ParseTokenizerFile(GoldenText("qwen3")).model);
  const auto fragments = golden::Fragments();
  SplitMix random(5);
  for (uint64_t i = 0; i < 1500; ++i) {
    std::string word = golden::MakeText(fragments, 4, i);
    if (i % 3 == 0) word = word.substr(0, 1 + random.Below(60));
    if (i % 5 == 0) word = std::string(1 + random.Below(130), "ab 0\n"[random.Below(5)]);
    if (word.empty()) continue;
    std::vector<TokenId> ids;
    model.Encode(word, &ids);
    EXPECT_EQ(ids, MergePlainly(model, word))
        << json(word).dump(-1, ' ', true, json::error_handler_t::replace);
  }
}

TEST(Bpe, LongWordsAreNotQuadratic) {
  const BpeModel model(ParseTokenizerFile(GoldenText("qwen3")).model);
  std::string word;
  while (word.size() < 1'000'000) word += "abcab";  // quadratic: 10^12 steps
  std::vector<TokenId> ids;
  model.Encode(word, &ids);
  std::string back;
  for (const TokenId id : ids) back += *model.Bytes(id);
  EXPECT_EQ(back, word);
}

// Any characters, many of them where kinds, cases and widths of UTF-8 meet.
std::string OddText(SplitMix* random) {
  constexpr char32_t kOdd[] = {' ',    '\'',   's',     '\n',    '\r',   '7',     0x17f,   0x85,    0xa0,
                               0x300,  0x3000, 0x2028,  0x180e,  0x200b, 0x0966,  0x0905,  0x094d,  0x0e33,
                               0xac00, 0x3042, 0x4e00,  0x7ff,   0x800,  0xd7ff,  0xe000,  0xffff,  0x10000,
                               0xaa,   0x2167, 0x1f600, 0x1d7ce, 0xbd,   0x1e030, 0x323af, 0x10ffff};
  std::string text;
  for (uint64_t n = random->Below(12); n-- > 0;) {
    char32_t c = kOdd[random->Below(std::size(kOdd))];
    if (random->Below(4) == 0) c = static_cast<char32_t>(random->Below(0x110000));
    if (c < 0xd800 || c >= 0xe000) AppendUtf8(c, &text);
  }
  return text;
}

// Marks of two classes in turn are put in order, all of the one before all of the other.
TEST(Nfc, ManyMarksAreNotQuadratic) {
  std::string text = "q", scratch;                           // which joins neither
  for (int i = 0; i < 200'000; ++i) text += "\u0307\u0323";  // above, below
  const auto start = std::chrono::steady_clock::now();
  const std::string_view ordered = Nfc(text, &scratch);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << "it was minutes";
  ASSERT_EQ(ordered.size(), text.size());
  EXPECT_EQ(ordered.substr(0, 5), "q\u0323\u0323");
  EXPECT_EQ(ordered.substr(ordered.size() - 4), "\u0307\u0307");
  EXPECT_EQ(Nfc("a\u0301\u0323", &scratch), "\u1ea1\u0301") << "what is below joins first";
}

TEST(Split, ByHandIsTheRegularExpression) {
  const auto fragments = golden::Fragments();
  SplitMix random(11);
  for (const auto pattern : {kGpt2Pattern, kQwenPattern, kLlamaPattern}) {
    const auto by_hand = HandSplit::For(pattern);
    ASSERT_TRUE(by_hand);
    const SplitRegex regex(pattern);
    SplitRegex::Matcher matcher(regex);
    size_t answered = 0, asked = 0;
    for (uint64_t i = 0; i < 6000; ++i) {
      std::string text;
      if (i % 2) {
        text = golden::MakeText(fragments, 6, i);
      } else if (i % 3 == 0) {
        text = OddText(&random);
      } else {
        for (uint64_t n = random.Below(12); n-- > 0;) {
          text += i % 4 ? static_cast<char>(random.Below(128)) : "a 'SsLlve\n\r\t1.9\x1f_"[random.Below(18)];
        }
      }
      for (size_t at = 0, begin = 0, end = 0; at < text.size(); at = end) {
        ASSERT_TRUE(matcher.Find(text, at, &begin, &end));
        ASSERT_EQ(begin, at);
        const size_t bytes = by_hand->Match(text, at);
        ++(bytes != 0 ? answered : asked);
        ASSERT_TRUE(bytes == 0 || bytes == end - begin) << json(text).dump(-1, ' ', true) << " at " << at;
      }
    }
    EXPECT_GT(answered, 100 * asked);
  }
}

TEST(Split, ByHandKnowsEveryCharacter) {
  for (const auto pattern : {kGpt2Pattern, kQwenPattern, kLlamaPattern}) {
    const auto by_hand = HandSplit::For(pattern);
    const SplitRegex regex(pattern);
    SplitRegex::Matcher matcher(regex);
    for (char32_t c = 0; c < 0x110000; ++c) {
      if (c >= 0xd800 && c < 0xe000) continue;
      std::string text;
      AppendUtf8(c, &text);
      text += "a1. ";  // a letter is joined by the first, a number by the second at most, others by a letter
      size_t begin = 0, end = 0;
      ASSERT_TRUE(matcher.Find(text, 0, &begin, &end));
      ASSERT_EQ(by_hand->Match(text, 0), end) << static_cast<uint32_t>(c);
    }
  }
}

TEST(Split, RefusesWhatTheDialectsReadUnlike) {
  for (const char* pattern :
       {"^a", "a$", "a.b", "\\w+", "\\bx", "(?<n>a)", "\\1", "[[:alpha:]]", "a{,3}", "\\p{1}", "(", "[a",
        "x{2}+", "[\\P{L}]", "\\x41", "\\", "[]a]", "[a&&b]", "\\p{Nonsense}"}) {
    EXPECT_THROW(SplitRegex{pattern}, FormatError) << pattern;
  }
}

TEST(Split, BacktrackingWithoutEndIsAnError) {
  const SplitRegex regex("(?:(?:a|a)+)+(?!a)cd");
  SplitRegex::Matcher matcher(regex);
  size_t begin = 0, end = 0;
  EXPECT_THROW(matcher.Find(std::string(40, 'a') + "xcd", 0, &begin, &end), UserError);
}

TEST(TokenizerFile, DamageIsNamed) {
  const json good = json::parse(GoldenText("odd"));
  const auto with = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return changed.dump();
  };
  ASSERT_EQ(ErrorOf(good.dump()), "");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not JSON"},
      {"{}", "'model' is missing"},
      {good.dump().substr(0, 4000), "not JSON"},
      {std::string(1000, '['), "nested"},
      {with("/model/type", "WordPiece"), "'WordPiece' models are not supported"},
      {with("/model/dropout", 0.1), "'dropout' is set"},
      {with("/model/unk_token", "<unk>"), "'unk_token' is set"},
      {with("/model/byte_fallback", true), "'byte_fallback' is set"},
      {with("/model/vocab/a", 7), "two tokens have id 7"},
      {with("/model/vocab/a", -1), "is no integer in"},
      {with("/model/vocab/a", 1.5), "is no integer in"},
      {with("/model/vocab/a", 1u << 30), "is no integer in"},
      {with("/model/vocab", json::object()), "no token for byte 0x00"},
      {with("/model/merges/3", json::array({"a"})), "expected 2 elements"},
      {with("/model/merges/3", "ab"), "one space between"},
      {with("/model/merges/3", json::array({"q", "zzz"})), "merge 3: 'zzz' is not in the vocabulary"},
      {with("/model/merges", 3), "expected an array"},
      {with("/added_tokens/0/content", ""), "without text"},
      {with("/added_tokens/1/id", 500), "two added tokens have id 500"},
      {with("/added_tokens/0/id", 5), "disagrees with the vocabulary"},
      {with("/added_tokens/0/content", "a"), "disagrees with the vocabulary"},
      {with("/normalizer", {{"type", "Lowercase"}}), "normalizer 'Lowercase' is not supported"},
      {with("/pre_tokenizer", nullptr), "no pre_tokenizer"},
      {with("/pre_tokenizer", {{"type", "Metaspace"}}), "must be ByteLevel"},
      {with("/decoder", {{"type", "WordPiece"}}), "decoder 'WordPiece' is not supported"},
      {with("/post_processor", {{"type", "BertProcessing"}}), "'BertProcessing' is not supported"},
      {with("/post_processor", {{"type", "TemplateProcessing"}, {"single", json::array()}}),
       "without a text"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(ErrorOf(text).find(expected), std::string::npos) << expected << " / " << ErrorOf(text);
  }
  EXPECT_THROW(LoadTokenizer("/nonexistent/tokenizer.json"), UserError);
}

// As SmolLM and DeepSeek Coder have them.
TEST(TokenizerFile, DigitsStandAloneOrInRuns) {
  const auto words = [&](const json& digits) {
    const json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
    const PreTokenizer split(nullptr, {{"type", "Sequence"}, {"pretokenizers", {digits, byte_level}}});
    std::vector<std::string> found;
    Splitter(split).ForEachWord("ab12 345x٣½", [&](std::string_view word) { found.emplace_back(word); });
    return found;
  };
  EXPECT_EQ(words({{"type", "Digits"}, {"individual_digits", true}}),
            (std::vector<std::string>{"ab", "1", "2", " ", "3", "4", "5", "x", "٣", "½"}));
  EXPECT_EQ(words({{"type", "Digits"}, {"individual_digits", false}}),
            (std::vector<std::string>{"ab", "12", " ", "345", "x", "٣½"}));
}

TEST(TokenizerFile, MergesInBothNotations) {
  json file = json::parse(GoldenText("llama3"));
  for (auto& merge : file["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  EXPECT_EQ(WriteTokenizerFile(ParseTokenizerFile(file.dump())),
            WriteTokenizerFile(ParseTokenizerFile(GoldenText("llama3"))));
}

TEST(StreamDecoder, NeverHalfACharacter) {
  const Tokenizer tokenizer = LoadTokenizer(golden::Path("gpt2.json"));
  StreamDecoder stream(tokenizer);
  std::vector<std::string> parts;
  for (const char byte : std::string("\xf0\x9f\x98\x80"
                                     "a\xe2\x82"))
    parts.push_back(stream.Add(*tokenizer.Find({&byte, 1})));
  EXPECT_EQ(parts, (std::vector<std::string>{"", "", "", "😀", "a", "", ""}));
  EXPECT_EQ(stream.Finish(), "\ufffd");
  EXPECT_EQ(stream.Finish(), "");
}

TEST(Trainer, OrderOfTextsDoesNotMatter) {
  const auto fragments = golden::Fragments();
  const auto train = [&](bool backwards) {
    BpeTrainer trainer(QwenSkeleton(),
                       {.vocabulary = 600, .special_tokens = {"<|endoftext|>", "<|im_end|>"}});
    for (uint64_t i = 0; i < 400; ++i) trainer.Add(golden::MakeText(fragments, 8, backwards ? 399 - i : i));
    return WriteTokenizerFile(trainer.Train());
  };
  const std::string text = train(false);
  EXPECT_EQ(train(true), text);
  const Tokenizer tokenizer(ParseTokenizerFile(text));
  EXPECT_EQ(tokenizer.id_end(), 600);
  EXPECT_EQ(tokenizer.Find("<|im_end|>"), 1);
  EXPECT_TRUE(tokenizer.IsSpecial(0));
  BpeTrainer small(QwenSkeleton(), {.vocabulary = 256, .special_tokens = {"<|x|>"}});
  EXPECT_THROW(small.Train(), UserError);
  BpeTrainer clash(QwenSkeleton(), {.vocabulary = 300, .special_tokens = {"a"}});
  EXPECT_THROW(clash.Train(), UserError);
}

TEST(ByteAlphabet, IsABijection) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(AlphabetToBytes(BytesToAlphabet(all)), all);
  EXPECT_EQ(BytesToAlphabet(" \n\xff"), "ĠĊÿ");
  EXPECT_EQ(AlphabetToBytes("a b"), std::nullopt);
}

}  // namespace
}  // namespace tritogen
