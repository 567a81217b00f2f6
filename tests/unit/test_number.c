/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <limits.h>

#include "base/number.h"

TEST(number_parse)
{
	static const struct {
		const char *text;
		unsigned long least, most;
		int err;
		unsigned long number;
	} cases[] = {
		{ "0", 0, 9, 0, 0 }, { "1", 1, 9, 0, 1 }, { "9", 0, 9, 0, 9 }, { "007", 0, 9, 0, 7 },
		{ "18446744073709551615", 0, ULONG_MAX, 0, ULONG_MAX },
		{ "0", 1, 9, -EINVAL, 0 }, { "10", 0, 9, -EINVAL, 0 },
		{ "18446744073709551616", 0, ULONG_MAX, -EINVAL, 0 },
		{ "", 0, 9, -EINVAL, 0 }, { "-1", 0, ULONG_MAX, -EINVAL, 0 }, { "+1", 0, 9, -EINVAL, 0 },
		{ " 1", 0, 9, -EINVAL, 0 }, { "1 ", 0, 9, -EINVAL, 0 }, { "1\n", 0, 9, -EINVAL, 0 },
		{ "1x", 0, 9, -EINVAL, 0 }, { "0x1", 0, 9, -EINVAL, 0 }, { "1e0", 0, 9, -EINVAL, 0 },
		{ "1.0", 0, 9, -EINVAL, 0 }, { "x", 0, 9, -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned long number = 77;
		int err = number__parse(cases[i].text, cases[i].least, cases[i].most, &number);

		if (err != cases[i].err || number != (err ? 77 : cases[i].number))
			test__fail(__FILE__, __LINE__, "\"%s\": %d, %lu", cases[i].text, err, number);
	}
}
