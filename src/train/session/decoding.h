#pragma once

#include "networks/zoo/zoo.h"
#include "train/session/session.h"

namespace trainyard::train {

class Decoding;

struct DecodingOptions {
  networks::DecoderOptions decoder;  // its steps are those of the prompt
  std::string backend = "auto";
  DeviceSpec device;
  backend::Precision precision = backend::Precision::f32;
  backend::Effort tuning = backend::Effort::quick;
  int threads = 0;  // 0: every core this process may use
  bool fuse = true;
  std::uint64_t seed = 1;  // of the parameters, until some are loaded
  // Its parameters serve this one too, which is the same network for another batch; it must outlive this one,
  // and nothing was loaded into it yet. Null: this one has its own.
  Decoding* sharing = nullptr;
};

// A network that makes text: it reads a prompt at once, then goes on token by token. Keys and values of the
// steps before stay in caches, so a token costs the same work wherever it stands, but for attention. Limits
// the calling thread to its cores, and must be run by that thread. Error (unsupported) when there is not the
// memory for it.
class Decoding {
 public:
  explicit Decoding(const DecodingOptions& options);
  ~Decoding();

  // Parameters are at random until then.
  void load(const std::filesystem::path& checkpoint);

  // Reads the prompt from the first place on: ids (steps, N). Returns the logits (N, vocabulary) of the token
  // behind it.
  std::span<const float> read_prompt(std::span<const std::int32_t> ids);
  // Reads one token of each sequence, and returns the logits of the one behind it. REQUIRES: place() <
  // room().
  std::span<const float> read_token(std::span<const std::int32_t> ids);

  std::int64_t place() const { return place_; }  // of the next token
  std::int64_t room() const { return room_; }    // for so many tokens of each sequence, the prompt included
  std::int64_t vocabulary() const { return vocabulary_; }

  const DecodingOptions& options() const { return options_; }
  const backend::Backend& backend() const { return *backend_; }
  const engine::Executor& executor() const;  // that of the prompt
  int threads() const { return threads_; }
  std::int64_t parameters() const;
  // Returns the cost of read_prompt, and of read_token where the token has this place: attention works on the
  // steps that are there.
  graph::Cost prompt_cost() const;
  graph::Cost token_cost(std::int64_t place) const;
  std::int64_t cache_bytes() const;   // of keys and values
  std::int64_t plan_bytes() const;    // of all memory but that of the parameters of another
  std::int64_t device_bytes() const;  // as a session has it

 private:
  struct Part;
  std::span<const float> run(Part& part, std::span<const std::int32_t> ids);

  const DecodingOptions options_;
  int threads_ = 0;
  std::int64_t free_before_ = 0;
  std::shared_ptr<backend::Backend> backend_;
  std::unique_ptr<Part> prompt_, token_;
  std::int64_t place_ = 0, room_ = 0, vocabulary_ = 0;
};

// Drawing says how a token is drawn from its logits.
struct Drawing {
  double temperature = 1;  // 0: always the most likely one
  std::int64_t among = 0;  // the most likely ones alone; 0: all
  std::uint64_t seed = 1;
};

// Returns the token that is drawn as number `number`.
std::int32_t draw_token(std::span<const float> logits, const Drawing& drawing, std::uint64_t number);

}  // namespace trainyard::train
