#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <duckdb/main/config.hpp>
#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/materialized_query_result.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/logical_operator.hpp>

#include "sql/functions.h"
#include "sql/functions/bucket_filter.h"

namespace timelake::sql {
namespace {

// Hands over what follows from the filters of the plans that it sees.
struct Listener : duckdb::OptimizerExtensionInfo {
  std::string text;
};

void Listen(duckdb::OptimizerExtensionInput& input,
            duckdb::unique_ptr<duckdb::LogicalOperator>& plan) {
  auto& text = static_cast<Listener&>(*input.info).text;
  if (plan->type == duckdb::LogicalOperatorType::LOGICAL_FILTER) {
    for (const auto& filter : plan->expressions) {
      for (const auto& implied : ImpliedByBucket(input.context, *filter)) {
        text += (text.empty() ? "" : " AND ") + implied->ToString();
      }
    }
  }
  for (auto& child : plan->children) Listen(input, child);
}

class BucketFilter : public ::testing::Test {
 protected:
  BucketFilter() : database_(nullptr), connection_(database_) {
    RegisterFunctions(*database_.instance);
    duckdb::OptimizerExtension extension;
    extension.optimize_function = Listen;
    extension.optimizer_info = listener_;
    duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(*database_.instance),
                                         std::move(extension));
    Run("SET TimeZone = 'UTC'");
    Run("CREATE TABLE times AS SELECT t, t::TIMESTAMP AS n FROM range(TIMESTAMPTZ '2025-10-20 "
        "00:00:00+00', TIMESTAMPTZ '2025-11-05 00:00:00+00', INTERVAL '7 minutes') r(t)");
  }

  void Run(const std::string& text) {
    const auto result = connection_.Query(text);
    ASSERT_FALSE(result->HasError()) << text << "\n" << result->GetError();
  }

  // What follows from a condition on the table, as SQL.
  std::string Implied(const std::string& condition) {
    listener_->text.clear();
    // The limit keeps the filter from being pushed into the table's scan.
    Run("EXPLAIN SELECT * FROM (FROM times LIMIT 1000000) WHERE " + condition);
    return listener_->text;
  }

  int64_t Count(const std::string& condition) {
    const auto result = connection_.Query("SELECT count(*) FROM times WHERE " + condition);
    EXPECT_FALSE(result->HasError()) << condition << "\n" << result->GetError();
    return result->HasError() ? -1 : result->GetValue(0, 0).GetValue<int64_t>();
  }

  duckdb::shared_ptr<Listener> listener_ = duckdb::make_shared_ptr<Listener>();
  duckdb::DuckDB database_;
  duckdb::Connection connection_;
};

TEST_F(BucketFilter, SaysAsMuchAsTheCondition) {
  int with_zone = 0;
  for (const std::string bucket :
       {"time_bucket('1h', t)", "time_bucket('1d', t, 'America/New_York')", "time_bucket('1mo', n)",
        "time_bucket(INTERVAL '90 minutes', n, TIMESTAMP '2020-01-01 00:10:00')",
        "time_bucket('6h', t, INTERVAL '1 hour')"}) {
    const std::string type = bucket.find(", n") != std::string::npos ? "TIMESTAMP" : "TIMESTAMPTZ";
    for (const char* time : {"2025-10-26 04:00:00", "2025-10-26 01:23:45", "2025-11-01 00:00:00",
                             "2025-10-28 22:10:00"}) {
      const auto constant = fmt::format("{} '{}{}'", type, time, type == "TIMESTAMP" ? "" : "+00");
      for (const char* op : {"<", "<=", ">", ">=", "="}) {
        for (const bool flipped : {false, true}) {
          const auto condition = flipped ? fmt::format("{} {} {}", constant, op, bucket)
                                         : fmt::format("{} {} {}", bucket, op, constant);
          const auto implied = Implied(condition);
          ASSERT_FALSE(implied.empty()) << condition;
          // All that the condition leaves is left; and nothing else, but for buckets that no time
          // can have.
          const int64_t rows = Count(condition);
          EXPECT_EQ(Count(condition + " AND " + implied), rows) << condition << " -> " << implied;
          if (rows > 0 || std::string(op) != "=") {
            EXPECT_EQ(Count(implied), rows) << condition << " -> " << implied;
          }
          ++with_zone;
        }
      }
    }
  }
  EXPECT_EQ(with_zone, 200);
  const std::string between =
      "time_bucket('1h', t) BETWEEN TIMESTAMPTZ '2025-10-26 04:30:00+00' AND TIMESTAMPTZ "
      "'2025-10-26 07:00:00+00'";
  EXPECT_EQ(Count(Implied(between)), Count(between));
}

TEST_F(BucketFilter, SaysNothingOtherwise) {
  for (const char* condition :
       {"time_bucket('1h', t) <> TIMESTAMPTZ '2025-10-26 04:00:00+00'", "time_bucket('1h', t) = t",
        "time_bucket('1h', t) >= 'infinity'", "time_bucket('1h', t) >= NULL",
        "t > TIMESTAMPTZ '2025-10-26 04:00:00+00'",
        "time_bucket(to_hours(minute(t) + 1), t) > TIMESTAMPTZ '2025-10-26 04:00:00+00'"}) {
    EXPECT_EQ(Implied(condition), "") << condition;
  }
}

}  // namespace
}  // namespace timelake::sql
