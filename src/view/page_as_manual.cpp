#include "view/page_as_manual.h"

#include <vector>

#include "text/number.h"

namespace minke::view {
namespace {

// Text of a paragraph: code and emphasis in bold, links as their text, and what roff would obey escaped.
std::string inline_text(std::string_view text) {
  std::string out;
  bool bold = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '`' || text.substr(i).starts_with("**")) {
      out += bold ? "\\fR" : "\\fB";
      bold = !bold;
      if (c == '*') ++i;
    } else if (c == '[' && !bold) {
      const size_t close = text.find("](", i),
                   end = close == std::string_view::npos ? close : text.find(')', close);
      if (end == std::string_view::npos) {
        out += c;
        continue;
      }
      out += inline_text(text.substr(i + 1, close - i - 1));
      i = end;
    } else if (c == '\\' || c == '-') {
      out.append(c == '\\' ? "\\e" : "\\-");
    } else {
      out += c;
    }
  }
  if (bold) out += "\\fR";
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

// The cells of "| a | b |".
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (const std::string_view cell : text::split(line, '|')) cells.push_back(text::trim(cell));
  if (!cells.empty() && cells.front().empty()) cells.erase(cells.begin());
  if (!cells.empty() && cells.back().empty()) cells.pop_back();
  return cells;
}

bool is_rule(std::string_view line) {
  return line.starts_with("|") && line.find_first_not_of("|-: ") == std::string_view::npos;
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void line(std::string_view raw) {
    if (raw.starts_with("```")) return fence();
    if (in_code_) return code(raw);
    const std::string_view line = text::trim(raw);
    if (line.empty()) return end_paragraph();
    if (line.starts_with("#")) return heading(line);
    if (line.starts_with("|")) return row(line);
    if (line.starts_with("- ")) {
      out_ += ".IP \\(bu 2\n" + inline_text(line.substr(2)) + "\n";
      return;
    }
    out_ += inline_text(line) + "\n";
  }

 private:
  void fence() {
    in_code_ = !in_code_;
    out_ += in_code_ ? ".PP\n.nf\n" : ".fi\n.PP\n";
  }

  void code(std::string_view raw) {
    std::string escaped;
    for (const char c : raw) escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    out_ += (escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" : "") + escaped + "\n";
  }

  void end_paragraph() {
    in_table_ = false;
    if (!out_.ends_with(".PP\n")) out_ += ".PP\n";
  }

  void heading(std::string_view line) {
    const size_t depth = line.find_first_not_of('#');
    if (out_.ends_with(".PP\n")) out_.resize(out_.size() - 4);
    std::string title(text::trim(line.substr(depth)));
    if (depth == 1) title = "DESCRIPTION";
    out_ += (depth <= 2 ? ".SH " : ".SS ") + (depth <= 2 ? text::upper_case(title) : title) + "\n";
  }

  void row(std::string_view line) {
    if (is_rule(line)) return;
    if (!in_table_) {  // the heads of the columns are in the text around it
      in_table_ = true;
      return;
    }
    const auto cells = cells_of(line);
    if (cells.empty()) return;
    out_ += ".TP\n" + inline_text(cells.front()) + "\n";
    const bool has_default = cells.size() > 2;
    std::string rest = inline_text(cells.back());
    if (has_default && cells[1] != "none") rest += " (default: " + inline_text(cells[1]) + ")";
    out_ += (rest.empty() ? "\\&" : rest) + "\n";
  }

  std::string& out_;
  bool in_code_ = false, in_table_ = false;
};

}  // namespace

std::string page_as_manual(std::string_view markdown, const ManualTitle& title) {
  std::string out = ".TH " + std::string(title.name) + " " + std::to_string(title.section) + "\n.SH NAME\n" +
                    std::string(title.name) + " \\- " + inline_text(title.purpose) + "\n";
  Writer writer(out);
  for (const std::string_view line : text::split(markdown, '\n')) writer.line(line);
  return out;
}

}  // namespace minke::view
