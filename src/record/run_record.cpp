#include "record/run_record.h"

#include <array>

#include <fmt/core.h>

#include "base/units.h"

namespace trainyard::record {
namespace {

struct Row {
  Status status;
  const char* name;
};

constexpr std::array<Row, 10> kStatuses{{{Status::ok, "ok"},
                                         {Status::failed, "failed"},
                                         {Status::nan, "nan"},
                                         {Status::diverged, "diverged"},
                                         {Status::oom, "oom"},
                                         {Status::timeout, "timeout"},
                                         {Status::crash, "crash"},
                                         {Status::refused, "refused"},
                                         {Status::cancelled, "cancelled"},
                                         {Status::interrupted, "interrupted"}}};

}  // namespace

const char* name(Status status) { return kStatuses[static_cast<std::size_t>(status)].name; }

std::optional<Status> find_status(std::string_view name) {
  for (const Row& row : kStatuses)
    if (row.name == name) return row.status;
  return std::nullopt;
}

void summarise_steps(RunRecord& run) {
  run.statistics = describe_steps(run.step_seconds, run.images_per_step);
  if (run.statistics.steps == 0) return;
  run.images_per_second = run.images_per_step / run.statistics.mean;
  run.figures["median_images_per_second"] = run.images_per_step / run.statistics.median;
}

double RunRecord::figure_or(const std::string& name, double otherwise) const {
  const auto found = figures.find(name);
  return found == figures.end() ? otherwise : found->second;
}

std::string peak_memory_text(const RunRecord& run) {
  const auto bytes = [&](const char* figure) {
    return format_bytes(static_cast<std::int64_t>(run.figure_or(figure, 0)));
  };
  const std::string host = bytes("peak_memory_bytes");
  const auto backend = run.words.find("backend");
  if (backend == run.words.end() || backend->second != "cuda") return host;
  const bool known = run.figures.contains("device_memory_bytes");
  return fmt::format("{} of the GPU, {} of the host", known ? bytes("device_memory_bytes") : "not known",
                     host);
}

}  // namespace trainyard::record
