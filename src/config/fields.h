// Fields: what a struct of options is made of, each field named once. A struct describes itself,
//
//   void Describe(config::Fields* f, Options* o) {
//     f->Int("count", &o->count, 1, 1'000'000);
//     f->Section("limits", [&](config::Fields* g) { g->Double("share", &o->share, 0, 1); });
//   }
//
// and is read from TOML (toml.h) or written as JSON (toml.h) by the same description.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tritogen::config {

class Fields {
 public:
  using Description = std::function<void(Fields*)>;
  virtual ~Fields() = default;

  virtual void Bool(std::string_view key, bool* value) = 0;
  // Both ends are allowed.
  virtual void Int(std::string_view key, int64_t* value, int64_t low, int64_t high) = 0;
  virtual void Double(std::string_view key, double* value, double low, double high) = 0;
  virtual void Text(std::string_view key, std::string* value) = 0;
  // One of `choices`.
  virtual void Choice(std::string_view key, std::string* value, std::span<const std::string_view> choices) = 0;
  virtual void Texts(std::string_view key, std::vector<std::string>* value) = 0;
  virtual void Section(std::string_view key, const Description& description) = 0;
  // An array of tables: reading, `add` is called for each table there is; writing, for each of `count`.
  virtual void Sections(std::string_view key, size_t count,
                        const std::function<void(size_t index, Fields*)>& each) = 0;

  // Other integers.
  template <typename T>
  void Int(std::string_view key, T* value, int64_t low, int64_t high) {
    int64_t wide = static_cast<int64_t>(*value);
    Int(key, &wide, low, high);
    *value = static_cast<T>(wide);
  }
};

}  // namespace tritogen::config
