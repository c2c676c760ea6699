#include "train/run_products.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "device/device_errors.h"

namespace tritogen::train {
namespace {

// The sum over ranks of numbers that float32 holds exactly.
std::vector<float> SumOver(Ranks* ranks, const std::vector<float>& mine, at::Device device) {
  const at::Tensor numbers = at::tensor(mine, at::kFloat).to(device);
  ranks->Sum(numbers);
  const at::Tensor host = numbers.cpu();
  const float* data = host.const_data_ptr<float>();
  return {data, data + host.numel()};
}

// Those that are not ATen's.
ProductChoices Quicker(const ProductChoices& products) {
  ProductChoices quicker = products;
  std::erase_if(quicker, [](const auto& product) { return product.second == kByAten; });
  return quicker;
}

// By trial on this rank alone.
ProductChoices Choose(const SftRun& run, Trainer* trainer) {
  const auto start = std::chrono::steady_clock::now();
  try {
    trainer->SetProducts(std::nullopt);
  } catch (const std::exception& error) {
    if (!SaysOutOfMemory(error)) throw;
    trainer->SetProducts(ProductChoices());
    run.on_remark("products: there is no memory for trials; all are ATen's");
    return {};
  }
  const ProductChoices products = trainer->products();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!products.empty()) {
    run.on_remark(
        fmt::format("products: {} of {} by an algorithm that is quicker than ATen's, chosen in {:.1f} s",
                    Quicker(products).size(), products.size(), seconds));
  }
  return products;
}

// What this rank refuses.
std::set<std::string> Take(Trainer* trainer, const ProductChoices& quicker) {
  try {
    return trainer->SetProducts(quicker);
  } catch (const UserError&) {  // it has no such library
    std::set<std::string> all;
    for (const auto& [product, ignored] : quicker) all.insert(product);
    return all;
  }
}

}  // namespace

ProductChoices ProductsOfFirst(Ranks* ranks, const ProductChoices& mine, at::Device device) {
  if (ranks->size() == 1) return mine;
  ranks->FollowFirst();
  const bool is_first = ranks->rank() == 0;
  const std::string text = is_first ? nlohmann::json(mine).dump() : "";
  const auto length = static_cast<size_t>(SumOver(ranks, {static_cast<float>(text.size())}, device)[0]);
  std::vector<float> bytes(length);
  std::copy(text.begin(), text.end(), bytes.begin());  // ASCII
  std::string all;
  for (const float byte : SumOver(ranks, bytes, device)) all += static_cast<char>(byte);
  return nlohmann::json::parse(all).get<ProductChoices>();
}

std::set<std::string> RefusedByAny(Ranks* ranks, const ProductChoices& products,
                                   const std::set<std::string>& mine, at::Device device) {
  if (ranks->size() == 1 || products.empty()) return mine;
  std::vector<float> refusals;
  for (const auto& [product, ignored] : products) refusals.push_back(mine.contains(product) ? 1 : 0);
  refusals = SumOver(ranks, refusals, device);
  std::set<std::string> refused;
  size_t i = 0;
  for (const auto& [product, ignored] : products) {
    if (refusals[i++] > 0) refused.insert(product);
  }
  return refused;
}

void SetProducts(const SftOptions& options, const SftRun& run, Ranks* ranks, Trainer* trainer,
                 std::optional<ProductChoices>* products) {
  const at::Device device = trainer->weights().embedding.device();
  const bool begins = !products->has_value(), is_first = ranks->rank() == 0;
  if (begins) {
    *products = ProductChoices();
    if (!options.train.choose_products) return;
    if (is_first) *products = Choose(run, trainer);
    *products = ProductsOfFirst(ranks, **products, device);
  }
  const ProductChoices quicker = Quicker(**products);
  // What rank 0 has just tried need not be tried again.
  const std::set<std::string> mine = begins && is_first ? std::set<std::string>() : Take(trainer, quicker);
  const std::set<std::string> refused = RefusedByAny(ranks, quicker, mine, device);
  if (!refused.empty()) {
    for (const std::string& product : refused) (**products)[product] = kByAten;
    Take(trainer, Quicker(**products));
  }
  if (!is_first) return;
  if (!refused.empty()) {
    run.on_remark(
        fmt::format("products: another library or card than they were chosen with refuses {}; "
                    "these are ATen's from now on, whose sums differ in their last bits",
                    fmt::join(refused, ", ")));
  }
  if (begins || !device.is_cuda()) return;
  if (!trainer->products().empty())
    run.on_remark(
        fmt::format("products: {} as they were chosen when the run began", trainer->products().size()));
  else if (options.train.choose_products && products->value().empty())
    run.on_remark("products: the run began with ATen's, and goes on with them");
}

}  // namespace tritogen::train
