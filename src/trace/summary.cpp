#include "trace/summary.h"

#include <tuple>

#include "base/error.h"

namespace trainyard::trace {
namespace {

struct Window {
  std::string name;
  double began, ended;
  int process;
};

// A Claim is a span that may have a moment, clipped to the window. Of several at one moment the highest rank
// has it, of equal ones the innermost, which began last.
struct Claim {
  double began, ended;
  int rank;
  std::string category, cause;  // a cause: no kernel runs
  const Span* span;
  double latest_end = 0;  // of it and all before it
};

// Each step is gone through for each device.
constexpr std::size_t kMostSteps = 10'000, kMostDevices = 256;

constexpr int kBeside = 0, kWaits = 1, kMoves = 2, kComputes = 3;

struct RankedFirst {
  bool operator()(const Claim* a, const Claim* b) const {
    return std::tuple(-a->rank, -a->began, a) < std::tuple(-b->rank, -b->began, b);
  }
};

double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : 0.5 * (numbers[middle - 1] + numbers[middle]);
}

class Summariser {
 public:
  explicit Summariser(const Trace& trace) : trace_(trace) {
    roles_.reserve(trace.spans.size());
    for (const Span& span : trace.spans) roles_.push_back(role_of(span));
    has_kernels_ = std::find(roles_.begin(), roles_.end(), SpanRole::kernel) != roles_.end();
    // If everything runs on the host, its operators are the computation.
    if (!has_kernels_) std::replace(roles_.begin(), roles_.end(), SpanRole::host_op, SpanRole::kernel);
    for (std::size_t i = 0; i < roles_.size(); ++i)
      if (roles_[i] == SpanRole::kernel) devices_.insert(process_of(trace_.spans[i]));
    if (devices_.empty()) fail(ErrorKind::config, "nothing computes in this trace: no kernels, no operators");
    if (devices_.size() > kMostDevices)
      fail(ErrorKind::config, "{} devices, at most {} are summarised", devices_.size(), kMostDevices);
    find_windows();
  }

  Summary summarise() {
    Summary summary;
    summary.devices = static_cast<int>(devices_.size());
    for (const int device : devices_) {
      const std::vector<Claim> claims = claims_of(device);
      for (const Window& window : windows_)
        if (window.process == device || !has_own_windows(device)) add(summary, window, claims);
    }
    for (StepTime& step : summary.steps) {
      scale(step.time, 1.0 / static_cast<double>(times_seen_[step.name]));
      summary.all.add(step.time);
    }
    for (auto& [name, op] : ops_) summary.ops.push_back(op);
    std::stable_sort(summary.ops.begin(), summary.ops.end(),
                     [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
    for (std::size_t i = 0; i < roles_.size(); ++i)
      if (roles_[i] == SpanRole::plain_step) summary.plain_step_seconds.push_back(trace_.spans[i].seconds);
    return summary;
  }

 private:
  int process_of(const Span& span) const {
    return trace_.tracks[static_cast<std::size_t>(span.track)].process_number;
  }

  void find_windows() {
    double first = std::numeric_limits<double>::infinity(), last = -first;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const Span& span = trace_.spans[i];
      first = std::min(first, span.began);
      last = std::max(last, span.ended());
      if (roles_[i] == SpanRole::step)
        windows_.push_back({span.name, span.began, span.ended(), process_of(span)});
    }
    if (windows_.size() > kMostSteps)
      fail(ErrorKind::config, "{} steps, at most {} are summarised", windows_.size(), kMostSteps);
    if (windows_.empty()) windows_.push_back({"all", first, last, -1});
    std::stable_sort(windows_.begin(), windows_.end(),
                     [](const Window& a, const Window& b) { return a.began < b.began; });
  }

  bool has_own_windows(int device) const {
    return std::any_of(windows_.begin(), windows_.end(),
                       [&](const Window& window) { return window.process == device; });
  }

  // The work of other processes explains idle time only if it is a host's or nobody's, not another device's.
  std::vector<Claim> claims_of(int device) const {
    std::vector<Claim> claims;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const Span& span = trace_.spans[i];
      const bool own = process_of(span) == device;
      if (!own && devices_.contains(process_of(span))) continue;
      Claim claim{span.began, span.ended(), kBeside, "idle", "", &span};
      switch (roles_[i]) {
        case SpanRole::kernel:
          claim.rank = kComputes;
          claim.category = compute_category(span);
          break;
        case SpanRole::communication:
          claim.rank = own ? kMoves : kBeside;
          claim.category = own ? "communication" : "idle";
          claim.cause = "communication";
          break;
        case SpanRole::copy:
          claim.rank = own ? kMoves : kBeside;
          claim.category = own ? "copy" : "idle";
          claim.cause = "copy";
          break;
        case SpanRole::input_wait:
          claim.rank = own ? kWaits : kBeside;
          claim.category = own ? "wait" : "idle";
          claim.cause = "input";
          break;
        default:
          continue;
      }
      claims.push_back(std::move(claim));
    }
    std::stable_sort(claims.begin(), claims.end(),
                     [](const Claim& a, const Claim& b) { return a.began < b.began; });
    double latest = -std::numeric_limits<double>::infinity();
    for (Claim& claim : claims) claim.latest_end = latest = std::max(latest, claim.ended);
    return claims;
  }

  void add(Summary& summary, const Window& window, const std::vector<Claim>& claims) {
    const auto [place, is_new] = places_.try_emplace(window.name, summary.steps.size());
    if (is_new) summary.steps.push_back({window.name, {}});
    TimeShares& time = summary.steps[place->second].time;
    ++times_seen_[window.name];
    time.seconds += window.ended - window.began;

    // Moments at which something begins or ends.
    std::vector<std::tuple<double, bool, const Claim*>> moments;  // true: begins
    for (std::size_t i = first_after(claims, window.began); i < claims.size(); ++i) {
      const Claim& claim = claims[i];
      if (claim.began >= window.ended) break;
      if (claim.rank == kComputes && claim.began >= window.began) count(claim);
      const double begins = std::max(claim.began, window.began), ends = std::min(claim.ended, window.ended);
      if (begins >= ends) continue;
      moments.emplace_back(begins, true, &claim);
      moments.emplace_back(ends, false, &claim);
    }
    std::sort(moments.begin(), moments.end());
    std::set<const Claim*, RankedFirst> active;
    double at = window.began;
    for (const auto& [moment, begins, claim] : moments) {
      credit(time, active.empty() ? nullptr : *active.begin(), moment - at);
      at = moment;
      if (begins)
        active.insert(claim);
      else
        active.erase(claim);
    }
    credit(time, nullptr, window.ended - at);
  }

  // Returns the index of the first claim such that it, or one before it, ends at `moment` or later.
  static std::size_t first_after(const std::vector<Claim>& claims, double moment) {
    const auto found = std::partition_point(claims.begin(), claims.end(),
                                            [&](const Claim& claim) { return claim.latest_end < moment; });
    return static_cast<std::size_t>(found - claims.begin());
  }

  void credit(TimeShares& time, const Claim* claim, double seconds) {
    if (seconds <= 0) return;
    time.by_category[claim == nullptr ? "idle" : claim->category] += seconds;
    if (claim == nullptr || claim->rank != kComputes)
      time.idle_causes[claim == nullptr ? "host" : claim->cause] += seconds;
    else
      op_of(*claim).seconds += seconds;
  }

  OpTime& op_of(const Claim& claim) {
    const std::string* op = claim.span->text("op");
    const std::string& name = op == nullptr ? claim.span->name : *op;
    OpTime& found = ops_[name];
    found.name = name;
    found.category = claim.category;
    return found;
  }

  void count(const Claim& claim) {
    OpTime& op = op_of(claim);
    ++op.count;
    if (const std::int64_t* flops = claim.span->number("flops")) op.flops += *flops;
    if (const std::int64_t* bytes = claim.span->number("bytes")) op.bytes += *bytes;
  }

  static void scale(TimeShares& time, double factor) {
    time.seconds *= factor;
    for (auto& [name, seconds] : time.by_category) seconds *= factor;
    for (auto& [name, seconds] : time.idle_causes) seconds *= factor;
  }

  const Trace& trace_;
  std::vector<SpanRole> roles_;  // of each span
  bool has_kernels_ = false;
  std::set<int> devices_;  // processes in which something computes
  std::vector<Window> windows_;
  std::map<std::string, std::size_t> places_;       // of steps in the summary
  std::map<std::string, std::int64_t> times_seen_;  // devices that had a step
  std::map<std::string, OpTime> ops_;
};

}  // namespace

double TimeShares::category(const std::string& name) const {
  const auto found = by_category.find(name);
  return found == by_category.end() ? 0 : found->second;
}

double TimeShares::idle_cause(const std::string& name) const {
  const auto found = idle_causes.find(name);
  return found == idle_causes.end() ? 0 : found->second;
}

double TimeShares::infeed_share() const {
  return seconds > 0 ? (idle_cause("input") + idle_cause("copy")) / seconds : 0;
}

void TimeShares::add(const TimeShares& other) {
  seconds += other.seconds;
  for (const auto& [name, each] : other.by_category) by_category[name] += each;
  for (const auto& [name, each] : other.idle_causes) idle_causes[name] += each;
}

double Summary::overhead() const {
  std::vector<double> traced;
  for (const StepTime& step : steps) traced.push_back(step.time.seconds);
  const double plain = median(plain_step_seconds);
  return plain > 0 && !traced.empty() ? median(traced) / plain - 1 : 0;
}

Summary summarise(const Trace& trace) { return Summariser(trace).summarise(); }

Summary summarise(const Trace& trace, const std::string& file) {
  try {
    return summarise(trace);
  } catch (const Error& error) {
    fail(error.kind(), "'{}': {}", file, error.what());
  }
}

}  // namespace trainyard::trace
