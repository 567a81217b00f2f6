/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "base/text.h"

static const char *clean(const char *data, size_t length)
{
	static struct text t;

	text__free(&t);
	text__add_clean(&t, data, length, TEXT_NAME_MAX);
	return text__string(&t);
}

#define CLEAN(literal) clean(literal, sizeof(literal) - 1)

TEST(text_clean_keeps_what_is_printable)
{
	CHECK_STRING(CLEAN("Foo::Bar#baz?"), "Foo::Bar#baz?");
	CHECK_STRING(CLEAN("\xc3\xa9t\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x92\x8e"),
		     "\xc3\xa9t\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x92\x8e");
	CHECK_STRING(CLEAN(""), "");
}

TEST(text_clean_disarms_control_characters)
{
	CHECK_STRING(CLEAN("\033[2J\033]0;title\007"), "\\x1B[2J\\x1B]0;title\\x07");
	CHECK_STRING(CLEAN("a\nb\tc\rd\0e\x7f"), "a\\x0Ab\\x09c\\x0Dd\\x00e\\x7F");
	/* C1 controls, as UTF-8 and as raw bytes: 0x9b is CSI. */
	CHECK_STRING(CLEAN("\xc2\x9b" "2J"), "\\u{9B}2J");
	CHECK_STRING(CLEAN("\x9b" "2J"), "\\x9B2J");
	/* Right-to-left override, zero width, line separator, BOM. */
	CHECK_STRING(CLEAN("\xe2\x80\xae" "x\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf"),
		     "\\u{202E}x\\u{200B}\\u{2028}\\u{FEFF}");
	CHECK_STRING(CLEAN("\xef\xbf\xbe\xf3\xa0\x81\x81"), "\\u{FFFE}\\u{E0041}");
}

TEST(text_clean_shows_invalid_utf8)
{
	CHECK_STRING(CLEAN("\xff\xfe"), "\\xFF\\xFE");
	CHECK_STRING(CLEAN("\xc0\xaf"), "\\xC0\\xAF");		/* overlong */
	CHECK_STRING(CLEAN("\xe0\x80\xaf"), "\\xE0\\x80\\xAF");
	CHECK_STRING(CLEAN("\xed\xa0\x80"), "\\xED\\xA0\\x80");	/* surrogate */
	CHECK_STRING(CLEAN("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
	CHECK_STRING(CLEAN("ab\xe6\x97"), "ab\\xE6\\x97");	/* cut */
}

TEST(text_clean_shortens_in_the_middle)
{
	static char name[70000];
	const char *s;

	memset(name, 'm', sizeof(name));
	memcpy(name, "BEGIN", 5);
	memcpy(name + sizeof(name) - 3, "END", 3);
	s = clean(name, sizeof(name));
	CHECK_INT(strlen(s), TEXT_NAME_MAX);
	CHECK(!strncmp(s, "BEGIN", 5));
	CHECK_STRING(s + strlen(s) - 3, "END");
	CHECK(strstr(s, "...") != NULL);
	/* Characters are not cut in two. */
	for (size_t i = 0; i + 3 <= sizeof(name); i += 3)
		memcpy(name + i, "\xe6\x97\xa5", 3);
	s = clean(name, 9999);
	CHECK(strstr(s, "\\x") == NULL);
	CHECK(strlen(s) <= TEXT_NAME_MAX + 3);
}

TEST(text_clean_is_safe_for_random_bytes)
{
	for (int i = 0; i < 100000; i++) {
		unsigned char data[40];
		size_t length = test__random() % sizeof(data);
		const char *s;

		for (size_t j = 0; j < length; j++)
			data[j] = (unsigned char)test__random();
		s = clean((const char *)data, length);
		for (const char *c = s; *c; c++)
			CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
		/* Cleaning twice changes nothing. */
		char copy[512];

		text__clean(copy, sizeof(copy), s);
		CHECK_STRING(copy, s);
	}
}

TEST(text_clean_into_a_buffer_ends_it)
{
	char small[8];

	text__clean(small, sizeof(small), "0123456789");
	CHECK_STRING(small, "0123456");
	text__clean(small, sizeof(small), "01234\n6");	/* \x0A does not fit */
	CHECK_STRING(small, "01234");
	text__clean(small, 1, "abc");
	CHECK_STRING(small, "");
}

TEST(text_escapes)
{
	struct text t = { 0 };

	text__add_folded(&t, "a;b c");
	CHECK_STRING(t.data, "a:b c");
	text__clear(&t);
	text__add_folded(&t, "step 2");
	text__add_folded(&t, ";step 2 3.5");
	text__add_folded(&t, ";2;12.;x 2x; ;a 1 b");
	CHECK_STRING(t.data, "step_2:step 2_3.5:2:12.:x 2x: :a 1 b");
	text__clear(&t);
	text__add_xml(&t, "<a href=\"x\">&'");
	CHECK_STRING(t.data, "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
	text__clear(&t);
	text__add_json(&t, "\"\\</script>]]>\n<!--&");
	CHECK_STRING(t.data, "\\\"\\\\\\u003c/script\\u003e]]\\u003e\\u000a\\u003c!--\\u0026");
	text__free(&t);
}

TEST(text_keeps_to_its_limit)
{
	struct text t = { .limit = 10 };

	for (int i = 0; i < 100; i++)
		text__adds(&t, "abc");
	CHECK_INT(t.length, 10);
	CHECK_STRING(t.data, "abcabcabca");
	text__free(&t);
	for (int i = 0; i < 1000; i++)
		text__addf(&t, "%0300d", i);
	CHECK_INT(t.length, 300000);
	CHECK(!t.failed);
	text__free(&t);
}
