#include "benchmark/html_report.hpp"

#include <string_view>

#include "html_report_page.hpp"

namespace hopper_gemm {
namespace {

constexpr std::string_view kPlaceholder = "@ROWS@";
static_assert(kHtmlReportPage.find(kPlaceholder) != std::string_view::npos);

/// JSON for a script element. It has no `<`, so that no text in it can end the element. JSON has that character only in
/// strings, where it may be escaped.
std::string script_data(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string html_report(const RunInfo& run, std::span<const ResultRow> rows) {
  std::string page(kHtmlReportPage);
  return page.replace(page.find(kPlaceholder), kPlaceholder.size(), script_data(json_report(run, rows)));
}

}  // namespace hopper_gemm
