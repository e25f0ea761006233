#include "session.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "lake.h"

namespace timelake::python {
namespace {

constexpr size_t kMostIdle = 8;
// A result of up to so many rows is read when the statement runs and keeps no session.
constexpr int64_t kReadAheadRows = 32768;

// The first word of a statement, in lower case, behind comments and parentheses.
std::string FirstWord(std::string_view text) {
  while (!text.empty()) {
    if (std::isspace(static_cast<unsigned char>(text[0])) || text[0] == '(') {
      text.remove_prefix(1);
    } else if (text.starts_with("--")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const size_t end = text.find("*/");
      text.remove_prefix(end == text.npos ? text.size() : end + 2);
    } else {
      break;
    }
  }
  std::string word;
  for (const char c : text) {
    if (!std::isalpha(static_cast<unsigned char>(c))) break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

// Whether a statement leaves its session as it was (no setting, no temporary table).
bool LeavesNoTrace(std::string_view text) {
  constexpr std::array kWords = {"select", "with",  "from",     "values", "explain",
                                 "table",  "desc",  "describe", "show",   "summarize",
                                 "copy",   "pivot", "refresh"};
  const std::string word = FirstWord(text);
  return std::any_of(kWords.begin(), kWords.end(), [&](const char* w) { return word == w; });
}

ParamValue ToParam(nb::handle value);

// Values beside the plain ones come as ("text", text, type) and ("list", values).
ParamValue ToTypedParam(nb::handle value) {
  const auto kind = nb::cast<std::string>(value[0]);
  if (kind == "text") {
    return TypedText{nb::cast<std::string>(value[1]), nb::cast<std::string>(value[2])};
  }
  ParamList list;
  for (nb::handle item : nb::borrow<nb::list>(value[1])) list.values.push_back(ToParam(item));
  return list;
}

ParamValue ToParam(nb::handle value) {
  if (value.is_none()) return std::monostate();
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr())) return nb::cast<int64_t>(value);
  if (PyFloat_Check(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  return ToTypedParam(value);
}

// A dict of named parameters, a list of positional ones, or None.
Params ToParams(nb::handle params) {
  Params result;
  if (params.is_none()) return result;
  if (PyDict_Check(params.ptr())) {
    for (auto [name, value] : nb::borrow<nb::dict>(params)) {
      result.named.emplace(nb::cast<std::string>(name), ToParam(value));
    }
  } else {
    for (nb::handle value : nb::borrow<nb::list>(params)) {
      result.positional.push_back(ToParam(value));
    }
  }
  return result;
}

// Tells a token for some time whom to stop.
class Stoppable {
 public:
  Stoppable(std::shared_ptr<CancelToken> token, std::function<void()> stop)
      : token_(std::move(token)) {
    token_->OnCancel(std::move(stop));
  }
  ~Stoppable() { token_->OnCancel(nullptr); }

 private:
  const std::shared_ptr<CancelToken> token_;
};

// `ended` is called when the statement has ended, also by an error: the session is free again.
arrow::Result<std::shared_ptr<Stream>> Start(const std::shared_ptr<Session>& session,
                                             const std::string& text, const Params& params,
                                             const std::shared_ptr<CancelToken>& token,
                                             std::function<void()> ended) {
  arrow::Result<BatchReaderPtr> reader = [&] {
    const Stoppable starting(token, [session] { session->Interrupt(); });
    return session->Sql(text, params);
  }();
  if (!reader.ok()) {
    if (ended) ended();
    return reader.status();
  }
  auto stream = std::make_shared<Stream>(
      *std::move(reader), [session] { session->Interrupt(); }, std::move(ended));
  const Stoppable reading(token, [stream] { stream->Interrupt(); });
  ARROW_RETURN_NOT_OK(stream->ReadAhead(kReadAheadRows));
  return stream;
}

// A session of the caller's own: settings and temporary tables live as long as it.
class OwnSession {
 public:
  explicit OwnSession(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  nb::object Sql(const std::string& text, nb::handle params,
                 const std::shared_ptr<CancelToken>& token) {
    const auto session = session_.get("Session");
    CallOptions options;
    options.token = token ? token : std::make_shared<CancelToken>();
    return WrapStream(RunCall<std::shared_ptr<Stream>>(
        options, [session, text, params = ToParams(params)](const std::shared_ptr<Call>& call) {
          return Start(session, text, params, call->token(), nullptr);
        }));
  }

  void Interrupt() { session_.get("Session")->Interrupt(); }

  void Close() {
    if (session_.inherited()) return;
    auto session = session_.Release();
    nb::gil_scoped_release release;
    session.reset();
  }

 private:
  Owned<Session> session_;
};

std::shared_ptr<OwnSession> OpenSession(const LakeObject& lake, const SessionOptions& options) {
  const auto core = lake.core();
  return std::make_shared<OwnSession>(RunCall<std::shared_ptr<Session>>(
      {}, [core, options](const std::shared_ptr<Call>&) -> arrow::Result<std::shared_ptr<Session>> {
        ARROW_ASSIGN_OR_RAISE(Session session, Session::Open(core->lake, options));
        return std::make_shared<Session>(std::move(session));
      }));
}

}  // namespace

arrow::Result<SessionPool::Item> SessionPool::Take(const std::string& name_space,
                                                   bool dictionaries) {
  {
    const std::lock_guard lock(mutex_);
    for (auto it = idle_.rbegin(); it != idle_.rend(); ++it) {
      if (it->name_space != name_space || it->dictionaries != dictionaries) continue;
      Item item = std::move(*it);
      idle_.erase(std::next(it).base());
      return item;
    }
  }
  SessionOptions options;
  options.name_space = name_space;
  options.dictionaries = dictionaries;
  ARROW_ASSIGN_OR_RAISE(Session session, Session::Open(lake_, options));
  return Item{name_space, dictionaries, std::make_shared<Session>(std::move(session))};
}

void SessionPool::Give(Item item) {
  std::optional<Item> oldest;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (idle_.size() >= kMostIdle) {
    oldest = std::move(idle_.front());
    idle_.erase(idle_.begin());
  }
  idle_.push_back(std::move(item));
}

void SessionPool::Close() {
  std::vector<Item> idle;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  idle.swap(idle_);
}

nb::object PooledSql(const std::shared_ptr<SessionPool>& pool, const std::string& text,
                     nb::handle params, const std::string& name_space, bool dictionaries,
                     const std::shared_ptr<CancelToken>& token) {
  CallOptions options;
  options.token = token;
  auto work = [pool, text, params = ToParams(params), name_space, dictionaries](
                  const std::shared_ptr<Call>& call) -> arrow::Result<std::shared_ptr<Stream>> {
    ARROW_ASSIGN_OR_RAISE(auto item, pool->Take(name_space, dictionaries));
    std::function<void()> ended;
    if (LeavesNoTrace(text)) ended = [pool, item] { pool->Give(item); };
    auto stream = Start(item.session, text, params, call->token(), std::move(ended));
    return stream;
  };
  return WrapStream(RunCall<std::shared_ptr<Stream>>(options, std::move(work)));
}

void BindSession(nb::module_& m) {
  nb::class_<OwnSession>(m, "Session")
      .def(nb::new_([](const LakeObject& lake, const std::string& name_space, int threads,
                       const std::string& memory_limit, const std::string& temp_directory,
                       bool dictionaries) {
             SessionOptions options;
             options.name_space = name_space;
             options.threads = threads;
             options.memory_limit = memory_limit;
             options.temp_directory = temp_directory;
             options.dictionaries = dictionaries;
             return OpenSession(lake, options);
           }),
           nb::arg("lake"), nb::arg("namespace"), nb::arg("threads"), nb::arg("memory_limit"),
           nb::arg("temp_directory"), nb::arg("dictionaries"))
      .def("sql", &OwnSession::Sql, nb::arg("text"), nb::arg("params").none(),
           nb::arg("token") = nb::none())
      .def("interrupt", &OwnSession::Interrupt)
      .def("close", &OwnSession::Close);
  m.def("split", [](const std::string& text) { return Check(Session::Split(text)); });
}

}  // namespace timelake::python
