#include "config/toml.h"

#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"

namespace tritogen::config {
namespace {

struct Part {
  int level = 1;
  std::string kind = "all";
};

struct Options {
  bool strict = false;
  uint64_t seed = 0;
  double share = 0.1;
  std::string name = "none", mode = "fast";
  std::vector<std::string> files;
  int most = 5;
  std::vector<Part> parts;
};

void DescribePart(Fields* f, Part* part) {
  f->Int("level", &part->level, 1, 20);
  f->Text("kind", &part->kind);
}

void Describe(Fields* f, Options* o) {
  static const std::vector<std::string> kModes{"fast", "safe"};
  f->Bool("strict", &o->strict);
  f->Int("seed", &o->seed, 0, int64_t{1} << 53);
  f->Double("share", &o->share, 0, 1);
  f->Text("name", &o->name);
  f->Choice("mode", &o->mode, kModes);
  f->Texts("files", &o->files);
  f->Section("limits", [o](Fields* g) { g->Int("most", &o->most, 1, 100); });
  f->Sections("part", &o->parts, DescribePart);
}

Options Read(std::string_view text) {
  Options options;
  ReadToml(text, "test.toml", [&](Fields* f) { Describe(f, &options); });
  return options;
}

std::string ErrorOf(std::string_view text) {
  try {
    Read(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Toml, ReadsEveryKindOfField) {
  const Options o = Read(
      "strict = true\nseed = 7\nshare = 1\nname = \"x\"\nmode = \"safe\"\nfiles = [\"a\", \"b\"]\n"
      "[limits]\nmost = 9\n[[part]]\nlevel = 2\n[[part]]\nkind = \"relu\"\n");
  EXPECT_TRUE(o.strict);
  EXPECT_EQ(o.seed, 7u);
  EXPECT_EQ(o.share, 1);
  EXPECT_EQ(o.name, "x");
  EXPECT_EQ(o.mode, "safe");
  EXPECT_EQ(o.files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.most, 9);
  ASSERT_EQ(o.parts.size(), 2u);
  EXPECT_EQ(o.parts[0].level, 2);
  EXPECT_EQ(o.parts[1].level, 1) << "each table starts from the defaults";
  EXPECT_EQ(o.parts[1].kind, "relu");
}

TEST(Toml, WhatIsAbsentKeepsItsDefault) {
  const Options o = Read("");
  EXPECT_EQ(o.share, 0.1);
  EXPECT_EQ(o.most, 5);
  EXPECT_TRUE(o.parts.empty());
}

TEST(Toml, ErrorsSayWhereAndWhatIsMeant) {
  EXPECT_EQ(ErrorOf("\nsede = 1"), "test.toml:2: unknown key 'sede'; did you mean 'seed'?");
  EXPECT_EQ(ErrorOf("[limits]\nmosst = 1"),
            "test.toml:2: unknown key 'mosst' in [limits]; did you mean 'most'?");
  EXPECT_EQ(ErrorOf("[[part]]\nxxxxxx = 1"),
            "test.toml:2: unknown key 'xxxxxx' in [part]; there is level, kind");
  EXPECT_EQ(ErrorOf("\n\nseed = \"1\""), "test.toml:3: seed: must be an integer, not a text");
  EXPECT_EQ(ErrorOf("seed = 1.5"), "test.toml:1: seed: must be an integer, not a number");
  EXPECT_EQ(ErrorOf("share = 1.5"), "test.toml:1: share: 1.5 is outside 0 to 1");
  EXPECT_EQ(ErrorOf("share = nan"), "test.toml:1: share: nan is outside 0 to 1");
  EXPECT_EQ(ErrorOf("[limits]\nmost = 0"), "test.toml:2: limits.most: 0 is outside 1 to 100");
  EXPECT_EQ(ErrorOf("mode = \"sage\""), "test.toml:1: mode: there is no 'sage'; did you mean 'safe'?");
  EXPECT_EQ(ErrorOf("files = [1]"), "test.toml:1: files: must be a list of texts, not an integer");
  EXPECT_EQ(ErrorOf("limits = 3"), "test.toml:1: limits: must be a table: [limits], not an integer");
  EXPECT_EQ(ErrorOf("part = 3"), "test.toml:1: part: must be tables: [[part]], not an integer");
  EXPECT_NE(ErrorOf("seed = = 1").find("test.toml:1: no TOML"), std::string::npos);
}

// What is missed is told after all fields of a table, or of one that is not there.
std::string MissedIn(std::string_view text) {
  int steps = 0, most = 0;
  try {
    ReadToml(text, "test.toml", [&](Fields* f) {
      f->Section("run", [&](Fields* g) {
        g->Int("steps", &steps, 0, 9);
        g->Int("most", &most, 0, 9);
        if (steps == 0) g->Fail("steps", "how many?");
      });
    });
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Toml, WhatIsMissedMayBeMisspelt) {
  EXPECT_EQ(MissedIn("[run]\nmost = 1\n"), "test.toml:1: run.steps: how many?");
  EXPECT_EQ(MissedIn("[run]\nmost = 1\nstps = 3\n"),
            "test.toml:3: unknown key 'stps' in [run]; did you mean 'steps'?");
  EXPECT_EQ(MissedIn("[run]\nother = 1\n"), "test.toml:1: run.steps: how many?");
  EXPECT_EQ(MissedIn(""), "test.toml: run.steps: how many?") << "a table that is not there has no line";
}

TEST(Toml, AFileLikeAnotherSaysWhatIsDifferent) {
  const TempDir dir;
  const auto write = [&](const char* name, std::string_view text) {
    WriteFileAtomic(dir.path() / name, text);
  };
  const auto read = [&](std::string_view text) {
    Options options;
    ReadToml(text, dir.path() / "this.toml", [&](Fields* f) { Describe(f, &options); });
    return options;
  };
  write("first.toml",
        "seed = 3\nshare = 0.5\n[limits]\nmost = 9\n[[part]]\nlevel = 1\n[[part]]\nlevel = 2\n");
  write("second.toml", "like = \"first.toml\"\nshare = 0.25\n[[part]]\nlevel = 4\n");
  const Options o = read("like = \"second.toml\"\nseed = 5\n");
  EXPECT_EQ(o.seed, 5);
  EXPECT_EQ(o.share, 0.25);
  EXPECT_EQ(o.most, 9);
  ASSERT_EQ(o.parts.size(), 1u);
  EXPECT_EQ(o.parts[0].level, 4);
  write("circle.toml", "like = \"circle.toml\"\n");
  EXPECT_THROW(read("like = \"circle.toml\""), UserError);
  EXPECT_THROW(read("like = \"nowhere.toml\""), UserError);
  write("wrong.toml", "sead = 3\n");
  EXPECT_THROW(read("like = \"wrong.toml\""), UserError);
}

TEST(Toml, JsonHasEveryFieldAndIsTheSameForTheSameOptions) {
  auto json = [](Options o) { return WriteJson([&](Fields* f) { Describe(f, &o); }); };
  const Options o = Read("seed = 3\n[[part]]\nlevel = 4");
  EXPECT_EQ(json(o).dump(), R"({"strict":false,"seed":3,"share":0.1,"name":"none","mode":"fast","files":[],)"
                            R"("limits":{"most":5},"part":[{"level":4,"kind":"all"}]})");
  EXPECT_EQ(json(o), json(Read("seed = 3\nshare = 0.1\n[[part]]\nkind = 'all'\nlevel = 4\n[limits]\n")));
}

TEST(Suggestion, NearestIsNearOrNothing) {
  const std::vector<std::string> names{"seed", "share"};
  EXPECT_EQ(Nearest("sed", names), "seed");
  EXPECT_EQ(Nearest("sh", names), "share") << "a beginning";
  EXPECT_EQ(Nearest("completely different", names), "");
  EXPECT_EQ(Nearest("", names), "");
}

}  // namespace
}  // namespace tritogen::config
