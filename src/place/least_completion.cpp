#include <limits>

#include "place/plan.h"

namespace trainyard::place {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

double total_completion(const PlanInput& input, const Plan& plan) {
  double total = 0;
  for (std::size_t slot = 0; slot < plan.size(); ++slot) {
    double end = input.free_seconds[slot];
    for (const std::size_t job : plan[slot]) total += end += input.seconds(job, slot);
  }
  return total;
}

namespace {

// PositionMatching is the method of shortest augmenting paths. Columns are positions (slot, k-th from its
// end); a slot has one more than it has jobs, because a later one is never cheaper than that.
class PositionMatching {
 public:
  explicit PositionMatching(const PlanInput& input) : input_(input), job_price_(input.jobs, 0.0) {
    for (std::size_t slot = 0; slot < input.slots(); ++slot) add_column(slot, 1);
  }

  void add_job(std::size_t job) {
    std::vector<double> distance(columns_.size(), kNever);
    std::vector<std::size_t> before(columns_.size(), kNone);
    std::vector<char> reached(columns_.size(), 0);
    std::vector<std::size_t> path;  // of reached columns
    std::size_t row = job, from = kNone;
    double length = 0;
    while (true) {
      std::size_t nearest = kNone;
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (reached[c] != 0) continue;
        const double through = length + cost(row, columns_[c]) - job_price_[row] - columns_[c].price;
        if (through < distance[c]) {
          distance[c] = through;
          before[c] = from;
        }
        if (nearest == kNone || distance[c] < distance[nearest]) nearest = c;
      }
      length = distance[nearest];
      if (columns_[nearest].job == kNone) return augment(job, nearest, length, path, distance, before);
      reached[nearest] = 1;
      path.push_back(nearest);
      row = columns_[nearest].job;
      from = nearest;
    }
  }

  Plan plan() const {
    Plan plan(input_.slots());
    for (const Column& column : columns_) {
      if (column.job == kNone) continue;
      std::vector<std::size_t>& jobs = plan[column.slot];
      if (jobs.size() < column.position) jobs.resize(column.position);
      jobs[column.position - 1] = column.job;
    }
    for (std::vector<std::size_t>& jobs : plan) std::reverse(jobs.begin(), jobs.end());
    return plan;
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Column {
    std::size_t slot, position, job = kNone;
    double price = 0;  // never above 0
  };

  void add_column(std::size_t slot, std::size_t position) { columns_.push_back({slot, position}); }

  double cost(std::size_t job, const Column& column) const {
    return input_.free_seconds[column.slot] +
           static_cast<double>(column.position) * input_.seconds(job, column.slot);
  }

  // Every job on the path moves on by one column, so that the last one is taken, too.
  void augment(std::size_t job, std::size_t last, double length, const std::vector<std::size_t>& path,
               const std::vector<double>& distance, const std::vector<std::size_t>& before) {
    job_price_[job] += length;
    for (const std::size_t c : path) {
      job_price_[columns_[c].job] += length - distance[c];
      columns_[c].price -= length - distance[c];
    }
    std::size_t at = last;
    for (; before[at] != kNone; at = before[at]) columns_[at].job = columns_[before[at]].job;
    columns_[at].job = job;
    add_column(columns_[last].slot, columns_[last].position + 1);
  }

  const PlanInput& input_;
  std::vector<double> job_price_;
  std::vector<Column> columns_;
};

}  // namespace

Plan assign_least_completion(const PlanInput& input) {
  PositionMatching matching(input);
  for (std::size_t job = 0; job < input.jobs; ++job) matching.add_job(job);
  return matching.plan();
}

namespace {

// SlotOrder is the jobs of one slot, the shortest first, with the sums by which moves are judged.
class SlotOrder {
 public:
  SlotOrder(const PlanInput& input, std::size_t slot, std::vector<std::size_t>& jobs)
      : input_(input), slot_(slot), jobs_(jobs) {
    measure();
  }

  // How much the sum of ends grows with a job of so many seconds.
  double growth(double seconds) const {
    const std::size_t at = place_of(seconds);
    const double ahead = at == 0 ? 0 : until_[at - 1];
    return input_.free_seconds[slot_] + ahead + seconds * static_cast<double>(jobs_.size() - at + 1);
  }
  // How much it shrinks without a job that is here.
  double relief(std::size_t job) const {
    const std::size_t at = find(job);
    return input_.free_seconds[slot_] + until_[at] +
           seconds_[at] * static_cast<double>(jobs_.size() - at - 1);
  }
  void insert(std::size_t job) {
    const auto at = static_cast<std::ptrdiff_t>(place_of(input_.seconds(job, slot_)));
    jobs_.insert(jobs_.begin() + at, job);
    measure();
  }
  void remove(std::size_t job) {
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(find(job)));
    measure();
  }

 private:
  std::size_t place_of(double seconds) const {
    return static_cast<std::size_t>(std::upper_bound(seconds_.begin(), seconds_.end(), seconds) -
                                    seconds_.begin());
  }
  std::size_t find(std::size_t job) const {
    return static_cast<std::size_t>(std::find(jobs_.begin(), jobs_.end(), job) - jobs_.begin());
  }
  void measure() {
    seconds_.clear();
    until_.clear();
    double sum = 0;
    for (const std::size_t job : jobs_) {
      seconds_.push_back(input_.seconds(job, slot_));
      until_.push_back(sum += seconds_.back());
    }
  }

  const PlanInput& input_;
  std::size_t slot_;
  std::vector<std::size_t>& jobs_;
  std::vector<double> seconds_, until_;  // of each job here; of it and those before
};

std::size_t best_slot(const PlanInput& input, const std::vector<SlotOrder>& orders, std::size_t job) {
  std::size_t best = 0;
  double least = kNever;
  for (std::size_t slot = 0; slot < orders.size(); ++slot) {
    const double seconds = input.seconds(job, slot);
    if (!(seconds < kNever)) continue;
    const double growth = orders[slot].growth(seconds);
    if (growth >= least) continue;
    best = slot;
    least = growth;
  }
  return best;
}

std::vector<SlotOrder> orders_of(const PlanInput& input, Plan& plan) {
  std::vector<SlotOrder> orders;
  for (std::size_t slot = 0; slot < input.slots(); ++slot) orders.emplace_back(input, slot, plan[slot]);
  return orders;
}

}  // namespace

Plan search_least_completion(const PlanInput& input) {
  constexpr int kMostPasses = 30;
  constexpr double kWorthwhile = 1e-5;  // of the sum, by one pass
  Plan plan(input.slots());
  std::vector<SlotOrder> orders = orders_of(input, plan);
  std::vector<std::size_t> slot_of(input.jobs);
  for (std::size_t job = 0; job < input.jobs; ++job)
    orders[slot_of[job] = best_slot(input, orders, job)].insert(job);
  for (int pass = 0; pass < kMostPasses; ++pass) {
    double gain = 0;
    for (std::size_t job = 0; job < input.jobs; ++job) {
      const std::size_t from = slot_of[job];
      const double relief = orders[from].relief(job);
      orders[from].remove(job);
      const std::size_t to = best_slot(input, orders, job);
      gain += relief - orders[to].growth(input.seconds(job, to));
      orders[slot_of[job] = to].insert(job);
    }
    if (gain <= kWorthwhile * total_completion(input, plan)) break;
  }
  return plan;
}

void insert_for_completion(const PlanInput& input, Plan& plan, std::size_t job) {
  std::vector<SlotOrder> orders = orders_of(input, plan);
  orders[best_slot(input, orders, job)].insert(job);
}

}  // namespace trainyard::place
