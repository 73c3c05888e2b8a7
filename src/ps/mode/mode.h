#pragma once

#include "ps/wire/buffer_pool.h"

namespace trainyard::ps {

// Mode is the rule by which a server takes gradients and lets workers go on. One file a mode; all of them are
// called on one thread, and know of no network: what they decide, their host does.
//
// A worker joins, is released with the newest weights, commits the gradient that it made of them, is released
// again, and so on until it leaves.
class Mode {
 public:
  // This is the gradient of a whole shard. It stays unchanged while anyone holds it.
  using Gradient = std::shared_ptr<const Buffer>;

  class Host {
   public:
    virtual ~Host() = default;
    // One update of the parameters, by what was committed since the last; `summed`: so many gradients are
    // added up in it, their mean being one.
    virtual void apply(std::span<const float> gradient, int summed) = 0;
    // Applies in the background; then calls `done`, on the mode's thread.
    virtual void apply_beside(int worker, Gradient gradient, std::function<void()> done) = 0;
    // Sends the newest weights to the worker.
    virtual void release(int worker) = 0;
  };

  virtual ~Mode() = default;

  // Before start() workers only gather. A worker that joins later is counted from the next clock on.
  virtual void join(int worker) = 0;
  virtual void start() = 0;
  // Removes the worker. Gradients that it has committed still count; nobody waits for more of them.
  virtual void leave(int worker) = 0;
  // Takes the whole gradient of a worker that was released.
  virtual void commit(int worker, Gradient gradient) = 0;
};

// Says how far workers may be apart.
enum class Pace : std::uint8_t {
  rounds,   // all of them give a gradient, then all of them go on
  bounded,  // the fastest is at most the mode's number of clocks ahead of the slowest
  free,     // nobody waits for another
};

// Says how one thread reads a shard that another may update.
enum class Sharing : std::uint8_t {
  one_thread,  // it is the same
  snapshots,   // an update puts its version in place of the last when it is complete
  locked,      // updates and readers take turns, and readers make a copy
  racing,      // several threads update the same numbers at once, by plain subtraction
};

struct ModeName;

// A ModeRow is a row of the list of modes (modes.h): all that the rest of the program knows of a mode.
struct ModeRow {
  const char* word;            // as users write it; with a number "word:N"
  const char* help;            // one line
  const char* also = nullptr;  // another word for it
  bool takes_number = false;   // any N >= 0
  Pace pace = Pace::free;
  bool sums = false;  // an update of several gradients is their sum, else their mean
  Sharing sharing = Sharing::one_thread;
  // `elements`: the length of a gradient.
  std::unique_ptr<Mode> (*make)(const ModeName& name, Mode::Host& host, std::int64_t elements);
};
std::span<const ModeRow> all_modes();

// Names a mode as a user does: "bsp", "asp", "ssp:3".
struct ModeName {
  const ModeRow* row = &all_modes().front();
  int number = 0;  // of a mode that takes one

  // Error (usage) that says what is allowed.
  static ModeName parse(const std::string& text);
  std::string to_string() const;

  // Returns whether an update is made of a gradient of every worker. Workers of which none may be ahead go in
  // rounds, too.
  bool in_rounds() const { return row->pace == Pace::rounds || (row->pace == Pace::bounded && number == 0); }
};
// Returns nothing for text that is no mode.
std::optional<ModeName> find_mode(const std::string& text);
inline bool is_mode(const std::string& text) { return find_mode(text).has_value(); }

// Returns the words of all modes, with "ssp:N" for one that takes a number.
std::vector<std::string> mode_words();
// Returns a line for each word, with its help.
std::string mode_help();

std::unique_ptr<Mode> make_mode(const ModeName& name, Mode::Host& host, std::int64_t elements);

// The gradients of one round, by worker: their sum in the order of workers, or their mean, in `sum`.
void add_in_order(const std::map<int, std::span<const float>>& gradients, bool mean, std::span<float> sum);

}  // namespace trainyard::ps
