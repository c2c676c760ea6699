#include "ranks/ranks_nccl.h"

#include <ATen/ATen.h>
#include <nccl.h>

#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/shared_library.h"
#include "device/gpu.h"

namespace tritogen {
namespace {

#define TRITOGEN_NCCL_FUNCTIONS(X) \
  X(ncclGetUniqueId)               \
  X(ncclCommInitRank)              \
  X(ncclCommAbort)                 \
  X(ncclCommGetAsyncError)         \
  X(ncclGetErrorString) X(ncclGetLastError) X(ncclAllReduce) X(ncclReduceScatter) X(ncclAllGather)

// The library that libtorch_cuda needs, and has brought when the GPU was opened.
struct Nccl {
#define X(function) decltype(&::function) function = nullptr;
  TRITOGEN_NCCL_FUNCTIONS(X)
#undef X

  Nccl() {
    const SharedLibrary library("libnccl.so.2", "NCCL");
#define X(function) library.Find(#function, &function);
    TRITOGEN_NCCL_FUNCTIONS(X)
#undef X
  }
};

ncclDataType_t NcclType(at::ScalarType type) {
  if (type == at::kFloat) return ncclFloat32;
  if (type == at::kHalf) return ncclFloat16;
  TRITOGEN_CHECK(type == at::kBFloat16);
  return ncclBfloat16;
}

const Nccl& Library() {
  static const Nccl nccl;
  return nccl;
}

class NcclRanks : public StoreRanks {
 public:
  // `store` may be null.
  NcclRanks(const RankPlace& place, c10::intrusive_ptr<c10d::Store> store, const std::string& id)
      : StoreRanks(place, std::move(store)) {
    ncclUniqueId unique;
    TRITOGEN_CHECK(id.size() == sizeof(unique));
    std::memcpy(&unique, id.data(), sizeof(unique));
    Must(nccl_.ncclCommInitRank(&comm_, size(), unique, rank()), "meet the other ranks");
  }
  // Abort: a regular end would wait for ranks that are gone.
  ~NcclRanks() override {
    if (comm_ != nullptr) nccl_.ncclCommAbort(comm_);
  }

  void Sum(const at::Tensor& tensor) override {
    void* data = tensor.mutable_data_ptr();
    Must(nccl_.ncclAllReduce(data, data, tensor.numel(), NcclType(tensor.scalar_type()), ncclSum, comm_,
                             Stream()),
         "sum");
  }
  void SumShares(const at::Tensor& flat) override {
    const at::Tensor share = Share(flat);
    Must(nccl_.ncclReduceScatter(flat.const_data_ptr(), share.mutable_data_ptr(), share.numel(),
                                 NcclType(flat.scalar_type()), ncclSum, comm_, Stream()),
         "sum shares");
  }
  void GatherShares(const at::Tensor& flat) override {
    const at::Tensor share = Share(flat);
    Must(nccl_.ncclAllGather(share.const_data_ptr(), flat.mutable_data_ptr(), share.nbytes(), ncclUint8,
                             comm_, Stream()),
         "gather shares");
  }
  void Check() override {
    ncclResult_t result = ncclSuccess;
    Must(nccl_.ncclCommGetAsyncError(comm_, &result), "ask NCCL");
    if (result != ncclInProgress) Must(result, "go on");
  }

 private:
  static cudaStream_t Stream() { return reinterpret_cast<cudaStream_t>(Gpu::Current()->stream()); }
  void Must(ncclResult_t result, const char* what) const {
    if (result == ncclSuccess) return;
    throw RankLost(
        fmt::format("rank {} of {} cannot {}: another rank is gone, or the connection to it (NCCL: {}; {})",
                    rank(), size(), what, nccl_.ncclGetErrorString(result), nccl_.ncclGetLastError(comm_)));
  }

  const Nccl& nccl_ = Library();
  ncclComm_t comm_ = nullptr;
};

}  // namespace

std::string MakeNcclId() {
  ncclUniqueId id;
  const ncclResult_t result = Library().ncclGetUniqueId(&id);
  if (result != ncclSuccess)
    throw UserError(fmt::format("NCCL does not start: {}", Library().ncclGetErrorString(result)));
  return std::string(reinterpret_cast<const char*>(&id), sizeof(id));
}

std::unique_ptr<Ranks> JoinNcclRanks(const RankPlace& place, const std::string& id) {
  return std::make_unique<NcclRanks>(place, nullptr, id);
}

std::unique_ptr<Ranks> JoinNcclRanks(const RankPlace& place, c10::intrusive_ptr<c10d::Store> store) {
  std::string id;
  try {
    if (place.rank == 0) {
      id = MakeNcclId();
      store->set("nccl", std::vector<uint8_t>(id.begin(), id.end()));
    } else {
      const std::vector<uint8_t> bytes = store->get("nccl");
      id.assign(bytes.begin(), bytes.end());
    }
  } catch (const c10::Error& error) {
    throw RankLost(fmt::format("rank {} of {}: rank 0 did not come ({})", place.rank, place.size,
                               error.what_without_backtrace()));
  }
  return std::make_unique<NcclRanks>(place, std::move(store), id);
}

}  // namespace tritogen
