#include "study/slurm/state.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace trainyard::study::slurm {
namespace {

using record::Status;

struct FinalState {
  std::string_view name;
  Status status;
  const char* reason;
};

// FAILED and COMPLETED have more to say and stand below.
constexpr std::array<FinalState, 8> kFinalStates{{
    {"TIMEOUT", Status::timeout, "the cluster's time limit"},
    {"DEADLINE", Status::timeout, "the cluster's deadline"},
    {"OUT_OF_MEMORY", Status::oom, "killed by the cluster: out of memory"},
    {"CANCELLED", Status::cancelled, "cancelled through Slurm"},
    {"NODE_FAIL", Status::crash, "its node failed"},
    {"BOOT_FAIL", Status::crash, "its node did not boot"},
    {"PREEMPTED", Status::crash, "preempted by another job"},
    {"REVOKED", Status::crash, "revoked: another cluster took it"},
}};

const FinalState* find_final(std::string_view state) {
  const auto row = std::find_if(kFinalStates.begin(), kFinalStates.end(),
                                [&](const FinalState& s) { return s.name == state; });
  return row == kFinalStates.end() ? nullptr : row;
}

std::string on_nodes(const TaskState& state) {
  return state.nodes.empty() ? "" : fmt::format(" on {}", state.nodes);
}

Outcome failed(const TaskState& state) {
  // What sbatch turns down stays in the books as a failed job that had no node.
  if (state.nodes.empty() || state.reason == "BadConstraints")
    return {Status::refused,
            fmt::format("refused by Slurm ({})",
                        state.reason.empty() ? "FAILED before it started" : state.reason),
            0};
  if (state.signal != 0)
    return {Status::crash, fmt::format("ended by signal {}{}", state.signal, on_nodes(state)),
            128 + state.signal};
  return {Status::failed, fmt::format("exit code {}{}", state.exit_code, on_nodes(state)), state.exit_code};
}

}  // namespace

bool TaskState::final() const {
  return state == "COMPLETED" || state == "FAILED" || find_final(state) != nullptr;
}

bool TaskState::waits() const {
  constexpr std::array<std::string_view, 5> kWaiting{"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                                                     "SPECIAL_EXIT"};
  return std::find(kWaiting.begin(), kWaiting.end(), state) != kWaiting.end();
}

Outcome outcome_of(const TaskState& state) {
  if (state.state == "FAILED") return failed(state);
  if (const FinalState* row = find_final(state.state))
    return {row->status, fmt::format("{} (Slurm state {}){}", row->reason, row->name, on_nodes(state)),
            state.signal != 0 ? 128 + state.signal : state.exit_code};
  return {Status::failed, fmt::format("left no record (Slurm state {}){}", state.state, on_nodes(state)),
          state.exit_code};
}

}  // namespace trainyard::study::slurm
