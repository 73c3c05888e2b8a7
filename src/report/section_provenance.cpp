#include <iterator>

#include "base/text.h"
#include "record/unit.h"
#include "report/page.h"
#include "report/sections.h"
#include "report/text.h"

namespace trainyard::report {

namespace {

struct Totals {
  long long expected = 0, done = 0, missing = 0, failed = 0, complete_cells = 0, warnings = 0,
            warned_runs = 0;
  std::map<std::string, int> failed_by_class;
  const CellView* fastest = nullptr;
};

Totals total(const StudyView& view) {
  Totals sum;
  for (const CellView& cell : view.cells) {
    sum.expected += cell.expected();
    sum.done += std::ssize(cell.done);
    sum.missing += cell.missing;
    sum.failed += std::ssize(cell.failed);
    sum.complete_cells += cell.complete() ? 1 : 0;
    for (const record::RunRecord* run : cell.failed) ++sum.failed_by_class[name(run->status)];
    if (cell.throughput.runs > 0 &&
        (sum.fastest == nullptr || cell.throughput.centre() > sum.fastest->throughput.centre()))
      sum.fastest = &cell;
  }
  for (const record::RunRecord& run : view.runs) {
    sum.warnings += std::ssize(run.warnings);
    sum.warned_runs += run.warnings.empty() ? 0 : 1;
  }
  return sum;
}

std::string interval_text(const CellThroughput& speed) {
  if (!speed.has_interval()) return "one run, so without an interval";
  return fmt::format("95 % interval {} to {} over {} runs", number_text(speed.interval.low),
                     number_text(speed.interval.high), speed.runs);
}

std::string in_words(const Totals& sum) {
  std::string text = sum.done == sum.expected
                         ? fmt::format("All {} are done.", count_text(sum.expected, "run"))
                         : fmt::format("{} of {} are done", sum.done, count_text(sum.expected, "run"));
  if (sum.done != sum.expected) {
    std::string classes;
    for (const auto& [status, count] : sum.failed_by_class)
      classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", count, status);
    if (sum.failed > 0) text += fmt::format("; {} failed ({})", sum.failed, classes);
    if (sum.missing > 0) text += fmt::format("; {} missing", sum.missing);
    text += ".";
  }
  if (sum.fastest != nullptr)
    text +=
        fmt::format(" The highest throughput is that of {}: {} images/s ({}).", sum.fastest->label,
                    number_text(sum.fastest->throughput.centre()), interval_text(sum.fastest->throughput));
  text += sum.warnings == 0
              ? " No run carries a warning."
              : fmt::format(" {} in {} make figures less trustworthy.", count_text(sum.warnings, "warning"),
                            count_text(sum.warned_runs, "run"));
  return text;
}

std::string when(const StudyView& view, double made_seconds) {
  double first = std::numeric_limits<double>::infinity(), last = 0;
  for (const record::RunRecord& run : view.runs) {
    if (run.started_seconds <= 0) continue;
    first = std::min(first, run.started_seconds);
    last = std::max(last, run.started_seconds + run.wall_seconds);
  }
  const std::string made = fmt::format("report made {} UTC", time_text(made_seconds));
  if (last == 0) return made;
  return fmt::format("runs from {} to {}, {}", time_text(first), time_text(last), made);
}

}  // namespace

namespace {

std::vector<Link> links_of(const StudyView& view) {
  std::vector<Link> links{
      {"#completeness", "Completeness"}, {"#results", "Results"},   {"#charts", "Charts"},
      {"#provenance", "Provenance"},     {"#warnings", "Warnings"}, {"#method", "Method"}};
  if (!view.links.spec.empty()) links.push_back({view.links.spec, "study.yaml"});
  if (!view.links.store.empty()) links.push_back({view.links.store, "store.sqlite"});
  if (!view.links.records.empty()) links.push_back({view.links.records, "records"});
  return links;
}

}  // namespace

std::string header_section(const StudyView& view, double made_seconds) {
  const Totals sum = total(view);
  return header_html(
      {"Trainyard study",
       view.name.empty() ? "Unnamed study" : view.name,
       when(view, made_seconds),
       in_words(sum),
       {{fmt::format("{} / {}", sum.done, sum.expected), "runs done", sum.done != sum.expected},
        {fmt::format("{} / {}", sum.complete_cells, view.cells.size()), "cells complete",
         sum.complete_cells != std::ssize(view.cells)},
        {sum.fastest == nullptr ? "-" : number_text(sum.fastest->throughput.centre()),
         "images/s, fastest cell"},
        {fmt::format("{}", sum.warnings), "warnings", sum.warnings > 0}},
       record::to_text(view.common),
       links_of(view)});
}

namespace {

// Found holds the values that all runs state for one fact.
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

bool is_bytes(const std::string& key) { return record::unit_in_name(key) == record::unit::bytes; }

std::string value_text(const record::Fact& fact) {
  const auto* bytes = std::get_if<std::int64_t>(&fact.value);
  if (bytes != nullptr && is_bytes(fact.key)) return format_bytes(*bytes);
  return record::to_text(fact.value);
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

// Returns the first few, and how many more there are.
std::string some_of(const std::set<std::string>& names) {
  constexpr std::ptrdiff_t kMostNames = 4;
  const auto shown = std::min(kMostNames, std::ssize(names));
  std::string text = joined(std::vector<std::string>(names.begin(), std::next(names.begin(), shown)), ", ");
  return std::ssize(names) > shown ? fmt::format("{} and {} more", text, std::ssize(names) - shown) : text;
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
    html += fmt::format("<div>{} <small>{}</small></div>", html_text(value), html_text(some_of(nodes)));
  }
  return html;
}

constexpr std::size_t kMostDistinct = 12;

std::string fact_row(const std::string& key, const Found& found) {
  if (found.same())
    return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_text(spaced(key)),
                       html_text(found.nodes_by_value.begin()->first));
  // Numbers of jobs, names of files and of nodes say nothing together.
  if (found.nodes_by_value.size() > kMostDistinct && !found.numeric)
    return fmt::format(
        "<tr><th scope=\"row\">{} <small>varies</small></th><td>{} different values</td></tr>\n",
        html_text(spaced(key)), found.nodes_by_value.size());
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

// Returns a line where nodes are few, else a folded list.
std::string nodes_html(const StudyView& view) {
  constexpr std::size_t kMostNodes = 6;
  std::map<std::string, int> runs;
  for (const record::RunRecord& run : view.runs)
    if (!run.node.empty()) ++runs[run.node];
  if (runs.empty()) return "";
  std::string text;
  for (const auto& [node, count] : runs)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", node, count_text(count, "run"));
  if (runs.size() <= kMostNodes) return fmt::format("<p>Ran on {}.</p>\n", html_text(text));
  return fmt::format("<details><summary>Ran on {} nodes</summary><p>{}.</p></details>\n", runs.size(),
                     html_text(text));
}

using Sections = std::vector<std::pair<std::string, Section>>;

std::string fact_tables(const Sections& sections, bool same) {
  std::string html;
  for (const auto& [title, facts] : sections) {
    std::string rows;
    for (const auto& [key, found] : facts)
      if (found.same() == same) rows += fact_row(key, found);
    if (!rows.empty())
      html += fmt::format("<table>\n<caption>{}</caption>\n<tbody>\n{}</tbody>\n</table>\n",
                          html_text(spaced(title)), rows);
  }
  return html.empty() ? "" : "<div class=\"facts\">\n" + html + "</div>\n";
}

}  // namespace

std::string provenance_section(const StudyView& view) {
  std::string html = "<section id=\"provenance\">\n<h2>Provenance</h2>\n" + nodes_html(view);
  const Sections sections = collect(view);
  if (sections.empty()) return html + "<p>No run says what machine it ran on.</p>\n</section>\n";
  const std::string differing = fact_tables(sections, false), same = fact_tables(sections, true);
  if (!differing.empty()) html += "<p>Facts in which runs differ:</p>\n" + differing;
  if (!same.empty())
    html += fmt::format("<details{}><summary>Facts that are the same in every run</summary>\n{}</details>\n",
                        differing.empty() ? " open" : "", same);
  return html + "</section>\n";
}

}  // namespace trainyard::report
