// The sections of a page; each is empty when the data has nothing for it.
#pragma once

#include <string>

#include "report/report.h"

namespace tritogen::report {

std::string HeaderSection(const ReportInput& input);
std::string FiguresSection(const nlohmann::json& verdict);
std::string CandidatesSection(const ReportInput& input);
std::string ErrorSection(const nlohmann::json& verdict);
std::string TimeSection(const nlohmann::json& verdict);
std::string RooflineSection(const nlohmann::json& verdict);
std::string EvidenceSection(const nlohmann::json& verdict);
std::string MethodSection(const ReportInput& input);
std::string SourcesSection(const ReportInput& input);

}  // namespace tritogen::report
