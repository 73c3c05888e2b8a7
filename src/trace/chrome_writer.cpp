#include "trace/chrome_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace trainyard::trace {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace), origin_(std::numeric_limits<double>::infinity()) {
    for (const Span& span : trace.spans) origin_ = std::min(origin_, span.began);
    for (const Counter& counter : trace.counters) origin_ = std::min(origin_, counter.at);
  }

  std::string write() {
    name_tracks();
    for (const std::size_t i : in_order(trace_.spans, outer_first)) add(trace_.spans[i]);
    for (const std::size_t i : in_order(trace_.counters, earlier)) add(trace_.counters[i]);
    OrderedJson facts = OrderedJson::object();
    for (const auto& [name, value] : trace_.facts) facts[name] = value;
    return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n{}\n]}}\n",
                       text_of(facts), events_);
  }

 private:
  static bool outer_first(const Span& a, const Span& b) {
    return a.began != b.began ? a.began < b.began : a.seconds > b.seconds;
  }
  static bool earlier(const Counter& a, const Counter& b) { return a.at < b.at; }

  template <typename Event, typename Before>
  static std::vector<std::size_t> in_order(const std::vector<Event>& events, const Before& before) {
    std::vector<std::size_t> order(events.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return before(events[a], events[b]); });
    return order;
  }

  double microseconds(double moment) const { return (moment - origin_) * 1e6; }

  void name_tracks() {
    std::vector<int> named;
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      if (std::find(named.begin(), named.end(), track.process_number) == named.end()) {
        named.push_back(track.process_number);
        add_metadata(track, 0, "process_name", {{"name", track.process}});
        add_metadata(track, 0, "process_sort_index", {{"sort_index", track.process_number}});
      }
      add_metadata(track, i, "thread_name", {{"name", track.name}});
      add_metadata(track, i, "thread_sort_index", {{"sort_index", i}});
    }
  }

  void add_metadata(const Track& track, std::size_t thread, const char* name, const OrderedJson& arguments) {
    add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{}}})", track.process_number, thread,
                    name, text_of(arguments)));
  }

  // Both ends are rounded, not the length: what nests goes on nesting.
  void add(const Span& span) {
    const double began = rounded(microseconds(span.began)), ended = rounded(microseconds(span.ended()));
    OrderedJson arguments = OrderedJson::object();
    for (const auto& [name, value] : span.arguments)
      std::visit([&, &key = name](const auto& argument) { arguments[key] = argument; }, value);
    const Track& track = trace_.tracks[static_cast<std::size_t>(span.track)];
    add(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"cat":{},"args":{}}})",
                    track.process_number, span.track, began, std::max(ended - began, 0.0), text_of(span.name),
                    text_of(span.category), text_of(arguments)));
  }

  void add(const Counter& counter) {
    const Track& track = trace_.tracks[static_cast<std::size_t>(counter.track)];
    add(fmt::format(R"({{"ph":"C","pid":{},"tid":{},"ts":{:.3f},"name":{},"args":{{"value":{}}}}})",
                    track.process_number, counter.track, microseconds(counter.at), text_of(counter.name),
                    text_of(counter.value)));
  }

  static double rounded(double microseconds) { return std::round(microseconds * 1e3) * 1e-3; }

  void add(const std::string& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event;
  }

  const Trace& trace_;
  double origin_;  // when the first began
  std::string events_;
};

}  // namespace

std::string to_chrome_json(const Trace& trace) { return Writer(trace).write(); }

void write_chrome_json(const Trace& trace, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(to_chrome_json(trace));
  file.commit();
}

}  // namespace trainyard::trace
