// Runs one kernel on the tile machine as a JSON manifest says, for scripts that compare it with other
// executors.
//   tile_run MANIFEST
// prints {"faults": […], "printed": "…", "load_seconds": …, "seconds": [one per repetition]}. Manifest:
//   {"ttir": path, "grid": [x, y, z], "threads": n, "repeat": n, "seed": n, "check": bool,
//    "buffers": [{"file": path, "name": text, "defined": bool}],
//    "arguments": [{"buffer": i} | {"int": n} | {"float": x} |
//                  {"buffer": i, "shape": […], "strides": […], "nan": bool}]}
// Buffers are read from their files before each repetition and written back after the last one.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tile/tile.h"

namespace tritogen {
namespace {

using Json = nlohmann::json;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

tile::Argument ToArgument(const Json& json) {
  if (json.contains("int")) return json["int"].get<int64_t>();
  if (json.contains("float")) return json["float"].get<double>();
  const int buffer = json["buffer"];
  if (!json.contains("shape")) return tile::PointerArgument{buffer, json.value("offset", int64_t{0})};
  return tile::DescriptorArgument{buffer, 0, json["shape"], json["strides"], json.value("nan", false)};
}

int Main(const char* path) {
  const Json manifest = Json::parse(ReadFile(path));
  const std::string ttir = ReadFile(manifest["ttir"]);
  const auto load_start = std::chrono::steady_clock::now();
  const auto kernel = tile::Load(ttir);
  Json result{{"load_seconds", Seconds(std::chrono::steady_clock::now() - load_start)},
              {"seconds", Json::array()}};

  std::vector<std::string> files;
  for (const Json& buffer : manifest["buffers"]) files.push_back(ReadFile(buffer["file"]));
  std::vector<tile::Argument> arguments;
  for (const Json& argument : manifest["arguments"]) arguments.push_back(ToArgument(argument));
  tile::LaunchOptions options;
  options.grid = manifest["grid"];
  options.threads = manifest.value("threads", 1);
  options.order_seed = manifest.value("seed", uint64_t{0});
  options.check_memory = manifest.value("check", true);

  std::vector<std::string> data;
  tile::LaunchReport report;
  for (int i = 0; i < manifest.value("repeat", 1) && report.faults.empty(); ++i) {
    data = files;
    std::vector<std::vector<uint8_t>> defined;
    std::vector<tile::Buffer> buffers;
    for (size_t b = 0; b < data.size(); ++b) {
      const bool is_defined = manifest["buffers"][b].value("defined", true);
      defined.emplace_back(data[b].size(), is_defined ? 1 : 0);
      buffers.push_back({reinterpret_cast<std::byte*>(data[b].data()), data[b].size(), defined.back().data(),
                         manifest["buffers"][b].value("name", fmt::format("buffer {}", b))});
    }
    const auto start = std::chrono::steady_clock::now();
    report = tile::Launch(*kernel, arguments, buffers, options);
    result["seconds"].push_back(Seconds(std::chrono::steady_clock::now() - start));
  }
  for (size_t b = 0; b < data.size(); ++b) {
    std::ofstream(manifest["buffers"][b]["file"].get<std::string>(), std::ios::binary) << data[b];
  }
  result["faults"] = Json::array();
  for (const tile::Fault& fault : report.faults) result["faults"].push_back(fault.message);
  result["printed"] = report.printed;
  std::cout << result.dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace tritogen

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tile_run MANIFEST\n";
    return 2;
  }
  try {
    return tritogen::Main(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
