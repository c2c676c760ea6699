// Proposer: anything that writes candidates for a program.
#pragma once

#include <nlohmann/json.hpp>

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fp32_precision.h"
#include "plan/plan.h"
#include "program/program.h"
#include "text/prompt.h"

namespace tritogen {

struct Candidate {
  std::string proposer;  // "teacher"
  std::string strategy;  // which of its ways: "row_per_program BLOCK=1024"
  std::string plan;      // in words: access pattern, launch, load-compute-store, wrapper
  std::string source;    // a complete Python file
  std::string entry = "ModelNew";
  std::string thoughts;            // what a model wrote before its answer
  std::string no_answer;           // there is no source: why, "no_code: the answer has no code"
  std::vector<ChatMessage> asked;  // what a model was sent
  std::string answer;              // its whole text, as it wrote it
  int number = -1;                 // which sample of its request it is; −1: they come in order
  std::optional<int64_t> tokens;   // of that text, where they are known
};

struct ProposeRequest {
  const Plan* reference = nullptr;
  const Program* program = nullptr;
  std::string reference_source;
  std::string entry;  // class or function name in the reference
  bool is_function = false;
  bool strict = false;
  Fp32Precision fp32_precision = Fp32Precision::kIeee;  // of products in float32
  bool simple = false;  // more of answers whose kernels do little each, for who is to learn from them
  bool lines = false;   // plans go through the program line by line first
  uint64_t seed = 0;
  int count = 8;  // at most so many candidates
  // Who asks, by Begin, judges pieces and says what became of them (Proposer::PieceJudged).
  bool judges_pieces = false;
  // An earlier candidate that did not pass and what the verifier said (docs/formats/verdict.md): this one is
  // to be mended. For proposers that repair.
  const Candidate* wrong = nullptr;
  const nlohmann::json* verdict = nullptr;
};

// A part of a candidate that is to be judged by itself before the whole is made: ModelNew of `source`
// against Model of `reference`, both complete Python files.
struct Piece {
  int64_t number;  // unlike those of its request's others
  std::string reference, source;
};

// Candidates for a request, some of them or all.
struct Proposal {
  std::string id;  // of the request
  std::vector<Candidate> candidates;
  std::vector<Piece> pieces;  // only where who asks judges them
  bool last = true;           // of this request; no piece is out then
};

// Not thread-safe.
class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view name() const = 0;
  // Most promising first. Empty when this proposer has nothing to offer for the program.
  virtual std::vector<Candidate> Propose(const ProposeRequest& request) = 0;
  // The same for several programs at once: who waits for a network can wait for all of them together.
  virtual std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) {
    std::vector<std::vector<Candidate>> all;
    for (const ProposeRequest& request : requests) all.push_back(Propose(request));
    return all;
  }

  // The same for who has other work meanwhile: requests are taken, what they point at must last until their
  // last proposal, and proposals come as they are made; nothing after `timeout_seconds`, or when none is
  // left. Not to be mixed with the above.
  virtual void Begin(std::string id, const ProposeRequest& request) {
    begun_.emplace_back(std::move(id), request);
  }
  virtual std::optional<Proposal> Next(double timeout_seconds) {
    if (begun_.empty()) return std::nullopt;
    auto [id, request] = std::move(begun_.front());
    begun_.pop_front();
    Proposal proposal{std::move(id)};
    try {
      proposal.candidates = Propose(request);
    } catch (const InternalError& error) {  // in one program, which must not end a batch of many
      faults_.push_back(
          fmt::format("{}: no answer to a program, by a fault of Tritogen: {}", name(), error.what()));
    }
    return proposal;
  }
  // What became of a piece of a request that was begun.
  virtual void PieceJudged(std::string_view /*id*/, int64_t /*piece*/, bool /*passed*/) {}
  // Forgets what was begun.
  virtual void Cancel() { begun_.clear(); }

  // Whether it takes requests with `wrong`.
  virtual bool repairs() const { return false; }
  // Something that it needs, an endpoint or a process, has failed since it was made: that it offers nothing
  // then says nothing about the program.
  virtual bool failed() const { return false; }
  // What went wrong since the last call, a line each: "remote: 2 of 8 samples failed: …".
  virtual std::vector<std::string> TakeRemarks() { return std::exchange(faults_, {}); }
  // The model behind it, for questions other than for candidates; null where there is none.
  virtual class ChatModel* chat() { return nullptr; }

 private:
  std::deque<std::pair<std::string, ProposeRequest>> begun_;
  std::vector<std::string> faults_;
};

}  // namespace tritogen
