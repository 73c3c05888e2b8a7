#include "predict/gnn/repeats.h"

#include <charconv>

#include "base/error.h"

namespace trainyard::predict {

namespace {

constexpr double kMost = 1e6;

const char* name(Repeats::Rule rule) {
  switch (rule) {
    case Repeats::Rule::fixed:
      return "";
    case Repeats::Rule::nodes:
      return "nodes";
    case Repeats::Rule::log2:
      return "log2";
    case Repeats::Rule::log10:
      return "log10";
    case Repeats::Rule::root:
      return "root";
  }
  return "";
}

double value(Repeats::Rule rule, double nodes) {
  switch (rule) {
    case Repeats::Rule::fixed:
      return 1;
    case Repeats::Rule::nodes:
      return nodes;
    case Repeats::Rule::log2:
      return std::log2(nodes);
    case Repeats::Rule::log10:
      return std::log10(nodes);
    case Repeats::Rule::root:
      return std::sqrt(nodes);
  }
  return 1;
}

}  // namespace

std::int64_t Repeats::on(std::int64_t nodes) const {
  // A third of 9 must be 3 despite rounding errors.
  const double times = factor * value(rule, static_cast<double>(std::max<std::int64_t>(nodes, 1))) + 1e-9;
  return static_cast<std::int64_t>(std::clamp(times, 1.0, kMost));
}

std::string Repeats::text() const {
  return rule == Rule::fixed ? fmt::format("{}", factor) : fmt::format("{} {}", factor, name(rule));
}

Repeats parse_repeats(std::string_view text) {
  Repeats repeats{Repeats::Rule::fixed, 0};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), repeats.factor);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (code == std::errc() && repeats.factor > 0 && repeats.factor <= kMost) {
    if (rest.empty()) return repeats;
    for (const auto rule :
         {Repeats::Rule::nodes, Repeats::Rule::log2, Repeats::Rule::log10, Repeats::Rule::root})
      if (rest.substr(0, 1) == " " && rest.substr(1) == name(rule)) return {rule, repeats.factor};
  }
  fail(ErrorKind::config,
       "repeats '{}': wants a number from 0 to {:g}, alone or before nodes, log2, log10 or root", text,
       kMost);
}

}  // namespace trainyard::predict
