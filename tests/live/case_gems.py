"""The gems of the tests. This is the first case beside the others: they need not wait for the compiler."""
import os

import case_native_ffi
import case_native_pg
import case_real
import case_servers
from harness import case, check


@case(timeout=300, bpf=False, patient=True)
def are_installed(_ctx):
    home = case_servers.gems({**case_servers.GEMS, **case_real.GEMS, **case_native_ffi.GEMS, **case_native_pg.GEMS})
    check(os.path.exists(os.path.join(home, "bin", "puma")), "there is no puma in %s", home)
    return "%d gems" % len(os.listdir(os.path.join(home, "specifications")))
