#include "report/network_axes.h"

#include <algorithm>
#include <array>

namespace trainyard::report {
namespace {

constexpr std::array kShapes = {"layers", "width",  "inputs", "classes",    "blocks",    "filters",
                                "image",  "hidden", "length", "vocabulary", "image_size"};

}  // namespace

bool sweep_networks(const std::vector<std::string>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const std::string& name) {
    return std::find(kShapes.begin(), kShapes.end(), name) != kShapes.end();
  });
}

}  // namespace trainyard::report
