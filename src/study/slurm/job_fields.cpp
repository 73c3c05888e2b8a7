#include "study/slurm/job_fields.h"

#include <charconv>
#include <ctime>
#include <string>

#include "base/error.h"
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

}  // namespace trainyard::study::slurm
