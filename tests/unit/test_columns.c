/* SPDX-License-Identifier: BSD-2-Clause */
/* In the C locale: the test program sets none. */
#include "test.h"

#include <locale.h>

#include "base/columns.h"

#define SUN "\xe6\x97\xa5"			/* U+65E5, two columns */
#define GEM "\xf0\x9f\x92\x8e"			/* U+1F48E, two */
#define E_ACUTE "\xc3\xa9"			/* U+E9, one */
#define ACUTE "\xcc\x81"			/* U+301 combines, none */
#define DAKUTEN "\xe3\x82\x99"			/* U+3099 combines, none */
#define HALF_KA "\xef\xbd\xb6"			/* U+FF76 half width, one */
#define DOTS "\xe2\x80\xa6"			/* U+2026, one */

static const char *ends(const char *s, size_t width, bool pad)
{
	static struct text t;

	text__free(&t);
	columns__add_ends(&t, s, width, pad);
	return text__string(&t);
}

static const char *start(const char *s, size_t width)
{
	static struct text t;

	text__free(&t);
	columns__add_start(&t, s, width);
	return text__string(&t);
}

TEST(columns_of_letters)
{
	CHECK_STRING(setlocale(LC_CTYPE, NULL), "C");
	CHECK_INT(columns__of(""), 0);
	CHECK_INT(columns__of("Foo#bar"), 7);
	CHECK_INT(columns__of(E_ACUTE "t" E_ACUTE), 3);
	CHECK_INT(columns__of("e" ACUTE "te" ACUTE), 3);
	CHECK_INT(columns__of(SUN SUN "#" SUN), 7);
	CHECK_INT(columns__of(GEM "!"), 3);
	CHECK_INT(columns__of("\xe3\x81\x8b" DAKUTEN), 2);
	CHECK_INT(columns__of(HALF_KA), 1);
	CHECK_INT(columns__of("\xea\xb0\x80"), 2);			/* Hangul syllable */
	CHECK_INT(columns__of("\xe1\x84\x80\xe1\x85\xa1"), 2);		/* the same of two parts */
	CHECK_INT(columns__of("\xef\xbc\xa1"), 2);			/* full width A */
	CHECK_INT(columns__of("\xd7\xa9\xd7\x82"), 1);			/* Hebrew with a point */
	CHECK_INT(columns__of("\xe0\xa4\x95\xe0\xa4\xbe"), 2);		/* Devanagari, a spacing mark */
	CHECK_INT(columns__of("\xff\xfe" "a"), 3);			/* no UTF-8 at all */
	CHECK_INT(columns__of("a\xe6\x97"), 3);
}

TEST(columns_pads_by_columns)
{
	CHECK_STRING(ends("abc", 5, true), "abc  ");
	CHECK_STRING(ends("abc", 5, false), "abc");
	CHECK_STRING(ends(SUN SUN, 5, true), SUN SUN " ");
	CHECK_STRING(ends(GEM, 5, true), GEM "   ");
	CHECK_STRING(ends("e" ACUTE, 5, true), "e" ACUTE "    ");
	CHECK_STRING(ends("", 2, true), "  ");
	CHECK_STRING(ends("abcde", 5, true), "abcde");
}

TEST(columns_cuts_the_middle)
{
	CHECK_STRING(ends("abcdefghij", 6, true), "ab..ij");
	CHECK_STRING(ends("abcdefghij", 7, true), "ab..hij");
	CHECK_STRING(ends("abcdefghij", 2, true), "..");
	CHECK_STRING(ends("abcdefghij", 1, true), " ");
	CHECK_STRING(ends("abcdefghij", 0, true), "");
	/* Half a wide letter does not fit: a blank more. */
	CHECK_STRING(ends(SUN SUN SUN SUN SUN, 8, true), SUN ".." SUN "  ");
	CHECK_STRING(ends(SUN SUN SUN SUN SUN, 6, true), SUN ".." SUN);
	CHECK_STRING(ends(GEM GEM GEM GEM, 7, true), GEM ".." GEM " ");
	CHECK_STRING(ends("a" SUN SUN SUN "b", 7, true), "a.." SUN "b ");
	/* Marks stay with their letter, and none is left alone. */
	CHECK_STRING(ends("ae" ACUTE "bcdefgh", 6, true), "ae" ACUTE "..gh");
	CHECK_STRING(ends("abcdefe" ACUTE "h", 6, true), "ab..e" ACUTE "h");
	CHECK_STRING(ends("abcdefe" ACUTE ACUTE "hi", 6, true), "ab..hi");
}

TEST(columns_cuts_the_end)
{
	CHECK_STRING(start("abcdef", 6), "abcdef");
	CHECK_STRING(start("abcdef", 4), "abc" DOTS);
	CHECK_STRING(start("abcdef", 2), "a" DOTS);
	CHECK_STRING(start("abcdef", 1), "");
	CHECK_STRING(start(SUN SUN SUN, 6), SUN SUN SUN);
	CHECK_STRING(start(SUN SUN SUN, 5), SUN SUN DOTS);
	CHECK_STRING(start(SUN SUN SUN, 4), SUN DOTS);
	CHECK_STRING(start(SUN SUN SUN, 2), "");
	CHECK_STRING(start("ae" ACUTE "bcd", 3), "ae" ACUTE DOTS);
}

/* Whatever the letters are: the width is kept, and padded text has exactly that. */
TEST(columns_holds_for_random_letters)
{
	static const char *const letters[] = { "a", "b", " ", SUN, GEM, E_ACUTE, ACUTE, DAKUTEN, HALF_KA, DOTS };

	for (int i = 0; i < 20000; i++) {
		size_t width = test__random() % 24;
		struct text t = { 0 };

		for (uint32_t n = test__random() % 20; n; n--)
			text__adds(&t, letters[test__random() % 10]);
		CHECK_INT(columns__of(ends(text__string(&t), width, true)), width);
		CHECK(columns__of(ends(text__string(&t), width, false)) <= width);
		CHECK(columns__of(start(text__string(&t), width)) <= width);
		if (columns__of(text__string(&t)) <= width)
			CHECK_STRING(start(text__string(&t), width), text__string(&t));
		text__free(&t);
	}
}

TEST(columns_keep_the_end)
{
	static const struct {
		const char *text, *cut;
		size_t width;
	} cases[] = {
		{ "lib/rack.rb:7", "lib/rack.rb:7", 13 }, { "lib/rack.rb:7", "../rack.rb:7", 12 }, { "abc", "..", 2 }, { "abc", "", 1 },
		{ "", "", 0 }, { "\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac", 4 }, { "\xe6\x97\xa5\xe6\x9c\xac", "..", 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };

		columns__add_end(&t, cases[i].text, cases[i].width);
		CHECK_STRING(text__string(&t), cases[i].cut);
		text__free(&t);
	}
}

TEST(columns_wrap_at_blanks)
{
	struct text t = { 0 };

	text__adds(&t, "a line that was there before\none two three four\n\nshort\naverylongwordthatstays and more");
	columns__wrap(&t, strlen("a line that was there before\n"), 10);
	CHECK_STRING(text__string(&t), "a line that was there before\none two\n    three\n    four\n\nshort\naverylongwordthatstays\n    and\n    more");
	text__clear(&t);
	text__adds(&t, "one two three\n");
	columns__wrap(&t, 0, 0);
	CHECK_STRING(text__string(&t), "one two three\n");
	columns__wrap(&t, t.length, 4);
	CHECK_STRING(text__string(&t), "one two three\n");
	text__free(&t);
}
