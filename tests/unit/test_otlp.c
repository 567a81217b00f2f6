/* SPDX-License-Identifier: BSD-2-Clause */
/* OTLP profiles of reports that are made here: resources, sample types, links.  What a whole file says is in formats.py. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "no_memory.h"
#include "otlp_profiles.pb-c.h"
#include "output/otlp.h"
#include "process/own_name.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PERIOD 1000u

static struct frame frame_of(uint8_t kind, const char *name)
{
	struct frame f = FRAME_INIT(kind);

	f.name = name;
	return f;
}

/* One stack: a process, a thread, two labels, a method, a state. */
static struct report_label labels[7];
static struct report_node nodes[7];
static struct process_row rows[2];
static struct report report;

static void set_up(void)
{
	static char names[7][32];
	struct frame frames[] = {
		frame_of(FRAME_MARK, "root"), frame_of(FRAME_PROCESS, "app.rb"), frame_of(FRAME_THREAD, "main"),
		frame_of(FRAME_LABEL, "4bf92f3577b34da6a3ce929d0e0e4736"), frame_of(FRAME_LABEL, "00f067aa0ba902b7"),
		frame_of(FRAME_RUBY, "Foo#bar"), frame_of(FRAME_STATE, "gvl"),
	};

	memset(labels, 0, sizeof(labels));
	memset(nodes, 0, sizeof(nodes));
	memset(rows, 0, sizeof(rows));
	memset(&report, 0, sizeof(report));
	frames[1].pid = 42;
	frames[2].tid = 43;
	frames[3].key = "trace_id";
	frames[4].key = "span_id";
	frames[5].path = "/app/a.rb";
	frames[5].line = 7;
	for (uint32_t i = 0; i < COUNT(labels); i++) {
		snprintf(names[i], sizeof(names[i]), "%s", frames[i].name);
		labels[i] = (struct report_label){ .frame = frames[i], .name = names[i], .bare = strlen(names[i]) };
		nodes[i] = (struct report_node){ .parent = i ? i - 1 : 0, .label = i, .depth = i };
	}
	nodes[6].weight = (struct weight){ .value = 3 * PERIOD, .count = 3 };
	report.labels = labels;
	report.label_count = COUNT(labels);
	report.nodes = nodes;
	report.node_count = COUNT(nodes);
	report.group_count = 4;
	report.meta.mode = &mode_cpu;
	report.meta.period = PERIOD;
	report.meta.started = 1700000000;
	report.meta.duration = 2;
	strcpy(report.meta.ruby_version, "3.4.5");
	strcpy(report.meta.host, "box");
	rows[0].pid = 42;
	strcpy(rows[0].command, "ruby other.rb");
	strcpy(rows[0].ruby_version, "3.4.4");
	rows[1].pid = 42;
	strcpy(rows[1].command, "ruby app.rb");
	strcpy(rows[1].ruby_version, "3.4.5");
	report.processes = (struct processes){ .rows = rows, .count = COUNT(rows) };
}

/* What the file of these has, unpacked. */
static Otlp__ProfilesData *file_of(const struct report *reports, uint32_t count)
{
	struct output_options o = { 0 };
	Otlp__ProfilesData *data;
	char *bytes = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&bytes, &size);

	if (output_otlp.write(reports, count, &o, f))
		test__fail(__FILE__, __LINE__, "it is not written");
	fclose(f);
	data = otlp__profiles_data__unpack(NULL, size, (uint8_t *)bytes);
	free(bytes);
	if (!data)
		test__fail(__FILE__, __LINE__, "it is no message");
	return data;
}

static const char *attribute_of(const Otlp__ResourceProfiles *r, const char *key)
{
	for (size_t i = 0; i < r->resource->n_attributes; i++)
		if (!strcmp(r->resource->attributes[i]->key, key))
			return r->resource->attributes[i]->value->string_value;
	return "";
}

TEST(otlp_services_are_named_by_their_environment)
{
	static const struct {
		const char *environment;
		size_t size;
		const char *name;	/* NULL: nothing */
	} cases[] = {
#define E(text, name) { text, sizeof(text) - 1, name }
		E("", NULL),
		E("PATH=/bin\0HOME=/\0", NULL),
		E("A=1\0OTEL_SERVICE_NAME=shop\0B=2\0", "service.name=shop"),
		E("OTEL_SERVICE_NAME=shop", "service.name=shop"),	/* no NUL at its end */
		E("OTEL_SERVICE_NAME=\0", NULL),
		E("OTEL_SERVICE_NAME\0", NULL),
		E("XOTEL_SERVICE_NAME=a\0OTEL_SERVICE_NAMES=b\0", NULL),
		E("OTEL_SERVICE_NAME=a, b=%\0", "service.name=a%2C%20b%3D%25"),
		E("OTEL_RESOURCE_ATTRIBUTES=k=v,service.name=no\0OTEL_SERVICE_NAME=yes\0", "service.name=yes,k=v,service.name=no"),
		E("OTEL_RESOURCE_ATTRIBUTES=a=\x01\0", "a=%01"),
		E("OTEL_RESOURCE_ATTRIBUTES=,, a=%20b ,\xc3\xa9=\x7f,\0", " a=%20b ,%C3%A9=%7F"),
		E("OTEL_RESOURCE_ATTRIBUTES=,\0", NULL),
		E("OTEL_SERVICE_NAME=\xff\0", "service.name=%FF"),
		E("\0\0\0OTEL_SERVICE_NAME=x\0", "service.name=x"),
#undef E
	};
	char *big = calloc(1, 70000), *name;

	for (size_t i = 0; i < COUNT(cases); i++) {
		/* A copy, so that a read behind its end is seen. */
		char *copy = malloc(cases[i].size + !cases[i].size);

		memcpy(copy, cases[i].environment, cases[i].size);
		name = own_name__of_environment(copy, cases[i].size);
		free(copy);
		CHECK(!name == !cases[i].name);
		if (name && cases[i].name)
			CHECK_STRING(name, cases[i].name);
		free(name);
	}
	/* What has no room as a whole is not there, and the rest is. */
	strcpy(big, "OTEL_SERVICE_NAME=");
	memset(big + strlen(big), '%', 60000);
	CHECK(own_name__of_environment(big, 70000) == NULL);
	memset(big, 0, 70000);
	strcpy(big, "OTEL_RESOURCE_ATTRIBUTES=a=1,b=");
	memset(big + strlen(big), 'x', 60000);
	strcat(big, ",c=3");
	name = own_name__of_environment(big, 70000);
	CHECK_STRING(name ? name : "", "a=1,c=3");
	free(name);
	free(big);
}

/* Fields of a message, as protocol buffers have them: less than 128 bytes each. */
#define FIELD(number, length) (char)((number) << 3 | 2), (length)
#define KEY_SERVICE FIELD(1, 12), 's', 'e', 'r', 'v', 'i', 'c', 'e', '.', 'n', 'a', 'm', 'e'

static const char context[] = {
	FIELD(1, 43),						/* the resource */
	FIELD(1, 22), KEY_SERVICE, FIELD(2, 6), FIELD(1, 4), 's', 'h', 'o', 'p',
	FIELD(1, 8), FIELD(1, 1), 'n', FIELD(2, 3), 3 << 3, (char)0x96, 1,	/* n=150 */
	FIELD(1, 7), FIELD(1, 1), 'b', FIELD(2, 2), 2 << 3, 1,	/* a bool is not taken */
	FIELD(2, 3), FIELD(1, 1), 'x',				/* what is no resource */
};

static char *of_message(const char *message, size_t size)
{
	/* A copy, so that a read behind its end is seen. */
	uint8_t *copy = malloc(size + !size);
	char *name;

	memcpy(copy, message, size);
	name = own_name__of_message(copy, size);
	free(copy);
	return name;
}

TEST(otlp_contexts_are_messages)
{
	static const struct {
		const char *message;
		size_t size;
		const char *name;	/* NULL: nothing */
	} cases[] = {
#define M(text, name) { text, sizeof(text) - 1, name }
		M("", NULL),
		M("\x0a\x00", NULL),
		M("\x0a\x0a\x0a\x08\x0a\x01" "a" "\x12\x03\x0a\x01" "b", "a=b"),
		M("\x0a\x0a\x0a\x08\x0a\x01" "," "\x12\x03\x0a\x01" "=", "%2C=%3D"),
		M("\x0a\x0a\x0a\x08\x12\x03\x0a\x01" "b" "\x0a\x01" "a", "a=b"),		/* the value first */
		M("\x0a\x07\x0a\x05\x12\x03\x0a\x01" "b", NULL),				/* without a key */
		M("\x0a\x05\x0a\x03\x0a\x01" "a", NULL),					/* without a value */
		M("\x0a\x0a\x0a\x08\x0a\x01" "a" "\x12\x03\x0a\x7f" "b", NULL),		/* longer than its message */
		M("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", NULL),
		M("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", NULL),
		M("\x0b", NULL),								/* a group */
		M("\x10\x01\x19" "12345678" "\x25" "1234" "\x0a\x0a\x0a\x08\x0a\x01" "a" "\x12\x03\x0a\x01" "b", "a=b"),
#undef M
	};
	char *name = of_message(context, sizeof(context)), *big = malloc(70000);
	size_t n = 0;

	CHECK(name != NULL);
	CHECK_STRING(name ? name : "", "service.name=shop,n=150");
	free(name);
	for (size_t i = 0; i < COUNT(cases); i++) {
		name = of_message(cases[i].message, cases[i].size);
		CHECK(!name == !cases[i].name);
		if (name && cases[i].name)
			CHECK_STRING(name, cases[i].name);
		free(name);
	}
	/* Each end, and each byte changed. */
	for (size_t i = 0; i < sizeof(context); i++) {
		char changed[sizeof(context)];

		free(of_message(context, i));
		for (int bit = 0; bit < 8; bit++) {
			memcpy(changed, context, sizeof(context));
			changed[i] = (char)(changed[i] ^ 1 << bit);
			free(of_message(changed, sizeof(changed)));
		}
	}
	/* Whole pairs, as many as there is room for. */
	for (int i = 0; i < 5000; i++) {
		static const char pair[] = { FIELD(1, 10), FIELD(1, 8), FIELD(1, 1), 'k', FIELD(2, 3), FIELD(1, 1), 'v' };

		memcpy(big + n, pair, sizeof(pair));
		n += sizeof(pair);
	}
	name = of_message(big, n);
	CHECK(name && strlen(name) <= ATTRIBUTES_LIST_MAX && strlen(name) > ATTRIBUTES_LIST_MAX - 8 && !strcmp(name + strlen(name) - 4, ",k=v"));
	free(name);
	free(big);
}

/* Memory with a header at 0x1000, and a message at 0x2000. */
static struct {
	uint64_t head[4];
	int reads;
	bool changes;		/* while it is read */
} published;

static int read_published(const struct memory *m, uint64_t address, void *to, size_t length)
{
	(void)m;
	published.reads++;
	if (address == 0x1000 && length == sizeof(published.head)) {
		memcpy(to, published.head, length);
		published.head[2] += published.changes;
		return 0;
	}
	if (address != 0x2000 || length != sizeof(context))
		return -EFAULT;
	memcpy(to, context, length);
	return 0;
}

TEST(otlp_contexts_are_read_whole)
{
	static const struct {
		const char *signature;
		uint64_t version, size, at, payload;
		bool changes, right;
	} cases[] = {
		{ "OTEL_CTX", 2, sizeof(context), 7, 0x2000, false, true },
		{ "OTEL_CTY", 2, sizeof(context), 7, 0x2000, false, false },
		{ "OTEL_CTX", 1, sizeof(context), 7, 0x2000, false, false },
		{ "OTEL_CTX", 3, sizeof(context), 7, 0x2000, false, false },
		{ "OTEL_CTX", 2, 0, 7, 0x2000, false, false },
		{ "OTEL_CTX", 2, OWN_CONTEXT_MAX + 1, 7, 0x2000, false, false },
		{ "OTEL_CTX", 2, UINT32_MAX, 7, 0x2000, false, false },
		{ "OTEL_CTX", 2, sizeof(context), 0, 0x2000, false, false },
		{ "OTEL_CTX", 2, sizeof(context), 7, 0x3000, false, false },
		{ "OTEL_CTX", 2, sizeof(context), 7, UINT64_MAX, false, false },
		{ "OTEL_CTX", 2, sizeof(context), 7, 0x2000, true, false },
	};
	const struct memory memory = { .read = read_published };

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *name;

		memset(&published, 0, sizeof(published));
		memcpy(published.head, cases[i].signature, 8);
		published.head[1] = cases[i].version | cases[i].size << 32;
		published.head[2] = cases[i].at;
		published.head[3] = cases[i].payload;
		published.changes = cases[i].changes;
		name = own_name__of_context(&memory, 0x1000);
		CHECK_INT(name != NULL, cases[i].right);
		CHECK(published.reads <= 9);
		free(name);
	}
	CHECK(own_name__of_context(&memory, 0x4000) == NULL);
}

TEST(otlp_resources_say_what_the_program_says)
{
	static const struct {
		const char *own, *key, *value;
	} cases[] = {
		{ NULL, "service.name", "app.rb" },
		{ "", "service.name", "app.rb" },
		{ "service.name=shop", "service.name", "shop" },
		{ "service.name=shop,service.name=other", "service.name", "shop" },
		{ "service.name=%73hop%20%e2%82%ac", "service.name", "shop \xe2\x82\xac" },
		{ "service.name=%1b%5b2J%ff", "service.name", "\\x1B[2J\\xFF" },
		{ "service.name=%", "service.name", "%" },
		{ "service.name=%4", "service.name", "%4" },
		{ "service.name=,k=v", "service.name", "app.rb" },
		{ " service.name\t=  a b  ", "service.name", "a b" },
		{ "service%2Ename=x", "service.name", "x" },
		{ "=v,,k,k=,=,k=v", "k", "v" },
		{ "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9,j=10,k=11,l=12,m=13,service.name=last", "service.name", "last" },
		{ "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9,j=10,k=11,l=12,m=13", "host.name", "box" },
		{ "process.pid=7,process.runtime.name=jruby", "process.runtime.name", "ruby" },
		{ "service.instance.id=mine,host.name=other", "service.instance.id", "mine" },
		{ "host.name=other", "host.name", "other" },
		{ NULL, "service.instance.id", "box:42" },
		{ NULL, "process.runtime.version", "3.4.5" },	/* of the row with its name */
		{ NULL, "container.id", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
		{ NULL, "process.executable.name", "ruby" },
		{ NULL, "process.executable.path", "/usr/bin/ruby" },
	};

	set_up();
	rows[1].cgroup = "/kubepods/pod0123456789abcdef/cri-containerd-"
			 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope";
	rows[1].executable = "/usr/bin/ruby";
	for (size_t i = 0; i < COUNT(cases); i++) {
		Otlp__ProfilesData *data;

		rows[1].resource = (char *)cases[i].own;
		data = file_of(&report, 1);
		CHECK_INT(data->n_resource_profiles, 1);
		CHECK_STRING(attribute_of(data->resource_profiles[0], cases[i].key), cases[i].value);
		CHECK(data->resource_profiles[0]->resource->n_attributes <= 24);
		CHECK_INT(data->resource_profiles[0]->resource->dropped_attributes_count,
			  cases[i].own && !strncmp(cases[i].own, "a=1", 3) ? (strstr(cases[i].own, "last") ? 2 : 1) : 0);
		otlp__profiles_data__free_unpacked(data, NULL);
	}
	/* 63 digits, and 65, are no id. */
	rows[1].resource = NULL;
	rows[1].cgroup = "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde/"
			 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0";
	{
		Otlp__ProfilesData *data = file_of(&report, 1);

		CHECK_STRING(attribute_of(data->resource_profiles[0], "container.id"), "");
		otlp__profiles_data__free_unpacked(data, NULL);
	}
}

TEST(otlp_links_are_ids_of_a_trace_and_a_span)
{
	static const struct {
		const char *trace, *span;
		bool link;
	} cases[] = {
		{ "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", true },
		{ "4BF92F3577B34DA6A3CE929D0E0E4736", "00F067AA0BA902B7", true },
		{ "4bf92f3577b34da6a3ce929d0e0e473", "00f067aa0ba902b7", false },
		{ "4bf92f3577b34da6a3ce929d0e0e47366", "00f067aa0ba902b7", false },
		{ "4bf92f3577b34da6a3ce929d0e0e473g", "00f067aa0ba902b7", false },
		{ "00000000000000000000000000000000", "00f067aa0ba902b7", false },
		{ "4bf92f3577b34da6a3ce929d0e0e4736", "0000000000000000", false },
		{ "4bf92f3577b34da6a3ce929d0e0e4736", "", false },
		{ "4bf92f3577b34da6a3ce929d0e0e4736", " 0f067aa0ba902b7", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		Otlp__ProfilesData *data;
		Otlp__Sample *s;

		set_up();
		labels[3].frame.name = cases[i].trace;
		labels[4].frame.name = cases[i].span;
		data = file_of(&report, 1);
		s = data->resource_profiles[0]->scope_profiles[0]->profiles[0]->samples[0];
		CHECK_INT(data->dictionary->n_link_table, cases[i].link ? 2 : 1);
		CHECK_INT(s->link_index, cases[i].link);
		/* thread.id, thread.name, extprof.state; without a link the labels that are not "". */
		CHECK_INT(s->n_attribute_indices, cases[i].link ? 3 : *cases[i].span ? 5 : 4);
		if (cases[i].link) {
			CHECK_INT(data->dictionary->link_table[1]->trace_id.len, 16);
			CHECK_INT(data->dictionary->link_table[1]->trace_id.data[0], 0x4b);
			CHECK_INT(data->dictionary->link_table[1]->span_id.data[1], 0xf0);
		}
		otlp__profiles_data__free_unpacked(data, NULL);
	}
}

static const char *string(const Otlp__ProfilesData *d, int32_t i)
{
	return i >= 0 && (size_t)i < d->dictionary->n_string_table ? d->dictionary->string_table[i] : "?";
}

/* Pyroscope multiplies the count of samples of that type by the period. */
TEST(otlp_counts_have_the_period_only_if_it_is_right)
{
	Otlp__ProfilesData *data;
	Otlp__Profile **p;

	set_up();
	data = file_of(&report, 1);
	p = data->resource_profiles[0]->scope_profiles[0]->profiles;
	CHECK_INT(data->resource_profiles[0]->scope_profiles[0]->n_profiles, 2);
	CHECK_STRING(string(data, p[0]->sample_type->type_strindex), "samples");
	CHECK_STRING(string(data, p[0]->period_type->type_strindex), "cpu");
	CHECK_STRING(string(data, p[0]->period_type->unit_strindex), "nanoseconds");
	CHECK_INT(p[0]->period, PERIOD);
	CHECK_INT(p[0]->samples[0]->values[0], 3);
	CHECK_INT(p[1]->samples[0]->values[0], 3 * PERIOD);
	otlp__profiles_data__free_unpacked(data, NULL);
	/* Samples that stand for different times. */
	nodes[6].weight.value++;
	data = file_of(&report, 1);
	p = data->resource_profiles[0]->scope_profiles[0]->profiles;
	CHECK_STRING(string(data, p[0]->period_type->type_strindex), "cpu_samples");
	CHECK_STRING(string(data, p[0]->period_type->unit_strindex), "count");
	CHECK_INT(p[0]->period, 1);
	CHECK_STRING(string(data, p[1]->period_type->type_strindex), "cpu");
	CHECK_INT(p[1]->period, PERIOD);
	CHECK_INT(p[1]->samples[0]->values[0], 3 * PERIOD + 1);
	otlp__profiles_data__free_unpacked(data, NULL);
	/* Of recordings with different rates there is the time alone. */
	report.meta.rates_differ = true;
	report.meta.period = 0;
	data = file_of(&report, 1);
	p = data->resource_profiles[0]->scope_profiles[0]->profiles;
	CHECK_INT(data->resource_profiles[0]->scope_profiles[0]->n_profiles, 1);
	CHECK_STRING(string(data, p[0]->sample_type->type_strindex), "cpu");
	CHECK_INT(p[0]->samples[0]->values[0], 3 * PERIOD + 1);
	otlp__profiles_data__free_unpacked(data, NULL);
}

/* Each mode has the types that receivers know, in a scope of its own; one process is one resource. */
TEST(otlp_modes_are_scopes)
{
	static const struct {
		const struct mode *mode;
		const char *scope, *first, *period, *unit;
		int64_t length;
		size_t profiles;
	} cases[] = {
		{ &mode_cpu, "process_cpu", "samples", "cpu", "nanoseconds", PERIOD, 2 },
		{ &mode_wall, "wall", "wall", "wall", "nanoseconds", PERIOD, 2 },
		{ &mode_offcpu, "off_cpu", "off_cpu", "off_cpu", "nanoseconds", 0, 2 },
		{ &mode_gvl, "gvl", "gvl", "gvl", "nanoseconds", 1, 2 },
		{ &mode_gc, "gc", "samples", "gc", "nanoseconds", PERIOD, 2 },
		{ &mode_alloc, "alloc", "alloc_space", "alloc", "bytes", 1, 2 },
		{ &mode_heap, "heap", "inuse_space", "heap", "bytes", 1, 2 },
		{ &mode_syscall, "syscall", "calls", "syscall", "count", 1, 1 },
		{ &mode_syscall_latency, "syscall", "time", "syscall", "nanoseconds", 1, 2 },
		{ &mode_event, "event", "events", "event", "count", 1, 1 },
	};
	struct report all[MODES_MAX];
	Otlp__ProfilesData *data;

	for (size_t i = 0; i < COUNT(cases); i++) {
		const Otlp__ScopeProfiles *s;

		set_up();
		report.meta.mode = cases[i].mode;
		report.meta.period = cases[i].length == PERIOD ? PERIOD : 0;
		data = file_of(&report, 1);
		CHECK_INT(data->n_resource_profiles, 1);
		CHECK_INT(data->resource_profiles[0]->n_scope_profiles, 1);
		s = data->resource_profiles[0]->scope_profiles[0];
		CHECK_STRING(s->scope->name, cases[i].scope);
		CHECK_INT(s->n_profiles, cases[i].profiles);
		CHECK_STRING(string(data, s->profiles[0]->sample_type->type_strindex), cases[i].first);
		CHECK_STRING(string(data, s->profiles[0]->period_type->type_strindex), cases[i].period);
		CHECK_STRING(string(data, s->profiles[0]->period_type->unit_strindex), cases[i].unit);
		CHECK_INT(s->profiles[0]->period, cases[i].length);
		CHECK_INT(s->profiles[0]->time_unix_nano, 1700000000000000000ll);
		CHECK_INT(s->profiles[0]->duration_nano, 2000000000);
		otlp__profiles_data__free_unpacked(data, NULL);
	}
	set_up();
	for (size_t i = 0; i < MODES_MAX; i++) {
		all[i] = report;
		all[i].meta.mode = cases[i].mode;
	}
	data = file_of(all, MODES_MAX);
	CHECK_INT(data->n_resource_profiles, 1);
	CHECK_INT(data->resource_profiles[0]->n_scope_profiles, MODES_MAX);
	/* The stack is the same in all of them. */
	CHECK_INT(data->dictionary->n_stack_table, 2);
	CHECK_INT(data->dictionary->n_location_table, 3);
	otlp__profiles_data__free_unpacked(data, NULL);
}

/* Parca refuses a profile without samples, and a file without a resource; and what is too much is as much as there is room for. */
TEST(otlp_has_amounts_that_fit)
{
	Otlp__ProfilesData *data;

	set_up();
	nodes[6].weight = (struct weight){ .value = UINT64_MAX, .count = 0 };
	data = file_of(&report, 1);
	CHECK_INT(data->resource_profiles[0]->scope_profiles[0]->n_profiles, 1);
	CHECK(data->resource_profiles[0]->scope_profiles[0]->profiles[0]->samples[0]->values[0] == INT64_MAX);
	otlp__profiles_data__free_unpacked(data, NULL);
	/* What only stacks without samples have is in no table. */
	nodes[5].weight = (struct weight){ .value = PERIOD, .count = 1 };
	nodes[6].weight = (struct weight){ 0 };
	data = file_of(&report, 1);
	CHECK_INT(data->dictionary->n_location_table, 2);
	CHECK_INT(data->dictionary->n_function_table, 2);
	CHECK_INT(data->dictionary->n_stack_table, 2);
	otlp__profiles_data__free_unpacked(data, NULL);
	nodes[5].weight = (struct weight){ 0 };
	data = file_of(&report, 1);
	CHECK_INT(data->dictionary->n_location_table, 1);
	CHECK_INT(data->n_resource_profiles, 1);
	CHECK_INT(data->resource_profiles[0]->n_scope_profiles, 0);
	CHECK_STRING(attribute_of(data->resource_profiles[0], "service.name"), "unknown_service:ruby");
	CHECK_INT(data->dictionary->n_stack_table, 1);
	otlp__profiles_data__free_unpacked(data, NULL);
}

/* Samples whose process is not known, for two reasons, and of two processes that have one name. */
TEST(otlp_processes_are_resources)
{
	static const struct {
		uint32_t pid;
		uint8_t known;
	} second[] = { { 0, KNOWN_CROWDED }, { 0, KNOWN_NOT }, { 42, KNOWN }, { 43, KNOWN } };
	static const size_t resources[] = { 1, 1, 1, 2 };

	for (size_t i = 0; i < COUNT(second); i++) {
		struct report_label other[COUNT(labels)];
		struct report reports[2];
		Otlp__ProfilesData *data;

		set_up();
		if (second[i].known != KNOWN) {
			labels[1].frame.pid = 0;
			labels[1].frame.known = KNOWN_MERGED;
		}
		memcpy(other, labels, sizeof(labels));
		other[1].frame.pid = second[i].pid;
		other[1].frame.known = second[i].known;
		reports[0] = reports[1] = report;
		reports[1].labels = other;
		reports[1].meta.mode = &mode_wall;
		data = file_of(reports, 2);
		CHECK_INT(data->n_resource_profiles, resources[i]);
		CHECK_STRING(attribute_of(data->resource_profiles[0], "service.name"), second[i].known == KNOWN ? "app.rb" : "unknown_service:ruby");
		otlp__profiles_data__free_unpacked(data, NULL);
	}
}

TEST(otlp_lists_have_each_item_once)
{
	struct otlp_list l = { 0 };
	char text[16];

	CHECK_INT(otlp_list__number(&l, "", 0), 0);
	CHECK_INT(otlp_list__number(&l, "a\0b", 3), 1);
	CHECK_INT(otlp_list__number(&l, "a\0c", 3), 2);
	CHECK_INT(otlp_list__number(&l, "a", 1), 3);
	CHECK_INT(otlp_list__number(&l, "a\0b", 3), 1);
	CHECK_INT(otlp_list__number(&l, "", 0), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "n%u", i);
		CHECK_INT(otlp_list__number(&l, text, strlen(text)), 4 + i);
	}
	CHECK_INT(otlp_list__number(&l, "n77", 3), 81);
	CHECK_INT(l.count, 5004);
	no_memory = true;
	for (uint32_t i = 0; i < 100000 && l.count < 100000; i++) {
		snprintf(text, sizeof(text), "m%u", i);
		if (otlp_list__number(&l, text, strlen(text)) == OTLP_NONE)
			break;
	}
	no_memory = false;
	CHECK(l.count < 100000);
	otlp_list__free(&l);
}
