// Reads attributes as attr_text.h writes them.
#pragma once

#include <vector>

#include "ir/attr_text.h"
#include "ir/schema.h"
#include "ir/text_lexer.h"

namespace tw::ir {

// A value of the parameter's type at the lexer's next token. Lifted numbers are appended to `lifted` as the
// text numbers them.
AttrValue parse_attr(TextLexer& lexer, const Param& param, std::vector<LiftedItem>* lifted);

}  // namespace tw::ir
