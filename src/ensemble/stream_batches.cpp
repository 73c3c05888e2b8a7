#include "ensemble/stream_batches.h"

#include <sstream>

#include "base/text.h"

namespace trainyard::ensemble {

namespace {

constexpr std::size_t kPlacesKept = 64;  // more than batches are ever made ahead

data::BatchStreamOptions by_one_thread(data::BatchStreamOptions options) {
  options.threads = 1;
  return options;
}

}  // namespace

StreamPlace::StreamPlace(int shares) {
  for (int share = 0; share < shares; ++share) next_.push_back(share);
}

StreamPlace StreamPlace::parse(const std::string& text, int shares) {
  std::optional<StreamPlace> place;
  // The newest comes first: "12 9 10 | 4 3".
  std::size_t end = text.size();
  for (bool more = true; more;) {
    const std::size_t bar = end == 0 ? std::string::npos : text.rfind('|', end - 1);
    more = bar != std::string::npos;
    std::istringstream words(text.substr(more ? bar + 1 : 0, more ? end - bar - 1 : end));
    StreamPlace part(0);
    for (std::int64_t position; words >> position;) part.next_.push_back(position);
    if (part.next_.empty()) fail(ErrorKind::config, "'{}' is no place in a stream of samples", text);
    if (place) part.earlier_ = std::make_shared<const StreamPlace>(*place);
    place = part;
    end = more ? bar : 0;
  }
  return static_cast<std::size_t>(shares) == place->next_.size() ? *place : place->cut_into(shares);
}

StreamPlace StreamPlace::cut_into(int shares) const {
  const std::int64_t first = *std::min_element(next_.begin(), next_.end());
  StreamPlace place(shares);
  for (std::int64_t& next : place.next_)
    next += std::max<std::int64_t>(0, (first - next + shares - 1) / shares) * shares;
  place.earlier_ = std::make_shared<const StreamPlace>(*this);
  return place;
}

std::string StreamPlace::text() const {
  return fmt::format("{}{}", joined(next_, " "), earlier_ ? " | " + earlier_->text() : "");
}

bool StreamPlace::is_past(const StreamPlace& other) const {
  const std::int64_t end = *std::max_element(other.next_.begin(), other.next_.end());
  return *std::min_element(next_.begin(), next_.end()) >= end &&
         (!other.earlier_ || is_past(*other.earlier_));
}

void StreamPlace::see(std::int64_t position) {
  next_[share_of(position)] = position + static_cast<std::int64_t>(next_.size());
  if (earlier_ && is_past(*earlier_)) earlier_.reset();
}

StreamBatches::StreamBatches(std::shared_ptr<MemberStream> stream, const How& how, const StreamPlace& place,
                             data::BatchStreamOptions options)
    : BatchMaker(by_one_thread(std::move(options))),
      stream_(std::move(stream)),
      how_(how),
      place_(place),
      next_step_(this->options().first_step),
      places_{place} {}

Shape StreamBatches::input_shape() const {
  const Shape& image = how_.preprocessor->options().output;
  return {options().batch, image[0], image[1], image[2]};
}

StreamPlace StreamBatches::place_after(std::int64_t steps) const {
  const MutexLock lock(mutex_);
  const std::int64_t back = next_step_ - steps;
  TRAINYARD_CHECK(back >= 0 && back < static_cast<std::int64_t>(places_.size()));
  return places_[places_.size() - 1 - static_cast<std::size_t>(back)];
}

std::int64_t StreamBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                                 Scratch& scratch) const {
  {
    const MutexLock lock(mutex_);
    TRAINYARD_CHECK(step == next_step_);
  }
  const std::int64_t batch = options().batch;
  for (std::int64_t i = 0; i < batch;) {
    if (block_ == nullptr) {
      block_ = stream_->next();
      next_in_block_ = 0;
      if (block_ == nullptr)
        fail(ErrorKind::peer, "the stream of samples ended before step {} was through", step);
    }
    if (next_in_block_ == block_->count()) {
      stream_->release();
      block_ = nullptr;
      continue;
    }
    const std::int64_t at = next_in_block_++;
    const SampleTag& tag = block_->tag(at);
    if (place_.has_seen(tag.position)) continue;
    place_.see(tag.position);
    put(*block_, at, i, inputs, scratch);
    labels[i++] = tag.label;
  }
  const MutexLock lock(mutex_);
  ++next_step_;
  places_.push_back(place_);
  if (places_.size() > kPlacesKept) places_.pop_front();
  return batch;
}

bool StreamBatches::is_mirrored(std::int64_t position) const {
  constexpr std::uint64_t kStream = stream_of("member mirror");
  return how_.mirror_seed &&
         (Philox(*how_.mirror_seed, kStream).block(static_cast<std::uint64_t>(position))[0] >> 31) != 0;
}

void StreamBatches::put(const SampleBlock& block, std::int64_t at, std::int64_t i, std::byte* inputs,
                        Scratch& scratch) const {
  const Shape& image = how_.preprocessor->options().output;
  const std::int64_t channels = image[0], height = image[1], width = image[2];
  const std::uint8_t* pixels = block.pixels(at);
  if (is_mirrored(block.tag(at).position)) {
    std::uint8_t* to = scratch.data();
    for (std::int64_t row = 0; row < height; ++row, pixels += width * channels)
      for (std::int64_t column = width; column-- > 0;)
        to = std::copy_n(pixels + column * channels, channels, to);
    pixels = scratch.data();
  }
  how_.preprocessor->normalise(pixels, reinterpret_cast<float*>(inputs) + i * image.elements());
}

namespace {

constexpr std::int64_t kAhead = 1;  // choosing samples takes no time

data::BatchStreamOptions chosen_ahead(data::BatchStreamOptions options) {
  options.depth = kAhead;
  return options;
}

}  // namespace

// The reader's blocks, which stay when they were looked at.
class GatheredBatches::Lent final : public MemberStream {
 public:
  Lent(std::shared_ptr<SharedReader> reader, double patience_seconds)
      : reader_(std::move(reader)), patience_seconds_(patience_seconds) {}

  const SampleBlock* next() override {
    block_ = reader_->next(patience_seconds_);
    return block_ ? &*block_ : nullptr;
  }
  void release() override { ++looked_at_; }
  void leave() override { reader_->leave(); }
  QueueFill fill() const override { return reader_->fill(); }

  std::int64_t looked_at() const { return looked_at_; }
  std::int64_t index() const { return reader_->gpu_index(); }
  // Gives back all blocks but those behind the first so many.
  void give_back(std::int64_t blocks) {
    for (; given_back_ < blocks; ++given_back_) reader_->release();
  }

 private:
  const std::shared_ptr<SharedReader> reader_;
  const double patience_seconds_;
  std::optional<SampleBlock> block_;
  std::int64_t looked_at_ = 0, given_back_ = 0;
};

GatheredBatches::GatheredBatches(std::shared_ptr<SharedReader> reader, double patience_seconds,
                                 std::shared_ptr<backend::OpenedMemory> samples, const How& how,
                                 const StreamPlace& place, const data::BatchStreamOptions& options)
    : GatheredBatches(std::make_shared<Lent>(std::move(reader), patience_seconds), std::move(samples), how,
                      place, options) {}

GatheredBatches::GatheredBatches(std::shared_ptr<Lent> lent, std::shared_ptr<backend::OpenedMemory> samples,
                                 const How& how, const StreamPlace& place,
                                 const data::BatchStreamOptions& options)
    : StreamBatches(lent, how, place, chosen_ahead(options)),
      lent_(std::move(lent)),
      samples_(std::move(samples)) {}

backend::SampleGather GatheredBatches::gather() const {
  const data::Preprocessor& preprocessor = *how().preprocessor;
  const Shape& image = preprocessor.options().output;
  return {.batch = options().batch,
          .channels = image[0],
          .output = {image[1], image[2]},
          .map = preprocessor.pixel_map()};
}

std::int64_t GatheredBatches::blocks_held(std::int64_t batch, std::int64_t block, int places) {
  // These are the blocks of the batches in progress, and at each end one that another batch shares.
  return ((places + kAhead) * batch + block - 1) / block + 2;
}

std::int64_t GatheredBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                                   Scratch& scratch) const {
  const std::int64_t images = StreamBatches::fill(step, inputs, labels, scratch);
  const MutexLock lock(mutex_);
  through_.emplace_back(step, lent_->looked_at());
  return images;
}

void GatheredBatches::put(const SampleBlock& block, std::int64_t at, std::int64_t i, std::byte* inputs,
                          Scratch&) const {
  reinterpret_cast<backend::GatheredSample*>(inputs)[i] = {
      .index = static_cast<std::int32_t>(lent_->index() + at),
      .mirrored = is_mirrored(block.tag(at).position) ? 1 : 0};
}

void GatheredBatches::used(std::int64_t step) const {
  std::int64_t blocks = 0;
  {
    const MutexLock lock(mutex_);
    for (; !through_.empty() && through_.front().first <= step; through_.pop_front())
      blocks = through_.front().second;
  }
  lent_->give_back(blocks);
}

}  // namespace trainyard::ensemble
