#include "ensemble/options.h"

#include <algorithm>

#include "base/cores.h"
#include "base/error.h"
#include "ensemble/gathered_batches.h"
#include "run/choices.h"
#include "train/loop/feed.h"
#include "train/session/job_check.h"

namespace trainyard::ensemble {

namespace {

// As many as are asked for, those of the file again and again; each time they begin with other weights.
void set_members(std::vector<MemberSpec>& members, int wanted) {
  const std::size_t given = members.size();
  for (std::size_t i = given; i < static_cast<std::size_t>(wanted); ++i) {
    members.push_back(members[i - given]);
    members.back().run.seed += given;
  }
  members.resize(static_cast<std::size_t>(wanted));
}

void check_design(EnsembleSpec& spec) {
  const int members = static_cast<int>(spec.taking_part().size());
  const char* design = name(spec.design);
  const bool one = spec.design == Design::baseline || spec.design == Design::shared_memory;
  if (spec.preprocessors == 0) spec.preprocessors = spec.design == Design::all_shared ? members : 1;
  if (spec.design == Design::all_shared && spec.preprocessors != members)
    fail(ErrorKind::usage, "{} preprocessors: with design {} each of the {} members preprocesses",
         spec.preprocessors, design, members);
  if (one && spec.preprocessors != 1)
    fail(ErrorKind::usage, "{} preprocessors: design {} has one{}", spec.preprocessors, design,
         spec.design == Design::baseline ? " for each member" : "");
  if (spec.preprocessors > members)
    fail(ErrorKind::usage, "{} preprocessors: members preprocess, and there are {}", spec.preprocessors,
         members);
}

void check_threads(const EnsembleSpec& spec) {
  const train::ProcessLimit limit = train::process_limit(meter::SystemFiles());
  if (spec.threads > limit.most)
    fail(ErrorKind::unsupported, "{} threads of a preprocessor: this machine may have {} ({})", spec.threads,
         limit.most, limit.reason);
}

}  // namespace

EnsembleSpec to_ensemble(const EnsembleOptions& options, const std::vector<int>& left_out) {
  EnsembleSpec spec = read_ensemble(options.file);
  spec.left_out = left_out;
  if (!options.design.empty()) {
    run::want_choice("ensemble", "design", options.design);
    spec.design = *find_design(options.design);
    spec.preprocessors = 0;
  }
  if (options.members > 0) set_members(spec.members, options.members);
  if (options.preprocessors > 0) spec.preprocessors = options.preprocessors;
  if (options.threads > 0) spec.threads = options.threads;
  if (options.steps > 0) spec.steps = options.steps;
  if (options.epochs > 0) {
    spec.epochs = options.epochs;
    if (options.steps == 0) spec.steps = 0;
  }
  if (options.patience > 0) spec.patience.seconds = options.patience;
  if (!options.lost.empty()) {
    run::want_choice("ensemble", "lost", options.lost);
    spec.patience.then = options.lost == "wait"   ? Lost::wait
                         : options.lost == "drop" ? Lost::drop
                                                  : Lost::abort;
  }
  if (options.rate >= 0)
    for (MemberSpec& member : spec.members) member.images_per_second = options.rate;
  if (options.resume.is_given() && options.out.empty())
    fail(ErrorKind::usage, "{}: wants {}", Setting{"resume"}, Setting{"out"});
  // The members that are left share the work of the lost ones.
  if (!left_out.empty())
    spec.preprocessors = spec.design == Design::all_shared
                             ? 0
                             : std::min(spec.preprocessors, static_cast<int>(spec.taking_part().size()));
  check_design(spec);
  check_threads(spec);
  if (!options.hosts.empty() && spec.design == Design::shared_memory)
    fail(ErrorKind::usage, "{}: members of design shared-memory are on one machine", Setting{"hosts"});
  return spec;
}

StreamOptions to_stream(const EnsembleSpec& spec) {
  StreamOptions stream;
  stream.design = spec.design;
  stream.members = static_cast<int>(spec.taking_part().size());
  stream.preprocessors = spec.preprocessors;
  stream.source.records = data::RecordSet::open(spec.data, spec.train_split, spec.damage);
  stream.source.preprocessor = data::make_preprocessor(spec.preprocess);
  stream.source.read.seed = spec.seed;
  stream.source.read.window = spec.window;
  stream.source.read.damage = spec.damage;
  stream.threads = spec.threads > 0 ? spec.threads : static_cast<int>(process_cores().size());
  // A design that gathers passes on as much at a time as one that broadcasts, for any number of
  // preprocessors.
  constexpr std::int64_t kLeastBlock = 4;
  const bool gathers = spec.design == Design::all_shared || spec.design == Design::single_broadcast;
  stream.block =
      gathers ? std::max(spec.block / spec.preprocessors, std::min(spec.block, kLeastBlock)) : spec.block;
  const auto blocks = [&](std::int64_t images) {
    return BoundedQueue<OwnedBlock>::Limits{.items = std::max<std::int64_t>(images / stream.block, 2),
                                            .bytes = spec.queue_bytes};
  };
  stream.made = blocks(spec.made_images / stream.shares());
  stream.ahead = blocks(spec.ahead_images);
  // A member's GPU keeps blocks until it has used them; as many again are made meanwhile.
  if (spec.shares_gpu_copies())
    for (const MemberSpec& member : spec.members)
      if (member.is_on_gpu())
        stream.ahead.items =
            std::max(stream.ahead.items,
                     2 * GatheredBatches::blocks_held(member.run.batch, stream.block, train::kFeedPlaces));
  stream.patience = spec.patience;
  // Groups know no policy: who shall wait has all the time. A rank that died ends the job all the same.
  constexpr double kNoEnd = 1e9;
  if (spec.patience.then == Lost::wait && spec.design != Design::shared_memory)
    stream.patience.seconds = kNoEnd;
  return stream;
}

}  // namespace trainyard::ensemble
