#pragma once

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

namespace trainyard::data {

// libjpeg leaves on an error by longjmp and returns to `guarded`: functions that it calls must own nothing
// that a destructor frees. The decompressor or compressor lives in the caller, who frees it.
struct JpegTrap {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

// Returns the manager for `cinfo.err`. Warnings that mean lost pixels are errors, too.
jpeg_error_mgr* arm(JpegTrap& trap);

// False when libjpeg gave up: trap.message says why.
template <typename Work>
[[gnu::noinline]] bool guarded(JpegTrap& trap, Work& work) {
  if (setjmp(trap.jump) != 0) return false;
  work();
  return true;
}

}  // namespace trainyard::data
