#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/units.h"
#include "report/escape.h"
#include "report/number_text.h"
#include "report/sections.h"

namespace trainyard::report {
namespace {

// What all runs say about one fact.
struct Found {
  std::map<std::string, std::set<std::string>> nodes_by_value;
  std::map<std::string, std::set<std::string>> values_by_node;
  std::vector<double> numbers;
  bool numeric = true;

  bool same() const { return nodes_by_value.size() == 1; }
  // Each node always says the same, but not all nodes do.
  bool differs_between_nodes() const {
    return !same() && std::all_of(values_by_node.begin(), values_by_node.end(),
                                  [](const auto& node) { return node.second.size() == 1; });
  }
};

bool is_bytes(const std::string& key) { return key.ends_with("bytes"); }

std::string value_text(const record::Fact& fact) {
  const auto* bytes = std::get_if<std::int64_t>(&fact.value);
  if (bytes != nullptr && is_bytes(fact.key)) return format_bytes(*bytes);
  return record::to_text(fact.value);
}

std::string spaced(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

using Section = std::vector<std::pair<std::string, Found>>;  // by key, in the order of the records

std::vector<std::pair<std::string, Section>> collect(const StudyView& view) {
  std::vector<std::pair<std::string, Section>> sections;
  const auto entry = [](auto& list, const std::string& key) -> auto& {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.first == key; });
    return found == list.end()
               ? list.emplace_back(key, typename std::decay_t<decltype(list)>::value_type::second_type{})
                     .second
               : found->second;
  };
  for (const record::RunRecord& run : view.runs)
    for (const record::Fact& fact : run.provenance) {
      Found& found = entry(entry(sections, fact.section), fact.key);
      const std::string text = value_text(fact);
      found.nodes_by_value[text].insert(run.node);
      found.values_by_node[run.node].insert(text);
      const double number = record::number_or(fact.value, NAN);
      found.numeric = found.numeric && std::isfinite(number);
      found.numbers.push_back(number);
    }
  return sections;
}

std::string by_value(const Found& found) {
  constexpr std::size_t kMostValues = 6;
  std::string html;
  std::size_t shown = 0;
  for (const auto& [value, nodes] : found.nodes_by_value) {
    if (shown++ == kMostValues) {
      html += fmt::format("<div>and {} more</div>", found.nodes_by_value.size() - kMostValues);
      break;
    }
    html += fmt::format("<div>{} <small>{}</small></div>", html_text(value),
                        html_text(fmt::format("{}", fmt::join(nodes, ", "))));
  }
  return html;
}

std::string row(const std::string& key, const Found& found) {
  if (found.same())
    return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_text(spaced(key)),
                       html_text(found.nodes_by_value.begin()->first));
  if (found.differs_between_nodes())
    return fmt::format(
        "<tr class=\"differs\"><th scope=\"row\">{} <span class=\"badge\">differs between nodes</span>"
        "</th><td>{}</td></tr>\n",
        html_text(spaced(key)), by_value(found));
  if (!found.numeric)
    return fmt::format("<tr><th scope=\"row\">{} <small>varies</small></th><td>{}</td></tr>\n",
                       html_text(spaced(key)), by_value(found));
  const auto [low, high] = std::minmax_element(found.numbers.begin(), found.numbers.end());
  const auto text = [&](double number) {
    return is_bytes(key) ? format_bytes(static_cast<std::int64_t>(number)) : number_text(number);
  };
  return fmt::format("<tr><th scope=\"row\">{} <small>varies</small></th><td>{} to {}</td></tr>\n",
                     html_text(spaced(key)), text(*low), text(*high));
}

std::string nodes_text(const StudyView& view) {
  std::map<std::string, int> runs;
  for (const record::RunRecord& run : view.runs)
    if (!run.node.empty()) ++runs[run.node];
  std::string text;
  for (const auto& [node, count] : runs)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", node, count_text(count, "run"));
  return text;
}

// Settings that all cells share: with those of the result table they say what was run.
std::string fixed_settings(const StudyView& view) {
  if (view.cells.empty()) return "";
  record::Settings fixed = view.cells.front().settings;
  for (const Axis& axis : view.axes) fixed.erase(axis.name);
  return record::to_text(fixed);
}

}  // namespace

std::string provenance_section(const StudyView& view) {
  std::string html = "<section id=\"provenance\">\n<h2>Provenance</h2>\n";
  const std::string nodes = nodes_text(view), fixed = fixed_settings(view);
  if (!fixed.empty()) html += fmt::format("<p>The same in every cell: {}.</p>\n", html_text(fixed));
  if (!nodes.empty()) html += fmt::format("<p>Ran on {}.</p>\n", html_text(nodes));
  const auto sections = collect(view);
  if (sections.empty()) return html + "<p>No run says what machine it ran on.</p>\n</section>\n";
  html += "<div class=\"facts\">\n";
  for (const auto& [title, facts] : sections) {
    html += fmt::format("<table>\n<caption>{}</caption>\n<tbody>\n", html_text(title));
    for (const auto& [key, found] : facts) html += row(key, found);
    html += "</tbody>\n</table>\n";
  }
  return html + "</div>\n</section>\n";
}

}  // namespace trainyard::report
