#include <queue>

#include "plan/recompute.h"

namespace trainyard::plan {

namespace {

using Flags = StepSketch::Flags;
using Outlook = StepSketch::Outlook;

struct Choice {
  Flags dropped;
  Outlook outlook;
};

class Chooser {
 public:
  Chooser(const StepSketch& sketch, std::size_t most) : sketch_(sketch), most_(most) {}

  Choice look(Flags dropped) const {
    Outlook outlook = sketch_.look(dropped);
    return {std::move(dropped), std::move(outlook)};
  }

  bool fits(const Choice& choice) const { return choice.outlook.most_living <= most_; }

  // Takes one step after the other out of memory, or back into it: the one that takes the most from what is
  // too much, over all steps, for its cost. What is left of scores goes down as others are taken, so a score
  // is looked at again before it counts.
  Choice descend(Choice now) const {
    for (bool moved = true; moved && !fits(now);) {
      moved = false;
      std::priority_queue<std::pair<double, std::size_t>> queue;
      for (std::size_t s = 0; s < sketch_.size(); ++s)
        if (sketch_.can_drop(s)) push(queue, now, s);
      while (!queue.empty() && !fits(now)) {
        const std::size_t step = queue.top().second;
        queue.pop();
        Choice next = flipped(now, step);
        const double score = score_of(now, next);
        if (score <= 0) continue;
        if (!queue.empty() && score < queue.top().first) {
          queue.emplace(score, step);
          continue;
        }
        now = std::move(next);
        moved = true;
      }
    }
    return now;
  }

  // Keeps again what need not run a second time, the dearest for its bytes first.
  Choice polish(Choice now) const {
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s < sketch_.size(); ++s)
      if (now.outlook.runs_again[s] != 0 && sketch_.can_drop(s)) order.push_back(s);
    const auto worth = [&](std::size_t s) { return sketch_.cost(s) / static_cast<double>(sketch_.bytes(s)); };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
    for (const std::size_t step : order) {
      if (now.outlook.runs_again[step] == 0) continue;
      Choice next = flipped(now, step);
      if (fits(next) && next.outlook.cost < now.outlook.cost) now = std::move(next);
    }
    return now;
  }

 private:
  using Queue = std::priority_queue<std::pair<double, std::size_t>>;

  Choice flipped(const Choice& from, std::size_t step) const {
    Flags dropped = from.dropped;
    dropped[step] = dropped[step] != 0 ? 0 : 1;
    return look(std::move(dropped));
  }

  double excess(const Outlook& outlook) const {
    double sum = 0;
    for (const std::size_t bytes : outlook.living)
      if (bytes > most_) sum += static_cast<double>(bytes - most_);
    return sum;
  }

  double score_of(const Choice& from, const Choice& to) const {
    const double gain = excess(from.outlook) - excess(to.outlook);
    return gain / std::max(to.outlook.cost - from.outlook.cost, 1.0);
  }

  void push(Queue& queue, const Choice& now, std::size_t step) const {
    if (const double score = score_of(now, flipped(now, step)); score > 0) queue.emplace(score, step);
  }

  const StepSketch& sketch_;
  std::size_t most_;
};

// Keeps only what crosses some cuts of the forward pass: between two of them lie results of about `segment`
// bytes, and each cut is where the fewest bytes cross it (Chen et al., 2016, algorithm 3).
Flags cut_into(const StepSketch& sketch, const std::vector<std::size_t>& crossing, std::size_t segment) {
  Flags dropped(sketch.size(), 0);
  for (std::size_t s = 0; s < sketch.size(); ++s) dropped[s] = sketch.can_drop(s) ? 1 : 0;
  const std::size_t none = sketch.size();
  std::size_t inside = 0, best = none;
  for (std::size_t s = 0; s < sketch.size(); ++s) {
    if (!sketch.is_forward(s) || sketch.bytes(s) == 0) continue;
    inside += sketch.bytes(s);
    if (2 * inside < segment) continue;
    if (best == none || crossing[s] < crossing[best]) best = s;
    if (inside < segment) continue;
    for (const std::size_t kept : sketch.crossing_steps(best)) dropped[kept] = 0;
    inside = 0;
    for (std::size_t after = best + 1; after <= s; ++after)
      if (sketch.is_forward(after)) inside += sketch.bytes(after);
    best = none;
  }
  return dropped;
}

// Segments from a few large ones to many small ones.
std::vector<Flags> all_cuts(const StepSketch& sketch) {
  constexpr double kMostSegments = 128, kRatio = 1.5;
  std::size_t all = 0;
  for (std::size_t s = 0; s < sketch.size(); ++s)
    if (sketch.is_forward(s)) all += sketch.bytes(s);
  const std::vector<std::size_t> crossing = sketch.crossing_bytes();
  std::vector<Flags> cuts;
  for (double segments = 2; segments < kMostSegments; segments *= kRatio)
    if (Flags cut = cut_into(sketch, crossing, static_cast<std::size_t>(static_cast<double>(all) / segments));
        cuts.empty() || cut != cuts.back())
      cuts.push_back(std::move(cut));
  return cuts;
}

}  // namespace

std::optional<Dropped> choose_dropped(const StepSketch& sketch, std::size_t most) {
  const Chooser chooser(sketch, most);
  std::vector<Choice> choices{chooser.descend(chooser.look(sketch.unread()))};
  for (Flags& cut : all_cuts(sketch)) choices.push_back(chooser.look(std::move(cut)));
  if (std::none_of(choices.begin(), choices.end(), [&](const Choice& c) { return chooser.fits(c); }))
    for (Choice& choice : choices) choice = chooser.descend(std::move(choice));
  std::optional<Choice> best;
  for (Choice& choice : choices) {
    if (!chooser.fits(choice)) continue;
    choice = chooser.polish(std::move(choice));
    if (!best || choice.outlook.cost < best->outlook.cost) best = std::move(choice);
  }
  if (!best) return std::nullopt;
  return sketch.nodes(best->outlook.runs_again);
}

Dropped choose_smallest(const StepSketch& sketch) {
  const Chooser looker(sketch, 0);
  Choice best = looker.look(sketch.unread());
  for (Flags& cut : all_cuts(sketch))
    if (Choice choice = looker.look(std::move(cut)); choice.outlook.most_living < best.outlook.most_living)
      best = std::move(choice);
  while (true) {
    const Chooser lower(sketch, best.outlook.most_living - best.outlook.most_living / 32);
    Choice next = lower.descend(best);
    if (next.outlook.most_living >= best.outlook.most_living) break;
    best = std::move(next);
  }
  return sketch.nodes(best.outlook.runs_again);
}

}  // namespace trainyard::plan
