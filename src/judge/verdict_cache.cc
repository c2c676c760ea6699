#include "judge/verdict_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cstring>
#include <ctime>
#include <random>
#include <system_error>

#include "base/fd.h"
#include "base/sha256.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kApplicationId = 0x74726974;  // "trit"
constexpr int64_t kSchema = 1;
constexpr int kBusyMilliseconds = 2000;
constexpr int64_t kFreshSeconds =
    3600;  // the time of the last use is known that well, so that few reads write

constexpr const char* kMakeTables =
    "CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, source TEXT NOT NULL, verdict TEXT NOT NULL,"
    " made INTEGER NOT NULL, used INTEGER NOT NULL);"  // Unix time
    "CREATE INDEX IF NOT EXISTS verdicts_by_use ON verdicts (used);";

struct SqliteError {
  int code;
  std::string message;
  // A file that is no database, or holds something else than it should.
  bool damaged() const {
    const int primary = code & 0xff;
    return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_ERROR;
  }
};

// One connection. Throws SqliteError.
class Database {
 public:
  explicit Database(const fs::path& file) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr);
    if (code != SQLITE_OK) {
      const SqliteError error{code, sqlite3_errstr(code)};
      sqlite3_close(handle_);
      throw error;
    }
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, kBusyMilliseconds);
    // Else the last to close would remove the log by name, which may be another file's by then.
    int persist = 1;
    sqlite3_file_control(handle_, nullptr, SQLITE_FCNTL_PERSIST_WAL, &persist);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;

  void Execute(const std::string& statements) {
    Check(sqlite3_exec(handle_, statements.c_str(), nullptr, nullptr, nullptr));
  }
  int64_t Number(const std::string& query);

  void Check(int code) {
    if (code != SQLITE_OK) throw SqliteError{code, sqlite3_errmsg(handle_)};
  }
  sqlite3* handle() { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

// All that is done inside is written at once, or not at all.
class Transaction {
 public:
  explicit Transaction(Database* database) : database_(database) { database_->Execute("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!committed_) sqlite3_exec(database_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void Commit() {
    database_->Execute("COMMIT");
    committed_ = true;
  }

 private:
  Database* database_;
  bool committed_ = false;
};

// Parameters are numbered from 1, columns from 0.
class Statement {
 public:
  Statement(Database* database, std::string_view text) : database_(database) {
    database_->Check(sqlite3_prepare_v2(database_->handle(), text.data(), static_cast<int>(text.size()),
                                        &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;

  Statement& Bind(int index, std::string_view text) {
    database_->Check(
        sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
  }
  Statement& Bind(int index, int64_t number) {
    database_->Check(sqlite3_bind_int64(statement_, index, number));
    return *this;
  }
  bool Step() {  // whether there is a row
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) database_->Check(code);
    return code == SQLITE_ROW;
  }
  int64_t Number(int column) { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? "" : std::string(text, sqlite3_column_bytes(statement_, column));
  }

 private:
  Database* database_;
  sqlite3_stmt* statement_ = nullptr;
};

int64_t Database::Number(const std::string& query) {
  Statement statement(this, query);
  return statement.Step() ? statement.Number(0) : 0;
}

// Makes what is missing. It always writes, so that a folder or disk that takes nothing shows here.
std::unique_ptr<Database> OpenDatabase(const fs::path& file) {
  auto database = std::make_unique<Database>(file);
  const int64_t id = database->Number("PRAGMA application_id");
  const bool empty = id == 0 && database->Number("SELECT count(*) FROM sqlite_master") == 0;
  if (!empty && (id != kApplicationId || database->Number("PRAGMA user_version") != kSchema)) {
    throw SqliteError{SQLITE_NOTADB, "it is no verdict cache of this version"};
  }
  database->Execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 8388608");
  Transaction transaction(database.get());
  database->Execute(kMakeTables);
  database->Execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchema));
  transaction.Commit();
  return database;
}

// Same file or not, whatever it is called by now.
struct Identity {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const Identity&) const = default;
};

Identity IdentityOf(const fs::path& file) {
  struct stat info;
  return stat(file.c_str(), &info) == 0 ? Identity{info.st_dev, info.st_ino} : Identity{};
}

int64_t Now() {
  return static_cast<int64_t>(std::time(nullptr));
}

std::string WhenText(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

bool WorthKeeping(const Verdict& verdict) {
  if (verdict.hurried) return false;
  switch (verdict.outcome) {
    case Outcome::kPassed:
    case Outcome::kWrongShape:
    case Outcome::kWrongDtype:
    case Outcome::kWrongValues:
    case Outcome::kMemoryError:
      return true;
    case Outcome::kRejected:
      return verdict.rule != "roofline";
    default:
      return false;
  }
}

}  // namespace

std::string VerdictKey(const VerdictCacheOptions& cache, const VerifyOptions& options,
                       std::string_view executor, std::string_view candidate_hash,
                       std::string_view reference_hash) {
  const std::string timing =
      options.on_gpu ? fmt::format("{} samples in {} s{}", options.timing_samples, options.timing_seconds,
                                   options.against_itself ? " against itself" : "")
                     : "not timed";
  const std::string seed = cache.seed_is_drawn ? "drawn" : std::to_string(options.seed);
  return Sha256Hex(fmt::format("verdict\n{}\n{}\n{}\n{}\n{}\n{}\n{}\nseed {}", candidate_hash, reference_hash,
                               options.mode == Mode::kStrict ? "strict" : "hybrid",
                               Name(options.fp32_precision), executor, cache.verifier, timing, seed));
}

struct VerdictCache::Impl {
  explicit Impl(VerdictCacheOptions chosen) : options(std::move(chosen)) { Open(); }

  // Only one process at a time looks at a file's health, so that none sets aside what another has just begun.
  void Open() {
    database.reset();
    std::error_code error;
    fs::create_directories(options.file.parent_path(), error);  // opening the lock says why it failed
    const std::string lock_name = options.file.string() + ".lock";
    const UniqueFd lock(open(lock_name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
      warning = fmt::format("verdicts are not kept: cannot write to {}: {}", lock_name, std::strerror(errno));
      return;
    }
    try {
      try {
        database = OpenDatabase(options.file);
      } catch (const SqliteError& damage) {
        if (!damage.damaged()) throw;
        SetAside(damage.message);
        database = OpenDatabase(options.file);
      }
      identity = IdentityOf(options.file);
    } catch (const SqliteError& refusal) {
      warning = fmt::format("verdicts are not kept: {}: {}", options.file.string(), refusal.message);
    } catch (const fs::filesystem_error& refusal) {
      warning = fmt::format("verdicts are not kept: {}", refusal.what());
    }
  }

  void SetAside(const std::string& why) {
    std::string name;
    for (int n = 1; name.empty() || fs::exists(name); ++n)
      name = fmt::format("{}.set-aside-{}", options.file.string(), n);
    fs::rename(options.file, name);
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(options.file.string() + suffix);
    warning =
        fmt::format("the verdict cache {} could not be read ({}); it is {} now, and a new one was begun",
                    options.file.string(), why, name);
  }

  // Runs `body` on the database. Damage that shows only now is mended, or at least not met again.
  template <typename Body>
  void Use(const Body& body) {
    if (database == nullptr) return;
    try {
      body();
    } catch (const SqliteError& error) {
      if (error.damaged()) Mend(error.message);
    }
  }

  void Mend(const std::string& why) {
    database.reset();
    {
      const UniqueFd lock(open((options.file.string() + ".lock").c_str(), O_RDWR | O_CLOEXEC));
      if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) return;
      if (IdentityOf(options.file) == identity) {  // nobody else has mended it
        try {
          SetAside(why);
        } catch (const fs::filesystem_error&) {
          return;
        }
      }
    }
    const std::string first = std::move(warning);
    Open();
    if (warning.empty()) warning = first;
  }

  // The oldest go until an eighth is free, so that it is not done for each one.
  void Evict() {
    const int64_t page = database->Number("PRAGMA page_size");
    auto used = [&] {
      return page * (database->Number("PRAGMA page_count") - database->Number("PRAGMA freelist_count"));
    };
    if (used() <= options.max_bytes) return;
    while (used() > options.max_bytes - options.max_bytes / 8 &&
           database->Number("SELECT count(*) FROM verdicts") > 0) {
      database->Execute(
          "DELETE FROM verdicts WHERE key IN (SELECT key FROM verdicts ORDER BY used"
          " LIMIT 1 + (SELECT count(*) FROM verdicts) / 8)");
    }
  }

  VerdictCacheOptions options;
  std::unique_ptr<Database> database;
  Identity identity;  // of the file that is open
  std::string warning;
};

VerdictCache::VerdictCache(VerdictCacheOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

VerdictCache::~VerdictCache() = default;

const VerdictCacheOptions& VerdictCache::options() const {
  return impl_->options;
}

bool VerdictCache::usable() const {
  return impl_->database != nullptr;
}

std::string VerdictCache::TakeWarning() {
  return std::exchange(impl_->warning, {});
}

std::optional<Verdict> VerdictCache::Find(std::string_view key, std::string_view source) {
  std::optional<Verdict> found;
  impl_->Use([&] {
    Database* database = impl_->database.get();
    Statement query(database, "SELECT source, verdict, made, used FROM verdicts WHERE key = ?");
    if (!query.Bind(1, key).Step()) return;
    try {
      found = Verdict::FromJson(json::parse(query.Text(1)));
    } catch (const std::exception&) {
      return;  // what is judged now takes its place
    }
    found->made = WhenText(query.Number(2));
    const bool passed = found->outcome == Outcome::kPassed;
    const bool other_source = query.Text(0) != Sha256Hex(source);
    const bool spot_check =
        passed && impl_->options.seed_is_drawn && std::random_device()() % kSpotCheck == 0;
    if (spot_check || (!passed && other_source)) {
      found.reset();
      return;
    }
    if (Now() - query.Number(3) < kFreshSeconds) return;
    Statement(database, "UPDATE verdicts SET used = ? WHERE key = ?").Bind(1, Now()).Bind(2, key).Step();
  });
  return found;
}

void VerdictCache::Keep(std::string_view key, std::string_view source, const Verdict& verdict) {
  impl_->Use([&] {
    Database* database = impl_->database.get();
    if (!WorthKeeping(verdict)) {
      Statement(database, "DELETE FROM verdicts WHERE key = ?").Bind(1, key).Step();
      return;
    }
    const std::string text = verdict.ToJson().dump(-1, ' ', false, json::error_handler_t::replace);
    Transaction transaction(database);
    Statement(database, "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?)")
        .Bind(1, key)
        .Bind(2, Sha256Hex(source))
        .Bind(3, text)
        .Bind(4, Now())
        .Bind(5, Now())
        .Step();
    impl_->Evict();
    transaction.Commit();
  });
}

}  // namespace tritogen
