#include "cli/op_report.h"

#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

double share_of_time(const engine::OpShare& share, const engine::OpBreakdown& ops) {
  return ops.seconds > 0 ? share.seconds / ops.seconds : 0;
}

Json json_of(const std::vector<engine::OpShare>& shares, const engine::OpBreakdown& ops, bool with_op) {
  Json rows = Json::array();
  for (const engine::OpShare& share : shares) {
    Json row{{"category", graph::name(share.category)}};
    if (with_op) row["op"] = share.name;
    row.update({{"seconds", share.seconds},
                {"share", share_of_time(share, ops)},
                {"flops", share.cost.flops},
                {"elementwise_flops", share.cost.elementwise_flops},
                {"bytes", share.cost.bytes_moved},
                {"count", share.count}});
    rows.push_back(std::move(row));
  }
  return rows;
}

Json json_of(const std::vector<engine::KernelSeconds>& kernels) {
  Json rows = Json::array();
  for (const engine::KernelSeconds& one : kernels)
    rows.push_back({{"name", one.name},
                    {"op", one.op},
                    {"kernel", one.kernel},
                    {"seconds", one.seconds},
                    {"workspace_bytes", one.workspace_bytes}});
  return rows;
}

}  // namespace

void add_ops(record::RunRecord& run, const engine::OpBreakdown& ops) {
  run.figures["op_seconds"] = ops.seconds;
  run.figures["op_coverage"] = run.statistics.steps > 0 ? ops.seconds / run.statistics.median
                                                        : std::numeric_limits<double>::quiet_NaN();
  run.details["ops"] = Json{{"rounds", ops.rounds},
                            {"by_category", json_of(ops.by_category, ops, false)},
                            {"by_op", json_of(ops.by_op, ops, true)},
                            {"kernels", json_of(ops.kernels)}}
                           .dump();
}

void print_ops(const engine::OpBreakdown& ops) {
  fmt::print("\n{:<28} {:<12} {:>8} {:>10} {:>7} {:>14}\n", "op", "category", "kernels", "seconds", "share",
             "rate");
  for (const engine::OpShare& share : ops.by_op) {
    const auto rate = [&](std::int64_t amount) { return static_cast<double>(amount) / share.seconds; };
    fmt::print("{:<28} {:<12} {:>8} {:>10} {:>5.1f} % {:>14}\n", share.name, graph::name(share.category),
               share.count, format_seconds(share.seconds), 100 * share_of_time(share, ops),
               share.seconds <= 0 ? ""
               : share.cost.flops > 0
                   ? format_rate(rate(share.cost.flops))
                   : format_bytes(static_cast<std::int64_t>(rate(share.cost.bytes_moved))) + "/s");
  }
}

}  // namespace trainyard::cli
