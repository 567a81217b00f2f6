"""The section is found whatever happened to the binary: stripped, packed, deleted, replaced, in a container."""
import os
import shutil
import subprocess

from binaries import Binary
from case_lifecycle import BUSY, sound
from elf import NOTE_OWNER, SECTION_NAME, SYMBOL_NAME
from harness import case, check, children, until


def profiled(ctx, ruby, pid=None):
    profile = ctx.profile(pid or ruby.pid, rate=2000)
    n = sound(profile, 100)
    for s in profile.stacks:
        check(s.native or s.frames[0].label == "<main>", "wrong stack: %s", s.text)
    return "%d samples; %s" % (n, profile.sums.text)


def run(ctx, binary, prefix=(), **options):
    ruby = ctx.start([*prefix, binary.ruby, "--disable=gems", "-W0", "-e", BUSY + "busy_method while true"],
                     env=binary.env, **options)
    ruby.expect("ready")
    return ruby


@case(timeout=60)
def stripped(ctx):
    binary = Binary(ctx)
    before = os.path.getsize(binary.changed)
    subprocess.run(["strip", "--strip-all", binary.changed], check=True)
    after = os.path.getsize(binary.changed)
    check(after < 0.8 * before, "strip took nothing away: %d, %d bytes", before, after)
    return "%d of %d MB left; %s" % (after >> 20, before >> 20, profiled(ctx, run(ctx, binary)))


@case(timeout=60)
def no_section_headers(ctx):
    binary = Binary(ctx)
    subprocess.run(["strip", "--strip-all", binary.changed], check=True)
    binary.elf().without_section_headers().save()
    return profiled(ctx, run(ctx, binary))


@case(timeout=60)
def only_note(ctx):
    binary = Binary(ctx)
    binary.elf().without(SYMBOL_NAME, SECTION_NAME).without_section_headers().save()
    return profiled(ctx, run(ctx, binary))


@case(timeout=60)
def only_symbol(ctx):
    binary = Binary(ctx)
    binary.elf().without(NOTE_OWNER, SECTION_NAME).without_section_headers().save()
    return profiled(ctx, run(ctx, binary))


@case(timeout=60)
def only_section(ctx):
    binary = Binary(ctx)
    binary.elf().without(NOTE_OWNER, SYMBOL_NAME).save()
    return profiled(ctx, run(ctx, binary))


@case(timeout=60)
def deleted(ctx):
    binary = Binary(ctx)
    ruby = run(ctx, binary)
    os.unlink(binary.ruby)
    if binary.changed != binary.ruby:
        os.unlink(binary.changed)
    return profiled(ctx, ruby)


@case(timeout=60)
def replaced(ctx):
    """An upgrade: another file has the name now, one without the interface."""
    binary = Binary(ctx)
    ruby = run(ctx, binary)
    binary.elf().without(NOTE_OWNER, SYMBOL_NAME, SECTION_NAME).save()
    return profiled(ctx, ruby)


def inner_pid(outer):
    """The only child of a process."""
    until(lambda: len(children(outer)) == 1, lambda: "unshare has the children %s" % children(outer))
    return children(outer)[0]


@case(timeout=60)
def other_pid_namespace(ctx):
    binary = Binary(ctx)
    ruby = run(ctx, binary, ["unshare", "--pid", "--fork", "--mount-proc"])
    return profiled(ctx, ruby, inner_pid(ruby.pid))


@case(timeout=60)
def other_mount_namespace(ctx):
    """The files of the process are in a mount namespace of its own, as in a container."""
    binary = Binary(ctx)
    inside = "/mnt/ruby-copy"
    script = ("mount -t tmpfs tmpfs /mnt && cp %s %s /mnt/ && exec \"$@\"" % (binary.ruby, binary.changed)
              if binary.changed != binary.ruby else
              "mount -t tmpfs tmpfs /mnt && cp %s /mnt/ && exec \"$@\"" % binary.ruby)
    binary.ruby = inside
    if "LD_LIBRARY_PATH" in binary.env:
        binary.env["LD_LIBRARY_PATH"] = "/mnt:" + binary.env["LD_LIBRARY_PATH"]
    ruby = run(ctx, binary, ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"])
    pid = inner_pid(ruby.pid)
    check(not os.path.exists(inside), "%s can be seen from outside", inside)
    return profiled(ctx, ruby, pid)


@case(timeout=60)
def newer_minor_version(ctx):
    """A reader works with every later minor version."""
    binary = Binary(ctx)
    binary.elf().with_version(1, 7).save()
    return profiled(ctx, run(ctx, binary))


@case(timeout=60)
def blanks_in_the_path(ctx):
    directory = ctx.path("a b\tc (deleted)")
    os.mkdir(directory)
    binary = Binary(ctx, directory)
    text = profiled(ctx, run(ctx, binary))
    shutil.rmtree(directory)
    return text
