// What parses as a Plan is lifted and looked into, as the verifier does with references' and candidates', or
// is refused.
#include <exception>
#include <string_view>

#include "base/error.h"
#include "base/frame.h"
#include "plan/lift.h"
#include "plan/parse.h"
#include "plan/visit.h"
#include "verify/asked_values.h"
#include "verify/edges.h"
#include "verify/inner_noise.h"
#include "verify/opposed_factors.h"
#include "verify/partial_range.h"
#include "verify/unavoidable_reads.h"
#include "verify/work.h"
#include "verify/work_flow.h"

namespace tritogen {
namespace {

void Analyse(const Plan& plan) {
  const Flow flow = FlowOf(plan);
  AtenWork(plan, flow), MovingWork(plan, flow), MovesOrComputes(plan, flow), MultipliesFloat32(plan);
  InnerProbes(plan, /*sums=*/true), RangeProbes(plan);
  AskedValuesOf(plan), OpposedFactorsOf(plan);
  for (const TensorId output : TensorLeaves(plan.outputs))
    EdgesBefore(plan, output), JumpsWithin(plan, output);
  for (const TensorId input : TensorLeaves(plan.inputs)) UnavoidableReads(plan, flow, input);
  Lift(plan);
}

}  // namespace
}  // namespace tritogen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tritogen::Analyse(
        tritogen::ParsePlan(tritogen::DecodeMessagePack({reinterpret_cast<const char*>(data), size})));
  } catch (
      const std::exception&) {  // of what kind is the judge's to say: infra_error where it is no Plan's fault
  }
  return 0;
}
