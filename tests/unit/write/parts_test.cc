#include <gmock/gmock.h>

#include "unit/write/random_rows.h"
#include "write/combine.h"
#include "write/string_codes.h"

namespace timelake::write {
namespace {

// Rows that came in several long batches, whose numbers are not joined before they are gathered.

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> Filled(Builder builder, int64_t rows, Generator* generator,
                                     Value&& value) {
  for (int64_t i = 0; i < rows; ++i) {
    const bool null = generator->Chance(7);
    EXPECT_TRUE((null ? builder.AppendNull() : builder.Append(value(i))).ok());
  }
  return Unwrapped(builder.Finish());
}

std::shared_ptr<arrow::RecordBatch> AllNumbers(int64_t rows, bool in_order, Generator* generator) {
  const auto any = [&](int64_t) { return static_cast<int32_t>(generator->Below(1000)); };
  arrow::TimestampBuilder time(Micros(), arrow::default_memory_pool());
  arrow::StringBuilder device;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t minute = in_order ? i : generator->Below(4000);
    EXPECT_TRUE(time.Append(minute * kMicrosPerMinute).ok());
    const int64_t number = in_order ? 1 : generator->Below(9);
    EXPECT_TRUE(device.Append(fmt::format("device {}", number)).ok());
  }
  auto* pool = arrow::default_memory_pool();
  return BatchOf(
      {{"time", Unwrapped(time.Finish())},
       {"device", Unwrapped(device.Finish())},
       {"i", Filled(arrow::Int32Builder(), rows, generator, any)},
       {"l", Filled(arrow::Int64Builder(), rows, generator, [](int64_t i) { return i; })},
       {"f", Filled(arrow::FloatBuilder(), rows, generator, any)},
       {"d", Filled(arrow::DoubleBuilder(), rows, generator,
                    [](int64_t i) { return i % 997 == 0 ? std::nan("") : i / 8.0; })},
       {"dt", Filled(arrow::Date32Builder(), rows, generator, any)},
       {"tm", Filled(arrow::Time64Builder(arrow::time64(arrow::TimeUnit::MICRO), pool), rows,
                     generator, any)},
       {"b",
        Filled(arrow::BooleanBuilder(), rows, generator, [](int64_t i) { return i % 3 == 0; })},
       {"s", Filled(arrow::StringBuilder(), rows, generator,
                    [](int64_t i) { return fmt::format("text {}", i); })}});
}

Target AllNumbersTarget(bool dedup) {
  TargetSpec spec;
  spec.schema =
      "time:timestamptz!, device:string, i:int, l:long, f:float, d:double, dt:date, tm:time, "
      "b:boolean, s:string";
  spec.dedup = dedup;
  return TargetOf(spec);
}

std::vector<std::shared_ptr<arrow::RecordBatch>> Divided(
    const std::shared_ptr<arrow::RecordBatch>& rows, Generator* generator) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
  for (int64_t begin = 0; begin < rows->num_rows();) {
    parts.push_back(rows->Slice(begin, 4500 + generator->Below(4000)));
    begin += parts.back()->num_rows();
  }
  return parts;
}

std::vector<std::vector<std::string>> FilesOf(const table::Env& env, const Written& written) {
  std::vector<std::vector<std::string>> files;
  for (const auto& key : written.keys) files.push_back(TextRows(*ReadParquet(env, key)));
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Parts, GiveWhatOneBatchGives) {
  for (const bool in_order : {false, true}) {
    for (const bool dedup : {false, true}) {
      SCOPED_TRACE(fmt::format("in order {}, dedup {}", in_order, dedup));
      Generator generator(11);
      const auto rows = AllNumbers(23'000, in_order, &generator);
      const Target target = AllNumbersTarget(dedup);
      const auto parts = Divided(rows, &generator);
      ASSERT_GT(parts.size(), 2u);
      {
        WriteOptions options;
        std::vector<std::shared_ptr<arrow::RecordBatch>> aligned = parts;
        const Rows combined = Unwrapped(Combine(target, aligned, 2));
        EXPECT_EQ(combined.columns[5], nullptr);  // d
        EXPECT_NE(combined.columns[0], nullptr);  // time
      }
      const table::Env whole_env = TestEnv();
      const Written whole = Unwrapped(WriteBatches(whole_env, target, {rows}));
      const table::Env env = TestEnv();
      WriteOptions options;
      options.threads = 2;
      const Written written = Unwrapped(WriteBatches(env, target, parts, options));
      EXPECT_EQ(written.rows, whole.rows);
      EXPECT_EQ(written.duplicates, whole.duplicates);
      EXPECT_EQ(FilesOf(env, written), FilesOf(whole_env, whole));
      EXPECT_TRUE(written.newest->Equals(*whole.newest, false,
                                         arrow::EqualOptions::Defaults().nans_equal(true)));
      for (size_t i = 0; i < written.files.size(); ++i) {
        EXPECT_EQ(written.files[i].lower_bounds, whole.files[i].lower_bounds);
        EXPECT_EQ(written.files[i].upper_bounds, whole.files[i].upper_bounds);
        EXPECT_EQ(written.files[i].null_value_counts, whole.files[i].null_value_counts);
        EXPECT_EQ(written.files[i].nan_value_counts, whole.files[i].nan_value_counts);
      }
    }
  }
}

TEST(PartMap, FindsEachRow) {
  const std::vector<int64_t> lengths = {1, 5000, 0, 4095, 1, 4097, 20'000};
  const PartMap map(lengths);
  int64_t row = 0;
  for (uint32_t part = 0; part < lengths.size(); ++part) {
    for (int64_t i = 0; i < lengths[part]; ++i, ++row) {
      const auto place = map.Find(row);
      ASSERT_EQ(place.part, part) << row;
      ASSERT_EQ(place.row, i) << row;
    }
  }
}

TEST(StringCodes, NumbersInTheOrderOfFirstAppearance) {
  Generator generator(5);
  StringCodes codes;
  std::vector<std::string> texts = {"",
                                    "a",
                                    "b",
                                    "abc",
                                    "abd",
                                    "abcd",
                                    "abcdefgh",
                                    "abcdefgi",
                                    "abcdefghijklmnop",
                                    "abcdefghijklmnoq",
                                    "abcdefghijklmnopqrstuvwxyz",
                                    std::string("a\0b", 3)};
  for (int i = 0; i < 3000; ++i) texts.push_back(fmt::format("{:x}", i * 7919));
  std::vector<std::string> expected;
  std::map<std::string, int32_t> numbers;
  for (const size_t length : {1u, 0u, 40'000u, 3u, 9'000u}) {
    arrow::StringBuilder builder;
    std::vector<int32_t> wanted;
    for (size_t i = 0; i < length; ++i) {
      if (generator.Chance(3)) {
        ASSERT_TRUE(builder.AppendNull().ok());
        wanted.push_back(0);
        continue;
      }
      // Mostly in turn, sometimes not; values that several devices share.
      const size_t turn = i % 50 < 40 ? i % 5 : i % 12;
      const auto& text = texts[generator.Chance(95) ? turn : generator.Below(texts.size())];
      ASSERT_TRUE(builder.Append(text).ok());
      const auto [number, added] = numbers.emplace(text, static_cast<int32_t>(numbers.size()));
      if (added) expected.push_back(text);
      wanted.push_back(number->second);
    }
    const auto strings = Unwrapped(builder.Finish());
    std::vector<int32_t> found(length, -1);
    codes.Encode(static_cast<const arrow::StringArray&>(*strings), nullptr, found.data());
    ASSERT_EQ(found, wanted);
    // Devices that say much, and devices that say nothing.
    for (const int32_t modulus : {50, 7, 5000}) {
      std::vector<int32_t> devices(length);
      for (size_t i = 0; i < length; ++i) devices[i] = static_cast<int32_t>(i) % modulus;
      codes.Encode(static_cast<const arrow::StringArray&>(*strings), devices.data(), found.data());
      ASSERT_EQ(found, wanted);
    }
  }
  const auto finished = Unwrapped(codes.Finish());
  EXPECT_TRUE(finished->ValidateFull().ok());
  const auto& strings = static_cast<const arrow::StringArray&>(*finished);
  ASSERT_EQ(strings.length(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(strings.GetView(i), expected[i]);
}

}  // namespace
}  // namespace timelake::write
