#include "serve/metrics.h"

#include <gtest/gtest.h>

namespace tritogen::serve {
namespace {

TEST(MetricsTest, HistogramsAreCumulative) {
  const double bounds[] = {0.5, 1};
  Histogram histogram(bounds);
  histogram.Add(0.5);  // a bound belongs to its bucket
  histogram.Add(0.75, 2);
  histogram.Add(9);
  std::string text;
  histogram.Print("h", "Help.", &text);
  EXPECT_EQ(text,
            "# HELP h Help.\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 1\nh_bucket{le=\"1\"} 3\n"
            "h_bucket{le=\"+Inf\"} 4\nh_sum 11\nh_count 4\n");
}

TEST(MetricsTest, TellsWhatWasCounted) {
  Metrics metrics;
  metrics.CountRequest("/v1/completions", 200);
  metrics.CountRequest("/v1/completions", 200);
  metrics.CountRequest("other", 404);
  metrics.AddFirstToken(0.2);
  metrics.AddBetweenTokens(0.003, 5);
  const std::string text =
      metrics.Text({.waiting = 3, .running = 2, .generated_tokens = 99, .blocks = 8}, {4, 5});
  for (const char* line :
       {"tritogen_requests_total{endpoint=\"/v1/completions\",status=\"200\"} 2\n",
        "tritogen_requests_total{endpoint=\"other\",status=\"404\"} 1\n", "\ntritogen_sequences_waiting 3\n",
        "\ntritogen_sequences_running 2\n", "\ntritogen_generated_tokens_total 99\n",
        "\ntritogen_cache_blocks 8\n", "\ntritogen_connections 4\n", "\ntritogen_sequences_open 5\n",
        "tritogen_time_to_first_token_seconds_count 1\n", "tritogen_inter_token_seconds_count 5\n",
        "tritogen_inter_token_seconds_bucket{le=\"0.0025\"} 0\n",
        "tritogen_inter_token_seconds_bucket{le=\"0.005\"} 5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace tritogen::serve
