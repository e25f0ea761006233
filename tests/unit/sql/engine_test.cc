#include "sql/engine.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "timelake/error.h"

namespace timelake::sql {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Engine> PlainEngine(SessionOptions options = {}) {
  options.threads = 2;
  EngineOptions engine_options;
  engine_options.session = options;
  auto engine = Engine::Make(engine_options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *engine;
}

// All rows as one table; the test fails on an error.
std::shared_ptr<arrow::Table> Rows(Engine& engine, const std::string& text,
                                   const Params& params = {}) {
  auto reader = engine.Query(text, params);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return nullptr;
  auto table = (*reader)->ToTable();
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *table : nullptr;
}

// One row, one column, as text.
std::string Scalar(Engine& engine, const std::string& text, const Params& params = {}) {
  const auto table = Rows(engine, text, params);
  if (!table || table->num_rows() != 1) return "not one row";
  return (*table->column(0)->GetScalar(0))->ToString();
}

Status ErrorOf(Engine& engine, const std::string& text, const Params& params = {}) {
  auto reader = engine.Query(text, params);
  return reader.ok() ? (*reader)->ToTable().status() : reader.status();
}

TEST(Engine, StreamsABigResultInBatches) {
  const auto engine = PlainEngine();
  auto reader = *engine->Query("SELECT i, i % 7 AS r FROM range(1000000) t(i)");
  int64_t rows = 0, batches = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ASSERT_TRUE(reader->ReadNext(&batch).ok());
    if (!batch) break;
    ASSERT_TRUE(batch->ValidateFull().ok());
    rows += batch->num_rows();
    ++batches;
  }
  EXPECT_EQ(rows, 1000000);
  EXPECT_GT(batches, 10);
}

TEST(Engine, TimesWithZoneLeaveAsUtcWhateverTheSessionZone) {
  const auto engine = PlainEngine();
  ASSERT_TRUE(engine->Run("SET TimeZone = 'America/New_York'").ok());
  const auto table = Rows(*engine,
                          "SELECT TIMESTAMPTZ '2026-01-03 00:00:00+00' AS t, "
                          "[TIMESTAMPTZ '2026-01-03 00:00:00+00'] AS l");
  EXPECT_TRUE(
      table->schema()->field(0)->type()->Equals(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")));
  EXPECT_EQ(table->schema()->field(1)->type()->field(0)->type()->ToString(),
            "timestamp[us, tz=UTC]");
  EXPECT_EQ((*table->column(0)->GetScalar(0))->ToString(), "2026-01-03 00:00:00.000000Z");
}

TEST(Engine, TypesThatArrowHasUnderAnotherName) {
  const auto engine = PlainEngine();
  const auto table = Rows(*engine,
                          "SELECT sum(i) AS h, uuid() AS u, 'a'::ENUM('a', 'b') AS e, "
                          "'x'::BLOB AS b FROM range(3) t(i)");
  EXPECT_EQ(table->schema()->field(0)->type()->ToString(), "decimal128(38, 0)");
  EXPECT_EQ((*table->column(0)->GetScalar(0))->ToString(), "3");
  EXPECT_EQ(table->schema()->field(1)->type()->ToString(), "string");
  EXPECT_EQ(table->schema()->field(2)->type()->id(), arrow::Type::DICTIONARY);
  EXPECT_EQ(table->schema()->field(3)->type()->ToString(), "binary");
  ASSERT_TRUE(table->ValidateFull().ok());
}

TEST(Engine, TypesThatArrowDoesNotHaveAreRefused) {
  const auto engine = PlainEngine();
  for (const char* value : {"340282366920938463463374607431768211455::UHUGEINT", "'0101'::BIT",
                            "['12:00:00+02'::TIMETZ]", "{'a': 123::BIGNUM}"}) {
    const Status status = ErrorOf(*engine, std::string("SELECT ") + value + " AS x");
    EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported) << value;
    EXPECT_THAT(status.message(), HasSubstr("\"x\""));
  }
  EXPECT_EQ(Scalar(*engine, "SELECT 1"), "1");
}

TEST(Engine, Parameters) {
  const auto engine = PlainEngine();
  Params named;
  named.named = {{"n", int64_t{41}}, {"t", std::string("2026-01-03 05:00")}};
  EXPECT_EQ(Scalar(*engine, "SELECT $n + 1", {{{"n", int64_t{41}}}, {}}), "42");
  EXPECT_EQ(Scalar(*engine,
                   "SELECT count(*) FROM range(TIMESTAMP '2026-01-03', TIMESTAMP '2026-01-04', "
                   "INTERVAL 1 HOUR) r(x) WHERE x >= $t AND $n = 41",
                   named),
            "19");
  Params positional;
  positional.positional = {int64_t{1}, 2.5, std::string("it's"), true, std::monostate()};
  EXPECT_EQ(Scalar(*engine, "SELECT (?, ?, ?, ?, ?)::VARCHAR", positional),
            "(1, 2.5, 'it\\'s', true, NULL)");
  EXPECT_EQ(Scalar(*engine, "SELECT time_bucket($w, TIMESTAMPTZ '2026-01-03 00:17:00+00')::VARCHAR",
                   {{{"w", std::string("15m")}}, {}}),
            "2026-01-03 00:15:00+00");

  EXPECT_EQ(KindOf(ErrorOf(*engine, "SELECT $a", {{{"b", int64_t{1}}}, {}})),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(ErrorOf(*engine, "SELECT 1", {{{"b", int64_t{1}}}, {}})),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(ErrorOf(*engine, "SELECT $a")), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(ErrorOf(*engine, "SELECT $a", {{{"a", std::string("\xff")}}, {}})),
            ErrorKind::kInvalidArgument);
}

TEST(Engine, ParametersOfAnyType) {
  const auto engine = PlainEngine();
  Params params;
  params.named = {{"d", TypedText{"2026-01-03", "DATE"}},
                  {"t", TypedText{"2026-01-03 05:00:00.25+00:00", "TIMESTAMPTZ"}},
                  {"w", TypedText{"90000000 microseconds", "INTERVAL"}},
                  {"n", TypedText{"12.340", "DECIMAL(5,3)"}},
                  {"b", TypedText{"\\x00a\\xFF", "BLOB"}},
                  {"h", TypedText{"170141183460469231731687303715884105727", "HUGEINT"}}};
  EXPECT_EQ(Scalar(*engine, "SELECT ($d + 1, $t, $w, $n, $b, $h)::VARCHAR", params),
            R"((2026-01-04, '2026-01-03 05:00:00.25+00', '00:01:30', 12.340, \x00a\xFF, )"
            "170141183460469231731687303715884105727)");

  const ParamList hosts{{std::string("a"), std::string("c"), std::monostate()}};
  const ParamList mixed{{int64_t{1}, 2.5}};
  EXPECT_EQ(Scalar(*engine,
                   "SELECT list(x ORDER BY x)::VARCHAR FROM (VALUES ('a'), ('b'), ('c')) "
                   "v(x) WHERE x IN $hosts",
                   {{{"hosts", hosts}}, {}}),
            "[a, c]");
  EXPECT_EQ(Scalar(*engine, "SELECT $1::VARCHAR", {{}, {mixed}}), "[1.0, 2.5]");
  EXPECT_EQ(Scalar(*engine, "SELECT len($1)", {{}, {ParamList{}}}), "0");

  const auto refused = [&](ParamValue value) {
    const Status status = ErrorOf(*engine, "SELECT $1", {{}, {std::move(value)}});
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << status.ToString();
    return status.message();
  };
  EXPECT_THAT(refused(TypedText{"2026-13-03", "DATE"}), HasSubstr("2026-13-03"));
  EXPECT_THAT(refused(TypedText{"1", "NO_SUCH_TYPE"}), HasSubstr("NO_SUCH_TYPE"));
  EXPECT_THAT(refused(TypedText{"1", "DECIMAL(39,1)"}), HasSubstr("DECIMAL(39,1)"));
  EXPECT_THAT(refused(TypedText{"[1]", "LIST"}), HasSubstr("LIST"));
  EXPECT_THAT(refused(ParamList{{TypedText{"2026-01-03", "DATE"}, true}}), HasSubstr("BOOLEAN"));
}

TEST(Engine, ErrorsSayWhatIsWrongAndKeepTheirKind) {
  const auto engine = PlainEngine();
  const Status parse = ErrorOf(*engine, "SELEC 1");
  EXPECT_EQ(KindOf(parse), ErrorKind::kInvalidArgument);
  EXPECT_THAT(parse.message(), HasSubstr("syntax error at or near \"SELEC\""));
  EXPECT_THAT(parse.message(), HasSubstr("LINE 1"));

  const Status bind = ErrorOf(*engine, "SELECT nosuch FROM range(1)");
  EXPECT_EQ(KindOf(bind), ErrorKind::kInvalidArgument);
  EXPECT_THAT(bind.message(), HasSubstr("\"nosuch\" not found"));
  EXPECT_THAT(bind.message(), ::testing::Not(HasSubstr("Binder Error")));

  EXPECT_EQ(KindOf(ErrorOf(*engine, "SELECT 'x'::INT")), ErrorKind::kInvalidArgument);
  // The error comes when most of the result has been streamed.
  EXPECT_EQ(KindOf(ErrorOf(*engine,
                           "SELECT CASE WHEN i < 900000 THEN i ELSE error('late') END "
                           "FROM range(1000000) t(i)")),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(ErrorOf(*engine, "FROM read_csv('/no/such/file.csv')")), ErrorKind::kIo);
  EXPECT_EQ(KindOf(ErrorOf(*engine, "SELECT 1; SELECT 2")), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(ErrorOf(*engine, " -- nothing\n")), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(ErrorOf(*engine, "INSTALL httpfs; ")), ErrorKind::kIo);
  // And it goes on.
  EXPECT_EQ(Scalar(*engine, "SELECT 1"), "1");
}

TEST(Engine, MemoryLimitIsAnIoError) {
  SessionOptions options;
  options.memory_limit = "20MB";
  const auto engine = PlainEngine(options);
  const Status status =
      ErrorOf(*engine, "SELECT count(DISTINCT md5(i::VARCHAR)) FROM range(5000000) t(i)");
  EXPECT_EQ(KindOf(status), ErrorKind::kIo) << status;
  EXPECT_EQ(Scalar(*engine, "SELECT 1"), "1");
}

TEST(Engine, BadOptionsNameTheOption) {
  EngineOptions options;
  options.session.memory_limit = "lots";
  auto engine = Engine::Make(options);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(KindOf(engine.status()), ErrorKind::kInvalidArgument);
  EXPECT_THAT(engine.status().message(), HasSubstr("memory_limit = lots"));
}

TEST(Engine, OneResultAtATime) {
  const auto engine = PlainEngine();
  auto reader = *engine->Query("SELECT i FROM range(10000000) t(i)");
  std::shared_ptr<arrow::RecordBatch> batch;
  ASSERT_TRUE(reader->ReadNext(&batch).ok());
  const Status second = engine->Query("SELECT 1").status();
  EXPECT_EQ(KindOf(second), ErrorKind::kInvalidArgument);
  EXPECT_THAT(second.message(), HasSubstr("still open"));
  const auto start = std::chrono::steady_clock::now();
  reader.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(Scalar(*engine, "SELECT 1"), "1");
}

TEST(Engine, ReaderOutlivesTheEngine) {
  auto engine = PlainEngine();
  auto reader = *engine->Query("SELECT i FROM range(100000) t(i)");
  engine.reset();
  EXPECT_EQ((*reader->ToTable())->num_rows(), 100000);
}

TEST(Engine, InterruptStopsARunningStatement) {
  const auto engine = PlainEngine();
  std::atomic<bool> done{false};
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    while (!done) {
      engine->Interrupt();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const auto start = std::chrono::steady_clock::now();
  const Status status = ErrorOf(
      *engine, "SELECT count(*) FROM range(10000000) a(i), range(10000000) b(j) WHERE i * j = 7");
  done = true;
  stopper.join();
  EXPECT_EQ(KindOf(status), ErrorKind::kCancelled) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  engine->Interrupt();  // nothing runs
  EXPECT_EQ(Scalar(*engine, "SELECT 1"), "1");
}

TEST(Engine, SeveralStatementsOfOnePivot) {
  const auto engine = PlainEngine();
  ASSERT_TRUE(
      engine->Run("CREATE TEMP TABLE s AS SELECT i % 3 AS k, i AS v FROM range(9) t(i)").ok());
  const auto table = Rows(*engine, "PIVOT s ON k USING sum(v)");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->num_columns(), 3);
}

TEST(Engine, SessionStateStays) {
  const auto engine = PlainEngine();
  ASSERT_TRUE(engine->Run("BEGIN").ok());
  ASSERT_TRUE(engine->Run("CREATE TEMP TABLE x AS SELECT 42 AS v").ok());
  ASSERT_TRUE(engine->Run("COMMIT").ok());
  EXPECT_EQ(Scalar(*engine, "SELECT v FROM x"), "42");
}

TEST(Split, RespectsQuotesAndComments) {
  const auto statements = *Engine::Split(
      "SELECT ';' AS a; -- not; here\nSELECT $$;$$;\n/* ; */ SELECT \"a;b\" FROM t;;\nSELECT 4");
  ASSERT_EQ(statements.size(), 4u);
  EXPECT_EQ(statements[0], "SELECT ';' AS a");
  EXPECT_THAT(statements[1], HasSubstr("SELECT $$;$$"));
  EXPECT_THAT(statements[2], HasSubstr("SELECT \"a;b\" FROM t"));
  EXPECT_EQ(statements[3], "SELECT 4");
  EXPECT_EQ((*Engine::Split("PIVOT s ON k USING sum(v); SELECT 1")).size(), 2u);
  EXPECT_EQ((*Engine::Split("  -- only a comment")).size(), 0u);
  const Status bad = Engine::Split("SELECT 1;\nSELEC 2").status();
  EXPECT_EQ(KindOf(bad), ErrorKind::kInvalidArgument);
  EXPECT_THAT(bad.message(), HasSubstr("LINE 2"));
}

}  // namespace
}  // namespace timelake::sql
