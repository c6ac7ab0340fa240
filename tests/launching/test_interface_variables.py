"""Which variables let an MPI use one network interface."""

import re
import socket

import pytest
from places import ROOT

from allreduce_bench.launching.launcher import InterfaceError, interface_variables, ucx_device, variables_of

LO = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))


def test_every_library_is_told():
    variables = variables_of("hsn0", "mlx5_1:1")
    assert variables.pop("UCX_NET_DEVICES") == "mlx5_1:1"
    assert set(variables.values()) == {"hsn0"}
    assert interface_variables("", {"UCX_NET_DEVICES": "x"}) == {}


def test_ucx_takes_the_infiniband_device_behind_the_interface(tmp_path):
    (tmp_path / "ib1" / "device" / "infiniband" / "mlx5_0").mkdir(parents=True)
    assert ucx_device("ib1", tmp_path) == "mlx5_0:1"
    (tmp_path / "ib1" / "dev_port").write_text("1\n")
    assert ucx_device("ib1", tmp_path) == "mlx5_0:2"
    assert ucx_device("eth0", tmp_path) == "eth0"


def test_what_the_user_decided_is_not_overridden():
    assert interface_variables(LO, {"UCX_NET_DEVICES": LO})["FI_TCP_IFACE"] == LO
    for name in ("FI_TCP_IFACE", "OMPI_MCA_btl_tcp_if_exclude"):
        with pytest.raises(
            InterfaceError,
            match=re.escape(f"{LO}, but {name}=other in the") + ".*set only",
        ):
            interface_variables(LO, {name: "other"})
    with pytest.raises(InterfaceError, match="no such interface"):
        interface_variables("nope0", {})


def test_the_page_about_clusters_names_the_variables():
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    assert [name for name in variables_of("hsn0", "hsn0") if name not in page] == []
