#include "analyze/op_category.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace trainyard::analyze {
namespace {

using Json = nlohmann::json;

double number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double peak_fraction_of(const OpCategory& category, double roof) {
  if (std::isfinite(category.peak_fraction)) return category.peak_fraction;
  const bool can_be_told = roof > 0 && category.flops > 0 && category.seconds > 0;
  return can_be_told ? category.flops / category.seconds / roof : std::numeric_limits<double>::quiet_NaN();
}

std::vector<OpCategory> op_categories_of(const record::RunRecord& run) {
  const auto detail = run.details.find("ops");
  if (detail == run.details.end()) return {};
  const Json ops = Json::parse(detail->second, nullptr, false);
  const auto list = ops.is_object() ? ops.find("by_category") : ops.end();
  if (list == ops.end() || !list->is_array()) return {};
  const double step = run.statistics.steps > 0 ? run.statistics.median
                      : run.images_per_second  ? run.images_per_step / *run.images_per_second
                                               : std::numeric_limits<double>::quiet_NaN();
  std::vector<OpCategory> categories;
  for (const Json& row : *list) {
    if (!row.is_object() || !row.contains("category") || !row["category"].is_string()) continue;
    categories.push_back({row["category"].get<std::string>(), number_at(row, "share"),
                          number_at(row, "seconds"), number_at(row, "flops"), number_at(row, "bytes"),
                          number_at(row, "peak_fraction"), number_at(row, "count")});
    OpCategory& category = categories.back();
    if (!std::isfinite(category.seconds)) category.seconds = category.time_fraction * step;
  }
  return categories;
}

}  // namespace trainyard::analyze
