#pragma once

#include "base/mutex.h"
#include "comm/collective/collective.h"
#include "ensemble/member_stream.h"
#include "ensemble/sample_maker.h"
#include "ensemble/shared_stream.h"
#include "ensemble/sharing.h"
#include "ensemble/stream_batches.h"

namespace trainyard::ensemble {

// The message that a rank sends before blocks are passed.
struct Word {
  std::int64_t bytes = 0;       // of its block; 0: it has none
  std::int32_t has_more = 0;    // behind that
  std::int32_t wants_more = 0;  // its member does, or others for which it stands
};

// Returns whether there is reason for this round.
inline bool goes_on(std::span<const Word> words) {
  return std::any_of(words.begin(), words.end(), [](const Word& word) { return word.wants_more != 0; }) &&
         std::any_of(words.begin(), words.end(),
                     [](const Word& word) { return word.bytes > 0 || word.has_more != 0; });
}

std::vector<int> ranks_between(int first, int end);

// Makes the next block of this rank, which is empty once `more` is false; `more` becomes false with the last
// block.
OwnedBlock make_block(const Sharing& sharing, bool& more);

// Returns the blocks of all ranks of the group that have one, in the order of the ranks; `own` is among them.
std::vector<OwnedBlock> gather_blocks(const Sharing& sharing, comm::collective::Group& group,
                                      std::span<const Word> words, OwnedBlock own);

// Gets a block of so many bytes from root; on root, `block` is the one that is sent. Error (peer): the bytes
// are no block.
void broadcast_block(comm::collective::Group& group, int root, OwnedBlock& block, std::int64_t bytes);

// Says how samples are made and passed on; all processes of an ensemble have the same options.
struct StreamOptions {
  Design design = Design::shared_memory;
  int members = 1, preprocessors = 1;
  SampleSource source;  // without share and first position
  int threads = 1;      // of each that preprocesses
  std::int64_t block = 32;
  BoundedQueue<OwnedBlock>::Limits made{.items = 16}, ahead{.items = 16};  // in blocks
  Patience patience;

  SampleBlock::Sizes sizes() const { return {block, source.preprocessor->sample_bytes()}; }
  // Returns the number of shares of the common order; a member's place has as many numbers.
  int shares() const { return design == Design::baseline ? 1 : preprocessors; }
};

// Does a member's part in a stream that processes of a job pass on; it also makes what this rank makes for
// the others.
class StreamPart {
 public:
  // All ranks of the job call this, each a member. `place` says where this member stands; blocks are made
  // from the place of the member that is least advanced.
  StreamPart(const StreamOptions& options, comm::collective::Job& job, const StreamPlace& place);
  ~StreamPart();

  MemberStream& stream() { return *stream_; }
  // Returns the fill of the queue of blocks that this rank makes; none if it makes nothing.
  std::optional<QueueFill> made() const;
  std::int64_t images_made() const;  // those that nobody gets among them
  std::int64_t images_skipped() const;

 private:
  std::unique_ptr<SampleMaker> maker_;
  std::unique_ptr<SampleMaker> waster_;  // of two, `wasting_` guards what makes; its counts are atomic
  std::unique_ptr<MadeAhead> made_ahead_;
  Mutex wasting_;                         // held while the waster makes a block
  std::unique_ptr<MemberStream> stream_;  // last: its thread uses the above
};

// Makes samples into memory that members of this machine read, until none of them reads on or `stopped` says
// so. `announce` is told the address. `gpus`: to which they are copied for the members there.
struct WrittenSamples {
  std::int64_t made = 0, skipped = 0;
};
WrittenSamples write_in_place(const StreamOptions& options, std::int64_t first_position,
                              const std::function<void(const std::string& address)>& announce,
                              const std::function<void(const std::string& remark)>& remark,
                              const std::function<bool()>& stopped,
                              const std::vector<std::shared_ptr<backend::Device>>& gpus = {});

}  // namespace trainyard::ensemble
