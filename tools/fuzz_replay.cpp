// A short run of a fuzz target without libFuzzer, for the ordinary build: every seed, and then changes of
// seeds at random, the same ones each time. usage: NAME_fuzz SEEDS RUNS
//
// SEEDS has an input a line, with \n, \t, \r, \\ and \xHH for what a line cannot hold.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::string decode(const std::string& line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      out += line[i];
      continue;
    }
    switch (line[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'x':
        out += static_cast<char>(std::stoi(line.substr(i + 1, 2), nullptr, 16));
        i += 2;
        break;
      default:
        out += line[i];
    }
  }
  return out;
}

class Changer {
 public:
  explicit Changer(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    for (size_t changes = 1 + below(4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  size_t below(size_t end) { return end == 0 ? 0 : random_() % end; }

  void change(std::string& text) {
    static constexpr std::string_view kLikely =
        "0123456789-:,;=%[]()&|*@+.#\"'\\ \n\t\r\0\x7f\xff"
        "aAxX";
    const std::string& other = seeds_[below(seeds_.size())];
    const size_t at = below(text.size() + 1), length = below(text.size() - at + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, 1, kLikely[below(kLikely.size())]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 4:
        text.replace(at, length, other.substr(below(other.size() + 1)));
        break;
      default:
        text.insert(at, std::to_string(random_() >> below(64)));
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{20260101};
};

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: NAME_fuzz SEEDS RUNS\n", stderr);
    return 2;
  }
  std::ifstream file(argv[1]);
  std::vector<std::string> seeds;
  for (std::string line; std::getline(file, line);) seeds.push_back(decode(line));
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds\n", argv[1]);
    return 2;
  }
  for (const std::string& seed : seeds) run(seed);
  Changer changer(seeds);
  for (long left = std::atol(argv[2]); left > 0; --left) run(changer.next());
  return 0;
}
