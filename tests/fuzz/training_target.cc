// Training data from anywhere: any file ends in examples or in a UserError, any line of wrong answers in one
// or in a FormatError; an example's parts are in order.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/temp_dir.h"
#include "train/corpus_test_util.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  static const TempDir folder;
  static const train::ChatFormat format = train::SmallFormat();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string file = (folder.path() / "fuzz.jsonl").string();
  std::ofstream(file, std::ios::binary) << text;
  try {
    const auto read = train::ReadCorpus({.data = {file}}, format, 512, 1);
    for (int64_t i = 0; i < read->corpus.size(); ++i) {
      const auto view = read->corpus.at(i);
      const bool ends = view.tokens.back() == format.ends[0];
      if (!ends || view.plan <= 0 || view.plan > view.code || view.tokens.size() > 512) {
        std::fprintf(stderr, "example %d is not as it should be\n", static_cast<int>(i));
        std::abort();
      }
    }
  } catch (const UserError&) {
  }
  try {
    train::WrongAnswers answers;
    train::AddWrongAnswer(text, &answers);
  } catch (const FormatError&) {
  }
  return 0;
}
