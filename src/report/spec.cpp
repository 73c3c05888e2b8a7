#include "report/spec.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

int label_margin(std::size_t longest_label) {
  constexpr std::size_t kMostLetters = 46, kLetterWidth = 7,
                        kRest = 60;  // the theme cuts labels at 320 pixels
  return static_cast<int>(std::min(longest_label, kMostLetters) * kLetterWidth + kRest);
}

std::string finish_spec(const std::string& view, const std::vector<Row>& rows, const Panels& panels,
                        const Fit& fit) {
  OrderedJson spec{{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"}};
  spec["usermeta"] = {
      {"most_columns", std::clamp(static_cast<int>(panels.values.size()), 1, fit.most_columns)},
      {"least_width", fit.least_width},
      {"margin", fit.margin}};
  spec["config"] = OrderedJson::parse(theme());
  spec["data"] = {{"values", OrderedJson::parse(to_json(rows))}};
  if (panels.field.empty()) {
    spec.update(OrderedJson::parse(view));
    return text_of(spec);
  }
  spec["facet"] = {{"field", panels.field}, {"type", "nominal"}, {"title", nullptr}, {"sort", panels.values}};
  spec["columns"] = fit.most_columns;
  spec["spec"] = OrderedJson::parse(view);
  for (const std::string& channel : panels.own_scales) spec["resolve"]["scale"][channel] = "independent";
  // With scales of their own, or a last row that is not full, every panel needs its axes.
  spec["resolve"]["axis"] = {{"x", "independent"}, {"y", "independent"}};
  return text_of(spec);
}

}  // namespace trainyard::report
