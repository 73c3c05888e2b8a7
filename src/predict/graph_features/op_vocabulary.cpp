#include "predict/graph_features/op_vocabulary.h"

#include <charconv>

namespace trainyard::predict {
namespace {

constexpr std::size_t kMostTypes = 100'000;

struct Row {
  std::string type;
  double number;
};

// Returns nothing where the second field is no number.
std::vector<Row> read_rows(std::string_view text, const std::string& who) {
  std::vector<Row> rows;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) continue;
    const std::size_t comma = row.rfind(',');
    double number = 0;
    const char* last = row.data() + row.size();
    const bool read = comma != std::string_view::npos && comma > 0 &&
                      std::from_chars(row.data() + comma + 1, last, number).ptr == last &&
                      comma + 1 < row.size();
    if (!read && line == 1 && comma != std::string_view::npos) continue;  // names of columns
    if (!read || !(number >= 0 && number <= 1e15))
      fail(ErrorKind::config, "{}:{}: '{}' is not an op and its count or share", who, line,
           row.substr(0, 64));
    if (rows.size() == kMostTypes) fail(ErrorKind::config, "{}: more than {} ops", who, kMostTypes);
    rows.push_back({std::string(row.substr(0, comma)), number});
  }
  return rows;
}

}  // namespace

void OpVocabulary::add(const std::string& type, std::int64_t count) {
  const auto [found, is_new] = numbers_.try_emplace(type, size());
  if (is_new) counts_.emplace_back(type, 0);
  counts_[static_cast<std::size_t>(found->second)].second += count;
  total_ += count;
}

void OpVocabulary::add(const interchange::ExchangeGraph& graph) {
  for (const interchange::OpNode& node : graph.nodes) add(node.type);
}

int OpVocabulary::number(std::string_view type) const {
  const auto found = numbers_.find(std::string(type));
  return found == numbers_.end() ? kUnknownOp : found->second;
}

std::int64_t OpVocabulary::count(std::string_view type) const {
  return counts_[static_cast<std::size_t>(number(type))].second;
}

double OpVocabulary::frequency(std::string_view type) const {
  return total_ == 0 ? 0 : static_cast<double>(count(type)) / static_cast<double>(total_);
}

std::string OpVocabulary::to_csv() const {
  auto rows = counts_;
  rows.erase(rows.begin());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text = "operation,count\n";
  for (const auto& [type, count] : rows) text += fmt::format("{},{}\n", type, count);
  return text;
}

OpVocabulary OpVocabulary::from_csv(std::string_view text, const std::string& who) {
  const std::vector<Row> rows = read_rows(text, who);
  if (rows.empty()) fail(ErrorKind::config, "{}: no op in it", who);
  std::vector<double> numbers;
  bool whole = true;
  for (const Row& row : rows) {
    numbers.push_back(row.number);
    whole = whole && row.number == std::floor(row.number);
  }
  std::vector<std::int64_t> counts;
  if (whole)
    for (const double number : numbers) counts.push_back(static_cast<std::int64_t>(number));
  else
    counts = whole_numbers(numbers);
  if (counts.empty()) fail(ErrorKind::config, "{}: no whole numbers have these shares", who);
  OpVocabulary vocabulary;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (vocabulary.number(rows[i].type) != kUnknownOp)
      fail(ErrorKind::config, "{}: op '{}' is there twice", who, rows[i].type);
    vocabulary.add(rows[i].type, counts[i]);
  }
  return vocabulary;
}

std::vector<std::int64_t> whole_numbers(const std::vector<double>& shares, std::int64_t most) {
  double sum = 0;
  for (const double share : shares) {
    if (!(share >= 0 && share <= 1)) return {};
    sum += share;
  }
  if (shares.empty() || std::abs(sum - 1) > 1e-6) return {};
  for (std::int64_t total = 1; total <= most; ++total) {
    // Shares are written to 16 digits, so the remainder of a count is far below this.
    const double slack = 1e-9 * static_cast<double>(total) / 100 + 1e-9;
    const auto is_count = [&](double share) {
      const double exact = share * static_cast<double>(total);
      return std::abs(exact - std::round(exact)) <= slack;
    };
    if (!std::all_of(shares.begin(), shares.end(), is_count)) continue;
    std::vector<std::int64_t> counts;
    std::int64_t counted = 0;
    for (const double share : shares) {
      counts.push_back(std::llround(share * static_cast<double>(total)));
      counted += counts.back();
    }
    if (counted == total) return counts;
  }
  return {};
}

}  // namespace trainyard::predict
