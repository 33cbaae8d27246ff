#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

// For messages that quote what users typed, or what their files and variables hold.
namespace hopper_gemm {

/// Text that neither breaks a line nor commands a terminal: spaces take the place of control characters.
inline std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  return text;
}

/// The first 80 bytes, which is longer than the name of any configuration.
inline std::string excerpt(std::string text) {
  constexpr std::size_t kMostBytes = 80;
  if (text.size() <= kMostBytes) return text;
  text.resize(kMostBytes);
  return text + "...";
}

}  // namespace hopper_gemm
