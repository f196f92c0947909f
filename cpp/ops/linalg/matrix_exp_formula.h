// See matrix_exp.cc: the approximant of degree 13, p(x) / p(-x), and up to which norm it is exact to double
// precision.
#pragma once

namespace tw::ops {

inline constexpr double kPadeLargestNorm = 5.371920351148152;
inline constexpr double kPade[] = {64764752532480000,
                                   32382376266240000,
                                   7771770303897600,
                                   1187353796428800,
                                   129060195264000,
                                   10559470521600,
                                   670442572800,
                                   33522128640,
                                   1323241920,
                                   40840800,
                                   960960,
                                   16380,
                                   182,
                                   1};

}  // namespace tw::ops
