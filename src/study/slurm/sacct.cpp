#include <algorithm>

#include "study/slurm/job_fields.h"
#include "study/slurm/state.h"

namespace trainyard::study::slurm {
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

}  // namespace trainyard::study::slurm
