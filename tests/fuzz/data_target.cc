// What a data set's files hold: records, manifests, shards' infos, zstd frames, configurations.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "data/manifest.h"
#include "data/options.h"
#include "data/shard.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto attempt = [](auto read) {
    try {
      read();
    } catch (const FormatError&) {
    } catch (const UserError&) {
    }
  };
  attempt([&] { data::ToLine(data::FromLine(text)); });
  attempt([&] { data::ToJson(data::ManifestFrom(text)); });
  attempt([&] {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_discarded()) data::ShardInfoFrom(json);
  });
  attempt([&] { data::Decompress(text, 1 << 16); });
  attempt([&] { data::ReadBuildOptions(text, "fuzz.toml"); });
  return 0;
}
