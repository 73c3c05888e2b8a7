#include "plan/step_plan.h"

#include <numeric>

#include <fmt/format.h>

namespace trainyard::plan {

const char* name(Region region) {
  switch (region) {
    case Region::parameters:
      return "parameters";
    case Region::gradients:
      return "gradients";
    case Region::optimizer_state:
      return "optimizer state";
    case Region::statistics:
      return "statistics";
    case Region::copies:
      return "rounded copies";
    case Region::inputs:
      return "inputs";
    case Region::outputs:
      return "outputs";
    case Region::slab:
      return "slab";
  }
  return "?";
}

std::size_t StepPlan::total_bytes() const {
  return std::accumulate(region_bytes.begin(), region_bytes.end(), std::size_t{0});
}

std::size_t StepPlan::unshared_slab_bytes() const {
  std::size_t sum = 0;
  for (const Buffer& buffer : buffers)
    if (buffer.region == Region::slab) sum += buffer.bytes;
  return sum;
}

int StepPlan::reorders() const {
  int count = 0;
  for (const Step& step : steps) count += step.is_reorder() ? 1 : 0;
  return count;
}

int StepPlan::find_buffer(const std::string& value_name) const {
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == value_name && buffers[i].region != Region::slab) return static_cast<int>(i);
  return -1;
}

std::string to_text(const StepPlan& plan) {
  std::string text = fmt::format("backend {}\n", plan.backend);
  for (const std::string& fusion : plan.fusions) text += fmt::format("fusion {}\n", fusion);
  const auto list = [&](const std::vector<int>& ids) {
    std::string names;
    for (const int id : ids) {
      const Buffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
      names += fmt::format("{}{}[{}]", names.empty() ? "" : ", ", buffer.name, buffer.layout.to_string());
    }
    return names;
  };
  for (const Step& step : plan.steps)
    text += fmt::format("{} = {} {{{}}} ({}) -> ({})\n", step.name, step.kernel, step.attributes,
                        list(step.inputs), list(step.outputs));
  for (std::size_t i = 0; i < kRegions; ++i)
    text += fmt::format("{} {} bytes\n", name(static_cast<Region>(i)), plan.region_bytes[i]);
  return text;
}

}  // namespace trainyard::plan
