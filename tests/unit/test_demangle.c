/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust, also those that lie. */
#include "test.h"

#include "parser/demangle.h"

static const char *readable(const char *name)
{
	static char text[1024];
	size_t length;

	memset(text, 'x', sizeof(text));
	length = demangle__name(name, text, sizeof(text));
	if (length >= sizeof(text))
		return "longer than its room";
	text[length] = '\0';
	return text;
}

/* The readable form is the one that llvm-cxxfilt of LLVM 14 and c++filt of binutils 2.40 have, but for what both show besides or
 * leave as it is: hashes of crates, types of numbers, and what LLVM adds to names. */
TEST(demangle_names_of_newer_rust)
{
	static const char *const pairs[][2] = {
		{ "_RNvC6_123foo3bar",
		  "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3foo3bar",
		  "mycrate::foo::bar" },
		{ "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_",
		  "cc::spawn::{closure#0}::{closure#0}" },
		{ "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
		  "std::mem::align_of::<std::mem::Discriminant>" },
		{ "_RNvXs2_NtCs7_4core3fmtINtNtCs8_5alloc3vec3VechENtB5_5Debug3fmt",
		  "<alloc::vec::Vec<u8> as core::fmt::Debug>::fmt" },
		{ "_RNvMs_NtCs1_1a1mINtB4_1SKhff_E3new",
		  "<a::m::S<255>>::new" },
		{ "_RNvYNtCs1_1a1SNtB4_5Trait6method",
		  "<a::S as a::Trait>::method" },
		{ "_RINvCs1_1a1fRhQmPtOjTaEThbEAyj4_SxE",
		  "a::f::<&u8, &mut u32, *const u16, *mut usize, (i8,), (u8, bool), [u64; 4], [i64]>" },
		{ "_RINvC1a1fFUKCjhEmFG_RL0_hEuFK13rust_callbackEzE",
		  "a::f::<unsafe extern \"C\" fn(usize, u8) -> u32, for<'a> fn(&'a u8), extern \"rust-callback\" fn() -> !>" },
		{ "_RINvC1a1fDNtC1b1TEL_DG_INtC1b1GRL0_hEp4ItemjEL_E",
		  "a::f::<dyn b::T, dyn for<'a> b::G<&'a u8, Item = usize>>" },
		{ "_RINvC1a1fKb1_Kc61_Kc27_Kc20ac_Kin7f_Kyffffffffffffffff_Ko10000000000000000_KpE",
		  "a::f::<true, 'a', '\\'', '\\u{20ac}', -127, 18446744073709551615, 0x10000000000000000, _>" },
		{ "_RNSC1as0_4drop",
		  "a::{shim:drop#2}" },
		{ "_RNvC1au8gdel_5qa",
		  "a::gödel" },
		{ "_RINvC1a1gRL_hL_E",
		  "a::g::<&u8, '_>" },
		{ "_RINvC1a1gNtB2_1SRB7_E",
		  "a::g::<a::S, &a::S>" },
		{ "_RINvC1a1hC1bEC1c",
		  "a::h::<b>" },
		{ "_RINvC1a1fDNtNvMC1aINtC1a1SDINtC1a1ThEEL_E1m5LocalEL_E",
		  "a::f::<dyn <a::S<dyn a::T<u8>>>::m::Local>" },
		{ "_RNvC1a1f.llvm.1234567890ABCDEF",
		  "a::f" },
		{ "_RNvC1a1f.cold",
		  "a::f [clone .cold]" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		CHECK_STRING(readable(pairs[i][0]), pairs[i][1]);
}

/* Cut anywhere, or with a letter that is another one: an end, and no longer text than there is room for. */
TEST(demangle_damaged_names_of_rust)
{
	static const char name[] = "_RNvXs2_NtCs7_4core3fmtINtNtCs8_5alloc3vec3VecDG_INtC1b1GRL0_hEp4ItemjEL_ENtB5_5Debugu8gdel_5qa";
	char copy[sizeof(name)], text[1024];

	for (size_t cut = 0; cut < sizeof(name); cut++) {
		memcpy(copy, name, sizeof(name));
		copy[cut] = '\0';
		/* The whole of it alone is a name; what is left of one is shown as it is. */
		CHECK((demangle__name(copy, text, sizeof(text)) > 0) == (cut == sizeof(name) - 1));
	}
	for (int i = 0; i < 200000; i++) {
		size_t room = 2 + test__random() % 62;

		memcpy(copy, name, sizeof(name));
		for (uint64_t j = 0; j <= test__random() % 4; j++)
			copy[2 + test__random() % (sizeof(name) - 3)] =
				"0123456789_ABCDEFGIKLMNOPQRSTUXYabcdefhijlmnopstuvwxyz"[test__random() % 54];
		CHECK(demangle__name(copy, text, room) < room);
	}
}

/* References double what a name stands for at each step; those that write nothing must not take for ever either. */
TEST(demangle_bounds_what_a_name_of_rust_stands_for)
{
	char name[1024] = "_RIC1a", deep[1024] = "_RIC1a";
	char text[9];
	size_t at = 6, before = 4;

	/* ((), ()), and a tuple of that twice, ... */
	at += (size_t)sprintf(name + at, "TuuE");
	for (int i = 0; i < 24; i++) {
		size_t begin = at - 2;

		at += (size_t)sprintf(name + at, "TB%c_B%c_E", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[before - 1],
				      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[before - 1]);
		before = begin;
		if (before > 61)
			break;
	}
	strcpy(name + at, "E");
	CHECK_STRING(readable(name), "");
	memset(deep + 6, 'R', 1000);
	strcpy(deep + 1006, "hE");
	CHECK_STRING(readable(deep), "");
	memset(deep + 6, 'M', 1000);
	CHECK_STRING(readable(deep), "");
	/* What refers to itself: it is not followed where it is not shown. */
	CHECK_STRING(readable("_RMB_h"), "<u8>");
	CHECK_STRING(readable("_RNvB_1a"), "");
	/* Exactly as long as there is room with its end, and one less. */
	CHECK_INT(demangle__name("_RNvC1a4five", text, 8), 7);
	CHECK_INT(demangle__name("_RNvC1a4five", text, 7), 0);
}

#ifdef EXTPROF_DEMANGLE

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
		"", "_", "_Z", "_ZN", "main", "_ZN4grp", "_R", "_RN", "__Z1fv", "_ZN99999999999999999999a", "_ZL", "_Z\xff\x01",
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
