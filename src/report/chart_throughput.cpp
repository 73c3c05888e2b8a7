#include "report/chart.h"
#include "report/naming.h"
#include "report/spec.h"
#include "report/text.h"

namespace trainyard::report {
namespace {

// A part of more cells is a table of numbers where it has rows and columns, and else has bars up to the
// second.
constexpr std::size_t kMostGaps = 3;  // cells without a result that a panel of bars shows
constexpr std::size_t kMostBars = 16, kMostBarsWithoutTable = 60, kMostRows = 20, kMostColumns = 16;

// The text comes first, as all cells have one: it gives the bars their order. Beyond the longest bar is room
// for its number.
constexpr const char* kThroughputView = R"json({
  "height": {"step": 26},
  "encoding": {
    "y": {"field": "cell", "type": "nominal", "sort": null, "title": null, "axis": {"labelOverlap": false}}
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell' || datum.kind == 'none'"}],
      "mark": {"type": "text", "align": "left", "dx": 8},
      "encoding": {
        "x": {"field": "end", "type": "quantitative", "title": "images per second", "scale": {"nice": false, "zero": true},
              "axis": {"labelExpr": "format(datum.value, ',.6~r')", "tickCount": 5}},
        "text": {"field": "text"},
        "color": {"condition": {"test": "datum.kind == 'none'", "value": "@alarm"}, "value": "@soft"}
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'room'"}],
      "mark": {"type": "tick", "opacity": 0, "aria": false},
      "encoding": {"x": {"field": "end", "type": "quantitative"}}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "bar", "height": 13, "cornerRadiusEnd": 3, "opacity": 0.82, "color": "@c1"},
      "encoding": {
        "x": {"field": "median", "type": "quantitative"},
        "tooltip": $tooltip
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'cell' && isValid(datum.low)"}],
      "mark": {"type": "rule", "strokeWidth": 2, "color": "@ink"},
      "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}, "tooltip": $tooltip}
    },
    {
      "transform": [{"filter": "datum.kind == 'run'"}],
      "mark": {"type": "point", "size": 30, "filled": true, "fill": "@card", "stroke": "@ink",
               "strokeWidth": 1.1, "opacity": 0.9},
      "encoding": {
        "x": {"field": "value", "type": "quantitative"},
        "tooltip": [
          {"field": "label", "title": "cell"}, {"field": "run"}, {"field": "node"},
          {"field": "value", "type": "quantitative", "title": "images/s", "format": ",.4~r"}
        ]
      }
    }
  ]
})json";

constexpr const char* kTooltip = R"json([
  {"field": "label", "title": "cell"},
  {"field": "median", "type": "quantitative", "title": "images/s", "format": ",.4~r"},
  {"field": "low", "type": "quantitative", "title": "95 % from", "format": ",.4~r"},
  {"field": "high", "type": "quantitative", "title": "95 % to", "format": ",.4~r"},
  {"field": "runs", "type": "quantitative", "title": "runs"}
])json";

// Shades are shares of the way from the slowest to the fastest cell of a panel, by logarithms.
constexpr const char* kTableView = R"json({
  "height": {"step": 23},
  "encoding": {
    "x": {"field": "column", "type": "nominal", "sort": $columns, "title": $title,
          "axis": {"orient": "top", "labelAngle": 0, "ticks": false, "domain": false, "labelOverlap": "greedy", "labelBound": true, "labelPadding": 4, "titlePadding": 4, "titleFontWeight": 500, "titleColor": "@soft"}},
    "y": {"field": "cell", "type": "nominal", "sort": null, "title": null, "axis": {"labelOverlap": false}}
  },
  "layer": [
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "rect", "stroke": "@card", "strokeWidth": 1.5, "cornerRadius": 3},
      "encoding": {
        "color": {"field": "shade", "type": "quantitative", "legend": null, "scale": {"domain": [0, 0.5, 1], "range": ["@low", "@middle", "@high"]}},
        "tooltip": $tooltip
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'none'"}],
      "mark": {"type": "rect", "fill": "@failed", "stroke": "@card", "strokeWidth": 1.5, "cornerRadius": 3},
      "encoding": {"tooltip": [{"field": "label", "title": "cell"}, {"field": "why", "title": "no result"}]}
    },
    {
      "transform": [{"filter": "datum.kind == 'cell'"}],
      "mark": {"type": "text", "fontSize": 11},
      "encoding": {
        "text": {"field": "text"},
        "color": {"condition": {"test": "datum.shade > 0.6", "value": "@on_high"}, "value": "@on_low"},
        "tooltip": $tooltip
      }
    },
    {
      "transform": [{"filter": "datum.kind == 'none'"}],
      "mark": {"type": "text", "fontSize": 10.5, "color": "@alarm"},
      "encoding": {"text": {"field": "text"}, "tooltip": [{"field": "label", "title": "cell"}, {"field": "why", "title": "no result"}]}
    }
  ]
})json";

std::string why_none(const CellView& cell) {
  return cell.failed.empty() ? "missing" : name(cell.failed.front()->status);
}

Row summary_of(const CellView& cell) {
  const CellThroughput& speed = cell.throughput;
  Row summary{{"median", speed.centre()}, {"runs", std::int64_t{speed.runs}}};
  if (speed.has_interval())
    summary.insert(summary.end(), {{"low", speed.interval.low}, {"high", speed.interval.high}});
  return summary;
}

void add_row(std::vector<Row>& rows, const Row& head, const char* kind, const Row& rest) {
  Row row = head;
  row.emplace_back("kind", std::string(kind));
  row.insert(row.end(), rest.begin(), rest.end());
  rows.push_back(std::move(row));
}

void add_bar(std::vector<Row>& rows, const CellView& cell, const Row& head) {
  const CellThroughput& speed = cell.throughput;
  if (speed.runs == 0) {
    const std::string text = cell.failed.empty() ? "no result yet" : "no result: " + why_none(cell);
    add_row(rows, head, "none", {{"text", text}, {"end", 0.0}});
    return;
  }
  Row summary = summary_of(cell);
  summary.insert(summary.end(),
                 {{"end", std::max(speed.max, speed.has_interval() ? speed.interval.high : speed.centre())},
                  {"text", number_text(speed.centre())}});
  add_row(rows, head, "cell", summary);
  for (const record::RunRecord* run : cell.done)
    if (run->images_per_second)
      add_row(rows, head, "run", {{"value", *run->images_per_second}, {"run", run->id}, {"node", run->node}});
}

bool has_result(const Cells& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const CellView* cell) { return cell->throughput.runs > 0; });
}

// "1,473" where there is room, else "1.5k".
std::string short_text(double number) {
  for (const auto& [size, letter] : {std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "k")})
    if (number >= size) return fmt::format("{:.{}f}{}", number / size, number < 10 * size ? 1 : 0, letter);
  return fmt::format("{:.{}f}", number, number < 10 ? 1 : 0);
}

// Places of the table that has these columns: rows times columns, of cells with a result.
std::size_t table_area(const ScalePart& part, const Axis& column) {
  std::set<std::vector<record::Value>> rows;
  std::set<record::Value> columns;
  for (const CellView* cell : part.cells) {
    if (cell->throughput.runs == 0) continue;
    std::vector<record::Value> row;
    for (const Axis& axis : part.axes)
      if (axis.name != column.name) row.push_back(cell->setting(axis.name));
    rows.insert(std::move(row));
    columns.insert(cell->setting(column.name));
  }
  return rows.size() * columns.size();
}

// Returns the axis whose values are the columns: a number where there is one, whose table has few gaps; of
// those that are about as good the one with most values.
const Axis* column_axis(const ScalePart& part) {
  constexpr double kAboutAsGood = 1.3;
  const bool numbers = std::any_of(part.axes.begin(), part.axes.end(), [](const Axis& axis) {
    return axis.numeric && axis.values.size() <= kMostColumns;
  });
  const Axis* best = nullptr;
  double best_area = 0;
  for (const Axis& axis : part.axes) {
    if (axis.values.size() > kMostColumns || axis.numeric != numbers) continue;
    const auto area = static_cast<double>(table_area(part, axis));
    const bool larger = best != nullptr && axis.values.size() > best->values.size();
    if (best == nullptr || kAboutAsGood * area < best_area || (larger && area <= kAboutAsGood * best_area)) {
      best = &axis;
      best_area = area;
    }
  }
  return best;
}

std::size_t count_measured(const Cells& cells) {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const CellView* cell) { return cell->throughput.runs > 0; }));
}

// Returns whether a part is drawn as bars, and not only as its table.
bool has_bars(const ScalePart& part) {
  const bool tabular = part.axes.size() > 1 && column_axis(part) != nullptr;
  return count_measured(part.cells) <= (tabular ? kMostBars : kMostBarsWithoutTable);
}

struct Table {
  std::vector<Row> rows;
  std::vector<std::string> panels;
  std::size_t without_result = 0;  // cells of rows that have no number at all, which are not drawn
};

// TablePart holds the settings of one part in rows, columns and, where rows would be many, panels.
class TablePart {
 public:
  explicit TablePart(const ScalePart& part, const Axis& column) : part_(part), column_(column) {
    for (const Axis& axis : part.axes)
      if (axis.name != column.name) rows_.push_back(axis);
    while (rows_.size() > 1 && count_rows() > kMostRows) {
      panels_.push_back(rows_.front());
      rows_.erase(rows_.begin());
    }
  }

  void add_to(Table& table) const {
    std::map<std::string, Cells> by_panel;
    std::vector<std::string> order;
    for (const CellView* cell : part_.cells) {
      const std::string panel = title(*cell);
      if (!by_panel.contains(panel)) order.push_back(panel);
      by_panel[panel].push_back(cell);
    }
    for (const std::string& panel : order) {
      if (!has_result(by_panel[panel])) {
        table.without_result += by_panel[panel].size();
        continue;
      }
      table.panels.push_back(panel);
      add_panel(table, panel, by_panel[panel]);
    }
  }

 private:
  std::size_t count_rows() const {
    std::set<std::string> names;
    for (const CellView* cell : part_.cells) names.insert(label(*cell, panels_) + "\n" + label(*cell, rows_));
    std::map<std::string, std::size_t> counts;
    for (const std::string& name : names) ++counts[name.substr(0, name.find('\n'))];
    std::size_t most = 0;
    for (const auto& [panel, count] : counts) most = std::max(most, count);
    return most;
  }

  std::string row_name(const CellView& cell) const { return rows_.empty() ? " " : label(cell, rows_); }

  std::string title(const CellView& cell) const {
    const std::string words = panels_.empty() ? "" : label(cell, panels_);
    return part_.name.empty() || words.empty() ? part_.name + words : part_.name + ": " + words;
  }

  void add_panel(Table& table, const std::string& panel, const Cells& cells) const {
    double low = INFINITY, high = 0;
    for (const CellView* cell : cells)
      if (cell->throughput.runs > 0) {
        low = std::min(low, cell->throughput.centre());
        high = std::max(high, cell->throughput.centre());
      }
    std::set<std::string> measured;  // rows
    for (const CellView* cell : cells)
      if (cell->throughput.runs > 0) measured.insert(row_name(*cell));
    for (const CellView* cell : cells) {
      if (!measured.contains(row_name(*cell))) {
        ++table.without_result;
        continue;
      }
      const record::Value value = cell->setting(column_.name);
      const Row head{{"panel", panel},
                     {"cell", row_name(*cell)},
                     {"column", record::to_text(value)},
                     {"label", cell->label}};
      if (cell->throughput.runs == 0) {
        add_row(table.rows, head, "none",
                {{"text", why_none(*cell)}, {"short", std::string("-")}, {"why", why_none(*cell)}});
        continue;
      }
      const double speed = cell->throughput.centre();
      Row row = summary_of(*cell);
      row.insert(row.end(), {{"text", number_text(speed)},
                             {"short", short_text(speed)},
                             {"shade", high > low ? std::log(speed / low) / std::log(high / low) : 0.4}});
      add_row(table.rows, head, "cell", row);
    }
  }

  const ScalePart& part_;
  const Axis& column_;
  std::vector<Axis> rows_, panels_;
};

Chart make_bars(const std::vector<ScalePart>& parts) {
  Chart chart{"throughput", "Throughput of every cell",
              "Images per second. Bar: median over runs. Line: 95 % interval between runs. Dots: the runs.",
              "", ""};
  std::vector<Row> rows;
  Panels panels{"panel", {}, {"x", "y"}};
  std::size_t without_result = 0;
  for (const ScalePart& part : parts) {
    if (!has_bars(part)) continue;
    panels.values.push_back(part.name);
    const std::size_t gaps = part.cells.size() - count_measured(part.cells);
    const bool few_gaps = gaps <= kMostGaps;
    without_result += few_gaps ? 0 : gaps;
    double longest = 0;
    for (const CellView* cell : part.cells) {
      if (cell->throughput.runs == 0 && !few_gaps) continue;
      const Row head{{"cell", part.axes.empty() ? cell->label : label(*cell, part.axes)},
                     {"panel", part.name},
                     {"label", cell->label}};
      add_bar(rows, *cell, head);
      longest = std::max(longest, std::max(cell->throughput.max, cell->throughput.interval.high));
    }
    Row room{{"cell", rows.back().front().second}, {"panel", part.name}};
    add_row(rows, room, "room", {{"end", longest * 1.3}});
  }
  if (without_result > 0)
    chart.explanation += fmt::format(" {} without a result are not drawn.",
                                     count_text(static_cast<long long>(without_result), "cell"));
  if (rows.empty()) return chart;
  if (parts.size() == 1) panels = {};
  if (parts.size() > 1)
    chart.explanation += " Each panel has its own scale: its cells are of one order of speed.";
  chart.spec =
      finish_spec(fill_spec(kThroughputView, {{"tooltip", kTooltip}}), rows, panels, {2, 440, 0, "cell"});
  return chart;
}

// Returns a table a part that is too large for bars, where they agree on the setting of the columns.
std::vector<Chart> make_tables(const StudyView& view, const std::vector<ScalePart>& parts) {
  std::map<std::string, Table> tables;  // by the setting of their columns
  std::vector<std::string> order;
  for (const ScalePart& part : parts) {
    const Axis* column = column_axis(part);
    if (has_bars(part) || column == nullptr || part.axes.size() < 2) continue;
    if (!tables.contains(column->name)) order.push_back(column->name);
    TablePart(part, *column).add_to(tables[column->name]);
  }
  std::vector<Chart> charts;
  for (const std::string& column : order) {
    const Table& table = tables[column];
    if (table.rows.empty()) continue;
    Chart chart{"throughput-" + column, fmt::format("Throughput by {}", spaced(column)),
                fmt::format("Images per second of each cell; columns: {}. The stronger the colour, the "
                            "faster within a panel, by "
                            "logarithms; words stand where no run went well.",
                            spaced(column)),
                "", ""};
    if (table.without_result > 0)
      chart.explanation += fmt::format(" {} in rows without any result are not drawn.",
                                       count_text(static_cast<long long>(table.without_result), "cell"));
    std::map<std::string, std::set<std::string>> columns;
    for (const Row& row : table.rows)
      columns[record::to_text(row[0].second)].insert(record::to_text(row[2].second));
    std::size_t most = 1;
    for (const auto& [panel, names] : columns) most = std::max(most, names.size());
    std::vector<std::string> names;  // of the columns of all panels, in the order of the study
    for (const record::Value& value : view.find_axis(column)->values) names.push_back(record::to_text(value));
    Panels panels;
    if (table.panels.size() > 1 || !table.panels.front().empty())
      panels = {"panel", table.panels, {"x", "y"}};
    chart.spec = finish_spec(
        fill_spec(kTableView,
                  {{"tooltip", kTooltip}, {"columns", to_json(names)}, {"title", to_json(spaced(column))}}),
        table.rows, panels,
        {most > 8   ? 1
         : most > 4 ? 2
                    : 3,
         most > 4 ? 480 : 340, 0, "cell", static_cast<int>(most)});
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace

std::vector<Chart> make_throughput_charts(const StudyView& view) {
  Chart none{"throughput", "Throughput of every cell", "", "", ""};
  const auto measured = std::count_if(view.cells.begin(), view.cells.end(),
                                      [](const CellView& cell) { return cell.throughput.runs > 0; });
  if (measured == 0) {
    none.left_out = "no run has a throughput yet";
  } else if (view.cells.size() == 1) {
    none.left_out = fmt::format("there is one cell only, with {} images/s",
                                number_text(view.cells.front().throughput.centre()));
  } else if (view.cells.size() > kMostCells) {
    none.left_out = fmt::format("{} cells are too many for bars", view.cells.size());
  }
  if (!none.left_out.empty()) return {none};
  std::vector<ScalePart> parts = split_by_scale(view);
  std::erase_if(parts, [](const ScalePart& part) { return !has_result(part.cells); });
  std::vector<Chart> charts = make_tables(view, parts);
  if (Chart bars = make_bars(parts); !bars.spec.empty()) charts.insert(charts.begin(), std::move(bars));
  none.left_out = fmt::format("{} cells are too many for bars", view.cells.size());
  return charts.empty() ? std::vector<Chart>{none} : charts;
}

}  // namespace trainyard::report
