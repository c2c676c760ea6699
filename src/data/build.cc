#include "data/build.h"

#include <fmt/format.h>

#include <deque>
#include <iterator>
#include <set>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen::data {
namespace {

constexpr int64_t kBatchPrograms = 4;  // few: judges wait while a batch is drawn and answered
constexpr int kAheadPerJudge = 4;      // answers waiting for each judge, at the least
constexpr double kMostInfraErrors = 0.05;
constexpr double kMostReferencesFailed = 0.5;  // ours run; where most do not, it is the machine: a full disk
constexpr std::string_view kTrustedTeacher = "teacher";

// Some successive programs of one shard on their way through the pipeline.
struct Batch {
  int64_t shard = 0, programs = 0;
  bool last = false;  // of its shard
  std::vector<Record> records;
  std::vector<bool> tried_again;
  int waiting = 0;  // answers at the judges
  Tally tally;
};

struct Proposed {
  std::vector<Candidate> candidates;
  std::string fault;  // of the teacher itself
};

// "src/teach/x.cc:1: check failed": a fault's file as the repository has it, wherever that lies.
std::string WithoutRoot(const std::string& fault) {
  const size_t at = fault.find("/src/");
  return at == std::string::npos ? fault : fault.substr(at + 1);
}

class Builder {
 public:
  Builder(const BuildOptions& options, const BuildRun& run, Proposer* teacher, JudgePool* pool,
          SetFolder* folder)
      : options_(options), run_(run), teacher_(teacher), pool_(pool), folder_(folder), draw_(options) {
    for (int64_t i = run.first_shard; i < run.past_shard; ++i) {
      if (!folder->Has(i)) wanted_.push_back(i);
    }
  }

  bool Run() {
    while (true) {
      while (!wanted_.empty() && pool_->unfinished() < kAheadPerJudge * run_.judges) {
        if (!Feed()) return Stop();
        Close();
      }
      if (batches_.empty()) return true;
      if (run_.stop()) return Stop();
      if (auto reply = pool_->Next(0.5)) Take(*reply);
      Close();
    }
  }

 private:
  bool Stop() {
    pool_->Cancel();
    return false;
  }

  // The next batch goes to the judges. False: stopped.
  bool Feed() {
    const int64_t shard = wanted_.front();
    const int64_t past = std::min((shard + 1) * options_.shard_programs, options_.total_programs());
    const int64_t first = shard * options_.shard_programs;
    if (draw_.next() < first && !draw_.SkipTo(first, run_.stop)) return false;
    Batch batch{.shard = shard};
    while (draw_.next() < past && batch.programs < kBatchPrograms) {
      batch.records.push_back(draw_.Next());
      ++batch.programs;
    }
    batch.tally.programs = batch.programs;
    batch.last = draw_.next() == past;
    if (batch.last) wanted_.pop_front();
    RunStages(Place::kTask, &batch);
    Teach(&batch);
    RunStages(Place::kAnswer, &batch);
    Number(&batch);
    batches_.push_back(std::move(batch));
    for (size_t i = 0; i < batches_.back().records.size(); ++i) Submit(batches_.size() - 1, i);
    return true;
  }

  void Teach(Batch* batch) {
    std::vector<ProposeRequest> requests;
    for (const Record& task : batch->records) {
      TRITOGEN_CHECK(task.parsed != nullptr);
      const uint64_t seed = SplitMix::At(options_.seed, static_cast<uint64_t>(task.draw));
      requests.push_back({.program = task.parsed.get(),
                          .reference_source = task.reference,
                          .entry = "Model",
                          .strict = options_.teacher.strict,
                          .simple = options_.teacher.simple,
                          .lines = SplitMix(~seed).Chance(options_.teacher.lines),
                          .seed = options_.teacher.plain ? 0 : seed,
                          .count = options_.teacher.answers});
    }
    const std::vector<Proposed> answers = Ask(requests);
    std::vector<Record> records;
    for (size_t i = 0; i < answers.size(); ++i) {
      Record& task = batch->records[i];
      if (answers[i].candidates.empty()) {
        task.dropped = answers[i].fault.empty() ? "no answer" : "teacher failed";
        task.reason = answers[i].fault;
        batch->tally.Count(task, task.dropped);
        batch->tally.Drop(task);
      }
      for (const Candidate& candidate : answers[i].candidates) {
        if (!candidate.no_answer.empty()) {
          Record none = task;
          none.dropped = "no answer: " + candidate.no_answer.substr(0, candidate.no_answer.find(':'));
          batch->tally.Count(none, none.dropped);
          batch->tally.Drop(none);
          continue;
        }
        Record& record = records.emplace_back(task);
        record.teacher = candidate.proposer;
        record.strategy = candidate.strategy;
        record.thoughts = candidate.thoughts;
        record.plan = candidate.plan;
        record.source = candidate.source;
        record.entry = candidate.entry;
      }
    }
    batch->records = std::move(records);
  }

  // A fault of the teacher's in one program must not end a build of many.
  std::vector<Proposed> Ask(std::span<const ProposeRequest> requests) {
    std::vector<Proposed> answers;
    try {
      for (auto& candidates : teacher_->ProposeAll(requests)) answers.push_back({std::move(candidates), ""});
    } catch (const InternalError&) {
      answers.clear();
      for (const ProposeRequest& request : requests) {
        try {
          answers.push_back({teacher_->Propose(request), ""});
        } catch (const InternalError& error) {
          answers.push_back({{}, WithoutRoot(error.what())});
        }
      }
    }
    TRITOGEN_CHECK(answers.size() == requests.size());
    return answers;
  }

  static void Number(Batch* batch) {
    std::map<int64_t, int> next;
    for (Record& record : batch->records) record.answer = next[record.draw]++;
    batch->tally.answered = static_cast<int64_t>(next.size());
  }

  void RunStages(Place place, Batch* batch) {
    const StageTools tools{.seed = options_.seed, .teacher = teacher_};
    for (const auto& stage : options_.stages) {
      if (stage->place() != place || batch->records.empty()) continue;
      stage->Run(&batch->records, tools);
      std::erase_if(batch->records, [&](const Record& record) {
        if (record.dropped.empty()) return false;
        batch->tally.Drop(record);
        if (!record.verdict.empty() && record.verdict != "passed") failures_ += ToLine(record) + "\n";
        return true;
      });
    }
  }

  void Submit(size_t place, size_t index) {
    Batch& batch = batches_[place];
    const Record& record = batch.records[index];
    batch.tried_again.resize(batch.records.size());
    ++batch.waiting;
    VerifyOptions verify{.mode = options_.teacher.strict ? Mode::kStrict : Mode::kHybrid,
                         .seed = SplitMix::At(~options_.seed, static_cast<uint64_t>(record.draw)) >> 11 | 1,
                         .threads = 1,
                         .budget_seconds = options_.budget_seconds,
                         .on_gpu = run_.on_gpu,
                         .timing_samples = 0};
    JudgeRequest request{
        {record.reference, "Model", false}, {record.source, record.entry, false}, verify, {}};
    if (!batch.tried_again[index]) request.together = Together(batch, record);
    pool_->Submit(fmt::format("{}:{}", closed_ + static_cast<int64_t>(place), index), request);
  }

  // The answers to one program that the teacher of this repository wrote: nobody who means harm. Those of
  // models are strangers to each other.
  static std::vector<SourceFile> Together(const Batch& batch, const Record& record) {
    std::vector<SourceFile> files;
    for (const Record& other : batch.records) {
      if (other.draw != record.draw) continue;
      if (other.teacher != kTrustedTeacher) return {};
      files.push_back({other.source, other.entry, false});
    }
    return files;
  }

  void Take(const JudgeReply& reply) {
    const size_t colon = reply.id.find(':');
    const size_t place = std::stoll(reply.id.substr(0, colon)) - closed_;
    const size_t index = std::stoull(reply.id.substr(colon + 1));
    Batch& batch = batches_.at(place);
    --batch.waiting;
    if (MayBeTheMachine(reply) && !batch.tried_again[index]) {
      batch.tried_again[index] = true;
      Submit(place, index);
      return;
    }
    Record& record = batch.records.at(index);
    record.verdict = reply.reference_failed ? "reference failed" : reply.outcome;
    record.full_verdict = reply.verdict;
    if (reply.verdict.contains("stages")) {
      for (const auto& [stage, seconds] : reply.verdict["stages"].items())
        state_.stages[stage] += seconds.get<double>();
    }
    const auto text = [&](const char* key) {
      const auto found = reply.verdict.find(key);
      return found != reply.verdict.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (record.verdict != "passed") record.reason = text("reason");
    record.rule = text("rule");
    record.plan_hash = text("plan_hash");
    if (reply.verdict.contains("work_share")) {
      record.work_flops = reply.verdict["work_share"].value("flops", 0.0);
      record.work_bytes = reply.verdict["work_share"].value("bytes", 0.0);
    }
  }

  // Batches leave in the order of their draws.
  void Close() {
    while (!batches_.empty() && batches_.front().waiting == 0) {
      Batch batch = std::move(batches_.front());
      batches_.pop_front();
      ++closed_;
      CloseBatch(&batch);
    }
  }

  void CloseBatch(Batch* batch) {
    for (const Record& record : batch->records) {
      batch->tally.Count(record, record.verdict);
      batch->tally.passed += record.verdict == "passed";
    }
    batch->tally.answers += static_cast<int64_t>(batch->records.size());
    RunStages(Place::kVerdict, batch);
    std::set<int64_t> kept;
    for (Record& record : batch->records) {
      if (record.verdict == "passed") {
        kept.insert(record.draw);
        ++batch->tally.records;
        lines_ += ToLine(record) + "\n";
      } else {
        record.dropped = "verdict " + record.verdict;
        batch->tally.Drop(record);
        failures_ += ToLine(record) + "\n";
      }
    }
    batch->tally.kept_programs = static_cast<int64_t>(kept.size());
    shard_tally_.Add(batch->tally);
    state_.programs += batch->programs;
    state_.answers += batch->tally.answers;
    state_.records += batch->tally.records;
    if (batch->last) CloseShard(batch->shard);
    run_.progress(state_);
  }

  void RefuseMany(const std::string& reason, double most, int64_t shard) {
    const auto found = shard_tally_.dropped.find(reason);
    if (found == shard_tally_.dropped.end() ||
        static_cast<double>(found->second) <= most * static_cast<double>(shard_tally_.answers))
      return;
    throw UserError(fmt::format(
        "{} of {} answers of shard {} could not be judged ({}); the shard was not written. Look what "
        "./tritogen doctor says",
        found->second, shard_tally_.answers, shard, shard_tally_.examples[reason]));
  }

  void CloseShard(int64_t shard) {
    RefuseMany("verdict infra_error", kMostInfraErrors, shard);
    RefuseMany("verdict reference failed", kMostReferencesFailed, shard);
    ShardInfo info{.index = shard,
                   .first = shard * options_.shard_programs,
                   .draws = shard_tally_.programs,
                   .tally = std::move(shard_tally_)};
    folder_->Add(std::move(info), lines_, failures_);
    shard_tally_ = {};
    lines_.clear();
    failures_.clear();
  }

  const BuildOptions& options_;
  const BuildRun& run_;
  Proposer* teacher_;
  JudgePool* pool_;
  SetFolder* folder_;
  Draw draw_;
  std::deque<int64_t> wanted_;  // shards that are not fed yet, ascending
  std::deque<Batch> batches_;   // fed and not closed, in order
  int64_t closed_ = 0;          // batches; batches_[i] is number closed_ + i
  BuildState state_;
  // Of the shard whose batches are being closed.
  std::string lines_, failures_;
  Tally shard_tally_;
};

}  // namespace

bool Build(const BuildOptions& options, const BuildRun& run, Proposer* teacher, JudgePool* pool,
           SetFolder* folder) {
  return Builder(options, run, teacher, pool, folder).Run();
}

}  // namespace tritogen::data
