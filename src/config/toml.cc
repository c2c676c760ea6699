#include "config/toml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"

namespace tritogen::config {
namespace {

// Broken text can break what the library's parser (3.3) takes for granted; that is no reason to end the
// program.
[[noreturn]] void FailToml() {
  throw FormatError("it ends, or goes on, where it must not");
}

}  // namespace
}  // namespace tritogen::config

#define TOML_ASSERT(condition) ((condition) ? void(0) : ::tritogen::config::FailToml())
#include <toml++/toml.h>

namespace tritogen::config {
namespace {

std::string_view TypeName(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

// One table of a file. Remembers which keys were asked for: the others are unknown.
class TomlFields : public Fields {
 public:
  using Fields::Int;
  using Fields::Sections;

  TomlFields(const toml::table& table, const std::string& file, std::string section)
      : table_(table), file_(file), section_(std::move(section)) {}

  void Bool(std::string_view key, bool* value) override { Read(key, value, "true or false"); }

  void Int(std::string_view key, int64_t* value, int64_t low, int64_t high) override {
    Read(key, value, "an integer");
    if (*value < low || *value > high) Fail(key, fmt::format("{} is outside {} to {}", *value, low, high));
  }

  void Double(std::string_view key, double* value, double low, double high) override {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const auto number = node->value<double>();  // integers, too
    if (!node->is_number() || !number) Mistyped(key, *node, "a number");
    if (!(*number >= low && *number <= high))
      Fail(key, fmt::format("{} is outside {} to {}", *number, low, high));
    *value = *number;
  }

  void Text(std::string_view key, std::string* value) override { Read(key, value, "a text"); }

  void Texts(std::string_view key, std::vector<std::string>* value) override {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    if (list == nullptr) Mistyped(key, *node, "a list of texts");
    value->clear();
    for (const toml::node& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text) Mistyped(key, item, "a list of texts");
      value->push_back(*text);
    }
  }

  void Choice(std::string_view key, std::string* value, std::span<const std::string> choices) override {
    Text(key, value);
    if (value->empty()) Fail(key, fmt::format("must be one of {}", fmt::join(choices, ", ")));
    if (std::find(choices.begin(), choices.end(), *value) == choices.end())
      Fail(key, fmt::format("there is no '{}'{}", *value, Suggestion(*value, choices)));
  }

  void Section(std::string_view key, const Description& description) override {
    static const toml::table kEmpty;
    const toml::node* node = Find(key);
    if (node != nullptr && !node->is_table()) Mistyped(key, *node, fmt::format("a table: [{}]", Path(key)));
    TomlFields fields(node == nullptr ? kEmpty : *node->as_table(), file_, Path(key));
    description(&fields);
    fields.Finish();
  }

  void Sections(std::string_view key, const std::function<size_t(size_t)>& resize,
                const std::function<void(size_t, Fields*)>& describe) override {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    const std::string wanted = fmt::format("tables: [[{}]]", Path(key));
    if (list == nullptr) Mistyped(key, *node, wanted);
    resize(list->size());
    for (size_t i = 0; i < list->size(); ++i) {
      const toml::table* table = list->get(i)->as_table();
      if (table == nullptr) Mistyped(key, *list->get(i), wanted);
      TomlFields fields(*table, file_, Path(key));
      describe(i, &fields);
      fields.Finish();
    }
  }

  [[noreturn]] void Fail(std::string_view key, std::string_view what) const override {
    const toml::node* node = table_.get(key);
    if (node == nullptr) RefuseMisspelt(key);
    const toml::source_region& where = node == nullptr ? table_.source() : node->source();
    // A table that is not in the file has no line.
    const std::string line = where.begin.line > 0 ? fmt::format(":{}", where.begin.line) : "";
    throw UserError(fmt::format("{}{}: {}: {}", file_, line, Path(key), what));
  }

  // Throws for keys that nobody asked for.
  void Finish() const {
    for (const auto& [key, node] : table_) {
      if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
      Unknown(key, known_);
    }
  }

 private:
  [[noreturn]] void Unknown(const toml::key& key, const std::vector<std::string>& known) const {
    const std::string where = section_.empty() ? "" : fmt::format(" in [{}]", section_);
    throw UserError(fmt::format("{}:{}: unknown key '{}'{}{}", file_, key.source().begin.line, key.str(),
                                where, Suggestion(key.str(), known)));
  }

  // A key that is missed may stand there in another spelling.
  void RefuseMisspelt(std::string_view missed) const {
    const std::vector<std::string> wanted{std::string(missed)};
    for (const auto& [key, node] : table_) {
      const bool known = std::find(known_.begin(), known_.end(), key.str()) != known_.end();
      if (!known && !DidYouMean(key.str(), wanted).empty()) Unknown(key, wanted);
    }
  }

  const toml::node* Find(std::string_view key) {
    known_.emplace_back(key);
    return table_.get(key);
  }

  template <typename T>
  void Read(std::string_view key, T* value, std::string_view wanted) {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const auto read = node->value_exact<T>();
    if (!read) Mistyped(key, *node, wanted);
    *value = *read;
  }

  [[noreturn]] void Mistyped(std::string_view key, const toml::node& node, std::string_view wanted) const {
    Fail(key, fmt::format("must be {}, not {}", wanted, TypeName(node.type())));
  }

  std::string Path(std::string_view key) const {
    return section_.empty() ? std::string(key) : fmt::format("{}.{}", section_, key);
  }

  const toml::table& table_;
  const std::string& file_;
  std::string section_;
  std::vector<std::string> known_;
};

class JsonFields : public Fields {
 public:
  using Fields::Int;
  using Fields::Sections;

  void Bool(std::string_view key, bool* value) override { json_[std::string(key)] = *value; }
  void Int(std::string_view key, int64_t* value, int64_t, int64_t) override {
    json_[std::string(key)] = *value;
  }
  void Double(std::string_view key, double* value, double, double) override {
    json_[std::string(key)] = *value;
  }
  void Text(std::string_view key, std::string* value) override { json_[std::string(key)] = *value; }
  void Texts(std::string_view key, std::vector<std::string>* value) override {
    json_[std::string(key)] = *value;
  }
  void Choice(std::string_view key, std::string* value, std::span<const std::string>) override {
    json_[std::string(key)] = *value;
  }
  void Section(std::string_view key, const Description& description) override {
    json_[std::string(key)] = WriteJson(description);
  }
  void Sections(std::string_view key, const std::function<size_t(size_t)>& resize,
                const std::function<void(size_t, Fields*)>& describe) override {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    const size_t count = resize(0);
    for (size_t i = 0; i < count; ++i) list.push_back(WriteJson([&](Fields* f) { describe(i, f); }));
    json_[std::string(key)] = std::move(list);
  }
  [[noreturn]] void Fail(std::string_view key, std::string_view what) const override {
    throw UserError(fmt::format("{}: {}", key, what));
  }

  nlohmann::ordered_json Take() { return std::move(json_); }

 private:
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

}  // namespace

namespace {

constexpr std::string_view kLike = "like";
constexpr int kMostLike = 8;  // files that build on each other
constexpr size_t kMostBytes = size_t{1} << 20;

void Read(std::string_view text, const std::string& file, const Fields::Description& description, int depth) {
  toml::table table;
  try {
    table = toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    throw UserError(fmt::format("{}:{}: no TOML: {}", file, error.source().begin.line, error.description()));
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: no TOML: {}", file, error.what()));
  }
  TomlFields fields(table, file, "");
  std::string like;
  fields.Text(kLike, &like);
  if (!like.empty()) {
    if (depth == kMostLike) fields.Fail(kLike, "files build on each other without end");
    const std::string other = std::filesystem::path(file).parent_path() / like;
    if (!std::filesystem::is_regular_file(other))
      fields.Fail(kLike, fmt::format("there is no file '{}'", other));
    Read(ReadFile(other, kMostBytes), other, description, depth + 1);
  }
  description(&fields);
  fields.Finish();
}

}  // namespace

void ReadToml(std::string_view text, const std::string& file, const Fields::Description& description) {
  Read(text, file, description, 0);
}

nlohmann::ordered_json WriteJson(const Fields::Description& description) {
  JsonFields fields;
  description(&fields);
  return fields.Take();
}

}  // namespace tritogen::config
