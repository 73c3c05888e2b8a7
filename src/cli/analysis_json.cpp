#include "base/json.h"
#include "cli/study.h"

namespace trainyard::cli {
namespace {

using analyze::Analysis;

Json settings_json(const record::Settings& settings) { return parse_json(record::to_json(settings)); }

// Pairs each name with the number at the same index.
Json weights_json(const std::vector<std::string>& names, const std::vector<double>& numbers) {
  Json object = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) object[names[i]] = numbers[i];
  return object;
}

Json regression_json(const analyze::Regression& regression) {
  return {{"weights", weights_json(regression.features, regression.weights)},
          {"r2", regression.r2},
          {"mean_absolute_error", regression.mean_absolute_error},
          {"points", regression.points}};
}

Json power_law_json(const analyze::LogRegression& law) {
  return {{"exponents", weights_json(law.features, law.coefficients)},
          {"intercept_log2", law.intercept},
          {"r2", law.r2},
          {"cross_validated_r2", law.cross_validated_r2},
          {"folds", law.folds},
          {"points", law.points}};
}

Json heat_map_json(const Analysis& analysis, const analyze::HeatMap& map) {
  Json cells = Json::array();
  for (const analyze::HeatCell& cell : map.cells) {
    Json row{{map.column, cell.column}, {map.row, cell.row}};
    if (!map.panel.empty()) row[map.panel] = cell.panel;
    row.update({{"value", std::isfinite(cell.value) ? Json(cell.value) : Json(nullptr)},
                {"points", cell.points},
                {"failed", cell.failed},
                {"status", record::name(cell.status)}});
    cells.push_back(std::move(row));
  }
  return {{"value", analysis.heat_is_utilisation ? "utilisation" : analysis.metric},
          {"column", map.column},
          {"row", map.row},
          {"panel", map.panel.empty() ? Json(nullptr) : Json(map.panel)},
          {"merged", map.merged},
          {"cells", cells}};
}

Json part_json(const Analysis& analysis, const analyze::Part& part) {
  Json json{{"name", part.name}, {"points", part.points}, {"dimensions", part.dimensions}};
  if (part.first_order) json["regression"] = regression_json(*part.first_order);
  if (part.second_order) json["regression_order_2"] = regression_json(*part.second_order);
  if (part.power_law) json["power_law"] = power_law_json(*part.power_law);
  if (part.heat_map) json["heat_map"] = heat_map_json(analysis, *part.heat_map);
  return json;
}

Json roofline_json(const std::vector<analyze::RooflinePoint>& placed) {
  Json points = Json::array();
  for (const analyze::RooflinePoint& one : placed) {
    Json row{{"settings", settings_json(one.point->keys)}};
    if (!one.category.empty()) row["category"] = one.category;
    row.update({{"flops_per_byte", one.flops_per_byte},
                {"peak_fraction", one.peak_fraction},
                {"below_ridge", one.below_ridge}});
    points.push_back(std::move(row));
  }
  return {{"below_ridge", analyze::count_below_ridge(placed)}, {"points", points}};
}

Json categories_json(const std::vector<analyze::CategoryShare>& shares) {
  Json list = Json::array();
  for (const analyze::CategoryShare& share : shares)
    list.push_back(
        {{"category", share.category},
         {"time_fraction", share.time_fraction},
         {"peak_fraction", std::isfinite(share.peak_fraction) ? Json(share.peak_fraction) : Json(nullptr)},
         {"flops", share.flops},
         {"bytes", share.bytes},
         {"points", share.points}});
  return list;
}

Json model_json(const analyze::StepModel& model) {
  return {{"fixed_seconds", model.fixed_seconds},
          {"seconds_per_launch", model.seconds_per_launch},
          {"host_exponent", model.host_exponent},
          {"seconds_per_flop", model.seconds_per_flop},
          {"seconds_per_byte", model.seconds_per_byte},
          {"seconds_per_parameter", model.seconds_per_parameter},
          {"seconds_per_inner", model.seconds_per_inner},
          {"device_seconds_per_launch", model.device_seconds_per_launch},
          {"sharpness", model.sharpness},
          {"seconds_per_image", model.seconds_per_image}};
}

Json limits_json(const std::vector<analyze::LimitedGroup>& groups) {
  Json list = Json::array();
  for (const analyze::LimitedGroup& group : groups) {
    Json points = Json::array(), counts = Json::object();
    for (const analyze::LimitedPoint& one : group.points) {
      Json row{{"settings", settings_json(one.point->keys)}, {"limit", analyze::name(one.limit)}};
      if (one.predicted_seconds > 0)
        row.update({{"step_seconds", one.point->metric("step_seconds")},
                    {"predicted_seconds", one.predicted_seconds},
                    {"launch_seconds", one.parts.launch},
                    {"compute_seconds", one.parts.compute},
                    {"bandwidth_seconds", one.parts.bandwidth},
                    {"latency_seconds", one.parts.latency},
                    {"input_seconds", one.parts.input}});
      points.push_back(std::move(row));
    }
    for (const auto& [limit, count] : analyze::count_limits({&group, 1}))
      counts[analyze::name(limit)] = count;
    Json one{{"group", group.name}, {"counts", counts}};
    if (group.fitted > 0)
      one.update({{"model", model_json(group.model)},
                  {"fitted_points", group.fitted},
                  {"mean_relative_error", group.mean_relative_error}});
    one["points"] = std::move(points);
    list.push_back(std::move(one));
  }
  return list;
}

Json ratio_json(const analyze::RatioSummary& summary) {
  return {{"points", summary.points},
          {"mean", summary.mean},
          {"median", summary.median},
          {"geometric_mean", summary.geometric_mean},
          {"min", summary.min},
          {"max", summary.max},
          {"below_one", summary.below_one}};
}

}  // namespace

Json analysis_json(const Analysis& analysis) {
  std::map<std::string, std::size_t> statuses;
  for (const analyze::Point& point : analysis.points) ++statuses[record::name(point.status)];
  Json json{{"points", analysis.points.size()},
            {"statuses", statuses},
            {"metric", analysis.metric},
            {"peak_flops_per_second", analysis.roofs.flops_per_second},
            {"peak_bytes_per_second", analysis.roofs.bytes_per_second}};
  json["parts"] = Json::array();
  for (const analyze::Part& part : analysis.parts) json["parts"].push_back(part_json(analysis, part));
  if (analysis.best)
    json["best"] = {{"settings", settings_json(analysis.best->point->keys)},
                    {"utilisation", analysis.best->utilisation}};
  if (!analysis.steps.empty()) json["roofline"] = roofline_json(analysis.steps);
  if (!analysis.ops.empty()) json["op_roofline"] = roofline_json(analysis.ops);
  if (!analysis.categories.empty()) json["op_breakdown"] = categories_json(analysis.categories);
  if (!analysis.limits.empty()) json["limits"] = limits_json(analysis.limits);
  return json;
}

Json comparison_json(const analyze::SystemComparison& comparison, const record::Comparison& verdicts) {
  Json json{
      {"metric", comparison.metric}, {"across", comparison.across}, {"all", ratio_json(comparison.all)}};
  Json by = Json::object(), points = Json::array();
  for (const auto& [dimension, values] : comparison.by_dimension)
    for (const auto& [value, summary] : values) {
      Json row{{"value", value}};
      row.update(ratio_json(summary));
      by[dimension].push_back(std::move(row));
    }
  json["by_dimension"] = std::move(by);
  if (comparison.weights) json["regression"] = regression_json(*comparison.weights);
  if (comparison.faster)
    json["faster"] = {{"weights", weights_json(comparison.faster->features, comparison.faster->weights)},
                      {"base_rate", comparison.faster->base_rate},
                      {"accuracy", comparison.faster->accuracy},
                      {"cross_validated_accuracy", comparison.faster->cross_validated_accuracy}};
  json["verdicts"] = {{"faster", verdicts.count(record::Outcome::better)},
                      {"slower", verdicts.count(record::Outcome::worse)},
                      {"same", verdicts.count(record::Outcome::same)},
                      {"unclear", verdicts.count(record::Outcome::unclear)}};
  for (const analyze::JoinedPoint& one : comparison.joined) {
    const double parameters = one.a->metric("parameters");
    points.push_back({{"settings", settings_json(one.a->keys)},
                      {"parameters", std::isfinite(parameters) ? Json(parameters) : Json(nullptr)},
                      {"ratio", one.ratio}});
  }
  json["points"] = std::move(points);
  return json;
}

}  // namespace trainyard::cli
