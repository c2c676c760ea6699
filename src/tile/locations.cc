#include "tile/locations.h"

#include <charconv>

#include "tile/lexer.h"
#include "tile/tile.h"

namespace tritogen::tile {
namespace {

constexpr int kMaxDepth = 64;  // deeper call chains lose their line

}  // namespace

// Reads one location: "file":line:col, "name", "name"(…), callsite(… at …), fused<…>[…], #alias, unknown.
class LocationTable::Reader {
 public:
  Reader(LocationTable& table, std::string_view inside) : table_(table), lexer_(inside) {}

  Place Read(int depth) {
    if (depth > kMaxDepth) throw TtirError(0, "locations nest too deeply");
    Token token = lexer_.token();
    lexer_.Advance();
    if (token.kind == TokenKind::kAlias) return table_.ResolveAlias(token.text, depth);
    if (token.kind == TokenKind::kString) return ReadNamed(token.text, depth);
    if (token.Is("callsite")) return ReadCallSite(depth);
    if (token.Is("fused")) return ReadFused(depth);
    return {};
  }

 private:
  Place ReadNamed(std::string_view text, int depth) {
    if (lexer_.token().Is(':')) {
      lexer_.Advance();
      int line = 0;
      std::string_view digits = lexer_.token().text;
      std::from_chars(digits.data(), digits.data() + digits.size(), line);
      lexer_.Advance();
      if (lexer_.token().Is(':')) {
        lexer_.Advance();
        lexer_.Advance();
      }
      return {text, line};
    }
    if (!lexer_.token().Is('(')) return {};
    lexer_.Advance();
    Place place = Read(depth + 1);
    lexer_.Advance();
    return place;
  }

  Place ReadCallSite(int depth) {
    lexer_.Advance();  // (
    Place callee = Read(depth + 1);
    lexer_.Advance();  // at
    Place caller = Read(depth + 1);
    lexer_.Advance();  // )
    return Better(callee, caller);
  }

  Place ReadFused(int depth) {
    if (lexer_.token().Is('<')) lexer_.SkipBrackets();
    Place best;
    do {
      lexer_.Advance();  // [ or ,
      best = Better(best, Read(depth + 1));
    } while (lexer_.token().Is(','));
    lexer_.Advance();
    return best;
  }

  Place Better(Place first, Place second) const {
    if (first.line == 0) return second;
    bool second_is_home = second.line != 0 && second.file == table_.kernel_file_;
    return second_is_home && first.file != table_.kernel_file_ ? second : first;
  }

  LocationTable& table_;
  Lexer lexer_;
};

LocationTable::LocationTable(std::string_view text) {
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    size_t open = line.starts_with("#loc") ? line.find(" = loc(") : std::string_view::npos;
    if (open != std::string_view::npos && line.back() == ')') {
      aliases_[line.substr(1, open - 1)].inside = line.substr(open + 7, line.size() - open - 8);
    }
    start = end + 1;
  }
  // MLIR gives the first alias, #loc, to the module, which Triton places at the kernel.
  if (aliases_.contains("loc")) kernel_file_ = ResolveAlias("loc", 0).file;
}

LocationTable::Place LocationTable::ResolveAlias(std::string_view name, int depth) {
  auto it = aliases_.find(name);
  if (it == aliases_.end()) return {};
  Alias& alias = it->second;
  if (!alias.resolved) {
    alias.resolved = true;
    try {
      alias.place = Reader(*this, alias.inside).Read(depth + 1);
    } catch (const TtirError&) {
      // A broken location is no location.
    }
  }
  return alias.place;
}

int LocationTable::Line(std::string_view inside) {
  if (inside.starts_with('#')) return ResolveAlias(inside.substr(1), 0).line;
  try {
    return Reader(*this, inside).Read(0).line;
  } catch (const TtirError&) {
    return 0;
  }
}

}  // namespace tritogen::tile
