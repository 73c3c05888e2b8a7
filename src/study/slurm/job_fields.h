#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "study/slurm/state.h"

namespace trainyard::study::slurm {

// How Slurm's programs print things: shared by the readers of their output.

// The word after " KEY=" in a line of KEY=VALUE words; empty when there is none, or it is "(null)".
std::string_view field(std::string_view line, std::string_view key);

// The number that a text begins with; 0: none.
std::int64_t to_number(std::string_view text);

// Seconds since 1970 of "1794720235" or, in this machine's time zone, "2026-11-15T05:23:55"; 0: neither.
double to_seconds(std::string_view time);

// "3:0" is exit code 3, "0:9" signal 9.
void set_exit(std::string_view text, TaskState& state);

std::vector<std::string_view> lines_of(std::string_view text);

// One state for each task in `tasks` ("3", "5-7%2"; empty: no array). Nothing when that is malformed.
void append_tasks(const TaskState& state, std::string_view tasks, std::vector<TaskState>& states);

}  // namespace trainyard::study::slurm
