#pragma once

#include <string>
#include <vector>

namespace trainyard::report {

// JSON of a Vega-Lite colour channel over the field "series", which holds families of networks: each of
// `families` has the same colour in every chart that is given the same list. Without a legend where they are
// fewer than two, or where the chart names them already.
std::string family_colours(const std::vector<std::string>& families, bool legend = true);

// The name of a colour that can be read on that family's.
std::string family_ink(const std::vector<std::string>& families, const std::string& family);

}  // namespace trainyard::report
