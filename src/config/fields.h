// Fields: what a struct of options is made of, each field named once. A struct describes itself,
//
//   void Describe(config::Fields* f, Options* o) {
//     f->Int("count", &o->count, 1, 1'000'000);
//     f->Section("limits", [&](config::Fields* g) { g->Double("share", &o->share, 0, 1); });
//   }
//
// and is read from TOML or written as JSON by the same description (toml.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tritogen::config {

class Fields {
 public:
  using Description = std::function<void(Fields*)>;
  virtual ~Fields() = default;

  // A key that is absent leaves the value as it is: that is the default. Both ends of ranges are allowed.
  virtual void Bool(std::string_view key, bool* value) = 0;
  virtual void Int(std::string_view key, int64_t* value, int64_t low, int64_t high) = 0;
  virtual void Double(std::string_view key, double* value, double low, double high) = 0;
  virtual void Text(std::string_view key, std::string* value) = 0;
  virtual void Texts(std::string_view key, std::vector<std::string>* value) = 0;
  // One of `choices`; an empty value is none of them yet, and must be given.
  virtual void Choice(std::string_view key, std::string* value, std::span<const std::string> choices) = 0;
  virtual void Section(std::string_view key, const Description& description) = 0;
  // An array of tables. `resize` is told how many there are when they are read, and gives their number.
  virtual void Sections(std::string_view key, const std::function<size_t(size_t given)>& resize,
                        const std::function<void(size_t index, Fields*)>& describe) = 0;
  // Throws UserError, with the place where there is one.
  [[noreturn]] virtual void Fail(std::string_view key, std::string_view what) const = 0;

  // Other integers.
  template <typename T>
  void Int(std::string_view key, T* value, int64_t low, int64_t high) {
    int64_t wide = static_cast<int64_t>(*value);
    Int(key, &wide, low, high);
    *value = static_cast<T>(wide);
  }
  // Arrays of tables that are kept as a vector.
  template <typename T>
  void Sections(std::string_view key, std::vector<T>* list, void (*describe)(Fields*, T*)) {
    Sections(
        key,
        [list](size_t given) {
          if (given > 0) list->assign(given, T());
          return list->size();
        },
        [list, describe](size_t index, Fields* fields) { describe(fields, &(*list)[index]); });
  }
};

// The one of `names` that is nearest to `name` by edit distance, when it is near enough to be meant.
std::string_view Nearest(std::string_view name, std::span<const std::string> names);
// "; did you mean 'seed'?", or "" where nothing is near.
std::string DidYouMean(std::string_view name, std::span<const std::string> names);
// The same, or "; there is a, b, c" where nothing is near.
std::string Suggestion(std::string_view name, std::span<const std::string> names);

}  // namespace tritogen::config
