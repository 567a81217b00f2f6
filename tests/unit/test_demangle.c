/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust, also those that lie. */
#include "test.h"

#include "parser/demangle.h"

#ifdef EXTPROF_DEMANGLE

static const char *readable(const char *name)
{
	static char text[1024];
	size_t length;

	memset(text, 'x', sizeof(text));
	length = demangle__name(name, text, sizeof(text));
	CHECK(length < sizeof(text));
	text[length] = '\0';
	return text;
}

TEST(demangle_names_of_cxx)
{
	CHECK_STRING(readable("_ZN4grpc6Server5StartEi"), "grpc::Server::Start(int)");
	CHECK_STRING(readable("_Z1fv"), "f()");
	CHECK_STRING(readable("_ZNKSt6vectorIiSaIiEE4sizeEv"), "std::vector<int, std::allocator<int> >::size() const");
	CHECK_STRING(readable("_ZZ4mainENKUlvE_clEv"), "main::{lambda()#1}::operator()() const");
}

TEST(demangle_names_of_rust)
{
	CHECK_STRING(readable("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"), "core::fmt::Formatter::write_str");
	CHECK_STRING(readable("_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str17h0123456789abcdefE"),
		     "<alloc::string::String as core::fmt::Write>::write_str");
	CHECK_STRING(readable("_ZN4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE"), "main::{{closure}}");
	/* No hash is at its end: a name of C++, in which a dollar is allowed. */
	CHECK_STRING(readable("_ZN4main6a$LT$bE"), "main::a$LT$b");
	CHECK_STRING(readable("_ZN4main17h0123456789abcdeXE"), "main::h0123456789abcdeX");
}

TEST(demangle_leaves_other_names)
{
	static const char *const names[] = {
		"", "_", "_Z", "_ZN", "main", "_ZN4grp", "_RNvC6_123foo3bar", "__Z1fv", "_ZN99999999999999999999a", "_ZL", "_Z\xff\x01",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STRING(readable(names[i]), "");
}

/* Of 24 templates, each with the one before twice: the readable form has 16 million times "int". */
TEST(demangle_bounds_what_a_name_stands_for)
{
	char nested[1024] = "_Z1f", text[16];

	CHECK_STRING(readable("_Z1f1PIS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IiiES0_ES1_ES2_ES3_ES4_ES5_ES6_"
			      "ES7_ES8_ES9_ESA_ESB_ESC_ESD_ESE_ESF_ESG_ESH_ESI_ESJ_ESK_ESL_ESM_E"), "");
	/* A pointer to a pointer to ... */
	memset(nested + 4, 'P', 1000);
	nested[1004] = 'i';
	readable(nested);
	memset(nested + 4, 'N', 1000);
	readable(nested);
	for (int i = 0; i < 300; i++)
		memcpy(nested + 4 + 3 * i, "1AI", 3);
	readable(nested);
	/* Exactly as long as there is room, and one less. */
	CHECK_INT(demangle__name("_Z1fi", text, 6), 0);
	CHECK_INT(demangle__name("_Z1fi", text, 7), 6);
	CHECK_INT(demangle__name("_ZN4grpc6Server5StartEi", text, sizeof(text)), 0);
}

#endif
