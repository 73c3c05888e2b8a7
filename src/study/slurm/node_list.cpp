#include "study/slurm/node_list.h"

#include <charconv>

#include "base/error.h"

namespace trainyard::study::slurm {
namespace {

constexpr std::size_t kMaxDigits = 15;  // numbers stay far from overflow

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Accepts digits only, and not too many of them.
std::optional<std::int64_t> to_index(std::string_view digits) {
  if (digits.empty() || digits.size() > kMaxDigits || !std::all_of(digits.begin(), digits.end(), is_digit))
    return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string padded(std::int64_t number, std::size_t width) { return fmt::format("{:0{}}", number, width); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// NodeListReader reads one list of hosts; it keeps the whole text for messages.
class NodeListReader {
 public:
  explicit NodeListReader(std::string_view text) : text_(text) {}

  std::vector<std::string> read() {
    std::vector<std::string> nodes;
    while (position_ < text_.size()) {
      std::vector<std::string> item = read_item();
      if (nodes.size() + item.size() > kMaxNodes) too_many();
      nodes.insert(nodes.end(), item.begin(), item.end());
      if (position_ == text_.size()) break;
      if (++position_ == text_.size()) malformed("it ends with a comma");
    }
    return nodes;
  }

 private:
  [[noreturn]] void malformed(const std::string& why) const {
    fail(ErrorKind::config, "node list '{}': {}", text_.substr(0, 200), why);
  }
  [[noreturn]] void too_many() const { malformed(fmt::format("more than {} hosts", kMaxNodes)); }

  // Reads up to the next comma outside of brackets.
  std::vector<std::string> read_item() {
    const std::size_t begin = position_, last_bracket = last_bracket_of_item();
    std::vector<std::string> nodes{""};
    for (; position_ < text_.size() && text_[position_] != ','; ++position_) {
      const char c = text_[position_];
      if (c == '[') {
        const bool is_last = position_ == last_bracket;
        nodes = product(nodes, read_brackets(), is_last);
      } else if (c == ']') {
        malformed("']' without a '['");
      } else if (static_cast<unsigned char>(c) <= ' ') {
        malformed("a blank");
      } else {
        for (std::string& node : nodes) node += c;
      }
    }
    if (position_ == begin) malformed("an empty name");
    return nodes;
  }

  std::size_t last_bracket_of_item() const {
    std::size_t last = std::string_view::npos;
    bool inside = false;
    for (std::size_t i = position_; i < text_.size() && (inside || text_[i] != ','); ++i) {
      if (text_[i] == '[') last = i;
      if (text_[i] == '[' || text_[i] == ']') inside = text_[i] == '[';
    }
    return last;
  }

  // Starts at '[' and ends at ']'.
  std::vector<std::string> read_brackets() {
    const std::size_t begin = position_ + 1, end = text_.find_first_of("[]", begin);
    if (end == std::string_view::npos) malformed("'[' without a ']'");
    if (text_[end] == '[') malformed("a '[' inside brackets");
    std::vector<std::string> numbers;
    for (const std::string_view range : split(text_.substr(begin, end - begin), ',')) append(range, numbers);
    position_ = end;
    return numbers;
  }

  void append(std::string_view range, std::vector<std::string>& numbers) const {
    const std::size_t dash = range.find('-');
    const std::string_view low_text = range.substr(0, dash);
    const auto low = to_index(low_text);
    const auto high = dash == std::string_view::npos ? low : to_index(range.substr(dash + 1));
    if (!low || !high) malformed(fmt::format("'{}' is no number or range LOW-HIGH", range));
    if (*high < *low) malformed(fmt::format("the range '{}' runs backwards", range));
    if (*high - *low >= static_cast<std::int64_t>(kMaxNodes - numbers.size())) too_many();
    for (std::int64_t number = *low; number <= *high; ++number)
      numbers.push_back(padded(number, low_text.size()));
  }

  std::vector<std::string> product(const std::vector<std::string>& heads,
                                   const std::vector<std::string>& tails, bool tails_run_fastest) const {
    if (heads.size() * tails.size() > kMaxNodes) too_many();
    std::vector<std::string> all;
    all.reserve(heads.size() * tails.size());
    if (tails_run_fastest) {
      for (const std::string& head : heads)
        for (const std::string& tail : tails) all.push_back(head + tail);
    } else {
      for (const std::string& tail : tails)
        for (const std::string& head : heads) all.push_back(head + tail);
    }
    return all;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::vector<std::string> expand_node_list(std::string_view text) { return NodeListReader(text).read(); }

std::vector<int> expand_task_list(std::string_view text) {
  const std::string_view whole = text;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));
  std::vector<int> tasks;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view range = part.substr(0, part.find(':'));
    const std::size_t dash = range.find('-');
    const auto low = to_index(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : to_index(range.substr(dash + 1));
    const auto step = range.size() == part.size() ? std::optional<std::int64_t>(1)
                                                  : to_index(part.substr(range.size() + 1));
    if (!low || !high || !step || *step < 1 || *high < *low || *high > 4'000'000)
      fail(ErrorKind::config, "array tasks '{}': '{}' is no number or range", whole.substr(0, 200), part);
    for (std::int64_t task = *low; task <= *high; task += *step) tasks.push_back(static_cast<int>(task));
  }
  return tasks;
}

}  // namespace trainyard::study::slurm
