#pragma once

#include "base/standard.h"

namespace trainyard {

// Hears from long work how far it is. The library never prints: a command line draws what it hears, another
// program may do anything else. The work calls it from one thread at a time.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;

  virtual void begin(const std::string& label, std::int64_t total) = 0;
  // Returns true when the next update will be shown: build a costly note only then.
  virtual bool due() const = 0;
  virtual void update(std::int64_t done, const std::string& note) = 0;
  virtual void end() = 0;

  virtual void note(const std::string& line) = 0;  // an event that people expect
  virtual void warn(const std::string& line) = 0;  // one that they do not expect
};

// A Progress is a piece of work. The listener may be null: then nobody hears of it.
class Progress {
 public:
  Progress(ProgressListener* listener, const std::string& label, std::int64_t total) : listener_(listener) {
    if (listener_ != nullptr) listener_->begin(label, total);
  }
  ~Progress() {
    if (listener_ != nullptr) listener_->end();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool due() const { return listener_ != nullptr && listener_->due(); }
  void update(std::int64_t done, const std::string& note = "") {
    if (listener_ != nullptr) listener_->update(done, note);
  }

 private:
  ProgressListener* listener_;
};

}  // namespace trainyard
