#include "record/run_record.h"

#include <array>

namespace trainyard::record {
namespace {

struct Row {
  Status status;
  const char* name;
};

constexpr std::array<Row, 9> kStatuses{{{Status::ok, "ok"},
                                        {Status::failed, "failed"},
                                        {Status::nan, "nan"},
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

double RunRecord::figure_or(const std::string& name, double otherwise) const {
  const auto found = figures.find(name);
  return found == figures.end() ? otherwise : found->second;
}

}  // namespace trainyard::record
