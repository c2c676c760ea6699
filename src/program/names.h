// Python names for printed programs: identifiers that are valid, unlike each other and close to what was
// wished for.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace tritogen {

class NameTable {
 public:
  // Names in `reserved` are never given out.
  explicit NameTable(std::initializer_list<std::string_view> reserved = {});
  explicit NameTable(const std::set<std::string>& reserved) : used_(reserved.begin(), reserved.end()) {}
  // "up.weight" → "up_weight"; the second time "up_weight_1". Never a Python keyword.
  std::string Unique(std::string_view wish);
  // Of more values of one kind: "split" → "split_1", "split_2" → "split_3", or the next number that is free.
  // REQUIRES: a name that was given out.
  std::string Next(std::string_view name);

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int> numbers_;  // the last one tried behind a name
};

// The wish as an identifier: other characters become underscores; "value" when nothing is left.
std::string PythonIdentifier(std::string_view wish);

}  // namespace tritogen
