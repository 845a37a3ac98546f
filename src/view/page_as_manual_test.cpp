#include "view/page_as_manual.h"

#include <gtest/gtest.h>

namespace minke::view {
namespace {

TEST(PageAsManual, PartsOfAPage) {
  EXPECT_EQ(page_as_manual("# Configuration\n"
                           "\n"
                           "Minke reads `minke.toml`, see [there](x.md#y).\n"
                           ".hidden **now**\n"
                           "\n"
                           "```toml minke.toml\n"
                           "[[node]]\n"
                           ".a = \"x\\y\"\n"
                           "```\n"
                           "\n"
                           "## All keys\n"
                           "\n"
                           "| key | default | meaning |\n"
                           "|---|---|---|\n"
                           "| `name` | `\"n\"` | a [name](n.md) |\n"
                           "| `other` | none | more |\n"
                           "\n"
                           "- an item\n",
                           {"minke.toml", 5, "the configuration"}),
            ".TH minke.toml 5\n.SH NAME\nminke.toml \\- the configuration\n"
            ".SH DESCRIPTION\n.PP\nMinke reads \\fBminke.toml\\fR, see there.\n\\&.hidden \\fBnow\\fR\n.PP\n"
            ".PP\n.nf\n[[node]]\n\\&.a = \"x\\ey\"\n.fi\n"
            ".SH ALL KEYS\n.PP\n"
            ".TP\n\\fBname\\fR\na name (default: \\fB\"n\"\\fR)\n.TP\n\\fBother\\fR\nmore\n.PP\n"
            ".IP \\(bu 2\nan item\n.PP\n");
}

}  // namespace
}  // namespace minke::view
