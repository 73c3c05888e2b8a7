#include "report/spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// As JSON keeps it: bytes that are not UTF-8 replaced.
std::string clean(const std::string& text) { return OrderedJson::parse(to_json(text)).get<std::string>(); }

std::set<std::string> values_of(const OrderedJson& rows, const std::string& field) {
  std::set<std::string> found;
  for (const OrderedJson& row : rows)
    if (const auto value = row.find(field); value != row.end() && value->is_string())
      found.insert(value->get<std::string>());
  return found;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string to_json(const std::vector<Row>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const Row& row : rows) {
    OrderedJson object = OrderedJson::object();
    for (const auto& [name, value] : row)
      std::visit([&, key = name](const auto& held) { object[key] = held; }, value);
    list.push_back(std::move(object));
  }
  return text_of(list);
}

std::string to_json(const std::vector<std::string>& words) { return text_of(OrderedJson(words)); }
std::string to_json(const std::vector<double>& numbers) { return text_of(OrderedJson(numbers)); }
std::string to_json(const std::string& word) { return text_of(OrderedJson(word)); }
std::string to_json(double number) { return text_of(OrderedJson(number)); }

std::string fill_spec(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    // "$schema" and the like stand in quotes.
    if (text[at] != '$' || (at > 0 && text[at - 1] == '"')) {
      result += text[at];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && in_name(text[end])) ++end;
    const std::string name(text.substr(at + 1, end - at - 1));
    const auto found = values.find(name);
    if (found == values.end()) fail(ErrorKind::internal, "chart spec: nothing is given for ${}", name);
    result += found->second;
    at = end - 1;
  }
  if (!OrderedJson::accept(result)) fail(ErrorKind::internal, "chart spec is not JSON: {}", result);
  return result;
}

std::vector<double> log_ticks(double from, double to, double decades) {
  const bool few = std::log10(to / from) < decades;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(from))); power <= to; power *= 10)
    for (const double times : few ? std::vector<double>{1, 2, 5} : std::vector<double>{1})
      if (power * times >= from && power * times <= to) ticks.push_back(power * times);
  return ticks;
}

std::string finish_spec(const std::string& view, const std::vector<Row>& rows, const Panels& panels,
                        const Fit& fit) {
  OrderedJson spec{{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"}};
  const OrderedJson values = OrderedJson::parse(to_json(rows));
  std::vector<std::string> shown;
  std::copy_if(panels.values.begin(), panels.values.end(), std::back_inserter(shown),
               [&, used = values_of(values, panels.field)](const std::string& value) {
                 return used.contains(clean(value));
               });
  spec["usermeta"] = {{"most_columns", std::clamp(static_cast<int>(shown.size()), 1, fit.most_columns)},
                      {"least_width", fit.least_width},
                      {"margin", fit.margin},
                      {"labels", fit.labels},
                      {"table_columns", fit.table_columns}};
  spec["config"] = OrderedJson::parse(theme());
  spec["data"] = {{"values", values}};
  if (panels.field.empty()) {
    spec.update(OrderedJson::parse(view));
    return text_of(spec);
  }
  spec["facet"] = {{"field", panels.field}, {"type", "nominal"}, {"title", nullptr}, {"sort", shown}};
  spec["columns"] = fit.most_columns;
  spec["spec"] = OrderedJson::parse(view);
  for (const std::string& channel : panels.own_scales) spec["resolve"]["scale"][channel] = "independent";
  // With scales of their own, or a last row that is not full, every panel needs its axes.
  spec["resolve"]["axis"] = {{"x", "independent"}, {"y", "independent"}};
  return text_of(spec);
}

}  // namespace trainyard::report
