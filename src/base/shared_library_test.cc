#include "base/shared_library.h"

#include <gtest/gtest.h>

namespace tritogen {
namespace {

TEST(SharedLibrary, FindsFunctionsAndSaysWhatIsMissing) {
  const SharedLibrary library("libm.so.6", "libm");
  double (*cosine)(double) = nullptr;
  library.Find("cos", &cosine);
  EXPECT_EQ(cosine(0), 1);
  void (*none)() = nullptr;
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([&] { library.Find("no_such_function", &none); }), "this libm has no no_such_function");
  EXPECT_TRUE(
      message([] { SharedLibrary("libnobody.so.1", "Nobody"); }).starts_with("Nobody cannot be loaded: "));
}

}  // namespace
}  // namespace tritogen
