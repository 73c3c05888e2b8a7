#include "study/slurm/job_fields.h"
#include "study/slurm/state.h"

namespace trainyard::study::slurm {

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

}  // namespace trainyard::study::slurm
