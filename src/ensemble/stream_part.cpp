#include "ensemble/stream_part.h"

namespace trainyard::ensemble {

namespace {

std::span<std::byte> room(OwnedBlock& block, std::int64_t bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > block->sizes().block_bytes())
    fail(ErrorKind::peer, "a block of {} bytes came, where at most {} fit", bytes,
         block->sizes().block_bytes());
  return block.memory().first(static_cast<std::size_t>(bytes));
}

void check_sound(OwnedBlock& block) {
  if (!block->is_sound())
    fail(ErrorKind::peer, "a block of {} samples came, of at most {}", block->count(),
         block->sizes().capacity);
}

}  // namespace

std::vector<int> ranks_between(int first, int end) {
  std::vector<int> ranks(static_cast<std::size_t>(end - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

OwnedBlock make_block(const Sharing& sharing, bool& more) {
  OwnedBlock block = sharing.blocks->take();
  if (more) more = sharing.make(*block);
  return block;
}

std::vector<OwnedBlock> gather_blocks(const Sharing& sharing, comm::collective::Group& group,
                                      std::span<const Word> words, OwnedBlock own) {
  const auto mine = static_cast<std::size_t>(group.rank());
  std::vector<OwnedBlock> blocks;
  std::vector<std::size_t> at(words.size());  // in blocks
  for (std::size_t r = 0; r < words.size(); ++r) {
    at[r] = blocks.size();
    if (words[r].bytes == 0) continue;
    if (r == mine)  // NOLINTNEXTLINE(bugprone-use-after-move): it is so once
      blocks.push_back(std::move(own));
    else
      blocks.push_back(sharing.blocks->take());
  }
  std::vector<std::span<std::byte>> to(words.size());
  std::span<const std::byte> sent;
  for (std::size_t r = 0; r < words.size(); ++r) {
    if (words[r].bytes == 0) continue;
    to[r] = room(blocks[at[r]], words[r].bytes);
    if (r == mine) sent = to[r];
  }
  group.all_gather(sent, to);
  for (OwnedBlock& block : blocks) check_sound(block);
  return blocks;
}

void broadcast_block(comm::collective::Group& group, int root, OwnedBlock& block, std::int64_t bytes) {
  group.broadcast(root, room(block, bytes));
  check_sound(block);
}

namespace {

SampleSource source_of(const StreamOptions& options, int share, std::int64_t first_position) {
  SampleSource source = options.source;
  source.read.share = share;
  source.read.shares = options.shares();
  source.read.first_position = first_position;
  return source;
}

// Returns, for each share, the position of the member that is least advanced.
std::vector<std::int64_t> earliest(const StreamPlace& own, comm::collective::Job& job, double patience) {
  const auto everybody = job.make_group(ranks_between(0, job.size()), patience);
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(job.size()), own.next());
  std::vector<std::span<std::byte>> to;
  for (auto& place : places) to.push_back(std::as_writable_bytes(std::span(place)));
  everybody->all_gather(std::as_bytes(std::span(own.next())), to);
  std::vector<std::int64_t> least = own.next();
  for (const auto& place : places)
    for (std::size_t share = 0; share < least.size(); ++share)
      least[share] = std::min(least[share], place[share]);
  return least;
}

}  // namespace

StreamPart::StreamPart(const StreamOptions& options, comm::collective::Job& job, const StreamPlace& place) {
  TRAINYARD_CHECK(job.size() == options.members && options.design != Design::shared_memory);
  const bool alone = options.design == Design::baseline;
  const std::vector<std::int64_t> first =
      alone ? place.next() : earliest(place, job, options.patience.seconds);
  const auto blocks = std::make_shared<BlockPool>(options.sizes());
  Sharing sharing{
      .blocks = blocks, .preprocessors = options.preprocessors, .patience_seconds = options.patience.seconds};
  if (alone || job.rank() < options.preprocessors) {
    const int share = alone ? 0 : job.rank();
    maker_ = std::make_unique<SampleMaker>(source_of(options, share, first[static_cast<std::size_t>(share)]),
                                           options.threads);
    made_ahead_ = std::make_unique<MadeAhead>(*maker_, blocks, options.made);
    sharing.make = [this](SampleBlock& block) { return made_ahead_->next(block); };
    if (options.design == Design::multi_broadcast_as_built) {
      waster_ = std::make_unique<SampleMaker>(source_of(options, share, 0), options.threads);
      sharing.waste = [this](SampleBlock& block) {
        const MutexLock lock(wasting_);
        waster_->make(block);
      };
    }
  }
  stream_ = take_part(options.design, std::move(sharing), job, options.ahead);
}

StreamPart::~StreamPart() = default;

std::optional<QueueFill> StreamPart::made() const {
  return made_ahead_ ? std::optional(made_ahead_->fill()) : std::nullopt;
}

std::int64_t StreamPart::images_made() const {
  return (maker_ ? maker_->made() : 0) + (waster_ ? waster_->made() : 0);
}

std::int64_t StreamPart::images_skipped() const { return maker_ ? maker_->skipped() : 0; }

WrittenSamples write_in_place(const StreamOptions& options, std::int64_t first_position,
                              const std::function<void(const std::string&)>& announce,
                              const std::function<void(const std::string&)>& remark,
                              const std::function<bool()>& stopped,
                              const std::vector<std::shared_ptr<backend::Device>>& gpus) {
  SampleMaker maker(source_of(options, 0, first_position), options.threads);
  SharedStream stream(options.sizes(), static_cast<int>(options.ahead.items), options.members, gpus);
  announce(stream.address());
  for (bool more = true; more && stream.readers_left() > 0 && !stopped();) {
    SampleBlock block = stream.next(options.patience, remark);
    if (stream.readers_left() == 0) break;
    more = maker.make(block);
    if (block.count() > 0) stream.publish();
  }
  return {maker.made(), maker.skipped()};
}

}  // namespace trainyard::ensemble
