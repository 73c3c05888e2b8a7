#pragma once

#include <stdexcept>
#include <string>

namespace trainyard {

// An error kind says who must act on the error; the command line maps it to an exit code.
enum class ErrorKind {
  usage,        // the command line is wrong
  config,       // a file or value the user gave is wrong
  shape,        // a network does not fit together
  unsupported,  // asked for something this build or backend has not
  io,           // the system failed: disk full, no network, permission
  peer,         // another process failed or vanished
  device,       // an accelerator failed
  internal,     // our own invariant broke
  interrupted,  // somebody asked to stop, and nothing is left to be kept
};

const char* name(ErrorKind kind);

// Code throws an Error where a person or a caller must act. The message is one line: the source of the error,
// the given value, the allowed values. The given value may hold anything: its control characters are shown as
// '?'.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);
  ErrorKind kind() const { return kind_; }
  // what(), with every setting ("decay_steps") as an option of the command line ("--decay-steps").
  const std::string& with_options() const { return with_options_; }

 private:
  ErrorKind kind_;
  std::string with_options_;
};

}  // namespace trainyard
