#include "report/spec.h"

#include <cctype>
#include <iterator>

#include "base/error.h"
#include "base/json.h"

namespace trainyard::report {

namespace {

std::string text_of(const Json& json) { return json_text(json); }

// As JSON keeps it: bytes that are not UTF-8 replaced.
std::string clean(const std::string& text) { return parse_json(to_json(text)).get<std::string>(); }

std::set<std::string> values_of(const Json& rows, const std::string& field) {
  std::set<std::string> found;
  for (const Json& row : rows)
    if (const auto value = row.find(field); value != row.end() && value->is_string())
      found.insert(value->get<std::string>());
  return found;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string to_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json object = Json::object();
    for (const auto& [name, value] : row)
      std::visit([&, key = name](const auto& held) { object[key] = held; }, value);
    list.push_back(std::move(object));
  }
  return text_of(list);
}

std::string to_json(const std::vector<std::string>& words) { return text_of(Json(words)); }
std::string to_json(const std::vector<double>& numbers) { return text_of(Json(numbers)); }
std::string to_json(const std::string& word) { return text_of(Json(word)); }
std::string to_json(double number) { return text_of(Json(number)); }

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
  if (!is_json(result)) fail(ErrorKind::internal, "chart spec is not JSON: {}", result);
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
  Json spec{{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"}};
  const Json values = parse_json(to_json(rows));
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
  spec["config"] = parse_json(theme());
  spec["data"] = {{"values", values}};
  if (panels.field.empty()) {
    spec.update(parse_json(view));
    return text_of(spec);
  }
  spec["facet"] = {{"field", panels.field}, {"type", "nominal"}, {"title", nullptr}, {"sort", shown}};
  spec["columns"] = fit.most_columns;
  spec["spec"] = parse_json(view);
  for (const std::string& channel : panels.own_scales) spec["resolve"]["scale"][channel] = "independent";
  // With scales of their own, or a last row that is not full, every panel needs its axes.
  spec["resolve"]["axis"] = {{"x", "independent"}, {"y", "independent"}};
  return text_of(spec);
}

namespace {

struct Colour {
  const char *name, *light, *dark;
};

// c1 to c8 are the series; c9 to c16 their second tones; i1 to i16 what can be read on each.
constexpr Colour kColours[] = {
    {"ground", "#f5f7f9", "#0f141a"},
    {"card", "#ffffff", "#181f27"},
    {"raised", "#f1f5f9", "#222b35"},
    {"ink", "#1c2430", "#e8edf2"},
    {"soft", "#566270", "#a3b0bd"},
    {"line", "#dde3e9", "#303b47"},
    {"grid", "#e8ecf0", "#29333e"},
    {"axis", "#98a4b0", "#647180"},
    {"guide", "#6b7785", "#93a1af"},
    {"brand", "#0b6bb0", "#5cb0f2"},
    {"alarm", "#b93a0e", "#ff9770"},
    {"alarm_ground", "#fdece5", "#3d231b"},
    {"notice_ground", "#fff6e8", "#33291a"},
    {"warmup", "#e1e6eb", "#2e3946"},
    {"unsteady", "#fae3c8", "#4a3a22"},
    {"failed", "#f3e8e4", "#33262a"},
    {"low", "#e6f0f8", "#1d2d3b"},
    {"middle", "#5796c8", "#2a6490"},
    {"high", "#0a5a96", "#8fd0ff"},
    {"on_low", "#1c2430", "#e8edf2"},
    {"on_high", "#ffffff", "#0f141a"},
    {"ramp_low", "#b5872b", "#3487c9"},
    {"ramp_middle", "#0a8564", "#3cc79c"},
    {"ramp_high", "#083e66", "#f3cf55"},
    {"c1", "#0b6fb8", "#5baef0"},
    {"c2", "#c44e0b", "#f58b4c"},
    {"c3", "#0a8564", "#3cc79c"},
    {"c4", "#a84a84", "#e391c0"},
    {"c5", "#94680a", "#edb72b"},
    {"c6", "#3a92c4", "#a5e0f7"},
    {"c7", "#5f6b76", "#a9b4bf"},
    {"c8", "#6b4fa0", "#b49af0"},
    {"c9", "#083e66", "#3487c9"},
    {"c10", "#7a2e00", "#c9662f"},
    {"c11", "#4f9e86", "#9be8d0"},
    {"c12", "#6e2a55", "#b86a99"},
    {"c13", "#b5872b", "#b5891a"},
    {"c14", "#1f5f80", "#5fb3d0"},
    {"c15", "#87929d", "#7d8995"},
    {"c16", "#3f2c66", "#8d72cf"},
    {"i1", "#ffffff", "#0f141a"},
    {"i2", "#ffffff", "#0f141a"},
    {"i3", "#ffffff", "#0f141a"},
    {"i4", "#ffffff", "#0f141a"},
    {"i5", "#ffffff", "#0f141a"},
    {"i6", "#0f141a", "#0f141a"},
    {"i7", "#ffffff", "#0f141a"},
    {"i8", "#ffffff", "#0f141a"},
    {"i9", "#ffffff", "#0f141a"},
    {"i10", "#ffffff", "#0f141a"},
    {"i11", "#0f141a", "#0f141a"},
    {"i12", "#ffffff", "#0f141a"},
    {"i13", "#0f141a", "#0f141a"},
    {"i14", "#ffffff", "#0f141a"},
    {"i15", "#0f141a", "#0f141a"},
    {"i16", "#ffffff", "#0f141a"},
};

std::string variables(bool dark) {
  std::string css = dark ? "color-scheme: dark;" : "color-scheme: light;";
  for (const Colour& colour : kColours)
    css += fmt::format(" --{}: {};", colour.name, dark ? colour.dark : colour.light);
  return css;
}

}  // namespace

std::string palettes_json() {
  std::string light, dark;
  for (const Colour& colour : kColours) {
    light += fmt::format("{}\"{}\": \"{}\"", light.empty() ? "" : ", ", colour.name, colour.light);
    dark += fmt::format("{}\"{}\": \"{}\"", dark.empty() ? "" : ", ", colour.name, colour.dark);
  }
  return fmt::format("{{\"light\": {{{}}}, \"dark\": {{{}}}}}", light, dark);
}

std::string palettes_css() {
  // A page that is printed is light, unless its charts were drawn in dark.
  return fmt::format(
      ":root {{ {0} }}\n"
      "@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {1} }} }}\n"
      ":root[data-theme=dark] {{ {1} }}\n",
      variables(false), variables(true));
}

std::string theme() {
  return R"json({
    "background": null,
    "font": "Inter, system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
    "padding": 4,
    "title": {"anchor": "start", "fontSize": 12.5, "fontWeight": 600, "color": "@ink", "offset": 8, "lineHeight": 16},
    "axis": {
      "labelFontSize": 12, "labelColor": "@soft", "labelPadding": 6, "labelLimit": 0, "labelOverlap": true, "labelSeparation": 8,
      "titleFontSize": 12, "titleFontWeight": 600, "titleColor": "@ink", "titlePadding": 10, "titleLimit": 0,
      "domainColor": "@axis", "tickColor": "@axis", "tickSize": 4, "gridColor": "@grid"
    },
    "axisY": {"domain": false, "ticks": false},
    "view": {"stroke": null},
    "header": {"labelFontSize": 12.5, "labelFontWeight": 600, "labelColor": "@ink", "labelAnchor": "start", "labelPadding": 8,
               "labelLimit": 0, "title": null},
    "legend": {
      "orient": "top", "direction": "horizontal", "labelFontSize": 12, "labelColor": "@soft", "labelLimit": 0,
      "titleFontSize": 12, "titleFontWeight": 600, "titleColor": "@ink", "titleLimit": 0, "symbolSize": 90, "symbolType": "circle", "symbolOpacity": 1, "symbolStrokeWidth": 0, "columnPadding": 18,
      "offset": 12
    },
    "range": {
      "category": ["@c1", "@c2", "@c3", "@c4", "@c5", "@c6", "@c7", "@c8"],
      "ordinal": ["@c1", "@c2", "@c3", "@c4", "@c5", "@c6", "@c7", "@c8"],
      "heatmap": ["@low", "@middle", "@high"], "ramp": ["@low", "@middle", "@high"]
    },
    "point": {"filled": true, "size": 55},
    "line": {"strokeWidth": 2.2},
    "rule": {"strokeWidth": 1.6, "color": "@guide"},
    "text": {"fontSize": 11.5, "color": "@soft"}
  })json";
}

namespace {

// From 1; those beyond the last begin again.
std::size_t tone(std::size_t family) { return family % kPaletteTones + 1; }

}  // namespace

std::string family_colours(const std::vector<std::string>& families, bool legend) {
  std::vector<std::string> range;
  for (std::size_t i = 0; i < families.size(); ++i) range.push_back(fmt::format("@c{}", tone(i)));
  return fmt::format(
      R"({{"field": "series", "type": "nominal", "title": null, "scale": {{"domain": {}, "range": {}}}{}}})",
      to_json(families), to_json(range), legend && families.size() > 1 ? "" : R"(, "legend": null)");
}

std::string family_ink(const std::vector<std::string>& families, const std::string& family) {
  const auto at = std::find(families.begin(), families.end(), family) - families.begin();
  return fmt::format("@i{}", tone(static_cast<std::size_t>(at)));
}

}  // namespace trainyard::report
