#include "trace/trace.h"

#include <algorithm>

namespace trainyard::trace {
namespace {

template <typename T>
const T* argument(const Arguments& arguments, const std::string& name) {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const auto& each) { return each.first == name; });
  return found == arguments.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

const std::string* Span::text(const std::string& key) const { return argument<std::string>(arguments, key); }

const std::int64_t* Span::number(const std::string& key) const {
  return argument<std::int64_t>(arguments, key);
}

int Trace::track(const Track& wanted) {
  const auto found = std::find(tracks.begin(), tracks.end(), wanted);
  if (found != tracks.end()) return static_cast<int>(found - tracks.begin());
  tracks.push_back(wanted);
  return static_cast<int>(tracks.size()) - 1;
}

}  // namespace trainyard::trace
