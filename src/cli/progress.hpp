#pragma once

#include <cstddef>
#include <ostream>
#include <string>

namespace hopper_gemm {

/// Says on stderr what is going on.
class Progress {
 public:
  Progress(std::ostream& err, bool terminal) : err_(err), terminal_(terminal) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A step of the work. It rewrites the line on a terminal; elsewhere it is a line of its own.
  void step(const std::string& text) {
    if (terminal_) return detail(text);
    err_ << text << std::endl;
  }

  /// Progress within a step, which only a terminal shows.
  void detail(const std::string& text) {
    if (!terminal_) return;
    clear();
    constexpr std::size_t kLineLength = 79;  // a longer line would wrap, and could not be rewritten
    err_ << text.substr(0, kLineLength) << std::flush;
    shown_ = true;
  }

  void note(const std::string& text) {
    clear();
    err_ << text << std::endl;
  }

  /// Removes the line. Call it before you print anything else.
  void clear() {
    if (shown_) err_ << "\r\x1b[2K" << std::flush;
    shown_ = false;
  }

 private:
  std::ostream& err_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace hopper_gemm
