#include <cctype>
#include <iterator>

#include "record/metric.h"
#include "report/naming.h"
#include "report/sections.h"
#include "report/text.h"

namespace trainyard::report {

namespace {

long long warnings_of(const CellView& cell) {
  long long count = 0;
  for (const record::RunRecord* run : cell.done) count += std::ssize(run->warnings);
  return count;
}

std::string unsteady_text(const CellThroughput& speed) {
  if (speed.steps == 0) return "-";
  std::string text = fmt::format("{} of {}", speed.unsteady_steps, speed.steps);
  if (speed.never_steady > 0)
    text += fmt::format(", {} never settled", count_text(speed.never_steady, "run"));
  return text;
}

std::string setting_cell(const Axis& axis, const record::Value& value) {
  const double number = record::number_or(value, NAN);
  const std::string exact = std::isnan(number) ? "" : fmt::format(" data-value=\"{}\"", number);
  return fmt::format("<td{}{}>{}</td>", axis.numeric ? " class=\"num\"" : "", exact,
                     html_text(record::to_text(value)));
}

std::string axis_heads(const std::vector<Axis>& axes) {
  std::string html;
  for (const Axis& axis : axes)
    html += fmt::format("<th{}>{}</th>", axis.numeric ? " class=\"num\"" : "", html_text(spaced(axis.name)));
  return html;
}

// If nodes differ, the spread that remains on one of them says whether runs can be trusted.
std::string spread_text(const CellThroughput& speed) {
  std::string text = percent_text(speed.run_to_run);
  if (speed.by_node)
    text += fmt::format(", {} within {} nodes", percent_text(speed.within_nodes), speed.nodes);
  return text;
}

std::string table_cell(const CellView& cell, const record::TableFigure& figure) {
  const std::optional<double> value = record::table_value(cell.done, figure);
  if (!value) return empty_cell(figure.name.text());
  return number_cell(figure.name.text(), *value,
                     figure.is_speed() ? number_text(*value) : figure.text(*value));
}

// Those that some cell has.
std::vector<const record::TableFigure*> table_figures(const StudyView& view) {
  std::vector<const record::TableFigure*> figures;
  for (const record::TableFigure& figure : record::kTableFigures)
    if (std::any_of(view.cells.begin(), view.cells.end(),
                    [&](const CellView& cell) { return record::table_value(cell.done, figure).has_value(); }))
      figures.push_back(&figure);
  return figures;
}

std::string figures(const CellView& cell) {
  const CellThroughput& speed = cell.throughput;
  std::string html = number_cell("runs", speed.runs, fmt::format("{}", speed.runs));
  if (speed.runs == 0) {
    for (const char* figure : {"mean", "median", "low", "run_to_run", "jitter", "unsteady"})
      html += empty_cell(figure);
  } else {
    html += number_cell("mean", speed.mean, number_text(speed.mean));
    html += number_cell("median", speed.median, number_text(speed.median));
    if (speed.has_interval()) {
      html += fmt::format(
          "<td class=\"num\" data-figure=\"low\" data-value=\"{}\" data-high=\"{}\">{} to {}</td>",
          speed.interval.low, speed.interval.high, number_text(speed.interval.low),
          number_text(speed.interval.high));
      html += number_cell("run_to_run", speed.run_to_run, spread_text(speed));
    } else {
      html += empty_cell("low") + empty_cell("run_to_run");
    }
    html += number_cell("jitter", speed.jitter, percent_text(speed.jitter));
    html += number_cell("unsteady", static_cast<double>(speed.unsteady_steps), unsteady_text(speed));
  }
  const long long warnings = warnings_of(cell);
  return html + number_cell("warnings", static_cast<double>(warnings), fmt::format("{}", warnings));
}

}  // namespace

std::string results_section(const StudyView& view) {
  constexpr std::size_t kManyRows = 20;
  std::string html = "<section id=\"results\">\n<h2>Results</h2>\n";
  if (view.cells.size() > kManyRows)
    html +=
        "<p class=\"filter\" hidden><input type=\"search\" data-filter=\"cells\" aria-label=\"Show rows that "
        "hold "
        "these words\" placeholder=\"Filter rows\"><output></output></p>\n";
  html +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results of every cell\">\n<table "
      "id=\"cells\" class=\"sortable\">\n<thead><tr>";
  if (view.axes.empty()) html += "<th>cell</th>";
  // The settings that name a cell stand before its figures; the settings that follow from those stand behind.
  const std::vector<Axis> naming = naming_axes(all_cells(view), view.axes);
  std::vector<Axis> others;
  std::copy_if(view.axes.begin(), view.axes.end(), std::back_inserter(others), [&](const Axis& axis) {
    return std::none_of(naming.begin(), naming.end(),
                        [&](const Axis& named) { return named.name == axis.name; });
  });
  html += axis_heads(naming);
  const bool files = !view.links.logs.empty() || !view.links.record_files.empty();
  html +=
      "<th class=\"num\">runs</th><th class=\"num\">images/s<br><small>mean of runs</small></th>"
      "<th class=\"num\">images/s<br><small>median run</small></th>"
      "<th class=\"num\">95 % interval<br><small>between runs</small></th>"
      "<th class=\"num\">run-to-run<br><small>CV</small></th>"
      "<th class=\"num\">jitter<br><small>within a run</small></th>"
      "<th class=\"num\">steps<br><small>left out as unsteady</small></th><th class=\"num\">warnings</th>";
  const std::vector<const record::TableFigure*> more = table_figures(view);
  for (const record::TableFigure* figure : more)
    html += fmt::format("<th class=\"num\">{}<br><small>{}</small></th>", figure->head, figure->note);
  html += axis_heads(others);
  if (files) html += "<th>files</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const CellView& cell : view.cells) {
    html += fmt::format("<tr data-cell=\"{}\">", html_text(cell.id));
    if (view.axes.empty()) html += fmt::format("<td>{}</td>", html_text(cell.label));
    for (const Axis& axis : naming) html += setting_cell(axis, cell.setting(axis.name));
    html += figures(cell);
    for (const record::TableFigure* figure : more) html += table_cell(cell, *figure);
    for (const Axis& axis : others) html += setting_cell(axis, cell.setting(axis.name));
    if (files)
      html += fmt::format("<td class=\"runs\">{}</td>",
                          run_links(cell.done.empty() ? cell.failed : cell.done, view.links));
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n</section>\n";
}

namespace {

std::string badges(const CellView& cell) {
  std::map<record::Status, int> classes;
  for (const record::RunRecord* run : cell.failed) ++classes[run->status];
  std::string html;
  for (const auto& [status, count] : classes)
    html += fmt::format("<span class=\"badge\">{} {}</span> ", count, name(status));
  return html;
}

std::string reasons(const CellView& cell) {
  std::set<std::string> texts;
  for (const record::RunRecord* run : cell.failed) texts.insert(run->reason);
  std::string html;
  for (const std::string& text : texts) html += fmt::format("<div>{}</div>", html_text(text));
  return html;
}

std::string completeness_row(const CellView& cell, const FileLinks& links) {
  return fmt::format(
      "<tr data-cell=\"{}\"{}><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td>"
      "<td>{}</td><td class=\"num\">{}</td><td class=\"reason\">{} <span "
      "class=\"runs\">{}</span></td></tr>\n",
      html_text(cell.id), cell.complete() ? "" : " class=\"incomplete\"", html_text(cell.label),
      cell.expected(), cell.done.size(), badges(cell), cell.missing, reasons(cell),
      run_links(cell.failed, links));
}

// Runs that failed alike: reasons that differ in numbers alone (of jobs, times, bytes) are one.
struct Failure {
  record::Status status;
  std::string reason;  // of the first
  std::vector<const record::RunRecord*> runs;
  std::vector<std::string> cells;  // labels
};

std::vector<Failure> failures_of(const StudyView& view) {
  std::map<std::pair<record::Status, std::string>, Failure> kinds;
  for (const CellView& cell : view.cells)
    for (const record::RunRecord* run : cell.failed) {
      std::string plain;
      for (const char c : run->reason)
        if (std::isdigit(static_cast<unsigned char>(c)) == 0)
          plain += c;
        else if (!plain.ends_with('#'))
          plain += '#';
      Failure& kind =
          kinds.try_emplace({run->status, plain}, Failure{run->status, run->reason, {}, {}}).first->second;
      kind.runs.push_back(run);
      if (kind.cells.empty() || kind.cells.back() != cell.label) kind.cells.push_back(cell.label);
    }
  std::vector<Failure> failures;
  for (auto& [key, kind] : kinds) failures.push_back(std::move(kind));
  std::stable_sort(failures.begin(), failures.end(),
                   [](const Failure& a, const Failure& b) { return a.runs.size() > b.runs.size(); });
  return failures;
}

std::string failure_table(const StudyView& view, const std::vector<Failure>& failures) {
  std::string html =
      "<div class=\"scroll\">\n<table class=\"sortable\">\n<thead><tr><th>ended</th><th "
      "class=\"num\">runs</th>"
      "<th>reason</th><th>cells</th></tr></thead>\n<tbody>\n";
  for (const Failure& failure : failures) {
    std::string cells;
    for (const std::string& cell : failure.cells) cells += fmt::format("<li>{}</li>", html_text(cell));
    html += fmt::format(
        "<tr><td><span class=\"badge\">{}</span></td><td class=\"num\" data-value=\"{}\">{}</td>"
        "<td class=\"reason\">{} <span class=\"runs\">{}</span></td>"
        "<td><details><summary>{}</summary><ul>{}</ul></details></td></tr>\n",
        name(failure.status), failure.runs.size(), failure.runs.size(), html_text(failure.reason),
        run_links(failure.runs, view.links), count_text(std::ssize(failure.cells), "cell"), cells);
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace

std::string completeness_section(const StudyView& view) {
  constexpr std::size_t kFewCells = 12;
  std::size_t incomplete = 0;
  for (const CellView& cell : view.cells) incomplete += cell.complete() ? 0 : 1;
  std::string html = "<section id=\"completeness\">\n<h2>Completeness</h2>\n";
  html += incomplete == 0
              ? fmt::format("<p>Nothing is lost: {} complete.</p>\n",
                            view.cells.size() == 1 ? "the only cell is"
                                                   : fmt::format("all {} cells are", view.cells.size()))
              : fmt::format("<p>{} of {} lack a run. What failed is here with its reason.</p>\n", incomplete,
                            count_text(std::ssize(view.cells), "cell"));
  // Long lists of cells say less than the kinds of failures.
  const std::vector<Failure> failures = failures_of(view);
  const bool by_kind = incomplete > kFewCells && !failures.empty();
  if (by_kind) html += failure_table(view, failures);
  // Thousands of complete cells are in the results already.
  const bool all = view.cells.size() <= kMostCells;
  if (!all && incomplete == 0) return html + "</section>\n";
  html += fmt::format(
      "<details{}><summary>Runs of every {}cell</summary>\n<div class=\"scroll\">\n<table "
      "class=\"sortable\">\n",
      incomplete == 0 || by_kind ? "" : " open", all ? "" : "incomplete ");
  html +=
      "<thead><tr><th>cell</th><th class=\"num\">expected</th><th class=\"num\">done</th><th>failed</th>"
      "<th class=\"num\">missing</th><th>reasons</th></tr></thead>\n<tbody>\n";
  std::vector<const CellView*> cells;
  for (const CellView& cell : view.cells) cells.push_back(&cell);
  std::stable_partition(cells.begin(), cells.end(), [](const CellView* cell) { return !cell->complete(); });
  for (const CellView* cell : cells)
    if (all || !cell->complete()) html += completeness_row(*cell, view.links);
  return html + "</tbody>\n</table>\n</div>\n</details>\n</section>\n";
}

}  // namespace trainyard::report
