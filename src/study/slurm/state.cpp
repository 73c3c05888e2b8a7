#include "study/slurm/state.h"

#include <charconv>
#include <ctime>

#include "study/slurm/node_list.h"

namespace trainyard::study::slurm {

std::string_view field(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if ((at > 0 && line[at - 1] != ' ') || end >= line.size() || line[end] != '=') continue;
    const std::string_view value = line.substr(end + 1, line.find(' ', end) - end - 1);
    return value == "(null)" ? std::string_view() : value;
  }
  return {};
}

std::int64_t to_number(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double to_seconds(std::string_view time) {
  if (time.find('T') == std::string_view::npos) return static_cast<double>(to_number(time));
  std::tm parts{};
  if (::strptime(std::string(time).c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return 0;
  parts.tm_isdst = -1;
  return static_cast<double>(std::mktime(&parts));
}

void set_exit(std::string_view text, TaskState& state) {
  state.exit_code = static_cast<int>(to_number(text));
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) state.signal = static_cast<int>(to_number(text.substr(colon + 1)));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end != 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

void append_tasks(const TaskState& state, std::string_view tasks, std::vector<TaskState>& states) {
  if (tasks.empty()) {
    states.push_back(state);
    return;
  }
  try {
    for (const int task : expand_task_list(tasks)) {
      states.push_back(state);
      states.back().task = task;
    }
  } catch (const Error&) {
  }
}

namespace {

using record::Status;

struct FinalState {
  std::string_view name;
  Status status;
  const char* reason;
};

// FAILED and COMPLETED need more cases and stand below.
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
  // A job that sbatch refuses stays in the books as a failed job without a node.
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

std::vector<TaskState> parse_jobcomp(std::string_view text) {
  std::vector<TaskState> states;
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with("JobId=")) continue;
    const std::string_view array = field(line, "ArrayJobId");
    TaskState state;
    state.job_id = to_number(array.empty() ? field(line, "JobId") : array);
    state.state = field(line, "JobState");
    set_exit(field(line, "ExitCode"), state);
    state.nodes = field(line, "NodeList");
    state.started_seconds = to_seconds(field(line, "StartTime"));
    state.ended_seconds = to_seconds(field(line, "EndTime"));
    append_tasks(state, field(line, "ArrayTaskId"), states);
  }
  return states;
}

namespace {

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('|', begin), line.size());
    columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return columns;
}

}  // namespace

std::vector<TaskState> parse_sacct(std::string_view text) {
  std::vector<TaskState> states;
  for (const std::string_view line : lines_of(text)) {
    const auto columns = columns_of(line);
    if (columns.size() != 6 || columns[0].find('.') != std::string_view::npos)
      continue;  // "12.batch": a step
    const std::size_t underscore = columns[0].find('_');
    TaskState state;
    state.job_id = to_number(columns[0].substr(0, underscore));
    if (state.job_id == 0) continue;
    state.state = columns[1].substr(0, columns[1].find(' '));  // "CANCELLED by 1000"
    set_exit(columns[2], state);
    if (columns[3] != "None assigned") state.nodes = columns[3];
    state.started_seconds = to_seconds(columns[4]);
    state.ended_seconds = to_seconds(columns[5]);
    append_tasks(state, underscore == std::string_view::npos ? "" : columns[0].substr(underscore + 1),
                 states);
  }
  return states;
}

std::vector<TaskState> parse_scontrol(std::string_view text) {
  std::vector<TaskState> states;
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with("JobId=")) continue;
    const std::string_view array = field(line, "ArrayJobId"), reason = field(line, "Reason");
    TaskState state;
    state.job_id = to_number(array.empty() ? field(line, "JobId") : array);
    state.state = field(line, "JobState");
    if (reason != "None") state.reason = reason;
    set_exit(field(line, "ExitCode"), state);
    state.nodes = field(line, "NodeList");
    state.started_seconds = to_seconds(field(line, "StartTime"));
    state.ended_seconds = to_seconds(field(line, "EndTime"));
    append_tasks(state, field(line, "ArrayTaskId"), states);
  }
  return states;
}

}  // namespace trainyard::study::slurm
