#include "benchmark/html_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

#include "test_support.hpp"

namespace hopper_gemm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kDataTag = "<script type=\"application/json\" id=\"rows\">";

ResultRow example_row() {
  ResultRow row;
  row.version = "4";
  row.name = "two_consumers";
  row.shape = {8192, 4096, 2048};
  row.flops = 2.0 * 8192 * 4096 * 2048;
  row.verdict = Verdict::Wrong;
  row.note = "</script><b>&\"\\<!--";
  return row;
}

RunInfo run_of_page() {
  RunInfo run;
  run.device = h200();
  run.command = "matmul 4 --html \xff<script>.html";
  return run;
}

/// What stands in the page's data element as a browser sees it: up to the first end of a script.
std::string_view embedded_data(std::string_view page) {
  const std::size_t begin = page.find(kDataTag) + kDataTag.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

TEST(HtmlReport, DataIsWholeWhateverTextsHold) {
  const std::array rows = {example_row(), example_row()};
  const std::string page = html_report(run_of_page(), rows);
  const std::string_view data = embedded_data(page);
  EXPECT_EQ(data.find('<'), std::string_view::npos);
  EXPECT_EQ(nlohmann::json::parse(data), nlohmann::json::parse(json_report(run_of_page(), rows)));
  const nlohmann::json parsed = nlohmann::json::parse(data);
  ASSERT_EQ(parsed.size(), 2U);
  EXPECT_EQ(parsed[1]["note"], rows[1].note);
  EXPECT_EQ(parsed[1]["command"], "matmul 4 --html \uFFFD<script>.html");
}

TEST(HtmlReport, PageIsOfOnePiece) {
  const std::array rows = {example_row()};
  const std::string page = html_report(run_of_page(), rows);
  EXPECT_THAT(page, ::testing::StartsWith("<!doctype html>\n"));
  EXPECT_THAT(page, ::testing::EndsWith("</html>\n"));
  EXPECT_THAT(page, Not(HasSubstr("@ROWS@")));
  EXPECT_THAT(html_report(run_of_page(), {}), HasSubstr(std::string(kDataTag) + "[]"));
}

TEST(HtmlReport, PageNeedsNoOtherFile) {
  const std::string page = html_report(run_of_page(), {});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  const std::regex reference(R"re(https?:|//\w|\b(src|href)\s*=|url\(|@import|<link|<iframe)re");
  std::smatch found;
  EXPECT_FALSE(std::regex_search(page, found, reference)) << found.str();
}

TEST(HtmlReport, TextsAreNeverParsedAsHtml) {
  const std::string page = html_report(run_of_page(), {});
  for (const char* parser : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
    EXPECT_THAT(page, Not(HasSubstr(parser)));
  }
}

}  // namespace
}  // namespace hopper_gemm
