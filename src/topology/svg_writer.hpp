// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::topology {

struct rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] double middle() const { return x + width / 2; }
};

/// How wide a text is at most, in the widest of the usual fonts without serifs: where a picture is
/// drawn is where it is known which there are.
double text_width(std::string_view text, double size);
/// How much wider bold letters are.
constexpr double bold_width = 1.1;
/// The text, cut with an ellipsis to what that many units hold.
std::string fit_text(std::string_view text, double size, double width);
/// The text in lines of that width, cut at spaces.
std::vector<std::string> wrap_text(std::string_view text, double size, double width);
/// As text of an XML element or attribute: what XML does not take is a question mark.
std::string escape_xml(std::string_view text);

/// Writes the elements of a picture, one a line. `style` is a class of its style sheet.
class svg_writer {
 public:
  enum class anchor { start, middle, end };

  void box(const rect& where, const char* style, double radius = 6);
  void line(double x1, double y1, double x2, double y2, const char* style);
  /// A bow below two points of one height.
  void bow(double x1, double x2, double y, double depth, const char* style);
  /// Cut to `width`; what is cut off is told by the group's title.
  void text(double x, double y, double size, double width, std::string_view text, const char* style,
            anchor at = anchor::start);
  /// What is written until end_group is shown with this title by a pointer, and read out.
  void begin_group(std::string_view title);
  void end_group();

  /// The document, `width` x `height`.
  [[nodiscard]] std::string document(double width, double height, std::string_view title,
                                     std::string_view description) const;

 private:
  std::string body_;
};

}  // namespace heddle::topology
