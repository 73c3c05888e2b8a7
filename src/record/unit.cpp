#include "record/unit.h"

namespace trainyard::record {
namespace {

// In names and in texts for people.
constexpr std::pair<Quantity, std::string_view> kQuantities[] = {
    {Quantity::seconds, "seconds"}, {Quantity::bytes, "bytes"},       {Quantity::joules, "joules"},
    {Quantity::watts, "watts"},     {Quantity::hertz, "hertz"},       {Quantity::megahertz, "mhz"},
    {Quantity::celsius, "celsius"}, {Quantity::fraction, "fraction"}, {Quantity::percent, "percent"},
    {Quantity::flops, "flops"},     {Quantity::images, "images"},     {Quantity::gradients, "gradients"},
    {Quantity::tokens, "tokens"},   {Quantity::cores, "cores"},       {Quantity::requests, "requests"}};

struct PerName {
  Per per;
  std::string_view name, text;
};

constexpr PerName kPers[] = {{Per::second, "second", "s"},
                             {Per::step, "step", "step"},
                             {Per::image, "image", "image"},
                             {Per::byte, "byte", "byte"}};

// "power_watts" ends with the word "watts", as "watts" itself does.
bool ends_with_word(std::string_view name, std::string_view word) {
  return name.ends_with(word) && (name.size() == word.size() || name[name.size() - word.size() - 1] == '_');
}

struct Found {
  Unit unit;
  std::size_t begin;  // of the unit in the name
};

Found find_unit(std::string_view name) {
  std::string_view counted = name;
  for (const std::string_view when : {"_before", "_after"})
    if (counted.ends_with(when)) counted.remove_suffix(when.size());
  Unit unit;
  constexpr std::string_view kPer = "_per_";
  if (const std::size_t at = counted.find(kPer); at != std::string_view::npos) {
    const std::string_view divisor = counted.substr(at + kPer.size());
    for (const PerName& one : kPers)
      if (divisor == one.name || divisor.starts_with(std::string(one.name) + "_")) unit.per = one.per;
    if (unit.per == Per::nothing) return {{}, name.size()};
    counted = counted.substr(0, at);
  }
  for (const auto& [quantity, word] : kQuantities)
    if (ends_with_word(counted, word)) {
      unit.quantity = quantity;
      return {unit, counted.size() - std::min(counted.size(), word.size() + 1)};
    }
  return {unit, name.size()};
}

}  // namespace

std::string to_text(const Unit& unit) {
  std::string text;
  for (const auto& [quantity, word] : kQuantities)
    if (quantity == unit.quantity) text = word;
  for (const PerName& one : kPers)
    if (one.per == unit.per) text += "/" + std::string(one.text);
  return text;
}

Unit unit_in_name(std::string_view name) { return find_unit(name).unit; }

std::string_view without_unit(std::string_view name) { return name.substr(0, find_unit(name).begin); }

}  // namespace trainyard::record
