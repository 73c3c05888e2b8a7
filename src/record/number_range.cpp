#include "record/number_range.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::record {
namespace {

template <typename T>
std::optional<T> whole_text(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct RangeRow {
  std::string_view setting;
  NumberRange range;
};

// A name with one meaning for several commands has one row here. A command that gives it another meaning
// defines its own range.
const RangeRow kRanges[] = {
    // A step
    {"batch", NumberRange::whole(1, std::uint64_t{1} << 30)},
    {"classes", NumberRange::whole(2, std::uint64_t{1} << 24)},
    {"label_smoothing", NumberRange::below(0, 1)},
    {"seed", NumberRange::whole(0, (std::uint64_t{1} << 63) - 1)},
    // The update
    {"lr", NumberRange::above(0)},
    {"final_lr", NumberRange::real(0)},
    {"decay_steps", NumberRange::whole(1)},
    {"decay_factor", NumberRange::above(0, 1)},
    {"warmup_lr_steps", NumberRange::whole(0)},
    {"momentum", NumberRange::below(0, 1)},
    {"weight_decay", NumberRange::real(0, 1)},
    {"ema", NumberRange::below(0, 1)},
    // How long
    {"steps", NumberRange::whole(1)},
    {"epochs", NumberRange::above(0, 1e9)},
    {"warmup", NumberRange::whole(0, 1'000'000'000)},
    {"until_width", NumberRange::between(0, 1)},
    {"max_seconds", NumberRange::above(0, 1e9)},
    {"eval_every", NumberRange::whole(1)},
    {"checkpoint_every", NumberRange::whole(1)},
    {"keep", NumberRange::whole(1, 1'000'000)},
    // Where
    {"threads", NumberRange::whole(1, 1'000'000)},
    {"devices", NumberRange::whole(1, 1'000'000)},
    {"workers", NumberRange::whole(1, 1'000'000)},
    {"servers", NumberRange::whole(1, 1'000'000)},
    {"min_workers", NumberRange::whole(1, 1'000'000)},
    {"restarts", NumberRange::whole(0, 1'000'000)},
    {"lease", NumberRange::above(0, 1e6)},
    {"patience", NumberRange::above(0, 1e9)},
    {"nodes", NumberRange::whole(1, 1'000'000)},
    {"tasks_per_node", NumberRange::whole(1, 1'000'000)},
    {"cpus_per_task", NumberRange::whole(1, 1'000'000)},
    {"gpus", NumberRange::whole(1, 1'000'000)},
    {"memory_mib", NumberRange::whole(1, std::uint64_t{1} << 40)},
    // Ensembles
    {"members", NumberRange::whole(1, 1'000)},
    {"preprocessors", NumberRange::whole(1, 1'000)},
    {"cores", NumberRange::whole(1, 1'000'000)},
    {"rate", NumberRange::real(0, 1e12)},
    {"seconds", NumberRange::above(0, 1e9)},
    {"idle_seconds", NumberRange::real(0, 1e6)},
};

}  // namespace

NumberRange NumberRange::whole(std::uint64_t least, std::uint64_t most) {
  NumberRange range;
  range.first_ = least;
  range.last_ = most;
  return range;
}

NumberRange NumberRange::real(double least, double most) {
  NumberRange range;
  range.whole_ = false;
  range.least_ = least;
  range.most_ = most;
  return range;
}

NumberRange NumberRange::above(double least, double most) {
  NumberRange range = real(least, most);
  range.least_counts_ = false;
  return range;
}

NumberRange NumberRange::below(double least, double most) {
  NumberRange range = real(least, most);
  range.most_counts_ = false;
  return range;
}

NumberRange NumberRange::between(double least, double most) {
  NumberRange range = above(least, most);
  range.most_counts_ = false;
  return range;
}

std::optional<std::string> NumberRange::read(std::string_view text) const {
  if (whole_) {
    const auto number = whole_text<std::uint64_t>(text);
    if (!number || *number < first_ || *number > last_) return std::nullopt;
    return fmt::format("{}", *number);
  }
  const auto number = whole_text<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  const bool enough = least_counts_ ? *number >= least_ : *number > least_;
  const bool not_too_much = most_counts_ ? *number <= most_ : *number < most_;
  if (!enough || !not_too_much) return std::nullopt;
  return fmt::format("{}", *number);
}

bool NumberRange::contains(const Value& value) const {
  const bool number =
      std::holds_alternative<std::int64_t>(value) || (!whole_ && std::holds_alternative<double>(value));
  return number && read(to_text(value)).has_value();
}

std::string NumberRange::describe() const {
  return describe(whole_ ? last_ < kMostWhole : most_ < kMostReal);
}

std::string NumberRange::describe(bool with_most) const {
  if (whole_)
    return with_most ? fmt::format("a whole number from {} to {}", first_, last_)
                     : fmt::format("a whole number of at least {}", first_);
  if (!with_most) return fmt::format("a number {} {:g}", least_counts_ ? "of at least" : "above", least_);
  return fmt::format(
      "a number {} {:g} {} {:g}", least_counts_ ? "from" : "above", least_,
      most_counts_ ? (least_counts_ ? "to" : "and at most") : (least_counts_ ? "to below" : "and below"),
      most_);
}

std::string NumberRange::brief() const {
  if (whole_) return last_ >= kMostWhole ? fmt::format(">={}", first_) : fmt::format("{}..{}", first_, last_);
  if (most_ >= kMostReal) return fmt::format("{}{:g}", least_counts_ ? ">=" : ">", least_);
  return fmt::format("{}{:g}..{}{:g}", least_counts_ ? "" : ">", least_, most_counts_ ? "" : "<", most_);
}

std::string NumberRange::complaint(std::string_view given) const {
  const auto number = whole_text<double>(given);
  const bool too_much = number && *number > (whole_ ? static_cast<double>(last_) : most_);
  return fmt::format("'{}' given, {} expected", given, too_much ? describe(true) : describe());
}

const NumberRange* find_range(std::string_view setting) {
  for (const RangeRow& row : kRanges)
    if (row.setting == setting) return &row.range;
  return nullptr;
}

const NumberRange& range_of(std::string_view setting) {
  const NumberRange* range = find_range(setting);
  TRAINYARD_CHECK(range != nullptr);
  return *range;
}

}  // namespace trainyard::record
