#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

// For messages that quote what users typed, or the contents of their files and variables.
namespace hopper_gemm {

/// The text with spaces instead of control characters, so that it neither breaks a line nor controls a terminal.
inline std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  return text;
}

/// The first 80 bytes, or fewer if a character of UTF-8 does not end there. No configuration has a longer name.
inline std::string excerpt(std::string text) {
  constexpr std::size_t kMostBytes = 80;
  if (text.size() <= kMostBytes) return text;
  const auto continues_a_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t end = kMostBytes;
  while (end > 0 && continues_a_character(end)) --end;
  text.resize(end);
  return text + "...";
}

}  // namespace hopper_gemm
