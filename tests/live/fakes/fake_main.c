/* SPDX-License-Identifier: BSD-2-Clause */
/* The VM is in a shared library, as with --enable-shared. */
int fake_main(int argc, char **argv);

int main(int argc, char **argv)
{
	return fake_main(argc, argv);
}
