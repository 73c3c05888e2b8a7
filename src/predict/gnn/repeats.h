#pragma once

#include "base/standard.h"

namespace trainyard::predict {

// Repeats tells how often something is done on a graph of n nodes: a fixed number, or a rule of Driple's and
// its ancestors: factor times n, log2 n, log10 n or the root of n, cut to a whole number. The least is one.
struct Repeats {
  enum class Rule : std::uint8_t { fixed, nodes, log2, log10, root };
  Rule rule = Rule::nodes;
  double factor = 1;

  std::int64_t on(std::int64_t nodes) const;
  std::string text() const;  // "50", "0.5 nodes", "3 root"
  friend bool operator==(const Repeats&, const Repeats&) = default;
};

// Parses the text form; Error (config) lists the allowed forms.
Repeats parse_repeats(std::string_view text);

}  // namespace trainyard::predict
