#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/document.h"
#include "report/highlight.h"
#include "report/html.h"
#include "report/inputs_table.h"
#include "report/plots.h"
#include "report/table.h"
#include "report/verdict_view.h"

namespace tritogen::report {
namespace {

using nlohmann::json;

struct Words {
  std::string_view outcome, text;
};
constexpr Words kOutcomes[] = {
    {"passed", "The candidate computes what the reference computes, within the error that was allowed."},
    {"compile_error", "The file or one of its kernels does not compile."},
    {"runtime_error", "It raised an error while it ran."},
    {"wrong_shape", "An output has another shape than the reference’s."},
    {"wrong_dtype", "An output has another dtype than the reference’s."},
    {"wrong_values", "An output is further from the exact answer than the error budget allows."},
    {"memory_error", "A kernel touched memory that is not its own, or read memory that nobody wrote."},
    {"nondeterministic", "The same call gives different answers."},
    {"timeout", "It was not done in time."},
    {"killed", "The process that ran it was ended."},
    {"rejected", "It breaks a rule, so its answer does not count."},
    {"infra_error", "The infrastructure or the reference failed; this says nothing about the candidate."},
};

std::string InWords(const std::string& outcome) {
  for (const Words& words : kOutcomes) {
    if (words.outcome == outcome) return std::string(words.text);
  }
  return "";
}

const char* ToneOf(const std::string& outcome) {
  return outcome == "passed" ? "good" : outcome == "infra_error" || outcome.empty() ? "unknown" : "bad";
}

std::string Spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string OrDash(const std::optional<double>& value) {
  return value ? Number(*value) : "–";
}

// "62.5 %": the error of an output in terms of its budget.
std::string OfBudget(const json& output) {
  const auto error = NumberAt(output, "/error"), budget = NumberAt(output, "/budget");
  return error && budget && *budget > 0 ? Number(100 * *error / *budget) + " %" : "–";
}

json ListIn(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object.at(key).is_array() ? object.at(key)
                                                                                 : json::array();
}

// One pair of a definition list.
std::string ErrorTable(const json& outputs) {
  Table table({"output", "worst inputs", "error", "eager PyTorch", "allowed", "allclose"}, 2);
  for (const json& output : outputs) {
    const auto allclose = NumberAt(output, "/allclose");
    table.Row({OrDash(NumberAt(output, "/output")), TextIn(output, "trial"),
               OrDash(NumberAt(output, "/error")), OrDash(NumberAt(output, "/eager_error")),
               OrDash(NumberAt(output, "/budget")),
               allclose ? fmt::format("{} %", Number(100 * *allclose)) : "–"});
  }
  return table.Html();
}

std::string TimeTable(const json& timing) {
  Table table({"program", "median µs", "middle half", "samples", "CUDA graph", "plain replay", "speed-up"},
              1);
  auto add = [&](const std::string& name, const json& times, const std::string& speedup, bool marked) {
    auto time = [&](const char* path) {
      const auto value = NumberAt(times, path);
      return value ? Digits(*value) : std::string("–");
    };
    const auto q1 = NumberAt(times, "/q1_us"), q3 = NumberAt(times, "/q3_us");
    table.Row({name, time("/median_us"), q1 && q3 ? Digits(*q1) + " – " + Digits(*q3) : "–",
               fmt::format("{}", ListIn(times, "samples_us").size()), time("/graph_median_us"),
               time("/replay_median_us"), speedup},
              marked);
  };
  add("candidate", timing.value("candidate", json()), "", true);
  for (const json& baseline : ListIn(timing, "baselines")) {
    const std::string name = TextIn(baseline, "name");
    const auto speedup = SpeedupIn({{"timing", timing}}, name);
    add(name, baseline, speedup ? Digits(*speedup) + " ×" : "–", false);
  }
  return table.Html();
}

std::string Clock(const json& clocks, const char* key) {
  const json values = ListIn(clocks, key);
  if (values.size() != 3 || !values[0].is_number() || !values[1].is_number() || !values[2].is_number())
    return "";
  return fmt::format("{:.0f} MHz ({:.0f} – {:.0f})", values[1].get<double>(), values[0].get<double>(),
                     values[2].get<double>());
}

// What the clock was, and what the device did meanwhile.
std::string TimeConditions(const json& timing) {
  const std::string method = TextIn(timing, "method");
  std::string out = Fact("Method", method == "graph" ? "CUDA graph, cold L2, in turns with the baselines"
                                                     : "plain replay, cold L2, in turns with the baselines");
  for (const json& baseline : ListIn(timing, "baselines")) {
    const auto eager = NumberAt(baseline, "/own_process/eager_median_us");
    if (!eager) continue;
    const auto compiling = NumberAt(baseline, "/own_process/compile_seconds");
    out += Fact(TextIn(baseline, "name"),
                fmt::format("in a process of its own by the same clock, where {} took {}{}",
                            Escape(TextIn(baseline.value("own_process", json::object()), "eager")),
                            Microseconds(*eager),
                            compiling ? fmt::format("; compiled in {} s", Number(*compiling)) : ""));
  }
  const json clocks = timing.value("clocks", json());
  if (const std::string clock = Clock(clocks, "sm_mhz"); !clock.empty()) out += Fact("SM clock", clock);
  if (const std::string clock = Clock(clocks, "memory_mhz"); !clock.empty())
    out += Fact("Memory clock", clock);
  std::string reasons;
  for (const json& reason : ListIn(clocks, "throttle")) {
    if (reason.is_string()) reasons += (reasons.empty() ? "" : ", ") + reason.get<std::string>();
  }
  out += Fact("Throttled", reasons.empty() ? "no" : "<b class=\"bad\">" + Escape(reasons) + "</b>");
  std::string variants;
  for (const json& variant : ListIn(timing, "variants")) {
    variants += fmt::format("{}{}: {}", variants.empty() ? "" : " · ", OrDash(NumberAt(variant, "/variant")),
                            Microseconds(NumberAt(variant, "/median_us").value_or(0)));
  }
  if (ListIn(timing, "variants").size() > 1) out += Fact("Variants", variants);
  return "<dl class=\"facts\">\n" + out + "</dl>\n";
}

// Keys of the evidence from the most telling on; others follow.
constexpr const char* kEvidenceOrder[] = {"message", "output", "index", "expected", "got",
                                          "error",   "budget", "trial", "line",     "kernel",
                                          "program", "buffer", "offset"};

std::string EvidenceFacts(const json& evidence);

// Texts with line breaks and objects keep their form.
std::string EvidenceValue(const json& value) {
  if (value.is_string()) {
    const std::string text = value;
    return text.find('\n') == std::string::npos ? Escape(text) : "<pre>" + Escape(text) + "</pre>";
  }
  if (value.is_number_float()) return fmt::format("{:.7g}", value.get<double>());
  if (value.is_object()) return EvidenceFacts(value);
  if (value.is_array()) {
    std::string out;
    for (const json& item : value) out += (out.empty() ? "" : ", ") + EvidenceValue(item);
    return "[" + out + "]";
  }
  return Escape(value.dump());
}

std::string EvidenceFacts(const json& evidence) {
  std::string first, rest;
  for (const char* key : kEvidenceOrder) {
    if (evidence.contains(key)) first += Fact(key, EvidenceValue(evidence[key]));
  }
  for (const auto& [key, value] : evidence.items()) {
    if (std::find(std::begin(kEvidenceOrder), std::end(kEvidenceOrder), key) == std::end(kEvidenceOrder))
      rest += Fact(Spaced(key), EvidenceValue(value));
  }
  return "<dl class=\"facts\">\n" + first + rest + "</dl>\n";
}

// The line in the candidate that the evidence points at; 0: none.
int EvidenceLine(const json& verdict) {
  const auto line = NumberAt(verdict, "/evidence/line");
  return static_cast<int>(line ? *line : NumberAt(verdict, "/evidence/fault/line").value_or(0));
}

}  // namespace

std::string HeaderSection(const ReportInput& input) {
  const std::string outcome = TextIn(input.verdict, "verdict"), rule = TextIn(input.verdict, "rule");
  const std::string badge =
      outcome.empty() ? "nothing chosen" : Spaced(outcome) + (rule.empty() ? "" : ": " + rule);
  const std::string words =
      outcome.empty() ? "No candidate passed, so no module was written." : InWords(outcome);
  return fmt::format(
      "<header>\n<p class=\"over\">Tritogen {}</p>\n<h1>{}</h1>\n<p class=\"badge {}\">{}</p>\n"
      "<p class=\"words\">{}</p>\n<p class=\"reason\">{}</p>\n</header>\n",
      Escape(input.command), Escape(input.task), ToneOf(outcome), Escape(badge), words,
      Escape(TextIn(input.verdict, "reason")));
}

std::string FiguresSection(const json& verdict) {
  std::string out;
  if (const auto speedup = SpeedupIn(verdict, EagerIn(verdict)))
    out += Figure("Speed-up", Digits(*speedup) + " ×", "over " + EagerInWords(verdict));
  if (const auto speedup = SpeedupIn(verdict, "torch.compile"))
    out += Figure("Speed-up", Digits(*speedup) + " ×", "over torch.compile");
  if (const auto median = MedianMicrosecondsIn(verdict))
    out += Figure("Time", Microseconds(*median), "median of a call");
  const json worst = WorstOutputIn(verdict);
  if (const auto error = NumberAt(worst, "/error"))
    out += Figure("Error", Number(*error), "allowed " + OrDash(NumberAt(worst, "/budget")));
  if (!TextIn(verdict, "plan_hash").empty())
    out += Figure("Work in Triton", Number(100 * WorkShareIn(verdict)) + " %",
                  "of the reference’s FLOPs and bytes");
  return out.empty() ? "" : "<dl class=\"figures\">\n" + out + "</dl>\n";
}

std::string CandidatesSection(const ReportInput& input) {
  if (input.command != "convert") return "";
  const auto& candidates = input.candidates;
  const bool timed = std::any_of(candidates.begin(), candidates.end(), [](const auto& one) {
    return MedianMicrosecondsIn(one.verdict).has_value();
  });
  std::vector<std::string> titles = {"strategy", "proposer", "verdict", "error", "of budget", "in Triton"};
  if (timed) titles.insert(titles.end(), {"time", "speed-up"});
  Table table(titles, 3);
  for (const ReportCandidate& one : candidates) {
    const json worst = WorstOutputIn(one.verdict);
    const std::string outcome = TextIn(one.verdict, "verdict");
    std::vector<std::string> cells = {one.strategy,    one.proposer,
                                      Spaced(outcome), OrDash(NumberAt(worst, "/error")),
                                      OfBudget(worst), Number(100 * WorkShareIn(one.verdict)) + " %"};
    const auto median = MedianMicrosecondsIn(one.verdict),
               speedup = SpeedupIn(one.verdict, EagerIn(one.verdict));
    if (timed) {
      cells.push_back(median ? Microseconds(*median) : "–");
      cells.push_back(speedup ? Digits(*speedup) + " ×" : "–");
    }
    table.Row(cells, one.chosen);
    if (outcome != "passed") table.Remark(TextIn(one.verdict, "reason"));
  }
  std::string out =
      candidates.empty() ? "<p>No proposer had a candidate for this program.</p>\n" : table.Html();
  for (const std::string& remark : input.remarks)
    out += fmt::format("<p class=\"note\">{}</p>\n", Escape(remark));
  return Section("Candidates", out);
}

std::string ErrorSection(const json& verdict) {
  const json outputs = ListIn(verdict, "outputs");
  return outputs.empty() ? ""
                         : Section("Error", ErrorPlot(outputs) + ErrorTable(outputs) + InputsTable(outputs));
}

std::string TimeSection(const json& verdict) {
  const json timing = verdict.is_object() ? verdict.value("timing", json()) : json();
  if (!timing.is_object()) return "";
  return Section("Time", TimePlot(timing) + TimeTable(timing) + TimeConditions(timing));
}

std::string RooflineSection(const json& verdict) {
  const json timing = verdict.is_object() ? verdict.value("timing", json()) : json();
  const auto median = NumberAt(timing, "/candidate/median_us"), floor = NumberAt(timing, "/floor_us");
  if (!median || !floor || *median <= 0 || *floor <= 0) return "";
  const bool bytes = TextIn(timing, "floor_bound") == "bytes";
  const std::string words = fmt::format(
      "<p>At {} % of the roof. The {}B that a call must move and its {}FLOPs take this device at least {}; "
      "the {} set that floor.</p>\n",
      Number(100 * *floor / *median), WithPrefix(NumberAt(timing, "/bytes").value_or(0)),
      WithPrefix(NumberAt(timing, "/flops").value_or(0)), Microseconds(*floor), bytes ? "bytes" : "FLOPs");
  return Section("Roofline", words + RooflinePlot(timing));
}

std::string EvidenceSection(const json& verdict) {
  const json evidence = verdict.is_object() ? verdict.value("evidence", json()) : json();
  if (!evidence.is_object() || evidence.empty()) return "";
  return Section("Evidence", EvidenceFacts(evidence));
}

std::string MethodSection(const ReportInput& input) {
  const json& verdict = input.verdict;
  if (!verdict.is_object()) return "";
  const std::string device = TextIn(verdict.value("timing", json()), "device");
  const std::string driver = TextIn(verdict.value("timing", json()), "driver");
  std::string facts = Fact("Replayed on", device.empty() ? "CPU tile machine, every memory access checked"
                                                         : Escape(device + ", driver " + driver));
  if (verdict.contains("seed") && verdict["seed"].is_number()) facts += Fact("Seed", verdict["seed"].dump());
  if (const std::string hash = TextIn(verdict, "plan_hash"); !hash.empty())
    facts += Fact("Plan", "<code>" + Escape(hash) + "</code>");
  if (const auto seconds = NumberAt(verdict, "/seconds")) facts += Fact("Took", Number(*seconds) + " s");
  if (const std::string made = TextIn(verdict, "made"); !made.empty())
    facts += Fact("Judged", Escape(made + ", by an earlier run; times are those measured then"));
  facts += VersionsFact(input.versions);
  std::string notes;
  for (const json& note : ListIn(verdict, "notes")) {
    if (note.is_string()) notes += "<li>" + Escape(note.get<std::string>()) + "</li>\n";
  }
  return Section(
      "How it was verified",
      "<p>Reference and candidate were recorded in a jail, without data, and replayed with fresh inputs in "
      "several distributions, all drawn from the seed. Expected values are in fp64; the error budget comes "
      "from eager PyTorch’s own error.</p>\n<dl class=\"facts\">\n" +
          facts + "</dl>\n" + (notes.empty() ? "" : "<ul class=\"notes\">\n" + notes + "</ul>\n"));
}

std::string SourcesSection(const ReportInput& input) {
  std::string out;
  for (size_t i = 0; i < input.sources.size(); ++i) {
    const ReportSource& source = input.sources[i];
    out += fmt::format("<details{}>\n<summary>{}</summary>\n<pre class=\"code\">{}</pre>\n</details>\n",
                       source.open ? " open" : "", Escape(source.title),
                       HighlightPython(source.text, i == 0 ? EvidenceLine(input.verdict) : 0));
  }
  return Section("Source", out);
}

}  // namespace tritogen::report
