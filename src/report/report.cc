#include "report/report.h"

#include <fmt/format.h>

#include "report/document.h"
#include "report/page.h"

namespace tritogen {

std::string RenderReport(const ReportInput& input) {
  using namespace report;
  return Document(fmt::format("{} – Tritogen {}", input.task, input.command),
                  HeaderSection(input) + FiguresSection(input.verdict) + CandidatesSection(input) +
                      EvidenceSection(input.verdict) + ErrorSection(input.verdict) +
                      TimeSection(input.verdict) + RooflineSection(input.verdict) + MethodSection(input) +
                      SourcesSection(input));
}

}  // namespace tritogen
