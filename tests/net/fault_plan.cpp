#include "net/fault_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include <fmt/core.h>

#include "base/error.h"
#include "base/philox.h"

namespace trainyard::net_test {
namespace {

using Kind = Injection::Kind;

struct KindRow {
  Kind kind;
  std::string_view name;
  double least_seconds, most_seconds;  // 0: it takes no time
  double least_amount, most_amount;    // 0: there is none
};
constexpr KindRow kKinds[] = {
    {Kind::kill_worker, "kill-worker", 0, 0, 0, 0},
    {Kind::kill_server, "kill-server", 0, 0, 0, 0},
    {Kind::stop_worker, "stop-worker", 0.2, 6, 0, 0},
    {Kind::stop_server, "stop-server", 0.2, 6, 0, 0},
    {Kind::cut, "cut", 0, 0, 0, 0},
    {Kind::delay, "delay", 0.2, 3, 0.001, 0.2},
    {Kind::throttle, "throttle", 0.2, 3, 1e4, 1e6},
    {Kind::garbage, "garbage", 0, 0, 1, 300},
    {Kind::half_frame, "half-frame", 0, 0, 1, 5000},
    {Kind::freeze, "freeze", 0, 0, 0, 0},
    {Kind::cut_servers, "cut-servers", 0, 0, 0, 0},
    {Kind::delay_servers, "delay-servers", 0.2, 3, 0.001, 0.1},
    {Kind::freeze_servers, "freeze-servers", 0, 0, 0, 0},
    {Kind::stranger, "stranger", 0, 0, 1, 300},
};

const KindRow& row_of(Kind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const KindRow& row) { return row.kind == kind; });
}

bool counts_bytes(Kind kind) {
  return kind == Kind::throttle || kind == Kind::garbage || kind == Kind::half_frame ||
         kind == Kind::stranger;
}

// Draws a number between the two, evenly or over their magnitudes, and short as text: whole, or of three
// decimals.
double between(double least, double most, std::uint32_t word, bool whole) {
  const double share = to_unit_float(word);
  const double value =
      whole && least > 0 ? least * std::pow(most / least, share) : least + (most - least) * share;
  return whole ? std::round(value) : std::round(value * 1000) / 1000;
}

// Reads from the front of a line; what does not fit is an Error (config) with what stands there.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_blanks();
    return text_.empty();
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void want(std::string_view word) {
    if (!take(word)) wrong(fmt::format("'{}'", word));
  }
  template <typename Number>
  Number number() {
    skip_blanks();
    Number value{};
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) wrong("a number");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (value < Number{}) wrong("a number that is not negative in front");
    return value;
  }
  const KindRow& kind() {
    skip_blanks();
    const std::string_view word = text_.substr(0, text_.find(' '));
    for (const KindRow& row : kKinds)
      if (word == row.name && take(word)) return row;
    wrong("a kind of injection");
  }
  [[noreturn]] void wrong(const std::string& wanted) const {
    fail(ErrorKind::config, "fault plan: {} was expected at '{}'", wanted, text_.substr(0, 40));
  }

 private:
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }
  std::string_view text_;
};

std::string text_of(const Injection& injection) {
  const KindRow& row = row_of(injection.kind);
  std::string text = fmt::format("{} {} @{}{}", row.name, injection.target, injection.at,
                                 injection.clock == Injection::Clock::seconds ? 's' : 'u');
  if (row.most_seconds > 0) text += fmt::format(" for {}", injection.seconds);
  if (row.most_amount > 0) text += fmt::format(" by {}", injection.amount);
  return text;
}

Injection parse_injection(Words& words) {
  const KindRow& row = words.kind();
  Injection injection{.kind = row.kind, .target = words.number<int>()};
  words.want("@");
  injection.at = words.number<double>();
  if (words.take("u"))
    injection.clock = Injection::Clock::updates;
  else
    words.want("s");
  if (row.most_seconds > 0) {
    words.want("for");
    injection.seconds = words.number<double>();
  }
  if (row.most_amount > 0) {
    words.want("by");
    injection.amount = words.number<double>();
  }
  return injection;
}

}  // namespace

std::string_view name_of(Kind kind) { return row_of(kind).name; }

FaultPlan FaultPlan::parse(std::string_view text) {
  Words words(text);
  FaultPlan plan;
  words.want("seed");
  plan.seed = words.number<std::uint64_t>();
  words.want(":");
  while (!words.at_end()) {
    plan.injections.push_back(parse_injection(words));
    if (!words.at_end()) words.want(";");
  }
  return plan;
}

std::string FaultPlan::to_string() const {
  std::string text = fmt::format("seed {}:", seed);
  const char* between = " ";
  for (const Injection& injection : injections) {
    text += between + text_of(injection);
    between = "; ";
  }
  return text;
}

FaultPlan draw_plan(std::uint64_t seed, const RunShape& shape) {
  TRAINYARD_CHECK(!shape.kinds.empty() && shape.workers > 0 && shape.servers > 0);
  const Philox random(seed, stream_of("fault plan"));
  const bool by_updates = shape.clock == Injection::Clock::updates;
  FaultPlan plan{seed, {}};
  for (int i = 0; i < shape.injections; ++i) {
    const Philox::Block what = random.block(2 * static_cast<std::uint64_t>(i)),
                        how = random.block(2 * static_cast<std::uint64_t>(i) + 1);
    const KindRow& row = row_of(shape.kinds[what[0] % shape.kinds.size()]);
    const bool at_server =
        row.kind == Kind::kill_server || row.kind == Kind::stop_server || row.kind == Kind::stranger;
    const auto targets = static_cast<std::uint32_t>(at_server ? shape.servers : shape.workers);
    const double at = to_unit_float(what[2]) * shape.length;
    plan.injections.push_back(
        {.kind = row.kind,
         .target = static_cast<int>(what[1] % targets),
         .clock = shape.clock,
         .at = by_updates ? std::floor(at) : std::floor(at * 1000) / 1000,
         .seconds = between(row.least_seconds, std::min(row.most_seconds, shape.most_seconds), how[0], false),
         .amount = between(row.least_amount, row.most_amount, how[1], counts_bytes(row.kind))});
  }
  std::stable_sort(plan.injections.begin(), plan.injections.end(),
                   [](const Injection& a, const Injection& b) {
                     return std::tuple(a.clock, a.at) < std::tuple(b.clock, b.at);
                   });
  return plan;
}

FaultPlan plan_from(const std::vector<std::string>& arguments, std::uint64_t seed, const RunShape& shape) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (arguments[i] == "--plan") return FaultPlan::parse(value);
    if (arguments[i] == "--seed") seed = Words(value).number<std::uint64_t>();
  }
  return draw_plan(seed, shape);
}

}  // namespace trainyard::net_test
