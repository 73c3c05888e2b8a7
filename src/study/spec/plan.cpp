#include "study/spec/plan.h"

#include <charconv>

#include "base/text.h"
#include "study/spec/job.h"

namespace trainyard::study {

namespace {

constexpr std::uint64_t kCornerStream = 1, kFirstRound = 2;
constexpr std::size_t kMostCornerAxes = 16;  // with more axes corners are too many to be listed
constexpr int kRounds = 200;                 // beyond them what is left is hardly any

std::vector<GridPoint> corners_of(const std::vector<std::size_t>& sizes) {
  if (sizes.size() > kMostCornerAxes) return {};
  std::vector<std::size_t> ends;
  for (const std::size_t size : sizes) ends.push_back(std::min<std::size_t>(size, 2));
  std::vector<GridPoint> corners = whole_grid(ends);
  for (GridPoint& corner : corners)
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      if (corner[axis] == 1) corner[axis] = sizes[axis] - 1;
  return corners;
}

// Draws `count` points; along each axis one in every count-th part of its length, paired at random.
std::vector<GridPoint> latin_hypercube(const std::vector<std::size_t>& sizes, std::size_t count,
                                       std::uint64_t seed, std::uint64_t round) {
  std::vector<GridPoint> points(count, GridPoint(sizes.size()));
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::uint64_t stream = round * 64 + axis;
    std::vector<std::size_t> part(count);
    std::iota(part.begin(), part.end(), std::size_t{0});
    shuffle(part.begin(), part.end(), seed, stream);
    for (std::size_t i = 0; i < count; ++i) {
      // The point lies somewhere inside its part, so that rounding prefers no value of the axis.
      const double inside = static_cast<double>(Philox(seed, ~stream).word(i) % 1024) / 1024;
      const double place = (static_cast<double>(part[i]) + inside) / static_cast<double>(count);
      points[i][axis] =
          std::min(static_cast<std::size_t>(place * static_cast<double>(sizes[axis])), sizes[axis] - 1);
    }
  }
  return points;
}

}  // namespace

std::vector<GridPoint> whole_grid(const std::vector<std::size_t>& sizes) {
  std::vector<GridPoint> points{{}};
  for (const std::size_t size : sizes) {
    std::vector<GridPoint> longer;
    for (const GridPoint& point : points)
      for (std::size_t value = 0; value < size; ++value) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    points = std::move(longer);
  }
  return points;
}

std::vector<GridPoint> sample_grid(const std::vector<std::size_t>& sizes, std::int64_t points,
                                   std::uint64_t seed, const std::function<bool(const GridPoint&)>& accept) {
  const auto wanted = static_cast<std::size_t>(points);
  std::set<GridPoint> chosen, refused;
  const auto consider = [&](const std::vector<GridPoint>& candidates, std::size_t most) {
    for (const GridPoint& point : candidates) {
      if (chosen.size() >= most) return;
      if (chosen.contains(point) || refused.contains(point)) continue;
      (accept(point) ? chosen : refused).insert(point);
    }
  };
  std::vector<GridPoint> corners = corners_of(sizes);
  shuffle(corners.begin(), corners.end(), seed, kCornerStream);
  consider(corners, (wanted + 1) / 2);
  // Points that met an existing one are drawn again, fewer and fewer.
  for (int round = 0; round < kRounds && chosen.size() < wanted; ++round)
    consider(
        latin_hypercube(sizes, wanted - chosen.size(), seed, kFirstRound + static_cast<std::uint64_t>(round)),
        wanted);
  const double all = std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double product, std::size_t size) {
    return product * static_cast<double>(size);
  });
  constexpr double kFewEnough = 1e6;
  if (chosen.size() < wanted && all <= kFewEnough) consider(whole_grid(sizes), wanted);
  return {chosen.begin(), chosen.end()};
}

namespace {

bool matches(const Exclusion& exclusion, const record::Settings& settings) {
  return std::all_of(exclusion.matches.begin(), exclusion.matches.end(), [&](const auto& match) {
    const auto found = settings.find(match.first);
    return found != settings.end() &&
           std::find(match.second.begin(), match.second.end(), found->second) != match.second.end();
  });
}

// The text is canonical: settings are sorted by name. The study's name, limits and order decide nothing about
// what a run does, so they are not in it.
std::string hash_of(const Spec& spec, const record::Settings& settings) {
  std::string text = spec.run + "\n" + record::to_json(settings);
  if (const auto name = settings.find("network"); name != settings.end())
    if (const auto file = spec.networks.find(record::to_text(name->second)); file != spec.networks.end())
      text += "\nnetwork " + file->second.sha256;
  for (const std::string& word : spec.program) text += "\n" + word;
  for (const auto& [name, value] : spec.environment) text += "\n" + name + "=" + value;
  for (const Command& command : spec.setup) text += fmt::format("\nsetup {}", joined(command, "\n"));
  return content_hash(text);
}

// Computes the product of the matrices before exclusions, so that a plan that is too large is never listed.
void refuse_too_many(const Spec& spec, const std::vector<Matrix>& matrices) {
  double cells = 0;
  for (const Matrix& matrix : matrices) {
    double product = 1;
    for (const Axis& axis : matrix.axes) product *= static_cast<double>(axis.values.size());
    cells +=
        matrix.sample.points > 0 ? std::min(product, static_cast<double>(matrix.sample.points)) : product;
  }
  if (cells * spec.replicates > static_cast<double>(kMostRuns))
    fail(ErrorKind::config, "{}: {:.12g} cells, {} replicate{} of each: a study has at most {} runs",
         spec.file, cells, spec.replicates, spec.replicates == 1 ? "" : "s", kMostRuns);
}

record::Settings point_of(const Matrix& matrix, const GridPoint& place) {
  record::Settings settings = matrix.settings;
  for (std::size_t i = 0; i < place.size(); ++i)
    settings[matrix.axes[i].name] = matrix.axes[i].values[place[i]];
  return settings;
}

// Excluded notes which exclusions matched.
class Excluded {
 public:
  explicit Excluded(const Matrix& matrix) : matrix_(matrix), used_(matrix.exclusions.size(), 0) {}

  bool operator()(const record::Settings& settings) {
    bool excluded = false;
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (matches(matrix_.exclusions[i], settings)) {
        ++used_[i];
        excluded = true;
      }
    return excluded;
  }
  bool used(std::size_t exclusion) const { return used_[exclusion] > 0; }

 private:
  const Matrix& matrix_;
  std::vector<std::int64_t> used_;
};

// Returns the points in nested order.
std::vector<record::Settings> points_of(const Matrix& matrix, Excluded& excluded, std::int64_t& left_out) {
  std::vector<std::size_t> sizes;
  for (const Axis& axis : matrix.axes) sizes.push_back(axis.values.size());
  const std::vector<GridPoint> places =
      matrix.sample.points > 0
          ? sample_grid(sizes, matrix.sample.points, matrix.sample.seed,
                        [&](const GridPoint& place) { return !excluded(point_of(matrix, place)); })
          : whole_grid(sizes);
  std::vector<record::Settings> points;
  for (const GridPoint& place : places) {
    record::Settings settings = point_of(matrix, place);
    if (matrix.sample.points == 0 && excluded(settings))
      ++left_out;
    else
      points.push_back(std::move(settings));
  }
  return points;
}

std::vector<store::PlannedRun> ordered_runs(const Spec& spec, const std::vector<Cell>& cells) {
  std::vector<store::PlannedRun> runs;
  if (spec.order == Order::interleaved) {
    for (int replicate = 1; replicate <= spec.replicates; ++replicate) {
      for (const Cell& cell : cells) runs.push_back({0, cell.hash, replicate, cell.settings});
      shuffle(runs.end() - static_cast<std::ptrdiff_t>(cells.size()), runs.end(), spec.seed,
              static_cast<std::uint64_t>(replicate));
    }
  } else {
    for (const Cell& cell : cells)
      for (int replicate = 1; replicate <= spec.replicates; ++replicate)
        runs.push_back({0, cell.hash, replicate, cell.settings});
    if (spec.order == Order::shuffled) shuffle(runs.begin(), runs.end(), spec.seed, 0);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].position = static_cast<std::int64_t>(i);
  return runs;
}

}  // namespace

std::string content_hash(const std::string& text) {
  return fmt::format("{:016x}", mix_streams(stream_of(text.c_str()), text.size()));
}

Plan make_plan(const Spec& spec, const CellCheck& check) {
  Plan plan;
  std::set<std::string> known;
  std::map<int, bool> useful;  // exclusions by their line, of whatever part
  const std::vector<Matrix> matrices = matrices_of(spec);
  refuse_too_many(spec, matrices);
  for (const Matrix& matrix : matrices) {
    Excluded excluded(matrix);
    for (record::Settings& settings : points_of(matrix, excluded, plan.excluded)) {
      std::string hash = hash_of(spec, settings);
      if (!known.insert(hash).second) continue;  // parts may overlap
      std::string refused = complaint_about_places(spec, settings);
      if (refused.empty()) refused = check(settings);
      plan.cells.push_back({std::move(hash), std::move(settings), std::move(refused)});
    }
    for (std::size_t i = 0; i < matrix.exclusions.size(); ++i)
      useful[matrix.exclusions[i].line] |= excluded.used(i) || matrix.sample.points > 0;
  }
  for (const auto& [line, used] : useful)
    if (!used) plan.remarks.push_back(fmt::format("{}:{}: this exclusion matches no cell", spec.file, line));
  if (plan.cells.empty())
    fail(ErrorKind::config, "{}: no cell is left: all {} are excluded", spec.file, plan.excluded);
  plan.runs = ordered_runs(spec, plan.cells);
  return plan;
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const auto read = [&](std::size_t from, std::size_t to, std::int64_t& number) {
    const auto end = text.data() + to;
    const auto result = std::from_chars(text.data() + from, end, number);
    return result.ec == std::errc{} && result.ptr == end;
  };
  if (slash == std::string::npos || !read(0, slash, shard.number) ||
      !read(slash + 1, text.size(), shard.of) || shard.number < 1 || shard.number > shard.of)
    fail(ErrorKind::usage, "{} {}: K/N expected, as in 2/8, with K from 1 to N", Setting{"shard"}, text);
  return shard;
}

Plan take_shard(const Plan& plan, const Shard& shard) {
  // Hashes are as good as random: in their order, every N-th cell is a fair sample of the matrix.
  std::vector<std::string> order;
  for (const Cell& cell : plan.cells) order.push_back(cell.hash);
  std::sort(order.begin(), order.end());
  std::set<std::string> taken;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (static_cast<std::int64_t>(i) % shard.of == shard.number - 1) taken.insert(order[i]);
  Plan part = plan;
  std::erase_if(part.cells, [&](const Cell& cell) { return !taken.contains(cell.hash); });
  std::erase_if(part.runs, [&](const store::PlannedRun& run) { return !taken.contains(run.cell); });
  for (std::size_t i = 0; i < part.runs.size(); ++i) part.runs[i].position = static_cast<std::int64_t>(i);
  return part;
}

}  // namespace trainyard::study
